import { setTimeout as pause } from 'node:timers/promises'
import { answers, received } from './listeners.js'

/** What a server sends beside an answer: nothing, the answer once more after some time or at once, or more of its body. */
type Surplus = 'none' | 'late' | 'doubled' | 'appended'

/** Returns numbers from 0 to 1 that depend on the seed alone. */
export function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return (state >>> 0) / 2 ** 32
  }
}

/**
 * Opens a server of companies. One answer in `nth` is followed by bytes that no request asked for, 0 to 20 ms later. It
 * answers whom it is asked for, without subdomains; with `knowsKeys` it honours idempotency keys.
 */
export async function strayServer(how: { seed: number; nth: number; knowsKeys?: boolean }) {
  const { seed, nth, knowsKeys = false } = how
  const random = numbersFrom(seed)
  let strays = 0
  const choose = (): Surplus =>
    random() * nth < 1
      ? ((['late', 'late', 'doubled', 'appended'] as const)[Math.floor(random() * 4)] ?? 'late')
      : 'none'
  const listener = await answers(async (request, response) => {
    if (request.url === '/health')
      return void response.end(knowsKeys ? '{"idempotency":"Idempotency-Key"}' : '{}')
    const { body } = await received(request)
    const { socket } = request
    const text = JSON.stringify(answerTo(request.url ?? '', JSON.parse(body || '{}')))
    await pause(random() * 4)
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n`
    const surplus = choose()
    if (surplus !== 'none') strays++
    socket.cork()
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    response.end(text)
    if (surplus === 'doubled') socket.write(head + text)
    if (surplus === 'appended') socket.write(text)
    socket.uncork()
    if (surplus !== 'late') return
    await pause(random() * 20)
    socket.write(head + text)
  })
  /** With the number of answers that were followed by others. */
  return { ...listener, strays: () => strays }
}

function answerTo(url: string, { domain, network_url: url_, email }: Record<string, string>): object {
  if (url.endsWith('/accounts/single_enrich')) {
    const site = domain?.split('.').slice(-2).join('.')
    return { name: `Company of ${site}`, domain: site, network_url: null, technologies: [] }
  }
  return { full_name: null, network_profile_url: url_ ?? null, most_probable_email: email ?? null }
}
