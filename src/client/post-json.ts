import { parseBody, toJson } from '../api/values/json.js'
import { resultOr } from '../api/values/objects.js'
import { sentenceOf } from './reading.js'
import { createPools, createResolver } from './resolver.js'
import { destinationOf, hostOf } from './ssrf-guard.js'

/** The answer to a request; `error` says why there is none. */
export type JsonAnswer =
  | { readonly status: number; readonly body: unknown; readonly retryAfter: string | undefined }
  | { readonly error: string; readonly isRefused: boolean }

/** Sends JSON, and returns the answer. */
export type PostJson = (
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
) => Promise<JsonAnswer>

const mostBytes = 4 * 1_024 * 1_024
const timeoutMs = 60_000

/**
 * Creates what sends JSON to addresses of others: public ones over https, and this machine. It follows no redirects, and limits
 * answers in size and time.
 */
export function createPoster(): { readonly post: PostJson; close(): Promise<void> } {
  const resolve = createResolver()
  const pools = createPools({
    ...{ connections: 32, maxConnections: 64, connectionMs: 10_000, keepAliveMs: 2_000, ca: undefined },
    chooseAddresses: (addresses) => addresses,
  })
  const post: PostJson = async (url, content, headers) => {
    const signal = AbortSignal.timeout(timeoutMs)
    const host = resultOr(url, () => hostOf(new URL(url)))
    try {
      const destination = await destinationOf(url, { allow: [], loopback: true }, resolve, { signal })
      if ('refused' in destination) return { error: destination.refused, isRefused: true }
      const answer = await pools.use(destination, { signal }, async (pool) => {
        const { pathname, search } = destination.url
        const reply = await pool.request({
          ...{ method: 'POST', path: pathname + search, body: toJson(content), signal },
          headers: {
            accept: 'application/json',
            'content-type': 'application/json',
            'user-agent': 'prospect',
            ...headers,
          },
          ...{ headersTimeout: 0, bodyTimeout: 0 },
        })
        const chunks: Buffer[] = []
        let size = 0
        for await (const chunk of reply.body as AsyncIterable<Buffer>) {
          size += chunk.length
          if (size > mostBytes) return { error: `${host} answered with more than 4 MiB`, isRefused: false }
          chunks.push(chunk)
        }
        const text = Buffer.concat(chunks).toString('utf8')
        const retryAfter = reply.headers['retry-after']
        return {
          status: reply.statusCode,
          body: resultOr<unknown, undefined>(undefined, () => parseBody(text)),
          retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
        }
      })
      return answer ?? { error: `No connection to ${host} was free`, isRefused: false }
    } catch (error) {
      const late = `${host} did not answer within ${timeoutMs / 1_000} s`
      return { error: signal.aborted ? late : sentenceOf(error, host), isRefused: false }
    }
  }
  return { post, close: () => pools.destroy() }
}
