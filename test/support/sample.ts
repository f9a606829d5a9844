import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { command } from './command.js'
import { freshDatabase, type TestDatabase } from './postgres.js'

/** Gives a home what `prospect data sample` loads. */
export async function loadSample(home: string): Promise<void> {
  cpSync(await madeOnce('sample', (folder) => sampleIn({ PROSPECT_HOME: folder })), home, { recursive: true })
  chmodSync(home, 0o700)
}

/** A fresh database with what `prospect data sample` loads, and a home for it. */
export async function sampledDatabase(home: string): Promise<TestDatabase> {
  const made = await madeOnce('sampled', async (folder) => {
    const { name, url } = await freshDatabase()
    await sampleIn({ PROSPECT_HOME: join(folder, 'home'), PROSPECT_DATABASE_URL: url })
    writeFileSync(join(folder, 'name'), name)
  })
  cpSync(join(made, 'home'), home, { recursive: true })
  return freshDatabase(readFileSync(join(made, 'name'), 'utf8'))
}

/** Returns a folder that the first test of a run fills; the others wait for that. */
async function madeOnce(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(tmpdir(), name)
  const partial = `${folder}.partial`
  while (!existsSync(folder)) {
    try {
      mkdirSync(partial)
    } catch {
      await pause(50)
      continue
    }
    try {
      await make(partial)
      renameSync(partial, folder)
    } finally {
      rmSync(partial, { recursive: true, force: true })
    }
  }
  return folder
}

async function sampleIn(env: Readonly<Record<string, string>>): Promise<void> {
  const { code, stderr } = await command(['data', 'sample', '--quiet'], { env })
  if (code !== 0) throw new Error(stderr)
}
