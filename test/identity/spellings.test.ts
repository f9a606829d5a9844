import { describe, expect, it } from 'vitest'
import { type OperationId, operation } from '../../src/api/operations/table.js'
import type { Fields } from '../../src/api/values/objects.js'
import { toSuppressible } from '../../src/catalogue/suppression/identifiers.js'
import { suppressionsOf } from '../../src/catalogue/suppression/suppressions.js'
import { createSuppressor } from '../../src/catalogue/suppression/suppressor.js'
import { type RecentRequest, RecentRequests } from '../../src/client/recent-requests.js'
import { identityOf, subjectOf } from '../../src/providers/subject.js'
import { type Machine, machine } from '../support/command.js'
import { machines, states } from '../support/databases.js'
import { perFile, perTest } from '../support/each.js'
import { sample } from '../support/effort.js'
import { casesOf } from '../support/fixtures.js'

type Kind = 'email' | 'profile' | 'domain' | 'phone' | 'name'

/** What identifies somebody, and the same in other spellings. */
interface Spellings {
  readonly kind: Kind
  readonly one: string
  readonly others: readonly string[]
}

const cases = casesOf<Spellings>('identity/spellings')
const of = (...kinds: Kind[]) => cases.filter(({ kind }) => kinds.includes(kind))

/** A cell of a CSV file. */
const cell = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** Names and companies of the spellings of a name at a company. */
const named = (text: string): readonly [name: string, company: string] => {
  const [, name = '', company = ''] = /^(.*?)(?: at |, | @ )(\S+)$/.exec(text) ?? []
  return [name, company]
}

/** A table whose rows are about whom texts name, with a column for each kind. */
function tableOf(kind: Kind, texts: readonly string[]): string {
  if (kind === 'name') {
    const rows = texts.map((text) => {
      const [name, company] = named(text)
      const [first = '', ...last] = name.split(/\s+/)
      return [first, last.join(' '), company].map(cell).join(',')
    })
    return ['first_name,last_name,company_domain', ...rows].join('\n')
  }
  const columns = { email: 'email', profile: 'network_url', domain: 'domain', phone: 'phone_number' }
  return [`${columns[kind]},note`, ...texts.map((text) => `${cell(text)},x`)].join('\n')
}

/** Nothing is looked up in an empty catalogue. */
async function stock(own: Machine): Promise<void> {
  await own.fill('companies', JSON.stringify([{ name: 'Globex', domain: 'globex.example' }]))
  await own.fill('people', JSON.stringify([{ full_name: 'Bob Roe', email: 'bob@globex.example' }]))
}

/** The lookup that is asked by each kind, with the field that the request has it in. */
const lookups = {
  email: ['contacts reverse-lookup', 'contacts.reverse_lookup', 'email'],
  profile: ['leads enrich', 'leads.enrich', 'network_url'],
  domain: ['accounts enrich', 'accounts.enrich', 'domain'],
  phone: ['messenger validate', 'messenger.validate', 'phone_number'],
  name: ['leads enrich', 'leads.enrich', 'full_name'],
} as const satisfies Record<Kind, readonly [string, OperationId, string]>

/** All spellings are read alike before a database is asked, so that SQLite gets all of them, and PostgreSQL some. */
const some = <T>(database: string, spellings: readonly T[]): readonly T[] =>
  database === 'SQLite' ? spellings : sample(spellings, 6)

