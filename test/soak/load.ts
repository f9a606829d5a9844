import { readFileSync } from 'node:fs'
import { type Agent, request as httpRequest, type RequestOptions } from 'node:http'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { randomIds } from '../support/engine.js'

/** Opens the engine of a database, whose workspace has a plan and plenty of credits. */
export async function openOwner(location: string, plan = 'Scale') {
  const store = await openEngineDatabase(location)
  const admin = createAdmin({ store, clock: { now: Date.now }, ids: randomIds })
  const { key = '' } = await admin.init()
  await admin.setPlan(plan)
  await admin.setCredits(1_000_000)
  return {
    store,
    admin,
    key,
    /** Makes members with a key each, which has no scopes unless they are given by its number. */
    addKeys: async (count: number, scopesOf: (at: number) => string[] | undefined = () => undefined) => {
      const keys: string[] = []
      for (let at = 0; at < count; at++) {
        const { email } = await admin.addMember({ email: `m${at}@localhost` })
        const scopes = scopesOf(at)
        keys.push((await admin.createKey({ member: email, ...(scopes ? { scopes } : {}) })).key)
      }
      return keys
    },
  }
}

/** Repeats a unit until a body has a size, or so many units, and pads it. */
export function filled(
  head: string,
  unit: string,
  tail: string,
  size: number,
  most: number = Number.POSITIVE_INFINITY,
): Buffer {
  const times = Math.min(most, Math.floor((size - head.length - tail.length) / unit.length))
  const body = head + unit.repeat(Math.max(1, times)).replace(/,$/, '') + tail
  return Buffer.from(body.padStart(size))
}

/** Sends a request; resolves with its status, or with why there is none. */
export const send = (
  agent: Agent,
  options: RequestOptions,
  body: Buffer | undefined,
  { lateMs, leaves = false }: { readonly lateMs: number; readonly leaves?: boolean },
): Promise<string> =>
  new Promise((resolve) => {
    const sent = httpRequest({ host: '127.0.0.1', agent, ...options })
    sent.setTimeout(lateMs, () => resolve('late'))
    // A refusal may come before all of the body is sent.
    sent.on('error', () => resolve(leaves ? 'left' : 'closed'))
    sent.on('response', (response) => {
      response.resume().on('error', () => {})
      response.on('close', () => resolve(String(response.statusCode)))
    })
    if (leaves) setTimeout(() => sent.destroy(), 5)
    sent.end(body)
  })

/** Returns the memory of a process in MB: at present, or at most so far. */
export const memoryMb = (pid: number | undefined, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): number =>
  Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024

/** Returns the value that a share of all values does not exceed. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.max(1, Math.ceil(values.length * share)) - 1] ??
  Number.NaN

/** Counts one more of a thing. */
export const count = <T>(counts: Map<T, number>, thing: T): void => {
  counts.set(thing, (counts.get(thing) ?? 0) + 1)
}
