import { isAbsolute } from 'node:path'
import { parseBody, parseExact, toJson } from '../../api/values/json.js'
import { resultOr } from '../../api/values/objects.js'
import type { Connection, Driver } from '../driver/connection.js'
import { promoteAll, rememberIds } from '../state/webhook-inbox.js'
import {
  type DryRun,
  emptiedCount,
  eraseFromTables,
  eraseJson,
  type PersonalTable,
  type RowErasure,
  type SubjectMatcher,
} from './traversal.js'

/**
 * Erases a person from received events and from the answers of runs; with `dryRun` it only counts. A row keeps what it cost
 * and the hash of its request: neither it nor an equal row of its run is paid for again when the run resumes.
 */
export async function eraseFromState(driver: Driver, subject: SubjectMatcher, now: number, dryRun: DryRun) {
  const [answers, runs, pushes] = [new Set<string>(), new Set<number>(), new Set<number>()]
  const lookups = personalLookups(answers, runs)
  const counted = [personalEvents(now), lookups, mirroredRecords, pushedWrites(pushes)]
  const { events = 0, mentions = 0, crm = 0 } = await eraseFromTables(driver, counted, subject, dryRun)
  if (!dryRun && events > 0) await driver.transaction((connection) => promoteAll(connection, now))
  // Before the names of files go.
  const files = await driver.read((connection) => filesOf(connection, runs, pushes))
  // What is not counted is no reason to say that something is stored.
  if (dryRun !== true) await eraseFromTables(driver, uncountedTables, subject, dryRun)
  return { events, answers: answers.size, mentions, crm, ...files }
}

interface PersonalLookup {
  readonly run: number
  readonly row: number
  readonly identity: string | null
  readonly key: string | null
  readonly input: string | null
  readonly work: string | null
  readonly source: string
  readonly error: string | null
  readonly body: string | null
}

/** What a row says whose answer was about the person. What is held for one that is under way may have been charged. */
const emptyLookup = {
  state: 'skipped',
  error: 'forgotten',
  identity: null,
  key: null,
  input: null,
  work: null,
  body: null,
}
const takersSql = `SELECT run, row, source FROM lookups WHERE from_run = ? AND from_row = ?`
const emptyTakersSql = `UPDATE lookups SET state = 'skipped', error = 'forgotten', identity = NULL
  WHERE from_run = ? AND from_row = ?`

/** Lookups of runs, with the rows that took their answers; `answers` collects those that go, and `runs` all of theirs. */
const personalLookups = (answers: Set<string>, runs: Set<number>): PersonalTable => ({
  table: 'lookups',
  key: ['run', 'row'],
  columns: ['identity', 'key', 'input', 'work', 'error', 'body', 'source'],
  where: () => ['coalesce(identity, key, input, work, error, body) IS NOT NULL'],
  async erase(one: PersonalLookup, subject, connection) {
    const erasure = eraseLookup(subject, one)
    if (!erasure) return undefined
    runs.add(one.run)
    if (erasure.change !== emptyLookup) return erasure
    const takers = await connection.all<Pick<PersonalLookup, 'run' | 'row' | 'source'>>(
      takersSql,
      one.run,
      one.row,
    )
    for (const { run, row, source } of [one, ...takers]) {
      runs.add(run)
      // A row that follows an equal one of its run has no answer of its own.
      if (source !== 'duplicate') answers.add(`${run} ${row}`)
    }
    const also = async (to: Connection) => to.run(emptyTakersSql, one.run, one.row)
    return takers.length === 0 ? erasure : { ...erasure, also }
  },
})

function eraseLookup(subject: SubjectMatcher, one: PersonalLookup): RowErasure | undefined {
  const { identity, key, input, work, error, body } = one
  const asked = input === null ? undefined : parseExact(input)
  if (subject.isAbout(asked) || [identity, key, work].some((text) => subject.mentions(text)))
    return { change: emptyLookup }
  const erasure = body === null ? undefined : eraseJson(subject, 'body', body, emptyLookup)
  if (erasure?.change === emptyLookup) return erasure
  // It is sent again as it was, or not at all.
  if (subject.mentions(asked)) return { change: emptyLookup }
  if (!subject.mentions(error)) return erasure
  return { change: { ...(erasure?.change as object | undefined), error: '' }, counts: emptiedCount }
}

/** What was read of a CRM. The record in the CRM itself is its own matter. */
const mirroredRecords: PersonalTable = {
  table: 'crm_records',
  counted: 'crm',
  key: ['crm', 'kind', 'id'],
  columns: ['data'],
  erase: ({ data }: { readonly data: string }, subject) =>
    subject.mentions(Object.values(parseExact(data) as object)) ? { change: 'delete' } : undefined,
}