describe.each(machines)('whoever is suppressed in one spelling, in %s,', (database, open) => {
  const here = perFile(async () => {
    const own = await open()
    await stock(own)
    for (const { one } of cases) expect((await own.run(['suppress', 'add', one])).code).toBe(0)
    return own
  })

  it.each(cases)('is found by suppress check in another one: $one', async ({ others }) => {
    for (const other of some(database, others))
      expect([other, (await here.run(['suppress', 'check', other])).code]).toEqual([other, 13])
  })

  it.each(of('email', 'profile', 'domain', 'phone'))(
    'is not looked up in another one: $one',
    async ({ kind, others }) => {
      const [command, , field] = lookups[kind]
      const option = `--${field.replaceAll('_', '-')}`
      for (const other of some(database, others)) {
        const asked = kind === 'phone' ? [other] : [option, other]
        const { code, stdout } = await here.run([...command.split(' '), ...asked, '--json'])
        // A number that is suppressed is one that cannot be reached; the others are not found.
        if (kind === 'phone') expect(stdout, other).toContain('"reachable": false')
        else expect([other, code]).toEqual([other, 9])
      }
      expect(await here.json('ledger')).toEqual([])
    },
  )

  it.each(cases)('is left out of a batch in every other one: $one', async ({ kind, others }) => {
    here.write('q.csv', tableOf(kind, others))
    const quote = await here.json(`${lookups[kind][0]} --csv q.csv --dry-run`)
    expect(quote).toMatchObject({ rows: others.length, suppressed: others.length })
  })

  it.each(of('email', 'profile', 'phone', 'name'))(
    'is left out of an import: $one',
    async ({ kind, others }) => {
      const table = tableOf(kind, others).split('\n')
      const rows =
        kind === 'phone'
          ? table.map((row, at) => (at === 0 ? `full_name,company_name,${row}` : `Jo Max,Globex,${row}`))
          : table
      here.write('q.csv', rows.join('\n').replace('phone_number', 'phone'))
      expect(await here.json('data import people q.csv')).toMatchObject({
        added: 0,
        suppressed: others.length,
      })
    },
  )
})

describe.each(states())('whoever is suppressed in one spelling, in the runs of %s,', (_, open) => {
  it.each(of('email', 'profile', 'domain', 'phone'))(
    'is left out of what is received: $one',
    async ({ kind, one, others }) => {
      const state = await open()
      const entry = toSuppressible(one)
      await suppressionsOf(state, 'me').add(entry ? [entry] : [], null, 0)
      const { delivery } = createSuppressor(state, 'me')
      const field = kind === 'profile' ? 'network_profile_url' : kind
      for (const other of others)
        expect(
          await delivery(JSON.stringify({ event: 'lead.found', lead: { [field]: other } })),
          other,
        ).toBeUndefined()
    },
  )
})

describe.each(machines)('records in several spellings, in %s,', (database, open) => {
  const here = perTest(open)

  it.each(of('email', 'profile', 'name'))(
    'are one person for an import, and for data forget: $one',
    async ({ kind, one, others }) => {
      here.write('q.csv', tableOf(kind, [one, ...others]))
      expect(await here.json('data import people q.csv')).toMatchObject({ added: 1 })
      if (kind === 'name') return
      for (const other of some(database, [one, ...others])) {
        const found = await here.json<{ catalogue: { people: number } }>('data', 'forget', other, '--dry-run')
        expect([other, found.catalogue.people]).toEqual([other, 1])
      }
    },
  )

  it.each(of('email', 'profile', 'domain', 'name'))(
    'are one for a lookup of the catalogue: $one',
    async ({ kind, one, others }) => {
      const [name = '', company = ''] = named(one)
      const ids = { email: 'email', profile: 'network_url', domain: 'domain', name: 'full_name' }
      const known = {
        ...(kind === 'domain' ? { name: 'Acme' } : { company_name: 'Acme', full_name: 'Ada Byron' }),
        ...(kind === 'name' ? { full_name: name, company_domain: company } : { [ids[kind as 'email']]: one }),
      }
      await here.fill(kind === 'domain' ? 'companies' : 'people', JSON.stringify([known]))
      const [command, , field] = lookups[kind]
      for (const other of some(database, others)) {
        const [full, at] = named(other)
        const [first = '', ...last] = full.split(/\s+/)
        const asked =
          kind === 'name'
            ? ['--first-name', first, '--last-name', last.join(' '), '--domain', at]
            : [`--${field.replaceAll('_', '-')}`, other]
        const { code, stderr } = await here.run([...command.split(' '), ...asked, '--json'])
        expect([other, code, stderr]).toEqual([other, 0, expect.anything()])
      }
    },
  )

  it('are as many people as there are, where names are like each other', async () => {
    const others =
      'Michael Bauer|Michal Bauer|Joe Smith|Jo Smith|Li Xue|Li Xu|Rafael King|Rafal King|Ada King, Jr.|Ada King'
    const names = [...others.split('|'), 'M. R. Smith', 'Mr. Max Smith', 'Ada Roe']
    here.write(
      'q.csv',
      ['full_name;company_domain', ...names.map((name) => `${name};acme.example`)].join('\n'),
    )
    expect(await here.json('data import people q.csv')).toMatchObject({ added: names.length })
  })

  it('are one lookup of a flow where later rows say less of a person than earlier ones', async () => {
    await here.fill(
      'people',
      JSON.stringify([
        {
          full_name: 'Zoë Müller',
          company_name: 'Globex',
          company_domain: 'globex.example',
          email: 'zoe@globex.example',
          network_url: 'https://www.network.example/in/zoe',
        },
      ]),
    )
    here.write(
      'q.csv',
      `first_name,last_name,company_domain,email,network_url,n
Zoë,Müller,globex.example,zoe@globex.example,https://www.network.example/in/zoe,1
Zoë,Müller,www.globex.example,,,2
Dr. Zoë,Mueller,,Zoe@GLOBEX.example,,3
,,,,network.example//in//Zoe?x,4
Zoë,Müller,globex.example,other@globex.example,,5
`,
    )
    here.write(
      'flow.yaml',
      'name: flow\ninput: { csv: q.csv }\nsteps: [leads.enrich]\noutput: { csv: out.csv, columns: [input.n] }\n',
    )
    await here.run('flow run flow.yaml')
    const { steps } = await here.json<{ steps: object[] }>('flow show --last')
    expect(steps).toEqual([expect.objectContaining({ in: 5, duplicates: 3, credits: 2 })])
  })
})

