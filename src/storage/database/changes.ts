import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { type Driver, isPostgres } from '../driver/connection.js'
import { openDatabase } from './open.js'

/** Between two looks at a database, in milliseconds. A look takes microseconds, and on a server a short query. */
const lookMs = 300

/**
 * Calls `onChange` after any process, this one included, has committed a change to one of the databases. On a server a
 * change of another database there counts as well. A file may be created later. Returns what ends this.
 */
export function watchDatabases(locations: readonly string[], onChange: () => void): () => void {
  const marks = [...new Set(locations)].map((location) =>
    (isPostgres(location) ? serverMark : fileMark)(location),
  )
  let before: string | undefined
  let isLooking = false
  const look = async () => {
    if (isLooking) return
    isLooking = true
    try {
      const now = (await Promise.all(marks.map((mark) => mark.read()))).join(' ')
      if (before !== undefined && now !== before) onChange()
      before = now
    } catch {
      // A database that cannot be reached for a moment is asked again.
    }
    isLooking = false
  }
  const timer = setInterval(look, lookMs)
  void look()
  return () => {
    clearInterval(timer)
    for (const mark of marks) mark.close()
  }
}

/** A text that differs after a change. */
interface ChangeMark {
  read(): Promise<string>
  close(): void
}

/** SQLite tells a connection when another one has committed, so that this one never writes. */
function fileMark(path: string): ChangeMark {
  let database: Database.Database | undefined
  return {
    read: async () => {
      if (!database && existsSync(path)) database = new Database(path, { readonly: true })
      return String(database?.pragma('data_version', { simple: true }) ?? '')
    },
    close: () => void database?.close(),
  }
}

const markSql = 'SELECT CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT) AS mark'

/** The next transaction number of a server differs after each transaction that has written. */
function serverMark(url: string): ChangeMark {
  let opened: Promise<Driver> | undefined
  return {
    read: async () => {
      opened ??= openDatabase(url)
      const row = await (await opened).read((reads) => reads.get<{ mark: string }>(markSql))
      return row?.mark ?? ''
    },
    close: () => void opened?.then((driver) => driver.close()).catch(() => {}),
  }
}
