import type { Caller } from '../api/caller.js'
import type { Catalogue } from '../catalogue/catalogue.js'
import type { Admin } from '../engine/admin.js'
import type { Clock, Ids, Source, Store } from '../engine/ports.js'
import type { Home } from './context.js'
import { localOrigin, storedKey, storeKey } from './credentials.js'
import { grouped } from './terminal.js'

/** What the local target is made of. */
export interface LocalPorts {
  readonly home: Home
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  /** Opened when a request first needs it. */
  catalogue(): Promise<Catalogue>
  notify(text: string): void
}

/** The engine over the local store and catalogue. */
export async function localCaller({ store, clock, ids, catalogue }: LocalPorts): Promise<Caller> {
  const { createEngine } = await import('../engine/engine.js')
  return createEngine({ store, source: lazySource(catalogue), clock, ids })
}

/** The engine's administration. */
export async function localAdmin({ store, clock, ids }: LocalPorts): Promise<Admin> {
  const { createAdmin } = await import('../engine/admin.js')
  return createAdmin({ store, clock, ids })
}

/**
 * The key of this machine for the workspace in use. The first use creates workspace, member and key, and says so;
 * where the key was lost, the owner of the machine gets a new one.
 */
export async function localKey(ports: LocalPorts): Promise<string> {
  const workspace = await ports.store.read((reads) => reads.workspace())
  const known = workspace && storedKey(ports.home, localOrigin(workspace.id))
  return known ?? (await makeKey(ports))
}

async function makeKey(ports: LocalPorts): Promise<string> {
  const admin = await localAdmin(ports)
  const made = await admin.init()
  const { workspace, member, credits } = made
  if (made.created)
    ports.notify(
      `Created the workspace ${workspace.name} on this machine: member ${member.email}, plan ${workspace.plan}, ` +
        `${grouped(credits)} credits. Sample companies: prospect data sample`,
    )
  // Another process may have created the workspace a moment ago and be about to store its own key: both work.
  const key = made.key ?? (await admin.createKey({ member: member.email })).key
  storeKey(ports.home, localOrigin(workspace.id), key, ports.clock.now(), ports.ids.uuid())
  return key
}

/** A source that opens the catalogue with its first question. */
function lazySource(catalogue: () => Promise<Catalogue>): Source {
  return {
    company: async (query) => (await catalogue()).company(query),
    technologies: async (query, limit) => (await catalogue()).technologies(query, limit),
  }
}
