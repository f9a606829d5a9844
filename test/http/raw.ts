import { connect } from 'node:net'

/** Writes bytes to a local port and returns all that the server sent until it closed the connection. */
export function exchange(port: number, ...parts: (string | Buffer)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.on('data', (data) => {
      received += data.toString('latin1')
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.on('close', () => resolve(received))
    for (const part of parts) socket.write(part)
  })
}

/** A raw request of HTTP/1.1 lines that asks the server to close afterwards. */
export const lines = (first: string, headers: readonly string[], body = ''): string =>
  `${[first, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`

/** Returns the status codes in a raw reply, in order. */
export const statuses = (raw: string): number[] =>
  [...raw.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))

/** Returns the headers of the first response in a raw reply, by lower-case name. */
export function headersOf(raw: string): Record<string, string> {
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).split('\r\n').slice(1)
  return Object.fromEntries(
    head.map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
    }),
  )
}

/** Returns the JSON body of a raw reply with one response. */
export const bodyOf = (raw: string): unknown => JSON.parse(raw.slice(raw.indexOf('\r\n\r\n') + 4))
