import { describe, expect, it, onTestFinished } from 'vitest'
import { machine } from '../support/command.js'
import { connect } from '../support/crm/each.js'
import { fakePipedrive, type PipedriveAccount, pipedriveKey } from '../support/crm/pipedrive.js'
import type { Held } from '../support/crm/records.js'
import { perTest } from '../support/each.js'

const own = perTest(machine)

async function start(account?: PipedriveAccount) {
  const fake = await fakePipedrive({ window: 300, ...account })
  onTestFinished(fake.close)
  return { ...fake, crm: 'pipedrive', key: pipedriveKey } as const
}

/** Starts an account to which the machine is connected. */
async function connected(account?: PipedriveAccount) {
  const crm = await start(account)
  await connect(own, crm)
  return crm
}

describe('prospect crm connect pipedrive', () => {
  it('says which company it is, and takes every account for a live one', async () => {
    const result = await connect(own, await start())
    expect(result.json).toEqual({
      crm: 'pipedrive',
      account: '7654',
      name: 'Us (us.pipedrive.com)',
      is: 'LIVE',
      missing_scopes: [],
    })
    expect(result.stdout + result.stderr).not.toContain(pipedriveKey)
  })

  it('stores no token that Pipedrive refuses', async () => {
    const crm = { ...(await start()), key: 'f'.repeat(40) }
    await expect(connect(own, crm)).rejects.toThrow(/exit 3: .*pipedrive does not accept the key/)
    expect(await own.json('crm list')).toEqual([])
  })

  it('says that no field of Pipedrive can be a key', async () => {
    await expect(connect(own, await start(), '--create-key')).rejects.toThrow('keeps no field unique')
  })
})

describe('prospect crm pull pipedrive', () => {
  it('costs twenty tokens for 500 records, and later only those that have changed are read', async () => {
    const crm = await connected({ contacts: 1_201, companies: 501 })
    const before = crm.spent()
    expect(await own.json('crm pull pipedrive')).toMatchObject([
      { kind: 'companies', read: 501, records: 501, whole: true },
      { kind: 'people', read: 1_201, records: 1_201, whole: true },
    ])
    expect(crm.spent() - before).toBe(5 * 20)
    const [first] = crm.persons.live()
    crm.persons.change(first?.id ?? '', { name: 'Ada Changed' })
    expect(await own.json('crm pull pipedrive')).toMatchObject([
      { kind: 'companies', read: 0, records: 501, whole: false },
      { kind: 'people', read: 1, records: 1_201, whole: false },
    ])
    expect(crm.spent() - before).toBe(7 * 20)
  })

  it('ends with exit code 12 when the tokens of the day are used up, and goes on the next day', async () => {
    const crm = await connected({ contacts: 1_500, companies: 0, tokens: 70 })
    const stopped = await own.run('crm pull pipedrive')
    expect([stopped.code, stopped.stderr]).toEqual([
      12,
      expect.stringContaining('tokens that pipedrive permits'),
    ])
    crm.pass(86_400_000)
    const before = crm.count()
    const [, people] = await own.json<unknown[]>('crm pull pipedrive')
    expect(people).toMatchObject({ records: 1_500, whole: true })
    // Two pages were there already; an account without companies is read again in one.
    expect(crm.count() - before).toBeLessThanOrEqual(3)
  })

  it('waits for the next window instead of being refused', async () => {
    const crm = await connected({ contacts: 3_000, companies: 0, limit: 4, window: 200 })
    expect((await own.run('crm pull pipedrive')).code).toBe(0)
    expect(crm.breaches()).toBe(0)
  })

  it('finds people by each of their addresses, and companies by their website', async () => {
    const crm = await connected({ contacts: 0, companies: 3 })
    const emails = [
      { value: 'ada@one.example', primary: true, label: 'work' },
      { value: 'ada@two.example', primary: false, label: 'home' },
    ]
    const ada = crm.persons.add({ name: 'Ada Lovelace', emails })
    await own.run('crm pull')
    own.write('people.csv', 'email\nada@two.example\nbob@two.example\n')
    const people = await own.run('match people.csv --with crm:pipedrive --take _crm_id --format csv')
    expect(people.stdout.split('\n').slice(1, 3)).toEqual([
      `ada@two.example,yes,email,crm:pipedrive,,${ada.id}`,
      'bob@two.example,no,,,,',
    ])
    own.write('companies.csv', 'domain\ncompany-2.example\n')
    const companies = await own.run('match companies.csv --with crm:pipedrive --format csv')
    expect(companies.stdout).toContain('yes,domain')
  })
})

