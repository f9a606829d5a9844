import type { Dispatcher } from 'undici'
import type { Targets } from '../api/ports/ports.js'
import { parseBody, toJson } from '../api/values/json.js'
import { resultOr } from '../api/values/objects.js'
import { exchange } from './connection.js'
import { codeOf, Lost, sentenceOf, type WireAnswer } from './reading.js'
import { createPools, createResolver, type PoolSettings } from './resolver.js'
import { destinationOf, hostOf, type Resolve } from './ssrf-guard.js'

/** Limits of requests to addresses of others. */
export interface ExchangeOptions extends PoolSettings {
  readonly resolve: Resolve
  /** Maximum size of an answer in bytes. */
  readonly bodyBytes: number
  /** Timeout of the answer's body; by default only that of the whole request. */
  readonly bodyMs?: number
}

const usual: Omit<ExchangeOptions, 'resolve'> = {
  bodyBytes: 4 * 1_024 * 1_024,
  connections: 64,
  maxConnections: 256,
  connectionMs: 10_000,
  // Well below the 5 s of common servers, so that a request does not meet a closing connection.
  keepAliveMs: 2_000,
  ca: undefined,
  chooseAddresses: (addresses) => addresses,
}

type OthersRequest = Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body' | 'reset'>

export type MayGo = (ms: number) => Promise<boolean>

/** Whose request it is, and how long it may take. */
interface Sending {
  readonly owner?: string | undefined
  /** Maximum time from the name lookup to the end of the answer, without the wait for a connection. */
  readonly timeoutMs: number
  /** Aborted when the time is over; whoever aborts it before ends the request, also while it waits. */
  readonly ending: AbortController
  /** Asked last, when it has an address and a connection is free: whether the request may go out that ends within so long. */
  readonly mayGo?: MayGo | undefined
}

/** Creates what requests addresses of others. It follows no redirects, and limits answers in size and time. */
export function createExchange(given: Partial<ExchangeOptions> = {}) {
  const options = { resolve: createResolver(), ...usual, ...given }
  const pools = createPools(options)
  /** Returns where a URL leads, or why nothing may be sent there. Rejects when that is not known until the signal aborts. */
  const find = (url: string, targets: Targets, lookup: { owner?: string | undefined; signal: AbortSignal }) =>
    unlessAborted(destinationOf(url, targets, options.resolve, lookup), lookup.signal)
  /** Rejects with a `Lost` where no status came: `refused` where the address may not be requested, `withdrawn` by `mayGo`. */
  const send = async (
    url: string,
    targets: Targets,
    request: OthersRequest,
    { owner, timeoutMs, ending, mayGo }: Sending,
  ): Promise<WireAnswer> => {
    const host = resultOr(url, () => new URL(url).host)
    const { signal } = ending
    const began = performance.now()
    let late = setTimeout(() => ending.abort(), timeoutMs)
    try {
      const destination = await find(url, targets, { owner, signal })
      clearTimeout(late)
      if ('refused' in destination) throw new Lost(destination.refused, false, 'refused')
      const leftMs = timeoutMs - (performance.now() - began)
      const { origin, pathname, search } = destination.url
      const sent = { origin, path: pathname + search, ...request, headersTimeout: 0, bodyTimeout: 0 }
      const limits = { ...options, base: destination.url, proxy: undefined, answerMs: timeoutMs }
      const answer = await pools.use(destination, { owner, signal }, async (pool) => {
        if ((await mayGo?.(Math.max(0, timeoutMs - (performance.now() - began)))) === false)
          throw new Lost(`Nothing was sent to ${host}`, false, 'withdrawn')
        late = setTimeout(() => ending.abort(), leftMs)
        return exchange(pool, sent, { ...limits, isDeadline: true }, signal)
      })
      if (answer) return answer
      throw new Lost(`No connection to ${hostOf(destination.url)} was free`, false, 'busy')
    } catch (error) {
      if (error instanceof Lost) throw error
      if (signal.aborted)
        throw new Lost(`${host} did not answer within ${timeoutMs / 1_000} s`, false, 'late')
      throw new Lost(sentenceOf(error, host), false, codeOf(error))
    } finally {
      clearTimeout(late)
    }
  }
  return {
    find,
    send,
    /** Returns the answer as text. Rejects with a `Lost` where no usable one came. */
    async exchange(url: string, targets: Targets, request: OthersRequest, timeoutMs: number, mayGo?: MayGo) {
      const ending = new AbortController()
      // With the wait for a connection.
      const late = setTimeout(() => ending.abort(), timeoutMs)
      // What a server repeats on a connection of its own can be the answer to no other request.
      const alone = { ...request, reset: true }
      const sent = send(url, targets, alone, { timeoutMs, ending, mayGo }).finally(() => clearTimeout(late))
      const { status, headers, body, broken } = await sent
      if (broken !== undefined) throw new Lost(`${new URL(url).host} answered ${broken}`, true, 'broken')
      return {
        status,
        headers: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, String([value].flat()[0])]),
        ),
        text: textOf(body, headers['content-type']),
      }
    },
    close: () => pools.destroy(),
  }
}

/** Returns the text of an answer: UTF-8, as JSON has to be, else in the encoding that it names, or in that of old servers. */
function textOf(body: Uint8Array<ArrayBuffer>, type: string | string[] | undefined): string {
  const [, named = ''] = /charset\s*=\s*"?([\w:.-]+)/i.exec(String(type)) ?? []
  const read = (label: string) =>
    resultOr(undefined, () => new TextDecoder(label, { fatal: true }).decode(body))
  return read('utf-8') ?? read(named) ?? Buffer.from(body).toString('latin1')
}

/** Rejects when the signal aborts, for work that cannot be stopped. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    promise.then(resolve, reject)
  })
}

const postMs = 60_000

export type Poster = ReturnType<typeof createPoster>

/** Creates what sends JSON to addresses of others: public ones over https, and this machine. */
export function createPoster() {
  const others = createExchange()
  return {
    /** Returns the answer; `error` says why there is none. */
    async send(
      method: 'POST' | 'PUT' | 'PATCH',
      url: string,
      content: unknown,
      given: Readonly<Record<string, string>>,
    ) {
      const json = 'application/json'
      const usual = { accept: json, 'content-type': json, 'user-agent': 'prospect' }
      const request = { method, body: toJson(content), headers: { ...usual, ...given } } as const
      const targets = { allow: [], loopback: true, what: 'Requests' }
      try {
        const { status, headers, text } = await others.exchange(url, targets, request, postMs)
        const body: unknown = resultOr(undefined, () => parseBody(text))
        return { status, body, headers }
      } catch (error) {
        if (!(error instanceof Lost)) throw error
        return { error: error.message, isRefused: error.code === 'refused', wasSent: error.sent }
      }
    },
    close: others.close,
  }
}
