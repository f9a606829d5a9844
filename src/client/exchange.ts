import type { Dispatcher } from 'undici'
import type { Targets } from '../api/ports/ports.js'
import { parseBody, toJson } from '../api/values/json.js'
import { resultOr } from '../api/values/objects.js'
import { exchange } from './connection.js'
import { codeOf, Lost, sentenceOf } from './reading.js'
import { createPools, createResolver } from './resolver.js'
import { destinationOf, type Resolve } from './ssrf-guard.js'

const maxBytes = 4 * 1_024 * 1_024

/** Creates what requests addresses of others. It follows no redirects, and limits answers in size and time. */
export function createExchange(resolve: Resolve = createResolver()) {
  const pools = createPools({
    connections: 64,
    maxConnections: 256,
    connectionMs: 10_000,
    keepAliveMs: 2_000,
    ca: undefined,
    chooseAddresses: (addresses) => addresses,
  })
  return {
    /** Rejects with a `Lost` where no usable answer came. Its code is `refused` where the address may not be requested. */
    async exchange(
      url: string,
      targets: Targets,
      request: Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'>,
      timeoutMs: number,
    ) {
      const host = resultOr(url, () => new URL(url).host)
      const signal = AbortSignal.timeout(timeoutMs)
      try {
        const destination = await destinationOf(url, targets, resolve, { signal })
        if ('refused' in destination) throw new Lost(destination.refused, false, 'refused')
        const { origin, pathname, search } = destination.url
        const settings = { base: destination.url, proxy: undefined, answerMs: timeoutMs, bodyBytes: maxBytes }
        const options = { origin, path: pathname + search, ...request, headersTimeout: 0, bodyTimeout: 0 }
        const answer = await pools.use(destination, { signal }, (pool) =>
          exchange(pool, options, settings, signal),
        )
        if (!answer) throw new Lost(`No connection to ${host} was free`, false, 'busy')
        if (answer.broken !== undefined) throw new Lost(`${host} answered ${answer.broken}`, true, 'broken')
        return {
          status: answer.status,
          headers: Object.fromEntries(
            Object.entries(answer.headers).map(([name, value]) => [name, String([value].flat()[0])]),
          ),
          text: Buffer.from(answer.body).toString(),
        }
      } catch (error) {
        const isSent = error instanceof Lost && error.sent
        if (signal.aborted)
          throw new Lost(`${host} did not answer within ${timeoutMs / 1_000} s`, isSent, 'late')
        throw error instanceof Lost ? error : new Lost(sentenceOf(error, host), false, codeOf(error))
      }
    },
    close: () => pools.destroy(),
  }
}

const postMs = 60_000

export type Poster = ReturnType<typeof createPoster>

/** Creates what sends JSON to addresses of others: public ones over https, and this machine. */
export function createPoster() {
  const others = createExchange()
  return {
    /** Returns the answer; `error` says why there is none. */
    async post(url: string, content: unknown, given: Readonly<Record<string, string>>) {
      const usual = {
        accept: 'application/json',
        'content-type': 'application/json',
        'user-agent': 'prospect',
      }
      const request = { method: 'POST', body: toJson(content), headers: { ...usual, ...given } } as const
      try {
        const { status, headers, text } = await others.exchange(
          url,
          { allow: [], loopback: true },
          request,
          postMs,
        )
        const body: unknown = resultOr(undefined, () => parseBody(text))
        return { status, body, retryAfter: headers['retry-after'] }
      } catch (error) {
        if (!(error instanceof Lost)) throw error
        return { error: error.message, isRefused: error.code === 'refused' }
      }
    },
    close: others.close,
  }
}
