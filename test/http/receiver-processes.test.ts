import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { newToken } from '../../src/http/receiver.js'
import { openState } from '../../src/storage/state/open.js'
import { eventsOver } from '../../src/storage/state/webhook-inbox.js'
import { freePort } from '../client/listeners.js'
import { perFile } from '../support/each.js'
import { tries } from '../support/effort.js'
import { random } from '../support/killed-batch.js'
import { newFolder } from '../support/new-folder.js'
import { launchServer, prospect } from '../support/processes.js'
import { until } from '../support/until.js'

const [deliveries, distinct, kills] = tries([40, 28, 1], [1_000, 700, 5])
const senders = 16
const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
const home = perFile(newFolder)

/** Numbers of deliveries in an order that the seed decides, in which some come a second time. */
function shuffled(): number[] {
  const pick = random(seed)
  return Array.from({ length: deliveries }, (_, at) => ({ number: at % distinct, place: pick(2 ** 31) }))
    .sort((one, other) => one.place - other.place)
    .map(({ number }) => number)
}

/** Returns whether a receiver acknowledged a delivery as new, `undefined` when it did not acknowledge it. */
async function isTakenAsNew(url: string, number: number): Promise<boolean | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'webhook-id': `msg_${number}` },
      body: JSON.stringify({ event: 'lead_search.record', id: 'search', ordinal: number }),
    })
    const body = (await response.json()) as { duplicate: boolean }
    return response.status === 200 ? !body.duplicate : undefined
  } catch {
    return undefined
  }
}

it('stores each acknowledged delivery exactly once, although the receiver is killed again and again', async () => {
  const [port, token] = [await freePort(), newToken(randomBytes(16))]
  const argv = ['listen', '--port', String(port), '--path', token, '--json', '--quiet']
  const receiving = () => launchServer(prospect, argv, home.path, { PROSPECT_HOME: home.path })
  const waiting = shuffled()
  /** How often each delivery was acknowledged as new, by number. */
  const taken = new Map<number, number>()
  let acknowledged = 0
  let running = await receiving()
  const sender = async () => {
    for (let number = waiting.shift(); number !== undefined; number = waiting.shift()) {
      const isNew = await isTakenAsNew(`http://127.0.0.1:${port}/hooks/${token}`, number)
      if (isNew === undefined) {
        // Like a sender that keeps trying: what was not acknowledged goes to the end of the queue.
        waiting.push(number)
        await pause(20)
      } else {
        taken.set(number, (taken.get(number) ?? 0) + (isNew ? 1 : 0))
        acknowledged++
      }
    }
  }
  const killer = async () => {
    for (let kill = 1; kill <= kills; kill++) {
      await until(() => acknowledged >= (kill * deliveries) / (kills + 1))
      running.server.kill('SIGKILL')
      await running.server
      running = await receiving()
    }
  }
  await Promise.all([killer(), ...Array.from({ length: senders }, sender)]).finally(() => running.stop())
  expect([taken.size, acknowledged], `PROSPECT_TEST_SEED=${seed}`).toEqual([distinct, deliveries])
  // At most one answer says that a delivery was new; none does where the process died between keeping and answering.
  expect(Math.max(...taken.values())).toBe(1)
  const state = await openState(home.at('state.db'))
  const kept = await eventsOver(state).list({}, 'oldest', 10 * deliveries)
  const all = Array.from({ length: distinct }, (_, at) => `msg_${at}`)
  expect(kept.map(({ id }) => id).sort()).toEqual(all.sort())
  const integrity = await state.read((connection) => connection.all('PRAGMA integrity_check'))
  expect(integrity).toEqual([{ integrity_check: 'ok' }])
  await state.close()
})
