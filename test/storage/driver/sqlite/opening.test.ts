import { spawn } from 'node:child_process'
import { expect, it } from 'vitest'
import { perTest } from '../../../support/each.js'
import { tries } from '../../../support/effort.js'
import { newFolder } from '../../../support/new-folder.js'
import { linesOf } from '../../../support/processes.js'
import { bundled } from '../../../support/programs.js'
import { until } from '../../../support/until.js'

const folder = perTest(newFolder)

it('opens a database that several processes create in the same instant in all of them', async () => {
  const [program, databases] = [await bundled('opening.ts'), tries(20, 300)]
  const processes = Array.from({ length: 4 }, () => {
    const child = spawn(process.execPath, [program, folder.at('.'), String(databases)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    return { child, lines: linesOf(child.stdout) }
  })
  await until(() => processes.every(({ lines }) => lines.length === 1))
  for (const { child } of processes) child.stdin.end(`${Date.now() + 50}\n`)
  await until(() => processes.every(({ child }) => child.exitCode !== null))
  const outcomes = processes.flatMap(({ lines }) => lines.slice(1))
  expect(outcomes.filter((one) => one !== 'ok')).toEqual([])
  expect(outcomes).toHaveLength(4 * databases)
})
