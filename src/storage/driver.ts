/** A value as both databases take it: integers for times (milliseconds) and booleans, JSON as text. */
export type Value = string | number | null | Uint8Array

type Awaitable<T> = T | Promise<T>

/** Runs statements. SQL has `?` places and is the subset that SQLite and PostgreSQL share. */
export interface Connection {
  get<T>(sql: string, ...values: Value[]): Awaitable<T | undefined>
  all<T>(sql: string, ...values: Value[]): Awaitable<T[]>
  /** Answers how many rows changed. */
  run(sql: string, ...values: Value[]): Awaitable<number>
  /** Several statements without places. */
  exec(sql: string): Awaitable<void>
  /** What was answered from this snapshot already; only where nothing can be written. */
  readonly answered?: Map<string, unknown> | undefined
}

/** Asks once per snapshot: works that read together share the answer. */
export function oncePerSnapshot<T>(
  connection: Connection,
  name: string,
  ask: () => Awaitable<T>,
): Awaitable<T> {
  const { answered } = connection
  if (!answered) return ask()
  if (!answered.has(name)) answered.set(name, ask())
  return answered.get(name) as Awaitable<T>
}

/**
 * A database. Work given to `transaction` runs alone and is durable when its promise resolves; works that
 * arrive together may share one commit, never one fate. Work given to `read` sees committed data only, all of
 * one moment.
 */
export interface Driver {
  readonly dialect: 'sqlite' | 'postgres'
  read<T>(work: (connection: Connection) => Awaitable<T>): Promise<T>
  transaction<T>(work: (connection: Connection) => Awaitable<T>): Promise<T>
  close(): Promise<void>
}
