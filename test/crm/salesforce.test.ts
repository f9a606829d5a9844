import { describe, expect, it, onTestFinished } from 'vitest'
import { machine } from '../support/command.js'
import { connect } from '../support/crm/each.js'
import type { Held } from '../support/crm/records.js'
import { fakeSalesforce, type SalesforceAccount, salesforceKey } from '../support/crm/salesforce.js'
import { perTest } from '../support/each.js'

const own = perTest(machine)

async function start(account?: SalesforceAccount) {
  const fake = await fakeSalesforce(account)
  onTestFinished(fake.close)
  return { ...fake, crm: 'salesforce', key: salesforceKey } as const
}

/** Starts an organisation to which the machine is connected. */
async function connected(account?: SalesforceAccount) {
  const crm = await start(account)
  await connect(own, crm)
  return crm
}

describe('prospect crm connect salesforce', () => {
  it('exchanges the key and secret of an app, and says which organisation it is', async () => {
    const result = await connect(own, await start())
    expect(result.json).toMatchObject({
      crm: 'salesforce',
      account: '00D000000000001EAA',
      name: 'Us',
      is: 'LIVE',
      missing_scopes: [],
    })
    expect(result.stdout + result.stderr).not.toContain('SALESFORCESECRET')
  })

  it.each([
    ['a sandbox', { isSandbox: true }],
    ['a developer edition', { edition: 'Developer Edition' }],
  ])('says that %s is one', async (_, account) => {
    expect((await connect(own, await start(account))).json).toMatchObject({ is: 'SANDBOX' })
  })

  it('wants the address of the organisation', async () => {
    const result = await own.run('crm connect salesforce --key-stdin', { stdin: salesforceKey })
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining('--base-url')])
  })

  it('stores no secret that Salesforce refuses', async () => {
    const crm = { ...(await start()), key: '3MVG9.consumer.key:wrong' }
    await expect(connect(own, crm)).rejects.toThrow(/exit 3: .*salesforce does not accept the key/)
    expect(await own.json('crm list')).toEqual([])
  })

  it('names the permissions that the user of the app lacks', async () => {
    const crm = await start({ readOnlyTypes: ['Contact'], hiddenTypes: ['Account'] })
    expect((await connect(own, crm)).json).toMatchObject({
      missing_scopes: ['Account: Read', 'Contact: Create', 'Contact: Edit'],
    })
  })

  it('says what an administrator has to permit where a key was created and cannot be seen', async () => {
    const crm = await start({ showsNewFields: false })
    await expect(connect(own, crm, '--create-key')).rejects.toThrow('field-level security')
  })
})

describe('prospect crm pull salesforce', () => {
  it('reads in the order of ids, over pages that are cut short, and later only what has changed', async () => {
    const crm = await connected({ contacts: 4_500, companies: 300, page: 900 })
    expect(await own.json('crm pull')).toMatchObject([
      { kind: 'companies', read: 300, records: 300, whole: true },
      { kind: 'people', read: 4_500, records: 4_500, whole: true },
    ])
    crm.contacts.change(crm.contacts.live()[7]?.id ?? '', { Title: 'CEO' })
    expect(await own.json('crm pull')).toMatchObject([
      { kind: 'companies', read: 0, whole: false },
      { kind: 'people', read: 1, records: 4_500, whole: false },
    ])
  })

  it('reads all that have changed at the same time, though more than a page', async () => {
    const crm = await connected({ contacts: 4_500, companies: 0 })
    await own.run('crm pull')
    for (const { id } of crm.contacts.live()) crm.contacts.change(id, { Title: 'CEO' })
    const [, people] = await own.json<unknown[]>('crm pull')
    expect(people).toMatchObject({ read: 4_500, whole: false })
  })

  it('goes on with a new session when the one it has ends', async () => {
    const crm = await connected({ contacts: 4_500, companies: 1 })
    crm.at({ request: 6 }, { before: crm.expire })
    expect((await own.run('crm pull')).code).toBe(0)
    expect(crm.count(/token$/)).toBe(3)
  })

  it('ends with exit code 12 when the requests of the day are used up, and goes on the next day', async () => {
    const crm = await connected({ contacts: 6_500, companies: 0, daily: 9 })
    const stopped = await own.run('crm pull')
    expect([stopped.code, stopped.stderr]).toEqual([
      12,
      expect.stringContaining('requests that salesforce permits'),
    ])
    crm.renew()
    const [, people] = await own.json<unknown[]>('crm pull')
    expect(people).toMatchObject({ records: 6_500, whole: true })
  })

  it('reads on where a field is hidden from the user', async () => {
    const crm = await start({ contacts: 5, companies: 1 })
    const at = crm.fields.Contact.findIndex(({ name }) => name === 'HasOptedOutOfEmail')
    crm.fields.Contact.splice(at, 1)
    expect((await connect(own, crm)).json).toMatchObject({
      missing_scopes: ['Contact.HasOptedOutOfEmail: Read'],
    })
    expect(await own.json('crm pull')).toMatchObject([{ records: 1 }, { records: 5 }])
  })
})

