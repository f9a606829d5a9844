import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { Refusal } from '../api/calls/errors.js'
import type { Clock } from '../api/ports/ports.js'
import { parseJson } from '../api/values/json.js'
import { resultOr } from '../api/values/objects.js'
import type { HeldRun, RunLocks } from '../lookups/leases.js'
import { lookupsMark } from '../lookups/store.js'
import type { Driver } from '../storage/driver/connection.js'
import { fromSqliteError, isBusyError } from '../storage/driver/sqlite/driver.js'
import type { Run, Runs } from './journal/runs.js'
import type { RunHome } from './ports.js'

export interface RunRecords {
  readonly runs: Runs
  readonly locks: RunLocks
  readonly database: Driver
  /** Address of the database that machines share; absent for the records in this machine's home. */
  readonly address: string | undefined
  /** Real time, by the clock of the database. */
  now(): number
}

/** The database of the records of runs, by its `postgres://` address; this machine's home without one. */
export interface RunsLocation {
  readonly database?: string | undefined
}

/** Opens the records of runs, or returns `opened` when it is the same database; closed with the command. */
export async function openRuns(
  home: RunHome,
  { database: address }: RunsLocation = {},
  opened?: RunRecords,
): Promise<RunRecords> {
  if (opened && opened.address === address) return opened
  home.prepareHome()
  const { openState } = await import('../storage/state/open.js')
  const { runsOver } = await import('./journal/runs.js')
  // A caller flushes what has to survive a power cut.
  const clock = () => home.clock.now()
  const options = { durable: false, now: clock }
  const database = await openState(address ?? home.home.state, options)
  home.onClose(() => database.close())
  const locks = address === undefined ? fileLocks(home) : await leasesOver(home, database)
  const now = () => clock() + (database.aheadMs?.() ?? 0)
  return { runs: runsOver(database, locks.fenceOf), locks, database, address, now }
}

/** Whether a run is under way, by a process that is alive. */
export const isRunning = async (
  home: Pick<RunHome, 'home' | 'clock'>,
  run: Run,
  locks: RunLocks = fileLocks(home),
): Promise<boolean> => run.status === 'running' && (await locks.isHeld(run.identityKey))

const lockFolder = ({ home }: HomeOnly): string => join(dirname(home.state), 'locks')

type HomeOnly = Pick<RunHome, 'home'>

/** Returns the path of a run's lock, which all runs with the same identity share. */
const runLock = (home: HomeOnly, identityKey: string): string => join(lockFolder(home), `run-${identityKey}`)

/** Returns the path of a named lock. Throws a Refusal for an invalid name. */
export function namedLock(home: HomeOnly, name: string): string {
  if (!/^[\w.-]{1,100}$/.test(name)) throw new Refusal('run.lock_name')
  return join(lockFolder(home), `name-${name}`)
}

export const fileLock = (home: HomeOnly, path: string): string =>
  join(lockFolder(home), `file-${createHash('sha256').update(path).digest('hex').slice(0, 32)}`)

/** Returns the locks of this machine's runs, which the system frees when their process ends. */
export const fileLocks = (home: Pick<RunHome, 'home' | 'clock'>): RunLocks => ({
  take: async (identityKey) => {
    const lock = tryLock(runLock(home, identityKey))
    if (lock) writeHolder(home, runLock(home, identityKey))
    return lock
  },
  isHeld: async (identityKey) => isLocked(runLock(home, identityKey)),
  holder: async (identityKey) => readHolder(runLock(home, identityKey)),
  fenceOf: () => '',
})

export async function leasesOver(
  { clock, ids }: Pick<RunHome, 'clock' | 'ids'>,
  database: Driver,
): Promise<RunLocks> {
  const { leaseLocks } = await import('../lookups/leases.js')
  const holder = `${holderOf(clock)}, on ${hostname()}`
  return leaseLocks(database, { token: () => ids.uuid(), holder })
}

/** Takes the lock of a run without waiting. Returns `undefined` where another process has it. */
export const lockOfDead = async (locks: RunLocks, identityKey: string): Promise<HeldRun | undefined> =>
  (await locks.isHeld(identityKey)) ? undefined : locks.take(identityKey)

