import { parseExact } from '../api/values/json.js'
import { type Fields, isObject, resultOr } from '../api/values/objects.js'
import type { PersonToErase } from '../catalogue/erasure/subject.js'
import { suppressionsOf, suppressionTable } from '../catalogue/suppression/suppressions.js'
import { eraseFromEngine, noWorkErased } from '../engine/admin/erasure.js'
import { listWorkspaces } from '../engine/tables/members.js'
import { keysOfPerson } from '../identity/person-matcher.js'
import { shownTarget } from '../runs/target-name.js'
import type { Driver, StoredRow } from '../storage/driver/connection.js'
import { eraseFromState } from '../storage/erasure/erase.js'
import { type CollectRow, eraseFromTables, type SubjectMatcher } from '../storage/erasure/traversal.js'

/** The databases that a person may be in, beside the catalogue: those that exist. */
interface OtherDatabases {
  readonly engine: Driver | undefined
  /** Every database with runs: that of this machine, and that of an engine on a server, which machines share. */
  readonly runs: readonly Driver[]
}

/** A person as they were found, and where they may be. */
export type FoundPerson = OtherDatabases & PersonToErase

export type Erased = Awaited<ReturnType<typeof countPerson>>

const noState = {
  events: 0,
  answers: 0,
  mentions: 0,
  crm: 0,
  files: [] as string[],
  otherFiles: [] as string[],
}

/** How often what was learned of a person may lead to more records of theirs. */
const rounds = 3

/**
 * Returns a person whom the catalogue does not know with what records in these databases say of them, such as answers of
 * servers. Of one whom it knows, it knows what others share, too.
 */
export async function completePerson(found: FoundPerson, now: number): Promise<FoundPerson> {
  if (found.identifiers.rows.length > 0) return found
  let person = found
  for (let round = 0; round < rounds; round++) {
    const more = { ...found, ...person.knownBy(await recordsAbout(person, now)) }
    const isSame = JSON.stringify(more.identifiers) === JSON.stringify(person.identifiers)
    person = more
    if (isSame) break
  }
  return person
}

/** Returns the records of work and runs that are about a person. The answer to a question about them is one, too. */
async function recordsAbout({ engine, runs, matcher }: FoundPerson, now: number): Promise<readonly Fields[]> {
  const records: unknown[] = []
  const collect: CollectRow = (table, row, found) => {
    const values = Object.values(row).map(parsed)
    const isAnswered = questions.has(table) && values.some((value) => matcher.isAbout(value))
    records.push(
      ...(isAnswered ? values : [...values, ...found].flatMap((value) => partsAbout(matcher, value))),
    )
  }
  if (engine) await eraseFromEngine(engine, matcher, collect)
  for (const database of runs) await eraseFromState(database, matcher, now, collect)
  return records.filter(isObject)
}

const questions: ReadonlySet<string> = new Set(['lookups', 'provider_calls'])

const parsed = (value: unknown): unknown =>
  typeof value === 'string' && /^[[{]/.test(value)
    ? resultOr(value as unknown, () => parseExact(value))
    : value

/** Returns what `erasePerson` would erase, and erases nothing. */
export async function countPerson({ eraseCatalogue, ...found }: FoundPerson, now: number) {
  return { catalogue: await eraseCatalogue(true), ...(await eraseWork(found, now, true)) }
}

/**
 * Erases a person from all databases. Work and runs are erased once more after the catalogue, because they may have read it
 * meanwhile. Whoever runs it again after it was killed still knows all that was known of the person.
 */
export async function erasePerson(found: FoundPerson, now: number): Promise<Erased> {
  const end = await found.begin()
  const first = await eraseWork(found, now, false)
  const catalogue = await found.eraseCatalogue(false)
  const again = await eraseWork(found, now, false)
  await end()
  return { catalogue, engine: add(first.engine, again.engine), state: add(first.state, again.state) }
}

async function eraseWork(
  { engine, runs, matcher }: OtherDatabases & Pick<FoundPerson, 'matcher'>,
  now: number,
  dryRun: boolean,
) {
  let state = noState
  for (const database of runs) state = add(state, await eraseFromState(database, matcher, now, dryRun))
  return { engine: engine ? await eraseFromEngine(engine, matcher, dryRun) : noWorkErased, state }
}

/** Returns the sums of numbers and the joined lists of two objects. */
const add = <T extends object>(one: T, other: T): T =>
  Object.fromEntries(
    Object.entries(one).map(([name, value]: [string, unknown]) => {
      const more = other[name as keyof T]
      return [name, Array.isArray(value) ? value.concat(more) : Number(value) + Number(more)]
    }),
  ) as T

/**
 * Leaves only hashes of the entries about a person in the lists of who is suppressed; with `adds` the person is in them. `state`
 * is the database with the entries of this machine, whose owner is `machine`.
 */
export async function forgetSuppressions(
  { engine, identifiers, matcher }: FoundPerson,
  state: Driver | undefined,
  machine: string,
  adds: boolean,
  now: number,
): Promise<void> {
  const keys = keysOfPerson(identifiers)
  const workspaces = engine ? await engine.read((tx) => listWorkspaces(tx)) : []
  for (const { id } of workspaces) await suppressionsOf(engine as Driver, id).forget(keys, adds, now)
  if (state) await suppressionsOf(state, machine).forget(keys, adds, now)
  // What was written as the reason of another entry.
  for (const driver of [engine, state])
    if (driver) await eraseFromTables(driver, [suppressionTable], matcher, false)
}

/** A row that an erasure would change. */
export interface HeldRow {
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

/** Returns all that is stored about a person: what an erasure would delete, and empty. */
export async function collectPerson({ engine, runs, matcher, eraseCatalogue }: FoundPerson, now: number) {
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
  let state = noState
  for (const database of runs) {
    const erase = (each: CollectRow) => eraseFromState(database, matcher, now, each)
    state = add(state, await collect('machine', erase, database))
  }
  return { stored, state }
}

/** Returns the parts of a stored value that are about a person, without records of others around them. */
function partsAbout(subject: SubjectMatcher, value: unknown): readonly unknown[] {
  if (typeof value === 'string') {
    const inner = parsed(value)
    if (typeof inner !== 'string') return partsAbout(subject, inner)
    return subject.mentions(inner) ? [inner] : []
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
