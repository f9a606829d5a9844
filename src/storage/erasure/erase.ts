import { parseBody, parseExact, toJson } from '../../api/values/json.js'
import { resultOr } from '../../api/values/objects.js'
import { type Connection, type Driver, toRunNumber } from '../driver/connection.js'
import { promoteAll, rememberIds } from '../state/webhook-inbox.js'
import {
  type DryRun,
  eraseFromTables,
  eraseJson,
  type PersonalTable,
  type SubjectMatcher,
} from './traversal.js'

/**
 * Erases a person from received events and from the answers of runs; with `dryRun` it only counts. A row keeps what it cost
 * and the hash of its request: neither it nor an equal row of its run is paid for again when the run resumes.
 */
export async function eraseFromState(driver: Driver, subject: SubjectMatcher, now: number, dryRun: DryRun) {
  const erased = new Set<number>()
  const counted = [personalEvents(now), ...personalAnswers(erased)]
  // What is not counted is no reason to say that something is stored.
  const tables = dryRun === true ? counted : [...counted, ...uncountedTables]
  const { events = 0 } = await eraseFromTables(driver, tables, subject, dryRun)
  if (!dryRun && events > 0) await driver.transaction((connection) => promoteAll(connection, now))
  const files = await driver.read((connection) => filesOf(connection, [...erased]))
  return { events, answers: erased.size, ...files }
}

interface PersonalAnswer {
  readonly place: number
  readonly identity: string | null
  readonly error: string | null
  readonly body: string | null
}

/** What a row says whose answer was about the person. */
const emptyAnswer = { status: 'skipped', error: 'forgotten', identity: null, body: null, origin: null }

/** Answers of runs; `erased` collects their places. */
function personalAnswers(erased: Set<number>): PersonalTable[] {
  const emptied: number[] = []
  const answers = { table: 'answers', key: ['place'] }
  return [
    {
      ...answers,
      columns: ['identity', 'error', 'body'],
      where: () => ['identity IS NOT NULL OR error IS NOT NULL OR body IS NOT NULL'],
      erase(row: PersonalAnswer, subject) {
        const erasure = eraseAnswer(subject, row)
        if (erasure) erased.add(row.place)
        if (erasure?.change === emptyAnswer) emptied.push(row.place)
        return erasure
      },
    },
    // Rows of other runs that took one of the answers.
    {
      ...answers,
      columns: [],
      where: () => ['origin IN (SELECT atom FROM json_each(?))', JSON.stringify(emptied)],
      erase({ place }: PersonalAnswer) {
        erased.add(place)
        return { change: emptyAnswer }
      },
    },
  ]
}

function eraseAnswer(subject: SubjectMatcher, { identity, error, body }: PersonalAnswer) {
  if (subject.mentions(identity) || subject.mentions(error)) return { change: emptyAnswer }
  return body === null ? undefined : eraseJson(subject, 'body', body, emptyAnswer)
}

/** An event goes whole, since it is kept as it was signed. Its id stays for as long as its sender may send it again. */
const personalEvents = (now: number): PersonalTable => ({
  table: 'events',
  counted: 'events',
  key: ['seq'],
  columns: ['body'],
  erase: ({ seq, body }: { readonly seq: number; readonly body: string }, subject) =>
    subject.mentions(parseOrText(body))
      ? { change: 'delete', also: (connection) => rememberIds(connection, now, 'seq = ?', seq) }
      : undefined,
})

const uncountedTables: readonly PersonalTable[] = [
  // What was typed for a run.
  {
    table: 'runs',
    key: ['id'],
    columns: ['request'],
    erase({ request: text }: { readonly request: string }, subject) {
      const request = parseOrText(text)
      const left = subject.redact(request)
      return left === request ? undefined : { change: { request: toJson(left) } }
    },
  },
  // The keys of calls whose outcome is unknown.
  {
    table: 'open_calls',
    key: ['fingerprint'],
    columns: ['idempotency_key'],
    erase: ({ idempotency_key: key }: { readonly idempotency_key: string }, subject) =>
      subject.mentions(key) ? { change: 'delete' } : undefined,
  },
  // What runs and lookups have under way, or had when they were killed.
  {
    table: 'turns',
    key: ['number'],
    columns: ['calls'],
    erase({ calls: text }: { readonly calls: string }, subject) {
      const calls = parseExact(text) as readonly unknown[]
      const left = calls.filter((call) => !subject.mentions(call))
      if (left.length === calls.length) return undefined
      return left.length === 0 ? { change: 'delete' } : { change: { calls: toJson(left) } }
    },
  },
]

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