/** Holds a run until the command ends; throws a Refusal (exit 15) when another process has it. */
export async function holdRun(
  home: Pick<RunHome, 'onClose'>,
  locks: RunLocks,
  identityKey: string,
  what: LockedThing,
): Promise<void> {
  const held = await locks.take(identityKey)
  if (!held) throw inUse(what, await locks.holder(identityKey), locks.freedAfterMs)
  home.onClose(() => held.release())
}

/** Holds a lock until the command ends, with its holder for others. Throws a Refusal (exit 15) when another process has it. */
export function hold(home: Pick<RunHome, 'clock' | 'onClose'>, path: string, what: LockedThing): void {
  const lock = tryLock(path)
  if (!lock) throw inUse(what, readHolder(path))
  home.onClose(() => lock.release())
  writeHolder(home, path)
}

function tryLock(path: string, timeout?: number): HeldRun | undefined {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return takeLock(path, timeout)
}

/** More processes than look up at once. The names are used again, so that there are never more files. */
const lookupLocks = 1_024

/**
 * Takes a lock for the single lookups of this process, `shared` where machines share a database. Returns its name; it is held
 * until the command ends.
 */
export async function holdLookups(
  home: Pick<RunHome, 'home' | 'onClose'>,
  shared?: Pick<RunLocks, 'take'>,
): Promise<string> {
  for (let number = 0; number < lookupLocks; number++) {
    const name = `${lookupsMark}${number}`
    const lock = await (shared ? shared.take(name) : tryLock(runLock(home, name), 0))
    if (!lock) continue
    home.onClose(() => lock.release())
    return name
  }
  throw inUse({ of: 'lookups' }, undefined)
}

const inUse = (what: LockedThing, holder: string | undefined, freedAfterMs?: number): Refusal =>
  new Refusal('run.locked', { ...what, holder, freedAfterMs })

interface LockedThing {
  readonly of: 'run' | 'file' | 'lock' | 'lookups'
  /** Its id, path or name; absent for the run of the command itself. */
  readonly name?: string
}

/** The lock of a process that does more than one run. */
const serverLock = (home: HomeOnly, pid: number): string => join(lockFolder(home), `server-${pid}`)

/** Returns the folder in which others name the runs that this process should stop. */
const stopFolder = (home: HomeOnly, pid: number): string => `${serverLock(home, pid)}.stop`

/** Has others ask for the runs of this process one by one, as it does more than them. `onStop` gets the ids. */
export function takeStops(home: RunHome, onStop: (id: string) => void): void {
  home.prepareHome()
  const lock = tryLock(serverLock(home, process.pid))
  if (!lock) return
  const folder = stopFolder(home, process.pid)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { mode: 0o700 })
  const watcher = watch(folder, (_, name) => name !== null && onStop(name))
  home.onClose(() => {
    watcher.close()
    rmSync(folder, { recursive: true, force: true })
    lock.release()
  })
}

/** Returns the id of the flow that a run is a step of; `undefined` where it is none. */
export const flowOf = ({ request }: Pick<Run, 'request'>): string | undefined =>
  (parseJson(request) as { readonly choices?: { readonly flow?: string } }).choices?.flow

/** Asks a process to stop a run: the run alone where it does more. That of a step stops its flow. */
export function askToStop(home: HomeOnly, pid: number, { id, request }: Pick<Run, 'id' | 'request'>): void {
  const flow = flowOf({ request }) ?? id
  if (isLocked(serverLock(home, pid))) writeFileSync(join(stopFolder(home, pid), flow), '', { mode: 0o600 })
  else process.kill(pid, 'SIGTERM')
}

const holderOf = (clock: Clock): string =>
  `process ${process.pid}, since ${new Date(clock.now()).toISOString()}`

const writeHolder = ({ clock }: Pick<RunHome, 'clock'>, path: string): void =>
  writeFileSync(`${path}.holder`, holderOf(clock), { mode: 0o600 })

