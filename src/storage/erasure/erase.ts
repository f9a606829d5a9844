import { createReadStream, type Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Driver } from '../driver/connection.js'
import { type ErasedState, eraseFromState } from './state-tables.js'
import type { SubjectMatcher } from './traversal.js'

/** Numbers of what was erased, by name. */
type Counts = Readonly<Record<string, number>>

/** The databases with personal data. What erases from one only counts with `dryRun`. */
interface ErasureDatabases<ErasedRecords, ErasedWork extends Counts> {
  /** Databases with runs and received events: this machine's, and one that machines share. */
  readonly states: readonly Driver[]
  eraseEngine(dryRun: boolean): Promise<ErasedWork>
  eraseCatalogue(dryRun: boolean): Promise<ErasedRecords>
}

/** What was erased, by database. */
export interface Erased<ErasedRecords, ErasedWork extends Counts> {
  readonly catalogue: ErasedRecords
  readonly engine: ErasedWork
  readonly state: ErasedState
}

/**
 * Erases a person from all databases. The catalogue comes last, since only it knows the person's identifiers. Jobs and
 * runs are then erased once more, because they may have read the catalogue meanwhile. With `dryRun` it only counts; `now` is
 * real time.
 */
export async function eraseEverywhere<ErasedRecords, ErasedWork extends Counts>(
  { states, eraseEngine, eraseCatalogue }: ErasureDatabases<ErasedRecords, ErasedWork>,
  subject: SubjectMatcher,
  { now, dryRun }: { readonly now: number; readonly dryRun: boolean },
): Promise<Erased<ErasedRecords, ErasedWork>> {
  const eraseWorkAndRuns = async (): Promise<Omit<Erased<ErasedRecords, ErasedWork>, 'catalogue'>> => {
    let state: ErasedState = { events: 0, answers: 0, files: [] }
    for (const database of states)
      state = addState(state, await eraseFromState(database, subject, now, dryRun))
    return { engine: await eraseEngine(dryRun), state }
  }
  const first = await eraseWorkAndRuns()
  const catalogue = await eraseCatalogue(dryRun)
  if (dryRun) return { catalogue, ...first }
  const again = await eraseWorkAndRuns()
  return {
    catalogue,
    engine: addCounts(first.engine, again.engine),
    state: addState(first.state, again.state),
  }
}

const addState = (one: ErasedState, other: ErasedState): ErasedState => ({
  events: one.events + other.events,
  answers: one.answers + other.answers,
  files: [...one.files, ...other.files],
})

const addCounts = <T extends Counts>(one: T, other: T): T =>
  Object.fromEntries(Object.entries(one).map(([name, count]) => [name, count + (other[name] ?? 0)])) as T

/** Where copies of personal data may be outside the databases. */
interface SearchedFiles {
  /** What the runs that mentioned the person have read and written. */
  readonly runFiles: readonly string[]
  /** Databases in use, whose files are not searched. Files beside them are, such as backups. */
  readonly databases: readonly string[]
  readonly folders: readonly string[]
}

/**
 * Returns the files that may still hold a person, which are not touched. Those of the runs count without being read, with
 * what lies beside them under their name. Others count when they contain one of the words, which are in lower case.
 */
export async function findFilesWith(
  words: readonly string[],
  { runFiles, databases, folders }: SearchedFiles,
): Promise<string[]> {
  const found = new Set<string>()
  for (const path of runFiles) for (const each of await filesUnderName(path)) found.add(each)
  const inUse = new Set(databases.flatMap((file) => [file, `${file}-wal`, `${file}-shm`]))
  const candidates = await Promise.all([
    ...folders.map(filesIn),
    ...databases.map((file) => filesUnderName(file)),
  ])
  for (const file of new Set(candidates.flat()))
    if (!inUse.has(file) && (await containsWord(file, words))) found.add(file)
  return [...found].sort()
}

/** Returns a file and those beside it whose names begin with its name, such as `out.csv.partial`. */
async function filesUnderName(path: string): Promise<string[]> {
  const [name, folder] = [basename(path), dirname(path)]
  const names = await readdir(folder).catch(() => [])
  return names.filter((one) => one === name || one.startsWith(`${name}.`)).map((one) => join(folder, one))
}

async function filesIn(folder: string): Promise<string[]> {
  const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name))
}

/** Returns whether a file contains a word, in any case. A file that cannot be read may contain one. */
async function containsWord(file: string, words: readonly string[]): Promise<boolean> {
  const overlap = Math.max(0, ...words.map((word) => Buffer.byteLength(word))) * 2
  let rest = Buffer.alloc(0)
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
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
