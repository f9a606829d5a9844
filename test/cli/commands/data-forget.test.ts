import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { openState } from '../../../src/storage/state/open.js'
import { eventsOver } from '../../../src/storage/state/webhook-inbox.js'
import { machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const jane = 'jane.zwolinska@acme.example'
const profile = 'https://www.network.example/in/jane-zwolinska-7'
const theirs = {
  full_name: 'Jane Zwolińska',
  first_name: 'Jane',
  last_name: 'Zwolińska',
  email: jane,
  personal_email: 'jz77@mail.example',
  network_profile_url: profile,
  network_id: 'ACwAAZwolinska0000000000000000000000001',
  phones: ['+33639980077', '+33170189900'],
  title: 'Head of Xylography',
  headline: 'Xylographer at large',
  company_domain: 'acme.example',
}
const colleague = {
  full_name: 'Paul Martin',
  email: 'paul.martin@acme.example',
  network_profile_url: 'https://www.network.example/in/paul-martin',
  // The switchboard of the company does not identify a person.
  phones: ['+33170189900'],
  title: 'Head of Sales',
  company_domain: 'acme.example',
}
const lines = (...records: readonly object[]) => records.map((one) => JSON.stringify(one)).join('\n')
const post = 'https://www.network.example/posts/42'

async function filled(...people: readonly object[]) {
  const add = async (kind: string, ...records: readonly object[]) => {
    const argv = ['data', 'import', kind, '-', '--from', 'ndjson']
    expect((await here.run(argv, { stdin: lines(...records) })).stderr).not.toContain('rejected')
  }
  await add(
    'companies',
    { name: 'Acme', domain: 'acme.example', description: `Write to ${jane}, or to us.` },
    { name: 'Other', domain: 'other.example' },
  )
  await add('people', theirs, ...people)
  await add('jobs', {
    job_title: 'Carver',
    company_domain: 'acme.example',
    date_posted: '2026-01-01',
    description: `Ask Jane Zwolińska (${jane.toUpperCase()}) or call +33 6 39 98 00 77.`,
    hiring_team: [{ name: 'Jane Zwolińska', network_url: profile }, { name: 'Paul Martin' }],
  })
  await add(
    'posts',
    {
      post_url: post,
      author_profile_url: profile,
      text: 'My thoughts on lino',
      engagers: [{ network_profile_url: profile }, { network_profile_url: colleague.network_profile_url }],
    },
    { post_url: 'https://www.network.example/posts/jane-zwolinska-7_lino', text: 'Lino' },
    {
      post_url: 'https://www.network.example/posts/43',
      author_profile_url: colleague.network_profile_url,
      text: `Thanks to Jane Zwolińska (${jane}) for the lino.`,
    },
  )
}

/** Bytes that no file may contain afterwards. */
const traces = [
  jane,
  'jz77@',
  'jane-zwolinska',
  '39980077',
  '9 98 00 77',
  'ACwAAZwolinska',
  'My thoughts',
  'Xylogra',
  'Zwoli',
  'xylogra',
  'zwoli',
]

/** Returns the words that files of this machine still contain. */
function left(words: readonly string[] = traces, files = /\.db(-wal|-shm)?$/): string[] {
  return readdirSync(here.home, { recursive: true, encoding: 'utf8' })
    .filter((name) => files.test(name))
    .flatMap((name) => {
      const bytes = readFileSync(join(here.home, name)).toString('latin1').toLowerCase()
      return words
        .filter((word) => bytes.includes(Buffer.from(word).toString('latin1').toLowerCase()))
        .map((word) => `${name}: ${word}`)
    })
}

const json = (...argv: string[]) => here.json<Record<string, never>>(...argv)

describe('data forget', () => {
  it('prints on a terminal what it would delete, and which files may still hold it', async () => {
    await filled()
    writeFileSync(join(here.home, 'people.backup'), JSON.stringify(theirs), { mode: 0o600 })
    const { code, stdout } = await here.run(['data', 'forget', jane, '--dry-run'], { terminal: true })
    expect([code, stdout]).toEqual([
      0,
      `Would delete 1 catalogue entry, 1 reaction to a post, 5 mentions in the catalogue.
These files contain their address, number or profile:
  ${join(here.home, 'people.backup')}
`,
    ])
  })

  it('deletes every trace of a person from the databases, and keeps everyone else', async () => {
    await filled(colleague)
    await json('engine', 'plan', 'set', 'Scale')
    await json('engine', 'members', 'set', 'me@localhost', '--consent-personal-email')
    const search = await here.json<unknown[]>('leads', 'advanced-search', '--job-titles', 'Head', '--wait')
    expect(search).toHaveLength(2)
    await json(
      'leads',
      'advanced-search',
      '--first-name',
      'jane',
      '--last-name',
      'Zwolińska',
      '--name',
      'Jane Zwolińska',
      '--wait',
    )
    await json('intents', 'post-engagers', '--post-url', post, '--wait')
    await json('intents', 'hiring', '--selected-titles', 'Carver', '--wait')
    const types = ['--enrichment-type', 'email,phone,personal_email']
    await json(
      ...'contacts waterfall --sync --network-url'.split(' '),
      profile,
      ...types,
      '--idempotency-key',
      'a',
    )
    const named = ['--first-name', 'Jane', '--last-name', 'Zwolinska', '--domain', 'acme.example']
    await json('contacts', 'waterfall', ...named, '--enrichment-type', 'email', '--custom', 'x=y', '--wait')
    await json('leads', 'enrich', '--network-url', profile, '--idempotency-key', `for-${jane}`)
    await json('contacts', 'reverse-lookup', 'jz77@mail.example', '--idempotency-key', 'b')
    await json('accounts', 'hiring', '--company-domain', 'acme.example', '--idempotency-key', 'c')
    const state = await openState(join(here.home, 'state.db'))
    const event = { path: 'p', receivedAt: Date.now(), event: 'x', search: null, verified: true, headers: {} }
    await eventsOver(state).keep({
      ...event,
      id: '1',
      body: JSON.stringify({ lead: { phones: ['+33639980077'] } }),
    })
    await eventsOver(state).keep({
      ...event,
      id: '2',
      body: JSON.stringify({ lead: { full_name: 'Paul Martin' } }),
    })
    await state.close()
    expect(left(['Zwoli', jane])).not.toEqual([])
    const before = await here.run(['data', 'export', 'people', '--format', 'ndjson'])

    const held = await here.json<{ stored: { table: string; data: unknown[] }[] }>(
      'data',
      'export',
      '--person',
      jane,
    )
    expect(JSON.stringify(held)).toContain('+33639980077')
    expect(JSON.stringify(held)).not.toMatch(/paul/i)
    const tables = [
      'people',
      'phones',
      'engagers',
      'posts',
      'jobs',
      'companies',
      'records',
      'replies',
      'events',
    ]
    expect(new Set(held.stored.map(({ table }) => table))).toEqual(new Set(tables))
    const text = await here.run([
      'data',
      'export',
      '--person',
      'Jane Zwolińska at acme.example',
      '--format',
      'table',
    ])
    expect(text.stdout).toContain('catalogue · people')

    const would = await json('data', 'forget', jane.toUpperCase(), '--dry-run')
    const report = await json('data', 'forget', jane.toUpperCase(), '--yes')
    expect(left()).toEqual([])
    expect(report).toMatchObject({
      dry_run: false,
      catalogue: { people: 1, phones: 2, engagements: 1, posts: 3, jobs: 1, companies: 1 },
      engine: { contacts: 2, records: 8, jobs: 3, replies: 4 },
      state: { events: 1, answers: 0 },
      remaining: [],
      files: [],
    })
    expect(would).toEqual({ ...report, dry_run: true, rewritten: [] })
    expect(await json('data', 'export', '--person', jane)).toMatchObject({ stored: [], files: [] })
    const after = await here.run(['data', 'export', 'people', '--format', 'ndjson'])
    expect(after.stdout).toBe(`${before.stdout.split('\n')[1]}\n`)
    expect(await here.run(['engine', 'ledger', 'verify'])).toMatchObject({ code: 0 })
    expect((await here.run(['events', 'list', '--format', 'ids'])).stdout).toBe('2\n')
    const jobs = await json('accounts', 'hiring', '--company-domain', 'acme.example')
    expect(jobs).toMatchObject({
      jobs: [
        {
          hiring_team: [{ name: 'Paul Martin' }],
          description: 'Ask [forgotten] ([forgotten]) or call [forgotten].',
        },
      ],
    })
    const still = await here.json<unknown[]>('leads', 'advanced-search', '--job-titles', 'Head', '--wait')
    expect(still).toMatchObject([{ lead: { full_name: 'Paul Martin' } }])
    expect((await here.run(['contacts', 'reverse-lookup', jane])).code).toBe(9)
  })

  it('removes a person from stored search results, whose number of leads stays', async () => {
    await filled(colleague)
    await json('leads', 'advanced-search', '--job-titles', 'Head', '--wait')
    await json('data', 'forget', jane, '--yes')
    const { searches } = await here.json<{ searches: { id: string }[] }>('searches', 'list', '--no-enriched')
    const found = await json('searches', 'get', searches[0]?.id ?? '')
    expect(found).toMatchObject({
      search: { leads_count: 2, status: 'FINISHED' },
      leads: [
        { lead: { full_name: 'Paul Martin' }, company: { description: 'Write to [forgotten], or to us.' } },
      ],
      pagination: { total_count: 1 },
    })
  })

  it('writes a run again without the person and without paying again', async () => {
    await filled(colleague)
    const rows = [profile, 'https://www.network.example/in/paul-martin', `${profile}/`]
    writeFileSync(join(here.home, 'in.csv'), ['network_url', ...rows, ''].join('\n'))
    const argv = ['leads', 'enrich', '--csv', 'in.csv', '-o', 'out.csv']
    expect(await here.run(argv)).toMatchObject({ code: 0 })
    const paid = await json('credits')
    const { state, files } = await here.json<{ state: object; files: string[] }>(
      'data',
      'forget',
      jane,
      '--yes',
    )
    expect(state).toEqual({ events: 0, answers: 1 })
    expect(files).toEqual([join(here.home, 'in.csv'), join(here.home, 'out.csv')])
    expect(left()).toEqual([])
    await here.run(argv)
    const written = await here.run(['leads', 'enrich', '--csv', 'in.csv', '-o', 'again.ndjson'])
    expect(written).toMatchObject({ code: 0 })
    const again = readFileSync(join(here.home, 'again.ndjson'), 'utf8')
    expect(
      again
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { full_name: null, _status: 'skipped', _error: 'forgotten', _credits: 1, _source: 'lookup' },
      { full_name: 'Paul Martin', _status: 'found' },
      { full_name: null, _status: 'skipped', _error: 'forgotten', _credits: 0, _source: 'duplicate' },
    ])
    expect(await json('credits')).toEqual(paid)
  })

  it('names every file that a run has written, and the copy of its pipe', async () => {
    await filled(colleague)
    const csv = `network_url\n${profile}\nnot a url\n`
    writeFileSync(join(here.home, 'in.csv'), csv)
    const enrich = (...more: string[]) => here.run(['leads', 'enrich', '--fail-on', 'none', ...more])
    await enrich('--csv', 'in.csv', '-o', 'first.csv')
    await enrich('--csv', 'in.csv', '-o', 'second.tsv', '--rejects', 'bad.csv')
    await here.run(['runs', 'export', '--last', '-o', 'third.ndjson'])
    expect(
      await here.run(['leads', 'enrich', '--csv', '-', '--fail-on', 'none'], { stdin: `${csv}also none\n` }),
    ).toMatchObject({
      code: 0,
    })
    const { files, found_in } = await here.json<{ files: string[]; found_in: string[] }>(
      'data',
      'forget',
      jane,
      '--yes',
    )
    const written = ['bad.csv', 'first.csv', 'first.rejects.csv', 'in.csv', 'second.tsv', 'third.ndjson']
    const [piped = ''] = readdirSync(join(here.home, 'runs'))
    expect(files).toEqual(
      [...written, join('runs', piped, 'stdin.csv')].map((name) => join(here.home, name)).sort(),
    )
    const without = ['bad.csv', 'first.rejects.csv'].map((name) => join(here.home, name))
    expect(found_in).toEqual(files.filter((file) => !without.includes(file)))
  })

  it('names the files that still have the person when it is asked again, a workbook too, and no others', async () => {
    await filled(colleague)
    writeFileSync(join(here.home, 'in.csv'), `network_url\n${profile}\n`)
    await here.run(['leads', 'enrich', '--csv', 'in.csv', '-o', 'out.csv'])
    await here.run(['runs', 'export', '--last', '-o', 'out.xlsx'])
    writeFileSync(join(here.home, 'other.csv'), 'network_url\nhttps://www.network.example/in/paul-martin\n')
    await here.run(['leads', 'enrich', '--csv', 'other.csv', '-o', 'other-out.csv'])
    const names = async (...options: string[]) =>
      (await here.json<{ files: string[] }>('data', 'forget', '--profile-url', profile, ...options)).files
    const all = ['in.csv', 'out.csv', 'out.xlsx'].map((name) => join(here.home, name))
    expect(await names('--yes')).toEqual(all)
    expect(await names('--dry-run')).toEqual(all)
    for (const file of all.slice(0, 2)) rmSync(file)
    expect(await names('--dry-run')).toEqual([join(here.home, 'out.xlsx')])
    rmSync(join(here.home, 'out.xlsx'))
    expect(await names('--dry-run')).toEqual([])
  })

  it('says where nothing is stored about a person, also to a script', async () => {
    await filled()
    const { code, stderr } = await here.run(['data', 'forget', 'typo@nowhere.example', '--yes'])
    expect([code, stderr]).toEqual([0, 'Nothing is stored about this person: check the spelling.\n'])
  })

  it('names backups that still contain the person', async () => {
    await filled()
    await here.run(['engine', 'backup', 'engine.bak', '--catalogue', 'catalogue.bak'])
    await here.run(['engine', 'status'])
    await here.run(['engine', 'backup', 'engine.bak', '--catalogue', 'catalogue.bak'])
    const { files } = await here.json<{ files: string[] }>('data', 'forget', jane, '--yes')
    expect(files).toEqual([join(here.home, 'catalogue.bak')])
  })

  it('finds a person by any spelling of the profile URL', async () => {
    await filled(colleague)
    const url = 'network.example/sales/lead/ACwAAZwolinska0000000000000000000000001,NAME_SEARCH'
    expect(await json('data', 'forget', '--profile-url', url, '--yes')).toMatchObject({
      catalogue: { people: 1 },
    })
    expect(left()).toEqual([])
  })

  it('deletes stored replies about an address that is not in the catalogue', async () => {
    const key = 'x-stranger@acme.example'
    await filled()
    await json('contacts', 'reverse-lookup', jane, '--idempotency-key', key)
    const { engine, catalogue } = await here.json<Record<string, object>>(
      'data',
      'forget',
      'stranger@acme.example',
      '--yes',
    )
    expect([engine, catalogue]).toMatchObject([{ replies: 0 }, { people: 0 }])
    expect(await json('data', 'forget', key, '--yes')).toMatchObject({
      engine: { replies: 1 },
      catalogue: { people: 0 },
    })
    expect(left([key])).toEqual([])
  })

  it('creates no database when there is none', async () => {
    expect(await here.run(['data', 'forget', jane, '--yes'])).toMatchObject({ code: 0 })
    expect(
      ['engine.db', 'catalogue.db', 'state.db'].filter((name) => existsSync(join(here.home, name))),
    ).toEqual([])
  })

  it.each([
    [[], 'No person is given'],
    [['jane'], 'neither an email address nor the URL'],
    [['--profile-url', jane], "not the URL of a person's profile"],
    [['https://www.network.example/company/acme'], 'neither an email address'],
    [[jane, '--profile-url', profile], 'Two people are given'],
  ])('refuses to forget %j', async (argv, told) => {
    const { code, stderr } = await here.run(['data', 'forget', ...argv])
    expect([code, stderr]).toEqual([2, expect.stringContaining(told)])
  })

  it('deletes nothing in a pipe without --yes, and exits with 2', async () => {
    await filled()
    const { code, stderr } = await here.run(['data', 'forget', jane])
    expect([code, stderr]).toEqual([2, expect.stringContaining('Add --yes')])
    expect(await json('data', 'stats')).toMatchObject({ people: 1 })
  })

  it('asks for confirmation at a terminal, and deletes nothing after a no', async () => {
    await filled()
    const typed: [string, string][] = [['This deletes 1 catalogue entry', '\r']]
    const { code, stderr } = await here.run(['data', 'forget', jane], { typed })
    expect([code, stderr]).toEqual([16, expect.stringContaining('Declined: nothing was changed.')])
    expect(await json('data', 'stats')).toMatchObject({ people: 1 })
  })

  it('exits 13 when a database is in use, and finishes when it is run again', async () => {
    await filled(colleague)
    const reader = openSqlite(join(here.home, 'catalogue.db'))
    const release = await new Promise<() => void>((resolve) => {
      void reader.read(async (connection) => {
        await connection.get('SELECT count(*) FROM people')
        await new Promise<void>((done) => resolve(done))
      })
    })
    const first = await here.run(['data', 'forget', jane, '--yes', '--json'])
    release()
    await reader.close()
    expect(first.code).toBe(13)
    expect(first.json).toMatchObject({ remaining: [join(here.home, 'catalogue.db')] })
    expect(first.stderr).toContain('another process')
    expect(await json('data', 'forget', jane, '--yes')).toMatchObject({
      catalogue: { people: 0 },
      remaining: [],
    })
    expect(left()).toEqual([])
  })
})
