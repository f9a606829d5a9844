import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { isLocked, type Lock, takeLock } from '../../storage/database/file-lock.js'
import type { Driver } from '../../storage/driver/connection.js'
import type { HeldRun, RunLocks } from '../../storage/state/runs/run-leases.js'
import type { Context } from '../context/context.js'
import { exits, Stop, UsageError } from '../context/errors.js'

const folderOf = (context: Context): string => join(dirname(context.home.state), 'locks')

/** Where the lock of a run is: of all runs that would be the same. */
const runLock = (context: Context, knownBy: string): string => join(folderOf(context), `run-${knownBy}`)

/** Where the lock of a name is. */
export function namedLock(context: Context, name: string): string {
  if (!/^[\w.-]{1,100}$/.test(name))
    throw new UsageError(
      '--lock takes a name of letters, digits, dots, - and _.',
      'For example: --lock nightly',
    )
  return join(folderOf(context), `name-${name}`)
}

/** Where the lock of a file is that a command writes. */
export const fileLock = (context: Context, path: string): string =>
  join(folderOf(context), `file-${createHash('sha256').update(path).digest('hex').slice(0, 32)}`)

/** The locks of the runs of this machine, which the system frees when their process ends. */
export const fileLocks = (context: Context): RunLocks => ({
  take: async (knownBy) => {
    const lock = tryLock(runLock(context, knownBy))
    if (lock) noteHolder(context, runLock(context, knownBy))
    return lock
  },
  isHeld: async (knownBy) => isLocked(runLock(context, knownBy)),
  holder: async (knownBy) => holderIn(runLock(context, knownBy)),
  fenceOf: () => '',
})

/** The locks of runs in a database that several machines share. */
export async function leasesOver(context: Context, database: Driver): Promise<RunLocks> {
  const { leaseLocks } = await import('../../storage/state/runs/run-leases.js')
  const holder = `${holderOf(context)}, on ${hostname()}`
  return leaseLocks(database, { token: () => context.ids.uuid(), holder })
}

/** Takes the lock of a run for a moment; nothing where somebody has it, for whom nobody waits. */
export const lockOfDead = async (locks: RunLocks, knownBy: string): Promise<HeldRun | undefined> =>
  (await locks.isHeld(knownBy)) ? undefined : locks.take(knownBy)

/** Holds a run until the command ends; ends the command with exit 15 when somebody else has it. */
export async function holdRun(
  context: Context,
  locks: RunLocks,
  knownBy: string,
  what: string,
): Promise<void> {
  const held = await locks.take(knownBy)
  if (!held) throw inUse(what, await locks.holder(knownBy), locks.freedAfterMs)
  context.onClose(() => held.release())
}

/**
 * Holds a lock until the command ends, and for others on record who holds it; ends the command with exit 15 when another
 * process has it. `what` is what it locks, as the beginning of a sentence.
 */
export function hold(context: Context, path: string, what: string): void {
  const lock = tryLock(path)
  if (!lock) throw inUse(what, holderIn(path))
  context.onClose(() => lock.release())
  noteHolder(context, path)
}

function tryLock(path: string): Lock | undefined {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return takeLock(path)
}

function inUse(what: string, holder: string | undefined, freedAfterMs?: number): Stop {
  const text = `${what} is in use by another command${holder === undefined ? '' : ` (${holder})`}.`
  const killed =
    freedAfterMs === undefined ? '' : ` One that was killed frees it after ${freedAfterMs / 1_000} seconds.`
  return new Stop(text, exits.locked, `Wait until it ends, or stop it.${killed}`, 'locked')
}

const holderOf = ({ clock }: Context): string =>
  `process ${process.pid}, since ${new Date(clock.now()).toISOString()}`

const noteHolder = (context: Context, path: string): void =>
  writeFileSync(`${path}.holder`, holderOf(context), { mode: 0o600 })

function holderIn(path: string): string | undefined {
  try {
    return readFileSync(`${path}.holder`, 'utf8')
  } catch {
    return undefined
  }
}
