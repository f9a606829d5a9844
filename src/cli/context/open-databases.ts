import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ApiError, Refusal } from '../../api/calls/errors.js'
import type { Suppressor } from '../../catalogue/suppression/suppressor.js'
import type { Admin } from '../../engine/admin/admin.js'
import { type Driver, isPostgres, locationProblem } from '../../storage/driver/connection.js'
import type { CleanDelivery, Events } from '../../storage/state/webhook-inbox.js'
import type { Context, Machine, WorkspaceUse } from './context.js'
import { prepareHome } from './home.js'
import { interruptible } from './io.js'

export const isThere = (location: string): boolean => isPostgres(location) || existsSync(location)

/** Opens this machine's state, or the one at an address that machines share. It closes with the command. */
export async function openStateOf(
  context: Pick<Machine, 'home' | 'onClose'>,
  address = context.home.state,
  options: { readonly durable?: boolean } = {},
): Promise<Driver> {
  prepareHome(context.home)
  const { openState } = await import('../../storage/state/open.js')
  const database = await openState(address, options)
  context.onClose(() => database.close())
  return database
}

/** The owner of the entries of this machine, which apply to servers that are called directly. */
export const thisMachine = ''

export interface SuppressionOwner {
  readonly driver: Driver
  readonly owner: string
  /** Name of the workspace; absent for this machine. */
  readonly name?: string
}

/** Opens the entries of this machine, for servers that are called directly. `undefined` where nothing was recorded yet. */
export const openMachineOwner = async (context: Pick<Machine, 'home' | 'onClose'>) =>
  isThere(context.home.state) ? { driver: await openStateOf(context), owner: thisMachine } : undefined

/** Opens the entries of the workspace in use; `undefined` where there is none. */
export async function openWorkspaceOwner(context: Machine): Promise<SuppressionOwner | undefined> {
  if (!isThere(context.home.engine)) return undefined
  const { store } = await openEngineStore(context)
  const { findWorkspace } = await import('../../engine/tables/members.js')
  const workspace = await store.read((tx) => findWorkspace(tx))
  return workspace && { driver: store, owner: workspace.id, name: workspace.name }
}

/** Returns what keeps out whom an owner suppresses; `undefined` where nobody is. */
export async function suppressorFor(owner: SuppressionOwner | undefined): Promise<Suppressor | undefined> {
  if (!owner) return undefined
  const { openSuppressor } = await import('../../engine/tables/members.js')
  return openSuppressor(owner.driver, owner.owner)
}

/**
 * Opens the received events of this machine, in which nobody is whom it or its workspace suppresses. An event that is changed
 * is signed again, with the given secrets or those of the workspace. They close with the command.
 */
export async function openEvents(context: Machine, secrets: readonly string[] = []): Promise<Events> {
  const { eventsOver } = await import('../../storage/state/webhook-inbox.js')
  const state = await openStateOf(context)
  const { openSuppressors } = await import('../../engine/tables/members.js')
  let opening: Promise<SuppressionOwner | undefined> | undefined
  const clean: CleanDelivery = async (delivery) => {
    opening ??= openWorkspaceOwner(context).catch((error: unknown) => {
      opening = undefined
      throw error
    })
    const workspace = await opening
    const owners = [{ driver: state, owner: thisMachine }, ...(workspace ? [workspace] : [])]
    let { body } = delivery
    for (const suppressor of await openSuppressors(owners)) body = await suppressor.received(body)
    if (body === delivery.body) return delivery
    const { 'webhook-signature': signature, ...headers } = delivery.headers
    const signing = signature === undefined ? [] : await signingSecrets(context, workspace, secrets)
    if (signing.length === 0) return { ...delivery, headers, body }
    const { sign } = await import('../../api/webhooks/signature.js')
    const at = Number(headers['webhook-timestamp']) * 1_000
    return {
      ...delivery,
      headers: { ...headers, ...sign(headers['webhook-id'] ?? '', at, body, signing) },
      body,
    }
  }
  return eventsOver(state, clean)
}

async function signingSecrets(
  { clock }: Machine,
  workspace: SuppressionOwner | undefined,
  given: readonly string[],
): Promise<readonly string[]> {
  if (given.length > 0 || !workspace) return given
  const { readValidSecrets } = await import('../../engine/jobs/payloads.js')
  return workspace.driver.read((tx) => readValidSecrets(tx, workspace.owner, clock.now()))
}

