import { parseExact, toJson } from '../../api/values/json.js'
import {
  type Connection,
  insertInto,
  type RowWrite,
  readNumber,
  type Statement,
  type StoredRow,
  type Value,
} from '../../storage/driver/connection.js'

/** The position of a row: its engine time and id among rows listed newest first, or its ordinal. */
export type ListPosition = readonly [at: number, id: string]

/** A slice of rows, newest first: after a position if given, without the first `skip`, at most `limit`. */
export interface Slice {
  readonly after?: ListPosition
  readonly skip: number
  readonly limit: number
}

/** How a property is stored: as it is, as 0 or 1, or as JSON. */
export interface Column<T> {
  readonly kind: 'plain' | 'boolean' | 'json'
  /** Never set: it carries the type of the property. */
  readonly type?: T
}

type Columns = Readonly<Record<string, Column<unknown>>>

const plain = <T extends Value>(): Column<T> => ({ kind: 'plain' })

/** The kinds of columns. */
export const column = {
  text: plain<string>(),
  maybeText: plain<string | null>(),
  number: plain<number>(),
  maybeNumber: plain<number | null>(),
  boolean: { kind: 'boolean' } as Column<boolean>,
  /** A text that is one of some words. */
  word: <T extends string>() => plain<T>(),
  json: <T>(): Column<T> => ({ kind: 'json' }),
}

/** The record of a table, by its columns. */
type RecordIn<C extends Columns> = {
  readonly [Property in keyof C]: C[Property] extends Column<infer T> ? T : never
}
export type RecordOf<Table extends { readonly columns: Columns }> = RecordIn<Table['columns']>

const toSnakeCase = (text: string): string => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A table with a record in each row. Its columns are the properties of the record, in snake case. */
export class RecordTable<C extends Columns> {
  readonly columnNames: readonly string[]
  readonly insertion: RowWrite
  readonly insertValues: (record: RecordIn<C>) => Value[]
  readonly #select: string
  readonly #columns: readonly (Column<unknown> & {
    readonly property: keyof C & string
    readonly name: string
  })[]

  constructor(
    private readonly name: string,
    readonly columns: C,
  ) {
    const all = Object.entries(columns).map(([property, column]) => ({
      ...column,
      property,
      name: toSnakeCase(property),
    }))
    this.#columns = all
    this.columnNames = all.map((column) => column.name)
    this.#select = `SELECT ${this.list()} FROM ${name}`
    this.insertion = insertInto(name, this.columnNames)
    this.insertValues = all.every(({ kind }) => kind === 'plain')
      ? (record) => all.map(({ property }) => record[property] as Value)
      : (record) => all.map(({ property, kind }) => toValue(record[property], kind))
  }

  /** Returns the columns as a SELECT lists them; those of a join as `prefix_column`. */
  list(prefix = ''): string {
    const named = (name: string) => (prefix ? `${prefix}.${name} AS ${prefix}_${name}` : name)
    return this.columnNames.map(named).join(', ')
  }

  toRecord(row: StoredRow, prefix = ''): RecordIn<C> {
    const record: Record<string, unknown> = {}
    for (const { property, name, kind } of this.#columns)
      record[property] = fromValue(row[prefix ? `${prefix}_${name}` : name] ?? null, kind)
    return record as RecordIn<C>
  }

  /** Returns the first record of a SELECT; `rest` is what follows its FROM. */
  async get(connection: Connection, rest: string, ...values: Value[]) {
    const row = await connection.get<StoredRow>(`${this.#select} ${rest}`, ...values)
    return row && this.toRecord(row)
  }

  /** Returns the records of a SELECT; `rest` is what follows its FROM. */
  async all(connection: Connection, rest: string, ...values: Value[]) {
    const rows = await connection.all<StoredRow>(`${this.#select} ${rest}`, ...values)
    return rows.map((row) => this.toRecord(row))
  }

  count(connection: Connection, where: string, ...values: Value[]): Promise<number> {
    return readNumber(connection, `SELECT count(*) AS total FROM ${this.name} WHERE ${where}`, ...values)
  }

  /** Returns a slice of the records, newest first. Records of the same moment are in the order of their ids. */
  slice(connection: Connection, { after, skip, limit }: Slice, where: string, ...values: Value[]) {
    const rest = `WHERE ${where}${after ? ' AND (created_at, id) < (?, ?)' : ''} ORDER BY created_at DESC, id DESC`
    return this.all(connection, `${rest} LIMIT ? OFFSET ?`, ...values, ...(after ?? []), limit, skip)
  }

  async insert(connection: Connection, record: RecordIn<C>): Promise<void> {
    await connection.run(this.insertion.sql, ...this.insertValues(record))
  }

  /** Changes the given properties. Returns how many rows have changed. */
  async update(connection: Connection, change: Partial<RecordIn<C>>, where: string, ...values: Value[]) {
    const statement = this.updateStatement(change, where, ...values)
    return statement ? await connection.run(...statement) : 0
  }

  /** Returns the statement that changes some properties; `undefined` when there are none. */
  updateStatement(change: Partial<RecordIn<C>>, where: string, ...values: Value[]): Statement | undefined {
    const changed = this.#columns.filter(({ property }) => change[property] !== undefined)
    if (changed.length === 0) return undefined
    const set = changed.map(({ name }) => `${name} = ?`).join(', ')
    const to = changed.map(({ property, kind }) => toValue(change[property], kind))
    return [`UPDATE ${this.name} SET ${set} WHERE ${where}`, ...to, ...values]
  }
}

function fromValue(value: Value, kind: Column<unknown>['kind']): unknown {
  if (kind === 'boolean') return value === 1
  if (kind === 'json') return value === null ? null : parseExact(String(value))
  return value
}

function toValue(value: unknown, kind: Column<unknown>['kind']): Value {
  if (value === null || value === undefined) return null
  if (kind === 'boolean') return value ? 1 : 0
  return kind === 'json' ? toJson(value) : (value as Value)
}
