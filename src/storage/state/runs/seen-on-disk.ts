import Database from 'better-sqlite3'

/** A set of numbers that moves to disk when large; it is gone when closed. */
export interface SeenNumbers {
  /** Adds a number and returns whether it is new. */
  isNew(number: number): boolean
  close(): void
}

const cacheKb = 16_384

/** Opens an empty set in a temporary file without a name, which no other process can open. */
export function openSeenNumbers(): SeenNumbers {
  const database = new Database('')
  database.pragma('journal_mode = OFF')
  database.pragma('synchronous = OFF')
  database.pragma(`cache_size = -${cacheKb}`)
  database.exec('CREATE TABLE seen (number INTEGER PRIMARY KEY) WITHOUT ROWID; BEGIN')
  const insert = database.prepare('INSERT INTO seen (number) VALUES (?) ON CONFLICT DO NOTHING')
  return {
    isNew: (number) => insert.run(number).changes === 1,
    close: () => database.close(),
  }
}
