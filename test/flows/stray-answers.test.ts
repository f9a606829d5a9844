import { beforeEach, describe, expect, it } from 'vitest'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { sample, tries } from '../support/effort.js'

const here = perTest(machine)

beforeEach(async () => {
  await here.run('init')
})

type Row = Readonly<Record<string, unknown>>

/** Whose answer a server sends to the request of a row, by the numbers of rows and of requests. */
const habits = {
  'the row before': (at: number) => (at === 0 ? 1 : at - 1),
  'the row behind': (at: number) => at + 1,
  'the other one of a pair': (at: number) => at ^ 1,
  'any other row': (at: number) => at + 7,
} as const

/** A family name of letters alone for each row. */
const familyName = (at: number) =>
  String(at).replace(/\d/g, (digit) => 'ba de fi go hu ka le mi no pu'.split(' ')[Number(digit)] ?? '')

/** What a row asks with, and what the address answers about it; each says in `mark` whose answer it is. */
const addresses: Readonly<
  Record<string, { readonly header: string; cells(at: number): string; answer(at: number): Row }>
> = {
  'companies, with their domains': {
    header: 'name,domain',
    cells: (at) => `Company ${at},c-${at}.example`,
    answer: (at) => ({ data: { domain: `c-${at}.example` }, mark: at }),
  },
  'companies, with their names alone': {
    header: 'name',
    cells: (at) => `Company ${at}`,
    answer: (at) => ({ name: `Company ${at} GmbH`, mark: at }),
  },
  'companies, with the ids of their rows': {
    header: 'name,domain,Record ID',
    cells: (at) => `Company ${at},c-${at}.example,${at + 1}`,
    answer: (at) => ({ record_id: at + 1, mark: at }),
  },
  'companies, with their profiles': {
    header: 'name,network_url',
    cells: (at) => `Company ${at},https://www.network.example/company/c-${at}`,
    answer: (at) => ({ results: [{ url: `http://network.example/company/C-${at}/` }], mark: at }),
  },
  'people, with nothing but their addresses': {
    header: 'first_name,last_name,company_name,company_domain',
    cells: (at) => `${['Ada', 'Bob', 'Zoë'][at % 3]},Müller-${at},Company ${at % 9},c-${at % 9}.example`,
    answer: (at) => ({
      email: `${['ada', 'bob', 'zoe'][at % 3]}.mueller-${at}@c-${at % 9}.example`,
      mark: at,
    }),
  },
  'people, with their names': {
    header: 'first_name,last_name,company_name,company_domain',
    cells: (at) =>
      `${['Ada', 'Bob', 'Zoë'][at % 3]},King ${familyName(at)},Company ${at % 9},c-${at % 9}.example`,
    answer: (at) => ({
      person: {
        firstName: ['Ada', 'Bob', 'Zoë'][at % 3],
        lastName: `King ${familyName(at)}`,
        company: `Company ${at % 9}`,
      },
      mark: at,
    }),
  },
  'people, with one family name in common': {
    header: 'first_name,last_name,company_name,company_domain',
    cells: (at) => `Ana,García ${familyName(at)},Acme,acme.example`,
    answer: (at) => ({
      person: { firstName: 'Ana', lastName: `García ${familyName(at)}`, company: 'Acme' },
      mark: at,
    }),
  },
  'people, by their own addresses': {
    header: 'email',
    cells: (at) => `p${at}@acme.example`,
    answer: (at) => ({ email: `P${at}@acme.example`, mark: at }),
  },
}

