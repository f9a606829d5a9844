import { beforeEach, describe, expect, it } from 'vitest'
import { proxyOf, servingMachine } from '../cli/call/serving.js'
import { closeAfterTest } from '../client/listeners.js'
import { ends, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { stocked } from '../support/flows.js'

const here = perTest(machine)
beforeEach(() => stocked(here.run, 40))

const run = (...args: string[]) => here.run(['flow', 'run', 'flow.yaml', ...args])

/** Writes a flow over the result of a search, whose output is `out.csv`. */
const write = (input: string, more = '', steps = '[accounts.enrich]') =>
  here.write(
    'flow.yaml',
    `name: flow\ninput: { ${input} }\nsteps: ${steps}\noutput: { csv: out.csv }\n${more}`,
  )
const budget = (credits: number) => `budget: { credits: ${credits} }`

/** Imports a job posting of each company. */
const addJobs = () => {
  const jobs = Array.from(
    { length: 40 },
    (_, at) => `Data Engineer,company-${at}.example,https://jobs.example/${at}`,
  )
  return here.run('data import jobs -', { stdin: `job_title,company_domain,url\n${jobs.join('\n')}\n` })
}

/** Returns what operations have cost by the ledger, which has none for those without a lookup. */
const ledger = async () => {
  const sums = await here.json<{ operation: string; credits: number }[]>('ledger', '--by', 'operation')
  return Object.fromEntries(sums.map((one) => [one.operation, one.credits]))
}

interface Quote {
  readonly credits: { readonly max: number }
  readonly steps: readonly { readonly step: string; readonly credits: { readonly max: number } }[]
}
interface Shown {
  readonly credits: number
  readonly status: string
  readonly steps: readonly { readonly step: string; readonly out: number; readonly credits: number }[]
}

const searches = [
  ['intents.stack', 'stacks: [react]', 3],
  ['intents.hiring', 'selected_titles: [Engineer]', 1],
] as const

describe('the quote of a flow over a search', () => {
  it('takes the records of its last run for the same search, and the limit for another one', async () => {
    const expected = async () => {
      const { steps } = await here.json<{ steps: { out: { expected: number } }[] }>('flow quote flow.yaml')
      return steps[0]?.out.expected
    }
    const search = (location: string) =>
      write(`accounts.search: { included_locations: [${location}], keyword: "Company 1", limit: 30 }`)
    search('Spain')
    await ends(run(), 0, '0 found')
    expect(await expected()).toBe(0)
    search('Germany')
    expect(await expected()).toBe(30)
  })
})

describe('a flow over a search that charges for each record', () => {
  beforeEach(addJobs)

  it.each(searches)(
    'has it in its quote, its report, the balance and the ledger: %s',
    async (id, filter, price) => {
      write(`${id}: { ${filter}, limit: 11 }`)
      const quote = await here.json<Quote>('flow quote flow.yaml')
      expect(quote.steps.map((one) => [one.step, one.credits.max])).toEqual([
        [id, 11 * price],
        ['accounts.enrich', 11],
      ])
      expect(quote.credits.max).toBe(11 * price + 11)
      const before = await here.balance()
      const { code, stderr } = await run()
      expect([code, stderr]).toEqual([
        0,
        expect.stringContaining(`${id}: 1 in · 1 found · 11 go on · ${11 * price} credits`),
      ])
      expect(before - (await here.balance())).toBe(11 * price + 11)
      expect(await ledger()).toEqual({ [id]: 11 * price, 'accounts.enrich': 11 })
      const shown = await here.json<Shown>('flow show --last')
      expect(shown.credits).toBe(11 * price + 11)
      expect(shown.steps[0]).toMatchObject({ step: id, out: 11, credits: 11 * price })
      // The same command, and one that begins anew, pay nothing.
      await run()
      await run('--fresh')
      expect(before - (await here.balance())).toBe(11 * price + 11)
      expect(here.rows('out.csv')).toHaveLength(11)
    },
  )

  it.each(searches)(
    'stops before it spends more than the budget, and goes on with more: %s',
    async (id, filter, price) => {
      const input = `${id}: { ${filter}, limit: 10 }`
      const before = await here.balance()
      const spent = async () => before - (await here.balance())
      write(input, budget(10 * price - 1))
      const quoted = await here.run('flow quote flow.yaml --format table')
      expect(quoted.stdout).toContain(`Budget        ${10 * price - 1} at most`)
      const { code, stderr } = await run()
      expect([code, stderr]).toEqual([12, expect.stringContaining(`Stopped in ${id}: Budget reached`)])
      expect(stderr).toContain(`${id} with limit: 10 may cost ${10 * price} credits.`)
      expect([await spent(), here.exists('out.csv')]).toEqual([0, false])
      write(input, budget(10 * price + 4))
      expect((await run()).code).toBe(12)
      expect(await spent()).toBe(10 * price + 4)
      expect((await run('--max-credits', '1')).code).toBe(12)
      expect(await spent()).toBe(10 * price + 4)
      write(input, 'budget: { credits: 1000, per_day: 1000 }')
      expect((await run()).code).toBe(0)
      expect(await spent()).toBe(10 * price + 10)
      expect(await ledger()).toEqual({ [id]: 10 * price, 'accounts.enrich': 10 })
    },
  )

  it.each(searches)('counts it in what a profile may spend a day: %s', async (id, filter, price) => {
    write(`${id}: { ${filter}, limit: 10 }`, `budget: { per_day: ${10 * price + 3} }`)
    const before = await here.balance()
    expect((await run()).code).toBe(12)
    expect(before - (await here.balance())).toBe(10 * price + 3)
    write(`${id}: { ${filter}, limit: 9 }`, `budget: { per_day: ${10 * price + 3} }`)
    expect((await run()).code).toBe(12)
    expect(before - (await here.balance())).toBe(10 * price + 3)
  })

  it.each(['a server', 'a proxy in front of one'])(
    'counts in the budget at %s, as that server charges',
    async (where) => {
      const server = closeAfterTest(await servingMachine((one) => stocked(one.run, 40)))
      const { env } = where === 'a server' ? server : await proxyOf(server)
      const before = await server.machine.balance()
      const spent = async () => before - (await server.machine.balance())
      write('intents.stack: { stacks: [react], limit: 10 }', budget(29))
      const go = () => here.run('flow run flow.yaml', { env })
      await ends(go(), 12, 'Stopped in intents.stack: Budget reached')
      expect(await spent()).toBe(0)
      write('intents.stack: { stacks: [react], limit: 10 }', budget(33))
      await ends(go(), 12, 'Stopped in 1 accounts.enrich: Budget reached')
      expect(await spent()).toBe(33)
      write('intents.stack: { stacks: [react], limit: 10 }', budget(40))
      await ends(go(), 0)
      expect([await spent(), here.rows('out.csv').length]).toEqual([40, 10])
    },
  )

  it('charges for what it finds where that is less than its limit', async () => {
    write('intents.stack: { stacks: [react], limit: 60 }', budget(181), '[{ keep: headcount > 1000 }]')
    const before = await here.balance()
    expect((await run()).code).toBe(0)
    expect(before - (await here.balance())).toBe(120)
    expect(await ledger()).toEqual({ 'intents.stack': 120 })
  })

  it('quotes and counts the verification of addresses', async () => {
    write(
      'intents.hiring: { selected_titles: [Engineer], limit: 3 }',
      '',
      '[{ leads.search: { job_titles: [Head of Sales], limit: 1 } }, { contacts.enrich: { enrichment_type: [email] } }]',
    )
    const quote = await here.json<Quote>('flow quote flow.yaml')
    const before = await here.balance()
    expect((await run()).code).toBe(0)
    const spent = before - (await here.balance())
    expect(spent).toBeGreaterThan(3)
    expect(spent).toBeLessThanOrEqual(quote.credits.max)
    const sums = Object.values(await ledger())
    expect(sums.reduce((sum, one) => sum + one, 0)).toBe(spent)
  })
})

describe('a flow that takes what is new since its last run, over a search', () => {
  const names = () => here.rows('out.csv').map(({ name }) => name)
  const since = 'since: last_run'

  it.each([
    ['in the order of the search', '[accounts.enrich]'],
    ['behind rows that a condition leaves out', '[{ keep: headcount < 95 }, accounts.enrich]'],
  ])('finds what comes behind the limit, %s, until there is nothing more', async (_, steps) => {
    write('accounts.search: { company_size: [1-10, 51-200], limit: 9 }', since, steps)
    const found: string[] = []
    for (let times = 0; times < 9; times++) {
      expect((await run()).code).toBe(0)
      expect(names().length).toBeLessThanOrEqual(9)
      found.push(...(names() as string[]))
    }
    expect(names()).toEqual([])
    write('accounts.search: { company_size: [1-10, 51-200], limit: 40 }', '', steps)
    await run('--fresh')
    expect(found.toSorted()).toEqual((names() as string[]).toSorted())
    await here.run('data import companies -', { stdin: 'name,domain,headcount\nLate,late.example,61\n' })
    write('accounts.search: { company_size: [1-10, 51-200], limit: 9 }', since, steps)
    await run()
    expect(names()).toEqual(['Late'])
  })

  it('says that one with a price is asked for the same records again, and pays for no more than its limit', async () => {
    write('intents.stack: { stacks: [react], limit: 4 }', since)
    await run()
    const [first, before] = [names(), await here.balance()]
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('intents.stack charges for every record, also for the 4 that were known.'),
    ])
    expect(before - (await here.balance())).toBe(12)
    write('intents.stack: { stacks: [react], limit: 6 }', since)
    expect((await run()).code).toBe(0)
    expect(names()).toHaveLength(2)
    expect(first).toHaveLength(4)
  })

  it('is not deceived by a look at its first rows', async () => {
    write(
      'accounts.search: { company_size: [1-10, 51-200], limit: 5 }',
      since,
      '[accounts.enrich, accounts.stack]',
    )
    expect((await run('--until', '1')).code).toBe(0)
    expect((await run('--rows', '2')).code).toBe(0)
    expect((await run('--rows', '50')).code).toBe(0)
    expect((await run()).code).toBe(0)
    expect(names()).toHaveLength(5)
    await run()
    expect(new Set(names()).size).toBe(5)
  })
})
