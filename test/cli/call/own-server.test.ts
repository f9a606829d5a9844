import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { type Machine, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { receiving } from './foreign.js'
import { filled, type ServingMachine, servingMachine } from './serving.js'

const url = 'https://www.network.example/search/results/people/?keywords=sales'

let there: ServingMachine | undefined
const here = perTest(machine)
afterEach(async () => {
  await there?.close()
  there = undefined
})

const serve = async (prepare: (one: Machine) => Promise<void>, ...options: string[]) => {
  there = await servingMachine(prepare, ...options)
  return there
}

const run = (...words: string[]) =>
  here.run(words, {
    env: { PROSPECT_BASE_URL: there?.baseUrl ?? '', PROSPECT_API_KEY: there?.key ?? '' },
    // Only what a rate limit asks for is waited in full.
    sleep: (ms, signal) => pause(ms === 1_000 ? ms : ms / 20, undefined, signal && { signal }),
  })

const file = (name: string, of: Machine = here) => of.read(name)

describe('waiting for a prospect server', () => {
  it.each([[[]], [['--streaming']]])(
    'writes the same file as the local target with options %j',
    async (options) => {
      const count = tries(110, 220)
      const { machine: server } = await serve((one) => filled(one, count + 10, 0))
      const words = [
        'leads',
        'extract',
        url,
        '--limit',
        String(count),
        '--wait',
        '-o',
        'leads.csv',
        ...options,
      ]
      const near = await server.run([...words, '--local'])
      const far = await run(...words)
      expect([near.code, far.code, far.stdout]).toEqual([0, 0, ''])
      expect(file('leads.csv')).toBe(file('leads.csv', server))
      expect(far.stderr).toContain(`Imported ${count} people.`)
    },
  )

  it.each([[[]], [['--streaming']]])(
    'receives the deliveries with --public-url and options %j',
    async (options) => {
      await serve((one) => filled(one, 3, 0))
      const words = ['leads', 'extract', url, '--limit', '2', '--wait', ...options, ...(await receiving())]
      expect((await run(...words)).json).toHaveLength(2)
      const kept = await here.json<{ event: string }[]>('events list')
      const records = options.length > 0 ? ['lead_search.record', 'lead_search.record'] : []
      expect(kept.map(({ event }) => event).sort()).toEqual(['lead_search.completed', ...records])
    },
  )

  it('prints the same companies as the local target, and records their cost', async () => {
    const { machine: server } = await serve((one) => filled(one, 0, 4))
    const words = ['intents', 'stack', '--stacks', 'react', '--limit', '3', '--wait']
    const [near, far] = [await server.run([...words, '--local']), await run(...words)]
    expect([far.code, far.stdout]).toEqual([0, near.stdout])
    expect(far.stderr).toContain('Imported 3 companies for 9 credits.')
    expect(await here.json('ledger')).toMatchObject([{ operation: 'intents.stack', credits: 9 }])
  })

  it('prints a list and a waterfall contact with --wait', async () => {
    await serve((one) => filled(one, 1, 1))
    const list = await run(
      'lists',
      'create',
      '--name',
      'A',
      '--companies',
      '{"domain":"robots-0.example"}',
      '--companies',
      '{"domain":"nobody.example"}',
      '--wait',
    )
    expect(list.stderr).toContain('Imported 2 companies.')
    expect([list.code, list.json]).toMatchObject([0, { name: 'A', status: 'completed' }])
    const words = 'contacts waterfall --first-name No --last-name Body --domain x.example'.split(' ')
    const contact = await run(...words, '--enrichment-type', 'email', '--wait')
    expect([contact.code, contact.json]).toMatchObject([9, { status: 'finished', email: null }])
  })
})

describe('a prospect server that fails', () => {
  /** Has calls of the server fail on request. */
  const failing = async (where: string, ...rules: string[]) => {
    await serve(async (one) => {
      await filled(one, 3, 0)
      await one.json('engine plan set Scale')
      await one.json('engine', 'faults', 'add', where, ...rules)
    })
  }

  it.each(['--drop before', '--status 503'])(
    'is polled again, more often than the client itself repeats a request: %s',
    async (rules) => {
      await failing('searches', ...rules.split(' '), '--count', '9')
      const { code, json } = await run('leads', 'extract', url, '--wait')
      expect([code, (json as unknown[]).length]).toEqual([0, 3])
      expect(await there?.machine.json('engine', 'faults', 'list')).toMatchObject([{ fired: 9 }])
    },
  )

  it('exits 3 when the key is refused while the work is polled', async () => {
    await failing('searches', '--status', '401')
    const { code, stdout, stderr } = await run('leads', 'extract', url, '--wait')
    expect([code, stdout]).toEqual([3, ''])
    expect(stderr).toContain('The status of the job cannot be read: Invalid API key')
  })
})

describe('--dry-run with --wait', () => {
  it.each([
    [
      'that of the tunnel',
      ['--public-url', 'https://t.example/in'],
      /^https:\/\/t\.example\/in\/hooks\/[\w-]{22}$/,
    ],
    [
      'the one that was given',
      ['--webhook-url', 'https://hooks.example/in'],
      /^https:\/\/hooks\.example\/in$/,
    ],
  ])('shows the webhook of the request: %s', async (_, options, address) => {
    await serve(async () => {})
    const { code, json } = await run('leads', 'extract', url, '--wait', '--dry-run', ...options)
    expect([code, json]).toMatchObject([0, { body: { webhook_url: expect.stringMatching(address) } }])
  })

  it('shows the same webhook address that the same idempotency key sends', async () => {
    await serve((one) => filled(one, 0, 1))
    const words = ['accounts', 'search', '--keyword', 'robots', '--wait', '--idempotency-key', 'k-1']
    words.push(...(await receiving()))
    const { json } = await run(...words, '--dry-run')
    const { stderr } = await run(...words, '--verbose')
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
      const server = await serve((one) => filled(one, 0, 3), '--no-worker')
      const words = [
        'intents',
        'stack',
        '--stacks',
        'react',
        '--idempotency-key',
        'once',
        ...(await receive()),
      ]
      const { code, stdout } = await run(...words, '--wait', '0.3')
      expect([code, stdout]).toEqual([14, ''])
      const waiting = [run(...words, '--wait'), server.machine.run('engine jobs run')] as const
      const [again] = await Promise.all(waiting)
      expect([again.code, again.json]).toEqual([0, expect.arrayContaining([expect.anything()])])
      expect((await run(...words, '--wait')).json).toHaveLength(3)
      expect(await server.machine.json('engine jobs list')).toHaveLength(1)
      expect(await here.json('ledger')).toMatchObject([{ operation: 'intents.stack', credits: 9 }])
    },
  )

  it('exits 130 on Ctrl-C, and suggests how to read the search later', async () => {
    await serve((one) => filled(one, 2, 0), '--no-worker')
    const running = run('leads', 'extract', url, '--wait')
    while (here.signals.listenerCount('SIGINT') === 0) await new Promise((done) => setImmediate(done))
    setTimeout(() => here.signals.emit('SIGINT'), 200)
    const { code, stderr } = await running
    expect([code, stderr]).toEqual([130, expect.stringContaining('prospect searches get')])
  })
})