describe('prospect push to pipedrive', () => {
  const push = (...more: string[]) =>
    own.run(['push', 'in.csv', '--to', 'pipedrive', '--yes', '--json', ...more])

  it('changes the first address of a person and keeps the others, with their labels', async () => {
    const crm = await connected({ contacts: 0, companies: 0 })
    const emails = [
      { value: 'ada@old.example', primary: true, label: 'work' },
      { value: 'ada@home.example', primary: false, label: 'home' },
    ]
    const { id } = crm.persons.add({ name: 'Ada Lovelace', emails })
    await own.run('crm pull')
    own.write(
      'in.csv',
      `_crm_id,first_name,email,mobile,phone\n${id},Ada,ada@new.example,+4912345,+4967890\n`,
    )
    const result = await push('--mode', 'overwrite', '--fields', 'email,mobile,phone')
    expect([result.code, result.stderr]).toEqual([0, expect.any(String)])
    expect(crm.persons.here(id).fields).toMatchObject({
      emails: [{ value: 'ada@new.example', primary: true, label: 'work' }, emails[1]],
      phones: [
        { value: '+4912345', label: 'mobile' },
        { value: '+4967890', label: 'work' },
      ],
    })
    await own.run(['push', 'undo', (result.json as { push: string }).push, '--yes'])
    expect(crm.persons.here(id).fields).toEqual({ name: 'Ada Lovelace', emails, phones: [] })
  })

  it('takes the name of an option, and leaves out what is none', async () => {
    const crm = await connected({ contacts: 0, companies: 0 })
    await own.run('crm pull')
    own.write(
      'in.csv',
      'name,website,industry,headcount\nOne,one.example,machinery,70\nTwo,two.example,Fishing,"1,200"\n',
    )
    const { json } = await push('--kind', 'companies')
    expect(json).toMatchObject({ create: 2, left_out: { industry: 1 } })
    expect(crm.organizations.live().map(({ fields }) => [fields.industry, fields.employee_count])).toEqual([
      [3, 70],
      [undefined, 1_200],
    ])
  })

  it('fills fields of the account itself', async () => {
    const code = 'a'.repeat(40)
    const crm = await connected({
      contacts: 0,
      companies: 1,
      fields: {
        organizations: [
          {
            field_code: code,
            field_name: 'Tier',
            field_type: 'enum',
            is_custom_field: true,
            options: [{ id: 31, label: 'Gold' }],
          },
        ],
      },
    })
    await own.run('crm pull')
    own.write('in.csv', 'domain,rank\ncompany-0.example,Gold\n')
    const { code: exit } = await push('--kind', 'companies', '--map', `${code}=rank`)
    expect([exit, crm.organizations.live()[0]?.fields[code]]).toEqual([0, 31])
  })

  it('stops when the tokens of the day are used up, and goes on the next day without making anyone twice', async () => {
    const crm = await connected({ contacts: 0, companies: 0, tokens: 260 })
    await own.run('crm pull')
    const rows = Array.from({ length: 20 }, (_, at) => `Ada,Person ${at},ada.${at}@x.example`)
    own.write('in.csv', `first_name,last_name,email\n${rows.join('\n')}\n`)
    const stopped = await push()
    expect([stopped.code, stopped.stderr]).toEqual([12, expect.stringContaining('used up')])
    expect(crm.persons.live().length).toBeGreaterThan(0)
    crm.pass(86_400_000)
    const { code } = await push()
    expect([code, crm.persons.live().length]).toEqual([0, 20])
    expect(crm.persons.duplicates('name')).toEqual([])
  })

  it('looks for a record whose answer was lost among those that have changed, and not in all of them', async () => {
    const crm = await connected({ contacts: 2_001, companies: 0 })
    await own.run('crm pull')
    own.write('in.csv', 'first_name,last_name,email\nAda,One,a@x.example\nAda,Two,b@x.example\n')
    const before = crm.spent()
    crm.at({ write: 1 }, { cut: 'after' })
    expect((await push()).json).toMatchObject({ create: 2 })
    expect(crm.persons.duplicates('name')).toEqual([])
    expect(crm.persons.live()).toHaveLength(2_003)
    // Two writes; at most twelve lists: fields, companies, people, and which company each has.
    expect(crm.spent() - before).toBeLessThanOrEqual(2 * 10 + 12 * 20)
  })

  it('writes nothing more once Pipedrive forbids it', async () => {
    const crm = await connected({ contacts: 0, companies: 0, forbidden: /^POST/ })
    await own.run('crm pull')
    own.write('in.csv', 'first_name,last_name,email\nAda,One,a@x.example\nAda,Two,b@x.example\n')
    const result = await push()
    expect([result.code, result.stderr]).toEqual([3, expect.stringContaining('does not permit this')])
    expect(crm.done.filter(({ isWrite }) => isWrite)).toHaveLength(1)
  })

  it('does not write to people who have unsubscribed', async () => {
    const crm = await connected({ contacts: 50, companies: 1 })
    await own.run('crm pull')
    const { fields, id } = crm.persons.page(49, 1)[0] as Held
    own.write('in.csv', `email,phone\n${(fields.emails as { value: string }[])[0]?.value},+491234567\n`)
    expect((await push()).json).toMatchObject({ suppressed: 1, update: 0 })
    expect(crm.persons.here(id).fields.phones).toBeUndefined()
  })
})
