import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { machine } from '../support/command.js'
import { fakeHubspot, hubspotKey, hubspotScopes } from '../support/crm/hubspot.js'
import { perTest } from '../support/each.js'
import { loadSample } from '../support/sample.js'

const own = perTest(machine)

const connect = (origin: string) =>
  own.run(`crm connect hubspot --base-url ${origin} --allow-target 127.0.0.1 --key-stdin --json`, {
    stdin: hubspotKey,
  })

describe('prospect crm connect', () => {
  it('says which account it is, that it is live, and stores the key where it is not shown', async () => {
    const crm = await fakeHubspot()
    const result = await connect(crm.origin)
    expect(result.json).toMatchObject({ crm: 'hubspot', is: 'LIVE', missing_scopes: [] })
    expect(result.stdout + result.stderr).not.toContain(hubspotKey)
    expect(await own.json('crm list')).toMatchObject([
      { crm: 'hubspot', is: 'LIVE', companies: 0, people: 0 },
    ])
    await crm.close()
  })

  it('says that a test account is one, and which scopes the key lacks', async () => {
    const scopes = hubspotScopes.filter((scope) => !/contacts.write|owners/.test(scope))
    const crm = await fakeHubspot({ accountType: 'DEVELOPER_TEST', scopes })
    const result = await connect(crm.origin)
    expect(result.json).toMatchObject({
      is: 'SANDBOX',
      missing_scopes: ['crm.objects.contacts.write', 'crm.objects.owners.read'],
    })
    expect(result.stderr).toContain('crm.objects.contacts.write')
    await crm.close()
  })

  it('stores no key that the account refuses', async () => {
    const crm = await fakeHubspot()
    const result = await own.run(
      `crm connect hubspot --base-url ${crm.origin} --allow-target 127.0.0.1 --key-stdin`,
      { stdin: 'wrong-key' },
    )
    expect(result.code).toBe(3)
    expect(result.stderr).toContain('does not accept the key')
    expect(await own.json('crm list')).toEqual([])
    await crm.close()
  })

  it('sends the key to no internal address that was not allowed, nor over http', async () => {
    const crm = await fakeHubspot()
    const plain = await own.run(`crm connect hubspot --base-url ${crm.origin} --key-stdin`, { stdin: 'key' })
    expect([plain.code, crm.count()]).toEqual([2, 0])
    const other = `crm connect hubspot --base-url ${crm.origin} --allow-target 10.0.0.0/8 --key-stdin`
    const blocked = await own.run(other, { stdin: 'key' })
    expect([blocked.code, crm.count()]).toEqual([2, 0])
    expect(blocked.stderr).toContain('--allow-target')
    await crm.close()
  })
})

describe('prospect crm pull', () => {
  it('reads all records from the list, and later only what has changed', async () => {
    const crm = await fakeHubspot({ contacts: 250, companies: 120 })
    await connect(crm.origin)
    const all = { whole: true, gone: 0, withheld: 0 }
    expect(await own.json('crm pull')).toEqual([
      { crm: 'hubspot', kind: 'companies', read: 120, records: 120, ...all },
      { crm: 'hubspot', kind: 'people', read: 250, records: 250, ...all },
    ])
    expect(crm.count(/search/)).toBe(0)
    const [changed] = crm.contacts.live()
    crm.contacts.change(changed?.id ?? '', { jobtitle: 'CEO' })
    crm.pass(60_000)
    const [, people] = (await own.json('crm pull')) as { read: number; whole: boolean }[]
    expect(people).toMatchObject({ read: 1, whole: false, records: 250 })
    await crm.close()
  })

  it('goes on where it was interrupted by the limit of a day', async () => {
    const crm = await fakeHubspot({ contacts: 1_000, companies: 0, daily: 16 })
    await connect(crm.origin)
    const stopped = await own.run('crm pull')
    expect(stopped.code).toBe(12)
    expect(stopped.stderr).toContain('used up')
    const before = crm.count(/contacts$/)
    crm.pass(86_400_000)
    const result = await own.run('crm pull --json')
    expect(result.json).toMatchObject([{ records: 0 }, { records: 1_000, whole: true }])
    expect(crm.count(/contacts$/) - before).toBeLessThan(10)
    await crm.close()
  })

  it('keeps to the pace that the account permits', async () => {
    const crm = await fakeHubspot({ contacts: 900, companies: 0, limit: 12, window: 300 })
    await connect(crm.origin)
    expect((await own.run('crm pull')).code).toBe(0)
    expect(crm.breaches()).toBeLessThan(3)
    await crm.close()
  })

  it('forgets records that are gone when all are read again', async () => {
    const crm = await fakeHubspot({ contacts: 5, companies: 1 })
    await connect(crm.origin)
    await own.run('crm pull')
    crm.contacts.archive(crm.contacts.live()[0]?.id ?? '')
    expect(await own.json('crm pull --all')).toMatchObject([{ gone: 0 }, { gone: 1, records: 4 }])
    await crm.close()
  })
})

