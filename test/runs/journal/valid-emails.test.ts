import { describe, expect, it } from 'vitest'
import { runsOver } from '../../../src/runs/journal/runs.js'
import { toPlace } from '../../../src/storage/driver/connection.js'
import { states } from '../../support/states.js'

const bodies = [
  '{"email":"a@x.example","email_status":"valid"}',
  '{"most_probable_email_status": "valid"}',
  '{"email_status":"risky"}',
  '{"personal_email_status":"valid"}',
]
const add = `INSERT INTO answers (place, status, body, credits, source, origin, answered_at)
  VALUES (?, 'found', ?, 0, 'live', ?, 0)`

describe.each(states())('the funnel of a run in %s', (_, open) => {
  it('counts the lookups that found a valid email address, also where the answer is of another run', async () => {
    const state = await open()
    await state.transaction(async (connection) => {
      for (const [at, body] of bodies.entries()) await connection.run(add, toPlace(7, at), body, null)
      await connection.run(add, toPlace(8, 0), null, toPlace(7, 0))
    })
    const runs = runsOver(state)
    expect(await runs.countValidEmails({ number: 7 })).toBe(2)
    expect(await runs.countValidEmails({ number: 8 })).toBe(1)
  })
})
