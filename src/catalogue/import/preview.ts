import type { Ids } from '../../engine/ports/ports.js'
import {
  type Awaitable,
  type Connection,
  type Driver,
  insertInto,
  mapResult,
  type StoredRow,
  type Value,
} from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import type { RecordKind, RejectedRecord } from '../kinds/kind.js'
import { runSteps, type Steps } from '../write/sync-steps.js'
import { createWriteContext, type Prefetched } from '../write/write-context.js'
import { maxPrefetched, prefetch } from './prefetch.js'
import type { PreparedRecord, RecordList } from './prepare.js'
import type { ImportTally } from './report.js'
import { addTally, sliceRecords, type WritePorts, type WrittenRecords, writeEach } from './write-batches.js'

/**
 * Writes records to an empty catalogue, `scratch`, which takes over what it needs of the real one as it is read. So the tally
 * counts what an import would do, and the real catalogue is only read. Returns the records that would be rejected.
 */
export async function previewRecords(
  kind: RecordKind,
  records: RecordList,
  tally: ImportTally,
  { driver, ids }: Pick<WritePorts, 'driver' | 'ids'>,
  scratch: Driver,
): Promise<RejectedRecord[]> {
  const rejected: RejectedRecord[] = []
  for (let from = 0; from < records.length; from += maxPrefetched) {
    const part = sliceRecords(records, from, maxPrefetched)
    const { tallied } = await driver.read((real) =>
      scratch.transaction((copy) => runSteps(previewPart(kind, part, real, copy, ids))),
    )
    addTally(tally, tallied)
    rejected.push(...tallied.rejected)
  }
  return rejected
}

function* previewPart(
  kind: RecordKind,
  records: readonly PreparedRecord[],
  real: Connection,
  copy: Connection,
  ids: Ids,
): Steps<WrittenRecords> {
  const prefetched = dialectOf(real).load.isRemote
    ? joinPrefetched(yield* prefetch(real, kind, records), yield* prefetch(copy, kind, records))
    : undefined
  const connection = readThrough(real, copy)
  const context = yield* createWriteContext(connection, kind, ids, undefined, prefetched, real)
  const list = { length: records.length, at: (index: number) => records[index] }
  return yield* writeEach(context, kind, list, 0, () => false)
}

/** Returns what either catalogue has. */
const joinPrefetched = (one: Prefetched, other: Prefetched): Prefetched => ({
  mayExist: (...value) => one.mayExist(...value) || other.mayExist(...value),
  remember: (...value) => other.remember(...value),
  companyKeyAt: (domain) => one.companyKeyAt(domain) ?? other.companyKeyAt(domain),
})

const rowsOfTable = /^SELECT .*? FROM (\w+)\s+WHERE /s
const textTable = /^INSERT (?:OR REPLACE )?INTO \w+_text\b/
const highestKey = /^SELECT max\(key\) /

/** Returns a connection to `copy` that first copies the rows which a query finds in `real`, where they are not copied yet. */
function readThrough(real: Connection, copy: Connection): Connection {
  const copyRows = (sql: string, values: readonly Value[]): Awaitable<void> => {
    const table = rowsOfTable.exec(sql)?.[1]
    if (table === undefined) return
    const whole = sql.replace(/^SELECT .*? FROM/s, 'SELECT * FROM')
    return mapResult(real.all<StoredRow>(whole, ...values), (rows) => {
      for (const row of rows) insertRow(copy, table, row)
    })
  }
  return {
    ...copy,
    // Nothing is searched by words in the copy.
    run: (sql, ...values) => (textTable.test(sql) ? 0 : copy.run(sql, ...values)),
    all: <T>(sql: string, ...values: Value[]) =>
      mapResult(copyRows(sql, values), () => copy.all<T>(sql, ...values)),
    get: <T>(sql: string, ...values: Value[]) => {
      if (!highestKey.test(sql)) return mapResult(copyRows(sql, values), () => copy.get<T>(sql, ...values))
      // A new record must not have the key of one that is copied later.
      return mapResult(real.get<HighestKey>(sql), (there) =>
        mapResult(copy.get<HighestKey>(sql), (own) => {
          return { key: Math.max(there?.key ?? 0, own?.key ?? 0) } as T
        }),
      )
    },
  }
}

interface HighestKey {
  readonly key: number | null
}

/** Inserts a row with the columns that the copy has, where it has no row with its key. */
function insertRow(copy: Connection, table: string, row: StoredRow): void {
  const columns = columnsOf(copy, table).filter((column) => row[column] !== undefined)
  const { sql } = insertInto(table, columns, 'ON CONFLICT DO NOTHING')
  void copy.run(sql, ...columns.map((column) => row[column] ?? null))
}

/** Returns the columns of a table of the copy, which is a SQLite database and answers at once. */
function columnsOf({ known, all }: Connection, table: string): readonly string[] {
  const name = `columns of ${table}`
  const sql = 'SELECT name FROM pragma_table_info(?)'
  if (!known.has(name))
    known.set(
      name,
      (all(sql, table) as { name: string }[]).map((column) => column.name),
    )
  return known.get(name) as readonly string[]
}