/** The same of rows of which two each have the same name. */
const namesakes: typeof addresses = {
  'companies, with their domains': {
    header: 'name,domain',
    cells: (at) => `Lumen ${at >> 1} SRL,lumen-${at}.example`,
    answer: (at) => ({ name: `Lumen ${at >> 1} SRL`, domain: `lumen-${at}.example`, mark: at }),
  },
  'companies, with domains inside, and an id that all have': {
    header: 'name,website,campaign_id',
    cells: (at) => `Lumen ${at >> 1} SRL,https://www.lumen-${at}.example/,7`,
    answer: (at) => ({
      campaign_id: 7,
      data: { company: { name: `Lumen ${at >> 1}`, website: `LUMEN-${at}.example` } },
      mark: at,
    }),
  },
  'companies, with their profiles': {
    header: 'name,network_url',
    cells: (at) => `Lumen ${at >> 1},https://www.network.example/company/lumen-${at}`,
    answer: (at) => ({
      name: `Lumen ${at >> 1}`,
      network_url: `https://network.example/company/lumen-${at}`,
      mark: at,
    }),
  },
  'companies, with an address at their domains': {
    header: 'name,domain',
    cells: (at) => `Lumen ${at >> 1} SRL,lumen-${at}.example`,
    answer: (at) => ({ name: `Lumen ${at >> 1} SRL`, email: `info@lumen-${at}.example`, mark: at }),
  },
  'people, by their own addresses': {
    header: 'full_name,email',
    cells: (at) => `Ada King ${at >> 1},p${at}@acme.example`,
    answer: (at) => ({ full_name: `Ada King ${at >> 1}`, email: `p${at}@acme.example`, mark: at }),
  },
  'people, by their profiles': {
    header: 'first_name,last_name,network_url',
    cells: (at) => `Ada,King ${at >> 1},https://www.network.example/in/ada-${at}`,
    answer: (at) => ({
      first_name: 'Ada',
      last_name: `King ${at >> 1}`,
      network_url: `https://www.network.example/in/ada-${at}`,
      mark: at,
    }),
  },
  'people, with their addresses at two companies': {
    header: 'full_name,company_domain',
    cells: (at) => `Ada King-${at >> 1},lumen-${at}.example`,
    answer: (at) => ({
      full_name: `Ada King-${at >> 1}`,
      email: `ada.king-${at >> 1}@lumen-${at}.example`,
      mark: at,
    }),
  },
}

const rows = tries(40, 300)
const nthOf = { 'to every request': 1, 'to every eighth request': 8 } as const

/** An address that answers some requests with the answer about another row. */
async function straying(answer: (at: number) => Row, whose: (at: number) => number, nth: number) {
  let requests = 0
  const listener = closeAfterTest(
    await answering(async (request, response) => {
      const { input } = JSON.parse((await received(request)).body) as { input: { at: string } }
      const at = Number(input.at)
      const isStray = requests++ % nth === 0
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(answer(isStray ? (whose(at) + rows) % rows : at)))
    }),
  )
  return listener.origin
}

const writeFlow = (origin: string) =>
  here.write(
    'flow.yaml',
    `name: flow
input: { csv: list.csv }
steps: [{ http: { post: "${origin}", result: { mark: mark }, per_second: 100000 } }]
output: { csv: out.csv, columns: [input.at, mark] }
`,
  )

const cases = Object.keys(addresses).flatMap((about) =>
  Object.keys(habits).flatMap((whose, at) =>
    Object.keys(nthOf).map((often, often_) => ({
      about,
      whose,
      often,
      concurrency: (at + often_) % 2 === 0 ? 1 : 64,
    })),
  ),
)

