import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { strToU8, zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { exitCodes } from '../../../../src/api/calls/exit-codes.js'
import { openSets } from '../../../../src/catalogue/open-data/sets.js'
import { ends, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(machine)

const published = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../../fixtures/open-data', name))
const put = (name: string, bytes: Uint8Array, day = '2026-05-01') => {
  writeFileSync(here.path(name), bytes)
  utimesSync(here.path(name), new Date(day), new Date(day))
}
/** Imports a file of a set as it was published on a day. */
const load = (file: string, more = '', day?: string) => {
  put(file, published(file), day)
  return here.json<Record<string, unknown>>(`data import companies ${file} ${more}`)
}
const exported = async () => {
  const { stdout } = await ends(here.run('data export companies --format ndjson'), 0)
  const all = stdout
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  return (name: string) => all.find((one) => one.name === name)
}

describe('a file of open data', () => {
  it.each([
    ['people-data-labs', 'people-data-labs.csv', 10, 0],
    ['people-data-labs', 'people-data-labs-pipes.csv', 10, 0],
    ['people-data-labs', 'people-data-labs.json', 10, 0],
    ['bigpicture', 'bigpicture.csv', 10, 0],
    ['brreg', 'brreg.csv', 7, 3],
    ['wikidata', 'wikidata.csv', 9, 1],
    ['companies-house', 'companies-house.csv', 0, 10],
    ['gleif', 'gleif.csv', 0, 10],
  ])(
    'is recognised by its header alone, as it is and packed: %s (%s)',
    async (name, file, added, not_known) => {
      const bytes = published(file)
      for (const [packed, content] of [
        ['file', bytes],
        ['file.gz', gzipSync(bytes)],
        ['file.zip', zipSync({ [`inner/${file}`]: new Uint8Array(bytes), 'inner/': strToU8('') })],
      ] as const) {
        put(packed, content)
        const report = await here.json(`data import companies ${packed} --dry-run`)
        expect([packed, report]).toMatchObject([
          packed,
          { added, not_known, invalid: 0, source: { name, snapshot: '2026-05-01' } },
        ])
      }
    },
  )

  it('gets the capitals, country, industry and size that records have, and keeps the name as it was', async () => {
    await load('people-data-labs.csv')
    const company = await exported()
    expect(company('Nordwind Robotik GmbH & Co. KG')).toMatchObject({
      original_name: 'nordwind robotik gmbh & co. kg',
      domain: 'nordwind-robotik.example',
      industry: 'Machinery Manufacturing',
      employee_range: '51-200',
      founded_year: 2009,
      city: 'Munich',
      location: 'Bavaria',
      country: 'DE',
    })
    for (const name of [
      "L'Étoile du Sud S.A.S.",
      "McAllister & O'Brien IT Services Ltd",
      'Alpenbank AG',
      'Van der Meer Data B.V.',
      'Lernwerk e.V.',
    ])
      expect(company(name)).toMatchObject({ original_name: name.toLowerCase() })
    expect(company('IRON Creek Mines')).not.toHaveProperty('original_name')
    expect(company('Harbor Ledger, Inc.')).toMatchObject({ country: 'US', industry: 'Software Development' })
  })

  it('of BigPicture gives the profile of a handle, our kinds of companies, and no page of a network as domain', async () => {
    await load('bigpicture.csv')
    const company = await exported()
    expect(company('Nordwind Robotik GmbH')).toMatchObject({
      network_url: 'https://www.linkedin.com/company/nordwind-robotik',
      company_type: 'Private',
    })
    expect(company('Fjord Sails')).toMatchObject({ employee_range: '1-10', company_type: 'Self-owned' })
    expect(company('Tinkerer')).toMatchObject({ employee_range: 'Self-employed' })
    expect(company('Social Page')).not.toHaveProperty('domain')
    const found = await here.json(
      'accounts enrich --company-network-url https://linkedin.com/company/tinkerer',
    )
    expect(found).toMatchObject({ name: 'Tinkerer' })
  })

  it('of Brreg has the domain of an email address where there is no website, but never that of a mailbox provider', async () => {
    await load('brreg.csv')
    const company = await exported()
    expect(company('NORDLYS SYSTEMER AS')).toMatchObject({
      domain: 'nordlys-systemer.example',
      headcount: 120,
      phone: '+4740000002',
    })
    expect(company('NORDLYS SYSTEMER AS')).not.toHaveProperty('website')
    expect(company('FJORDTRÅL AS')).toMatchObject({
      domain: 'fjordtraal.example',
      registry_number: '900000001',
      city: 'Bergen',
      founded_year: 1994,
      country: 'NO',
    })
    expect(company('KONKURSBO VIND AS')).toMatchObject({ registry_status: 'Bankrupt' })
    expect(company('BAKERIET PÅ HJØRNET')).toBeUndefined()
  })

  it('of a register adds number, legal name, status, city and year to companies of that name and country, and creates none', async () => {
    await load('people-data-labs.csv')
    here.write(
      'own.csv',
      'name,domain,country,headcount\nMegastore,megastore.example,GB,9\nOld Mill Bakery,oldmill.example,FR,2\n',
    )
    await ends(here.run('data import companies own.csv'), 0)
    expect(await load('companies-house.csv')).toMatchObject({
      added: 0,
      updated: 2,
      not_known: 8,
      rejected_total: 0,
    })
    const company = await exported()
    expect(company("McAllister & O'Brien IT Services Ltd")).toMatchObject({
      legal_name: "MCALLISTER & O'BRIEN IT SERVICES LIMITED",
      registry_number: '00000001',
      registry_status: 'Active',
      founded_year: 2014,
      domain: 'mcallister-it.example',
      industry: 'IT Services and IT Consulting',
    })
    const megastore = company('Megastore')
    expect(megastore).toMatchObject({
      legal_name: 'MEGASTORE PLC',
      city: 'London',
      founded_year: 1962,
      headcount: 9,
    })
    expect(megastore).not.toHaveProperty('website')
    expect(megastore).not.toHaveProperty('industry')
    expect(company('Old Mill Bakery')).not.toHaveProperty('legal_name')
    expect(await here.json('data stats')).toMatchObject({ companies: 12 })
  })

  it('of a register creates companies with --create, once: their dates are read as days, months and years', async () => {
    expect(await load('companies-house.csv', '--create')).toMatchObject({ added: 10, not_known: 0 })
    expect(await load('companies-house.csv', '--create')).toMatchObject({ added: 0, updated: 10 })
    const company = await exported()
    expect(company('QUIET HARBOUR CIC')).toMatchObject({
      founded_year: 2010,
      city: 'Penzance',
      country: 'GB',
    })
    expect(company('SEVEN SEAS TRADING LIMITED')).toMatchObject({ founded_year: 2016 })
  })

  it('imports only what --where is true of, counted before and after, also in a dry run', async () => {
    put('people-data-labs.csv', published('people-data-labs.csv'))
    const where = `--where 'country in ["DE","AT"] && headcount_range != "1-10"'`
    const counts = { before_where: 10, after_where: 2, added: 2 }
    const command = `data import companies people-data-labs.csv ${where}`
    expect(await here.json(`${command} --dry-run`)).toMatchObject(counts)
    expect(await here.json('data stats')).toMatchObject({ companies: 0 })
    expect(await here.json(command)).toMatchObject(counts)
    const { stdout } = await here.run(`${command} --format table`)
    expect(stdout).toContain('2 of 10 companies meet the condition, 0 companies added, 2 updated')
    const wrong = await here.run(`data import companies people-data-labs.csv --where 'size == "1-10"'`)
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('Did you mean headcount_range?')])
    const headcount = `--where 'headcount > 50 || name == "phone"'`
    const none = await here.run(`data import companies people-data-labs.csv ${headcount}`)
    expect(none.stderr).toContain(
      '--where: People Data Labs, free company dataset has no headcount; ask for headcount_range.',
    )
    const sure = await here.run(`${command} --dry-run`)
    expect(sure.stderr).not.toContain('--where:')
    const inBavaria = `--where 'location == "Bavaria" && city != null' --dry-run`
    expect(await here.json(`data import companies people-data-labs.csv ${inBavaria}`)).toMatchObject({
      after_where: 1,
    })
  })

  it('leaves out who is suppressed', async () => {
    await ends(here.run('suppress add nordwind-robotik.example'), 0)
    expect(await load('people-data-labs.csv')).toMatchObject({ added: 9, suppressed: 1 })
  })

  it('is read where the case, number or order of its columns changed, and by --map where their names did', async () => {
    const rows = String(published('people-data-labs.csv'))
    put('upper.csv', Buffer.from(rows.replace(/^.*/, (header) => header.toUpperCase())))
    expect(await here.json('data import companies upper.csv --dry-run')).toMatchObject({
      added: 10,
      source: { name: 'people-data-labs' },
    })
    const [header, ...left] = rows.trim().split('\n')
    const noted = [`Note,${header}`.replace('name', 'Firma'), ...left.map((row) => `call,${row}`)].join('\n')
    put('noted.csv', Buffer.from(noted))
    const command = 'data import companies noted.csv --source people-data-labs --map name=Firma'
    expect(await here.json(command)).toMatchObject({
      added: 10,
      mapping: { name: 'Firma', country: 'country' },
    })
    expect((await exported())('Nordwind Robotik GmbH & Co. KG')).toMatchObject({
      employee_range: '51-200',
      country: 'DE',
    })
  })

  it('can be named, or be said to be none, and a wrong name or file is refused', async () => {
    put('people-data-labs.csv', published('people-data-labs.csv'))
    expect(
      await here.json('data import companies people-data-labs.csv --source own --dry-run'),
    ).not.toHaveProperty('source')
    here.write('cut.csv', 'name,website,country\nacme works,acme-works.example,germany\n')
    expect(await here.json('data import companies cut.csv --source people-data-labs')).toMatchObject({
      added: 1,
      source: { name: 'people-data-labs' },
    })
    expect((await exported())('Acme Works')).toMatchObject({ country: 'DE' })
    put(
      'new-header.csv',
      Buffer.from('Firma,Website,Country,Note\nacme labs,acme-labs.example,germany,call\n'),
    )
    put('no-domain.csv', Buffer.from('name,country,site\nacme labs,germany,acme-labs.example\n'))
    for (const [command, sentence] of [
      [
        'companies people-data-labs.csv --source bigpicture',
        'The header is that of people-data-labs, not of',
      ],
      ['companies people-data-labs.csv --snapshot 2999-01-01', '--snapshot 2999-01-01 is in the future'],
      ['companies new-header.csv --source people-data-labs', '--map name=COLUMN'],
      ['companies no-domain.csv --source people-data-labs', '--map domain=COLUMN'],
      ['companies cut.csv --source people-data-lab', 'did you mean people-data-labs?'],
      ['companies cut.csv --source gleif', 'The header is not that of GLEIF level 1'],
      ['people cut.csv --source gleif', '--source is for companies, not for people'],
    ] as const) {
      const { code, stderr } = await here.run(`data import ${command}`)
      expect([command, code, stderr]).toEqual([command, 2, expect.stringContaining(sentence)])
    }
  })
})

