import { beforeAll, describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/api/values/objects.js'
import { workerOf } from '../../engine/fake-sender.js'
import { machine } from '../../support/command.js'
import { perFile } from '../../support/each.js'
import { sample } from '../../support/effort.js'
import { loadSample } from '../../support/sample.js'
import { requests } from '../requests.js'
import { openPlentiful, type Plentiful, targets } from './targets.js'

const textOf = (body: unknown): string => String((body as { error: unknown }).error)

/** Does all accepted work; returns the bodies that were delivered. */
async function delivered({ bench }: Plentiful): Promise<readonly Fields[]> {
  const { sender, worker } = workerOf(bench)
  await worker.drain()
  return sender.bodies()
}

describe.each(sample(targets, 3, 1))('growth and lookalikes by way of %s', (_, open) => {
  const way = perFile(() => openPlentiful(open))

  /** The filters of the searches that are asked for meanwhile. */
  async function searched(ask: () => Promise<unknown>): Promise<readonly Fields[]> {
    const { source } = way.bench
    const filters: Fields[] = []
    const find = source.find.bind(source)
    source.find = async (search, span) => {
      filters.push(search.filters as Fields)
      return await find(search, span)
    }
    await ask()
    source.find = find
    return filters
  }

  it.each(['intents.growth', 'intents.lookalikes'] as const)(
    'take included and excluded locations and industries: %s',
    async (id) => {
      const filters = {
        included_locations: ['FR'],
        excluded_locations: ['geo:FR.84'],
        included_industries: ['96'],
        excluded_industries: ['Education'],
      }
      const [asked] = await searched(async () => {
        expect((await way.ask(id, { ...requests[id], ...filters })).status).toBe(202)
      })
      expect(asked).toMatchObject(filters)
    },
  )

  it.each(['intents.growth', 'intents.lookalikes'] as const)(
    'take locations and industries as other spellings of the included ones: %s',
    async (id) => {
      const [asked] = await searched(() =>
        way.ask(id, { ...requests[id], locations: ['FR'], industries: [96] }),
      )
      expect(asked).toMatchObject({ included_locations: ['FR'], included_industries: ['96'] })
    },
  )

  it('take account_url for the company to resemble', async () => {
    const { company_network_url, ...rest } = requests['intents.lookalikes']
    const [asked] = await searched(() =>
      way.ask('intents.lookalikes', { ...rest, account_url: company_network_url }),
    )
    expect(asked).toMatchObject({ company_network_url })
  })

  it('refuse a department together with growth of the whole company', async () => {
    const { webhook_url } = requests['intents.growth']
    const department = { webhook_url, department: 'Sales', min_department_headcount: 5 }
    for (const whole of ['min_headcount_growth_percentage', 'max_headcount_growth_percentage']) {
      const { status, body } = await way.ask('intents.growth', { ...department, [whole]: 10 })
      expect([status, textOf(body)]).toEqual([422, `department cannot be combined with ${whole}`])
    }
    expect((await way.ask('intents.growth', department)).status).toBe(202)
  })

  it.each([
    ['intents.growth', 'headcount_growth_percentage', 25],
    ['intents.lookalikes', 'similarity_score', 0.9],
    ['intents.hiring', 'job_count', 0],
  ] as const)('%s delivers %s in each account', async (id, name, value) => {
    await delivered(way)
    await way.ask(id, requests[id])
    const [completed] = await delivered(way)
    const accounts = (completed?.accounts ?? []) as readonly Fields[]
    expect(accounts.map((account) => account[name])).toEqual([value, value, value])
    await way.ask(id, { ...requests[id], streaming: true })
    const records = (await delivered(way)).filter(({ event }) => String(event).endsWith('.record'))
    expect(records.map(({ account }) => (account as Fields)[name])).toEqual([value, value, value])
  })

  it.each(['included_lead_lists', 'excluded_lead_lists'])('%s is known, and 422', async (name) => {
    for (const id of ['leads.advanced_search', 'leads.advanced_search_preview'] as const) {
      const { status, body } = await way.ask(id, { ...requests[id], [name]: ['1'] })
      expect([status, textOf(body)]).toEqual([422, `There are no lists of people: ${name}`])
      expect((await way.ask(id, { ...requests[id], [name]: [] })).status).toBeLessThan(300)
    }
  })
})

describe('the commands of growth, lookalikes and hiring', () => {
  const here = perFile(() => machine())
  beforeAll(() => loadSample(here.home))

  it('read the fields inside account in a file of --input', async () => {
    const account = { webhook_url: 'https://hooks.example/in', min_headcount_growth_percentage: 5 }
    const stdin = JSON.stringify({ account })
    const { code, json } = await here.run('intents growth --input - --no-wait', { stdin })
    expect([code, json]).toMatchObject([0, { id: expect.any(String) }])
  })

  it.each([
    ['headcount_growth_percentage', 'intents growth --min-headcount-growth-percentage 5'],
    ['similarity_score', 'intents lookalikes --company-network-url network.example/company/acme-robotics'],
    ['job_count', 'intents hiring --selected-titles Engineer'],
  ])('write %s as a column of a CSV file', async (name, argv) => {
    const line = `${argv} --limit 2 --wait --format csv`
    const { code, stdout } = await here.run(line)
    const [header = '', ...rows] = stdout.trim().split('\n')
    expect([code, header.split(',').includes(name), rows.length]).toEqual([0, true, 2])
    const chosen = await here.run(`${line} --fields domain,${name}`)
    expect(chosen.stdout).toMatch(new RegExp(`^domain,${name}\n\\S+,[\\d.]+\n\\S+,[\\d.]+\n$`))
  })

  it('accept --locations and --industries, which help does not show, but not beside the included ones', async () => {
    const given = 'intents growth --min-headcount-growth-percentage 5 --dry-run --json --locations FR'
    const { json } = await here.run(`${given} --industries 96`)
    expect(json).toMatchObject({ body: { included_locations: ['FR'], included_industries: ['96'] } })
    const twice = await here.run(`${given} --included-locations DE`)
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('--locations')])
    expect((await here.run('intents growth --help')).stdout).not.toMatch(/ --locations/)
  })
})
