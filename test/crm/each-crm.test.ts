import { describe, expect, it, onTestFinished } from 'vitest'
import { machine } from '../support/command.js'
import { connect, type OpenedCrm, openers, type Size } from '../support/crm/each.js'
import { perTest } from '../support/each.js'
import { random } from '../support/killed-batch.js'
import { launch, prospect } from '../support/processes.js'
import { loadSample } from '../support/sample.js'

const own = perTest(machine)

interface Report {
  readonly push: string
  readonly create: number
  readonly update: number
  readonly same: number
  readonly suppressed: number
  readonly refused: number
  readonly new_companies: number
  readonly calls: number
  readonly digest: string
}

async function connected(crm: keyof typeof openers, size?: Size): Promise<OpenedCrm> {
  const fake = await openers[crm](size)
  onTestFinished(fake.close)
  await connect(own, fake)
  await own.run(['crm', 'pull', crm])
  return fake
}

const names = ['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald', 'Radia', 'Tim', 'Margaret', 'Niklaus']

/** People who are there, at companies that are there, and as many who are not: half of them at a company that is not. */
function people(of: number): string {
  const rows = Array.from({ length: of }, (_, at) => {
    const first = names[at % 10] ?? ''
    const known = `company-${at % 10}.example`
    if (at % 2 === 0) return `${first},Known ${at},${first.toLowerCase()}.${at}@${known},Engineer,${known}`
    const domain = at % 4 === 1 ? known : `new-${at % 12}.example`
    return `New,Person ${at},new.${at}@${domain},CEO,${domain}`
  })
  return `first_name,last_name,email,title,company_domain\n${rows.join('\n')}\n`
}

const push = async (crm: string, ...more: string[]) =>
  own.run(['push', 'people.csv', '--to', crm, '--yes', '--json', ...more])

const each = Object.keys(openers) as (keyof typeof openers)[]