/** Opens the engine's store, with the clock of all who share its database. It closes with the command. */
export async function openEngineStore(context: Machine) {
  context.prepareHome()
  const { openEngineDatabase } = await import('../../engine/tables/schema.js')
  const { sharedClock } = await import('../../engine/clock.js')
  const { PROSPECT_DATABASE_DIRECT_URL: direct } = context.streams.env
  const problem =
    direct && (isPostgres(direct) ? locationProblem(direct) : 'is not the address of a PostgreSQL database')
  if (problem) throw new Refusal('usage.database_place', { source: 'PROSPECT_DATABASE_DIRECT_URL', problem })
  const now = () => context.clock.now()
  const store = await openEngineDatabase(context.home.engine, direct ? { now, direct } : { now })
  context.onClose(() => store.close())
  return { store, clock: sharedClock(store, context.clock) }
}

/** Opens the data vendors of the workspace in use. */
export async function openRegistry(context: Machine) {
  const { createRegistry } = await import('../../providers/registry.js')
  return createRegistry(await openEngineStore(context))
}

/**
 * Throws a Refusal where a command has nothing to read: its target is this machine's engine, which has no workspace yet.
 * Creates nothing. What a machine recorded (`records`) may also be of other targets.
 */
export async function requireWorkspace(context: Context, reads: 'engine' | 'records'): Promise<void> {
  if (reads === 'records' && existsSync(context.home.state)) return
  if (!(await context.isSetUp())) throw notSetUp(context.home)
}

/** The same for a command that reads the engine of this machine, whatever the target is. */
export async function requireEngine(context: Context): Promise<void> {
  if (!(await openWorkspaceOwner(context))) throw notSetUp(context.home)
}

export const notSetUp = ({ engine }: Context['home']): Refusal =>
  new Refusal('usage.not_set_up', { place: isPostgres(engine) ? 'this database' : dirname(engine) })

/** Creates the workspace with the first data for it; not on a server that does not permit it to who loads the data. */
export async function ensureWorkspace(
  context: Pick<Context, 'home' | 'admin'>,
  use: WorkspaceUse = 'practice',
): Promise<void> {
  await context.admin({ create: use }).catch((error: unknown) => {
    if (!isPostgres(context.home.engine)) throw error
  })
}

/** Holds a lock until the command ends. Throws (exit 15) where another command has it. */
export async function holdLock(context: Context, name: string): Promise<void> {
  const { hold, namedLock } = await import('../../runs/records.js')
  const path = namedLock(context, name)
  context.prepareHome()
  hold(context, path, { of: 'lock', name })
}

/**
 * Opens the engine's administration for a command that sets the engine up where that was not done. Where a server has the
 * credits, the workspace is for its members and keys alone.
 */
export const openAdmin = (
  context: Context,
  use: WorkspaceUse = context.isLocal() ? 'practice' : 'records',
): Promise<Admin> => context.admin({ create: use })

/** How often a server that permits no writes is asked again. */
const readOnlyPauseMs = 1_000

/** Waits while the server permits only reads. Returns `undefined` when a signal of the system ends the wait. */
export const openWhenWritable = <T>(context: Context, open: () => Promise<T>): Promise<T | undefined> =>
  interruptible(context.streams, async (signal) => {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        return await open()
      } catch (error) {
        if (failures === 0) notifyReadOnly(context, error)
        else if (!isReadOnly(error)) throw error
      }
      await context.sleep(readOnlyPauseMs, signal).catch(() => {})
    }
    return undefined
  })

/** Reports a server that permits only reads, which what runs waits for. */
export async function notifyUnlessWritable(context: Context): Promise<void> {
  const admin = await context.admin()
  await admin.requireWritable().catch((error: unknown) => notifyReadOnly(context, error))
}

/** Opens a catalogue on a server: better to fail now than at each lookup. Where only reads are permitted, it may be created later. */
export async function checkServer(context: Context): Promise<void> {
  if (!isPostgres(context.home.engine)) return
  await notifyUnlessWritable(context)
  await context.catalogue().catch((error: unknown) => {
    if (!isReadOnly(error)) throw error
  })
}

const isReadOnly = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === 'database_read_only'

function notifyReadOnly({ notify }: Context, error: unknown): void {
  if (!isReadOnly(error)) throw error
  notify(`${error.message}. Waiting until it can be written.`)
}