const readHolder = (path: string): string | undefined =>
  resultOr(undefined, () => readFileSync(`${path}.holder`, 'utf8'))

export const runsFolder = ({ home }: HomeOnly): string => join(dirname(home.state), 'runs')

/** Returns the folder of a run, with the copy of its pipe. */
export const runFolder = (home: HomeOnly, id: string): string => join(runsFolder(home), id)

export const runFolders = async (home: HomeOnly): Promise<string[]> =>
  (await readdir(runsFolder(home)).catch(() => [])).map((id) => runFolder(home, id))

/** Opens a folder for the copy of a pipe. It is removed when the command ends, unless it is kept. */
export async function openRunFolder(home: RunHome, id = home.ids.uuid()) {
  home.prepareHome()
  const path = runFolder(home, id)
  await mkdir(path, { recursive: true, mode: 0o700 })
  let kept = false
  home.onClose(async () => {
    if (!kept) await rm(path, { recursive: true, force: true })
  })
  return {
    path,
    keep: () => {
      kept = true
    },
  }
}

/** Opens a file whose name is removed before its first byte, so that it is gone however this process ends. */
export async function openUnnamedFile(home: RunHome): Promise<FileHandle> {
  const { path } = await openRunFolder(home)
  const file = await open(join(path, 'unnamed'), 'wx+', 0o600)
  home.onClose(() => file.close())
  await rm(path, { recursive: true })
  return file
}

/** Name of the file that marks the folder of a run whose records are not in this machine's home. */
const elsewhere = 'elsewhere'

/** Marks the folder of a run with shared records, so that it is not removed as a leftover. */
export const markShared = (home: HomeOnly, id: string): Promise<void> =>
  writeFile(join(runFolder(home, id), elsewhere), '', { mode: 0o600 })

/** A folder without a run is a leftover when nothing was written to it for this long. */
const leftoverMs = 86_400_000

/** Removes the folders of commands that were killed while they read a pipe; `known` are the ids of runs. */
export async function removeLeftovers(
  home: Pick<RunHome, 'home' | 'clock'>,
  known: ReadonlySet<string>,
): Promise<void> {
  const names = await readdir(runsFolder(home)).catch(() => [])
  for (const name of names) {
    if (known.has(name)) continue
    // The next batch tries again; no run fails because of another one.
    await removeIfOld(join(runsFolder(home), name), home.clock.now()).catch(() => {})
  }
}

async function removeIfOld(folder: string, now: number): Promise<void> {
  const names = await readdir(folder)
  if (names.includes(elsewhere)) return
  const files = [folder, ...names.map((name) => join(folder, name))]
  const times = await Promise.all(files.map(async (file) => (await stat(file)).mtimeMs))
  if (now - Math.max(...times) > leftoverMs) await rm(folder, { recursive: true, force: true })
}

/** Long enough for a process that only checks whether the lock is held. */
const timeoutMs = 250

/** Keeps databases with a lock from the garbage collector, which would close them and so free their locks. */
const held = new Set<Database.Database>()

/**
 * Takes the lock of a file, which the system frees at once when the process ends or is killed. The file is created if missing.
 * Returns `undefined` when another process, or this one, still holds it after `timeout` milliseconds.
 */
export function takeLock(path: string, timeout = timeoutMs): HeldRun | undefined {
  // Only a missing file is opened: closing a file releases the locks that this process has on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const database = new Database(path, { timeout })
  try {
    // An exclusive transaction holds the file's lock until it ends.
    database.exec('BEGIN EXCLUSIVE')
    held.add(database)
    return {
      release: () => {
        held.delete(database)
        database.close()
      },
    }
  } catch (error) {
    database.close()
    if (isBusyError(error)) return undefined
    throw fromSqliteError(error)
  }
}

export function isLocked(path: string): boolean {
  let database: Database.Database
  try {
    database = new Database(path, { timeout: 0, readonly: true })
  } catch {
    return false
  }
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get()
    return false
  } catch (error) {
    return isBusyError(error)
  } finally {
    database.close()
  }
}
