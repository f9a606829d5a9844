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
    let state: ErasedState = { events: 0, answers: 0, files: [], otherFiles: [] }
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
  otherFiles: [...one.otherFiles, ...other.otherFiles],
})

const addCounts = <T extends Counts>(one: T, other: T): T =>
  Object.fromEntries(Object.entries(one).map(([name, count]) => [name, count + (other[name] ?? 0)])) as T

/** What was erased of what this machine remembered. */
interface ErasedState {
  readonly events: number
  readonly answers: number
  /** What the runs whose answers mentioned the person have read and written. */
  readonly files: readonly string[]
  /** What all other runs have read and written. It may have the person too, as after an erasure. */
  readonly otherFiles: readonly string[]
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
    ...(await driver.read((connection) => filesOf(connection, [...erased]))),
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
              seq,
              now - rememberedMs,
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

/** Returns the files of the runs that have answers at some places, and those of the others. Single lookups have none. */
async function filesOf(connection: Connection, places: readonly number[]) {
  const numbers = new Set(places.map(toRunNumber))
  const files = await connection.all<{ run: number; path: string }>(filesSql)
  const pathsWhere = (isOne: boolean) =>
    files.filter(({ run }) => numbers.has(run) === isOne).map(({ path }) => path)
  return { files: pathsWhere(true), otherFiles: pathsWhere(false) }
}

const filesSql = `SELECT number AS run, file AS path FROM runs WHERE file <> ''
  UNION SELECT run, path FROM run_files ORDER BY path`
