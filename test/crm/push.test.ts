import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { machine } from '../support/command.js'
import { fakeHubspot, type HubspotAccount, hubspotKey } from '../support/crm/hubspot.js'
import { fakeSalesforce, salesforceKey } from '../support/crm/salesforce.js'
import { perTest } from '../support/each.js'
import { emptySchema } from '../support/postgres.js'
import { loadSample } from '../support/sample.js'

const own = perTest(machine)

/** Connects a HubSpot that is like this. */
async function hubspot(account: HubspotAccount = {}, more = '') {
  const crm = await fakeHubspot(account)
  onTestFinished(crm.close)
  await own.run(
    `crm connect hubspot --base-url ${crm.origin} --allow-target 127.0.0.1 --key-stdin ${more}`.trim(),
    { stdin: hubspotKey },
  )
  return crm
}

const csv = (name: string, ...lines: readonly string[]) => {
  writeFileSync(own.path(name), `${lines.join('\n')}\n`)
  return name
}

const push = (words: string) => own.run(`push ${words} --to hubspot --json`)

/** Pushes after a dry run, with its digest. */
async function pushed(words: string) {
  const { digest } = (await push(`${words} --dry-run`)).json as { digest: string }
  return push(`${words} --apply ${digest}`)
}

describe('prospect push', () => {
  it('shows what it would write, writes nothing without the digest, and exactly that with it', async () => {
    const crm = await hubspot({ companies: 10, contacts: 0 })
    const file = csv(
      'companies.csv',
      'name,domain,industry,headcount',
      'Company 1,company-1.example,Retail,77',
      'New One,new-one.example,Internet,12',
      'Company 0,company-0.example,Machinery,20',
    )
    const before = crm.companies.snapshot()
    const shown = await push(`${file} --dry-run`)
    expect(shown.json).toMatchObject({ is: 'LIVE', create: 1, update: 2, same: 0, calls: 3 })
    const refused = await push(file)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--apply')])
    expect(crm.companies.diff(before)).toEqual([])
    const { digest } = shown.json as { digest: string }
    const result = await push(`${file} --apply ${digest}`)
    expect(result.code).toBe(0)
    const find = (domain: string) =>
      crm.companies.live().find(({ fields }) => fields.domain === domain)?.fields
    expect(find('new-one.example')).toMatchObject({ industry: 'INTERNET', numberofemployees: '12' })
    // Company 1 has 11 employees, and no industry; company 0 has an industry and no number.
    expect(find('company-1.example')).toMatchObject({ industry: 'RETAIL', numberofemployees: '11' })
    expect(find('company-0.example')).toMatchObject({ industry: 'RETAIL', numberofemployees: '20' })
    const again = await push(`${file} --dry-run`)
    expect(again.json).toMatchObject({ create: 0, update: 0, same: 3 })
  })

  it('refuses a digest whose file or records have changed since', async () => {
    const crm = await hubspot({ companies: 3, contacts: 0 })
    const file = csv('companies.csv', 'domain,industry', 'company-1.example,Retail')
    const { digest } = (await push(`${file} --dry-run`)).json as { digest: string }
    crm.companies.change(crm.companies.live()[1]?.id ?? '', { industry: 'INTERNET' })
    const result = await push(`${file} --apply ${digest}`)
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining('have changed')])
    const other = (await push(`${file} --dry-run`)).json as { digest: string }
    csv('companies.csv', 'domain,industry', 'company-2.example,Retail')
    expect((await push(`${file} --apply ${other.digest}`)).code).toBe(2)
  })

  it('keeps what others have filled since the records were read', async () => {
    const crm = await hubspot({ companies: 4, contacts: 0 })
    const file = csv(
      'companies.csv',
      'domain,industry,city',
      'new.example,Retail,Bonn',
      'company-1.example,Retail,Bonn',
      'company-2.example,Retail,',
    )
    const id = (at: number) => crm.companies.live()[at]?.id ?? ''
    const others = () => {
      crm.companies.change(id(1), { industry: 'INTERNET' })
      crm.companies.change(id(2), { industry: 'MACHINERY' })
    }
    crm.at({ write: 1, path: /create/ }, { after: others })
    const result = await push(`${file} --yes`)
    expect(result.code).toBe(0)
    const fields = crm.companies.live().map(({ fields: { industry, city } }) => [industry, city])
    expect(fields.slice(1, 3)).toEqual([
      ['INTERNET', 'Bonn'],
      ['MACHINERY', undefined],
    ])
    expect((await own.run('push undo --last --yes --json')).json).toMatchObject({
      restored: 1,
      archived: 1,
      kept: [],
    })
    expect(crm.companies.live()[1]?.fields).toMatchObject({ industry: 'INTERNET' })
    expect(crm.companies.live()[1]?.fields.city).toBeUndefined()
  })

  it('changes filled fields only with overwrite, and only those that are named', async () => {
    const crm = await hubspot({ companies: 2, contacts: 0 })
    const file = csv('companies.csv', 'domain,industry,headcount', 'company-0.example,Internet,999')
    expect((await push(`${file} --mode overwrite --dry-run`)).code).toBe(2)
    expect((await pushed(`${file} --mode overwrite --fields industry`)).code).toBe(0)
    expect(crm.companies.live()[0]?.fields).toMatchObject({ industry: 'INTERNET' })
    expect(crm.companies.live()[0]?.fields.numberofemployees).toBeUndefined()
    await pushed(`${file} --mode create`)
    expect(crm.companies.live()[0]?.fields.numberofemployees).toBeUndefined()
  })

  it('creates people with their companies, and gives neither twice', async () => {
    const crm = await hubspot({ companies: 2, contacts: 2 })
    const file = csv(
      'people.csv',
      'email,first_name,last_name,title,company_name,company_domain',
      'jo@new.example,Jo,New,CEO,New Ltd,new.example',
      'al@new.example,Al,New,CTO,New Ltd,new.example',
      'ed@company-1.example,Ed,One,CFO,Company 1,company-1.example',
    )
    const result = await pushed(file)
    expect([result.code, result.json]).toEqual([
      0,
      expect.objectContaining({ create: 3, new_companies: 1, associated: 3 }),
    ])
    expect(crm.companies.live()).toHaveLength(3)
    const of = (email: string) => crm.companiesOf(crm.contacts.owner('email', email)?.id ?? '')
    expect(of('jo@new.example')).toEqual(of('al@new.example'))
    expect(of('ed@company-1.example')).toEqual([crm.companies.live()[1]?.id])
    expect((await pushed(file)).json).toMatchObject({ create: 0, same: 3, push: null })
  })

  it('does not take a success for done in which nothing was written', async () => {
    const crm = await hubspot({ companies: 1, contacts: 0 })
    crm.at(
      { write: 1, path: /associate/ },
      { refuse: { status: 207, body: { status: 'COMPLETE', results: [], numErrors: 1, errors: [{}] } } },
    )
    const file = csv(
      'people.csv',
      'email,first_name,company_domain',
      'jo@company-0.example,Jo,company-0.example',
    )
    const result = await pushed(`${file} --rejects rejects.csv`)
    expect([result.code, result.json]).toEqual([11, expect.objectContaining({ create: 1, refused: 1 })])
    expect(readFileSync(own.path('rejects.csv'), 'utf8')).toContain('did not give the person this company')
    expect((await pushed(file)).json).toMatchObject({ same: 1, associated: 1, refused: 0 })
  })

  it('writes nobody who is suppressed or has opted out, and asks a person about what may be one', async () => {
    await loadSample(own.home)
    const crm = await hubspot({ companies: 0, contacts: 50 })
    await own.run('suppress add out@here.example')
    const optedOut = crm.contacts.live()[49]
    crm.contacts.add({ firstname: 'Sam', lastname: 'Hill', company: 'Acme' })
    crm.contacts.add({ firstname: 'Sam', lastname: 'Hill', company: 'Acme' })
    const before = crm.contacts.snapshot()
    const file = csv(
      'people.csv',
      'email,first_name,last_name,title,company_name',
      'out@here.example,Ann,Out,CEO,',
      `${optedOut?.fields.email},Opted,Out,CEO,`,
      ',Sam,Hill,CEO,Acme',
      ',,,CEO,',
    )
    const result = await pushed(`${file} --review review.csv --rejects rejects.csv`)
    expect(result.code).toBe(11)
    expect(result.json).toMatchObject({ suppressed: 2, review: 1, invalid: 1, create: 0, update: 0 })
    expect(crm.contacts.diff(before)).toEqual([])
    expect(readFileSync(own.path('review.csv'), 'utf8')).toMatch(/Sam,Hill.*record/)
    expect(readFileSync(own.path('rejects.csv'), 'utf8')).toContain('says whom')
  })

  it('writes nobody one of whose other addresses is suppressed', async () => {
    const crm = await hubspot({ companies: 2, contacts: 3 })
    const second = 'second@private.example'
    crm.contacts.change(crm.contacts.live()[1]?.id ?? '', { hs_additional_emails: `a@b.example;${second}` })
    await own.run(['suppress', 'add', second.toUpperCase()])
    const before = crm.contacts.snapshot()
    const rows = ['grace.1@company-1.example,Admiral', 'alan.2@company-0.example,Logician']
    const file = csv('people.csv', 'email,title', ...rows)
    expect((await push(`${file} --yes`)).json).toMatchObject({ suppressed: 1, update: 1 })
    expect(crm.contacts.diff(before).map(({ after }) => after?.email)).toEqual(['alan.2@company-0.example'])
  })

  it('writes the domain of a company, and not the address of a page, where a property takes nothing else', async () => {
    const crm = await hubspot({ companies: 0, contacts: 0 })
    const people = csv('people.csv', 'first_name,email,Website', 'Jo,jo@one.example,www.One.example/about')
    const shown = await push(`${people} --dry-run`)
    expect(shown.json).toMatchObject({ unused: [], company_columns: ['Website'] })
    await push(`${people} --yes`)
    await push(`${csv('companies.csv', 'name,domain', 'Two,http://www.two.example/')} --yes`)
    expect(crm.companies.live().map(({ fields }) => fields.domain)).toEqual(['one.example', 'two.example'])
  })

  it('is about a record once in a file of several hundred rows', async () => {
    const crm = await hubspot({ companies: 2, contacts: 2 })
    const id = crm.contacts.live()[1]?.id
    const others = Array.from({ length: 600 }, (_, at) => `,p.${at}@new.example,Clerk`)
    const rows = [`${id},,Admiral`, ...others, ',grace.1@company-1.example,Captain']
    const file = csv('people.csv', '_crm_id,email,title', ...rows)
    expect((await push(`${file} --dry-run`)).json).toMatchObject({ create: 600, update: 1, repeated: 1 })
  })

  it('leaves out what a property does not take, and refuses a property that is not there', async () => {
    await hubspot({ companies: 1, contacts: 0 })
    const file = csv('companies.csv', 'domain,industry,headcount,Note', 'a.example,Alchemy,51-200,x')
    expect((await push(`${file} --dry-run`)).json).toMatchObject({
      create: 1,
      left_out: { industry: 1, numberofemployees: 1 },
      unused: ['Note'],
    })
    const wrong = await push(`${file} --map descripton=Note --dry-run`)
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('description')])
    const readOnly = await push(`${file} --map createdate=Note --dry-run`)
    expect([readOnly.code, readOnly.stderr]).toEqual([2, expect.stringContaining('createdate')])
  })

  it('finds the rows that refuse a batch, writes all others, and says what the CRM said', async () => {
    const crm = await hubspot({
      companies: 0,
      contacts: 0,
      refusesBatches: true,
      erased: ['p7@gone.example', 'p41@gone.example'],
    })
    const people = Array.from({ length: 60 }, (_, at) => `p${at}@gone.example,P${at}`)
    const file = csv('people.csv', 'email,first_name', ...people)
    const result = await pushed(`${file} --rejects rejects.csv`)
    expect([result.code, result.json]).toEqual([11, expect.objectContaining({ refused: 2 })])
    expect(crm.contacts.live()).toHaveLength(58)
    const rejects = readFileSync(own.path('rejects.csv'), 'utf8')
    expect(rejects).toContain('p7@gone.example,P7,Email address p7@gone.example was permanently deleted')
    expect(rejects.trim().split('\n')).toHaveLength(3)
  })

  it('tells the failures of single records in a batch that was written otherwise', async () => {
    const crm = await hubspot({ companies: 0, contacts: 0, erased: ['p1@gone.example'] })
    const file = csv('people.csv', 'email', 'p0@gone.example', 'p1@gone.example', 'p2@gone.example')
    const result = await pushed(file)
    expect([result.code, crm.contacts.live().length]).toEqual([11, 2])
  })

  it('takes mapping, words for options and owner from a file, and refuses settings that there are not', async () => {
    const crm = await hubspot({ companies: 0, contacts: 0 })
    const file = csv('companies.csv', 'domain,Sector', 'a.example,Shops')
    csv(
      'push.yaml',
      'owner: john@us.example',
      'map: { industry: Sector }',
      'values: { industry: { shops: RETAIL } }',
    )
    expect((await pushed(`${file} --settings push.yaml`)).code).toBe(0)
    expect(crm.companies.live()[0]?.fields).toMatchObject({ industry: 'RETAIL', hubspot_owner_id: '502' })
    csv('wrong.yaml', 'modus: fill')
    const wrong = await push(`${file} --settings wrong.yaml --dry-run`)
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('modus')])
    const nobody = await push(`${file} --owner nobody@us.example --dry-run`)
    expect([nobody.code, nobody.stderr]).toEqual([2, expect.stringContaining('jane@us.example')])
  })

  it('shows at a terminal what it would write, and writes after a yes only', async () => {
    const crm = await hubspot({ companies: 1, contacts: 0 })
    const file = csv('companies.csv', 'domain,industry', 'new.example,Retail')
    const no = await own.run(`push ${file} --to hubspot`, { typed: [['Write to', '\r']] })
    expect([no.code, crm.companies.live().length]).toEqual([16, 1])
    expect(no.stderr).toContain('LIVE')
    const yes = await own.run(`push ${file} --to hubspot`, { typed: [['Write to', 'y\r']] })
    expect([yes.code, crm.companies.live().length]).toEqual([0, 2])
  })

  it('is one at a time for an account', async () => {
    const crm = await hubspot({ companies: 1, contacts: 0 })
    const file = csv('companies.csv', 'domain,industry', 'new.example,Retail')
    let second: number | undefined
    const meanwhile = async () => {
      second = (await push(`${file} --yes`)).code
    }
    crm.at({ write: 1, path: /create/ }, { before: meanwhile })
    const first = await push(`${file} --yes`)
    expect([first.code, second, crm.companies.live().length]).toEqual([0, 15, 2])
  })

  it('refuses more new records than --max-creates permits', async () => {
    const crm = await hubspot({ companies: 0, contacts: 0 })
    const file = csv('companies.csv', 'domain', 'a.example', 'b.example')
    const result = await push(`${file} --max-creates 1 --yes`)
    expect([result.code, crm.companies.live().length]).toEqual([12, 0])
  })

  it('stops at the limit of a day, and the same command goes on tomorrow without a second record', async () => {
    const crm = await hubspot({ companies: 0, contacts: 0, daily: 24 })
    const file = csv(
      'people.csv',
      'first_name,last_name,company_name',
      ...Array.from({ length: 30 }, (_, at) => `N${at},Smith,Acme`),
    )
    const { digest } = (await push(`${file} --dry-run`)).json as { digest: string }
    const stopped = await push(`${file} --apply ${digest}`)
    expect(stopped.code).toBe(12)
    const some = crm.contacts.live().length
    expect(some).toBeGreaterThan(0)
    expect(some).toBeLessThan(30)
    for (let day = 0; day < 5; day++) {
      crm.pass(86_400_000)
      if ((await push(`${file} --apply ${digest}`)).code === 0) break
    }
    expect(crm.contacts.live()).toHaveLength(30)
    expect(crm.contacts.duplicates('firstname')).toEqual([])
  })

  it('stops at once where a permission is missing, and names it', async () => {
    const crm = await hubspot({
      companies: 0,
      contacts: 0,
      scopes: [
        'crm.objects.contacts.read',
        'crm.objects.companies.read',
        'crm.schemas.contacts.read',
        'crm.schemas.companies.read',
      ],
    })
    const file = csv('companies.csv', 'domain', 'a.example', 'b.example')
    const result = await push(`${file} --yes`)
    expect([result.code, result.stderr]).toEqual([3, expect.stringContaining('crm.objects.companies.write')])
    expect(crm.companies.live()).toEqual([])
  })

  it('creates no second record when the answers to its requests are lost', async () => {
    const crm = await hubspot({ companies: 3, contacts: 0 })
    crm.at({ write: 1, path: /create/ }, { cut: 'after' })
    crm.at({ write: 3, path: /create/ }, { cut: 'before' })
    const file = csv('companies.csv', 'name,domain', 'A,a.example', 'B,b.example', 'C,c.example')
    const result = await push(`${file} --yes`)
    expect([result.code, crm.companies.live().length]).toEqual([0, 6])
    expect(crm.companies.duplicates('domain')).toEqual([])
  })

  it('knows what it created also where the CRM spells values otherwise', async () => {
    const crm = await hubspot({ companies: 0, contacts: 0 })
    const spell = () => {
      const [created] = crm.companies.live()
      crm.companies.change(created?.id ?? '', { domain: 'A.example', numberofemployees: '12.0' })
    }
    crm.at({ write: 1, path: /create/ }, { after: spell })
    crm.at({ write: 1, path: /create/ }, { cut: 'after' })
    const file = csv('companies.csv', 'name,domain,headcount', 'A,a.example,12')
    expect((await push(`${file} --yes`)).code).toBe(0)
    expect(crm.companies.live()).toHaveLength(1)
  })

  it('creates companies in batches once the account has our key', async () => {
    const crm = await hubspot({ companies: 0, contacts: 0 }, '--create-key')
    const file = csv('companies.csv', 'domain', ...Array.from({ length: 150 }, (_, at) => `c${at}.example`))
    crm.at({ write: 1, path: /create/ }, { cut: 'after' })
    const result = await push(`${file} --yes`)
    expect([result.code, crm.companies.live().length]).toEqual([0, 150])
    expect(crm.count(/companies\/batch\/create/)).toBeLessThan(5)
  })
})

