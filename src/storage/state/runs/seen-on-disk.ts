import Database from 'better-sqlite3'

/** Numbers that were seen, on disk where they are many; gone when it is closed. */
export interface FirstSeen {
  /** Takes a number up and tells whether it is new. */
  isNew(number: number): boolean
  close(): void
}

const cacheKb = 16_384

/** Opens an empty memory of numbers in a file without a name, which nobody else can open. */
export function openFirstSeen(): FirstSeen {
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
