import { Refusal } from '../api/calls/errors.js'
import type { Fields } from '../api/values/objects.js'
import type { Mirror } from '../runs/ports.js'
import {
  type Connection,
  type Driver,
  portionsOf,
  readBehind,
  type StoredRow,
} from '../storage/driver/connection.js'
import {
  type CrmConnector,
  type CrmKind,
  type CrmRecord,
  type CrmValues,
  crmKinds,
  idColumn,
} from './connector.js'

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

interface PullPorts {
  readonly database: Driver
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
    await database.transaction(async (connection) => {
      await putRecords(connection, crm, kind, page.records, beganAt)
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
  return { kind, whole, read, gone, records: await countRecords(database, crm, kind) }
}

export const scopeOf = (crm: string): string => `crm ${crm}`

/** Stores records as the CRM has them now. */
export async function putRecords(
  connection: Connection,
  crm: string,
  kind: CrmKind,
  records: readonly CrmRecord[],
  seenAt: number,
): Promise<void> {
  for (const { id, values } of records)
    await connection.run(
      `INSERT INTO crm_records (crm, kind, id, data, seen_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (crm, kind, id) DO UPDATE SET data = excluded.data,
         seen_at = CASE WHEN excluded.seen_at > crm_records.seen_at THEN excluded.seen_at ELSE crm_records.seen_at END`,
      crm,
      kind,
      id,
      JSON.stringify(values),
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

export async function countRecords(database: Driver, crm: string, kind: CrmKind): Promise<number> {
  const sql = 'SELECT count(*) AS count FROM crm_records WHERE crm = ? AND kind = ?'
  const row = await database.read((reads) => reads.get<{ count: number }>(sql, crm, kind))
  return Number(row?.count ?? 0)
}

export interface MirroredRecord {
  readonly id: string
  readonly values: CrmValues
}

/** Yields the records of the mirror, in portions. */
export async function* mirrored(
  database: Driver,
  crm: string,
  kind: CrmKind,
): AsyncGenerator<readonly MirroredRecord[]> {
  const read = (last: StoredRow | undefined) =>
    database.read((reads) =>
      readBehind(reads, {
        table: 'crm_records',
        key: ['id'],
        columns: 'id, data',
        where: ['crm = ? AND kind = ?', crm, kind],
        last,
        limit: recordsAtOnce,
      }),
    )
  for await (const portion of portionsOf(recordsAtOnce, read))
    yield portion.map(({ id, data }) => ({ id: String(id), values: JSON.parse(String(data)) as CrmValues }))
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
  const sql = `SELECT data FROM crm_records WHERE ${where}`
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
export async function mirrorList(
  database: Driver,
  connector: Pick<CrmConnector, 'crm' | 'fields' | 'alsoRead' | 'identities' | 'company'>,
  kind: CrmKind,
): Promise<Mirror> {
  const { crm, fields, alsoRead, identities } = connector
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
        const ids = portion.flatMap(({ values }) => values[connector.company] ?? [])
        const companies = await companiesIn(database, connector, kind === 'people' ? ids : [])
        yield portion.map(({ id, values }) => {
          const theirs = companies.get(values[connector.company] ?? '')
          const [first = {}, ...others] = identities(kind, values).map((one) => ({ ...theirs, ...one }))
          const cell = (column: string) =>
            column === idColumn ? id : (values[column] ?? values[own[column] ?? ''] ?? '')
          return { line: null, fields: first, others, cell }
        })
      }
    },
  }
}
