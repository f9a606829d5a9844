import { setTimeout as pause } from 'node:timers/promises'
import { answering, closeAfterTest, type Listener, received } from './listeners.js'

/** What a server sends beside an answer: nothing, the answer once more after some time or at once, or more of its body. */
type Surplus = 'none' | 'late' | 'doubled' | 'appended'

/** A server of companies, some of whose answers are followed by bytes that no request asked for. */
export interface StrayServer extends Listener {
  readonly baseUrl: string
  /** Number of answers that were followed by others. */
  readonly strays: () => number
}

/** Returns numbers from 0 to 1 that depend on the seed alone. */
export function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return (state >>> 0) / 2 ** 32
  }
}

/**
 * Opens the server. One answer in `nth` is followed by a surplus one, 0 to 20 ms later. It answers whom it is asked for,
 * without subdomains; with `knowsKeys` it honours idempotency keys.
 */
export async function strayServer({
  seed,
  nth,
  knowsKeys = false,
}: {
  readonly seed: number
  readonly nth: number
  readonly knowsKeys?: boolean
}): Promise<StrayServer> {
  const random = numbersFrom(seed)
  let strays = 0
  const choose = (): Surplus =>
    random() * nth < 1
      ? ((['late', 'late', 'doubled', 'appended'] as const)[Math.floor(random() * 4)] ?? 'late')
      : 'none'
  const listener = await answering(async (request, response) => {
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
  closeAfterTest(listener)
  return { ...listener, baseUrl: `http://127.0.0.1:${listener.port}/api/v2`, strays: () => strays }
}

function answerTo(url: string, { domain, network_url: url_, email }: Record<string, string>): object {
  if (url.endsWith('/accounts/single_enrich')) {
    const site = domain?.split('.').slice(-2).join('.')
    return { name: `Company of ${site}`, domain: site, network_url: null, technologies: [] }
  }
  return { full_name: null, network_profile_url: url_ ?? null, most_probable_email: email ?? null }
}
