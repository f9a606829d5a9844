import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { openState } from '../../../src/storage/state/open.js'
import { eventsOver } from '../../../src/storage/state/webhook-inbox.js'
import { ends, machine } from '../../support/command.js'
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
  await here.run('init')
  const add = async (kind: string, ...records: readonly object[]) => {
    const ended = await here.run(`data import ${kind} - --from ndjson`, { stdin: lines(...records) })
    expect(ended.stderr).not.toContain('rejected')
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
  ...'jz77@|jane-zwolinska|39980077|9 98 00 77|ACwAAZwolinska|My thoughts|Xylogra|Zwoli'.split('|'),
]

/** Returns the words that files of this machine still contain. */
function left(words: readonly string[] = traces, files = /\.db(-wal|-shm)?$/): string[] {
  return readdirSync(here.home, { recursive: true, encoding: 'utf8' })
    .filter((name) => files.test(name))
    .flatMap((name) => {
      const bytes = readFileSync(here.path(name)).toString('latin1').toLowerCase()
      return words
        .filter((word) => bytes.includes(Buffer.from(word).toString('latin1').toLowerCase()))
        .map((word) => `${name}: ${word}`)
    })
}

const json = (line: string) => here.json<Record<string, never>>(line)

describe('data forget', () => {
  it('prints on a terminal what it would delete, and which files may still hold it', async () => {
    await filled()
    here.write('people.backup', JSON.stringify(theirs), 0o600)
    const { code, stdout } = await here.run(`data forget ${jane} --dry-run`, { terminal: true })
    expect([code, stdout]).toEqual([
      0,
      `Would delete 1 catalogue entry, 1 reaction to a post, 2 posts, 3 mentions in other records.
These files contain their address, number or profile:
  ${here.path('people.backup')}
`,
    ])
  })

  it('deletes every trace of a person from the databases, and keeps everyone else', async () => {
    await filled(colleague)
    await json('engine plan set Scale')
    await json('engine members set me@localhost --consent-personal-email')
    const search = await here.json<unknown[]>('leads advanced-search --job-titles Head --wait')
    expect(search).toHaveLength(2)
    await json('leads advanced-search --first-name jane --last-name Zwolińska --name "Jane Zwolińska" --wait')
    await json(`intents post-engagers --post-url ${post} --wait`)
    await json('intents hiring --selected-titles Carver --wait')
    const types = '--enrichment-type email,phone,personal_email'
    await json(`contacts waterfall --sync --network-url ${profile} ${types} --idempotency-key a`)
    const named = '--first-name Jane --last-name Zwolinska --domain acme.example'
    await json(`contacts waterfall ${named} --enrichment-type email --custom x=y --wait`)
    await json(`leads enrich --network-url ${profile} --idempotency-key for-${jane}`)
    await json('contacts reverse-lookup jz77@mail.example --idempotency-key b')
    await json('accounts hiring --company-domain acme.example --idempotency-key c')
    const state = await openState(here.path('state.db'))
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
    const before = await here.run('data export people --format ndjson')

    const held = await here.json<{ stored: { table: string; data: unknown[] }[] }>(
      `data export --person ${jane}`,
    )
    expect(JSON.stringify(held)).toContain('+33639980077')
    expect(JSON.stringify(held)).not.toMatch(/paul/i)
    const tables = 'people phones engagers posts jobs companies records replies lookups events'
    expect(new Set(held.stored.map(({ table }) => table))).toEqual(new Set(tables.split(' ')))
    const text = await here.run('data export --person "Jane Zwolińska at acme.example" --format table')
    expect(text.stdout).toContain('catalogue · people')

    const would = await json(`data forget ${jane.toUpperCase()} --dry-run`)
    const report = await json(`data forget ${jane.toUpperCase()} --yes`)
    expect(left()).toEqual([])
    expect(report).toMatchObject({
      dry_run: false,
      catalogue: { people: 1, phones: 2, engagements: 1, posts: 2, mentions: 3 },
      engine: { contacts: 2, records: 5, jobs: 3, replies: 4, mentions: 4 },
      state: { events: 1, answers: 4 },
      remaining: [],
      files: [],
    })
    expect(would).toEqual({ ...report, dry_run: true, rewritten: [] })
    expect(await json(`data export --person ${jane}`)).toMatchObject({ stored: [], files: [] })
    const after = await here.run('data export people --format ndjson')
    expect(after.stdout).toBe(`${before.stdout.split('\n')[1]}\n`)
    expect(await here.run('engine ledger verify')).toMatchObject({ code: 0 })
    expect((await here.run('events list --format ids')).stdout).toBe('2\n')
    const jobs = await json('accounts hiring --company-domain acme.example')
    expect(jobs).toMatchObject({
      jobs: [
        {
          hiring_team: [{ name: 'Paul Martin' }],
          description: null,
        },
      ],
    })
    const still = await here.json<unknown[]>('leads advanced-search --job-titles Head --wait')
    expect(still).toMatchObject([{ lead: { full_name: 'Paul Martin' } }])
    expect((await here.run(`contacts reverse-lookup ${jane}`)).code).toBe(9)
  })

  it("empties a text of another person's record, and keeps the rest of it", async () => {
    const summary = `Assistant of ${jane}, or call 06 39 98 00 77.`
    await filled({ ...colleague, summary, headline: 'With Jane Zwolińska' })
    const before = await here.run('data export people --format ndjson')
    expect(await json(`data forget ${jane} --yes`)).toMatchObject({ catalogue: { people: 1, mentions: 4 } })
    const [, text = '{}'] = before.stdout.split('\n')
    const { summary: _, ...others } = JSON.parse(text) as Record<string, unknown>
    const after = await here.run('data export people --format ndjson')
    expect(JSON.parse(after.stdout)).toEqual(others)
    expect(left([jane, '98 00 77'])).toEqual([])
    const found = await here.json<unknown[]>('leads advanced-search --keyword assistant --wait')
    expect(found).toEqual([])
  })

  it('writes a run again without the person and without paying again', async () => {
    await filled(colleague)
    const rows = [profile, 'https://www.network.example/in/paul-martin', `${profile}/`]
    here.write('in.csv', ['network_url', ...rows, ''].join('\n'))
    const argv = 'leads enrich --csv in.csv -o out.csv'
    expect(await here.run(argv)).toMatchObject({ code: 0 })
    const paid = await json('credits')
    const { state, files } = await here.json<{ state: object; files: string[] }>(`data forget ${jane} --yes`)
    expect(state).toEqual({ events: 0, answers: 1, mentions: 0, crm: 0 })
    expect(files).toEqual([here.path('in.csv'), here.path('out.csv')])
    expect(left()).toEqual([])
    await here.run(argv)
    const written = await here.run('leads enrich --csv in.csv -o again.ndjson')
    expect(written).toMatchObject({ code: 0 })
    const again = here.read('again.ndjson')
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
    here.write('in.csv', csv)
    const enrich = (more: string) => here.run(`leads enrich --fail-on none ${more}`)
    await enrich('--csv in.csv -o first.csv')
    await enrich('--csv in.csv -o second.tsv --rejects bad.csv')
    await here.run('runs export --last -o third.ndjson')
    expect(
      await here.run('leads enrich --csv - --fail-on none', { stdin: `${csv}also none\n` }),
    ).toMatchObject({
      code: 0,
    })
    const { files, found_in } = await here.json<{ files: string[]; found_in: string[] }>(
      `data forget ${jane} --yes`,
    )
    const written = ['bad.csv', 'first.csv', 'first.rejects.csv', 'in.csv', 'second.tsv', 'third.ndjson']
    const [piped = ''] = readdirSync(here.path('runs'))
    expect(files).toEqual(
      [...written, join('runs', piped, 'stdin.csv')].map((name) => here.path(name)).sort(),
    )
    const without = ['bad.csv', 'first.rejects.csv'].map((name) => here.path(name))
    expect(found_in).toEqual(files.filter((file) => !without.includes(file)))
  })

  it('names the files that still have the person when it is asked again, a workbook too, and no others', async () => {
    await filled(colleague)
    here.write('in.csv', `network_url\n${profile}\n`)
    await here.run('leads enrich --csv in.csv -o out.csv')
    await here.run('runs export --last -o out.xlsx')
    here.write('other.csv', 'network_url\nhttps://www.network.example/in/paul-martin\n')
    await here.run('leads enrich --csv other.csv -o other-out.csv')
    const names = async (options: string) =>
      (await here.json<{ files: string[] }>(`data forget --profile-url ${profile} ${options}`)).files
    const all = ['in.csv', 'out.csv', 'out.xlsx'].map((name) => here.path(name))
    expect(await names('--yes')).toEqual(all)
    expect(await names('--dry-run')).toEqual(all)
    for (const file of all.slice(0, 2)) rmSync(file)
    expect(await names('--dry-run')).toEqual([here.path('out.xlsx')])
    rmSync(here.path('out.xlsx'))
    expect(await names('--dry-run')).toEqual([])
  })

  it('says where nothing is stored about a person, also to a script', async () => {
    await filled()
    const { code, stderr } = await here.run('data forget typo@nowhere.example --yes')
    expect([code, stderr]).toEqual([0, 'Nothing is stored about this person: check the spelling.\n'])
  })

  it('names backups that still contain the person', async () => {
    await filled()
    await here.run('engine backup engine.bak --catalogue catalogue.bak')
    await here.run('engine status')
    await here.run('engine backup engine.bak --catalogue catalogue.bak')
    const { files } = await here.json<{ files: string[] }>(`data forget ${jane} --yes`)
    expect(files).toEqual([here.path('catalogue.bak')])
  })

  it('creates no database when there is none', async () => {
    expect(await here.run(`data forget ${jane} --yes`)).toMatchObject({ code: 0 })
    expect(['engine.db', 'catalogue.db', 'state.db'].filter((name) => here.exists(name))).toEqual([])
  })

  it('deletes nothing in a pipe without --yes, and exits with 2', async () => {
    await filled()
    await ends(here.run(`data forget ${jane}`), 2, 'Add --yes')
    expect(await json('data stats')).toMatchObject({ people: 1 })
  })

  it('asks for confirmation at a terminal, and deletes nothing after a no', async () => {
    await filled()
    const typed: [string, string][] = [['This deletes 1 catalogue entry', '\r']]
    await ends(here.run(`data forget ${jane}`, { typed }), 16, 'Declined: nothing was changed.')
    expect(await json('data stats')).toMatchObject({ people: 1 })
  })

  it('exits 13 when a database is in use, and finishes when it is run again', async () => {
    await filled(colleague)
    const reader = openSqlite(here.path('catalogue.db'))
    const release = await new Promise<() => void>((resolve) => {
      void reader.read(async (connection) => {
        await connection.get('SELECT count(*) FROM people')
        await new Promise<void>((done) => resolve(done))
      })
    })
    const first = await here.run(`data forget ${jane} --yes --json`)
    release()
    await reader.close()
    expect(first.code).toBe(13)
    expect(first.json).toMatchObject({ remaining: [here.path('catalogue.db')] })
    expect(first.stderr).toContain('another process')
    expect(await json(`data forget ${jane} --yes`)).toMatchObject({
      catalogue: { people: 0 },
      remaining: [],
    })
    expect(left()).toEqual([])
  })
})
