import { Refusal } from '../api/calls/errors.js'
import type { Clock } from '../api/ports/ports.js'
import { parseForeign } from '../api/values/json.js'
import { resultOr } from '../api/values/objects.js'
import { createExchange } from '../client/exchange.js'
import { Lost } from '../client/reading.js'
import type { Resolve } from '../client/ssrf-guard.js'
import { type CrmAnswer, type CrmHttp, type CrmPacing, type CrmRequest, WriteLost } from './connector.js'

const timeoutMs = 60_000
const mostAttempts = 5
const firstPauseMs = 500
/** A CRM that asks for a longer wait is waited for all the same, but with a note. */
const notedPauseMs = 15_000

interface HttpGiven {
  readonly crm: string
  readonly allow: readonly string[]
  readonly clock: Clock
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  notify(text: string): void
  readonly signal?: AbortSignal | undefined
  readonly resolve?: Resolve | undefined
}

/** Creates what sends requests to a CRM: no redirect is followed, and no internal address is reached that was not allowed. */
export function createCrmHttp({ crm, allow, clock, sleep, notify, signal, resolve }: HttpGiven): CrmHttp {
  const others = createExchange(resolve && { resolve })
  const targets = { allow, loopback: false, what: 'Requests' }
  let freeAt = 0
  const wait = async (ms: number) => {
    if (ms > notedPauseMs) notify(`${crm} asks to wait ${Math.ceil(ms / 1_000)} s.`)
    if (ms > 0) await sleep(ms, signal)
  }
  const once = async ({ method, url, headers, body, isForm = false }: CrmRequest): Promise<CrmAnswer> => {
    const content =
      body === undefined ? null : isForm ? String(new URLSearchParams(body as never)) : JSON.stringify(body)
    const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
    const sent = {
      accept: 'application/json',
      'user-agent': 'prospect',
      ...(content === null ? {} : { 'content-type': type }),
      ...headers,
    }
    const answer = await others.exchange(url, targets, { method, headers: sent, body: content }, timeoutMs)
    const { status, text } = answer
    const read = text.trim() === '' ? null : resultOr(undefined, () => parseForeign(text))
    if (read === undefined && status < 300)
      throw new Lost(`${new URL(url).host} answered with something that is not JSON`, true, 'broken')
    return { status, headers: answer.headers, body: read ?? null }
  }
  const send = async (request: CrmRequest, pacing: CrmPacing): Promise<CrmAnswer | 'day'> => {
    for (let attempt = 1; ; attempt++) {
      await wait(freeAt - clock.now())
      signal?.throwIfAborted()
      let failure: string
      let isOpen = true
      try {
        const answer = await once(request)
        const now = clock.now()
        const limit = pacing.limitOf(answer, now)
        if (limit === 'day') return 'day'
        freeAt = now + (limit ?? pacing.pauseAfter(answer, now))
        if (limit === undefined && answer.status < 500) return answer
        failure = `${new URL(request.url).host} answered ${answer.status}`
        isOpen = limit === undefined
        // A limit ends by itself, however often it is met.
        if (limit !== undefined) {
          attempt--
          continue
        }
      } catch (error) {
        if (!(error instanceof Lost)) throw error
        if (error.code === 'refused') throw new Refusal('crm.address', { crm, cause: error.message })
        failure = error.message
        isOpen = error.sent
      }
      if (isOpen && !request.isRepeatable) throw new WriteLost(failure)
      if (attempt >= mostAttempts) throw new Refusal('crm.unreachable', { crm, reason: failure })
      await wait(firstPauseMs * 2 ** (attempt - 1))
    }
  }
  let last: Promise<unknown> = Promise.resolve()
  return {
    send: (request, pacing) => {
      const answer = last.then(() => send(request, pacing))
      last = answer.catch(() => {})
      return answer
    },
    close: others.close,
  }
}