describe('the source of a company', () => {
  const licence = 'CC BY 4.0'
  const title = 'People Data Labs, free company dataset'

  it('is shown with its day and licence by stats, by a lookup, in the columns of --sources, and in exports', async () => {
    await load('people-data-labs.csv')
    expect(await here.json('data stats')).toMatchObject({
      sources: [{ name: 'people-data-labs', title, snapshot: '2026-05-01', licence, companies: 10 }],
    })
    const said = { _source_name: title, _source_date: '2026-05-01', _source_licence: licence }
    expect(await here.json('accounts enrich --domain alpenbank.example')).toMatchObject(said)
    here.write('in.csv', 'Website\nalpenbank.example\nnobody.example\n')
    await ends(here.run('accounts enrich --csv in.csv -o out.csv --sources'), 0)
    expect(here.rows('out.csv')).toMatchObject([said, { _source_name: '' }])
    await ends(here.run('accounts enrich --csv in.csv -o few.csv --sources --fields name --fresh'), 0)
    expect(here.rows('few.csv')).toMatchObject([{ name: 'Alpenbank AG', ...said }, { name: '' }])
    const explained = await here.json<{ age_days: number }>('explain few.csv --row 1')
    expect(explained).toMatchObject({ snapshot: '2026-05-01' })
    expect(explained.age_days).toBeGreaterThan(30)
    await ends(here.run('accounts enrich --csv in.csv -o plain.csv --fresh'), 0)
    expect(Object.keys(here.rows('plain.csv')[0] ?? {})).not.toContain('_source_name')
    expect((await exported())('Alpenbank AG')).toMatchObject(said)
    await ends(here.run('accounts search --keyword alpenbank -o searched.csv'), 0)
    expect(Object.keys(here.rows('searched.csv')[0] ?? {})).not.toContain('_source_name')
    await ends(here.run('accounts enrich --csv searched.csv -o attributed.csv --sources --fresh'), 0)
    expect(here.rows('attributed.csv')).toMatchObject([said])
  })

  it('is the day in the name of the file, or that of --snapshot', async () => {
    const bytes = published('bigpicture.csv')
    for (const [file, options, snapshot] of [
      ['companies-2023-q4-sm.csv', '', '2023-12-31'],
      ['BasicCompanyDataAsOneFile-2026-11-01.csv', '', '2026-11-01'],
      ['20260815-0800-golden-copy.csv', '', '2026-08-15'],
      ['free_2026-02.csv', '', '2026-02-28'],
      ['plain.csv', '--snapshot 2024-04-04', '2024-04-04'],
    ] as const) {
      put(file, bytes)
      const report = await here.json(`data import companies ${file} --dry-run ${options}`)
      expect([file, report]).toMatchObject([file, { source: { snapshot } }])
    }
    put('companies-2099-q4.csv', bytes)
    const { source } = await here.json<{ source: { snapshot: string } }>(
      'data import companies companies-2099-q4.csv --dry-run',
    )
    expect(source.snapshot <= new Date().toISOString().slice(0, 10)).toBe(true)
  })

  it('names all who say something; own data counts before open data, and a newer snapshot before an older one', async () => {
    here.write('own.csv', 'name,domain,headcount\nAlpenbank (Wien),alpenbank.example,700\n')
    await ends(here.run('data import companies own.csv'), 0)
    await load('people-data-labs.csv', '--snapshot 2025-01-01')
    await load('wikidata.csv', '--snapshot 2026-02-02')
    const one = await here.json('accounts enrich --domain alpenbank.example')
    expect(one).toMatchObject({
      name: 'Alpenbank (Wien)',
      headcount: 700,
      industry: 'Financial Services',
      _source_name: `${title}; Wikidata, companies of one country; own data`,
      _source_date: '2025-01-01',
      _source_licence: 'CC BY 4.0; CC0',
    })
    put('new.csv', Buffer.from(String(published('people-data-labs.csv')).replaceAll('51-200', '201-500')))
    expect(await here.json('data import companies new.csv')).toMatchObject({ added: 0, updated: 10 })
    expect(await here.json('accounts enrich --domain nordwind-robotik.example')).toMatchObject({
      employee_range: '201-500',
      _source_date: '2026-05-01',
    })
    const { sources } = await here.json<{ sources: { snapshot: string; companies: number }[] }>('data stats')
    expect(sources.map(({ snapshot, companies }) => [snapshot, companies])).toEqual([
      ['2026-02-02', 9],
      ['2026-05-01', 10],
    ])
  })

  it('keeps what the newer snapshot says where an older one is imported after it, and says of how many', async () => {
    await load('people-data-labs.csv', '--snapshot 2026-05-01')
    const older = String(published('people-data-labs.csv')).replaceAll('51-200', '201-500')
    put(
      'older.csv',
      Buffer.from(`${older}germany,2001,aX,retail,,ulm,only older gmbh,,1-10,only-older.example\n`),
    )
    const command = 'data import companies older.csv --snapshot 2025-01-01'
    const counts = { added: 1, older: 10 }
    expect(await here.json(`${command} --dry-run`)).toMatchObject({ ...counts, changed: 0 })
    const { stdout } = await ends(here.run(`${command} --format table`), 0)
    expect(stdout).toContain('1 company added, 0 updated, 10 stay as a newer snapshot has them')
    const kept = { employee_range: '51-200', _source_date: '2026-05-01' }
    expect(await here.json('accounts enrich --domain nordwind-robotik.example')).toMatchObject(kept)
    expect(await here.json('accounts enrich --domain only-older.example')).toMatchObject({
      _source_date: '2025-01-01',
    })
  })

  it('is one statement of each set: what the newer snapshot leaves blank is gone, whatever own data was imported between', async () => {
    const domain = '--domain nordwind-robotik.example'
    await load('people-data-labs.csv', '--snapshot 2025-01-01')
    put('newer.csv', Buffer.from(String(published('people-data-labs.csv')).replaceAll('51-200', '')))
    const newer = 'data import companies newer.csv --snapshot 2026-05-01'
    expect(await here.json(newer)).toMatchObject({ updated: 10, older: 0 })
    const blank = { employee_range: null, founded_year: 2009, _source_date: '2026-05-01' }
    expect(await here.json(`accounts enrich ${domain}`)).toMatchObject(blank)
    await load('bigpicture.csv', '--snapshot 2023-12-31')
    here.write('own.csv', 'name,domain,phone\nNordwind,nordwind-robotik.example,+49 89 1234567\n')
    await ends(here.run('data import companies own.csv'), 0)
    const before = await here.json(`accounts enrich ${domain} --fresh`)
    expect(before).toMatchObject({ name: 'Nordwind', employee_range: '51-200', _source_date: '2023-12-31' })
    await ends(here.run(newer), 0)
    await load('bigpicture.csv', '--snapshot 2023-12-31')
    expect(await here.json(`accounts enrich ${domain} --fresh`)).toEqual(before)
  })

  it('can be forgotten: its companies go, and of others what it said; a dry run only counts', async () => {
    here.write('own.csv', 'name,domain,headcount\nAlpenbank,alpenbank.example,700\n')
    await ends(here.run('data import companies own.csv'), 0)
    await load('people-data-labs.csv')
    await load('gleif.csv')
    here.write('people.csv', 'first_name,last_name,company_domain\nAda,L,bau7.example\n')
    await ends(here.run('data import people people.csv'), 0)
    const counts = { source: 'people-data-labs', removed: 8, kept: 2 }
    const before = await here.json('data stats')
    expect(await here.json('data forget --source people-data-labs --dry-run')).toMatchObject({
      ...counts,
      dry_run: true,
    })
    expect(await here.json('data stats')).toEqual(before)
    const refused = await here.run('data forget --source people-data-labs')
    expect(refused.code).toBe(2)
    expect(await here.json('data forget --source people-data-labs --yes')).toMatchObject(counts)
    const company = await exported()
    expect(company('Alpenbank')).toMatchObject({ headcount: 700, registry_number: 'FN 90002x' })
    expect(company('Alpenbank')).not.toHaveProperty('industry')
    expect(company('Bau 7')).toMatchObject({ domain: 'bau7.example' })
    expect(company('Bau 7')).not.toHaveProperty('industry')
    expect(company('Lernwerk e.V.')).toBeUndefined()
    expect((await here.run('accounts enrich --domain lernwerk.example')).code).toBe(exitCodes.notFound)
    expect(await here.json('data stats')).toMatchObject({ sources: [{ name: 'gleif', companies: 1 }] })
    await ends(here.run('data forget --source gleif --yes'), 0)
    expect(await here.json('data stats')).not.toHaveProperty('sources')
    expect((await exported())('Alpenbank')).not.toHaveProperty('registry_number')
  })
})

describe('data sources', () => {
  it('lists the sets, and tells of one what it has and lacks, its licence, address and command', async () => {
    const { stdout } = await ends(here.run('data sources --format table'), 0)
    const details = await here.json<Record<string, unknown>>('data sources gleif')
    for (const { name } of openSets) expect(stdout).toContain(name)
    const narrow = await ends(here.run('data sources', { terminal: true, columns: 80 }), 0)
    for (const { address } of openSets) expect(narrow.stdout.replace(/\s+/g, '')).toContain(address)
    expect(details).toMatchObject({
      licence: 'CC0',
      has: expect.arrayContaining(['number']),
      lacks: expect.arrayContaining(['domain', 'people']),
      command: 'prospect data import companies FILE',
    })
    const { code, stderr } = await here.run('data sources glief')
    expect([code, stderr]).toEqual([2, expect.stringContaining('did you mean gleif?')])
  })
})
