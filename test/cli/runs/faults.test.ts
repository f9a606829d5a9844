import { describe, expect, it, onTestFinished } from 'vitest'
import { closeAfterTest } from '../../client/listeners.js'
import { type Machine, machine } from '../../support/command.js'
import { perFile } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { csvOf, knownFrom, machines } from './paying.js'

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

const filled = perFile(() => machines(rows, 2 * rows))

/** Starts a server of a machine. Returns its address and a key for it. */
async function serving(of: Machine, options: string, env: Record<string, string> = {}) {
  const { line, stop } = await of.start(`serve --port 0 ${options}`, { env })
  closeAfterTest({ close: async () => void (await stop()) })
  return { PROSPECT_BASE_URL: line, PROSPECT_API_KEY: await of.newKey() }
}

const newMachine = () => {
  const made = machine()
  onTestFinished(() => made.remove())
  return made
}

describe.each(['a server', 'a governed proxy'])('a batch over %s with faults', (way) => {
  it('is complete in the end, with each row paid once', async () => {
    const owner = filled.copy()
    onTestFinished(() => owner.remove())
    owner.write('faults.txt', faults)
    let env = await serving(owner, `--faults ${owner.path('faults.txt')}`)
    if (way === 'a governed proxy') {
      const proxy = newMachine()
      await proxy.json('init')
      const { PROSPECT_API_KEY } = env
      env = await serving(proxy, `--upstream ${env.PROSPECT_BASE_URL}`, { PROSPECT_API_KEY })
    }
    const client = newMachine()
    client.write('in.csv', csvOf(rows))
    const ends: number[] = []
    for (let more = ''; ends.at(-1) !== 0; ) {
      const { code } = await client.run(`accounts enrich --csv in.csv -o out.csv --quiet ${more}`, { env })
      ends.push(code)
      if (code !== 11) more = ''
      else more = client.read('out.csv').includes('outcome_unknown') ? '--retry-unknown' : '--fresh'
      expect(ends.length).toBeLessThan(100)
    }
    expect(client.rows('out.csv').map(({ domain }) => domain)).toEqual(knownFrom(rows))
    expect(await owner.charges()).toEqual(Array(rows).fill(1))
    expect(await owner.json('engine ledger verify')).toMatchObject({ ok: true })
    const fired = await owner.json<{ fired: number }[]>('engine faults list')
    expect(fired.filter(({ fired: count }) => count > 0).length).toBeGreaterThan(8)
  })
})
