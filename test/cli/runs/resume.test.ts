import { rmSync, symlinkSync } from 'node:fs'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../client/listeners.js'
import { served } from '../../client/serving.js'
import { ends } from '../../support/command.js'
import { perFile, perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { launch, prospect } from '../../support/processes.js'
import { until } from '../../support/until.js'
import { csvOf, machines, written } from './paying.js'

const rowCount = tries(200, 1_000)
const filled = perFile(() => machines(rowCount, 5 * rowCount))

const here = perTest(() => filled.copy())

const enrich = (more: string) => {
  const argv = `accounts enrich --csv in.csv -o out.csv ${more}`.split(' ')
  return launch(prospect, argv, here.home, { PROSPECT_HOME: here.home })
}

it('spends exactly its budget although the run is killed', async () => {
  here.write('in.csv', csvOf(rowCount))
  const credits = 0.6 * rowCount
  const budget = `--max-credits ${credits}`
  for (let kill = 0; kill < tries(1, 2); kill++) {
    rmSync(here.path('out.csv.partial'), { force: true })
    const running = enrich(budget)
    const isRunning = () => running.nodeChildProcess.exitCode === null
    await until(() => !isRunning() || here.exists('out.csv.partial'))
    // Writes of the engine, the last possibly of a charge that no run has recorded yet.
    await written(here.path('engine.db-wal'), 3 * kill + 1, isRunning)
    running.kill('SIGKILL')
    await running
    expect((await here.charges()).length).toBeLessThanOrEqual(credits)
  }
  expect((await here.enrich(budget)).code).toBe(12)
  expect(await here.charges()).toHaveLength(credits)
})

it('exits 15 in a second process until the first one is killed', async () => {
  const { bench, server } = closeAfterTest(await served())
  await bench.admin.addFault({ where: 'accounts.enrich', rules: { timeout: true } })
  const isAsked = async () => ((await bench.admin.faults())[0]?.fired ?? 0) > 0
  const env = {
    PROSPECT_HOME: here.home,
    PROSPECT_BASE_URL: server.baseUrl,
    PROSPECT_API_KEY: bench.key,
  }
  const argv = (output: string, input = 'in.csv') => `accounts enrich --csv ${input} -o ${output}`
  const start = (output: string) => launch(prospect, argv(output).split(' '), here.home, env)
  here.write('in.csv', csvOf(3))
  const first = start('out.csv')
  await Promise.race([until(isAsked), first])
  expect(first.nodeChildProcess.exitCode).toBeNull()
  await ends(here.run(argv('other.csv'), { env }), 15, `process ${first.pid}`)
  expect(here.exists('other.csv.partial')).toBe(false)
  here.write('else.csv', csvOf(4))
  symlinkSync(here.home, here.path('linked'))
  for (const same of ['out.csv', 'linked/out.csv']) {
    await ends(here.run(argv(same, 'else.csv'), { env }), 15, 'out.csv')
  }
  first.kill('SIGKILL')
  await first
  const third = start('out.csv')
  await new Promise<void>((resolve) => {
    third.stderr.on('data', (text: Buffer) => String(text).includes('Resuming run') && resolve())
    void third.then(() => resolve())
  })
  expect(third.nodeChildProcess.exitCode).toBeNull()
  third.kill('SIGKILL')
  await third
})
