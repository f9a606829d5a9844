import type Database from 'better-sqlite3'
import type { Connection, RowInsert, Value } from '../connection.js'
import type { Session } from '../group-commit.js'
import { sqliteDialect } from './dialect.js'
import { fromSqliteError, translateErrors } from './errors.js'

/** A database that is opened by its first use. */
interface LazyDatabase {
  (): Database.Database
  close(): void
}

/** Returns a database that `open` opens when it is first used. */
export function lazily(open: () => Database.Database): LazyDatabase {
  let database: Database.Database | undefined
  const get = () => {
    database ??= open()
    return database
  }
  return Object.assign(get, {
    close() {
      database?.close()
    },
  })
}

/** How long another process may hold the database before a request is refused as busy, in milliseconds. */
const patienceMs = 30_000

/** Returns a session whose transactions start with the statement `begin`. */
export function createSession(database: LazyDatabase, begin: string): Session {
  let dirty = false
  const { prepare, statements } = createStatementCache(database)
  const added = new BatchInserts(prepare)
  const prepareFlushed = (sql: string): Database.Statement => {
    added.flush()
    const statement = prepare(sql)
    if (!statement.readonly) dirty = true
    return statement
  }
  const known = new Map<string, unknown>()
  const connection: Connection = {
    dialect: sqliteDialect,
    known,
    get: <T>(sql: string, ...values: Value[]) =>
      translateErrors(() => prepareFlushed(sql).get(...values) as T | undefined),
    all: <T>(sql: string, ...values: Value[]) =>
      translateErrors(() => prepareFlushed(sql).all(...values) as T[]),
    run: (sql, ...values) => translateErrors(() => prepareFlushed(sql).run(...values).changes),
    add: (insert, ...values) => {
      dirty = true
      added.add(insert, values)
    },
    exec: (sql) => {
      dirty = true
      statements.clear()
      translateErrors(() => {
        added.flush()
        database().exec(sql)
      })
    },
  }
  return {
    connection,
    begin: () => {
      known.clear()
      return beginPatiently(() => prepare(begin).run())
    },
    commit: () =>
      translateErrors(() => {
        added.flush()
        prepare('COMMIT').run()
      }),
    rollback: () => {
      added.clear()
      if (database().inTransaction) prepare('ROLLBACK').run()
    },
    isDirty: () => dirty || added.hasFailed,
    clearDirty: () => {
      dirty = false
    },
  }
}

/** Every mix of filters is a new statement, so their number is limited. */
const mostStatements = 1_000

function createStatementCache(database: LazyDatabase) {
  const statements = new Map<string, Database.Statement>()
  const prepare = (sql: string): Database.Statement => {
    let statement = statements.get(sql)
    if (!statement) {
      statement = database().prepare(sql)
      for (const oldest of statements.keys()) {
        if (statements.size < mostStatements) break
        statements.delete(oldest)
      }
      statements.set(sql, statement)
    }
    return statement
  }
  return { prepare, statements }
}

async function beginPatiently(begin: () => unknown): Promise<void> {
  for (let waited = 0; ; ) {
    try {
      begin()
      return
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY' || waited >= patienceMs)
        throw fromSqliteError(error)
      // The driver has waited its own time-out already; let other work of this process go on in between.
      await new Promise((resolve) => setImmediate(resolve))
      waited += 10_000
    }
  }
}

/** Rows of one statement: as many large sets as possible, the rest one by one. */
const setSizes = [32, 8, 1] as const

/**
 * Rows that a transaction inserts. Rows of one statement are inserted together, in their order, because starting and
 * finishing a statement takes as long as inserting its row. Rows of different statements have no order.
 */
class BatchInserts {
  readonly #prepare: (sql: string) => Database.Statement
  readonly #pending = new Map<RowInsert, Value[]>()
  readonly #texts = new Map<RowInsert, readonly string[]>()
  #isEmpty = true
  #failure: { readonly error: unknown } | undefined

  constructor(prepare: (sql: string) => Database.Statement) {
    this.#prepare = prepare
  }

  add(insert: RowInsert, values: readonly Value[]): void {
    this.#isEmpty = false
    const pending = this.#pending.get(insert)
    if (pending) for (const value of values) pending.push(value)
    else this.#pending.set(insert, [...values])
  }

  /**
   * Inserts the rows: before any other statement, and before the transaction ends. A failure is thrown again each time,
   * since it may belong to any of the tasks.
   */
  flush(): void {
    if (this.#failure) throw this.#failure.error
    if (this.#isEmpty) return
    this.#isEmpty = true
    try {
      for (const [insert, values] of this.#pending) {
        if (values.length === 0) continue
        this.#pending.set(insert, [])
        this.#insert(insert, values)
      }
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Forgets the rows, since their transaction is rolled back. */
  clear(): void {
    this.#isEmpty = true
    this.#failure = undefined
    this.#pending.clear()
  }

  #insert(insert: RowInsert, values: readonly Value[]): void {
    let texts = this.#texts.get(insert)
    if (!texts) {
      texts = setSizes.map((size) => insert.sqlFor(size))
      this.#texts.set(insert, texts)
    }
    let from = 0
    for (const [at, size] of setSizes.entries())
      for (const length = size * insert.width; values.length - from >= length; from += length)
        this.#prepare(texts[at] as string).run(values.slice(from, from + length))
  }
}
