import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { newToken } from '../../src/http/receiver.js'

/** What is sent to a receiver that is killed again and again. */
export interface Sendings {
  readonly deliveries: number
  /** Those of them that are not sent for a second time. */
  readonly distinct: number
  readonly kills: number
  /** Decides the order. */
  readonly seed: string
}

/** What the receiver said of what it was sent. */
export interface Sent {
  /** How many deliveries it acknowledged. */
  readonly acknowledged: number
  /** How often it said of each that it was new, by number. */
  readonly taken: ReadonlyMap<number, number>
}

const senders = 16

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** A receiver as a process of its own; resolves when it listens. */
async function receiving(program: string, home: string, port: number, token: string) {
  const args = ['listen', '--port', String(port), '--path', token, '--json', '--quiet']
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, PROSPECT_HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface(child.stdout)
  await new Promise((resolve, reject) => {
    lines.once('line', resolve)
    child.once('exit', (code) => reject(new Error(`the receiver ended with ${code}`)))
  })
  return child
}

/** Numbers of deliveries in an order that a seed decides, in which some come a second time. */
function shuffled({ deliveries, distinct, seed }: Sendings): number[] {
  const placeOf = (at: number) => createHash('sha256').update(`${seed}:${at}`).digest('hex')
  return Array.from({ length: deliveries }, (_, at) => ({ number: at % distinct, place: placeOf(at) }))
    .sort((one, other) => (one.place < other.place ? -1 : 1))
    .map(({ number }) => number)
}

/** Sends deliveries to the receiver of a home, and kills its process evenly between them; what fails is sent again. */
export async function sendToKilled(program: string, home: string, sendings: Sendings): Promise<Sent> {
  const [port, token] = [await freePort(), newToken(randomBytes(16))]
  const waiting = shuffled(sendings)
  const taken = new Map<number, number>()
  let acknowledged = 0
  let child = await receiving(program, home, port, token)
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
      child.kill('SIGKILL')
      await new Promise((resolve) => child.once('exit', resolve))
      child = await receiving(program, home, port, token)
    }
  }
  try {
    await Promise.all([killer(), ...Array.from({ length: senders }, sender)])
    return { acknowledged, taken }
  } finally {
    child.kill('SIGTERM')
    await new Promise((resolve) => child.once('exit', resolve))
  }
}

/** Whether a receiver said that a delivery was new; nothing where it did not take it. */
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
