import { once } from 'node:events'
import { connect } from 'node:net'

/**
 * Posts requests over so many connections for some seconds, each as soon as the one before it on its connection is answered.
 * They are written before: a client that makes them as it goes takes half as much of a core as the server that it measures.
 */
export async function load(url, requests, connections, seconds) {
  const { host, hostname, port, pathname } = new URL(url)
  const messages = requests.map(({ key, body }) =>
    [
      `POST ${pathname} HTTP/1.1`,
      `host: ${host}`,
      'content-type: application/json',
      `x-api-key: ${key}`,
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )
  let next = 0
  const times = []
  const began = performance.now()
  const isOver = () => performance.now() - began > 1_000 * seconds
  const repeat = async () => {
    const socket = connect(Number(port), hostname).setEncoding('latin1')
    await once(socket, 'connect')
    while (!isOver()) {
      const sent = performance.now()
      socket.write(messages[next++ % messages.length])
      await answered(socket)
      times.push(performance.now() - sent)
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: connections }, repeat))
  const taken = (performance.now() - began) / 1_000
  times.sort((one, other) => one - other)
  const within = (share) => times[Math.floor(share * (times.length - 1))]
  return { count: times.length, rate: times.length / taken, p50: within(0.5), p99: within(0.99) }
}

/** Resolves when a whole answer has come; rejects unless it is 200. */
function answered(socket) {
  return new Promise((resolve, reject) => {
    let text = ''
    const end = (error) => {
      socket.removeAllListeners('data').removeAllListeners('close')
      if (error) reject(error)
      else resolve()
    }
    socket.on('close', () => end(new Error('the server closed a connection')))
    socket.on('data', (more) => {
      text += more
      const head = text.indexOf('\r\n\r\n')
      if (head < 0 || text.length < head + 4 + Number(/content-length: (\d+)/i.exec(text)[1])) return
      end(text.startsWith('HTTP/1.1 200 ') ? undefined : new Error(text))
    })
  })
}