describe('the mirror as a list', () => {
  it('says which rows are in the CRM, and with which ids', async () => {
    const crm = await fakeHubspot({ contacts: 10, companies: 5 })
    await connect(crm.origin)
    const list = 'name,domain\nCompany 3,company-3.example\nOther,other.example\n'
    writeFileSync(own.path('leads.csv'), list)
    const early = await own.run('match leads.csv --with crm:hubspot')
    expect([early.code, early.stderr]).toEqual([2, expect.stringContaining('crm pull')])
    await own.run('crm pull')
    const result = await own.run('match leads.csv --with crm:hubspot --take _crm_id,industry --format csv')
    const id = crm.companies.live()[3]?.id
    expect(result.stdout.split('\n').slice(0, 3)).toEqual([
      'name,domain,_match,_match_by,_match_file,_match_line,_crm_id,industry',
      `Company 3,company-3.example,yes,domain,crm:hubspot,,${id},RETAIL`,
      'Other,other.example,no,,,,,',
    ])
    await crm.close()
  })

  it('finds people by further addresses, and companies by further domains', async () => {
    const crm = await fakeHubspot({ contacts: 0, companies: 0 })
    crm.contacts.add({ email: 'ada@one.example', hs_additional_emails: 'ada@two.example;a@three.example' })
    crm.companies.add({ domain: 'one.example', hs_additional_domains: 'two.example' })
    await connect(crm.origin)
    await own.run('crm pull')
    writeFileSync(own.path('people.csv'), 'email\nada@two.example\n')
    expect((await own.run('match people.csv --with crm:hubspot --format csv')).stdout).toContain('yes,email')
    writeFileSync(own.path('companies.csv'), 'domain\ntwo.example\n')
    expect((await own.run('match companies.csv --with crm:hubspot --format csv')).stdout).toContain(
      'yes,domain',
    )
    await crm.close()
  })

  it('suppresses those who have opted out', async () => {
    await loadSample(own.home)
    const crm = await fakeHubspot({ contacts: 100, companies: 1 })
    await connect(crm.origin)
    await own.run('crm pull')
    expect(await own.json('suppress import crm:hubspot')).toMatchObject({ rows: 2, added: 4 })
    const out = crm.contacts.live()[49]?.fields.email
    expect((await own.run(`suppress check ${out}`)).code).toBe(13)
    await crm.close()
  })

  it('is without a person who was forgotten, and gone with what is purged', async () => {
    await loadSample(own.home)
    const crm = await fakeHubspot({ contacts: 3, companies: 1 })
    await connect(crm.origin)
    await own.run('crm pull')
    const [person] = crm.contacts.live()
    const email = String(person?.fields.email)
    const exported = await own.run(`data export --person ${email} --json`)
    expect(exported.stdout).toContain('crm_records')
    const forgotten = (await own.json(`data forget ${email} --yes`)) as { state: object }
    expect(forgotten.state).toMatchObject({ crm: 1 })
    expect(await own.json('crm list')).toMatchObject([{ people: 2 }])
    expect(await own.json('data purge --older-than 0 --yes')).toMatchObject({ crm_records: 3 })
    expect(await own.json('crm list')).toMatchObject([{ people: 0, companies: 0 }])
    await crm.close()
  })
})
