import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { receiving } from './foreign.js'
import { type ServingMachine, serves } from './serving.js'

const url = 'https://www.network.example/search/results/people/?keywords=sales'

let there: ServingMachine
const here = perTest(machine)

const serve = async (...what: Parameters<typeof serves>) => {
  there = await serves(...what)
  return there
}

const run = (line: string, onWait = () => {}) =>
  here.run(line, {
    env: { PROSPECT_BASE_URL: there.baseUrl, PROSPECT_API_KEY: there.key },
    // Only what a rate limit asks for is waited in full.
    sleep: (ms, signal) => {
      onWait()
      return pause(ms === 1_000 ? ms : ms / 20, undefined, signal && { signal })
    },
  })

describe('waiting for a prospect server', () => {
  it.each(['', '--streaming'])('writes the same file as the local target with "%s"', async (options) => {
    const count = tries(110, 220)
    const { machine: server } = await serve(count + 10, 0)
    const line = `leads extract ${url} --limit ${count} --wait -o leads.csv ${options}`
    const near = await server.run(`${line} --local`)
    const far = await run(line)
    expect([near.code, far.code, far.stdout]).toEqual([0, 0, ''])
    expect(here.read('leads.csv')).toBe(server.read('leads.csv'))
    expect(far.stderr).toContain(`Found ${count} people.`)
  })

  it.each(['', '--streaming'])('receives the deliveries with --public-url and "%s"', async (options) => {
    await serve(3, 0)
    const received = (await receiving()).join(' ')
    expect((await run(`leads extract ${url} --limit 2 --wait ${options} ${received}`)).json).toHaveLength(2)
    const kept = await here.json<{ event: string }[]>('events list')
    const records = options ? ['lead_search.record', 'lead_search.record'] : []
    expect(kept.map(({ event }) => event).sort()).toEqual(['lead_search.completed', ...records])
  })

  it('prints the same companies as the local target, and records their cost', async () => {
    const { machine: server } = await serve(0, 4)
    const line = 'intents stack --stacks react --limit 3 --wait'
    const [near, far] = [await server.run(`${line} --local`), await run(line)]
    expect([far.code, far.stdout]).toEqual([0, near.stdout])
    expect(far.stderr).toContain('Found 3 companies for 9 credits.')
    expect(await here.json('ledger')).toMatchObject([{ operation: 'intents.stack', credits: 9 }])
  })

  it('prints a list and a waterfall contact with --wait', async () => {
    await serve(1, 1)
    const list = await run(
      `lists create --name A --companies '{"domain":"robots-0.example"}' --companies '{"domain":"nobody.example"}' --wait`,
    )
    expect(list.stderr).toContain('Imported 2 companies.')
    expect([list.code, list.json]).toMatchObject([0, { name: 'A', status: 'completed' }])
    const nobody = '--first-name No --last-name Body --domain x.example'
    const contact = await run(`contacts waterfall ${nobody} --enrichment-type email --wait`)
    expect([contact.code, contact.json]).toMatchObject([9, { status: 'finished', email: null }])
  })
})

describe('a prospect server that fails', () => {
  /** Has calls of the server fail on request. */
  const failing = async (rules: string) => {
    const { machine: one } = await serve(3, 0)
    await one.json('engine plan set Scale')
    await one.json(`engine faults add searches ${rules}`)
  }

  it.each(['--drop before', '--status 503'])(
    'is polled again, more often than the client itself repeats a request: %s',
    async (rules) => {
      await failing(`${rules} --count 9`)
      const { code, json } = await run(`leads extract ${url} --wait`)
      expect([code, (json as unknown[]).length]).toEqual([0, 3])
      expect(await there.machine.json('engine faults list')).toMatchObject([{ fired: 9 }])
    },
  )

  it('exits 3 when the key is refused while the work is polled', async () => {
    await failing('--status 401')
    const { code, stdout, stderr } = await run(`leads extract ${url} --wait`)
    expect([code, stdout]).toEqual([3, ''])
    expect(stderr).toContain('The status of the job cannot be read: Invalid API key')
  })
})

describe('--dry-run with --wait', () => {
  it.each([
    [
      'that of the tunnel',
      '--public-url https://t.example/in',
      /^https:\/\/t\.example\/in\/hooks\/[\w-]{22}$/,
    ],
    ['the one that was given', '--webhook-url https://hooks.example/in', /^https:\/\/hooks\.example\/in$/],
  ])('shows the webhook of the request: %s', async (_, options, address) => {
    await serve(0, 0)
    const { code, json } = await run(`leads extract ${url} --wait --dry-run ${options}`)
    expect([code, json]).toMatchObject([0, { body: { webhook_url: expect.stringMatching(address) } }])
  })

  it('shows the same webhook address that the same idempotency key sends', async () => {
    await serve(0, 1)
    const received = (await receiving()).join(' ')
    const line = `accounts search --keyword robots --wait --idempotency-key k-1 ${received}`
    const { json } = await run(`${line} --dry-run`)
    const { stderr } = await run(`${line} --verbose`)
    expect(stderr).toContain((json as { body: { webhook_url: string } }).body.webhook_url)
  })
})

describe('a job that is not done in time', () => {
  it.each([
    ['polled', async () => []],
    ['received', receiving],
  ])(
    'exits 14, and the same idempotency key waits again where work is %s, and pays once',
    async (_, receive) => {
      const server = await serve(0, 3, '--no-worker')
      const line = `intents stack --stacks react --idempotency-key once ${(await receive()).join(' ')}`
      const { code, stdout } = await run(`${line} --wait 0.3`)
      expect([code, stdout]).toEqual([14, ''])
      const waiting = [run(`${line} --wait`), server.machine.run('engine jobs run')] as const
      const [again] = await Promise.all(waiting)
      expect([again.code, again.json]).toEqual([0, expect.arrayContaining([expect.anything()])])
      expect((await run(`${line} --wait`)).json).toHaveLength(3)
      expect(await server.machine.json('engine jobs list')).toHaveLength(1)
      expect(await here.json('ledger')).toMatchObject([{ operation: 'intents.stack', credits: 9 }])
    },
  )

  it('exits 130 on Ctrl-C, and suggests how to read the search later', async () => {
    await serve(2, 0, '--no-worker')
    const { code, stderr } = await run(`leads extract ${url} --wait`, () => here.signals.emit('SIGINT'))
    expect([code, stderr]).toEqual([130, expect.stringContaining('prospect searches get')])
  })
})
