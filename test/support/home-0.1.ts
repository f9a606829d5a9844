import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'

const fixture = fileURLToPath(new URL('../fixtures/home-0.1', import.meta.url))

/** The databases of a home, each with the highest number that the build which made the fixture accepts. */
export const acceptedThen = { engine: 5, state: 8, catalogue: 3 } as const
export const databases = ['engine', 'state', 'catalogue'] as const
export type DatabaseName = (typeof databases)[number]

/** A text of the fixture. */
export const readFixture = (name: string): string => readFileSync(join(fixture, name), 'utf8')

/** Writes a database of the fixture to a path. */
export const unpackDatabase = (name: DatabaseName, path: string): void =>
  writeFileSync(path, gunzipSync(readFileSync(join(fixture, `${name}.db.gz`))), { mode: 0o600 })

/** Makes the fixture the home at a path, and the folder in which its runs were started one of that home. */
export function unpackHome(home: string): void {
  mkdirSync(home, { recursive: true, mode: 0o700 })
  for (const name of databases) unpackDatabase(name, join(home, `${name}.db`))
  writeFileSync(join(home, 'credentials.json'), readFixture('credentials.json'), { mode: 0o600 })
  writeFileSync(join(home, 'more.csv'), readFixture('more.csv'))
  const state = new Database(join(home, 'state.db'))
  const columns = ['file', 'output', 'request'].map(
    (column) => `${column} = replace(${column}, '/tmp/prospect-0.1', :home)`,
  )
  state.prepare(`UPDATE runs SET ${columns.join(', ')}`).run({ home })
  state.close()
}

/** The number that a database of a home stores. */
export function storedIn(home: string, name: DatabaseName): unknown {
  const database = new Database(join(home, `${name}.db`), { readonly: true })
  try {
    return database.pragma('user_version', { simple: true })
  } finally {
    database.close()
  }
}
