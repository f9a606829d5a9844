import { statSync, writeFileSync } from 'node:fs'
import { beforeEach, expect, it } from 'vitest'
import { isLocked, takeLock } from '../../../src/runs/records.js'
import { perTest } from '../../support/each.js'
import { newFolder } from '../../support/new-folder.js'
import { type Running, start } from '../../support/processes.js'
import { bundled } from '../../support/programs.js'
import { until } from '../../support/until.js'

const program = await bundled('programs/lock-holder.ts')
const folder = perTest(newFolder)
let path: string
beforeEach(() => {
  path = folder.at('lock')
})

async function firstLine({ lines }: Running): Promise<string | undefined> {
  await until(() => lines.length > 0)
  return lines[0]
}

it('a file lock is held by one holder at a time, also within one process, and readable by its owner only', () => {
  expect(isLocked(path)).toBe(false)
  const lock = takeLock(path)
  expect([isLocked(path), takeLock(path)]).toEqual([true, undefined])
  expect(statSync(path).mode & 0o777).toBe(0o600)
  lock?.release()
  expect(isLocked(path)).toBe(false)
  takeLock(path)?.release()
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

it('a file lock that cannot be taken for a fault of the disk or the file says so', () => {
  writeFileSync(path, 'no database '.repeat(100))
  expect(() => takeLock(path)).toThrow(
    expect.objectContaining({ code: 'storage_failed', details: { reason: 'the file is not a database' } }),
  )
})
