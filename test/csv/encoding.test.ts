import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode, detectEncoding, encoderFor } from '../../src/csv/encoding.js'
import { tries } from '../support/effort.js'

async function readBack(bytes: Buffer, asked: string): Promise<string> {
  const chunks = (async function* () {
    yield bytes
  })()
  let text = ''
  for await (const piece of decode(chunks, detectEncoding(bytes, asked))) text += piece.toString()
  return text
}

const written = (label: string, hadMark: boolean, text: string): Buffer => {
  const { mark, encode } = encoderFor(label, hadMark)
  return Buffer.concat([mark, encode(text)])
}

describe('text in the encoding of a file', () => {
  test.each([
    ['windows-1252', 'Zürich € “AG” ™'],
    ['windows-1250', 'Żółć'],
    ['windows-1251', 'Привет'],
    ['iso-8859-15', 'naïve €'],
    ['koi8-r', 'Привет'],
    ['shift_jis', '日本'],
    ['gb18030', '漢字𝒜'],
    ['iso-2022-jp', '日本'],
    ['utf-16le', '日本𝒜'],
    ['utf-16be', '日本𝒜'],
  ])('is read back with the same --encoding %s', async (label, text) => {
    expect(await readBack(written(label, false, text), label)).toBe(text)
  })

  test('encodes each character of a single-byte encoding as one byte', () => {
    expect(written('windows-1252', false, 'é€')).toEqual(Buffer.from([0xe9, 0x80]))
  })

  test('writes a byte order mark when the file had one', () => {
    expect(written('utf-8', true, 'a')).toEqual(Buffer.from('\ufeffa'))
    expect(written('utf-8', false, 'a')).toEqual(Buffer.from('a'))
  })

  test('rewrites every byte of a single-byte file unchanged', async () => {
    const { encode } = encoderFor('windows-1252', false)
    const bytes = fc.uint8Array({ min: 1, minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(bytes, async (all) => {
        const file = Buffer.concat([Buffer.from('x'), all])
        expect(encode(await readBack(file, 'windows-1252'))).toEqual(file)
      }),
      { numRuns: tries(125, 500) },
    )
  })
})

test('a byte order mark takes precedence over --encoding', () => {
  expect(detectEncoding(Buffer.from('\ufeffa'), 'windows-1252')).toEqual({ label: 'utf-8', mark: 3 })
  expect(() => detectEncoding(Buffer.from('\ufeffa'), 'utf-9')).toThrow(/"utf-9"/)
})
