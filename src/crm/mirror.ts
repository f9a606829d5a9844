import { Refusal } from '../api/calls/errors.js'
import type { Fields } from '../api/values/objects.js'
import { keyReader, type RowKeys } from '../lists/list-index.js'
import type { Mirror } from '../runs/ports.js'
import {
  type Connection,
  type Driver,
  portionsOf,
  readBehind,
  type StoredRow,
} from '../storage/driver/connection.js'
import { type CrmConnector, type CrmKind, type CrmValues, crmKinds, idColumn } from './connector.js'

/** Changes of so long before the last pull are asked for again: clocks differ, and a search lags behind what is written. */
const overlapMs = 15 * 60_000
const recordsAtOnce = 500

/** Returns the properties that are read of each record. */
export const mirroredOf = ({ fields, alsoRead }: CrmConnector, kind: CrmKind): readonly string[] =>
  [...new Set([...Object.values(fields[kind]), ...alsoRead[kind]])].sort()

interface PullRow {
  readonly properties: string
  readonly whole: number
  readonly after: string | null
  readonly began_at: number | null
  readonly until: number | null
}

/** What records are stored with. */
export interface MirrorPorts {
  readonly database: Driver
  readonly connector: MirroredCrm
  /** Returns which of some companies or people are not to be contacted. */
  areSuppressed(records: readonly Fields[]): Promise<readonly boolean[]>
}

type MirroredCrm = Pick<CrmConnector, 'crm' | 'fields' | 'alsoRead' | 'identities' | 'company'>

interface PullPorts extends Pick<MirrorPorts, 'database' | 'areSuppressed'> {
  now(): number
  /** Called after each page with how many records came so far. */
  onRecords(records: number): void
  readonly signal?: AbortSignal | undefined
}

/** What a pull read. */
export interface Pulled {
  readonly kind: CrmKind
  /** Whether all records were read, and not only those that have changed. */
  readonly whole: boolean
  readonly read: number
  readonly gone: number
  readonly records: number
  /** Of those, people who are suppressed, of whom nothing but the id is kept. */
  readonly withheld: number
}

/**
 * Reads the records of an account, the first time all of them and later what has changed. Each page is stored with where the
 * next one begins, so that a pull that was killed goes on there. `wants` reads all of them once more.
 */
export async function pull(
  connector: CrmConnector,
  ports: PullPorts,
  wants: 'changes' | 'all' = 'changes',
): Promise<readonly Pulled[]> {
  const pulled: Pulled[] = []
  for (const kind of crmKinds) pulled.push(await pullKind(connector, kind, ports, wants))
  return pulled
}

export async function pullKind(
  connector: CrmConnector,
  kind: CrmKind,
  ports: PullPorts,
  wants: 'changes' | 'all' = 'changes',
): Promise<Pulled> {
  const { database, now, onRecords, signal } = ports
  const { crm } = connector
  const properties = mirroredOf(connector, kind)
  const known = await database.read((reads) =>
    reads.get<PullRow>('SELECT * FROM crm_pulls WHERE crm = ? AND kind = ?', crm, kind),
  )
  const isSame = known?.properties === properties.join(',')
  const isUnderWay = isSame && known.began_at !== null && (known.whole === 1 || wants === 'changes')
  const whole = isUnderWay ? known.whole === 1 : !(isSame && known.until !== null && wants === 'changes')
  const beganAt = isUnderWay ? Number(known.began_at) : now()
  const since = Math.max(0, Number(known?.until ?? 0) - overlapMs)
  let after = isUnderWay ? (known.after ?? undefined) : undefined
  let read = 0
  const note = (connection: Connection, to: Omit<PullRow, 'properties'>) =>
    connection.run(
      `INSERT INTO crm_pulls (crm, kind, properties, whole, after, began_at, until) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (crm, kind) DO UPDATE SET properties = excluded.properties, whole = excluded.whole,
         after = excluded.after, began_at = excluded.began_at, until = excluded.until`,
      crm,
      kind,
      properties.join(','),
      to.whole,
      to.after,
      to.began_at,
      to.until,
    )
  const until = whole ? null : (known?.until ?? null)
  do {
    if (signal?.aborted) throw new Refusal('interrupted.pull', { signal: signal.reason })
    const page = await (whole
      ? connector.list(kind, properties, after)
      : connector.changed(kind, properties, since, after))
    after = page.next
    read += page.records.length
    const isCut = page.isCut === true
    const entries = await withoutSuppressed({ ...ports, connector }, kind, page.records)
    await database.transaction(async (connection) => {
      await putRecords(connection, crm, kind, entries, beganAt)
      const isLast = after === undefined
      // What the CRM does not give by date of change is in the whole list.
      if (isCut) return note(connection, { whole: 1, after: null, began_at: null, until: null })
      return note(connection, {
        whole: isLast ? 0 : whole ? 1 : 0,
        after: after ?? null,
        began_at: isLast ? null : beganAt,
        until: isLast ? beganAt : until,
      })
    }, scopeOf(crm))
    onRecords(read)
    if (isCut) return pullKind(connector, kind, ports, 'all')
  } while (after !== undefined)
  const gone = whole
    ? await database.transaction(
        (connection) =>
          connection.run(
            'DELETE FROM crm_records WHERE crm = ? AND kind = ? AND seen_at < ?',
            crm,
            kind,
            beganAt,
          ),
        scopeOf(crm),
      )
    : 0
  const withheld = await countRecords(database, crm, kind, 'hashed IS NOT NULL')
  return { kind, whole, read, gone, records: await countRecords(database, crm, kind), withheld }
}

