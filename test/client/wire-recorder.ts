import { connect } from 'node:net'
import { accepting } from './listeners.js'

/** Opens a proxy to a port of this machine that records every byte in both directions. */
export async function recorderTo(port: number) {
  let sent: Buffer[] = []
  let answered: Buffer[] = []
  const listener = await accepting((socket) => {
    const server = connect(port, '127.0.0.1')
    socket.on('data', (chunk: Buffer) => {
      sent.push(chunk)
      // The server accepts its own host name only.
      const named = chunk.toString('latin1').replace(/^host: .*$/im, `host: 127.0.0.1:${port}`)
      server.write(named, 'latin1')
    })
    server.on('data', (chunk: Buffer) => {
      answered.push(chunk)
      socket.write(chunk)
    })
    server.on('error', () => socket.destroy())
    server.on('close', () => socket.destroy())
    socket.on('close', () => server.destroy())
  })
  /** Returns the traffic since the last call. */
  const taken = () => {
    const both = { sent: Buffer.concat(sent).toString(), answered: Buffer.concat(answered).toString() }
    sent = []
    answered = []
    return both
  }
  return { ...listener, taken }
}