describe('rows in several spellings', () => {
  /** Has nothing of them: they are found to be equal before it is asked. */
  const here = perFile(async () => {
    const own = machine()
    await stock(own)
    return own
  })

  it.each(cases)('are one lookup of a batch: $one', async ({ kind, one, others }) => {
    here.write('q.csv', tableOf(kind, [one, ...others]))
    const quote = await here.json(`${lookups[kind][0]} --csv q.csv --dry-run --local`)
    expect(quote).toMatchObject({ rows: others.length + 1, unique: 1 })
  })

  it.each(of('email', 'profile', 'domain', 'name'))(
    'are one lookup of a flow: $one',
    async ({ kind, one, others }) => {
      const name = `flow-${cases.findIndex((each) => each.one === one)}`
      here.write(`${name}.csv`, tableOf(kind, [one, ...others]))
      const output = `output: { csv: ${name}-out.csv }`
      here.write(
        `${name}.yaml`,
        `name: ${name}\ninput: { csv: ${name}.csv }\nsteps: [${lookups[kind][1]}]\n${output}\n`,
      )
      expect((await here.run(`flow run ${name}.yaml`)).code).toBe(0)
      const { steps } = await here.json<{ steps: object[] }>('flow show --last')
      expect(steps).toEqual([expect.objectContaining({ in: others.length + 1, duplicates: others.length })])
    },
  )

  it.each(of('email', 'profile', 'domain', 'name'))(
    'are one for match: $one',
    async ({ kind, one, others }) => {
      here.write('known.csv', tableOf(kind, [one]))
      here.write('q.csv', tableOf(kind, others))
      await here.run('match q.csv --with known.csv -o out.csv')
      expect(here.rows('out.csv').map((row) => [row.note, row._match])).toEqual(
        others.map(() => [kind === 'name' ? undefined : 'x', 'yes']),
      )
    },
  )

  it.each(of('email', 'profile', 'domain'))('are one question to a vendor: $one', ({ kind, one, others }) => {
    const ask = (text: string) =>
      identityOf(subjectOf({ [kind === 'profile' ? 'url' : kind]: text } as Parameters<typeof subjectOf>[0]))
    for (const other of others) expect([other, ask(other)]).toEqual([other, ask(one)])
  })

  it.each(of('email', 'profile', 'domain', 'phone'))(
    'are whom an answer is about: $one',
    ({ kind, one, others }) => {
      const [, id, field] = lookups[kind]
      const row = operation(id)
      const answer = (text: string): Fields => {
        if (kind === 'phone') return { results: [{ phone_number: text }] }
        return { [kind === 'profile' ? 'network_profile_url' : kind]: text }
      }
      for (const other of others) {
        const recent = new RecentRequests(() => 0)
        const begin = (text: string) => recent.begin(row, { [field]: text }) as RecentRequest
        const [asked] = [begin(other), begin(one)]
        expect([other, recent.isOfAnother(asked, answer(one), undefined)]).toEqual([other, false])
      }
    },
  )
})
