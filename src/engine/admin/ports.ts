import { engineTime } from '../clock.js'
import type { Clock, Ids, Reads, Store, Workspace } from '../ports/ports.js'
import { AdminError } from './error.js'

/** What administration works with. */
export interface AdminPorts {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
}

/** The workspace in use and engine time, both of one moment. */
export async function current(reads: Reads, clock: Clock): Promise<{ workspace: Workspace; now: number }> {
  const workspace = await reads.workspace()
  if (!workspace) throw new AdminError('There is no workspace yet; create one with: prospect init')
  return { workspace, now: engineTime(await reads.clock(), clock.now()) }
}
