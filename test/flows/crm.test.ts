import { describe, expect, it, onTestFinished } from 'vitest'
import { machine } from '../support/command.js'
import { connect, openers, type Size } from '../support/crm/each.js'
import { perTest } from '../support/each.js'
import { loadSample } from '../support/sample.js'

const own = perTest(machine)

/** Loads the sample data, and connects an account. */
async function account(crm: keyof typeof openers, size: Size = { companies: 0, contacts: 0 }) {
  await loadSample(own.home)
  const fake = await openers[crm](size)
  onTestFinished(fake.close)
  await connect(own, fake)
  return fake
}

const flow = (name: string, parts: object): string => {
  own.write(name, JSON.stringify({ name: name.replace('.yaml', ''), ...parts }))
  return name
}

describe.each(Object.keys(openers) as (keyof typeof openers)[])('a flow whose output is %s', (crm) => {
  const companies = (settings: object) =>
    flow('companies.yaml', {
      input: { csv: 'in.csv' },
      steps: ['accounts.enrich'],
      output: { [crm]: settings },
    })

  it('is checked, quoted and shown, and writes its rows once', async () => {
    const fake = await account(crm)
    own.write('in.csv', 'Website\nacme-robotics.example\n')
    const file = companies({ mode: 'fill' })
    expect((await own.run(`flow check ${file}`)).stderr).toContain('Nothing is wrong')
    expect(await own.json(`flow quote ${file}`)).toMatchObject({ steps: [{ rows: { max: 1 } }] })
    const result = await own.run(`flow run ${file}`)
    expect([result.code, result.stderr]).toEqual([0, expect.stringContaining('1 created')])
    expect(await own.json('flow show --last')).toMatchObject({ status: 'finished', written: 1 })
    const [domain, ...others] = fake.companies.live().map(({ fields }) => fake.domainOf(fields))
    expect([domain, others]).toEqual([expect.stringContaining('acme-robotics.example'), []])
    for (const again of ['', ' --fresh']) await own.run(`flow run ${file}${again}`)
    expect(fake.companies.live()).toHaveLength(1)
  })

  it('names what is wrong with its settings, by line and column', async () => {
    own.write('in.csv', 'Website\nacme-robotics.example\n')
    const result = await own.run(`flow check ${companies({ mode: 'fil', ownr: 'jane@us.example' })}`)
    expect([result.code, result.stderr]).toEqual([2, expect.stringMatching(/mode .*fill[\s\S]*ownr/)])
  })

  it('creates no company that nobody has found, but where it says so', async () => {
    const fake = await account(crm)
    own.write('in.csv', 'Website\nacme-robotics.example\nnobody-knows.example\n')
    const result = await own.run(`flow run ${companies({})}`)
    expect([result.code, result.stderr]).toEqual([
      0,
      expect.stringContaining('1 created · 1 left out, as nothing but the domain is known'),
    ])
    const domains = () => fake.companies.live().map(({ fields }) => fake.domainOf(fields))
    expect(domains()).toEqual([expect.stringContaining('acme-robotics.example')])
    await own.run(`flow run ${companies({ unknown: true })} --fresh`)
    // Others take no company without a name.
    if (crm === 'hubspot') expect(domains()).toContain('nobody-knows.example')
    else expect(domains()).toHaveLength(1)
  })

  it('is refused for a property that the account does not have before anything is paid for', async () => {
    const fake = await account(crm)
    own.write('in.csv', 'Website,Note\nacme-robotics.example,Hot\n')
    const file = companies({ map: { [`${fake.industry}x`]: 'input.Note' } })
    for (const words of ['check', 'quote', 'run']) {
      const result = await own.run(`flow ${words} ${file}`)
      expect([result.code, result.stderr]).toEqual([
        2,
        expect.stringMatching(
          new RegExp(`${crm} has no property "${fake.industry}x"[\\s\\S]*Did you mean ${fake.industry}`),
        ),
      ])
    }
    expect(await own.json('ledger')).toEqual([])
    expect(fake.companies.live()).toEqual([])
  })

  it('is refused before anything is paid for where no account is connected', async () => {
    await loadSample(own.home)
    own.write('in.csv', 'Website\nacme-robotics.example\n')
    for (const words of ['check', 'quote', 'run']) {
      const result = await own.run(`flow ${words} ${companies({})}`)
      expect([result.code, result.stderr]).toEqual([
        2,
        expect.stringContaining(`No account of ${crm} is connected`),
      ])
    }
    expect(await own.json('ledger')).toEqual([])
  })

  it('is refused where nothing may leave the machine', async () => {
    await account(crm)
    own.write('in.csv', 'Website\nacme-robotics.example\n')
    const result = await own.run(`flow run ${companies({})} --no-outward`)
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining('or a CRM')])
  })
})

/** Pushes a table to an account, and reads what it has then. */
async function pushed(crm: string, name: string, text: string): Promise<void> {
  own.write(name, text)
  expect((await own.run(`push ${name} --to ${crm} --yes`)).code).toBe(0)
  expect((await own.run(`crm pull ${crm}`)).code).toBe(0)
}

