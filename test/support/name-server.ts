import { createSocket } from 'node:dgram'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** What is known of a name: addresses, after the names it is an alias of, or its mail servers; a failure; or no answer at all. */
export type Known = readonly string[] | 'NXDOMAIN' | 'SERVFAIL' | 'silence'

const types = { A: 1, CNAME: 5, MX: 15, AAAA: 28 }

/** What a name server is asked for. */
type Asked = 'A' | 'AAAA' | 'MX'
const statuses = { NXDOMAIN: 3, SERVFAIL: 2 }

/** Starts a name server that answers over UDP. */
export async function nameServer(
  known: (name: string, type: Asked) => Known,
  { host = '127.0.0.1', port = 0 } = {},
) {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, from) => {
    const { name, end } = nameAt(query, 12)
    const number = query.readUInt16BE(end)
    const type = number === types.MX ? 'MX' : number === types.A ? 'A' : 'AAAA'
    asked.push(name)
    const found = known(name, type)
    if (found === 'silence') return
    const records = typeof found === 'string' ? [] : recordsOf(name, type, found)
    const header = Buffer.alloc(12)
    header.writeUInt16BE(query.readUInt16BE(0), 0)
    header.writeUInt16BE(0x8180 + (typeof found === 'string' ? statuses[found] : 0), 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(records.length, 6)
    socket.send(Buffer.concat([header, query.subarray(12, end + 4), ...records]), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(port, host, resolve))
  return {
    address: `${host}:${socket.address().port}`,
    /** The names that were asked for, once for each question. */
    asked,
    close: () => new Promise<void>((resolve) => void socket.close(() => resolve())),
  }
}

function nameAt(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let end = start
  for (let length = message[end] ?? 0; length > 0; length = message[end] ?? 0) {
    labels.push(message.toString('latin1', end + 1, end + 1 + length))
    end += length + 1
  }
  return { name: labels.join('.').toLowerCase(), end: end + 1 }
}

function recordsOf(name: string, type: Asked, found: readonly string[]): Buffer[] {
  if (type === 'MX')
    return found.map((server) =>
      record(name, types.MX, Buffer.concat([Buffer.from([0, 10]), bytesOfName(server)])),
    )
  const records: Buffer[] = []
  let owner = name
  for (const one of found) {
    const bytes = isIP(one) === 0 ? bytesOfName(one) : Buffer.from(ipaddr.parse(one).toByteArray())
    if (isIP(one) === 0) records.push(record(owner, types.CNAME, bytes))
    else if (isIP(one) === (type === 'A' ? 4 : 6)) records.push(record(owner, types[type], bytes))
    if (isIP(one) === 0) owner = one
  }
  return records
}

function record(owner: string, type: number, bytes: Buffer): Buffer {
  const head = Buffer.alloc(10)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt16BE(bytes.length, 8)
  return Buffer.concat([bytesOfName(owner), head, bytes])
}

const bytesOfName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.from(String.fromCharCode(label.length) + label, 'latin1')),
    Buffer.alloc(1),
  ])