export const scopeOf = (crm: string): string => `crm ${crm}`

/** A record as the mirror has it. */
export interface MirrorEntry {
  readonly id: string
  readonly values: CrmValues
  /** Hashes of what identifies somebody who is suppressed; nothing else is kept of them. */
  readonly hashed?: string | undefined
}

/** Returns what is kept of records: of people who are suppressed no more than that they are there. */
export async function withoutSuppressed(
  ports: MirrorPorts,
  kind: CrmKind,
  records: readonly MirrorEntry[],
): Promise<readonly MirrorEntry[]> {
  if (kind !== 'people' || records.length === 0) return records
  const identities = await identitiesOf(ports.database, ports.connector, kind, records)
  const suppressed = await areAnySuppressed(ports, identities)
  const toKeys = keyReader(kind)
  return records.map((record, at) => {
    if (!suppressed[at]) return record
    return { id: record.id, values: {}, hashed: textOf((identities[at] ?? []).flatMap(toKeys)) }
  })
}

const textOf = (sets: readonly RowKeys[]): string =>
  JSON.stringify(sets.map((keys) => keys.map((key) => (key === null ? null : String(key)))))

const keysIn = (text: string): readonly RowKeys[] =>
  (JSON.parse(text) as (string | null)[][]).map((keys) =>
    keys.map((key) => (key === null ? null : BigInt(key))),
  )

/** Whether records are not to be contacted: by any of their addresses or domains, and not by the first alone. */
export async function areAnySuppressed(
  { areSuppressed }: Pick<MirrorPorts, 'areSuppressed'>,
  identities: readonly (readonly Fields[])[],
): Promise<readonly boolean[]> {
  const out = await areSuppressed(identities.flat())
  let next = 0
  return identities.map((own) => {
    const from = next
    next += own.length
    return out.slice(from, next).includes(true)
  })
}

/** Returns what identifies records: people without an address are known by name and company. */
async function identitiesOf(
  database: Driver,
  connector: MirroredCrm,
  kind: CrmKind,
  records: readonly MirrorEntry[],
): Promise<readonly (readonly Fields[])[]> {
  const ids = records.flatMap(({ values }) => values[connector.company] ?? [])
  const companies = await companiesIn(database, connector, kind === 'people' ? ids : [])
  return records.map(({ values }) => {
    const theirs = companies.get(values[connector.company] ?? '')
    return connector.identities(kind, values).map((one) => ({ ...theirs, ...one }))
  })
}

/** Stores records as the CRM has them now, as `withoutSuppressed` returned them. */
export async function putRecords(
  connection: Connection,
  crm: string,
  kind: CrmKind,
  records: readonly MirrorEntry[],
  seenAt: number,
): Promise<void> {
  for (const { id, values, hashed = null } of records)
    await connection.run(
      `INSERT INTO crm_records (crm, kind, id, data, hashed, seen_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (crm, kind, id) DO UPDATE SET data = excluded.data, hashed = excluded.hashed,
         seen_at = CASE WHEN excluded.seen_at > crm_records.seen_at THEN excluded.seen_at ELSE crm_records.seen_at END`,
      crm,
      kind,
      id,
      JSON.stringify(values),
      hashed,
      seenAt,
    )
}

export async function dropRecords(
  connection: Connection,
  crm: string,
  kind: CrmKind,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids)
    await connection.run('DELETE FROM crm_records WHERE crm = ? AND kind = ? AND id = ?', crm, kind, id)
}

