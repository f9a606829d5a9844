import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openState } from '../../src/storage/state/open.js'
import { eventsOver } from '../../src/storage/state/webhook-inbox.js'
import { type Sendings, sendToKilled } from './killed-receiver.js'

/** Sends to a receiver that is killed, and expects that it took each delivery once and lost none it acknowledged. */
export async function expectEachTakenOnce(
  program: string,
  home: string,
  sendings: Omit<Sendings, 'seed'>,
): Promise<void> {
  const seed = randomBytes(4).toString('hex')
  const { acknowledged, taken } = await sendToKilled(program, home, { ...sendings, seed })
  expect([taken.size, acknowledged], `seed ${seed}`).toEqual([sendings.distinct, sendings.deliveries])
  // At most one answer says that a delivery was new; none does where the process died between keeping and answering.
  expect(Math.max(...taken.values())).toBe(1)
  const state = await openState(join(home, 'state.db'))
  const events = eventsOver(state)
  try {
    const kept = await events.list({}, 'oldest', 10 * sendings.deliveries)
    const all = Array.from({ length: sendings.distinct }, (_, at) => `msg_${at}`)
    expect(kept.map(({ id }) => id).sort()).toEqual(all.sort())
    const integrity = await state.read((connection) => connection.all('PRAGMA integrity_check'))
    expect(integrity).toEqual([{ integrity_check: 'ok' }])
  } finally {
    await events.close()
  }
}
