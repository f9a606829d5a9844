import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'

/** A folder for the tests of one file, gone afterwards. */
export function testFolder() {
  let folder = ''
  let count = 0
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'prospect-batch-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const path = (name: string) => join(folder, name)
  return {
    path,
    /** Writes a file under a new name; answers its path. */
    async file(content: string | Uint8Array): Promise<string> {
      const file = path(`${count++}.csv`)
      await writeFile(file, content)
      return file
    },
  }
}
