import { generateKeyPairSync, sign } from 'node:crypto'

/** A private key and a certificate that signs itself, both PEM. */
export interface Certified {
  readonly key: string
  readonly cert: string
}

const tlv = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const value = Buffer.concat(parts)
  const length = value.length < 0x80 ? [value.length] : [0x82, value.length >> 8, value.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), value])
}
const sequence = (...parts: readonly Uint8Array[]) => tlv(0x30, ...parts)
const hex = (text: string) => Buffer.from(text, 'hex')
const ecdsaWithSha256 = () => sequence(hex('06082a8648ce3d040302'))
const nameOf = (name: string) =>
  sequence(tlv(0x31, sequence(hex('0603550403'), tlv(0x0c, Buffer.from(name)))))
const time = (iso: string) => tlv(0x18, Buffer.from(`${iso.replace(/\D/g, '')}000000Z`))

/** Makes a certificate for a host name, valid between two dates (`2020-01-31`). */
export function certify(name: string, from = '2020-01-01', to = '2120-01-01'): Certified {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const alternative = tlv(0x04, sequence(tlv(0x82, Buffer.from(name))))
  const authority = tlv(0x04, sequence(hex('0101ff')))
  const body = sequence(
    tlv(0xa0, hex('020102')),
    hex('020101'),
    ecdsaWithSha256(),
    nameOf(name),
    sequence(time(from), time(to)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, sequence(sequence(hex('0603551d13'), authority), sequence(hex('0603551d11'), alternative))),
  )
  const signature = tlv(0x03, hex('00'), sign('sha256', body, privateKey))
  const lines =
    sequence(body, ecdsaWithSha256(), signature)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
  }
}
