import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { openEngine } from '../../src/index.js'
import { servingMachine } from '../cli/call/serving.js'
import { type Machine, machine } from '../support/command.js'
import { isLong, tries } from '../support/effort.js'
import { stocked, writeList } from '../support/flows.js'
import { random } from '../support/killed-batch.js'
import { launch, prospect } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { loadSample, sampledDatabase } from '../support/sample.js'

const program = await bundled('programs/killed-batch.ts')

const flow = [
  'name: killed',
  'input: { csv: list.csv }',
  'steps:',
  '  - accounts.enrich',
  '  - keep: headcount >= 50',
  `  - set: { size: "headcount > 70 ? 'large' : 'small'", label: name + country }`,
  '  - sort: [country, headcount desc]',
  '  - distinct: [domain, size]',
  '  - accounts.stack:',
  '    only_if: country != "FR" && size == "large"',
  '  - accounts.hiring: { limit: 2 }',
  'output: { csv: out.csv, columns: [name, domain, headcount, size, label, technologies, input.Record ID] }',
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
  const companies = tries(20, 100)
  const kills = tries(2, 15)
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const pick = random(seed)
  const calm = await prepared(companies)
  const killed = machine()
  cpSync(calm.home, killed.home, { recursive: true })
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
    expect(deaths).toBeGreaterThan(0)
    const last = await startIn(killed)
    expect([0, 11]).toContain(last.exitCode)
    const outputOf = ({ home }: Machine) => readFileSync(join(home, 'out.csv'), 'utf8')
    expect(outputOf(killed), `PROSPECT_TEST_SEED=${seed}`).toBe(outputOf(calm))
    expect(await costs(killed), `PROSPECT_TEST_SEED=${seed}`).toEqual(await costs(calm))
  } finally {
    calm.remove()
    killed.remove()
  }
})

const sample = async ({ run, home }: Machine, env: Record<string, string> = {}) => {
  if (!env.PROSPECT_DATABASE_URL) await loadSample(home)
  await run(['engine', 'credits', 'set', '1000'], { env })
  // So that a kill comes in between.
  await run(['engine', 'faults', 'add', 'all', '--delay', '0.05s'], { env })
}

const places = ['this machine', 'a PostgreSQL database', 'a server'] as const

/** Opens a place where flows run, with the examples of the documents and their sample data. */
async function openPlace(place: (typeof places)[number]) {
  const here = machine()
  const database = place === 'a PostgreSQL database' ? await sampledDatabase(here.home) : undefined
  const server = place === 'a server' ? await servingMachine(sample) : undefined
  const own: Record<string, string> = database ? { PROSPECT_DATABASE_URL: database.url } : {}
  if (!server) await sample(here, own)
  cpSync('docs/examples', join(here.home, 'examples'), { recursive: true })
  const env = server ? { PROSPECT_BASE_URL: server.baseUrl, PROSPECT_API_KEY: server.key } : own
  const ofEngine = async (line: string) =>
    (await (server?.machine ?? here).run(`${line} --json`, { env: own })).json as { credits?: object }
  return {
    here,
    env,
    options: database ? ['--database', database.url] : [],
    /** Removes the lock of a killed command that would expire. */
    unlock: () => database?.sql('UPDATE public_state.run_locks SET lease_until = 1').catch(() => {}),
    /** Returns what each operation has cost, as the runs say, and what the engine has charged. */
    costs: async () => [
      (await here.run(`ledger --by operation ${database ? '--shared' : ''} --json`, { env })).json,
      (await ofEngine('engine status')).credits,
      await ofEngine('engine ledger verify'),
    ],
    close: async () => {
      here.remove()
      await server?.close()
      await database?.drop()
    },
  }
}

/** An import of a server needs an address. */
const hook = 'webhook_url: http://127.0.0.1:9/hook'

const examples = ['sales-leads', 'lookalikes', 'technology']
const cases = places.flatMap((place, at) =>
  // In `npm test` only where the flow, the engine and the answers are in three processes.
  examples
    .filter((_, other) => isLong || (place === 'a server' && at === other))
    .map((name) => [name, place] as const),
)

it.each(cases)(
  'writes and pays what an undisturbed flow does where %s at %s is killed at any moment',
  async (name, kind) => {
    const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
    const pick = random(seed)
    /** Runs the flow until it ends, killed up to so many times; returns how often, and how it ends. */
    const history = async (place: (typeof places)[number], kills: number, ms: number) => {
      const { here, env, options, unlock, costs, close } = await openPlace(place)
      const folder = join(here.home, 'examples', 'flows')
      const file = join(folder, `${name}.yaml`)
      if (place === 'a server')
        writeFileSync(
          file,
          readFileSync(file, 'utf8')
            .replace('limit: 200', `limit: 200\n    ${hook}`)
            .replace('limit: 40', `limit: 40, ${hook}`),
        )
      const begun = performance.now()
      for (let deaths = 0; ; deaths++) {
        const running = launch(prospect, ['flow', 'run', file, ...options], here.home, {
          PROSPECT_HOME: here.home,
          ...env,
        })
        const timer = deaths < kills ? setTimeout(() => running.kill('SIGKILL'), pick(ms)) : undefined
        const { signal, exitCode, stderr } = await running.finally(() => clearTimeout(timer))
        if (signal === 'SIGKILL') {
          await unlock()
          continue
        }
        expect([exitCode, stderr], `PROSPECT_TEST_SEED=${seed}`).toEqual([
          0,
          expect.stringContaining('written to'),
        ])
        const took = performance.now() - begun
        const [, output = ''] = /written to (.*?)\.(?: It was finished before.*)?$/m.exec(stderr) ?? []
        const end = [readFileSync(resolve(here.home, output), 'utf8'), await costs()]
        await close()
        return { deaths, took, end }
      }
    }
    const calm = await history('this machine', 0, 0)
    for (let left = tries(1, 2); left > 0; ) {
      const killed = await history(kind, left, Math.ceil(calm.took))
      expect(killed.end, `PROSPECT_TEST_SEED=${seed}`).toEqual(calm.end)
      left -= killed.deaths
    }
  },
)