describe('prospect crm export', () => {
  it('writes a table that is enriched and pushed back to the same records by their ids', async () => {
    const crm = await hubspot({ companies: 3, contacts: 0 })
    await own.run('crm pull')
    const { stdout } = await own.run('crm export hubspot companies --format csv')
    expect(stdout.split('\n')[0]).toMatch(
      /^_crm_id,name,domain,website,linkedin_company_page,.*lifecyclestage$/,
    )
    const filled = stdout.replaceAll('.example', '.moved.example').split('\n')
    const at = filled[0]?.split(',').indexOf('city') ?? 0
    const rows = filled.slice(1, 4).map((line) => line.split(',').with(at, 'Berlin').join(','))
    const file = csv('edited.csv', filled[0] ?? '', ...rows)
    expect((await pushed(file)).json).toMatchObject({ kind: 'companies', create: 0, update: 3 })
    expect(crm.companies.live().map(({ fields }) => [fields.domain, fields.city])).toEqual(
      [0, 1, 2].map((one) => [`company-${one}.example`, 'Berlin']),
    )
  })
})

describe('a flow whose output is a CRM', () => {
  it('writes its rows once, with their owner and its own mapping', async () => {
    await loadSample(own.home)
    const crm = await hubspot({ companies: 0, contacts: 0 })
    csv('in.csv', 'Website', 'acme-robotics.example')
    const flow = {
      name: 'enrich',
      input: { csv: 'in.csv' },
      steps: ['accounts.enrich', { set: { size: 'headcount > 5 ? "large" : "small"' } }],
      output: { hubspot: { map: { founded_year: 'size' }, owner: 'jane@us.example' } },
    }
    writeFileSync(own.path('flow.yaml'), JSON.stringify(flow))
    const result = await own.run('flow run flow.yaml --yes')
    expect([result.code, result.stderr]).toEqual([0, expect.stringContaining('1 created')])
    expect(crm.companies.live().map(({ fields }) => fields)).toEqual([
      expect.objectContaining({
        domain: 'acme-robotics.example',
        name: 'Acme Robotics GmbH',
        founded_year: 'large',
        hubspot_owner_id: '501',
      }),
    ])
    expect(result.stderr).not.toContain('To write this')
    await own.run('flow run flow.yaml --yes')
    await own.run('flow run flow.yaml --yes --fresh')
    expect(crm.companies.live()).toHaveLength(1)
  })
})

