import { createReadStream, type Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { parseBody, parseExact, toJson } from '../../api/values/json.js'
import { resultOr } from '../../api/values/objects.js'
import { type Connection, type Driver, toRunNumber } from '../driver/connection.js'
import { promoteAll, rememberedMs } from '../state/webhook-inbox.js'
import {
  type DryRun,
  eraseFromTables,
  eraseJson,
  type PersonalTable,
  type RowErasure,
  type SubjectMatcher,
} from './traversal.js'

/** Numbers of what was erased, by name. */
type Counts = Readonly<Record<string, number>>

/** The databases with personal data. What erases from one only counts with `dryRun`. */
interface ErasureDatabases<ErasedRecords, ErasedWork extends Counts> {
  /** Databases with runs and received events: this machine's, and one that machines share. */
  readonly states: readonly Driver[]
  eraseEngine(dryRun: boolean): Promise<ErasedWork>
  eraseCatalogue(dryRun: boolean): Promise<ErasedRecords>
}

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

/** What was erased of what this machine remembered. */
interface ErasedState {
  readonly events: number
  readonly answers: number
  /** What the runs whose answers mentioned the person have read and written. */
  readonly files: readonly string[]
}

/**
 * Erases a person from received events and from the answers of runs; with `dryRun` it only counts. A row keeps what it cost
 * and the hash of its request: neither it nor an equal row of its run is paid for again when the run resumes.
 */
export async function eraseFromState(
  driver: Driver,
  subject: SubjectMatcher,
  now: number,
  dryRun: DryRun,
): Promise<ErasedState> {
  const erased = new Set<number>()
  const { events = 0 } = await eraseFromTables(driver, stateTables(subject, now, dryRun, erased), dryRun)
  if (!dryRun && events > 0) await driver.transaction((connection) => promoteAll(connection, now))
  return {
    events,
    answers: erased.size,
    files: await driver.read((connection) => filesOf(connection, [...erased])),
  }
}

interface PersonalAnswer {
  readonly place: number
  readonly identity: string | null
  readonly error: string | null
  readonly body: string | null
}

/** What a row says whose answer was about the person. */
const emptyAnswer = { status: 'skipped', error: 'forgotten', identity: null, body: null, origin: null }

/** The tables with personal data; `erased` collects the places of answers. */
function stateTables(
  subject: SubjectMatcher,
  now: number,
  dryRun: DryRun,
  erased: Set<number>,
): PersonalTable[] {
  const emptied: number[] = []
  const answers: PersonalTable<PersonalAnswer> = {
    table: 'answers',
    key: ['place'],
    columns: ['identity', 'error', 'body'],
    where: () => ['identity IS NOT NULL OR error IS NOT NULL OR body IS NOT NULL'],
    erase(row) {
      const erasure = eraseAnswer(subject, row)
      if (erasure) erased.add(row.place)
      if (erasure?.change === emptyAnswer) emptied.push(row.place)
      return erasure
    },
  }
  // Rows of other runs that took one of the answers.
  const copies: PersonalTable<PersonalAnswer> = {
    table: 'answers',
    key: ['place'],
    columns: [],
    where: () => ['origin IN (SELECT atom FROM json_each(?))', JSON.stringify(emptied)],
    erase({ place }) {
      erased.add(place)
      return { change: emptyAnswer }
    },
  }
  const tables = [personalEvents(subject, now), answers, copies]
  // What is not counted is no reason to say that something is stored.
  return dryRun === true
    ? tables
    : [...tables, personalRequests(subject), personalOpenCalls(subject), personalTurns(subject)]
}

function eraseAnswer(
  subject: SubjectMatcher,
  { identity, error, body }: PersonalAnswer,
): RowErasure | undefined {
  if (subject.mentions(identity) || subject.mentions(error)) return { change: emptyAnswer }
  return body === null ? undefined : eraseJson(subject, 'body', body, emptyAnswer)
}

/** An event goes whole, since it is kept as it was signed. Its id stays for as long as its sender may send it again. */
const personalEvents = (
  subject: SubjectMatcher,
  now: number,
): PersonalTable<{ readonly seq: number; readonly body: string }> => ({
  table: 'events',
  counted: 'events',
  key: ['seq'],
  columns: ['body'],
  erase: ({ seq, body }) =>
    subject.mentions(parseOrText(body))
      ? {
          change: 'delete',
          also: async (connection) =>
            connection.run(
              `INSERT INTO gone_events (id, path, received_at) SELECT id, path, received_at FROM events
                WHERE seq = ? AND received_at >= ? ON CONFLICT DO NOTHING`,
              ...[seq, now - rememberedMs],
            ),
        }
      : undefined,
})

/** What was typed for a run. */
const personalRequests = (subject: SubjectMatcher): PersonalTable<{ readonly request: string }> => ({
  table: 'runs',
  key: ['id'],
  columns: ['request'],
  erase: ({ request: text }) => {
    const request = parseOrText(text)
    const left = subject.redact(request)
    return left === request ? undefined : { change: { request: toJson(left) } }
  },
})

/** The keys of calls whose outcome is unknown. */
const personalOpenCalls = (subject: SubjectMatcher): PersonalTable<{ readonly idempotency_key: string }> => ({
  table: 'open_calls',
  key: ['fingerprint'],
  columns: ['idempotency_key'],
  erase: ({ idempotency_key: key }) => (subject.mentions(key) ? { change: 'delete' } : undefined),
})

/** What runs and lookups have under way, or had when they were killed. */
const personalTurns = (
  subject: SubjectMatcher,
): PersonalTable<{ readonly number: number; readonly calls: string }> => ({
  table: 'turns',
  key: ['number'],
  columns: ['calls'],
  erase: ({ calls: text }) => {
    const calls = parseExact(text) as readonly unknown[]
    const left = calls.filter((call) => !subject.mentions(call))
    if (left.length === calls.length) return undefined
    return left.length === 0 ? { change: 'delete' } : { change: { calls: toJson(left) } }
  },
})

/** Returns a body as a value; one that is no JSON stays a text. */
const parseOrText = (body: string): unknown => resultOr(body, () => parseBody(body))

/** Returns the files of the runs that have answers at some places. Single lookups have none. */
async function filesOf(connection: Connection, places: readonly number[]): Promise<string[]> {
  const numbers = toJson([...new Set(places.map(toRunNumber))])
  const files = await connection.all<{ path: string }>(filesSql, numbers, numbers)
  return files.map(({ path }) => path)
}

const filesSql = `SELECT file AS path FROM runs WHERE number IN (SELECT atom FROM json_each(?)) AND file <> ''
  UNION SELECT path FROM run_files WHERE run IN (SELECT atom FROM json_each(?)) ORDER BY path`