describe('prospect push to salesforce', () => {
  const push = (...more: string[]) =>
    own.run(['push', 'in.csv', '--to', 'salesforce', '--yes', '--json', ...more])
  const people = (count: number) =>
    `first_name,last_name,email\n${Array.from({ length: count }, (_, at) => `New,Person ${at},new.${at}@x.example`).join('\n')}\n`

  it('writes 200 records in a request where it has a key of its own, else one', async () => {
    const crm = await start({ contacts: 0, companies: 0 })
    await connect(own, crm, '--create-key')
    await own.run('crm pull')
    own.write('in.csv', people(450))
    expect((await push()).code).toBe(0)
    expect(crm.done.filter(({ isWrite }) => isWrite)).toHaveLength(3)
    expect(crm.contacts.duplicates('Prospect_Key__c')).toEqual([])
    expect(crm.contacts.live()).toHaveLength(450)
  })

  it('lists the records that a rule of the organisation refuses, in its words, and writes the others', async () => {
    const crm = await start({ contacts: 0, companies: 0, hasDuplicateRule: true })
    await connect(own, crm, '--create-key')
    await own.run('crm pull')
    // Somebody is faster.
    crm.at({ write: 1 }, { before: () => crm.contacts.add({ LastName: 'Faster', Email: 'new.1@x.example' }) })
    own.write('in.csv', people(3))
    const result = await push('--rejects', 'rejects.csv')
    expect([result.code, result.json]).toEqual([11, expect.objectContaining({ create: 2, refused: 1 })])
    expect(own.read('rejects.csv')).toContain(
      'new.1@x.example,DUPLICATES_DETECTED: Use one of these records?',
    )
    expect(crm.contacts.duplicates('Email')).toEqual([])
    expect(crm.contacts.live()).toHaveLength(3)
  })

  it('sends numbers as numbers, and leaves out what a restricted list does not have', async () => {
    const crm = await connected({ contacts: 0, companies: 0 })
    await own.run('crm pull')
    own.write(
      'in.csv',
      'name,website,industry,headcount\nOne,one.example,machinery,"1,200"\nTwo,two.example,Fishing,7\n',
    )
    expect((await push('--kind', 'companies')).json).toMatchObject({ create: 2, left_out: { Industry: 1 } })
    expect(crm.accounts.live().map(({ fields }) => [fields.Industry, fields.NumberOfEmployees])).toEqual([
      ['Machinery', 1_200],
      [undefined, 7],
    ])
  })

  it('goes on with a new session when the one it has ends during a push', async () => {
    const crm = await connected({ contacts: 0, companies: 0 })
    await own.run('crm pull')
    own.write('in.csv', people(4))
    crm.at({ write: 2 }, { before: crm.expire })
    expect((await push()).code).toBe(0)
    expect([crm.contacts.live().length, crm.contacts.duplicates('Email')]).toEqual([4, []])
  })

  it('stops when the requests of the day are used up, and goes on the next day without making anyone twice', async () => {
    const crm = await connected({ contacts: 0, companies: 0, daily: 22 })
    await own.run('crm pull')
    own.write('in.csv', people(20))
    const stopped = await push()
    expect([stopped.code, stopped.stderr]).toEqual([12, expect.stringContaining('used up')])
    expect(crm.contacts.live().length).toBeGreaterThan(0)
    crm.renew()
    await push()
    crm.renew()
    await push()
    expect([crm.contacts.live().length, crm.contacts.duplicates('Email')]).toEqual([20, []])
  })

  it('does not write to people who have opted out', async () => {
    const crm = await connected({ contacts: 50, companies: 1 })
    await own.run('crm pull')
    const { fields, id } = crm.contacts.page(49, 1)[0] as Held
    own.write('in.csv', `email,phone\n${fields.Email},+491234567\n`)
    expect((await push()).json).toMatchObject({ suppressed: 1, update: 0 })
    expect(crm.contacts.here(id).fields.Phone).toBeUndefined()
  })
})
