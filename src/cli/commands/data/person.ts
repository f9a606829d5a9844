import { createReadStream, type Dirent, existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Refusal } from '../../../api/calls/errors.js'
import { parseExact } from '../../../api/values/json.js'
import { type Fields, isObject, resultOr } from '../../../api/values/objects.js'
import { openCatalogue } from '../../../catalogue/catalogue.js'
import { findSubject, parseSubject } from '../../../catalogue/erasure/subject.js'
import type { Subject } from '../../../catalogue/erasure/tables.js'
import { keysOfForgotten, toSuppressible } from '../../../catalogue/suppression/identifiers.js'
import { suppressionsOf } from '../../../catalogue/suppression/suppressions.js'
import { eraseFromEngine, noWorkErased } from '../../../engine/admin/erasure.js'
import { listWorkspaces } from '../../../engine/tables/members.js'
import { openEngineDatabase } from '../../../engine/tables/schema.js'
import { parseProfile } from '../../../identity/profile.js'
import { fileLocks, leasesOver, type RunRecords, runFolders } from '../../../runs/records.js'
import { shownTarget } from '../../../runs/target-name.js'
import { findCatalogueDatabase, isShared } from '../../../storage/database/open.js'
import { type Driver, isPostgres, type StoredRow } from '../../../storage/driver/connection.js'
import { eraseFromState } from '../../../storage/erasure/erase.js'
import type { CollectRow, SubjectMatcher } from '../../../storage/erasure/traversal.js'
import { findShared, openState } from '../../../storage/state/open.js'
import type { Context, Machine } from '../../context/context.js'
import { foldersOf } from '../../context/home.js'
import { isThere, openStateOf, thisMachine } from '../../context/open-databases.js'

interface HeldRow {
  readonly place: 'catalogue' | 'engine' | 'machine'
  readonly table: string
  /** When it was stored, asked or received; null where that is not recorded. */
  readonly at: string | null
  /** The run that the row belongs to; absent for others. */
  readonly run?: Fields | undefined
  readonly sent: readonly Fields[]
  /** What it says about the person: a record in which others are stored, too, without these. */
  readonly data: readonly unknown[]
}

/** Files that may still have a person, and those of them that contain an address, a number or a profile. */
type FoundFiles = Readonly<Record<'files' | 'found_in', readonly string[]>>

/** Returns what `data forget` would delete of a person, from the same tables. */
export async function exportPerson(context: Context, who: string) {
  const subject = await readPerson(context, who)
  return findEverywhere(context, subject, async ({ engine, runs, matcher, words, eraseCatalogue }) => {
    const stored: HeldRow[] = []
    const collect = async <T>(
      place: HeldRow['place'],
      walk: (collect: CollectRow) => Promise<T>,
      driver?: Driver,
    ): Promise<T> => {
      const rows: Parameters<CollectRow>[] = []
      const result = await walk((...row) => rows.push(row))
      for (const [table, row, found] of rows) {
        const sent = driver ? await readSent(driver, table, row) : {}
        const parts = [...Object.values(row).flatMap((value) => partsAbout(matcher, value)), ...found]
        const at = toTime(row.asked_at ?? row.received_at ?? row.created_at)
        stored.push({ place, table, at, sent: [], ...sent, data: parts.length > 0 ? parts : [row] })
      }
      return result
    }
    await collect('catalogue', eraseCatalogue)
    if (engine) await collect('engine', (each) => eraseFromEngine(engine, matcher, each), engine)
    const read: RunFiles[] = []
    for (const { database } of runs) {
      const erase = (each: CollectRow) => eraseFromState(database, matcher, context.clock.now(), each)
      read.push(await collect('machine', erase, database))
    }
    const files = read.flatMap((one) => one.files)
    const otherFiles = read.flatMap((one) => one.otherFiles)
    return { person: who, stored, ...(await findFilesWith(context, words, { files, otherFiles })) }
  })
}

type PersonInDatabases = ExistingDatabases & Awaited<ReturnType<typeof findSubject>>

