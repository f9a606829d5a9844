import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { isLocked, takeLock } from '../../../src/runs/records.js'
import { type Running, start } from '../../support/processes.js'
import { bundled } from '../../support/programs.js'

const program = await bundled('programs/lock-holder.ts')
let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'prospect-lock-'))
  path = join(folder, 'lock')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function firstLine({ lines }: Running): Promise<string | undefined> {
  while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  return lines[0]
}

it('a file lock is held by one holder at a time, also within one process', () => {
  const lock = takeLock(path)
  expect([isLocked(path), takeLock(path)]).toEqual([true, undefined])
  lock?.release()
  expect(isLocked(path)).toBe(false)
  takeLock(path)?.release()
})

it('a file lock that was never taken is free', () => {
  expect(isLocked(path)).toBe(false)
})

it('a file lock is readable by its owner only', () => {
  takeLock(path)?.release()
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

it('a file lock is visible to other processes, and is released when its holder is killed', async () => {
  const holder = start(program, path)
  expect(await firstLine(holder)).toBe('held')
  const second = start(program, path)
  expect([await firstLine(second), isLocked(path), takeLock(path)]).toEqual(['refused', true, undefined])
  for (const { child } of [holder, second]) child.kill('SIGKILL')
  await Promise.all([holder.ended, second.ended])
  const lock = takeLock(path)
  expect(lock).toBeDefined()
  lock?.release()
})
