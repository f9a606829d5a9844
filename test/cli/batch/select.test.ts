import { beforeEach, describe, expect, it } from 'vitest'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)
beforeEach(async () => {
  const companies = ['acme,acme.example,FR,120', 'globex,globex.example,DE,40', 'initech,initech.example,DE,']
  const stdin = `name,domain,country,headcount\n${companies.join('\n')}\n`
  await here.fill('companies', stdin)
  write('companies.csv', [
    'Record ID,Website',
    '1,acme.example',
    '2,globex.example',
    '3,initech.example',
    '4,nobody.example',
  ])
})

const write = (name: string, lines: readonly string[]) => here.write(name, `${lines.join('\n')}\n`)
const read = (name: string) => here.read(name)
const enrich = (options = '') => here.run(`accounts enrich --csv companies.csv -o out.csv --yes ${options}`)
const rows = () => read('out.csv').trimEnd().split('\n')

describe('--where', () => {
  it.each([
    ['headcount >= 50', ['acme']],
    ['country == "DE" || headcount > 100', ['acme', 'globex', 'initech']],
    ['headcount == null && _status == "found"', ['initech']],
    ['input["Record ID"] in ["2", "3"]', ['globex', 'initech']],
  ])('writes the rows of which %s is true', async (where, names) => {
    const { code, stderr } = await enrich(`--where '${where}' --columns name --summary-json summary.json`)
    expect([code, rows()]).toEqual([0, ['name', ...names]])
    expect(stderr).toContain(`${names.length} ${names.length === 1 ? 'row' : 'rows'} written.`)
    expect(JSON.parse(read('summary.json'))).toMatchObject({
      rows: 4,
      found: 3,
      credits: 3,
      written: names.length,
    })
  })

  it('counts comparisons with a missing value, which are false', async () => {
    const { stderr } = await enrich(`--where 'headcount >= 50'`)
    expect(stderr).toContain('--where compared a missing value or one of another type in 2 rows')
  })

  it('writes the rows of a finished run again with another condition, and spends nothing', async () => {
    await enrich(`--where 'headcount >= 50' --columns name`)
    await enrich(`--where 'country == "DE"' --columns name --summary-json summary.json`)
    expect([rows(), JSON.parse(read('summary.json'))]).toMatchObject([
      ['name', 'globex', 'initech'],
      { credits: 3, credits_before: 3 },
    ])
  })
})

it('--columns writes these columns of input, result and status, in this order and any spelling', async () => {
  await enrich('--columns "_status,HEADCOUNT,record id"')
  expect(rows()).toEqual([
    '_status,headcount,Record ID',
    'found,120,1',
    'found,40,2',
    'found,,3',
    'not_found,,4',
  ])
  const { stdout } = await here.run(
    'accounts enrich --csv companies.csv --columns name,_status --format ndjson --yes',
  )
  expect(JSON.parse(stdout.split('\n')[0] ?? '')).toEqual({ name: 'acme', _status: 'found' })
})

it('--only writes rows with a valid email address only', async () => {
  const people = ['Ada,Love,ada@acme.example,valid', 'Bob,Smith,bob@acme.example,risky']
  const stdin = `first_name,last_name,email,email_status,company_domain\n${people.map((one) => `${one},acme.example`).join('\n')}\n`
  await here.fill('people', stdin)
  write('people.csv', ['First name,Last name,Domain', 'Ada,Love,acme.example', 'Bob,Smith,acme.example'])
  const { stdout, stderr } = await here.run(
    'contacts waterfall --csv people.csv --enrichment-type email --only valid --columns email --yes',
  )
  expect([stdout, stderr.includes('1 row written.')]).toEqual(['email\nada@acme.example\n', true])
})

