import { describe, expect, it } from 'vitest'
import { ConnectionLost } from '../../../src/api/calls/caller.js'
import {
  inDoubt,
  isHeldBack,
  readCalls,
  readResults,
  toLostCall,
  toReply,
  writeCalls,
  writeResults,
} from '../../../src/engine/distributed/chunk.js'

const reply = { status: 200, body: {}, headers: {}, credits: 1 }

describe('what a chunk holds', () => {
  it('is the same after a round trip, numbers beyond 2^53 included', () => {
    const body = { network_list_id: 9_007_199_254_740_993n, text: '9007199254740993', note: '\u0000\ud800' }
    const came = [
      { ...reply, body, replayed: 3, headers: { 'idempotent-replayed': 'true' } },
      null,
      { status: 429, body: { error: 'wait' }, headers: { 'retry-after': '1' }, credits: 0, waitMs: 250 },
      { status: 503, body: {}, headers: {}, credits: 0, unknown: true as const },
      inDoubt,
    ]
    expect(readResults(writeResults(came))).toEqual(came)
    const calls = [{ ordinal: 2 ** 31, fresh: true, key: 'run-1', input: { limit: 5, ids: [1n << 60n] } }]
    expect(readCalls(writeCalls(calls))).toEqual(calls)
  })

  it('is thrown again when a call got no reply', () => {
    const [came] = readResults(writeResults([toLostCall(new ConnectionLost('cut', false))]))
    expect(() => came && toReply(came)).toThrow(expect.objectContaining({ message: 'cut', unknown: false }))
  })

  it.each([
    ['a success', reply, false],
    ['a row that is not found', { ...reply, status: 404 }, false],
    ['a rate limit', { ...reply, status: 429 }, true],
    ['no credits', { ...reply, status: 402 }, true],
    ['a key', { ...reply, status: 401 }, true],
    ['an open outcome', { ...reply, status: 503, unknown: true as const }, false],
    ['no reply', { lost: 'cut', unknown: true }, false],
    ['what nobody knows', inDoubt, false],
    ['what was not called', null, false],
  ])('holds the calls behind it back or not: %s', (_, came, isHeld) => {
    expect(isHeldBack(came)).toBe(isHeld)
  })
})
