import { readFileSync } from 'node:fs'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { randomIds } from '../support/engine.js'

/** Opens the engine of a database, whose workspace has a plan and plenty of credits. */
export async function openOwner(location: string) {
  const store = await openEngineDatabase(location)
  const admin = createAdmin({ store, clock: { now: Date.now }, ids: randomIds })
  const { key = '' } = await admin.init()
  await admin.setPlan('Scale')
  await admin.setCredits(1_000_000)
  return { store, admin, key }
}

/** Returns the memory of a process in MB. */
export const memoryMb = (pid: number | undefined): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024

/** Returns the value that a share of all values does not exceed. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.max(1, Math.ceil(values.length * share)) - 1] ??
  Number.NaN

/** Counts one more of a thing. */
export const count = <T>(counts: Map<T, number>, thing: T): void => {
  counts.set(thing, (counts.get(thing) ?? 0) + 1)
}
