import { describe, expect, it } from 'vitest'
import { Refusal } from '../../../src/api/calls/errors.js'
import type { ImportOptions } from '../../../src/catalogue/kinds/kind.js'
import { perTest } from '../../support/each.js'
import { inWords } from '../../support/in-words.js'
import { bytesOf, exported, openEmpty } from '../open.js'

const catalogue = perTest(openEmpty)

const take = (text: string | Uint8Array, options?: ImportOptions) =>
  catalogue.importFile('companies', bytesOf(text, text.length > 1_000_000 ? 65_536 : 7), options)
const domains = async () => (await exported(catalogue, 'companies')).map(({ domain }) => domain)
const names = async () => (await exported(catalogue, 'companies')).map(({ name }) => name)

async function refusal(text: string | Uint8Array, options?: ImportOptions): Promise<Refusal> {
  const error = await take(text, options).catch((thrown: unknown) => thrown)
  if (!(error instanceof Refusal)) throw new Error(`no refusal, but ${JSON.stringify(error)}`)
  return error
}

/** Returns the column of each field for a file of a kind. */
async function importMapping(kind: 'companies' | 'people', header: string[], ...rows: string[][]) {
  const text = [header, ...rows].map((cells) => cells.join('|')).join('\n')
  return (await catalogue.importFile(kind, bytesOf(text))).mapping
}

describe('the columns of an import', () => {
  const url = (path: string) => `https://www.linkedin.com/${path}`

  it('lose to others of the same meaning when they have no value', async () => {
    const header = ['email', 'Work Email', 'Name']
    expect(await importMapping('people', header, ['', 'a@acme.example', 'Ada'])).toMatchObject({
      email: 'Work Email',
    })
  })

  it('go to the field for profiles of their kind when they hold profiles, whatever their header says', async () => {
    const header = ['Profile URL', 'Sales Navigator']
    const row = [url('sales/lead/ACwAAA1,NAME_SEARCH,x'), url('in/ada')]
    expect(await importMapping('people', header, row)).toEqual({
      premium_profile_url: 'Profile URL',
      network_profile_url: 'Sales Navigator',
    })
  })

  it('are blank in a row whose cell only says that nothing is known', async () => {
    const report = await take(
      'domain|name|country\nacme.example|N/A|-\nn/a|none|FR\nbirch.example|Null|null\n',
    )
    expect([report.added, report.leftOut]).toEqual([2, []])
    expect(report.rejected).toEqual([
      { line: 3, reason: 'a company needs a domain, a network_id or a network_url' },
    ])
    expect((await names()).map((name) => name ?? null)).toEqual([null, 'Null'])
  })

  it('fill no field that cannot hold most of their values', async () => {
    const rows = ['1-10', '11-50', '51-200', '1,001-5,000', '500'].map((size, at) => [
      `${at}.example`,
      size,
      'Bayern',
    ])
    expect(await importMapping('companies', ['domain', 'Employees', 'Land'], ...rows)).toEqual({
      domain: 'domain',
      employee_range: 'Employees',
    })
  })

  it('are ids of companies only where the profile URLs of the file have them', async () => {
    const header = ['Name', 'Company ID', 'Company LinkedIn']
    const row = (id: string) => ['Ada', id, url('sales/company/4711')]
    expect(await importMapping('people', header, row('4711'))).toMatchObject({
      company_network_id: 'Company ID',
    })
    expect(await importMapping('people', header, row('12'))).not.toHaveProperty('company_network_id')
  })
})

it.each([
  ['1.250.000,00 €', 1_250_000],
  ['1.250,5', 1_250.5],
  ['12,50', 12.5],
  ['1,250,000', 1_250_000],
  ['1.25', 1.25],
])('reads the number %s as it is written in many countries', async (written, revenue) => {
  await take(`domain|Umsatz\nacme.example|${written}\n`)
  expect(await exported(catalogue, 'companies')).toMatchObject([{ revenue }])
})

