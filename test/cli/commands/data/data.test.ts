import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ends, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { loadSample } from '../../../support/sample.js'

const here = perTest(machine)

const companies = 'name,domain\nAcme,acme.example\nOther,other.example\n'

describe('data import', () => {
  it('adds new companies and updates known ones', async () => {
    here.write('companies.csv', companies)
    expect(await here.json('data import companies companies.csv')).toMatchObject({
      kind: 'companies',
      added: 2,
      updated: 0,
      rejected: [],
      rejected_total: 0,
    })
    expect(await here.json('data import companies companies.csv')).toMatchObject({
      added: 0,
      updated: 2,
    })
    expect(await here.json('data stats')).toMatchObject({ companies: 2, people: 0 })
  })

  it('says that earlier answers are not reused after an import, where any were paid for', async () => {
    const stdin = 'name,domain\nAcme,acme.example\n'
    const load = () => here.fill('companies', stdin)
    expect((await load()).stderr).not.toContain('reused')
    await here.run('accounts enrich acme.example')
    expect((await load()).stderr).toContain('Earlier answers from your catalogue are no longer reused')
  })

  it('reads NDJSON from stdin, with columns mapped by --map', async () => {
    const stdin = '{"Firma":"Acme","Netz":"acme.example"}\n'
    const argv = ['data', 'import', 'companies', '-', '--map', 'name=Firma', '--map', 'domain=Netz', '--json']
    const { json, code } = await here.run(argv, { stdin })
    expect([code, json]).toMatchObject([0, { added: 1, mapping: { name: 'Firma', domain: 'Netz' } }])
  })

  it.each([
    ['CSV', 'name,domain,country\nAcme,acme.example,FR\n'],
    ['NDJSON', '{"name":"Acme","domain":"acme.example","country":"FR"}\n'],
  ])('leaves out the column of a field that --map gives none: %s', async (_, stdin) => {
    const { json, code } = await here.run('data import companies - --map country= --json', { stdin })
    expect([code, json]).toMatchObject([0, { added: 1, mapping: { name: 'name', domain: 'domain' } }])
    expect(await here.json('data export companies --json')).toEqual([
      expect.not.objectContaining({ country: 'FR' }),
    ])
  })

  it('imports valid lines, names the rejected ones, and exits 11', async () => {
    const stdin = 'name,domain\nAcme,acme.example\n,\nOther,other.example\n,not a domain\n'
    const { json, stderr } = await ends(here.run('data import companies - --json', { stdin }), 11)
    expect(json).toMatchObject({ added: 2, rejected: [{ line: 5 }], rejected_total: 1 })
    expect(stderr).toContain('Line 5: ')
    expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
      exit_code: 11,
      code: 'rows_rejected',
    })
  })

  it('shows on stderr which column is read as which field, with a value, and the others', async () => {
    const stdin = '_line,_reason,Firma,Website,Notes\n2,old,Acme,acme.example,x\n'
    const { stderr } = await here.run('data import companies - --json', { stdin })
    expect(stderr.split('\n').slice(-4, -1)).toEqual([
      'name     <-  "Firma", such as Acme',
      'website  <-  "Website", such as acme.example',
      'Unmapped columns (not imported): "Notes"',
    ])
  })

  it('names the encoding that was recognised by its letters, with one of the values that show it', async () => {
    const stdin = Buffer.from('name,domain\nPe\xf1a,pena.example\nM\xfcller,muller.example\n', 'latin1')
    await ends(here.fill('companies', stdin), 0, /Encoding: windows-1252, such as "Peña"\. .*--encoding/)
    const again = await here.fill('companies', companies)
    expect(again.stderr).not.toContain('Encoding')
  })

  it('says what would change with --dry-run, and imports nothing', async () => {
    await here.fill('companies', companies)
    const stdin = `${companies}New,new.example\nRenamed,other.example\n,nothing\n,no domain\n`
    const argv = ['data', 'import', 'companies', '-', '--dry-run']
    const { code, json, stderr } = await here.run([...argv, '--json'], { stdin })
    expect([code, json]).toMatchObject([
      11,
      {
        dry_run: true,
        added: 1,
        changed: 1,
        unchanged: 2,
        invalid: 2,
        invalid_reasons: [{ reason: 'domain: no website domain in …', rows: 2 }],
        samples: { name: 'Acme', domain: 'acme.example' },
      },
    ])
    expect(stderr).toContain('2 lines would be rejected.')
    const shown = await here.run([...argv, '--format', 'table'], { stdin })
    expect(shown.stdout).toBe(
      '1 company would be added, 1 changed, 2 unchanged, 2 invalid\nNothing was imported.\n',
    )
    expect(shown.stderr).toContain('Invalid: 2 rows: domain: no website domain in …\n')
    expect(await here.json('data stats')).toMatchObject({ companies: 2 })
  })

  it.each([
    [
      'companies.csv',
      'name,domain,x\r\nAcme,acme.example,"=1\r\n"\r\n,x?,=2\r\n',
      "_line,_reason,name,domain,x\n4,domain: no website domain in 'x?',,x?,'=2\n",
    ],
    [
      'companies.ndjson',
      '{"name":"Acme","domain":"acme.example"}\n{"domain":"x?","x":"=2"}\nnonsense\n',
      '{"_line":2,"_reason":"domain: no website domain in \'x?\'","domain":"x?","x":"=2"}\n' +
        '{"_line":3,"_reason":"is not a JSON object","_record":"nonsense"}\n',
    ],
    [
      'companies.json',
      '[{"name":"Acme","domain":"acme.example"},\n{"domain":\n"x?","x":"=2"}]',
      '{"_line":2,"_reason":"domain: no website domain in \'x?\'","domain":"x?","x":"=2"}\n',
    ],
  ])(
    'writes the invalid rows of %s to --rejects, which is imported once it is fixed',
    async (name, text, rows) => {
      here.write(name, text)
      const rejects = here.path('rejects')
      await ends(
        here.run(['data', 'import', 'companies', name, '--rejects', 'rejects']),
        11,
        new RegExp(`Fix the rows? in ${rejects}, and`),
      )
      expect(readFileSync(rejects, 'utf8')).toBe(rows)
      writeFileSync(rejects, rows.replaceAll('x?', 'fixed.example').replace(/.*nonsense.*\n/, ''))
      const fixed = await here.run('data import companies rejects --rejects again --json')
      expect([fixed.code, fixed.json]).toMatchObject([0, { added: 1, ignored: ['x'] }])
      expect(here.exists('again')).toBe(false)
    },
  )

  it('prints the counts in one line', async () => {
    const { stdout } = await here.run('data import companies - --format table', {
      stdin: companies,
    })
    expect(stdout).toBe('2 companies added, 0 updated, 0 rejected\n')
  })
})

