import type Database from 'better-sqlite3'
import type { Value } from '../connection.js'

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
export class BatchInserts {
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
