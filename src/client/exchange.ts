import type { Dispatcher } from 'undici'
import type { Targets } from '../api/ports/ports.js'
import { parseBody, toJson } from '../api/values/json.js'
import { resultOr } from '../api/values/objects.js'
import { codeOf, sentenceOf } from './reading.js'
import { createPools, createResolver } from './resolver.js'
import { destinationOf, type Resolve } from './ssrf-guard.js'

/** No usable answer came from an address of others. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'

  constructor(
    message: string,
    /** Whether the work may have been done and charged. */
    readonly isSent: boolean,
    /** Whether the address may not be requested. */
    readonly isRefused = false,
  ) {
    super(message)
  }
}

const maxBytes = 4 * 1_024 * 1_024

/** Codes of failures before anything was sent, besides those of certificates. */
const unsent = [
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENODATA', 'EHOSTUNREACH', 'ENETUNREACH'],
  'UND_ERR_CONNECT_TIMEOUT',
]

/** Creates what requests addresses of others. It follows no redirects, and limits answers in size and time. */
export function createExchange(resolve: Resolve = createResolver()) {
  const pools = createPools({
    ...{ connections: 64, maxConnections: 256, connectionMs: 10_000, keepAliveMs: 2_000, ca: undefined },
    chooseAddresses: (addresses) => addresses,
  })
  return {
    /** Rejects with a `NoAnswer` where none came. */
    async exchange(
      url: string,
      targets: Targets,
      options: Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'>,
      timeoutMs: number,
    ) {
      const host = resultOr(url, () => new URL(url).host)
      const signal = AbortSignal.timeout(timeoutMs)
      let isSent = false
      try {
        const destination = await destinationOf(url, targets, resolve, { signal })
        if ('refused' in destination) throw new NoAnswer(destination.refused, false, true)
        const answer = await pools.use(destination, { signal }, async (pool) => {
          isSent = true
          const path = destination.url.pathname + destination.url.search
          const reply = await pool.request({ path, ...options, signal, headersTimeout: 0, bodyTimeout: 0 })
          const chunks: Buffer[] = []
          let size = 0
          for await (const chunk of reply.body as AsyncIterable<Buffer>) {
            size += chunk.length
            if (size > maxBytes) throw new NoAnswer(`${host} answered with more than 4 MiB`, true)
            chunks.push(chunk)
          }
          const text = Buffer.concat(chunks).toString()
          return { status: reply.statusCode, headers: textHeaders(reply.headers), text }
        })
        if (!answer) throw new NoAnswer(`No connection to ${host} was free`, false)
        return answer
      } catch (error) {
        if (error instanceof NoAnswer) throw error
        if (signal.aborted) throw new NoAnswer(`${host} did not answer within ${timeoutMs / 1_000} s`, isSent)
        const code = codeOf(error)
        const isBefore =
          !isSent || unsent.includes(code) || /CERT|ERR_TLS|ERR_SSL|SELF_SIGNED|UNABLE_TO/.test(code)
        throw new NoAnswer(sentenceOf(error, host), !isBefore)
      }
    },
    close: () => pools.destroy(),
  }
}

const textHeaders = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      String(Array.isArray(value) ? value[0] : value),
    ]),
  )

const postMs = 60_000

export type Poster = ReturnType<typeof createPoster>

/** Creates what sends JSON to addresses of others: public ones over https, and this machine. */
export function createPoster() {
  const { exchange, close } = createExchange()
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
        const { status, headers, text } = await exchange(url, { allow: [], loopback: true }, request, postMs)
        const body: unknown = resultOr(undefined, () => parseBody(text))
        return { status, body, retryAfter: headers['retry-after'] }
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error
        return { error: error.message, isRefused: error.isRefused }
      }
    },
    close,
  }
}
