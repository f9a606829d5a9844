import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Makes a folder for the files of a test. */
export function newFolder() {
  const path = mkdtempSync(join(tmpdir(), 'prospect-'))
  const at = (name: string) => join(path, name)
  let files = 0
  return {
    path,
    at,
    /** Writes a file under a new name; returns its path. */
    file: (content: string | Uint8Array): string => {
      const file = at(`${files++}.csv`)
      writeFileSync(file, content)
      return file
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}