describe('an address of a flow', () => {
  it.each(sample(cases, 5))(
    'writes nothing into another row that answers $often about $whose: $about',
    async ({ about, whose, often, concurrency }) => {
      const { header, cells, answer } = addresses[about] as (typeof addresses)[string]
      const nth = nthOf[often as keyof typeof nthOf]
      writeFlow(await straying(answer, habits[whose as keyof typeof habits], nth))
      const lines = Array.from({ length: rows }, (_, at) => `${cells(at)},${at}\n`)
      here.write('list.csv', `${header},at\n${lines.join('')}`)
      const { code, stderr } = await here.run(`flow run flow.yaml --concurrency ${concurrency}`)
      expect(code, stderr).toBe(11)
      const written = here.rows('out.csv')
      expect(written.filter(({ at, mark }) => at !== mark)).toEqual([])
      // An answer about nobody whom it was asked about may be an alias, until one was about another row.
      const right = rows - Math.ceil(rows / nth)
      expect(written.length, stderr).toBe(right)
      expect(stderr).toContain(`${rows - right} failed`)
    },
  )

  it.each(Object.keys(namesakes))(
    'writes nothing into a row of one of the same name, which another key tells apart: %s',
    async (about) => {
      const { header, cells, answer } = namesakes[about] as (typeof namesakes)[string]
      writeFlow(await straying(answer, habits['the other one of a pair'], 8))
      const lines = Array.from({ length: rows }, (_, at) => `${cells(at)},${at}\n`)
      here.write('list.csv', `${header},at\n${lines.join('')}`)
      const { code, stderr } = await here.run('flow run flow.yaml --concurrency 1')
      expect(code, stderr).toBe(11)
      const written = here.rows('out.csv')
      expect(written.filter(({ at, mark }) => at !== mark)).toEqual([])
      expect(written.length, stderr).toBe(rows - Math.ceil(rows / 8))
    },
  )

  it('may answer with the domains of others beside that of a row, or in lists', async () => {
    const answers: Readonly<Record<string, Row & { readonly name: string }>> = {
      'one.example': { name: 'Lumen', domain: 'one.example', website: 'two.example' },
      'two.example': { name: 'Lumen', sites: [{ domain: 'one.example' }, { domain: 'two.example' }] },
      'three.example': { name: 'Tres', technologies: [{ name: 'Lumen', domain: 'one.example' }] },
      'four.example': { name: 'Quattro', domain: 'alias.example' },
      'five.example': { name: 'Cinque', email: 'office@four.example' },
    }
    const { origin } = closeAfterTest(
      await answering(async (request, response) => {
        const { domain } = JSON.parse((await received(request)).body) as { domain: string }
        response.end(JSON.stringify({ mark: domain, ...answers[domain] }))
      }),
    )
    writeFlow(origin)
    const lines = Object.entries(answers).map(([domain, { name }]) => `${name},${domain},${domain}\n`)
    here.write('list.csv', `name,domain,at\n${lines.join('')}`)
    const { code, stderr } = await here.run('flow run flow.yaml')
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('failed')])
    expect(here.rows('out.csv').map(({ at, mark }) => at === mark)).toEqual(lines.map(() => true))
  })

  it('may answer with other names and domains of a row, and with whom it has to do', async () => {
    const people = [
      [
        'Ada',
        'King',
        'acme.example',
        { email: 'ada.king-noel@beta.example', manager_email: 'bob.roe@beta.example' },
      ],
      ['Bob', 'Roe', 'beta.example', { email: 'b.roe@beta.example', parent_domain: 'acme.example' }],
      ['Zoë', 'Müller', 'gamma.example', { full_name: 'Zoe Mueller', new_company_domain: 'beta.example' }],
      ['Zoë', 'Roe', 'acme.example', { score: 3, similar: [{ email: 'bob.roe@beta.example' }] }],
      ['Max', 'Ng', 'acme.example', { email: 'max@alias.example' }],
    ] as const
    const { origin } = closeAfterTest(
      await answering(async (request, response) => {
        const { last_name, first_name } = JSON.parse((await received(request)).body) as Record<string, string>
        const own = people.find(([first, last]) => first === first_name && last === last_name)
        response.end(JSON.stringify({ mark: last_name, ...own?.[3] }))
      }),
    )
    writeFlow(origin)
    const lines = people.map((person) => `${person.slice(0, 3).join(',')},${person[1]}\n`)
    here.write('list.csv', `first_name,last_name,company_domain,at\n${lines.join('')}`)
    const { code, stderr } = await here.run('flow run flow.yaml')
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('failed')])
    expect(here.rows('out.csv').map(({ at, mark }) => at === mark)).toEqual(people.map(() => true))
  })

  it('is asked again about the rows that it answered about others, where that is wanted', async () => {
    const { cells, header, answer } = addresses['companies, with their domains'] as (typeof addresses)[string]
    let isRight = false
    const asked: number[] = []
    const { origin } = closeAfterTest(
      await answering(async (request, response) => {
        const at = Number((JSON.parse((await received(request)).body) as { input: { at: string } }).input.at)
        asked.push(at)
        response.end(JSON.stringify(answer(!isRight && at % 4 === 0 ? at + 1 : at)))
      }),
    )
    writeFlow(origin)
    const all = Array.from({ length: 12 }, (_, at) => at)
    here.write('list.csv', `${header},at\n${all.map((at) => `${cells(at)},${at}\n`).join('')}`)
    const first = await here.run('flow run flow.yaml')
    expect([first.code, first.stderr]).toEqual([11, expect.stringContaining('Suspect: 3 answers')])
    expect(first.stderr).toContain('--retry-unknown')
    isRight = true
    // As it ended.
    const again = await here.run('flow run flow.yaml')
    expect([again.code, asked.length]).toEqual([11, 12])
    expect((await here.run('flow run flow.yaml --retry-unknown')).code).toBe(0)
    expect(asked.slice(12).sort()).toEqual([0, 4, 8])
    expect(here.rows('out.csv').map(({ at, mark }) => [Number(at), Number(mark)])).toEqual(
      all.map((at) => [at, at]),
    )
  })
})