describe.each(each)('a push to %s', (crm) => {
  it('creates who is missing with their companies, fills what is empty, and changes nothing else', async () => {
    const fake = await connected(crm)
    own.write('people.csv', people(20))
    const before = fake.people.snapshot()
    const result = await push(crm)
    expect([result.code, result.stderr]).toEqual([0, expect.any(String)])
    const report = result.json as Report
    expect(report).toMatchObject({ create: 10, suppressed: 0, refused: 0 })
    // Of the ten who are there, four have a title.
    expect([report.update, report.same]).toEqual([6, 4])
    const changed = fake.people.diff(before)
    expect(changed.filter((one) => one.before === undefined)).toHaveLength(10)
    for (const { before: had, after } of changed)
      if (had) {
        expect(had[fake.title]).toBeUndefined()
        expect({ ...after, [fake.title]: undefined }).toEqual({ ...had, [fake.title]: undefined })
      }
    expect(fake.people.duplicates(fake.emailOf)).toEqual([])
    expect(fake.companies.duplicates(fake.domainOf)).toEqual([])
    expect(report.new_companies).toBe(
      new Set(fake.companies.page(10, 100).map(({ fields }) => fake.domainOf(fields))).size,
    )
    const again = await push(crm)
    expect(again.json).toMatchObject({ create: 0, update: 0, same: 20, push: null })
  })

  it('stores nobody again who was forgotten and is suppressed, and makes nobody of them twice', async () => {
    await loadSample(own.home)
    const fake = await connected(crm, { contacts: 5, companies: 2 })
    const [person] = fake.people.live()
    const email = fake.emailOf(person?.fields ?? {}) ?? ''
    own.write('people.csv', `first_name,last_name,email,title\nAda,Lovelace 0,${email},Countess\n`)
    expect((await push(crm, '--mode', 'overwrite', '--fields', 'title')).json).toMatchObject({ update: 1 })
    const forgotten = await own.run(['data', 'forget', email, '--suppress', '--yes', '--json'])
    expect(forgotten.json).toMatchObject({ found_in: [own.path('people.csv')] })
    const pulled = await own.run(['crm', 'pull', '--all', '--json'])
    expect(pulled.json).toMatchObject([{ withheld: 0 }, { records: 5, withheld: 1 }])
    expect(pulled.stderr).toContain('of 1 who are suppressed only the id is kept')
    const stored = async () => (await own.run(['data', 'export', '--person', email, '--json'])).stdout
    expect(await stored()).not.toContain('crm_records')
    expect((await own.run(['crm', 'export', crm, 'people', '--format', 'csv'])).stdout).not.toContain(email)
    own.write('people.csv', `first_name,last_name,email,city\nAda,Lovelace 0,${email},Paris\n`)
    const before = fake.people.snapshot()
    expect((await push(crm)).json).toMatchObject({ suppressed: 1, create: 0, update: 0 })
    expect(fake.people.diff(before)).toEqual([])
    expect(await stored()).not.toContain('crm_records')
  })

  it('knows somebody by the id alone who was suppressed when they were read, and makes them not twice later', async () => {
    const fake = await connected(crm, { contacts: 5, companies: 2 })
    const [person] = fake.people.live()
    const email = fake.emailOf(person?.fields ?? {}) ?? ''
    await own.run(['suppress', 'add', email])
    await own.run('crm pull --all')
    await own.run(['suppress', 'remove', email])
    own.write('people.csv', `first_name,last_name,email,city\nAda,Lovelace 0,${email},Paris\n`)
    const matched = await own.run([
      'match',
      'people.csv',
      '--with',
      `crm:${crm}`,
      '--take',
      '_crm_id',
      '--format',
      'csv',
    ])
    expect(matched.stdout).toContain(`yes,email,crm:${crm},,${person?.id}`)
    expect((await push(crm)).json).toMatchObject({ suppressed: 0, create: 0 })
    expect(fake.people.live()).toHaveLength(5)
    const exported = await own.run(['crm', 'export', crm, 'people', '--format', 'csv'])
    expect(exported.stdout).toContain(email)
  })

  it('leaves out an address that is none', async () => {
    const fake = await connected(crm, { contacts: 0, companies: 0 })
    const rows = ['first_name,last_name,email,mobile', 'Ada,One,nope,+4912345', 'Ada,Two,ada@x.example,']
    own.write('people.csv', `${rows.join('\n')}\n`)
    expect((await push(crm)).json).toMatchObject({ left_out: { [fake.email]: 1 } })
    expect(fake.people.live().map(({ fields }) => fake.emailOf(fields))).toEqual(['ada@x.example'])
  })

  it('creates a company once more that somebody has deleted since it was read', async () => {
    const fake = await connected(crm, { contacts: 0, companies: 3 })
    const gone = fake.companies.live()[1]
    fake.companies.archive(gone?.id ?? '')
    const rows = ['first_name,last_name,email,company_name,company_domain']
    for (const name of ['One', 'Two']) rows.push(`Ada,${name},${name}@x.example,Company 1,company-1.example`)
    own.write('people.csv', `${rows.join('\n')}\n`)
    const result = await push(crm)
    expect([result.code, result.json]).toMatchObject([0, { create: 2, new_companies: 1, associated: 2 }])
    expect(fake.companies.live().map(({ fields }) => fake.domainOf(fields))).toContain('company-1.example')
    expect((await push(crm)).json).toMatchObject({ same: 2, new_companies: 0, associated: 0 })
  })

  it('leaves somebody to review who was deleted since they were read, and creates them anew the next time', async () => {
    const fake = await connected(crm, { contacts: 3, companies: 1 })
    const [person] = fake.people.live()
    own.write('people.csv', `first_name,last_name,email\nAda,One,${fake.emailOf(person?.fields ?? {})}\n`)
    fake.people.archive(person?.id ?? '')
    const first = await push(crm, '--review', 'review.csv')
    expect([first.code, first.json]).toMatchObject([0, { review: 1, create: 0 }])
    expect(own.read('review.csv')).toContain(`the record ${person?.id} is no longer there`)
    expect((await push(crm)).json).toMatchObject({ review: 0, create: 1 })
  })

  it('knows beforehand which new records it does not take, and says why', async () => {
    const fake = await connected(crm, { contacts: 1, companies: 0 })
    own.write(
      'people.csv',
      'first_name,last_name,email\nAda,One,ada@x.example\n,,ada.0@company-0.example\n,,no@x.example\n',
    )
    const { digest, create, invalid } = await own.json<Report & { invalid: number }>(
      `push people.csv --to ${crm} --dry-run --json`,
    )
    expect([create, invalid]).toEqual(crm === 'hubspot' ? [2, 0] : [1, 1])
    const args = ['push', 'people.csv', '--to', crm, '--apply', digest, '--rejects', 'rejects.csv', '--json']
    const result = await own.run(args)
    expect([result.code, result.json]).toMatchObject([crm === 'hubspot' ? 0 : 11, { create, refused: 0 }])
    if (crm !== 'hubspot')
      expect(own.read('rejects.csv')).toContain(`no@x.example,${crm} takes no new record`)
    expect(fake.people.live()).toHaveLength(1 + create)
  })

  it('makes nobody twice who has no address, but a name and a company', async () => {
    const fake = await connected(crm, { contacts: 0, companies: 2 })
    const rows = [
      'first_name,last_name,email,company_domain',
      'Kim,One,,company-1.example',
      'Lea,Two,,new.example',
    ]
    own.write('people.csv', `${rows.join('\n')}\n`)
    expect((await push(crm)).json).toMatchObject({ create: 2, new_companies: 1 })
    expect((await push(crm)).json).toMatchObject({ create: 0, new_companies: 0 })
    expect([fake.people.live().length, fake.companies.live().length]).toEqual([2, 3])
  })

  it('tells namesakes at two companies apart when it is killed between them', async () => {
    const fake = await connected(crm, { contacts: 0, companies: 2 })
    const rows = [
      'first_name,last_name,email,company_domain',
      ...[0, 1].map((at) => `Kim,One,,company-${at}.example`),
    ]
    own.write('people.csv', `${rows.join('\n')}\n`)
    const args = ['push', 'people.csv', '--to', crm, '--yes', '--json']
    const child = launch(prospect, args, own.home, { PROSPECT_HOME: own.home })
    fake.at({ write: 2 }, { cut: 'before' })
    fake.at({ write: 2 }, { before: () => child.kill('SIGKILL') })
    await child
    expect((await push(crm)).code).toBe(0)
    expect(fake.people.live()).toHaveLength(2)
  })

  it('says that it is done when it is repeated with the digest of what it has written', async () => {
    const fake = await connected(crm, { contacts: 0, companies: 0 })
    own.write('people.csv', 'first_name,last_name,email\nAda,One,ada@x.example\n')
    const args = ['push', 'people.csv', '--to', crm, '--json']
    const { digest } = await own.json<Report>(`${args.join(' ')} --dry-run`)
    for (const create of [1, 0])
      expect((await own.run([...args, '--apply', digest])).json).toMatchObject({ create, refused: 0 })
    expect(fake.people.live()).toHaveLength(1)
    own.write('people.csv', 'first_name,last_name,email\nAda,One,ada@x.example\nAda,Two,two@x.example\n')
    expect((await own.run([...args, '--apply', digest])).code).toBe(2)
  })

  it('is undone: what it filled is empty, what it created is archived, and what others touched stays', async () => {
    const fake = await connected(crm)
    own.write('people.csv', people(20))
    const snapshots = [fake.people.snapshot(), fake.companies.snapshot()] as const
    const { push: id } = (await push(crm)).json as Report
    const theirs = fake.people.live().find(({ fields }) => fake.emailOf(fields) === 'new.1@company-1.example')
    fake.people.change(theirs?.id ?? '', { [fake.title]: 'Founder' })
    const undone = await own.run(['push', 'undo', id, '--yes', '--json'])
    expect([undone.code, undone.stderr]).toEqual([11, expect.any(String)])
    expect(undone.json).toMatchObject({
      restored: 6,
      archived: 9 + fake.companies.size - 10,
      kept: [{ record: theirs?.id }],
    })
    expect(fake.people.diff(snapshots[0]).map((one) => one.id)).toEqual([theirs?.id])
    expect(fake.companies.diff(snapshots[1])).toEqual([])
  })

  it('makes nothing twice when the connection is cut at any write, before or after it was done', async () => {
    const fake = await connected(crm)
    own.write('people.csv', people(20))
    const snapshot = fake.people.snapshot()
    const pick = random(Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000))
    for (let at = 1; at < 40; at += 1 + pick(6))
      fake.at({ write: at }, { cut: pick(2) === 0 ? 'before' : 'after' })
    for (let attempt = 0; attempt < 20; attempt++) if ((await push(crm)).code === 0) break
    expect(fake.people.diff(snapshot).filter((one) => one.before === undefined)).toHaveLength(10)
    expect(fake.people.duplicates(fake.emailOf)).toEqual([])
    expect(fake.companies.duplicates(fake.domainOf)).toEqual([])
  })
})
