import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterEach, describe, expect, it } from 'vitest'
import { type Machine, machine, type StartedCommand } from '../../support/command.js'
import { perFile } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { csvOf, known, machines, type Paying } from './paying.js'

const rows = tries(100, 2_000)

/** Errors of every kind, answers lost after the charge, and pauses. What ends a run comes twice each. */
const faults = `
accounts --status 400 --rate 0.005
accounts --status 409 --rate 0.005
accounts --status 422 --rate 0.005
accounts --status 429 --retry-after 0 --rate 0.005
accounts --status 429 --retry-after 0 --nth 20 --count 2
accounts --status 500 --rate 0.01
accounts --status 503 --rate 0.01
accounts --truncate --rate 0.005
accounts --garble --rate 0.005
accounts --drop after --rate 0.02
accounts --drop before --rate 0.005
accounts --delay 0.2s --nth 50
accounts --status 401 --nth 31 --count 2
accounts --status 402 --nth 37 --count 2
accounts --status 403 --nth 41 --count 2
accounts --status 403 --code workspace_limit_exceeded --nth 43 --count 2
accounts --status 422 --code plan_limit_reached --nth 47 --count 2
accounts --invalid-session --nth 53 --count 2
`

let owner: Paying
const filled = perFile(() => machines(rows, 2 * rows))

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Starts a server of a home, which says its address in one line. */
async function serving(home: string, env: Record<string, string>, ...options: string[]): Promise<string> {
  const started: StartedCommand = await machine(home).start(['serve', '--port', '0', '--json', ...options], {
    env,
  })
  closing.push(() => started.stop())
  return (JSON.parse(started.line) as { base_url: string }).base_url
}

async function newMachine(): Promise<Machine> {
  const made = machine()
  closing.push(made.remove)
  return made
}

const keyOf = async (home: string): Promise<string> =>
  (await machine(home).json<{ key: string }>('engine', 'keys', 'create', '--member', 'me@localhost')).key

describe.each(['a server', 'a governed proxy'])('a batch over %s with faults', (way) => {
  it('is complete in the end, with each row paid once', async () => {
    owner = filled.copy()
    closing.push(owner.remove)
    owner.write('faults.txt', faults)
    const server = { PROSPECT_BASE_URL: '', PROSPECT_API_KEY: await keyOf(owner.home) }
    server.PROSPECT_BASE_URL = await serving(
      owner.home,
      {},
      '--faults',
      join(owner.home, 'faults.txt'),
      '--seed',
      '7',
    )
    if (way === 'a governed proxy') {
      const proxy = await newMachine()
      await proxy.json('init')
      const { PROSPECT_API_KEY, PROSPECT_BASE_URL } = server
      server.PROSPECT_BASE_URL = await serving(
        proxy.home,
        { PROSPECT_API_KEY },
        '--upstream',
        PROSPECT_BASE_URL,
      )
      server.PROSPECT_API_KEY = await keyOf(proxy.home)
    }
    const client = await newMachine()
    writeFileSync(join(client.home, 'in.csv'), csvOf(rows))
    const output = () => readFileSync(join(client.home, 'out.csv'), 'utf8')
    const ends: number[] = []
    for (let more: string[] = []; ends.at(-1) !== 0; ) {
      const argv = ['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--quiet', ...more]
      ends.push((await client.run(argv, { env: server })).code)
      more = ends.at(-1) !== 11 ? [] : [output().includes('outcome_unknown') ? '--retry-unknown' : '--fresh']
      expect(ends.length).toBeLessThan(100)
    }
    const found = parse(output(), { columns: true }) as {
      domain: string
    }[]
    expect(found.map(({ domain }) => domain)).toEqual(Array.from({ length: rows }, (_, at) => known(at)))
    expect(await owner.charges()).toEqual(Array.from({ length: rows }, () => 1))
    expect(await owner.json('engine', 'ledger', 'verify')).toMatchObject({ ok: true })
    const fired = await owner.json<{ fired: number }[]>('engine', 'faults', 'list')
    expect(fired.filter(({ fired: count }) => count > 0).length).toBeGreaterThan(8)
  })
})
