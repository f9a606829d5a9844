import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { bodyLimits } from '../../../src/api/operations/facts.js'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const messy = [
  'Société;Site web;Pays;Notes',
  'Acme;https://www.acme.example/about;France;',
  ';;;nobody',
  'Other GmbH;;Allemagne;by its name',
  'Far Away;far.example;Atlantis;',
  'Long;long.example;;x;y',
  'Who;who.example;;',
].join('\r\n')

const create = (options = '') => here.run(`lists create --name Targets --csv companies.csv ${options}`)

describe('lists create --csv', () => {
  beforeEach(async () => {
    await here.fill('companies', 'name,domain,country\nAcme,acme.example,FR\nOther GmbH,other.example,DE\n')
    here.write('companies.csv', messy)
  })

  it('names ten lines that are skipped, and counts the others', async () => {
    const rows = ['name,domain', 'Acme,acme.example', ...Array(12).fill('a,b.example,c')]
    here.write('companies.csv', rows.join('\n'))
    const { code, stderr } = await create('--wait')
    expect([code, stderr.match(/was skipped/g)]).toEqual([11, expect.objectContaining({ length: 10 })])
    expect(stderr).toContain('2 more lines were skipped.')
  })

  it('takes only the rows of --sample, spread over the file', async () => {
    here.write('companies.csv', 'domain\na.example\nb.example\nc.example\nd.example\n')
    const { json } = await create('--sample 2 --dry-run --json')
    expect(json).toMatchObject({ rows: 2, unique: 2 })
    await ends(create('--sample 0'), 2, 'Give a whole number above 0.')
  })

  it('writes invalid rows to a rejects file, and the counts to --summary-json', async () => {
    const { code, stderr } = await create('-o list.json --summary-json sum.json')
    const aside = here.path('list.rejects.csv')
    expect([code, stderr]).toEqual([11, expect.stringContaining(`2 rows need fixing: ${aside}`)])
    expect(readFileSync(aside, 'utf8').split('\n')).toEqual([
      '_line;_reason;Société;Site web;Pays;Notes',
      '3;"""Société"", ""Site web"" are empty";;;;nobody',
      '6;"the row has 5 cells; the header has 4";Long;long.example;;x;y',
      '',
    ])
    expect(JSON.parse(here.read('sum.json'))).toMatchObject({
      run: null,
      operation: 'lists.create',
      status: 'finished',
      exit_code: 11,
      stopped: null,
      rows: 6,
      found: 4,
      invalid: 2,
      failed: 0,
      credits: 0,
      files: {
        input: here.path('companies.csv'),
        output: here.path('list.json'),
        partial: null,
        rejects: aside,
        rejects_partial: null,
      },
    })
  })

  it('sends no list that is too large for the engine, and says how many rows of the file fit', async () => {
    const name = '€'.repeat(390)
    const rows = Array.from({ length: 4_000 }, (_, at) => `${name},c${10_000 + at}.example`)
    here.write('companies.csv', `name,domain\n${rows.join('\n')}\n`)
    const { code, stderr } = await create()
    const fitting = Math.floor(
      1_048_576 / Buffer.byteLength(`${JSON.stringify({ name, domain: 'c10000.example' })},`),
    )
    expect([code, Number(/which is ([\d,]+) rows/.exec(stderr)?.[1]?.replace(',', ''))]).toEqual([2, fitting])
    // The first line is the header.
    expect(stderr).toContain(`Split the file after line ${fitting + 1}.`)
    expect([(await create('--dry-run')).code, await here.json('engine jobs list')]).toEqual([2, []])
    here.write('companies.csv', `name,domain\n${rows.slice(0, fitting).join('\n')}\n`)
    expect((await create('--dry-run')).code).toBe(0)
    const direct = '--base-url http://127.0.0.1:9/api/v2 --direct'
    here.write('companies.csv', `name,domain\n${rows.join('\n')}\n`)
    expect((await create(`--dry-run ${direct}`)).stderr).not.toContain('a request holds')
  })

  it('writes no rejects and no summary with --dry-run', async () => {
    await create('-o list.json --rejects bad.csv --summary-json sum.json --dry-run')
    expect(['bad.csv', 'sum.json', 'list.rejects.csv'].filter((name) => here.exists(name))).toEqual([])
  })

  it('writes to the summary why the list was refused or failed', async () => {
    const summary = () => JSON.parse(here.read('sum.json'))
    here.write('companies.csv', 'name\n" "\n')
    expect((await create('--summary-json sum.json')).code).toBe(2)
    expect(summary()).toMatchObject({
      run: null,
      status: 'refused',
      exit_code: 2,
      stopped: { reason: expect.stringContaining('has no valid rows') },
    })
    here.write('companies.csv', messy)
    const { code } = await here.run('lists create --name "" --csv companies.csv --summary-json sum.json')
    expect([code, summary()]).toMatchObject([7, { exit_code: 7, found: 0, stopped: { exit_code: 7 } }])
  })

  it('shows the quote and the mapping with --dry-run and sends nothing', async () => {
    const { code, json, stderr } = await create('--dry-run')
    const columns = [
      { field: 'name', column: 'Société' },
      { field: 'country_code', column: 'Pays' },
      { field: 'domain', column: 'Site web' },
    ]
    expect([code, json]).toMatchObject([
      0,
      {
        ...{
          rows: 6,
          unique: 4,
          invalid: 2,
          lookups: 1,
          credits: { min: 0, expected: 0, max: 0 },
          seconds: 0,
        },
        mapping: { columns, unused: ['Notes'], notes: [] },
      },
    ])
    expect(stderr).toContain('<-  "Société", such as')
    expect(await here.json('engine jobs list')).toEqual([])
  })

  it('says how many rows fit where their values are too many, and of a file with more rows than it reads', async () => {
    here.write('companies.csv', `domain\n${'a.co\n'.repeat(40_000)}`)
    const { values } = bodyLimits
    const many = await ends(create(), 2, 'makes a list of 80,003 values; a request holds 75,000 values')
    const fitting = Number(/which is ([\d,]+) rows/.exec(many.stderr)?.[1]?.replace(',', ''))
    expect(Math.abs(fitting - values / 2)).toBeLessThan(5)
    here.write('companies.csv', `domain\n${'a.co\n'.repeat(fitting)}`)
    expect((await create('--dry-run')).code).toBe(0)
    here.write('companies.csv', `domain\n${'a.co\n'.repeat(100_002)}`)
    await ends(create(), 2, 'makes a list of more than 1 MiB; a request holds 1 MiB, which is')
    await ends(create('--direct --base-url http://127.0.0.1:9/api/v2'), 2, 'more than 100,000 companies')
    expect(await here.json('engine jobs list')).toEqual([])
  })
})