describe('--only new and changed', () => {
  const summary = () => JSON.parse(read('summary.json')) as Readonly<Record<string, unknown>>
  const compare = (options: string) => enrich(`--columns "Record ID" --summary-json summary.json ${options}`)
  const more = ['4,nobody.example', '5,hooli.example', '6,nobody-else.example', '7,piper.example']
  const addRows = async () => {
    const stdin = 'name,domain\nhooli,hooli.example\npiper,piper.example\n'
    await here.fill('companies', stdin)
    write('companies.csv', [read('companies.csv').trimEnd().split('\n').slice(0, -1).join('\n'), ...more])
  }
  const last = async () => (await here.run('runs list --format ids')).stdout.split('\n')[0] ?? ''

  it('writes the rows that the last finished run of the file did not have, and pays for no others', async () => {
    await enrich('--max-age 30d')
    const others = ['5,http://unknown-one.example', '6,globex.example/x', '7,other.example']
    write('companies.csv', [read('companies.csv').trimEnd(), ...others])
    const { stderr } = await compare('--only new')
    expect([rows(), summary()]).toMatchObject([
      ['Record ID', '5', '7'],
      { rows: 7, found: 4, credits: 0, written: 2 },
    ])
    expect(stderr).toContain('Compared with run ')
    await compare('--only new')
    expect(rows()).toEqual(['Record ID'])
  })

  it('costs at most three lookups and writes three rows for a list with three new rows, every week', async () => {
    await here.fill(
      'companies',
      `name,domain\n${Array.from({ length: 9 }, (_, at) => `week${at},week${at}.example`).join('\n')}\n`,
    )
    const { credits: before } = await here.json<{ credits: { enrichment: number } }>('credits')
    await compare('--only new')
    for (const week of [0, 1, 2]) {
      const added = [0, 1, 2].map((at) => `${10 + 3 * week + at},week${3 * week + at}.example`)
      write('companies.csv', [read('companies.csv').trimEnd(), ...added])
      await compare('--only new')
      expect([rows().length - 1, summary().credits]).toEqual([3, 3])
    }
    const { credits } = await here.json<{ credits: { enrichment: number } }>('credits')
    expect(before.enrichment - credits.enrichment).toBe(3 + 9)
  })

  it('writes everything where there was no run, and what is found now where it was not', async () => {
    const { stderr } = await compare('--only new')
    expect([rows().length, stderr.includes('all rows are new')]).toEqual([5, true])
    const first = await last()
    await addRows()
    await compare('--only new,changed --only found')
    expect(rows()).toEqual(['Record ID', '5', '7'])
    const stdin = 'name,domain,country,headcount\nglobex,globex.example,DE,41\nnobody,nobody.example,FR,1\n'
    await here.fill('companies', stdin)
    await compare('--only changed')
    expect(rows()).toEqual(['Record ID', '2', '4'])
    await compare(`--only new --since ${first.slice(0, 8)}`)
    expect(rows()).toEqual(['Record ID', '5', '6', '7'])
    await compare('--only new --since 7d')
    expect(rows().length).toBe(8)
  })

  it('compares with no run that left rows of the file out', async () => {
    await enrich()
    const whole = await last()
    write('companies.csv', [read('companies.csv').trimEnd(), '5,hooli.example'])
    write('known.csv', ['domain', 'globex.example'])
    const other = 'accounts enrich --csv companies.csv --yes -o'
    await here.run(`${other} look.csv --rows 5`)
    await here.run(`${other} unknown.csv --skip-known known.csv`)
    const { stderr } = await compare('--only new')
    expect([stderr.includes(`Compared with run ${whole.slice(0, 8)}`), rows()]).toEqual([
      true,
      ['Record ID', '5'],
    ])
  })

  it('refuses to compare with a run that has not finished, or was of another operation', async () => {
    await enrich('--max-credits 1')
    const runs = ['no-such-run', await last()]
    await here.run('accounts stack --csv companies.csv -o stack.csv --yes')
    runs.push(await last())
    expect(new Set(runs).size).toBe(3)
    for (const run of runs)
      await ends(
        compare(`--only new --since ${run}`),
        2,
        `--since: ${run} is no finished run of this operation`,
      )
    expect(await here.json('runs list')).toHaveLength(2)
  })

  it('compares with the last run that began as long ago as --since says, and not with a later one', async () => {
    const begun = Date.now()
    const ago = (ms: number, options = '') =>
      here.run(
        `accounts enrich --csv companies.csv -o out.csv --columns "Record ID" --yes --max-age 30d ${options}`,
        { clock: { now: () => begun + ms } },
      )
    await ends(ago(0), 0)
    write('companies.csv', [read('companies.csv').trimEnd(), '5,hooli.example'])
    const week = 7 * 86_400_000
    await ends(ago(week - 1, '--only new --since 7d'), 0)
    expect(rows()).toEqual(['Record ID', '1', '2', '3', '4', '5'])
    await ends(ago(week, '--only new --since 7d'), 0)
    expect(rows()).toEqual(['Record ID', '5'])
  })

  it('keeps the run that it is compared with where it is resumed', async () => {
    await enrich()
    await addRows()
    const { code, stderr } = await compare('--only new --max-credits 1 --concurrency 1 --refresh')
    const run = /runs resume (\S+)/.exec(stderr)?.[1] ?? ''
    expect(code).toBe(12)
    // Another run of the same file, which has all its rows.
    await here.run('accounts enrich --csv companies.csv -o other.csv --yes --only found --sample 7')
    const resumed = await here.run(`runs resume ${run} --max-credits 9`)
    expect([resumed.code, rows()]).toEqual([0, ['Record ID', '5', '6', '7']])
  })
})
