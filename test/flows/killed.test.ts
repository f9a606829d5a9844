import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openEngine } from '../../src/index.js'
import { type Machine, machine } from '../support/command.js'
import { tries } from '../support/effort.js'
import { stocked, writeList } from '../support/flows.js'
import { random } from '../support/killed-batch.js'
import { bundled, launch, prospect } from '../support/processes.js'

let program: string
beforeAll(async () => {
  program = await bundled('programs/killed-batch.ts')
})
afterAll(() => rmSync(program))

const flow = [
  'name: killed',
  'input: { csv: list.csv }',
  'steps:',
  '  - accounts.enrich',
  '  - keep: headcount >= 50',
  '  - accounts.stack',
  '  - accounts.hiring: { limit: 2 }',
  'output: { csv: out.csv, columns: [name, domain, headcount, input.Record ID] }',
]

/** Returns what each operation cost, as this machine recorded it, and what the engine charged. */
async function costs(here: Machine) {
  const sums = await here.json<{ operation: string; credits: number }[]>('ledger', '--by', 'operation')
  const engine = await openEngine({
    engine: join(here.home, 'engine.db'),
    catalogue: join(here.home, 'catalogue.db'),
  })
  const { credits } = await engine.admin.status()
  const { problems } = await engine.admin.verify()
  await engine.close()
  return [Object.fromEntries(sums.map((one) => [one.operation, one.credits])), credits.enrichment, problems]
}

async function prepared(companies: number): Promise<Machine> {
  const here = machine()
  await stocked(here.run, companies)
  writeList(here.home, companies)
  writeFileSync(join(here.home, 'flow.yaml'), `${flow.join('\n')}\n`)
  return here
}

const startIn = (here: Machine, ...args: string[]) =>
  launch(program, ['flow.yaml', '-', ...args], here.home, { PROSPECT_HOME: here.home })

it('writes what an undisturbed flow writes, and pays the same in each step, however often it is killed', async () => {
  const companies = tries(40, 400)
  const kills = tries(6, 100)
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const pick = random(seed)
  const [calm, killed] = [await prepared(companies), await prepared(companies)]
  try {
    const { stdout, stderr, exitCode } = await startIn(calm)
    expect([exitCode, stderr]).toEqual([11, ''])
    const calls = Number(stdout.trim().split('\n').at(-1))
    let deaths = 0
    for (; deaths < kills; deaths++) {
      const at = 1 + pick(Math.max(2, Math.floor((1.5 * calls) / kills)))
      const { signal } = await startIn(
        killed,
        String(at),
        pick(2) === 0 ? 'before' : 'after',
        String(pick(40)),
      )
      if (signal !== 'SIGKILL') break
    }
    expect(deaths).toBeGreaterThan(1)
    const last = await startIn(killed)
    expect([0, 11]).toContain(last.exitCode)
    const outputOf = ({ home }: Machine) => readFileSync(join(home, 'out.csv'), 'utf8')
    expect(outputOf(killed), `PROSPECT_TEST_SEED=${seed}`).toBe(outputOf(calm))
    expect(await costs(killed), `PROSPECT_TEST_SEED=${seed}`).toEqual(await costs(calm))
  } finally {
    calm.remove()
    killed.remove()
  }
}, 1_800_000)

it('finds the same people for the same credits where the program is killed at any moment', async () => {
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const pick = random(seed)
  const people = [
    ...flow.slice(0, -2),
    '  - leads.search: { job_titles: [Head of Sales, Engineer], limit: 3 }',
    '  - contacts.enrich: { enrichment_type: [email] }',
    'output: { csv: out.csv, columns: [full_name, email, company.name, input.Record ID] }',
  ]
  const [calm, killed] = [await prepared(40), await prepared(40)]
  try {
    for (const { home } of [calm, killed]) writeFileSync(join(home, 'flow.yaml'), `${people.join('\n')}\n`)
    const start = ({ home }: Machine) =>
      launch(prospect, ['flow', 'run', 'flow.yaml'], home, { PROSPECT_HOME: home })
    const whole = performance.now()
    expect((await start(calm)).exitCode).toBe(11)
    const ms = performance.now() - whole
    for (let kills = tries(4, 20); kills > 0; kills--) {
      const running = start(killed)
      const timer = setTimeout(() => running.kill('SIGKILL'), pick(Math.ceil(ms)))
      await running.finally(() => clearTimeout(timer))
    }
    await start(killed)
    const outputOf = ({ home }: Machine) => readFileSync(join(home, 'out.csv'), 'utf8')
    expect(outputOf(killed), `PROSPECT_TEST_SEED=${seed}`).toBe(outputOf(calm))
    expect(outputOf(calm).split('\n').length).toBeGreaterThan(20)
    expect(await costs(killed), `PROSPECT_TEST_SEED=${seed}`).toEqual(await costs(calm))
  } finally {
    calm.remove()
    killed.remove()
  }
}, 1_800_000)
