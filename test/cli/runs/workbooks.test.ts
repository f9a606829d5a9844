import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import readExcelFile from 'read-excel-file/node'
import { beforeAll, describe, expect, it } from 'vitest'
import { ends } from '../../support/command.js'
import { perFile, perTest } from '../../support/each.js'
import { launch, prospect } from '../../support/processes.js'
import { until } from '../../support/until.js'
import { textRow, workbookOf, workbookOfRows } from '../../support/workbooks.js'
import { known, machines } from './paying.js'

const filled = perFile(() => machines(300, 2_000))

const here = perTest(() => filled.copy())

const path = (name: string) => here.path(name)
const put = (name: string, bytes: Uint8Array) => writeFileSync(path(name), bytes)
const sheet = (name: string, ...rows: string[][]) => put(name, workbookOfRows(rows))
const enrich = (more = '') => here.run(`accounts enrich --fail-on none ${more}`)
const runsIn = () => (existsSync(path('runs')) ? readdirSync(path('runs')) : [])
const paidIn = async () => (await here.charges()).reduce((sum, charge) => sum + charge, 0)

/** Returns the rows of a workbook as another reader sees them. */
async function sheetRows(name: string): Promise<Record<string, unknown>[]> {
  const [sheet] = await readExcelFile(path(name))
  const [header = [], ...rows] = sheet?.data ?? []
  return rows.map((row) => Object.fromEntries(header.map((key, at) => [String(key), row[at]])))
}

const companies = (count: number) => [['Website'], ...Array.from({ length: count }, (_, at) => [known(at)])]

describe('--csv with a workbook', () => {
  it('looks up the rows of its first sheet and leaves no copy of it behind', async () => {
    const rows = [
      [known(1), '=1+1'],
      [known(2), 'two\nlines'],
      ['', 'none'],
      [known(1), ''],
    ]
    sheet('in.xlsx', ['Website', 'Note'], ...rows)
    const { code, stderr } = await enrich('--csv in.xlsx -o out.csv')
    expect([code, stderr]).toEqual([0, expect.any(String)])
    expect(here.rows('out.csv').map(({ Website, Note, _status }) => [Website, Note, _status])).toEqual([
      [known(1), "'=1+1", 'found'],
      [known(2), 'two\nlines', 'found'],
      ['', 'none', 'invalid'],
      [known(1), '', 'found'],
    ])
    expect(here.read('out.rejects.csv')).toContain('none')
    expect(runsIn()).toEqual([])
  })

  it('resumes the run of the same workbook and sheet, and starts another one for another sheet', async () => {
    put(
      'in.xlsx',
      workbookOf({
        sheets: { One: textRow('Website') + textRow(known(1)), Two: textRow('Website') + textRow(known(2)) },
      }),
    )
    await enrich('--csv in.xlsx -o one.csv')
    await enrich('--csv in.xlsx --sheet Two -o two.csv')
    const again = await enrich('--csv in.xlsx -o again.csv')
    expect([again.code, here.rows('again.csv')[0]?.Website, here.rows('two.csv')[0]?.Website]).toEqual([
      0,
      known(1),
      known(2),
    ])
    const runs = await here.runs()
    expect([runs.length, await paidIn()]).toEqual([2, (await here.charges()).length])
    const [latest] = runs
    const resumed = await here.run(`runs resume ${latest?.id ?? ''} -o resumed.csv`)
    expect([resumed.code, here.rows('resumed.csv')[0]?.Website]).toEqual([0, known(2)])
  })

  it('reads a workbook from stdin', async () => {
    const given = { stdin: Buffer.from(workbookOfRows(companies(2))) }
    const { code, stderr } = await here.run('accounts enrich --csv - -o out.csv', given)
    expect([code, stderr]).toEqual([0, expect.any(String)])
    expect(here.rows('out.csv')).toHaveLength(2)
  })
})

