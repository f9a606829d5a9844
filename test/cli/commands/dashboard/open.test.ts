import { expect, it } from 'vitest'
import { openRunsPort, refusesActions } from '../../../../src/cli/commands/dashboard/open.js'
import { createContext } from '../../../../src/cli/target/create.js'
import { machine, streamsOf } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { prospect } from '../../../support/processes.js'

it.each([
  [{}, false],
  [{ readOnly: true }, true],
  [{ public: true }, true],
])('%j makes the dashboard read-only: %s', (options, isReadOnly) => {
  expect(refusesActions(options)).toBe(isReadOnly)
})

const here = perTest(machine)

it('runs two commands for its buttons at once, and refuses a third until one has ended', async () => {
  await here.fill('companies', 'domain\na.example\n')
  here.write('a.csv', 'domain\nnobody.example\n')
  await here.run('accounts enrich --csv a.csv --yes -o out.csv')
  const [run] = await here.json<{ id: string }[]>('runs list')
  // The dashboard starts the program that it is part of.
  process.argv[1] = prospect
  const context = createContext(streamsOf({ cwd: here.home, env: { PROSPECT_HOME: here.home } }))
  const runs = openRunsPort(context)
  const quote = () => runs.quote(run?.id ?? '', false)
  const quotes = await Promise.allSettled([quote(), quote(), quote()])
  expect(quotes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
  expect(quotes.filter(({ status }) => status === 'rejected')).toMatchObject([
    {
      reason: {
        code: 'usage.dashboard_busy',
        details: { most: 2, command: `runs resume ${run?.id}` },
      },
    },
  ])
  expect(await quote()).toMatchObject({ lookups: 0 })
  await context.close()
})

it('prospect dashboard prints the link of its page, and serves it until a signal', async () => {
  await here.json('init')
  const { line, stop } = await here.start('dashboard --port 0 --json')
  const { url, pid } = JSON.parse(line) as { url: string; pid: number }
  const [page, elsewhere] = [await fetch(url), await fetch(new URL('/nothing', url))]
  const text = await page.text()
  const { code, stderr } = await stop()
  expect([pid, code, stderr]).toEqual([process.pid, 0, 'Serving the dashboard. Ctrl-C ends it.\n'])
  expect([page.status, text, elsewhere.status]).toEqual([
    200,
    expect.stringContaining('<!doctype html>'),
    404,
  ])
  await expect(fetch(url)).rejects.toThrow('fetch failed')
})

it('prospect dashboard takes the next free port where its own is in use, and says so; a port that was typed is refused', async () => {
  await here.setUp()
  const two = [await here.start('dashboard --no-open'), await here.start('dashboard --no-open')]
  const [first, second] = two.map(({ line }) => new URL(line))
  const typed = await here.run(['dashboard', '--port', first?.port ?? ''])
  const [, ended] = await Promise.all(two.map(({ stop }) => stop()))
  expect(second?.port).not.toBe(first?.port)
  expect(ended?.stderr).toContain(`Port 4011 is in use: listening on port ${second?.port}.`)
  expect([typed.code, typed.stderr]).toEqual([2, expect.stringContaining(`Port ${first?.port} is in use`)])
})