describe('data sample', () => {
  it('creates at least the records for the command that its help suggests', async () => {
    const { stdout } = await here.run('data sample --help')
    const next = /Next: prospect (.+)/.exec(stdout)?.[1]?.split(' ') ?? []
    await loadSample(here.home)
    expect((await here.run(next)).code).toBe(0)
  })

  it('prints the counts of created records', async () => {
    const { json: added, stderr } = await here.run('data sample --json')
    expect(stderr).toContain('Created the workspace Local on this machine')
    // It does not suggest itself.
    expect(stderr).not.toContain('data sample')
    expect(added).toMatchObject({ companies: 500, people: 5_000 })
    expect(await here.json('data stats')).toMatchObject(added as object)
    const again = await here.run('data sample --format table')
    expect(again.stdout).toBe('Loaded 500 companies, 5,000 people, 911 jobs, 40 posts.\n')
    expect(again.stderr).not.toContain('reused')
  })

  it('says that earlier answers are not reused where it is loaded again after some were paid for', async () => {
    await loadSample(here.home)
    await here.run('accounts enrich acme-robotics.example')
    expect((await here.run('data sample')).stderr).toContain('the next lookups pay again')
  })

  it('is removed with --remove, and what your own data says stays', async () => {
    await loadSample(here.home)
    await here.fill('companies', 'name,domain\nMine,acme-robotics.example\n')
    const domain = '--domain acme-robotics.example'
    expect(await here.json(`accounts enrich ${domain}`)).toMatchObject({ name: 'Mine', industry_id: '135' })
    const removed = await here.run('data sample --remove --format table')
    expect(removed.stdout).toBe(
      'Removed 499 companies, 5,000 people, 911 jobs, 40 posts. Kept with what your own data says: 1 company.\n',
    )
    expect(removed.stderr).toContain('Earlier answers from your catalogue are no longer reused')
    expect(await here.json(`accounts enrich ${domain}`)).toMatchObject({ name: 'Mine', industry_id: null })
    expect((await here.run('data sample --remove --format table')).stdout).toBe('There is no sample data.\n')
  })

  it('is not there to be removed on a new machine, which stays as it is', async () => {
    const { code, stdout } = await here.run('data sample --remove --format table')
    expect([code, stdout, here.exists('catalogue.db')]).toEqual([0, 'There is no sample data.\n', false])
  })

  it('leaves an empty catalogue, which answers nothing from before', async () => {
    await loadSample(here.home)
    await here.json('accounts enrich --domain acme-robotics.example')
    await here.json('data sample --remove')
    const ended = await here.run('accounts enrich --domain acme-robotics.example')
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('the catalogue is empty')
  })

  it('creates a sample with init --sample', async () => {
    await here.json('init --sample')
    const { companies: count } = await here.json<{ companies: number }>('data stats')
    expect(count).toBeGreaterThan(0)
  })
})