describe('a flow whose output is a CRM that does not take some rows', () => {
  it('writes the others, says why, and ends with exit code 11', async () => {
    await loadSample(own.home)
    const crm = await fakeSalesforce({ companies: 0, contacts: 0 })
    onTestFinished(crm.close)
    await own.run(`crm connect salesforce --base-url ${crm.origin} --allow-target 127.0.0.1 --key-stdin`, {
      stdin: salesforceKey,
    })
    csv('in.csv', 'Website', 'acme-robotics.example', 'nobody-knows.example')
    const flow = {
      name: 'enrich',
      input: { csv: 'in.csv' },
      steps: ['accounts.enrich'],
      output: { salesforce: { unknown: true } },
    }
    writeFileSync(own.path('flow.yaml'), JSON.stringify(flow))
    const result = await own.run('flow run flow.yaml --yes')
    expect([result.code, result.stderr]).toEqual([11, expect.stringContaining('1 created · 1 invalid')])
    expect(result.stderr).toContain('salesforce takes no new record without Name')
    expect(crm.accounts.live()).toHaveLength(1)
  })
})

describe('a CRM beside an engine on PostgreSQL', () => {
  it('is read, written and undone there, for all machines that share it', async () => {
    const crm = await fakeHubspot({ companies: 120, contacts: 30 })
    const schema = await emptySchema()
    onTestFinished(async () => {
      await schema.drop()
      await crm.close()
    })
    const env = { PROSPECT_DATABASE_URL: schema.url }
    const run = (line: string, stdin = '') => own.run(line, { env, stdin })
    const target = `--base-url ${crm.origin} --allow-target 127.0.0.1`
    expect((await run(`crm connect hubspot ${target} --key-stdin`, hubspotKey)).code).toBe(0)
    const before = [crm.companies.snapshot(), crm.contacts.snapshot()] as const
    const file = csv(
      'people.csv',
      'email,first_name,title,company_domain',
      'jo@new.example,Jo,CEO,new.example',
      'ada.0@company-0.example,Ada,Countess,company-0.example',
      'grace.1@company-1.example,Grace,Admiral,company-1.example',
    )
    crm.at({ write: 1, path: /create/ }, { cut: 'after' })
    const result = await run(`push ${file} --to hubspot --yes --json`)
    expect([result.code, result.json]).toEqual([
      0,
      expect.objectContaining({ create: 1, update: 1, same: 1 }),
    ])
    expect((await run('match people.csv --with crm:hubspot --format csv')).stdout).toContain(
      'yes,email,crm:hubspot',
    )
    const undone = await run('push undo --last --yes --json')
    expect([undone.code, undone.json]).toEqual([0, expect.objectContaining({ archived: 2, restored: 1 })])
    expect([crm.companies.diff(before[0]), crm.contacts.diff(before[1])]).toEqual([[], []])
    expect((await run('data purge --older-than 0s --yes --json')).json).toMatchObject({ pushes: 1 })
  })
})

