import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { newToken } from '../../src/http/receiver.js'
import { openState } from '../../src/storage/state/open.js'
import { eventsOver } from '../../src/storage/state/webhook-inbox.js'
import { freePort } from '../client/listeners.js'
import { launchServer } from './processes.js'

/** What is sent to a receiver that is killed again and again. */
interface Sendings {
  readonly deliveries: number
  /** Those of them that are not sent for a second time. */
  readonly distinct: number
  readonly kills: number
}

const senders = 16

/** Starts a receiver as a process. */
const receiving = (program: string, home: string, port: number, token: string) =>
  launchServer(program, ['listen', '--port', String(port), '--path', token, '--json', '--quiet'], home, {
    PROSPECT_HOME: home,
  })

/** Numbers of deliveries in an order that a seed decides, in which some come a second time. */
function shuffled({ deliveries, distinct }: Sendings, seed: string): number[] {
  const placeOf = (at: number) => createHash('sha256').update(`${seed}:${at}`).digest('hex')
  return Array.from({ length: deliveries }, (_, at) => ({ number: at % distinct, place: placeOf(at) }))
    .sort((one, other) => (one.place < other.place ? -1 : 1))
    .map(({ number }) => number)
}

/**
 * Sends deliveries to the receiver of a home, and kills its process evenly between them; what fails is sent again. Returns
 * how many it acknowledged, and how often it acknowledged each as new, by number.
 */
async function sendToKilled(program: string, home: string, sendings: Sendings, seed: string) {
  const [port, token] = [await freePort(), newToken(randomBytes(16))]
  const waiting = shuffled(sendings, seed)
  const taken = new Map<number, number>()
  let acknowledged = 0
  let running = await receiving(program, home, port, token)
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
    for (let kill = 1; kill <= sendings.kills; kill++) {
      while (acknowledged < (kill * sendings.deliveries) / (sendings.kills + 1)) await pause(1)
      running.server.kill('SIGKILL')
      await running.server
      running = await receiving(program, home, port, token)
    }
  }
  try {
    await Promise.all([killer(), ...Array.from({ length: senders }, sender)])
    return { acknowledged, taken }
  } finally {
    await running.stop()
  }
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

/** Sends to a receiver that is killed, and expects that it took each delivery once and lost none it acknowledged. */
export async function expectEachTakenOnce(program: string, home: string, sendings: Sendings): Promise<void> {
  const seed = randomBytes(4).toString('hex')
  const { acknowledged, taken } = await sendToKilled(program, home, sendings, seed)
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
