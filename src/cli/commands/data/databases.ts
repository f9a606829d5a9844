import { createReadStream, type Dirent, existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { openCatalogue } from '../../../catalogue/catalogue.js'
import type { SubjectIdentifiers } from '../../../catalogue/erasure/tables.js'
import { openEngineDatabase } from '../../../engine/tables/schema.js'
import { fileLocks, leasesOver, type RunRecords, runFolders } from '../../../runs/records.js'
import { findSharedCatalogue, isShared, openCatalogueDatabase } from '../../../storage/database/open.js'
import { type Driver, isPostgres } from '../../../storage/driver/connection.js'
import { findShared, openState } from '../../../storage/state/open.js'
import type { Context, HomeContext } from '../../context/context.js'
import { foldersOf, prepareHome } from '../../context/home.js'
import { isThere, openStateOf, thisMachine } from '../../context/open-databases.js'

/** The databases of this machine. Those that do not exist are `undefined`. */
export interface ExistingDatabases {
  readonly engine: Driver | undefined
  /** Runs and received events of this machine. */
  readonly state: Driver | undefined
  /** Every database with runs: `state`, and that of an engine on a server, which machines share. */
  readonly runs: readonly Pick<RunRecords, 'database' | 'locks' | 'address'>[]
  close(): Promise<void>
}

/** Opens the databases that exist. It creates none. */
export async function openExisting(context: Context): Promise<ExistingDatabases> {
  const { home, clock } = context
  prepareHome(home)
  const engine = isThere(home.engine) ? await openEngineDatabase(home.engine) : undefined
  const state = isThere(home.state) ? await openState(home.state) : undefined
  const shared = isPostgres(home.engine)
    ? await findShared(home.engine, { now: () => clock.now() })
    : undefined
  const runs = [
    ...(state ? [{ database: state, locks: fileLocks(context), address: undefined }] : []),
    ...(shared ? [{ database: shared, locks: await leasesOver(context, shared), address: home.engine }] : []),
  ]
  const close = async () => {
    for (const database of [engine, state, shared]) await database?.close()
  }
  return { engine, state, runs, close }
}

/** Opens the catalogue, complete with the indexes that an import left to be built; `undefined` when there is none. */
export async function openExistingCatalogue({ home, clock, ids }: Context): Promise<Driver | undefined> {
  if (!isShared(home) && !isThere(home.catalogue)) return undefined
  const catalogue = isShared(home)
    ? await findSharedCatalogue(home.engine)
    : await openCatalogueDatabase(home)
  if (catalogue) await openCatalogue(catalogue, { clock, ids })
  return catalogue
}

/** What runs have read and written. */
interface RunFiles {
  /** Those of the runs that mentioned the person. */
  readonly files: readonly string[]
  readonly otherFiles: readonly string[]
}

/**
 * Returns the files that may still hold a person, which are not touched. Those of the runs that mentioned the person count
 * without being read, with what lies beside them under their name. Files of other runs, in the folders of this program and
 * beside its databases, such as backups, count when they contain one of the words, which are in lower case.
 */
export async function findFilesWith(
  context: HomeContext,
  words: readonly string[],
  { files, otherFiles }: RunFiles,
): Promise<string[]> {
  const { home } = context
  const { catalogue, engine, state } = home
  // A catalogue file is not in use where the catalogue is on a server, so it is searched.
  const databases = [...(isShared(home) ? [] : [catalogue]), engine, state]
  const inUse = new Set(databases.flatMap((file) => [file, `${file}-wal`, `${file}-shm`]))
  const found = new Set(await filesUnderNames(files))
  const candidates = await Promise.all([
    ...[...foldersOf(home), ...(await runFolders(context))].map(filesIn),
    filesUnderNames([...databases, ...otherFiles]),
  ])
  for (const file of new Set(candidates.flat()))
    if (!inUse.has(file) && !found.has(file) && (await containsWord(file, words))) found.add(file)
  return [...found].sort()
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
export async function rewriteFiles({
  home,
}: HomeContext): Promise<{ rewritten: string[]; remaining: string[] }> {
  const { vacuum } = await import('../../../storage/database/database-file.js')
  const files = [home.catalogue, home.engine, home.state].filter((file) => existsSync(file))
  const remaining = files.filter((file) => !vacuum(file))
  return { rewritten: files.filter((file) => !remaining.includes(file)), remaining }
}

/** Leaves only hashes of the entries about a person in the lists of who is suppressed; with `adds` the person is in them. */
export async function forgetSuppressions(
  { engine, state }: Pick<ExistingDatabases, 'engine' | 'state'>,
  person: SubjectIdentifiers,
  adds: boolean,
  context: Context,
): Promise<void> {
  const { suppressionsOf } = await import('../../../suppression/suppressions.js')
  const { listWorkspaces } = await import('../../../engine/tables/members.js')
  const { keysOfForgotten } = await import('../../../suppression/identifiers.js')
  const [keys, now] = [keysOfForgotten(person), context.clock.now()]
  const machine = state ?? (adds ? await openStateOf(context) : undefined)
  if (machine) await suppressionsOf(machine, thisMachine).forget(keys, adds, now)
  if (!engine) return
  for (const { id } of await engine.read((tx) => listWorkspaces(tx)))
    await suppressionsOf(engine, id).forget(keys, adds, now)
}