describe.each(Object.keys(openers) as (keyof typeof openers)[])('a flow whose input is %s', (crm) => {
  const domains = 'name,domain\nAcme,acme-robotics.example\nNobody,nobody.example\n'

  it('enriches the companies that were read, and fills the same records', async () => {
    const fake = await account(crm)
    await pushed(crm, 'companies.csv', domains)
    const before = fake.companies.snapshot()
    const file = flow('fill.yaml', {
      input: { [crm]: 'companies' },
      steps: ['accounts.enrich', { keep: 'headcount != null' }],
      output: [{ [crm]: {} }, { csv: 'out.csv', columns: ['input._crm_id', 'name', 'domain', 'headcount'] }],
    })
    expect(await own.json(`flow quote ${file}`)).toMatchObject({ steps: [{ rows: { max: 2 } }, {}] })
    const result = await own.run(`flow run ${file}`)
    expect([result.code, result.stderr]).toEqual([
      0,
      expect.stringMatching(new RegExp(`${crm}: 2 companies, read \\d+ s ago[\\s\\S]*1 filled`)),
    ])
    const [changed, ...others] = fake.companies.diff(before)
    expect([others, changed?.before]).toEqual([[], expect.anything()])
    expect(String(changed?.after?.[fake.industry])).toMatch(/\w/)
    const [, row, ...more] = own.read('out.csv').trim().split('\n')
    expect([row, more]).toEqual([expect.stringMatching(`^${changed?.id},Acme`), []])
    expect(fake.companies.duplicates(fake.domainOf)).toEqual([])
  })

  it('takes the people who were read, and of a later run only who is new', async () => {
    await account(crm)
    const people = 'first_name,last_name,email\nAda,One,ada@acme-robotics.example\n'
    await pushed(crm, 'people.csv', people)
    const file = flow('people.yaml', {
      input: { [crm]: 'people' },
      since: 'last_run',
      steps: ['contacts.reverse_lookup', { set: { who: 'first_name + " " + last_name' } }],
      output: { csv: 'out.csv', columns: ['who', 'input.email'] },
    })
    const rows = () => own.read('out.csv').trim().split('\n').slice(1)
    const result = await own.run(`flow run ${file}`)
    expect([result.code, result.stderr]).toEqual([0, expect.any(String)])
    expect(rows()).toEqual(['Ada One,ada@acme-robotics.example'])
    await pushed(crm, 'people.csv', `${people}Grace,Two,grace@acme-robotics.example\n`)
    expect((await own.run(`flow run ${file}`)).code).toBe(0)
    expect(rows()).toEqual(['Grace Two,grace@acme-robotics.example'])
  })

  it('is refused by its line where nothing was read, and where what is asked for is neither', async () => {
    await account(crm)
    const checked = async (kind: string) => {
      const steps = ['accounts.enrich']
      const file = flow('x.yaml', { input: { [crm]: kind }, steps, output: { csv: 'out.csv' } })
      const { code, stderr } = await own.run(`flow check ${file}`)
      return [code, stderr]
    }
    expect(await checked('companies')).toEqual([
      2,
      expect.stringMatching(`x\\.yaml:1:\\d+: Nothing has been read from ${crm} yet`),
    ])
    expect(await checked('deals')).toEqual([2, expect.stringMatching(/x\.yaml:1:\d+: .*companies.*people/)])
  })
})

it('leaves out whom a CRM has before they are paid for, and asks the CRM nothing', async () => {
  const fake = await account('hubspot')
  const known =
    'first_name,last_name,email,company_domain\nAda,One,ada@acme-robotics.example,acme-robotics.example\n'
  await pushed('hubspot', 'known.csv', known)
  const asked = fake.done.length
  own.write('people.csv', 'email\nADA@acme-robotics.example\ngrace@delta-power.example\n')
  own.write('companies.csv', 'domain\nwww.acme-robotics.example\ndelta-power.example\n')
  for (const [command, file, column, left] of [
    ['contacts reverse-lookup', 'people.csv', 'email', 'grace@delta-power.example'],
    ['accounts enrich', 'companies.csv', 'domain', 'delta-power.example'],
  ] as const) {
    const lookup = `${command} --csv ${file}`
    const result = await own.run(`${lookup} --skip-known crm:hubspot -o out.csv --columns ${column},_status`)
    expect([result.code, result.stderr]).toEqual([0, expect.stringContaining('crm:hubspot: 1 known row')])
    const [, row, ...others] = own.read('out.csv').trim().split('\n')
    expect([row, others]).toEqual([expect.stringMatching(`^${left},(?:not_)?found`), []])
    const unread = await own.run(`${lookup} --skip-known crm:salesforce -o other.csv`)
    expect([unread.code, unread.stderr]).toEqual([2, expect.stringContaining('No account of salesforce')])
  }
  expect(fake.done.length).toBe(asked)
})

describe('a search whose people are looked up and pushed each night', () => {
  it('writes only who is new, and nothing once all are there', async () => {
    const fake = await account('hubspot')
    const titles = ['Head of Sales', 'VP Sales', 'Sales Director', 'Responsable commercial', 'VP Ventes']
    const search = {
      included_locations: ['France'],
      company_size: ['51-200', '201-500', '501-1000'],
      limit: 8,
    }
    const file = flow('territory.yaml', {
      input: { 'accounts.search': search },
      since: 'last_run',
      steps: [
        { 'leads.search': { job_titles: titles, limit: 2 } },
        { 'contacts.enrich': { enrichment_type: ['email'] } },
        { keep: 'email_status == "valid"' },
      ],
      output: { hubspot: {} },
    })
    const created: number[] = []
    do {
      const before = fake.people.snapshot()
      const result = await own.run(`flow run ${file}`)
      expect([result.code, result.stderr]).toEqual([0, expect.any(String)])
      const changed = fake.people.diff(before)
      expect(changed.flatMap((one) => one.before ?? [])).toEqual([])
      created.push(changed.length)
    } while (created.at(-1) !== 0)
    expect(created.length).toBeGreaterThan(2)
    const people = fake.people.live().map(({ fields }) => fake.emailOf(fields))
    expect(new Set(people).size).toBe(created.reduce((sum, one) => sum + one, 0))
    expect(fake.companies.duplicates(fake.domainOf)).toEqual([])
    expect(await own.json('push list')).toHaveLength(created.length - 1)
  })
})
