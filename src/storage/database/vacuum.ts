import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { checkVersion } from '../driver/sqlite/driver.js'
import { DatabaseFileError } from './database-file.js'

/**
 * Writes a database anew, so that nothing that was deleted is left in its file or in the log beside it. Answers whether
 * it could: not while another process reads or writes. It takes room for another copy for as long as it lasts.
 */
export function vacuum(path: string, patienceMs = 2_000): boolean {
  if (!existsSync(path)) return true
  const database = new Database(path, { fileMustExist: true, timeout: patienceMs })
  try {
    checkVersion(database.prepare('SELECT sqlite_version()').pluck().get() as string)
    database.exec('VACUUM')
    // The new pages stand in the log; those they replace are in the file until then.
    const [written] = database.pragma('wal_checkpoint(TRUNCATE)') as { readonly busy: number }[]
    return written?.busy === 0
  } catch (error) {
    const code = String((error as { code?: unknown }).code)
    if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return false
    if (code === 'SQLITE_FULL')
      throw new DatabaseFileError(
        `${path} cannot be written anew: the disk is full.`,
        'Free some space, then run it again.',
      )
    throw error
  } finally {
    database.close()
  }
}
