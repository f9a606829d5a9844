import type { Refusal } from '../../api/calls/errors.js'
import type { Ids } from '../../api/ports/ports.js'
import { type Connection, insertInto, type Value } from '../../storage/driver/connection.js'
import type { RecordKind } from '../kinds/kind.js'
import { isInvalid } from '../normalize/readers.js'
import type { BulkLoad } from './bulk-load.js'
import { type Candidate, Candidates, type CandidateTable, type Lookup, lookUp } from './candidates.js'

/** Whether a record was new, and whether a known one differs from what was stored; or why it is rejected. */
export type Outcome = 'added' | 'updated' | 'unchanged' | Refusal

/** A row as it is decided; `before` is the row that it replaces. */
export interface Change {
  readonly row: Candidate
  readonly before: Candidate | undefined
}

/** The catalogue that records are imported into, or for a dry run what it would have become. */
export interface ImportTarget {
  readonly dialect: Connection['dialect']
  readMaxKey(table: RecordKind): Promise<number>
  readRows<Row extends Candidate>(table: CandidateTable, lookups: readonly Lookup[]): Promise<Row[]>
  /** Keeps changes of a table; `write` writes them into a catalogue. */
  keep<C extends Change>(
    table: CandidateTable,
    changes: readonly C[],
    write: (connection: Connection, changes: readonly C[]) => Promise<void>,
  ): Promise<void>
}

/** A target that writes everything into a catalogue. */
export const toImportTarget = (connection: Connection): ImportTarget => ({
  dialect: connection.dialect,
  readMaxKey: (table) => readMaxKey(connection, table),
  readRows: (table, lookups) => readRows(connection, table, lookups),
  keep: async (_, changes, write) => {
    if (changes.length > 0) await write(connection, changes)
  },
})

/** A target that keeps decided rows in `scratch`, a SQLite database with an empty catalogue, and only reads the real one. */
export const toDryRunTarget = (real: Connection, scratch: Connection): ImportTarget => ({
  dialect: real.dialect,
  readMaxKey: async (table) => Math.max(await readMaxKey(real, table), await readMaxKey(scratch, table)),
  async readRows<Row extends Candidate>(table: CandidateTable, lookups: readonly Lookup[]) {
    const stored = await readRows<Row>(real, table, lookups)
    const replaced: Lookup = ['SELECT atom FROM json_each(?)', stored.map(({ key }) => key)]
    const decided = await readRows<Row>(scratch, table, [...lookups, replaced])
    return [...new Map([...stored, ...decided].map((row) => [row.key, row])).values()]
  },
  async keep({ name, columns }, changes) {
    const updates = columns.map((column) => `${column} = excluded.${column}`).join(', ')
    const { sql } = insertInto(name, columns, `ON CONFLICT (key) DO UPDATE SET ${updates}`)
    for (const { row } of changes)
      await scratch.run(sql, ...columns.map((column) => (row as CandidateValues)[column] ?? null))
  },
})

type CandidateValues = Candidate & Readonly<Record<string, Value>>

async function readMaxKey(connection: Connection, table: RecordKind): Promise<number> {
  const row = await connection.get<{ key: number | null }>(`SELECT max(key) AS key FROM ${table}`)
  return row?.key ?? 0
}

async function readRows<Row>(
  connection: Connection,
  { name, columns }: CandidateTable,
  lookups: readonly Lookup[],
): Promise<Row[]> {
  const asked = lookups.filter(([, values]) => values.length > 0)
  if (asked.length === 0) return []
  const keys = asked.map(([sql]) => sql).join(' UNION ')
  return await connection.all<Row>(
    `SELECT ${columns.join(', ')} FROM ${name} WHERE key IN (${keys})`,
    ...asked.map(([, values]) => JSON.stringify(values)),
  )
}

/** The transaction that a portion of records is imported in. */
export class ImportContext {
  readonly target: ImportTarget
  readonly ids: Pick<Ids, 'uuid'>
  /** Number of companies created because another record named them. */
  createdCompanies = 0
  readonly #load: BulkLoad | undefined
  readonly #maxKeys = new Map<RecordKind, number>()

  private constructor(target: ImportTarget, ids: Pick<Ids, 'uuid'>, load: BulkLoad | undefined) {
    this.target = target
    this.ids = ids
    this.#load = load
  }

  static async create(
    kind: RecordKind,
    target: ImportTarget,
    ids: Pick<Ids, 'uuid'>,
    load?: BulkLoad,
  ): Promise<ImportContext> {
    const context = new ImportContext(target, ids, load)
    // Other kinds may create companies.
    for (const table of new Set<RecordKind>([kind, 'companies']))
      context.#maxKeys.set(table, await target.readMaxKey(table))
    return context
  }

  /** Returns the key of the next row of a table. Only one transaction at a time adds rows. */
  nextKey(table: RecordKind): number {
    const key = (this.#maxKeys.get(table) ?? 0) + 1
    this.#maxKeys.set(table, key)
    return key
  }

  /**
   * Returns whether records of a table may have a value in a column, all of them or those of a `part`. False only when
   * certainly none has it. `column` is the first of an index.
   */
  mayExist(table: RecordKind, column: string, value: string, part = everything): boolean {
    return !this.#load || this.#load.mayExist(table, column, value, part)
  }

  /** Remembers a value that a record can now be found by, and the parts that the record is in. */
  remember(table: RecordKind, column: string, value: string | null, parts: readonly string[] = []): void {
    if (value !== null) this.#load?.remember(table, column, value, [everything, ...parts])
  }
}

/** The part that contains every record. */
const everything = ''

/** Decides about records in their order. A record that is refused has changed nothing. */
export function decideEach<T, R>(
  records: readonly T[],
  decide: (record: T, index: number) => R,
): (R | Refusal)[] {
  return records.map((record, index) => {
    try {
      return decide(record, index)
    } catch (error) {
      if (isInvalid(error)) return error
      throw error
    }
  })
}

/** Reads the jobs or posts with some identities. */
export async function readIdentities<Row extends Candidate & { readonly identity: string }>(
  context: ImportContext,
  table: CandidateTable,
  identities: readonly (string | undefined)[],
): Promise<Candidates<Row>> {
  const wanted = identities.filter(
    (identity) => identity !== undefined && context.mayExist(table.name, 'identity', identity),
  )
  const rows = await context.target.readRows<Row>(table, [lookUp(table.name, 'identity', wanted)])
  return new Candidates(rows)
}
