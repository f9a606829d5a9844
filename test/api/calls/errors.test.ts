import { describe, expect, it } from 'vitest'
import { ApiError, type ErrorCode, errorBody, errors, failureOf } from '../../../src/api/calls/errors.js'

const details = {
  keys: 'a, b',
  reason: 'x is wrong',
  need: 3,
  have: 1,
  limit: 10,
  top_up_url: 'https://a.example',
}
const codes = Object.keys(errors) as ErrorCode[]

describe('the failure in a reply', () => {
  it.each(codes)('is the row it was created from, in either shape: %s', (code) => {
    const error = new ApiError(code, details)
    for (const shape of ['text', 'coded'] as const) {
      const failure = failureOf(error.status, errorBody(error, { errors: shape }))
      expect(failure).toMatchObject({ text: error.message, exit: errors[code].exit, means: code })
    }
  })

  it.each([
    ['402 without a code', 402, { error: 'No credits' }, 4],
    ['403 without a code', 403, { error: 'No access' }, 3],
    ['403 with another code', 403, { error: 'No access', code: 'plan' }, 3],
    ['422 in words of its own', 422, { error: 'name is too long' }, 7],
    ['422 of the plan, coded', 422, { error: 422, message: errors.plan_limit_reached.text }, 6],
    ['429 in words of its own', 429, { error: 'Slow down' }, 8],
    ['422 of the plan, with a code of its own', 422, { error: 'Plan limit reached', code: 'limit' }, 6],
    ['422 of the plan in words of its own', 422, { error: "You have reached your plan's daily limit" }, 6],
    ['422 of the plan, the other way round', 422, { error: 'This exceeds the limits of your plan' }, 6],
    ['422 of the plan as a code', 422, { error: 'Refused', code: 'plan_limit_reached' }, 6],
    ['422 of the plan beside a title', 422, { message: 'Unprocessable', error: 'Plan limit reached' }, 6],
    ['422 of the plan in a list', 422, { errors: ['Plan limit reached'] }, 6],
    ['422 of a field that is called limit', 422, { error: 'limit must be at most 100' }, 7],
    ['409 without a code', 409, { error: 'Conflict' }, 7],
    ['404 without a body', 404, undefined, 9],
    ['an unknown refusal', 418, 'teapot', 7],
    ['an unknown failure', 599, null, 10],
  ])('has an exit code whatever the server: %s', (_, status, body, exit) => {
    expect(failureOf(status, body).exit).toBe(exit)
  })

  it("has the server's text, or otherwise the meaning of the status", () => {
    expect(failureOf(402, { error: 'No credits' }).text).toBe('No credits')
    expect(failureOf(500, {}).text).toBe('Internal server error')
    for (const status of [400, 402, 418, 502])
      expect(failureOf(status, {}).text).toBe(`The server answered ${status}`)
  })

  it('distinguishes a full disk from a busy database', () => {
    const { message } = new ApiError('storage_failed', { reason: 'the disk is full' })
    expect(failureOf(503, { error: message }).means).toBe('storage_failed')
  })
})
