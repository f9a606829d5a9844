import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ApiError } from '../../api/calls/errors.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { Clock } from '../../engine/ports/ports.js'
import { type Driver, isPostgres } from '../../storage/driver/connection.js'
import type { Events } from '../../storage/state/webhook-inbox.js'
import type { ClockContext, Context, HomeContext, TargetContext } from './context.js'
import { UsageError } from './errors.js'
import { prepareHome } from './home.js'
import { interruptible } from './interrupts.js'

/** Whether a database exists, or is at an address of a server. */
export const isThere = (location: string): boolean => isPostgres(location) || existsSync(location)

/** Opens this machine's state, or the one at an address that machines share. It closes with the command. */
export async function openStateOf(
  context: Pick<HomeContext, 'home' | 'onClose'>,
  address = context.home.state,
  options: { readonly durable?: boolean } = {},
): Promise<Driver> {
  prepareHome(context.home)
  const { openState } = await import('../../storage/state/open.js')
  const database = await openState(address, options)
  context.onClose(() => database.close())
  return database
}

/** Opens the received events of this machine. They close with the command. */
export async function openEvents(context: Pick<HomeContext, 'home' | 'onClose'>): Promise<Events> {
  const { eventsOver } = await import('../../storage/state/webhook-inbox.js')
  return eventsOver(await openStateOf(context))
}

/** Opens the engine's store, with the clock of all who share its database. It closes with the command. */
export async function openEngineStore(
  context: ClockContext & HomeContext,
): Promise<{ readonly store: Driver; readonly clock: Clock }> {
  prepareHome(context.home)
  const { openEngineDatabase } = await import('../../engine/tables/schema.js')
  const { sharedClock } = await import('../../engine/clock.js')
  const store = await openEngineDatabase(context.home.engine, () => context.clock.now())
  context.onClose(() => store.close())
  return { store, clock: sharedClock(store, context.clock) }
}

/**
 * Throws UsageError where a command has nothing to read: its target is this machine's engine, which has no workspace yet.
 * Creates nothing. What a machine recorded (`records`) may also be of other targets.
 */
export async function requireWorkspace(
  context: Pick<Context, 'home' | 'isLocal' | 'admin'>,
  reads: 'engine' | 'records',
): Promise<void> {
  const { engine, state } = context.home
  if (!context.isLocal() || (reads === 'records' && existsSync(state))) return
  if (isThere(engine)) {
    const admin = await context.admin({ create: false })
    if ((await admin.workspaces()).length > 0) return
  }
  const isServer = isPostgres(engine)
  throw new UsageError(
    `prospect is not set up in ${isServer ? 'this database' : dirname(engine)}.`,
    'Run prospect init.',
  )
}

/** Creates the workspace of this machine's engine with the first data for it. An engine on a server is not touched. */
export async function ensureWorkspace(context: Pick<Context, 'home' | 'admin'>): Promise<void> {
  if (!isThere(context.home.engine)) await context.admin()
}

/** Holds a lock until the command ends. Throws (exit 15) where another command has it. */
export async function holdLock(context: Context, name: string): Promise<void> {
  const { hold, namedLock } = await import('../../runs/records.js')
  const path = namedLock(context, name)
  prepareHome(context.home)
  hold(context, path, { of: 'lock', name })
}

/** Opens the engine's administration. It needs a workspace, which the first use creates, but no key. */
export async function openAdmin(context: TargetContext): Promise<Admin> {
  const admin = await context.admin({ create: false })
  return (await admin.workspaces()).length > 0 ? admin : context.admin()
}

/** How often a server that permits no writes is asked again. */
const readOnlyPauseMs = 1_000

/**
 * Opens something that may write to the engine's database. While the server permits only reads, reports that and tries
 * again. Returns `undefined` when a signal of the system ends the wait.
 */
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
  const admin = await context.admin({ create: false })
  await admin.requireWritable().catch((error: unknown) => notifyReadOnly(context, error))
}

/**
 * Opens the catalogue if it is on a server, where it may be unreachable or not ours: better to fail now than at each
 * lookup. Reports a server that permits only reads; its catalogue may have to be created later.
 */
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
