import { chmodSync, copyFileSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { execa } from 'execa'

/**
 * Runs `programs/migrating.ts`, bundled; killed behind a statement unless that is 0. Returns how many statements changed the
 * database, and the number that it has then.
 */
export async function migrateIn(program: string, file: string, kind: string, deadly = 0) {
  const words = [program, file, kind, String(deadly)]
  const { exitCode, signal, stdout, stderr } = await execa(process.execPath, words, { reject: false })
  const [statements = 0, stored = 0] = stdout.split(' ').map(Number)
  return { exitCode, signal, statements, stored, stderr }
}

/** What a database is: its number, the text of its schema, and the rows of each table, or only how many. */
export function shapeOf(file: string, rows: 'rows' | 'counts' = 'counts') {
  const database = new Database(file)
  try {
    const made = database
      .prepare<[], { name: string; type: string; sql: string | null }>(
        'SELECT name, type, sql FROM sqlite_schema ORDER BY type, name',
      )
      .all()
    const tables = made.filter(({ type }) => type === 'table').map(({ name }) => name)
    const what = rows === 'rows' ? '*' : 'count(*)'
    return {
      stored: database.pragma('user_version', { simple: true }),
      problems: [database.pragma('integrity_check', { simple: true }), database.pragma('foreign_key_check')],
      made: made.map(({ name, type, sql }) => [type, name, sql?.replace(/\s+/g, ' ').trim() ?? '']),
      rows: tables.map((name) => [name, database.prepare(`SELECT ${what} FROM "${name}"`).all()]),
    }
  } finally {
    database.close()
  }
}

/** Copies the file of a database that nobody has open over another. */
export function copyDatabase(from: string, to: string): void {
  for (const end of ['-wal', '-shm']) rmSync(`${to}${end}`, { force: true })
  copyFileSync(from, to)
  chmodSync(to, 0o600)
}

/** Copies a database with what its log holds. */
export async function backUp(from: string, to: string): Promise<void> {
  for (const end of ['', '-wal', '-shm']) rmSync(`${to}${end}`, { force: true })
  const database = new Database(from)
  try {
    await database.backup(to)
  } finally {
    database.close()
  }
}
