import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isLocked, type Lock, takeLock } from '../storage/lock.js'
import type { Context } from './context.js'
import { exits, Stop, UsageError } from './exit.js'

const folderOf = (context: Context): string => join(dirname(context.home.state), 'locks')

/** Where the lock of a run is: of all runs that would be the same. */
export const runLock = (context: Context, knownBy: string): string =>
  join(folderOf(context), `run-${knownBy}`)

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

/** Whether a living process holds a lock. */
export const isHeld = (path: string): boolean => isLocked(path)

/** Takes the lock of a run for a moment; nothing where another process has it. */
export function tryRunLock(context: Context, knownBy: string): Lock | undefined {
  const path = runLock(context, knownBy)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return takeLock(path)
}

/** Takes the lock of a run for a moment; nothing where somebody has it, for whom nobody waits. */
export const lockOfDead = (context: Context, knownBy: string): Lock | undefined =>
  isHeld(runLock(context, knownBy)) ? undefined : tryRunLock(context, knownBy)

/**
 * Holds a lock until the command ends, and for others on record who holds it; ends the command with exit 15 when another
 * process has it. `what` is what it locks, as the beginning of a sentence.
 */
export function hold(context: Context, path: string, what: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const lock = takeLock(path)
  const holder = `${path}.holder`
  if (!lock)
    throw new Stop(
      `${what} is in use by another command${holderIn(holder)}.`,
      exits.locked,
      'Wait until it ends, or stop it.',
      'locked',
    )
  context.onClose(() => lock.release())
  const since = new Date(context.clock.now()).toISOString()
  writeFileSync(holder, `process ${process.pid}, since ${since}`, { mode: 0o600 })
}

function holderIn(file: string): string {
  try {
    return ` (${readFileSync(file, 'utf8')})`
  } catch {
    return ''
  }
}