describe('a file to import', () => {
  it.each([
    ['<html><body><table>', 'This is a web page or XML, not CSV. Export its table as CSV.'],
    ['\u0001\u0002\u0003\u0004', 'This is a binary file, not text. Give an .xlsx or CSV file.'],
  ])('is refused by name when it is no table: %j', async (text, sentence) => {
    await expect(inWords(() => take(text))).rejects.toThrow(sentence)
  })

  it('is decoded with the encoding option', async () => {
    await take(Buffer.from('name,domain\nAcm\xe9,acme.example\n', 'latin1'), { encoding: 'windows-1252' })
    expect(await names()).toEqual(['Acmé'])
  })

  it('may contain blank lines and rows of blank cells, which are skipped', async () => {
    const report = await take('name,domain\n\nAcme,acme.example\n,\n  ,  \nBirch,birch.example')
    expect(report).toMatchObject({ added: 2, rejectedTotal: 0 })
  })

  it('keeps quotes in the middle of a cell', async () => {
    await take('name,domain\n5" Pipes "Best" Ltd,acme.example\n')
    expect(await names()).toEqual(['5" Pipes "Best" Ltd'])
  })

  it('may have one JSON object per line', async () => {
    const report = await take(
      '{"name":"Acme","domain":"acme.example"}\n\nnot json\n[1]\n{"name":"Birch","website":"birch.example"}',
    )
    expect(await domains()).toEqual(['acme.example', 'birch.example'])
    expect(report.rejected).toEqual([
      { line: 3, reason: 'is not a JSON object' },
      { line: 4, reason: 'is not a JSON object' },
    ])
  })

  it('may be one array of JSON objects', async () => {
    const companies = [
      { name: 'A "quoted" \\ ]}', domain: 'acme.example' },
      { name: 'Birch', domain: 'birch.example', technologies: ['go'] },
      { name: 'x' },
    ]
    const report = await take(JSON.stringify(companies, null, 2))
    expect(await names()).toEqual(['A "quoted" \\ ]}', 'Birch'])
    expect(report.rejected.map(({ line }) => line)).toEqual([13])
  })

  it('has elements of an array that are not objects rejected, not skipped', async () => {
    const report = await take('[\n1, "a, [\\" b",\n{"domain":"acme.example"},\nnull, [2],\n true]')
    expect(await domains()).toEqual(['acme.example'])
    expect(report.rejected.map(({ line }) => line)).toEqual([2, 2, 4, 4, 5])
  })

  it('is reported with its mapped and ignored columns', async () => {
    const report = await take('Société;Site Web;Pays;Owner\nAcme;acme.example;France;Marie')
    expect(report.mapping).toEqual({ name: 'Société', website: 'Site Web', country: 'Pays' })
    expect(report.ignored).toEqual(['Owner'])
    expect((await exported(catalogue, 'companies'))[0]).toMatchObject({
      country: 'FR',
      domain: 'acme.example',
    })
  })

  it('has a column with the name of a field preferred to one with a synonym', async () => {
    const report = await take('Website domain,Domain,Company\na.example,b.example,Acme')
    expect(report.mapping).toEqual({ domain: 'Domain', name: 'Company' })
    expect(await domains()).toEqual(['b.example'])
  })

  it('may have no header, which its values show', async () => {
    const report = await take('a.example,Acme\nb.example,Birch\n')
    expect(report.mapping).toEqual({ domain: 'column_1' })
    expect(await domains()).toEqual(['a.example', 'b.example'])
  })

  it('may have no header, which the header option says, with columns mapped by number', async () => {
    const report = await take('Acme,sales@a.example\nBirch,\n', { header: false, map: { name: 'column_1' } })
    expect(report.mapping).toEqual({ name: 'column_1', domain: 'column_2' })
    expect(await exported(catalogue, 'companies')).toMatchObject([{ domain: 'a.example', name: 'Acme' }])
    expect(report.rejected.map(({ line }) => line)).toEqual([2])
    // As its rejects have them, with a header of these names.
    await take('_line,_reason,column_1,column_2\n2,no domain,Birch,b.example\n', { header: false })
    expect(await domains()).toEqual(['a.example', 'b.example'])
  })

  it('has columns mapped by the map option', async () => {
    await take('Domain,Real domain,Title\nwrong.example,right.example,Acme', {
      map: { domain: 'Real domain', name: 'title' },
    })
    expect(await exported(catalogue, 'companies')).toMatchObject([{ domain: 'right.example', name: 'Acme' }])
  })

  it('has JSON keys mapped by the map option', async () => {
    await take('{"domain":"wrong.example","site":"right.example"}', { map: { domain: 'site' } })
    expect(await domains()).toEqual(['right.example'])
  })
})

describe('an import of an invalid file', () => {
  it('keeps and counts the records before the error', async () => {
    const error = await refusal('name,domain\nAcme,acme.example\n"Birch,birch.example\n')
    expect(error.details.report).toMatchObject({ added: 1, updated: 0 })
    expect(await domains()).toEqual(['acme.example'])
  })

  it('stops at a cell that never ends before it fills the memory', async () => {
    const error = await refusal(`name,domain\nAcme,acme.example\n"${'x'.repeat(2_000_000)}`)
    expect(error.details.line).toBe(3)
  })

  it.each<[string, string, ImportOptions, string]>([
    ['an empty file', '', {}, 'empty'],
    ['a header that identifies nothing', 'Owner,Notes\nMarie,x', {}, 'domain'],
    ['a field that there is not', 'a,b\n', { map: { domian: 'a' } }, 'domian'],
    ['a field that only every object has', 'a,b\n', { map: { constructor: 'a' } }, 'constructor'],
    ['a column that there is not', 'a,b\n', { map: { domain: 'c' } }, "'c'"],
    ['an unknown encoding', 'a,b\n', { encoding: 'klingon' }, 'klingon'],
    ['an array that does not end', '[{"domain":"acme.example"},', {}, 'bracket'],
  ])('fails for %s', async (_, text, options, word) => {
    await expect(inWords(() => take(text, options))).rejects.toThrow(word)
  })
})
