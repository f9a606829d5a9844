import { beforeEach, describe, expect, it } from 'vitest'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)
beforeEach(async () => {
  const companies = ['acme', 'globex', 'initech', 'hooli'].map((name) => `${name},${name}.example,FR`)
  const stdin = `name,domain,country\n${companies.join('\n')}\n`
  await here.fill('companies', stdin)
  write('companies.csv', [
    'Company,Website',
    'Acme,acme.example',
    'Globex,',
    'Initech,initech.example',
    ',nobody.example',
  ])
  // Of Globex only the name is known, which is a match in doubt.
  write('crm.csv', ['Account Name,Domain', 'ACME Ltd,www.acme.example', 'Globex,'])
})

const write = (name: string, lines: readonly string[]) => here.write(name, `${lines.join('\n')}\n`)
const read = (name: string) => here.read(name)
const known = '--skip-known crm.csv'
const enrich = (options: string) =>
  here.run(`accounts enrich --csv companies.csv --fields domain -o out.csv --yes ${options}`)
const summary = () => JSON.parse(read('summary.json')) as Readonly<Record<string, unknown>>

describe('--skip-known', () => {
  it('looks up no row that is surely known, pays nothing for it, leaves it out and counts it', async () => {
    const { code, stderr } = await enrich(`${known} --summary-json summary.json`)
    expect([code, read('out.csv').trimEnd().split('\n').slice(1)]).toEqual([
      0,
      [
        'Globex,,globex.example,found,,1,lookup',
        'Initech,initech.example,initech.example,found,,1,lookup',
        ',nobody.example,,not_found,No company found,0,lookup',
      ],
    ])
    expect(summary()).toMatchObject({
      rows: 4,
      found: 2,
      not_found: 1,
      known: 1,
      credits: 2,
      sources: { lookup: 3 },
    })
    expect(stderr).toContain('crm.csv: 2 known rows, by domain "Domain", name "Account Name"')
    expect(stderr).toContain('2 found · 1 not found · 1 known (not looked up)')
  })

  it('counts known rows in the quote', async () => {
    expect(
      (await here.run(`accounts enrich --csv companies.csv --dry-run --json ${known}`)).json,
    ).toMatchObject({
      rows: 4,
      unique: 3,
      known: 1,
      lookups: 3,
      skipped: 0,
    })
    const shown = await here.run(`accounts enrich --csv companies.csv --dry-run ${known}`, {
      terminal: true,
    })
    expect(shown.stdout).toContain('3, 1 known')
  })

  it('writes a finished run again, and starts a new one that reuses its answers where the list has changed', async () => {
    await enrich(`${known} --summary-json summary.json`)
    const before = read('out.csv')
    const again = await enrich(known)
    expect([again.stderr.includes('is finished'), read('out.csv') === before]).toEqual([true, true])
    write('crm.csv', ['Account Name,Domain', 'Initech,initech.example'])
    await enrich(`${known} --summary-json summary.json`)
    expect(summary()).toMatchObject({ found: 2, known: 1, credits: 1, sources: { lookup: 2, reused: 1 } })
    expect(read('out.csv')).not.toContain('Initech')
  })

  it('resumes a run with the same list, refuses a changed one, and exports the answers all the same', async () => {
    const { stderr } = await enrich(`${known} --max-credits 1 --concurrency 1`)
    const run = /runs resume (\S+)/.exec(stderr)?.[1] ?? ''
    const crm = read('crm.csv')
    write('crm.csv', ['Account Name,Domain', 'Other,other.example'])
    const refused = await here.run(['runs', 'resume', run, '--max-credits', '9'])
    expect([refused.code, refused.stderr.replaceAll('\n', ' ')]).toEqual([
      2,
      expect.stringContaining('A list of --skip-known is not what run'),
    ])
    const exported = await here.run(['runs', 'export', run, '--format', 'csv'])
    expect([exported.code, exported.stdout.match(/,found,/g)]).toEqual([0, [',found,']])
    here.write('crm.csv', crm)
    const resumed = await here.run(['runs', 'resume', run, '--max-credits', '9'])
    expect([
      resumed.code,
      read('out.csv').match(/,found,/g)?.length,
      read('out.csv').includes('Acme'),
    ]).toEqual([0, 2, false])
  })

  it('takes the catalogue and a list by its name', async () => {
    const companies = '[{"domain":"globex.example"},{"domain":"initech.example"}]'
    await here.run(['lists', 'create', '--name', 'Mine', '--companies', companies, '--wait'])
    await enrich('--skip-known list:Mine --summary-json summary.json')
    expect(summary()).toMatchObject({ found: 2, known: 1 })
    await enrich('--skip-known catalogue --summary-json summary.json')
    expect(summary()).toMatchObject({ found: 1, known: 2, sources: { lookup: 1, reused: 1 } })
  })

  it('knows people by their email addresses, profile URLs and names', async () => {
    await here.fill('people', 'full_name,company_domain\nEve Young,initech.example\n')
    write('people.csv', [
      'First name,Last name,Company domain',
      'Ada,Love,acme.example',
      'Bob,Smith,acme.example',
    ])
    write('contacts.csv', ['Full name,Email,Company domain', 'Bob SMITH,bob@acme.example,acme.example'])
    const args = 'leads enrich --csv people.csv --skip-known'
    const { stdout, stderr } = await here.run(`${args} contacts.csv --fields full_name --yes`)
    expect(stdout.split('\n').map((line) => line.split(',')[4])).toEqual(['_status', 'not_found', undefined])
    expect(stderr).toContain('1 not found · 1 known (not looked up)')
    await ends(here.run(`${args} crm.csv`), 2, 'is a list of companies')
    await ends(here.run(`${args} list:VIP --yes`), 9, 'list:VIP cannot be read: Not found. See your lists')
  })

  it('leaves known companies out of a list that is made of a file', async () => {
    const { stdout, code } = await here.run(
      `lists create --name New --csv companies.csv --wait ${known} --summary-json summary.json`,
    )
    expect([code, summary()]).toMatchObject([0, { rows: 4, found: 3, known: 1 }])
    expect(stdout).not.toContain('acme.example')
  })
})

describe('--skip-known of an import', () => {
  const people = (options: string) =>
    here.run(`leads search acme.example --job-titles * -o out.csv ${options}`)
  beforeEach(async () => {
    const rows = ['Ada,One,CTO,acme.example', 'Bob,Two,CFO,acme.example']
    const stdin = `first_name,last_name,title,company_domain\n${rows.join('\n')}\n`
    await here.fill('people', stdin)
    write('crm-people.csv', ['First name,Last name,Company domain', 'ADA,one,www.acme.example'])
  })

  it('leaves out known people or companies, counts them, and says that they use the quota', async () => {
    const { code, stderr } = await people('--skip-known crm-people.csv')
    expect([code, read('out.csv').includes('Ada'), read('out.csv').includes('Bob')]).toEqual([0, false, true])
    expect(stderr).toContain('they use your quota all the same')
    expect(stderr).toContain('Known: 1 of 2 people.')
    const found = await here.run('leads search acme.example --job-titles * --wait --json')
    expect(found.json).toHaveLength(2)
  })
})