/** What was written to a CRM: it stays known that something was, but it can no longer be undone. `pushes` collects whose it was. */
const pushedWrites = (pushes: Set<number>): PersonalTable => ({
  table: 'crm_writes',
  counted: 'crm',
  key: ['push', 'step', 'row'],
  columns: ['fields', 'before', 'error', 'state'],
  erase({ push, fields, before, error, state }: Readonly<Record<string, string>>, subject) {
    const values = [fields, before].flatMap((text) => Object.values(parseExact(text ?? '{}') as object))
    if (!subject.mentions(values) && !subject.mentions(error)) return undefined
    pushes.add(Number(push))
    // One that is open is looked for by what was sent: it is refused, so that nobody sends it again.
    const left = { fields: '{}', before: '{}', error: 'forgotten' }
    return { change: state === 'sent' ? { ...left, state: 'refused' } : left }
  },
})

interface StoredEvent {
  readonly seq: number
  readonly headers: string
  readonly search: string | null
  readonly body: string
}

/** An event goes whole, since it is kept as it was signed. Its id stays for as long as its sender may send it again. */
const personalEvents = (now: number): PersonalTable => ({
  table: 'events',
  counted: 'events',
  key: ['seq'],
  columns: ['headers', 'search', 'body'],
  erase: ({ seq, headers, search, body }: StoredEvent, subject) =>
    subject.mentions(parseOrText(body)) || [headers, search].some((text) => subject.mentions(text))
      ? { change: 'delete', also: (connection) => rememberIds(connection, now, 'seq = ?', seq) }
      : undefined,
})

const uncountedTables: readonly PersonalTable[] = [
  // What was typed for a run, and files that are named for the person.
  {
    table: 'runs',
    key: ['id'],
    columns: ['request', 'file', 'output'],
    erase({ request: text, file, output }: Readonly<Record<'request' | 'file' | 'output', string>>, subject) {
      const request = parseOrText(text)
      const left = subject.without(request, '')
      const change = {
        ...(left === request ? {} : { request: toJson(left) }),
        ...(subject.mentions(file) && { file: '' }),
        ...(subject.mentions(output) && { output: null }),
      }
      return Object.keys(change).length === 0 ? undefined : { change }
    },
  },
  {
    table: 'run_files',
    key: ['run', 'path'],
    columns: [],
    erase: ({ path }: { readonly path: string }, subject) =>
      subject.mentions(path) ? { change: 'delete' } : undefined,
  },
  {
    table: 'crm_pushes',
    key: ['number'],
    columns: ['file', 'request'],
    erase({ file, request: text }: Readonly<Record<'file' | 'request', string>>, subject) {
      const request = parseOrText(text)
      const left = subject.without(request, '')
      const change = {
        ...(left === request ? {} : { request: toJson(left) }),
        ...(subject.mentions(file) && { file: '' }),
      }
      return Object.keys(change).length === 0 ? undefined : { change }
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
  // A program that events are forwarded to may have answered with what it was sent.
  {
    table: 'forwards',
    key: ['target', 'seq'],
    columns: ['answer'],
    erase: ({ answer }: { readonly answer: string | null }, subject) =>
      subject.mentions(answer) ? { change: { answer: '' } } : undefined,
  },
]

/** Returns a body as a value; one that is no JSON stays a text. */
const parseOrText = (body: string): unknown => resultOr(body, () => parseBody(body))

/** Returns the files of some runs and pushes, and those of the others. Single lookups and the pushes of flows have none. */
async function filesOf(connection: Connection, runs: ReadonlySet<number>, pushes: ReadonlySet<number>) {
  const ofRuns = await connection.all<NumberedFile>(filesSql)
  const ofPushes = await connection.all<NumberedFile>('SELECT number, file AS path FROM crm_pushes')
  const pathsWhere = (isOne: boolean) =>
    [
      ...ofRuns.filter(({ number }) => runs.has(Number(number)) === isOne),
      ...ofPushes.filter(({ number, path }) => isAbsolute(path) && pushes.has(Number(number)) === isOne),
    ].map(({ path }) => path)
  return { files: pathsWhere(true), otherFiles: pathsWhere(false) }
}

interface NumberedFile {
  readonly number: number
  readonly path: string
}

const filesSql = `SELECT number, file AS path FROM runs WHERE file <> ''
  UNION SELECT run, path FROM run_files ORDER BY path`
