import { parseBody, parseExact, toJson } from '../../api/values/json.js'
import { resultOr } from '../../api/values/objects.js'
import type { Connection, Driver } from '../driver/connection.js'
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
  const erased = new Map<string, number>()
  const counted = [personalEvents(now), personalLookups(erased)]
  // What is not counted is no reason to say that something is stored.
  const tables = dryRun === true ? counted : [...counted, ...uncountedTables]
  const { events = 0 } = await eraseFromTables(driver, tables, subject, dryRun)
  if (!dryRun && events > 0) await driver.transaction((connection) => promoteAll(connection, now))
  const files = await driver.read((connection) => filesOf(connection, new Set(erased.values())))
  return { events, answers: erased.size, ...files }
}

interface PersonalLookup {
  readonly run: number
  readonly row: number
  readonly identity: string | null
  readonly input: string | null
  readonly source: string
  readonly error: string | null
  readonly body: string | null
}

/** What a row says whose answer was about the person. */
const emptyLookup = { state: 'skipped', error: 'forgotten', identity: null, input: null, body: null }
const takersSql = `UPDATE lookups SET state = 'skipped', error = 'forgotten', identity = NULL
  WHERE from_run = ? AND from_row = ? RETURNING run, row, source`

/** Lookups of runs, with the rows that took their answers; `erased` collects them. */
const personalLookups = (erased: Map<string, number>): PersonalTable => ({
  table: 'lookups',
  key: ['run', 'row'],
  columns: ['identity', 'input', 'error', 'body', 'source'],
  where: () => ['identity IS NOT NULL OR input IS NOT NULL OR error IS NOT NULL OR body IS NOT NULL'],
  erase(one: PersonalLookup, subject) {
    const erasure = eraseLookup(subject, one)
    if (!erasure) return undefined
    // A row that follows an equal one of its run has no answer of its own.
    if (one.source !== 'duplicate') erased.set(`${one.run} ${one.row}`, one.run)
    if (erasure.change !== emptyLookup) return erasure
    const also = async (connection: Connection) => {
      const takers = await connection.all<Omit<PersonalLookup, 'body'>>(takersSql, one.run, one.row)
      for (const { run, row, source } of takers) if (source !== 'duplicate') erased.set(`${run} ${row}`, run)
    }
    return { ...erasure, also }
  },
})

function eraseLookup(subject: SubjectMatcher, { identity, input, error, body }: PersonalLookup) {
  const isAsked = input !== null && subject.mentions(parseExact(input))
  if (isAsked || subject.mentions(identity) || subject.mentions(error)) return { change: emptyLookup }
  return body === null ? undefined : eraseJson(subject, 'body', body, emptyLookup)
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
]

/** Returns a body as a value; one that is no JSON stays a text. */
const parseOrText = (body: string): unknown => resultOr(body, () => parseBody(body))

/** Returns the files of some runs, and those of the others. Single lookups have none. */
async function filesOf(connection: Connection, numbers: ReadonlySet<number>) {
  const files = await connection.all<{ run: number; path: string }>(filesSql)
  const pathsWhere = (isOne: boolean) =>
    files.filter(({ run }) => numbers.has(run) === isOne).map(({ path }) => path)
  return { files: pathsWhere(true), otherFiles: pathsWhere(false) }
}

const filesSql = `SELECT number AS run, file AS path FROM runs WHERE file <> ''
  UNION SELECT run, path FROM run_files ORDER BY path`
