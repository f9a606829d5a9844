import { expect, it } from 'vitest'
import { answering, closeAfterTest } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { addProvider } from '../support/vendors.js'

const here = perTest(machine)

interface Page {
  readonly people: readonly string[]
  readonly next?: string | null
}

/** A vendor with pages by their cursor, the first without one. It charges a credit for each person. */
async function pagedVendor(pages: Readonly<Record<string, Page | 'lost'>>) {
  const asked: string[] = []
  let charged = 0
  const { origin, close } = await answering((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://vendor')
    const cursor = searchParams.get('cursor') ?? ''
    asked.push(`${searchParams.get('title')} ${cursor}`.trim())
    const page = pages[cursor] ?? { people: [] }
    if (page === 'lost') return response.socket?.destroy()
    charged += page.people.length
    const people = page.people.map((name) => ({
      name: `Ada ${name}`,
      position: 'CTO',
      mail: `${name.toLowerCase()}@acme.example`,
      employer: 'acme.example',
    }))
    return response.writeHead(200).end(JSON.stringify({ people, next: page.next }))
  })
  return { origin, close, asked, charged: () => charged }
}

const file = (origin: string): string => `name: acme
base_url: ${origin}
auth: { header: X-API-KEY }
search:
  of: people
  get: /people
  query: { title: "{title}", size: 2 }
  items: body.people
  next: { cursor: body.next, into: query.cursor }
  size: 2
  outcomes: [{ when: "status == 200", is: found }]
  result: { full_name: item.name, title: item.position, email: item.mail, company_domain: item.employer }
  cost: { row: 1 }
`

const flow = (limit: number, query = '{ title: CTO }'): string => `name: found
input: { provider: acme, query: ${query}, limit: ${limit} }
steps:
  - keep: title == "CTO"
output: { csv: out.csv, columns: [full_name, email, company.domain] }
`

const ready = async (pages: Parameters<typeof pagedVendor>[0], limit = 5) => {
  const vendor = closeAfterTest(await pagedVendor(pages))
  await here.run('init')
  await addProvider(here, file(vendor.origin))
  here.write('found.yaml', flow(limit))
  return vendor
}

const run = (...more: string[]) => here.run(['flow', 'run', 'found.yaml', ...more])

const names = () => here.rows('out.csv').map((row) => row.full_name?.slice(4))

const six: Parameters<typeof pagedVendor>[0] = {
  '': { people: ['A', 'B'], next: 'c2' },
  c2: { people: ['C', 'D'], next: 'c3' },
  c3: { people: ['E', 'F'], next: 'c4' },
  c4: { people: ['G'] },
}

it('reads the pages of a vendor up to the limit of a flow, and pays for each once', async () => {
  const vendor = await ready(six)
  expect((await here.run('flow check found.yaml')).code).toBe(0)
  expect(await here.json('flow quote found.yaml')).toMatchObject({
    steps: [{ rows: { min: 0, expected: 5, max: 5 } }],
    search: { provider: 'acme', max: 6 },
  })
  expect(vendor.asked).toEqual([])
  expect((await run()).code).toBe(0)
  expect(vendor.asked).toEqual(['CTO', 'CTO c2', 'CTO c3'])
  expect(here.rows('out.csv')[0]).toEqual({
    full_name: 'Ada A',
    email: 'a@acme.example',
    'company.domain': 'acme.example',
  })
  expect(names()).toEqual(['A', 'B', 'C', 'D', 'E'])
  expect((await run('--fresh')).code).toBe(0)
  // More records begin with those that are there.
  here.write('found.yaml', flow(20))
  expect((await run()).code).toBe(0)
  expect(names()).toEqual(['A', 'B', 'C', 'D', 'E', 'F', 'G'])
  expect(vendor.asked).toEqual(['CTO', 'CTO c2', 'CTO c3', 'CTO c4'])
  expect(await here.json('ledger', '--provider', 'acme')).toMatchObject([
    { operation: 'search', calls: 4, cost: vendor.charged() },
  ])
})

it('has what a search cost in the ledger of its flow and of the member who ran it', async () => {
  await ready(six)
  expect((await run()).code).toBe(0)
  const [{ id = '' } = {}] = await here.json<{ id: string }[]>('flow list')
  const cost = { provider: 'acme', cost: 6, at_risk: 0 }
  const stats = await here.json<object[]>('providers stats --by member')
  expect(stats).toMatchObject([{ provider: 'acme', kind: 'search', asked: 3, cost: 6 }])
  const [{ member = null } = {}] = stats as { member?: string }[]
  expect(member).toMatch(/@/)
  for (const by of ['provider', 'provider,run', 'provider,member'])
    expect(await here.json('ledger', '--run', id, '--by', by)).toMatchObject([cost])
  expect(await here.json('ledger --by provider,member')).toMatchObject([{ ...cost, member }])
  expect(await here.json('ledger --by provider,run')).toMatchObject([{ ...cost, run: id }])
})