/** Opens what exists on this machine, and finds a person in its catalogue. All is closed after the work. */
export async function findEverywhere<T>(
  context: Context,
  subject: Subject,
  work: (found: PersonInDatabases) => Promise<T>,
): Promise<T> {
  const catalogue = await openExistingCatalogue(context)
  const databases = await openExisting(context)
  try {
    return await work({ ...databases, ...(await findSubject(catalogue, subject)) })
  } finally {
    await catalogue?.close()
    await databases.close()
  }
}

/** Returns the person that an address, a profile, its id, or a name with a company names. */
async function readPerson(context: Context, who: string): Promise<Subject> {
  const own = parseSubject(who)
  if (own) return own
  const profile = /^\w{20,}$/.test(who) ? parseProfile(`https://www.network.example/in/${who}`) : undefined
  if (profile) return { profile }
  const named = toSuppressible(who)
  const [name = '', domain] = named?.kind === 'person' ? named.value.split(/ at (?=\S+$)/) : []
  if (domain === undefined) throw new Refusal('usage.no_person', { who })
  const [firstName, ...rest] = name.split(/\s+/)
  const found = await (await context.catalogue()).person({ firstName, lastName: rest.join(' '), domain })
  const subject = parseSubject(found?.network_profile_url ?? found?.most_probable_email ?? '')
  if (subject) return subject
  throw new Refusal('usage.nobody', { name, domain })
}

