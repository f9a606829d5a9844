import { describe, expect, it } from 'vitest'
import type { Reply } from '../../src/api/calls/caller.js'
import { isRead } from '../../src/api/operations/facts.js'
import { operations } from '../../src/api/operations/table.js'
import { isConclusive, isOutcomeUnknown, Outage, pauseAfter } from '../../src/client/attempts.js'
import { Lost } from '../../src/client/reading.js'

const reply = (status: number, headers: Reply['headers'] = {}, body: unknown = {}): Reply => ({
  status,
  headers,
  body,
  credits: 0,
})
const lost = (sent: boolean, code: string) => new Lost('lost', sent, code)
const first = { rounds: 1, waitMs: 0, repeatable: true, random: 1, now: 0 }

describe('which operations are reads', () => {
  it('counts no priced operation as a read, and sends every write but deletions with an idempotency key', () => {
    const unsafe = operations().filter((row) => !isRead(row))
    expect(unsafe.filter(({ idempotent }) => !idempotent).map(({ id }) => id)).toEqual([
      'searches.delete',
      'personas.delete',
    ])
    const priced = operations().filter(({ price }) => Object.keys(price).length > 0)
    expect(priced.filter(isRead)).toEqual([])
  })
})

describe('retries', () => {
  it.each([
    [reply(500), 300],
    [reply(502), 300],
    [reply(503), 300],
    [reply(504), 300],
    [reply(409, {}, { code: 'idempotency_in_progress' }), 300],
    [lost(true, 'ECONNRESET'), 300],
    [lost(true, 'late'), 300],
    [lost(false, 'ECONNREFUSED'), 300],
    [lost(false, 'UND_ERR_CONNECT_TIMEOUT'), 300],
    ...[200, 201, 400, 401, 402, 403, 404, 409, 422, 429, 501].map(
      (status) => [reply(status), undefined] as const,
    ),
    [lost(true, 'aborted'), undefined],
    [lost(false, 'ENOTFOUND'), undefined],
    [lost(false, 'CERT_HAS_EXPIRED'), undefined],
    [lost(false, 'DEPTH_ZERO_SELF_SIGNED_CERT'), undefined],
  ] as const)('%j is retried after %s ms', (attempted, pause) => {
    expect(pauseAfter(attempted, first)).toBe(pause)
  })

  it('does not retry work that may have been done, unless repeating it has no effect', () => {
    const once = { ...first, repeatable: false }
    for (const one of [reply(500), lost(true, 'ECONNRESET')]) expect(pauseAfter(one, once)).toBeUndefined()
    expect(pauseAfter(lost(false, 'ECONNREFUSED'), once)).toBe(300)
  })

  it('doubles the jittered pause between retries, and stops after four attempts', () => {
    const pauses = [1, 2, 3, 4].map((rounds) => pauseAfter(reply(503), { ...first, rounds }))
    expect(pauses).toEqual([300, 600, 1_200, undefined])
    expect(pauseAfter(reply(503), { ...first, random: 0 })).toBe(150)
  })

  it('waits as long as Retry-After says, but does not retry after a long wait', () => {
    const asked = (wait: string) => pauseAfter(reply(503, { 'retry-after': wait }), { ...first, now: 0 })
    const waits = ['2', '31', 'Thu, 01 Jan 1970 00:00:05 GMT', 'soon']
    expect(waits.map(asked)).toEqual([2_000, undefined, 5_000, 300])
  })

  it('marks the outcome as unknown when a request was sent and not answered', () => {
    expect([reply(500), reply(502), lost(true, 'x')].every(isOutcomeUnknown)).toBe(true)
    expect([reply(501), reply(402), reply(200), lost(false, 'x')].some(isOutcomeUnknown)).toBe(false)
  })

  it('an answer settles an unknown outcome, unless it was refused before the key was looked up', () => {
    expect([200, 404, 402, 422, 409].every((status) => isConclusive(reply(status)))).toBe(true)
    expect([401, 403, 429, 500].some((status) => isConclusive(reply(status)))).toBe(false)
    expect(isConclusive(reply(409, {}, { code: 'idempotency_in_progress' }))).toBe(false)
  })
})

describe('an outage', () => {
  it('is not what suspect answers are: a call is repeated however many there were', () => {
    const outage = new Outage()
    for (let count = 0; count < 20; count++) outage.note({ ...reply(502), isSuspect: true })
    expect(outage.lasts).toBe(false)
  })

  it('is not what this side gives up, unless the time of an answer was over', () => {
    const outage = new Outage()
    const failuresAfter = (code: string, reason?: string) => {
      outage.note(lost(true, code), reason ? AbortSignal.abort(new DOMException('', reason)) : undefined)
      return outage.failures
    }
    expect(failuresAfter('aborted')).toBe(0)
    expect(failuresAfter('aborted', 'AbortError')).toBe(0)
    expect(failuresAfter('aborted', 'TimeoutError')).toBe(1)
    expect(failuresAfter('ECONNRESET', 'AbortError')).toBe(2)
  })

  it('an outage starts after ten failures in a row and ends with the first answer', () => {
    const outage = new Outage()
    for (let count = 0; count < 9; count++) outage.note(reply(503))
    expect(outage.lasts).toBe(false)
    outage.note(lost(false, 'ECONNREFUSED'))
    expect(outage.lasts).toBe(true)
    outage.note(reply(404))
    expect(outage.lasts).toBe(false)
  })
})
