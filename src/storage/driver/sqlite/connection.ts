import type Database from 'better-sqlite3'
import type { Connection, Value } from '../connection.js'
import type { Session } from '../group-commit.js'
import { sqliteDialect } from './dialect.js'
import { fromSqliteError, translateErrors } from './errors.js'

/** A database that is opened by its first use. */
export interface LazyDatabase {
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
  const prepareTracked = (sql: string): Database.Statement => {
    const statement = prepare(sql)
    if (!statement.readonly) dirty = true
    return statement
  }
  const added = new BatchInserts(prepare)
  const prepareFlushed = (sql: string): Database.Statement => {
    added.flush()
    return prepareTracked(sql)
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
    add: (sql, ...values) => {
      dirty = true
      added.add(sql, values)
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

/** Rows that one statement adds: large sets first, what is left one by one. */
const setSizes = [32, 8, 1] as const

const tuple = /\bVALUES (\((?:\?, )*\?\))/

interface Pending {
  readonly width: number
  values: Value[]
}

/**
 * Rows that a transaction adds. Those of one statement are added together, in their order: a statement takes as long to
 * begin and to end as a row takes to be added. Those of different statements have no order.
 */
class BatchInserts {
  readonly #prepare: (sql: string) => Database.Statement
  readonly #pending = new Map<string, Pending>()
  readonly #texts = new Map<string, string>()
  #isEmpty = true
  #failure: { readonly error: unknown } | undefined

  constructor(prepare: (sql: string) => Database.Statement) {
    this.#prepare = prepare
  }

  add(sql: string, values: readonly Value[]): void {
    this.#isEmpty = false
    const pending = this.#pending.get(sql)
    if (pending) for (const value of values) pending.values.push(value)
    else if (tuple.test(sql)) this.#pending.set(sql, { width: values.length, values: [...values] })
    else throw new Error(`a statement adds no row of places: ${sql}`)
  }

  /**
   * Adds them: before anything else is asked, and before the transaction ends. What fails here fails again whatever
   * follows, for nobody knows which of the works it belongs to.
   */
  flush(): void {
    if (this.#failure) throw this.#failure.error
    if (this.#isEmpty) return
    this.#isEmpty = true
    try {
      for (const [sql, pending] of this.#pending) {
        const { width, values } = pending
        pending.values = []
        if (values.length > 0) this.#do(sql, width, values)
      }
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  /** Whether some could not be added. */
  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Forgets them: their transaction is undone. */
  clear(): void {
    this.#isEmpty = true
    this.#failure = undefined
    this.#pending.clear()
  }

  #do(sql: string, width: number, values: readonly Value[]): void {
    let from = 0
    for (const size of setSizes)
      for (const length = size * width; values.length - from >= length; from += length)
        this.#prepare(this.#textOf(sql, size)).run(values.slice(from, from + length))
  }

  #textOf(sql: string, size: number): string {
    if (size === 1) return sql
    const name = `${size} ${sql}`
    const known = this.#texts.get(name)
    if (known) return known
    const text = sql.replace(tuple, (_, row: string) => `VALUES ${Array(size).fill(row).join(', ')}`)
    this.#texts.set(name, text)
    return text
  }
}
