import { describe, expect, it } from 'vitest'
import { ApiError, type ErrorCode, errorBody, errors, failureOf } from '../../../src/api/calls/errors.js'
import { casesOf } from '../../support/fixtures.js'

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

  it.each(casesOf<[string, number, unknown, number]>('api/calls/errors/exit-codes'))(
    'has an exit code whatever the server: %s',
    (_, status, body, exit) => {
      expect(failureOf(status, body).exit).toBe(exit)
    },
  )

  it("has the server's text, or otherwise the meaning of the status", () => {
    expect(failureOf(402, { error: 'No credits' }).text).toBe('No credits')
    expect(failureOf(500, {}).text).toBe('Internal server error')
    for (const status of [400, 402, 418, 502])
      expect(failureOf(status, {}).text).toBe(`The server answered ${status}`)
  })
})
