import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { openBench } from '../support/engine.js'

const bench = perTest(openBench)

const known = { company_domain: 'known.example' }
const unknown = { company_domain: 'ghost.example' }
const react = { name: 'React', slug: 'react', confidence: 0.9 }

interface Hiring {
  readonly total_jobs: number
  readonly truncated: boolean
  readonly jobs: readonly { readonly description: string }[]
}

describe('hiring', () => {
  it('returns and charges the jobs that exist, are wanted and can be paid, and says when credits cut them short', async () => {
    const cases = fc.tuple(
      fc.integer({ min: 0, max: 120 }),
      fc.integer({ min: 0, max: 150 }),
      fc.integer({ min: 1, max: 100 }),
    )
    await fc.assert(
      fc.asyncProperty(cases, async ([balance, available, limit]) => {
        await bench.admin.setCredits(balance)
        bench.source.openJobs = available
        bench.clock.advance(1_000)
        const { status, body, credits } = await bench.call('accounts.hiring', { ...known, limit })
        if (balance === 0) return void expect([status, credits]).toEqual([402, 0])
        const { total_jobs, truncated, jobs } = body as Hiring
        const delivered = Math.min(available, limit, balance)
        expect({ status, total_jobs, jobs: jobs.length, credits, truncated }).toEqual({
          status: 200,
          total_jobs: available,
          jobs: delivered,
          credits: delivered,
          truncated: delivered < Math.min(available, limit),
        })
        expect(await bench.balance()).toBe(balance - delivered)
      }),
      { seed: 404, numRuns: tries(125, 500) },
    )
  })

  it('returns an empty list for a company without jobs and 404 for an unknown one, both free', async () => {
    expect(await bench.call('accounts.hiring', known)).toMatchObject({
      status: 200,
      body: { total_jobs: 0, truncated: false, jobs: [] },
      credits: 0,
    })
    expect(await bench.call('accounts.hiring', unknown)).toMatchObject({
      status: 404,
      body: { error: 404, message: 'No company found' },
      credits: 0,
    })
    expect(await bench.balance()).toBe(1_000)
  })

  it('cuts descriptions at 300 characters unless full ones are requested', async () => {
    bench.source.openJobs = 3
    const lengths = async (more: Record<string, unknown>) =>
      ((await bench.call('accounts.hiring', { ...known, ...more })).body as Hiring).jobs.map(
        ({ description }) => [[...description].length, description.endsWith('…')],
      )
    expect(await lengths({})).toEqual([
      [299, false],
      [300, false],
      [301, true],
    ])
    expect(await lengths({ full_description: true })).toEqual([
      [299, false],
      [300, false],
      [301, false],
    ])
  })

  it('never cuts a character in two', async () => {
    bench.source.openJobs = 3
    bench.source.letter = '🎈'
    const { jobs } = (await bench.call('accounts.hiring', known)).body as Hiring
    expect(jobs.map(({ description }) => description)).toEqual([
      '🎈'.repeat(299),
      '🎈'.repeat(300),
      `${'🎈'.repeat(300)}…`,
    ])
  })
})

it('stack returns the technologies, and an empty list where none is known', async () => {
  const none = { technologies: [], technologies_with_confidence: [] }
  expect(await bench.call('accounts.stack', known)).toMatchObject({ status: 200, body: none, credits: 0 })
  bench.source.uses = [react]
  const { body } = await bench.call('accounts.stack', known)
  expect(body).toEqual({ technologies: ['React'], technologies_with_confidence: [react] })
})

it('headcount contains the evolution, and with live: false only the current headcount', async () => {
  const { body } = await bench.call('accounts.headcount', known)
  expect(body).toHaveProperty(['All', '3_months_evolution', 'base_headcount'])
  const offline = await bench.call('accounts.headcount', { ...known, live: false })
  expect(offline.body).toEqual({ All: { current_headcount: 10 } })
})

it('count profiles returns the total and echoes the filters', async () => {
  bench.source.people = 12
  const asked = { company_network_url: 'https://www.network.example/company/known' }
  const filters = { title_to_include: ['CTO'], excluded_locations: ['FR'] }
  const { body } = await bench.call('accounts.count_profiles', { ...asked, ...filters })
  expect(body).toEqual({ total: 12, title_to_exclude: [], included_locations: [], ...filters })
})

it.each([
  ['accounts.stack', unknown],
  ['accounts.headcount', unknown],
  ['accounts.count_profiles', { company_network_id: '7' }],
] as const)('%s returns 404 for an unknown company', async (id, company) => {
  expect((await bench.call(id, company)).status).toBe(404)
})