describe('prospect push undo', () => {
  it('restores what was filled, archives what was created, and keeps what others have touched', async () => {
    const crm = await hubspot({ companies: 6, contacts: 0 })
    const before = crm.companies.snapshot()
    const file = csv(
      'companies.csv',
      'name,domain,industry,headcount',
      'Company 1,company-1.example,Retail,',
      'Company 2,company-2.example,Retail,',
      'New,new.example,Internet,5',
      'Other,other.example,Internet,5',
    )
    await push(`${file} --yes`)
    const idOf = (domain: string) =>
      crm.companies.live().find(({ fields }) => fields.domain === domain)?.id ?? ''
    crm.companies.change(idOf('company-2.example'), { industry: 'MACHINERY' })
    crm.companies.change(idOf('other.example'), { phone: '+33612345678' })
    const touched = [idOf('company-2.example'), idOf('other.example')]
    const result = await own.run('push undo --last --yes --json')
    expect(result.code).toBe(11)
    expect(result.json).toMatchObject({ restored: 1, archived: 1 })
    const { kept } = result.json as { kept: { record: string }[] }
    expect(kept.map(({ record }) => record).sort()).toEqual(touched.sort())
    expect(
      crm.companies
        .diff(before)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(touched.sort())
    expect(await own.json('push list')).toMatchObject([{ state: 'undone', written: 4 }])
  })

  it('takes people from companies that it gave them', async () => {
    const crm = await hubspot({ companies: 2, contacts: 2 })
    const before = [crm.companies.snapshot(), crm.contacts.snapshot()] as const
    const file = csv('people.csv', 'email,first_name,company_domain', 'jo@new.example,Jo,new.example')
    await push(`${file} --yes`)
    const result = await own.run('push undo --last --yes --json')
    expect([result.code, result.json]).toEqual([0, expect.objectContaining({ archived: 2, dissociated: 1 })])
    expect([crm.companies.diff(before[0]), crm.contacts.diff(before[1])]).toEqual([[], []])
  })
})