describe('a command that ends while a workbook is converted', () => {
  const argv = ['accounts', 'enrich', '--csv', 'slow.xlsx', '-o', 'out.csv']
  let slow: Uint8Array
  beforeAll(() => {
    slow = workbookOf({ sheets: { One: `<row>${'<c/>'.repeat(8_000_000)}</row>` } })
  })
  const start = (...words: string[]) => launch(prospect, words, here.home, { PROSPECT_HOME: here.home })
  const childrenOf = (pid: number | undefined) =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)

  it.each([
    ['SIGINT', 130, argv],
    ['SIGTERM', 143, argv],
    ['SIGKILL', undefined, argv],
    ['SIGINT', 130, ['data', 'import', 'companies', 'slow.xlsx']],
  ] as const)('leaves no process and no copy behind after %s (exit code %s)', async (signal, code, words) => {
    put('slow.xlsx', slow)
    const command = start(...words)
    await until(() => childrenOf(command.pid).length > 0)
    const [child = ''] = childrenOf(command.pid)
    // Its first descriptor after the channel is that of the copy.
    await until(() => existsSync(`/proc/${child}/fd/4`))
    const named = runsIn()
    command.kill(signal)
    const { exitCode, stderr } = await command
    expect([exitCode, stderr]).toEqual([
      code,
      expect.stringMatching(
        signal === 'SIGKILL' ? /^$/ : /(Interrupted|Terminated) while a workbook was converted/,
      ),
    ])
    await until(() => !existsSync(`/proc/${child}`))
    expect([named, runsIn()]).toEqual([[], []])
  })
})

describe('-o with a workbook', () => {
  it('writes any other result as a workbook, too', async () => {
    await ends(here.run(`accounts enrich --domain ${known(3)} -o one.xlsx`), 0)
    expect((await sheetRows('one.xlsx'))[0]).toMatchObject({ domain: known(3) })
  })

  it('leaves a stopped run as CSV, which the same command completes', async () => {
    sheet('in.xlsx', ...companies(5))
    const stopped = await enrich('--csv in.xlsx -o out.xlsx --max-credits 2')
    expect([stopped.code, existsSync(path('out.xlsx'))]).toEqual([12, false])
    expect(here.rows('out.xlsx.partial').map(({ Website }) => Website)).toEqual([known(0), known(1)])
    const resumed = await enrich('--csv in.xlsx -o out.xlsx --max-credits 9')
    expect([resumed.code, (await sheetRows('out.xlsx')).length]).toEqual([0, 5])
  })

  it('keeps the rows as CSV where a cell does not fit into a workbook', async () => {
    sheet('in.xlsx', ['Website', 'Note'], [known(1), 'x'.repeat(40_000)])
    const { code, stderr } = await enrich('--csv in.xlsx -o out.xlsx')
    expect([code, stderr.replaceAll(/\s+/g, ' ')]).toEqual([
      10,
      expect.stringContaining('40,000 characters in column "Note"'),
    ])
    expect(existsSync(path('out.xlsx.partial'))).toBe(true)
    rmSync(path('out.xlsx.partial'))
    const again = await enrich('--csv in.xlsx -o out.csv')
    expect([again.code, await paidIn()]).toEqual([0, 1])
  })
})

describe('data import with a workbook', () => {
  it('imports a sheet and rejects rows by their numbers in it', async () => {
    put(
      'people.xlsx',
      workbookOf({
        sheets: {
          Intro: textRow('x'),
          Targets:
            textRow('Name', 'Domain') + textRow("'New\n Co", 'new-co.example') + textRow('Bad', 'no domain'),
        },
      }),
    )
    const { code, stdout } = await here.run(
      'data import companies people.xlsx --sheet targets --json --rejects rejects.csv',
    )
    expect([code, JSON.parse(stdout)]).toEqual([
      11,
      expect.objectContaining({ added: 1, rejected: [expect.objectContaining({ line: 3 })] }),
    ])
    expect(here.read('rejects.csv')).toBe(
      "_line,_reason,Name,Domain\n3,domain: no website domain in 'no domain',Bad,no domain\n",
    )
    expect(runsIn()).toEqual([])
  })

  it('refuses a sheet from a pipe', async () => {
    const stdin = Buffer.from(workbookOfRows(companies(1)))
    await ends(here.run('data import companies -', { stdin }), 2, /give its name instead\s+of a pipe/)
  })
})
