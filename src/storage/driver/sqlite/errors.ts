import { ApiError } from '../../../api/calls/errors.js'
import { AlreadyThere } from '../connection.js'

const reasons: Readonly<Record<string, string>> = {
  SQLITE_FULL: 'the disk is full',
  SQLITE_READONLY: 'the file is read-only; check its permissions',
  SQLITE_CANTOPEN: 'the file cannot be opened; check its permissions',
  SQLITE_CORRUPT: 'the file is damaged; restore a backup',
  SQLITE_NOTADB: 'the file is not a database',
}

/** Returns the `ApiError` for an error of SQLite; any other error unchanged. */
export function fromSqliteError(error: unknown): unknown {
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return error
  if (isBusyError(error)) return new ApiError('busy')
  if (code === 'SQLITE_CONSTRAINT_PRIMARYKEY') return new AlreadyThere()
  const known = Object.keys(reasons).find((name) => code.startsWith(name))
  if (known) return new ApiError('storage_failed', { reason: reasons[known] ?? code })
  if (code.startsWith('SQLITE_IOERR'))
    return new ApiError('storage_failed', { reason: 'the disk cannot be read or written' })
  return error
}

/** Whether another connection holds a lock that an operation needs. */
export const isBusyError = (error: unknown): boolean =>
  /^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: unknown } | null)?.code))

/** Runs something with SQLite; throws its errors as an `ApiError` where one fits. */
export function translateErrors<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw fromSqliteError(error)
  }
}
