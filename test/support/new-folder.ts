import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Makes a folder for the files of a test. */
export function newFolder() {
  const path = mkdtempSync(join(tmpdir(), 'prospect-'))
  return {
    path,
    at: (name: string) => join(path, name),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}
