import { type Fields, withoutUndefined } from '../../api/values/objects.js'
import { type Connection, insertList, send } from '../../storage/driver/connection.js'
import { readRecordsAt } from '../export/export.js'
import type { RecordKind } from '../kinds/kind.js'
import type { Origin } from '../records/origins.js'
import type { Change } from '../write/import-context.js'

const notedSql = `SELECT key, own FROM sample_records
  WHERE kind = ? AND key IN (SELECT atom FROM json_each(?)) ORDER BY key`
const noteSql = insertList(
  'sample_records',
  { kind: 'TEXT', key: 'BIGINT', own: 'TEXT' },
  'ON CONFLICT (kind, key) DO NOTHING',
)

/**
 * Notes which records the sample writes, and what own data says of them, so that the sample can be removed again and own data
 * stays. It is called before the rows are written.
 */
export async function noteSample(
  origin: Origin,
  connection: Connection,
  kind: RecordKind,
  changes: readonly Change[],
): Promise<void> {
  if (origin === 'own' && !(await hasNoted(connection, kind))) return
  const byKey = Map.groupBy(changes, ({ row }) => row.key)
  // A row that these changes add may be changed by a later one of them.
  const replaced = [...byKey].flatMap(([key, [first]]) => (first?.before ? key : []))
  const noted = new Map<number, string | null>()
  if (replaced.length > 0) {
    type Noted = { readonly key: number; readonly own: string | null }
    for (const { key, own } of await connection.all<Noted>(notedSql, kind, JSON.stringify(replaced)))
      noted.set(key, own)
  }
  if (origin === 'own') {
    for (const [key, own] of noted) {
      const said = (byKey.get(key) ?? []).map((change) => change.said())
      const all = said.reduce(mergeSaid, own === null ? {} : (JSON.parse(own) as Fields))
      const sql = 'UPDATE sample_records SET own = ? WHERE kind = ? AND key = ?'
      await send(connection, sql, JSON.stringify(all), kind, key)
    }
    return
  }
  const before = await readRecordsAt(
    connection,
    kind,
    replaced.filter((key) => !noted.has(key)),
  )
  const rows = [...byKey.keys()].flatMap((key) => {
    const own = before.get(key)
    return noted.has(key) ? [] : [[kind, key, own ? JSON.stringify(own) : null]]
  })
  if (rows.length > 0) await connection.dialect.writeRows(connection, noteSql, rows)
}

/** Whether the sample wrote records of a kind, as it was when the transaction began: own data adds none of them. */
async function hasNoted(connection: Connection, kind: RecordKind): Promise<boolean> {
  const name = `sample_records ${kind}`
  if (!connection.known.has(name)) {
    const one = await connection.get('SELECT key FROM sample_records WHERE kind = ? LIMIT 1', kind)
    connection.known.set(name, one !== undefined)
  }
  return connection.known.get(name) === true
}

const employerFields = ['company_domain', 'company_network_url', 'company_network_id', 'company_name']

/** Returns what two records say of the same subject: the later one counts, and lists that an import adds to are added to. */
function mergeSaid(one: Fields, last: Fields): Fields {
  const later: Fields = withoutUndefined(last)
  const joined: Record<string, unknown> = { ...one }
  // Where somebody works is said as a whole.
  if (employerFields.some((field) => field in later)) for (const field of employerFields) delete joined[field]
  Object.assign(joined, later)
  for (const field of ['headcount_history', 'engagers'])
    if (joined[field] !== undefined) joined[field] = [...listIn(one, field), ...listIn(later, field)]
  const details = new Map(listIn(one, 'technology_details').map((use) => [use.slug, use]))
  if (later.technology_details !== undefined)
    joined.technology_details = listIn(later, 'technology_details').map((use) =>
      Object.assign({}, details.get(use.slug), withoutUndefined(use)),
    )
  return joined
}

const listIn = (said: Fields, field: string): readonly Fields[] =>
  (said[field] as readonly Fields[] | undefined) ?? []
