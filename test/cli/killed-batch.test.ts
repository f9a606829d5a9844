import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { perTest } from '../support/each.js'
import { isLong, tries } from '../support/effort.js'
import { expectNothingLost, killedBatch, sharedByKilledCommands, toEnrich } from '../support/killed-batch.js'
import { launch } from '../support/processes.js'
import { bundled } from '../support/programs.js'

const program = await bundled('programs/killed-batch.ts')
const file = perTest(() => toEnrich(60))
const run = (...args: string[]) => launch(program, ['in.csv', 'out.csv', ...args], file.folder, file.env)

it('pays once for a company that files and single lookups ask for at the same time, whenever they are killed', async () => {
  await sharedByKilledCommands(program, tries(1, 3))
})

it('starts the same file anew after a kill, under the keys of the killed run', async () => {
  expect((await run('30', 'after', '5')).signal).toBe('SIGKILL')
  expect((await run('0', 'before', '0', '--fresh')).exitCode).toBe(0)
  const { spent, resolvable } = await file.survived(1)
  expect(spent).toBe(resolvable)
})

it('records all that was charged by a run with --refresh that was killed and is resumed without it', async () => {
  expect((await run()).exitCode).toBe(0)
  expect((await run('10', 'after', '5', '--refresh', '--concurrency', '8')).signal).toBe('SIGKILL')
  expect((await run('3', 'after', '5')).signal).toBe('SIGKILL')
  expect((await run()).exitCode).toBe(0)
  const { spent, credits, resolvable } = await file.survived(2)
  expect(credits).toBe(spent)
  expect(spent).toBeLessThan(2 * resolvable)
})

it('records all that was charged where an answer shows what another row under way asks for in another spelling', async () => {
  const domains = [1, 2, 3, 4, 7, 8, 9, 10].map((row) => `company-${row}.example`)
  // The first rows are sent together, before the others: each company is under way in both spellings.
  const lines = domains.flatMap((domain) => [`Name of ${domain},`, `,${domain}`])
  writeFileSync(join(file.folder, 'in.csv'), `name,domain\n${lines.join('\n')}\n`)
  expect((await run('4', 'after', '0')).signal).toBe('SIGKILL')
  expect((await run()).exitCode).toBe(0)
  const { spent, credits } = await file.survived(1)
  expect(credits).toBe(spent)
})

const [kills, rows] = [tries(2, 10), tries(100, 1_000)]

it('resumes a run that was killed several times, losing nothing and paying nothing twice', async () => {
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const survived = await killedBatch(program, { rows, kills, seed })
  expect([survived.kills, `PROSPECT_TEST_SEED=${seed}`]).toEqual([kills, expect.any(String)])
  expectNothingLost(survived)
})

// A run of the first rows that was stopped is resumed in test/cli/runs/rows.test.ts, too.
it.runIf(isLong)(
  'resumes a run of the first rows that was killed, and then that of all rows, paying nothing twice',
  async () => {
    const first = ['--rows', '24']
    expect((await run('8', 'after', '5', ...first)).signal).toBe('SIGKILL')
    expect((await run('6', 'before', '0', ...first)).signal).toBe('SIGKILL')
    expect((await run('0', 'before', '0', ...first)).exitCode).toBe(0)
    expect((await file.survived(2)).rows).toHaveLength(24)
    expect((await run('10', 'after', '5')).signal).toBe('SIGKILL')
    expect((await run()).exitCode).toBe(0)
    expectNothingLost(await file.survived(3))
  },
)
