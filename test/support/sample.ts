import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { command } from './command.js'

let filled: Promise<string> | undefined

/** Gives a home what `prospect data sample` loads. The test files of a process load it once, and copy it. */
export async function loadSample(home: string): Promise<void> {
  filled ??= makeSample()
  cpSync(await filled, home, { recursive: true })
  chmodSync(home, 0o700)
}

async function makeSample(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-sample-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const { code, stderr } = await command(['data', 'sample', '--quiet'], { env: { PROSPECT_HOME: folder } })
  if (code !== 0) throw new Error(stderr)
  return folder
}
