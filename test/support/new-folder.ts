import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Makes a folder, and returns its path, whose random part spells no word that a test looks for. */
export function makeFolder(): string {
  const path = join(tmpdir(), `prospect-${randomBytes(6).toString('hex')}`)
  mkdirSync(path, { mode: 0o700 })
  return path
}

/** Makes a folder for the files of a test. */
export function newFolder() {
  const path = makeFolder()
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