it.each<[string, Parameters<typeof pagedVendor>[0], readonly string[]]>([
  ['a page without a next one', { '': { people: ['A', 'B'] } }, ['CTO']],
  [
    'an empty page',
    { '': { people: ['A', 'B'], next: 'c2' }, c2: { people: [], next: 'c3' } },
    ['CTO', 'CTO c2'],
  ],
  [
    'a page that comes again',
    { '': { people: ['A', 'B'], next: 'c2' }, c2: { people: ['A', 'B'], next: 'c3' } },
    ['CTO', 'CTO c2'],
  ],
  [
    'a cursor that comes again',
    { '': { people: ['A'], next: 'c2' }, c2: { people: ['B'], next: 'c2' } },
    ['CTO', 'CTO c2'],
  ],
])('ends at %s', async (_, pages, asked) => {
  const vendor = await ready(pages)
  expect((await run()).code).toBe(0)
  expect(names()).toEqual(['A', 'B'])
  expect(vendor.asked).toEqual(asked)
})

it('keeps to the budget for its vendor, and goes on where it is raised', async () => {
  const vendor = await ready(six)
  const { code, stderr } = await run('--max-cost', 'acme=3')
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('acme has used its budget: the flow goes on with 2 of up to 5 records.'),
  ])
  expect(names()).toEqual(['A', 'B'])
  expect((await run('--max-cost', 'acme=6')).code).toBe(0)
  expect(names()).toEqual(['A', 'B', 'C', 'D', 'E'])
  expect([vendor.asked, vendor.charged()]).toEqual([['CTO', 'CTO c2', 'CTO c3'], 6])
})

it('says what its search asks, and leaves out whom the workspace suppresses', async () => {
  await ready(six)
  expect(await here.json('providers show acme')).toMatchObject({
    kinds: [],
    search: { of: 'people', asks: 'GET /people', query: ['title'], rows_per_page: 2, most: 2 },
  })
  expect((await here.run('providers show acme', { terminal: true })).stdout).toContain('at most 2 a page')
  expect((await here.run('providers test acme')).code).toBe(2)
  const listed = await here.json<{ name: string; kinds: string[] }[]>('providers list')
  expect(listed.find(({ name }) => name === 'acme')?.kinds).toEqual(['search'])
  await here.run('suppress add b@acme.example')
  expect((await run()).code).toBe(0)
  expect(names()).toEqual(['A', 'C', 'D', 'E'])
})

it('does not ask again for a page whose answer was lost', async () => {
  const vendor = await ready({ ...six, c2: 'lost' })
  const lost = 'The answer of acme to page 2 of its search was lost, and may have been charged'
  for (let times = 0; times < 2; times++) {
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([10, expect.stringContaining(lost)])
  }
  expect(vendor.asked).toEqual(['CTO', 'CTO c2'])
  expect(here.exists('out.csv')).toBe(false)
  here.write('found.yaml', flow(2))
  expect((await run()).code).toBe(0)
  expect(names()).toEqual(['A', 'B'])
})

it.each([
  ['a query that its file does not have', flow(5, '{ titel: CTO }'), /found\.yaml:2:\d+:.*titel.*title/s],
  ['a vendor that is not there', flow(5).replace('acme', 'acmee'), /found\.yaml:2:\d+:.*acmee/s],
  ['no limit', flow(5).replace(', limit: 5', ''), /found\.yaml:2:\d+:.*limit/s],
  [
    'a field that rows do not have',
    flow(5).replace('[full_name', '[full_nam'),
    /found\.yaml:5:\d+:.*full_nam/s,
  ],
])('refuses %s before anything is sent', async (_, text, words) => {
  const vendor = await ready(six)
  here.write('found.yaml', text)
  const { code, stderr } = await here.run('flow check found.yaml')
  expect([code, stderr]).toEqual([2, expect.stringMatching(words)])
  expect(vendor.asked).toEqual([])
})

it('takes the names of people apart that a vendor has in one field, so that lookups can ask for them', async () => {
  await ready({ '': { people: ['King', 'Nobody'] } })
  here.write('known.csv', 'first_name,last_name,domain,email\nAda,King,acme.example,ada.king@acme.example\n')
  expect((await here.run('data import people known.csv')).code).toBe(0)
  const steps = 'steps:\n  - contacts.enrich: { enrichment_type: [email] }\n'
  const output = 'output: { csv: out.csv, columns: [first_name, last_name, email_status] }\n'
  here.write('found.yaml', `${flow(5).split('steps:')[0]}${steps}${output}`)
  const { code, stderr } = await run()
  expect([code, stderr]).toEqual([0, expect.stringContaining('1 contacts.enrich: 2 in · 1 found')])
  expect(here.rows('out.csv')).toMatchObject([
    { first_name: 'Ada', last_name: 'King', email_status: 'valid' },
    { first_name: 'Ada', last_name: 'Nobody' },
  ])
})