/** Returns the parts of a stored value that are about a person, without records of others around them. */
function partsAbout(subject: SubjectMatcher, value: unknown): readonly unknown[] {
  if (typeof value === 'string') {
    const parsed = /^[[{]/.test(value) ? resultOr(value as unknown, () => parseExact(value)) : value
    if (typeof parsed !== 'string') return partsAbout(subject, parsed)
    return subject.mentions(parsed) ? [parsed] : []
  }
  if (Array.isArray(value)) return value.flatMap((item) => partsAbout(subject, item))
  if (!isObject(value) || !subject.mentions(value)) return []
  const own = Object.fromEntries(Object.entries(value).filter(([, held]) => !Array.isArray(held)))
  const isTheirs = subject.isAbout(own) && !Object.values(own).some((held) => isObject(held))
  const parts = Object.values(value).flatMap((held) => partsAbout(subject, held))
  return isTheirs || parts.length === 0 ? [value] : parts
}

async function readSent(driver: Driver, table: string, row: StoredRow) {
  const all = (sql: string, ...values: (string | number)[]) =>
    driver.read((connection) => connection.all<StoredRow>(sql, ...values))
  if (table === 'records' || table === 'jobs') {
    const job = String(row.job_id ?? row.id)
    const place = row.ordinal === undefined ? '' : ' AND first <= ? AND last >= ?'
    const ordinal = Number(row.ordinal)
    const deliveries = await all(
      `SELECT event, url, state, finished_at FROM deliveries WHERE job_id = ?${place} ORDER BY seq`,
      ...(place === '' ? [job] : [job, ordinal, ordinal]),
    )
    return { sent: deliveries.map(({ finished_at: at, ...one }) => ({ ...one, at: toTime(at) })) }
  }
  if (table === 'provider_calls') return { sent: [{ provider: row.provider, at: toTime(row.asked_at) }] }
  if (table === 'events') {
    const sql = 'SELECT target, state, changed_at FROM forwards WHERE seq = ?'
    const forwards = await all(sql, Number(row.seq))
    return { sent: forwards.map(({ changed_at: at, ...one }) => ({ ...one, at: toTime(at) })) }
  }
  if (table !== 'lookups') return undefined
  const sql = 'SELECT id, operation, target, file, output FROM runs WHERE number = ?'
  const [run] = await all(sql, Number(row.run))
  const shown = run && { ...run, target: shownTarget(String(run.target)) }
  return { sent: run ? [{ target: shown?.target }] : [], ...(shown && { run: shown }) }
}

const toTime = (at: unknown): string | null =>
  at === undefined || at === null ? null : new Date(Number(at)).toISOString()

export function formatPerson({ person, stored, ...found }: Awaited<ReturnType<typeof exportPerson>>): string {
  if (stored.length === 0 && found.files.length === 0) return `Nothing is stored about ${person}.\n`
  const rows = stored.map(({ place, table, at, run, sent, data }) => {
    const head = [place, table.replaceAll('_', ' '), at, run && `run ${String(run.id)}`].filter(Boolean)
    return [
      head.join(' · '),
      ...sent.map((one) => `  sent: ${linesOf(one).join(', ')}`),
      ...data.flatMap((one) => linesOf(one).map((line) => `  ${line}`)),
    ].join('\n')
  })
  const named = formatFiles(found).join('\n')
  return `${[...rows, named].filter(Boolean).join('\n\n')}\n`
}

export function formatFiles({ files, found_in }: FoundFiles): string[] {
  const others = files.filter((file) => !found_in.includes(file))
  const list = (head: string, some: readonly string[]) =>
    some.length === 0 ? [] : [head, ...some.map((file) => `  ${file}`)]
  const contain = list('These files contain their address, number or profile:', found_in)
  return [...contain, ...list('These files of the same runs do not, but may have the name:', others)]
}

const linesOf = (value: unknown): readonly string[] =>
  isObject(value)
    ? Object.entries(value)
        .filter(([, held]) => held !== null && held !== '')
        .map(([name, held]) => `${name}: ${typeof held === 'object' ? JSON.stringify(held) : String(held)}`)
    : [String(value)]

export type ExistingDatabases = Awaited<ReturnType<typeof openExisting>>

/** Opens the databases of this machine; those that do not exist are `undefined`. It creates none. */
export async function openExisting(context: Context) {
  const { home, clock } = context
  context.prepareHome()
  const engine = isThere(home.engine) ? await openEngineDatabase(home.engine) : undefined
  const state = isThere(home.state) ? await openState(home.state) : undefined
  const shared = isPostgres(home.engine)
    ? await findShared(home.engine, { now: () => clock.now() })
    : undefined
  /** Every database with runs: that of this machine, and that of an engine on a server, which machines share. */
  const runs: Pick<RunRecords, 'database' | 'locks' | 'address'>[] = [
    ...(state ? [{ database: state, locks: fileLocks(context), address: undefined }] : []),
    ...(shared ? [{ database: shared, locks: await leasesOver(context, shared), address: home.engine }] : []),
  ]
  const close = async () => {
    for (const database of [engine, state, shared]) await database?.close()
  }
  return { engine, state, runs, close }
}

/** Opens the catalogue, complete with the indexes that an import left to be built; `undefined` when there is none. */
async function openExistingCatalogue({ home, clock, ids }: Context): Promise<Driver | undefined> {
  const catalogue = await findCatalogueDatabase(home)
  if (catalogue) await openCatalogue(catalogue, { clock, ids })
  return catalogue
}

/** What runs have read and written: those that mentioned the person, and others. */
type RunFiles = Readonly<Record<'files' | 'otherFiles', readonly string[]>>

/**
 * Returns the files that may still hold a person, which are not touched. Those of the runs that mentioned the person count
 * whatever they contain, with what lies beside them under their name. Files of other runs, in the folders of this program and
 * beside its databases, such as backups, count when they contain one of the words, which are in lower case.
 */
export async function findFilesWith(
  context: Machine,
  words: readonly string[],
  { files, otherFiles }: RunFiles,
): Promise<FoundFiles> {
  const { home } = context
  const { catalogue, engine, state } = home
  // A catalogue file is not in use where the catalogue is on a server, so it is searched.
  const databases = [...(isShared(home) ? [] : [catalogue]), engine, state]
  const inUse = new Set(databases.flatMap((file) => [file, `${file}-wal`, `${file}-shm`]))
  const ofRuns = await filesUnderNames(files)
  const folders = [...foldersOf(home), ...(await runFolders(context))]
  const beside = await filesUnderNames([...databases, ...otherFiles])
  const candidates = [...ofRuns, ...(await Promise.all(folders.map(filesIn))).flat(), ...beside]
  const found: string[] = []
  for (const file of new Set(candidates))
    if (!inUse.has(file) && (await containsWord(file, words))) found.push(file)
  return { files: [...new Set([...ofRuns, ...found])].sort(), found_in: found.sort() }
}

/** Returns files and those beside them whose names begin with theirs, such as `out.csv.partial`. Reads each folder once. */
async function filesUnderNames(paths: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const [folder, inFolder] of Map.groupBy(paths, (path) => dirname(path))) {
    const wanted = new Set(inFolder.map((path) => basename(path)))
    const isWanted = (name: string) =>
      wanted.has(name) || [...name.matchAll(/\./g)].some(({ index }) => wanted.has(name.slice(0, index)))
    const names = await readdir(folder).catch(() => [])
    found.push(...names.filter(isWanted).map((name) => join(folder, name)))
  }
  return found
}

async function filesIn(folder: string): Promise<string[]> {
  const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name))
}

