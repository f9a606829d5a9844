import type { Dialect } from './dialect.js'

/** A value as both databases take it: integers for times (milliseconds) and booleans, JSON as text. */
export type Value = string | number | null | Uint8Array

type Awaitable<T> = T | Promise<T>

/** What comes of an answer, at once where it is there at once: an awaited turn costs more than a statement. */
export const whenAnswered = <T, R>(answer: Awaitable<T>, then: (value: T) => R): Awaitable<R> =>
  answer instanceof Promise ? answer.then(then) : then(answer)

/**
 * Runs statements. SQL has `?` places and is the subset that SQLite and PostgreSQL share, with a few words more: `FOR
 * UPDATE`, of which SQLite needs nothing; `json_each(?)` for a list in one place, whose texts are called `value` and whose
 * whole numbers `atom`; `INDEXED BY` and `CROSS JOIN … ON`, which tell SQLite where to begin, and PostgreSQL nothing.
 */
export interface Connection {
  readonly dialect: Dialect
  get<T>(sql: string, ...values: Value[]): Awaitable<T | undefined>
  all<T>(sql: string, ...values: Value[]): Awaitable<T[]>
  /** Answers how many rows changed. */
  run(sql: string, ...values: Value[]): Awaitable<number>
  /** Runs a statement of which nobody asks what it changed. Where it is not waited for, its failure is the transaction's. */
  send?(sql: string, ...values: Value[]): Awaitable<void>
  /**
   * Adds a row by an `INSERT … VALUES (?, …)`, before the next statement is answered or the transaction ends. Nothing
   * else that is added so may depend on it, and its failure is the transaction's.
   */
  add?(sql: string, ...values: Value[]): Awaitable<void>
  /** Several statements without places. */
  exec(sql: string): Awaitable<void>
  /**
   * What is known of the data, for as long as nobody else can change it: empty again when a transaction begins, and
   * when one is undone. Works that share a commit share it.
   */
  readonly known: Map<string, unknown>
}

/** Runs a statement without waiting for it, where a connection can. */
export const send = (connection: Connection, sql: string, ...values: Value[]): Awaitable<unknown> =>
  connection.send ? connection.send(sql, ...values) : connection.run(sql, ...values)

/** Adds a row together with others, where a connection can. */
export const addRow = (connection: Connection, sql: string, ...values: Value[]): Awaitable<unknown> =>
  connection.add ? connection.add(sql, ...values) : send(connection, sql, ...values)

/**
 * A database. Work given to `transaction` runs alone and is durable when its promise resolves; works that
 * arrive together may share one commit, never one fate. Work given to `read` sees committed data only, all of
 * one moment.
 */
export interface Driver {
  readonly dialect: Dialect
  read<T>(work: (connection: Connection) => Awaitable<T>): Promise<T>
  /** Like `read`; works of one name that wait at the same time are one, and have the same answer. */
  readShared<T>(name: string, work: (connection: Connection) => Awaitable<T>): Promise<T>
  /**
   * `scope` names what all of the work is about; where a database has many writers, works of other scopes go on
   * meanwhile. Without one the work has the whole database to itself.
   */
  transaction<T>(work: (connection: Connection) => Awaitable<T>, scope?: string): Promise<T>
  /** Changes a setting of the connection, between works, in the words of its PRAGMA: `cache_size = -8192`. */
  set(setting: string): Promise<void>
  /** Resolves when all that was committed survives a power cut; at once where each commit does. */
  flush(): Promise<void>
  /** Milliseconds by which the clock that all who share the database go by is ahead of this machine's; 0 if absent. */
  aheadMs?(): number
  /** Calls when another process may have left work, of a topic if one is named; answers what ends that. Absent where nobody would know. */
  onWork?(wake: () => void, topic?: string): () => void
  close(): Promise<void>
}