export async function countRecords(
  database: Driver,
  crm: string,
  kind: CrmKind,
  where = 'TRUE',
): Promise<number> {
  const sql = `SELECT count(*) AS count FROM crm_records WHERE crm = ? AND kind = ? AND ${where}`
  const row = await database.read((reads) => reads.get<{ count: number }>(sql, crm, kind))
  return Number(row?.count ?? 0)
}

/** Yields the records of the mirror, in portions. */
export async function* mirrored(
  database: Driver,
  crm: string,
  kind: CrmKind,
): AsyncGenerator<readonly MirrorEntry[]> {
  const read = (last: StoredRow | undefined) =>
    database.read((reads) =>
      readBehind(reads, {
        table: 'crm_records',
        key: ['id'],
        columns: 'id, data, hashed',
        where: ['crm = ? AND kind = ?', crm, kind],
        last,
        limit: recordsAtOnce,
      }),
    )
  for await (const portion of portionsOf(recordsAtOnce, read))
    yield portion.map(({ id, data, hashed }) => ({
      id: String(id),
      values: JSON.parse(String(data)) as CrmValues,
      hashed: hashed === null ? undefined : String(hashed),
    }))
}

/** Returns what the companies of some people say of them: people without an address are known by name and company. */
async function companiesIn(
  database: Driver,
  { crm, identities }: Pick<CrmConnector, 'crm' | 'identities'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Fields>> {
  const sql = `SELECT id, data FROM crm_records WHERE crm = ? AND kind = 'companies'
    AND id IN (SELECT value FROM json_each(?))`
  const rows = await database.read((reads) =>
    reads.all<{ id: string; data: string }>(sql, crm, JSON.stringify([...new Set(ids)])),
  )
  return new Map(
    rows.map(({ id, data }) => {
      const [{ name, domain } = {}]: readonly Fields[] = identities('companies', JSON.parse(data))
      return [
        id,
        {
          ...(name === undefined ? {} : { company_name: name }),
          ...(domain === undefined ? {} : { company_domain: domain }),
        },
      ]
    }),
  )
}

/** Notes which company a person has been given. */
export async function putCompany(
  connection: Connection,
  { crm, company }: Pick<CrmConnector, 'crm' | 'company'>,
  person: string,
  id: string,
): Promise<void> {
  const where = "crm = ? AND kind = 'people' AND id = ?"
  const sql = `SELECT data FROM crm_records WHERE ${where} AND hashed IS NULL`
  const known = await connection.get<{ data: string }>(sql, crm, person)
  if (!known) return
  const data = JSON.stringify({ ...(JSON.parse(known.data) as CrmValues), [company]: id })
  await connection.run(`UPDATE crm_records SET data = ? WHERE ${where}`, data, crm, person)
}

/** Fields that a record may have in what identifies it, though it is no property of its own. */
const identifying: Readonly<Record<CrmKind, readonly string[]>> = {
  companies: [],
  people: ['company_name', 'company_domain'],
}

/** Returns the mirror as a list. Throws a Refusal where nothing was read yet. */
export async function mirrorList(database: Driver, connector: MirroredCrm, kind: CrmKind): Promise<Mirror> {
  const { crm, fields, alsoRead } = connector
  const sql = 'SELECT until FROM crm_pulls WHERE crm = ? AND kind = ? AND until IS NOT NULL'
  const last = await database.read((reads) => reads.get<{ until: number }>(sql, crm, kind))
  if (!last) throw new Refusal('crm.not_pulled', { crm })
  const own: Readonly<Record<string, string>> = fields[kind]
  const properties = [...new Set([...Object.values(own), ...alsoRead[kind]])]
  const header = [...new Set([idColumn, ...Object.keys(own), ...properties])]
  return {
    name: `crm:${crm}`,
    header,
    columns: [idColumn, ...properties],
    names: [...new Set([idColumn, ...Object.keys(own), ...identifying[kind], ...alsoRead[kind]])],
    readAt: Number(last.until),
    async *rows() {
      for await (const portion of mirrored(database, crm, kind)) {
        const identities = await identitiesOf(database, connector, kind, portion)
        yield portion.map(({ id, values, hashed }, at) => {
          const [first = {}, ...others] = identities[at] ?? []
          const cell = (column: string) =>
            column === idColumn ? id : (values[column] ?? values[own[column] ?? ''] ?? '')
          const keys = hashed === undefined ? undefined : keysIn(hashed)
          return { line: null, fields: first, others, cell, hashed: keys }
        })
      }
    },
  }
}
