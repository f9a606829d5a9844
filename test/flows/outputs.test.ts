import { statSync } from 'node:fs'
import readExcelFile from 'read-excel-file/node'
import { beforeEach, describe, expect, it } from 'vitest'
import { answering, closeAfterTest } from '../client/listeners.js'
import { ends, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { stocked } from '../support/flows.js'

const here = perTest(machine)
beforeEach(async () => {
  await stocked(here.run, 30)
  const rows = Array.from({ length: 12 }, (_, at) => `company-${at}.example,00${at},=1+${at}`)
  here.write('list.csv', `Website,Ref,Note\n${rows.join('\n')}\n`)
})

const run = (...more: string[]) => here.run(['flow', 'run', 'flow.yaml', ...more])
const write = (output: string, steps = '[accounts.enrich]', more = '') =>
  here.write('flow.yaml', `name: flow\ninput: { csv: list.csv }\nsteps: ${steps}\noutput: ${output}\n${more}`)

/** Returns the rows of a workbook as another reader sees them. */
async function cellsOf(name: string): Promise<readonly (readonly unknown[])[]> {
  const [sheet] = await readExcelFile(here.path(name))
  return sheet?.data ?? []
}

const columns = 'columns: [name, domain, headcount, input.Ref, input.Note]'

describe('an output of a flow with the name of a workbook', () => {
  it.each([
    `{ xlsx: out.xlsx, ${columns} }`,
    `{ csv: out.xlsx, ${columns} }`,
    `[{ csv: other.csv }, { xlsx: out.xlsx, ${columns} }]`,
    `[{ xlsx: OTHER.XLSX }, { csv: out.xlsx, ${columns} }]`,
  ])('is one: %s', async (output) => {
    write(output)
    await ends(run(), 0, 'out.xlsx')
    const [header, ...rows] = await cellsOf('out.xlsx')
    expect(header).toEqual(['name', 'domain', 'headcount', 'Ref', 'Note'])
    expect(rows).toHaveLength(12)
    // Cells of the input are texts: no number loses its zeros, and none is a formula.
    expect(rows[3]).toEqual(['Company 3', 'company-3.example', 63, '003', '=1+3'])
    expect((await cellsOf('out.xlsx')).length).toBe(13)
    if (output.includes('OTHER')) expect(await cellsOf('OTHER.XLSX')).toHaveLength(13)
    expect(here.exists('out.xlsx.partial')).toBe(false)
    // The same command writes it again.
    const before = statSync(here.path('out.xlsx')).size
    await ends(run(), 0)
    expect(statSync(here.path('out.xlsx')).size).toBe(before)
  })

  it('is one in the columns of a CRM, and the input of another flow', async () => {
    write('{ xlsx: out.xlsx, layout: hubspot }')
    await ends(run(), 0)
    expect((await cellsOf('out.xlsx'))[1]).toContain('Company 0')
    here.write(
      'second.yaml',
      'name: second\ninput: { flow: flow.yaml }\nsteps: [accounts.enrich]\noutput: { xlsx: second.xlsx, columns: [name] }\n',
    )
    await ends(here.run('flow run second.yaml'), 0)
    expect(await cellsOf('second.xlsx')).toHaveLength(13)
  })

  it('is one with a header where no row is left, and where rows are only looked at', async () => {
    write(`{ xlsx: out.xlsx, ${columns} }`, '[accounts.enrich, { keep: headcount > 5000 }]')
    await ends(run(), 0)
    expect(await cellsOf('out.xlsx')).toEqual([['name', 'domain', 'headcount', 'Ref', 'Note']])
    await ends(run('--until', '1', '--rows', '3', '-o', 'look.xlsx'), 0)
    expect(await cellsOf('look.xlsx')).toHaveLength(4)
    await ends(run('--rows', '3', '-o', 'look.xlsx', '--format', 'ndjson'), 2, 'is the name of a workbook')
  })

  it.each([
    ['{ json: out.xlsx }', 'out.xlsx is the name of a workbook, and json writes text. Name a .json file'],
    [
      '{ ndjson: Out.XLSX }',
      'Out.XLSX is the name of a workbook, and ndjson writes text. Name a .ndjson file',
    ],
    ['{ xlsx: out.csv }', 'out.csv is the name of no workbook, and xlsx writes one. Name an .xlsx file'],
    ['{ xlsx: out }', 'out is the name of no workbook, and xlsx writes one.'],
    ['{ csv: out.xls }', 'out.xls is the name of a workbook, and csv writes no such file. Name a .csv file'],
    ['{ csv: out.ods }', 'out.ods is the name of a workbook'],
    [
      '{ xlsx: out.xlsm }',
      'out.xlsm is the name of a workbook, and xlsx writes no such file. Name an .xlsx file',
    ],
    ['{ json: out.numbers }', 'out.numbers is the name of a workbook'],
  ])('is refused where it would be none: %s', async (output, said) => {
    write(output)
    const before = await here.balance()
    await ends(here.run('flow check flow.yaml'), 2, 'flow.yaml:4:', said)
    await ends(run(), 2, said)
    expect(await here.balance()).toBe(before)
    expect(here.exists('out.xlsx')).toBe(false)
  })
})

describe('a file that is no workbook', () => {
  it.each([
    'accounts enrich --csv list.csv -o out.csv --rejects out.xlsx',
    'accounts enrich --csv list.csv -o out.csv --summary-json out.xlsx',
    'data import companies list.csv --rejects out.xlsx',
    'match list.csv --with list.csv --summary-json out.xlsx',
    'accounts enrich --csv list.csv -o out.csv --log out.xlsx',
    'credits --log Out.XLSX',
  ])('does not get the name of one: %s', async (line) => {
    const before = await here.balance()
    await ends(here.run(line), 2, /out\.xlsx is the name of a workbook/i)
    expect([here.exists('out.xlsx'), here.exists('out.csv'), await here.balance()]).toEqual([
      false,
      false,
      before,
    ])
  })

  it.each([
    'credits',
    'runs list',
    'ledger',
    'flow quote flow.yaml',
    'accounts enrich --domain company-1.example',
  ])('is a workbook where its name says so: %s', async (line) => {
    write('{ csv: out.csv }')
    await ends(here.run(`${line} -o out.xlsx`), 0)
    expect((await cellsOf('out.xlsx')).length).toBeGreaterThan(0)
  })
})

describe('the output of a flow whose rows failed', () => {
  const failing = async (status: number) => {
    const { origin } = closeAfterTest(await answering((_, response) => response.writeHead(status).end('{}')))
    return `[{ http: { post: "${origin}", result: { score: score }, per_second: 1000 } }]`
  }

  it.each([
    ['{ csv: out.csv }', 'out.csv'],
    ['{ json: out.json }', 'out.json'],
    ['{ xlsx: out.xlsx }', 'out.xlsx'],
  ])('stays as it was where nothing would be written: %s', async (output, name) => {
    here.write(name, 'What yesterday brought')
    write(output, await failing(500))
    await ends(run(), 11, `No row is left, and some failed: `, `${name} stays as it was.`, '12 failed')
    expect(here.read(name)).toBe('What yesterday brought')
    expect(here.exists(`${name}.partial`)).toBe(false)
    // Nor is it lost when the finished flow writes its output again.
    await run()
    expect(here.read(name)).toBe('What yesterday brought')
  })

  it('is written where there was none, and where rows are only left out', async () => {
    write('{ csv: out.csv, columns: [domain] }', await failing(500))
    await ends(run(), 11)
    expect(here.read('out.csv')).toBe('domain\n')
    here.write('out.csv', 'What yesterday brought')
    write('{ csv: out.csv, columns: [domain] }', '[accounts.enrich, { keep: headcount > 5000 }]')
    await ends(run(), 0)
    expect(here.read('out.csv')).toBe('domain\n')
  })
})
