import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'

/** Domains of so many companies. */
export const domainsOf = (count: number) => Array.from({ length: count }, (_, at) => `d${at}.example`)

/** A folder for the tests of one file, gone afterwards. */
export function testFolder() {
  let folder = ''
  let count = 0
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'prospect-batch-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const path = (name: string) => join(folder, name)
  /** Writes a file under a new name; answers its path. */
  const file = async (content: string | Uint8Array): Promise<string> => {
    const name = path(`${count++}.csv`)
    await writeFile(name, content)
    return name
  }
  return {
    path,
    file,
    /** Writes a file of domains. */
    csvOf: (domains: readonly string[]) => file(`domain\n${domains.join('\n')}\n`),
  }
}
