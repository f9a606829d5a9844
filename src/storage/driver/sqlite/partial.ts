import { readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { systemCode } from '../../../api/calls/errors.js'

/** Where a copy of a database is written until it is complete: a name that only this process uses. */
export const partialOf = (file: string): string => `${file}.${process.pid}.partial`

/** Removes the files SQLite keeps beside a database, so that no log is replayed into another one. */
export function removeBesides(path: string): void {
  for (const file of besides(path)) rmSync(file, { force: true })
}

export const besides = (path: string): string[] => ['-wal', '-shm', '-journal'].map((end) => path + end)

/** Removes what killed processes of this machine have left of copies beside a file. */
export function removeLeftovers(file: string): void {
  const folder = dirname(file)
  const before = `${basename(file)}.`
  for (const name of readdirSync(folder)) {
    const [, pid] = name.startsWith(before) ? (/^(\d+)\.partial$/.exec(name.slice(before.length)) ?? []) : []
    if (pid === undefined || isRunning(Number(pid))) continue
    rmSync(join(folder, name), { force: true })
    removeBesides(join(folder, name))
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) !== 'ESRCH'
  }
}