/** Returns whether a file contains a word, in any case, also in a workbook. A file that cannot be read may contain one. */
async function containsWord(file: string, words: readonly string[]): Promise<boolean> {
  const overlap = Math.max(0, ...words.map((word) => Buffer.byteLength(word))) * 2
  const isArchive = /\.xlsx$/i.test(file)
  let rest = Buffer.alloc(0)
  try {
    const chunks: AsyncIterable<Buffer> = isArchive
      ? (await import('../../../csv/workbook/archive.js')).unpacked(file)
      : createReadStream(file, { highWaterMark: 1 << 20 })
    for await (const chunk of chunks) {
      const bytes = Buffer.concat([rest, chunk])
      const text = bytes.toString('utf8').toLowerCase()
      if (words.some((word) => text.includes(word))) return true
      rest = bytes.subarray(Math.max(0, bytes.length - overlap))
    }
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

/** Rewrites the database files, so that no deleted bytes are left. `remaining` are those that another process uses. */
export async function rewriteFiles({ home }: Machine): Promise<{ rewritten: string[]; remaining: string[] }> {
  const { vacuum } = await import('../../../storage/database/database-file.js')
  const files = [home.catalogue, home.engine, home.state].filter((file) => existsSync(file))
  const remaining = files.filter((file) => !vacuum(file))
  return { rewritten: files.filter((file) => !remaining.includes(file)), remaining }
}

/** Leaves only hashes of the entries about a person in the lists of who is suppressed; with `adds` the person is in them. */
export async function forgetSuppressions(
  context: Context,
  { engine, state, identifiers }: PersonInDatabases,
  adds: boolean,
): Promise<void> {
  const [keys, now] = [keysOfForgotten(identifiers), context.clock.now()]
  const machine = state ?? (adds ? await openStateOf(context) : undefined)
  if (machine) await suppressionsOf(machine, thisMachine).forget(keys, adds, now)
  if (!engine) return
  for (const { id } of await engine.read((tx) => listWorkspaces(tx)))
    await suppressionsOf(engine, id).forget(keys, adds, now)
}

export type Erased = Awaited<ReturnType<typeof eraseEverywhere>>

/**
 * Erases a person from all databases; with `dryRun` it only counts. The catalogue comes last, since only it knows the
 * person's identifiers. Jobs and runs are then erased once more, because they may have read the catalogue meanwhile.
 */
export async function eraseEverywhere(
  { engine, runs, matcher, eraseCatalogue }: PersonInDatabases,
  now: number,
  dryRun: boolean,
) {
  const eraseWork = async () => {
    let state: Awaited<ReturnType<typeof eraseFromState>> = {
      events: 0,
      answers: 0,
      files: [],
      otherFiles: [],
    }
    for (const { database } of runs) state = add(state, await eraseFromState(database, matcher, now, dryRun))
    return { engine: engine ? await eraseFromEngine(engine, matcher, dryRun) : noWorkErased, state }
  }
  const first = await eraseWork()
  const catalogue = await eraseCatalogue(dryRun)
  if (dryRun) return { catalogue, ...first }
  const again = await eraseWork()
  return { catalogue, engine: add(first.engine, again.engine), state: add(first.state, again.state) }
}

/** Returns the sums of numbers and the joined lists of two objects. */
const add = <T extends object>(one: T, other: T): T =>
  Object.fromEntries(
    Object.entries(one).map(([name, value]: [string, unknown]) => {
      const more = other[name as keyof T]
      return [name, Array.isArray(value) ? value.concat(more) : Number(value) + Number(more)]
    }),
  ) as T
