import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newToken } from '../../src/http/receiver.js'
import { eventsOver } from '../../src/storage/inbox.js'
import { openState } from '../../src/storage/state.js'
import { bundled } from '../helpers/processes.js'

const deliveries = 1_000
const distinct = 700
const kills = 5
const senders = 16

let program: string
let home: string
beforeAll(async () => {
  program = await bundled('programs/prospect.ts')
  home = mkdtempSync(join(tmpdir(), 'prospect-receiver-'))
}, 60_000)
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** A receiver as a process of its own; resolves when it listens. */
async function receiving(port: number, token: string) {
  const child = spawn(
    process.execPath,
    [program, 'listen', '--port', String(port), '--path', token, '--json', '--quiet'],
    {
      env: { PATH: process.env.PATH, PROSPECT_HOME: home },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const lines = createInterface(child.stdout)
  await new Promise((resolve, reject) => {
    lines.once('line', resolve)
    child.once('exit', (code) => reject(new Error(`the receiver ended with ${code}`)))
  })
  return child
}

/** Numbers of deliveries in an order that a seed decides, in which 30 % come a second time. */
function shuffled(seed: string): number[] {
  const placeOf = (at: number) => createHash('sha256').update(`${seed}:${at}`).digest('hex')
  return Array.from({ length: deliveries }, (_, at) => ({ number: at % distinct, place: placeOf(at) }))
    .sort((one, other) => (one.place < other.place ? -1 : 1))
    .map(({ number }) => number)
}

it('takes each delivery once and loses none that it acknowledged, though it is killed again and again', async () => {
  const port = await freePort()
  const token = newToken(randomBytes(16))
  const seed = randomBytes(4).toString('hex')
  const waiting = shuffled(seed)
  const acknowledged = new Map<number, number>()
  let answered = 0
  let child = await receiving(port, token)

  const send = async (number: number): Promise<boolean> => {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/hooks/${token}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'webhook-id': `msg_${number}` },
        body: JSON.stringify({ event: 'lead_search.record', id: 'search', ordinal: number }),
      })
      const body = (await response.json()) as { duplicate: boolean }
      if (response.status !== 200) return false
      acknowledged.set(number, (acknowledged.get(number) ?? 0) + (body.duplicate ? 0 : 1))
      return true
    } catch {
      return false
    }
  }
  // Like a sender that keeps trying: what was not acknowledged goes to the end of the queue.
  const sender = async () => {
    for (let number = waiting.shift(); number !== undefined; number = waiting.shift()) {
      if (await send(number)) answered++
      else {
        waiting.push(number)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
  const killer = async () => {
    for (let kill = 1; kill <= kills; kill++) {
      while (answered < (kill * deliveries) / (kills + 1))
        await new Promise((resolve) => setTimeout(resolve, 1))
      child.kill('SIGKILL')
      await new Promise((resolve) => child.once('exit', resolve))
      child = await receiving(port, token)
    }
  }
  try {
    await Promise.all([killer(), ...Array.from({ length: senders }, sender)])
    expect([acknowledged.size, answered], `seed ${seed}`).toEqual([distinct, deliveries])
    // At most one answer says that a delivery was new; none does where the process died between keeping and answering.
    expect(Math.max(...acknowledged.values())).toBe(1)
  } finally {
    child.kill('SIGTERM')
    await new Promise((resolve) => child.once('exit', resolve))
  }
  const events = eventsOver(await openState(join(home, 'state.db')))
  try {
    const kept = await events.list({}, 'oldest', 10 * deliveries)
    expect(kept.map(({ id }) => id).sort()).toEqual(
      Array.from({ length: distinct }, (_, at) => `msg_${at}`).sort(),
    )
    const integrity = await openState(join(home, 'state.db'))
    expect(await integrity.read((connection) => connection.all('PRAGMA integrity_check'))).toEqual([
      { integrity_check: 'ok' },
    ])
    await integrity.close()
  } finally {
    await events.close()
  }
}, 60_000)
