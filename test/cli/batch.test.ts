import { readdirSync, statSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { describe, expect, it } from 'vitest'
import { answering, ends, type Given, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { casesOf } from '../support/fixtures.js'

const here = perTest(machine)

const poor = { status: 402, body: { error: 'Insufficient credits', code: 'insufficient_credits' } }

/** A target that knows every domain but `nobody.example` for a credit each, until `credits` are spent. */
function companies(credits = Number.POSITIVE_INFINITY) {
  let left = credits
  return answering((_, { domain }) => {
    if (left === 0) return poor
    if (domain === 'nobody.example') return { status: 404, body: { error: 'No company found' } }
    left--
    return { body: { name: `=${domain}`, headcount: 7, phone: '+15550100' }, credits: 1 }
  })
}

/** Runs a batch over a file. */
const batch = (command: string, csv: string, options: string, given: Given = {}) => {
  here.write('in.csv', csv)
  return here.run(`${command} --csv in.csv ${options}`, { caller: companies(), ...given })
}
const enrich = (csv: string, options = '', given: Given = {}) => batch('accounts enrich', csv, options, given)
const inputsOf = ({ asked }: ReturnType<typeof answering>) => asked.map(({ input }) => input)
const modeOf = (name: string) => statSync(here.path(name)).mode & 0o777
const linesOf = (name: string) => here.read(name).split('\n')
const one = 'domain\na.example\n'

describe('a batch', () => {
  it('keeps rows, order and columns, and appends the results and their status', async () => {
    const csv = 'Company Domain,note\na.example,1\nnobody.example,2\n,3\na.example,4\n'
    const ended = await enrich(csv, '-o out.csv --fields name,headcount')
    expect(linesOf('out.csv')).toEqual([
      'Company Domain,note,name,headcount,_status,_error,_credits,_source',
      "a.example,1,'=a.example,7,found,,1,lookup",
      'nobody.example,2,,,not_found,No company found,0,lookup',
      ',3,,,invalid,"""Company Domain"" is empty",0,',
      "a.example,4,'=a.example,7,found,,0,duplicate",
      '',
    ])
    expect([ended.code, ended.stdout]).toEqual([11, ''])
  })

  it('prints the column mapping and the counts of rows on stderr', async () => {
    await ends(
      enrich('Website,note\na.example,1\na.example,2\n', '-o out.csv'),
      0,
      /^domain +<- +"Website", such as a\.example$/m,
      '2 rows',
      '2 found · 1 of them a duplicate (not charged again) · 1 credit',
      `Written to ${here.path('out.csv')}`,
    )
    expect((await enrich('domain\nb.example\n')).stderr).toMatch(/^1 row in .*: 1 found · 1 credit$/m)
    expect((await enrich(one, '--quiet --fresh')).stderr).toBe('')
  })

  it('draws a table on a terminal, of the columns that were asked for or of a few', async () => {
    const shown = async (options = '') => {
      const given = { terminal: true }
      const { stdout } = await enrich('domain,Notes\na.example,x\n', `${options} --yes`, given)
      return stdout.split('\n').map((line) => line.split(/ {2,}/))
    }
    expect(await shown('--fields name')).toEqual([
      ['Domain', 'Name', 'Status'],
      ['a.example', '=a.example', 'found'],
      [''],
    ])
    expect((await shown('--columns Notes,name'))[1]).toEqual(['x', '=a.example'])
    expect((await shown())[0]?.slice(0, 2)).toEqual(['Domain', 'Name'])
    expect((await shown('--format csv'))[0]?.[0]).toMatch(/^domain,Notes,id,name,/)
  })

  it('keeps what was found in a table on a narrow terminal, and every column that was asked for', async () => {
    const file = 'domain,name,country\na-long-domain-name.example,A company with a long name,DE\n'
    const given = { terminal: true, columns: 50 }
    const usual = await enrich(file, '--fields headcount --yes', given)
    expect(usual.stdout).toMatch(/^Name +Headcount +Status\n/)
    const chosen = await enrich(
      file,
      '--columns domain,name,country,result.name,_status,_credits --yes',
      given,
    )
    expect(chosen.stdout).toMatch(
      /^Domain +a-long.*\nName .*\nCountry .*\nResult name .*\nStatus .*\nCredits/,
    )
  })

  it.each([
    ['out.ndjson', /^\{"domain":"a.example"/],
    ['out.json', /^\[\n\{"domain"/],
    ['out.tsv', /^domain\tname\t_status/],
    ['enriched', /^domain,name,_status/],
    ['out.csv --excel', /^\ufeffdomain;name;_status/],
    ['out.csv --raw-csv', /\na\.example,=a\.example,found/],
  ])('writes -o %s in the format of its extension and options', async (output, start) => {
    await enrich(one, `-o ${output} --fields name`)
    expect(here.read(output.split(' ')[0] ?? '')).toMatch(start)
  })

  it('keeps a partial file of an unknown run under another name, and says so', async () => {
    here.write('out.csv.partial', 'first')
    const first = await enrich(one, '-o out.csv')
    here.write('out.csv.partial', 'written again from the journal')
    const second = await enrich(one, '-o out.csv')
    expect(here.read('out.csv.partial.1')).toBe('first')
    expect(first.stderr).toMatch(/^An earlier run left rows .* kept as .*out\.csv\.partial\.1$/m)
    expect(second.stderr).not.toContain('An earlier run left rows')
    expect(here.read('out.csv')).toContain('found')
  })

  it('keeps the partial file of another run too, and replaces its own', async () => {
    const three = 'domain\na.example\nb.example\nc.example\n'
    await ends(enrich(three, '-o out.csv', { caller: companies(2) }), 4)
    const left = here.read('out.csv.partial')
    expect(left).toContain('=b.example')
    await ends(enrich(three, '-o out.csv', { caller: companies(0) }), 4)
    expect(here.exists('out.csv.partial.1')).toBe(false)
    here.write('other.csv', 'domain\nd.example\ne.example\n')
    const other = here.run('accounts enrich --csv other.csv -o out.csv', { caller: companies(1) })
    expect((await ends(other, 4)).stderr).toContain(`they are kept as ${here.path('out.csv.partial.1')}`)
    expect(here.read('out.csv.partial.1')).toBe(left)
    expect(here.read('out.csv.partial')).toContain('=d.example')
  })

  it('removes an empty partial file, and creates no folder for rows that come from a file', async () => {
    here.write('out.csv.partial', '')
    await enrich(one, '-o out.csv')
    expect(readdirSync(here.home).filter((name) => /partial|^runs$/.test(name))).toEqual([])
  })

  it('says that a partial file is empty when nothing was answered', async () => {
    const nothing = `Nothing was answered yet: ${here.path('out.csv.partial')} is empty.`
    await ends(enrich(one, '-o out.csv', { caller: companies(0) }), 4, nothing)
    expect(here.read('out.csv.partial')).toBe('')
  })

  it('skips rows of delimiters only, which spreadsheets write for blank lines, and keeps them in the output', async () => {
    const caller = companies()
    const csv = 'Website;Note;\na.example;x;\n;;\n ; ;\n'
    await ends(enrich(csv, '-o out.csv', { caller }), 0, '3 rows in', '2 skipped')
    expect([inputsOf(caller), here.exists('out.rejects.csv')]).toEqual([[{ domain: 'a.example' }], false])
    const statuses = linesOf('out.csv').map((line) => /,(found|skipped|invalid),/.exec(line)?.[1])
    expect(statuses.slice(1, 4)).toEqual(['found', 'skipped', 'skipped'])
  })

  it('that stopped at its budget is not resumed with another target', async () => {
    const at = (host: string) => ({
      env: { PROSPECT_BASE_URL: `https://${host}/api/v2` },
      caller: companies(),
    })
    await ends(enrich('domain\na.example\nb.example\n', '--max-credits 1 -o out.csv', at('a.example')), 12)
    const other = 'is for another target: https://a.example/api/v2'
    await ends(here.run('runs resume --last', at('b.example')), 2, other)
  })
})

it('--only-missing fills the status of a value with the value, in its column of the file', async () => {
  const caller = answering((_, { first_name: name }) => ({
    body: {
      full_name: `${name} King`,
      most_probable_email: name === 'Eve' ? null : 'ada@a.example',
      most_probable_email_status: 'risky',
    },
    credits: 1,
  }))
  const people = [
    'Ada,King,a.example,,old',
    'Eve,King,a.example,,old',
    'Ida,King,a.example,i@a.example,valid',
  ]
  const header = 'first_name,last_name,company_domain,email,Email Status'
  const only = '--only-missing most_probable_email=email --fields most_probable_email -o out.csv'
  await batch('leads enrich', `${header}\n${people.join('\n')}\n`, only, { caller })
  expect(linesOf('out.csv')).toEqual([
    `${header},_status,_error,_credits,_source`,
    'Ada,King,a.example,ada@a.example,risky,found,,1,lookup',
    'Eve,King,a.example,,old,found,,1,lookup',
    'Ida,King,a.example,i@a.example,valid,skipped,,0,',
    '',
  ])
})

describe('--explode', () => {
  const hiring = () =>
    answering((_, { company_domain, limit }) => {
      const jobs = ['A', 'B', 'C'].slice(0, Number(limit ?? 100)).map((job_title) => ({ job_title }))
      return { body: { total_jobs: 3, truncated: false, jobs, company_domain }, credits: jobs.length }
    })
  const csv = 'domain\na.example\nb.example\n'

  it('resumes an exploded run by input row after its budget stopped it, and its credits add up', async () => {
    const caller = hiring()
    const options = '--explode --fields total_jobs,job_title -o out.csv'
    await ends(batch('accounts hiring', csv, `${options} --max-credits 3`, { caller }), 12)
    expect(linesOf('out.csv.partial')).toHaveLength(5)
    await ends(batch('accounts hiring', csv, options, { caller }), 0, '2 rows in')
    expect(caller.asked).toHaveLength(2)
    expect(linesOf('out.csv')).toEqual([
      'domain,total_jobs,job_title,_status,_error,_credits,_source',
      'a.example,3,A,found,,3,lookup',
      'a.example,3,B,found,,0,lookup',
      'a.example,3,C,found,,0,lookup',
      'b.example,3,A,found,,3,lookup',
      'b.example,3,B,found,,0,lookup',
      'b.example,3,C,found,,0,lookup',
      '',
    ])
  })

  it('exports a finished run again with --explode without spending', async () => {
    const caller = hiring()
    await batch('accounts hiring', csv, '-o one.csv --fields jobs_count', { caller })
    await batch('accounts hiring', csv, '-o many.csv --explode --fields job_title', { caller })
    expect(caller.asked).toHaveLength(2)
    expect(linesOf('one.csv')[1]).toBe('a.example,3,found,,3,lookup')
    expect(linesOf('many.csv')[3]).toBe('a.example,C,found,,0,lookup')
  })
})

describe('columns of the output', () => {
  it('are those of the requested enrichment types for a waterfall', async () => {
    const body = { email: 'x@a.example', email_status: 'valid', status: 'finished', credits_used: 3 }
    const caller = answering({ body, credits: 3 })
    const csv = 'First name,Last name,Company\nJo,Doe,A\n'
    const { stdout } = await batch('contacts waterfall', csv, '--enrichment-type email', { caller })
    expect(stdout.split('\n')[0]).toBe(
      'First name,Last name,Company,enrichment_id,first_name,last_name,network_profile_url,status,email,email_status,' +
        'credits_used,_status,_error,_credits,_source',
    )
  })

  it.each([
    ['Profile URL', '"Profile URL" is empty'],
    ['Notes', 'no column holds network_url'],
  ])('say why a row without a profile URL is invalid: with the column %s, %s', async (column, why) => {
    const caller = answering()
    const csv = `First name,Last name,Company,${column}\nJo,Doe,A,\n`
    const { stdout } = await batch('contacts waterfall', csv, '--enrichment-type phone', { caller })
    const [row] = parse(stdout, { columns: true }) as Record<string, string>[]
    expect([row?._status, row?._error, caller.asked]).toEqual(['invalid', expect.stringContaining(why), []])
  })

  it('have the headcount of the company and of each requested department', async () => {
    const caller = answering({ body: { All: { current_headcount: 9 }, Sales: { current_headcount: 2 } } })
    const { stdout } = await batch('accounts headcount', one, '--no-live --departments Sales', { caller })
    expect(stdout).toMatch(
      /^domain,All\.current_headcount,Sales\.current_headcount,departments,_status.*\na\.example,9,2,"\{""All""/,
    )
  })

  it('do not matter for what is sent: only the first identifier of a row where a request takes one', async () => {
    const caller = answering({ body: { total: 1 } })
    const csv = 'network_id,network_url\n7,https://www.linkedin.com/company/acme\n8,\n'
    await batch('accounts count-profiles', csv, '', { caller })
    expect(inputsOf(caller).map((input) => Object.keys(input))).toEqual([
      ['company_network_url'],
      ['company_network_id'],
    ])
  })
})

describe('rejects', () => {
  const csv = 'domain;country;note\na.example;DE;x\n;;"two\nlines"\n;;=1\none;two;three;four\n'

  it('are invalid rows unchanged, in a file that can be fixed and run again', async () => {
    const caller = companies()
    const aside = `3 rows need fixing: ${here.path('out.rejects.csv')}`
    await ends(enrich(csv, '-o out.csv --fields name', { caller }), 11, aside)
    expect(here.read('out.rejects.csv')).toBe(
      [
        '_line;_reason;domain;country;note\n',
        '3;"""domain"" is empty";;;"two\nlines"\n',
        `5;"""domain"" is empty";;;'=1\n`,
        '6;"the row has 4 cells; the header has 3";one;two;three;four\n',
      ].join(''),
    )
    expect([modeOf('out.rejects.csv'), here.read('out.csv').match(/,invalid,/g)?.length]).toEqual([0o600, 3])
    const mended =
      '_line;_reason;domain;country;note\n3;old;c.example;;x\n5;old;b.example;FR;=1\n6;old;d.example;;\n'
    const again = enrich(mended, '-o more.csv', { caller })
    await ends(again, 0, 'Unmapped columns (kept in the output): "note"\n')
    expect([here.exists('more.rejects.csv'), linesOf('more.csv')[1]]).toEqual([
      false,
      expect.stringMatching(/^3,,c\.example,,x,/),
    ])
    await enrich(mended, '-o more.csv', { caller })
    expect(caller.asked).toHaveLength(4)
  })

  it('that somebody has corrected are kept when the same command writes them again, and only then', async () => {
    const options = '-o out.csv --fields name'
    const caller = companies()
    await enrich(csv, options, { caller })
    const written = here.read('out.rejects.csv')
    const again = () => ends(enrich(csv, options, { caller }), 11)
    expect((await again()).stderr).not.toContain('was changed')
    for (const name of ['out.rejects.csv.1', 'out.rejects.csv.2']) {
      expect(here.exists(name)).toBe(false)
      here.write(
        'out.rejects.csv',
        written.replace(';;;=1', `;c.example;;${name}`).replace(";;;'=1", `;c.example;;${name}`),
      )
      const corrected = here.read('out.rejects.csv')
      expect(corrected).toContain(name)
      const at = here.path('out.rejects.csv')
      expect((await again()).stderr).toContain(
        `${at} was changed since it was written; it is kept as ${here.path(name)}`,
      )
      expect([here.read(name), here.read('out.rejects.csv')]).toEqual([corrected, written])
    }
    // Another run replaces it, as it does its output.
    expect((await enrich(`${csv};;\n`, options, { caller })).stderr).not.toContain('was changed')
    expect(here.exists('out.rejects.csv.3')).toBe(false)
  })

  it('are grouped by a reason in the names of the columns, in the summary and --summary-json', async () => {
    const file = 'Website,Land\na.example,Narnia\n,DE\nb.example,Oz\nlong,DE,x\nc.example,DE\n'
    const { stderr } = await enrich(file, '--map country=Land --summary-json sum.json')
    expect(JSON.parse(here.read('sum.json'))).toMatchObject({
      invalid: 2,
      invalid_reasons: [
        { reason: '"Website" is empty', rows: 1, first_rows: [2] },
        { reason: 'the row has 3 cells; the header has 2', rows: 1, first_rows: [4] },
      ],
      not_understood: [{ field: 'country', values: 2, sample: 'Narnia' }],
    })
    expect(stderr).toContain('Not understood: country: 2 values, such as "Narnia"')
  })

  it('go to the file of --rejects, and to none when the output goes to stdout', async () => {
    await ends(enrich(csv), 11)
    expect(here.exists('in.rejects.csv')).toBe(false)
    await enrich(csv, '--rejects bad.csv')
    expect(linesOf('bad.csv')[0]).toBe('_line;_reason;domain;country;note')
  })
})

describe('--summary-json', () => {
  const summary = () => JSON.parse(here.read('sum.json')) as Record<string, unknown>
  const csv = 'domain\na.example\nnobody.example\na.example\n""\n'
  const options = '-o out.csv --summary-json sum.json'

  it('says why rows have no result that needed no lookup', async () => {
    here.write('bad.csv', 'domain\nb.example\n')
    await here.json('suppress import bad.csv')
    await ends(enrich('domain,name\na.example,A\n,\nb.example,B\n', options), 0)
    expect(summary().without_result).toEqual([
      { status: 'skipped', reason: 'The row is blank or a footer', rows: 1, first_rows: [2] },
      { status: 'suppressed', reason: 'It is suppressed', rows: 1, first_rows: [3] },
    ])
  })

  it('has the counts, files and exit code of a finished run', async () => {
    await ends(enrich(csv, options), 11)
    expect(summary()).toEqual({
      operation: 'accounts.enrich',
      status: 'finished',
      exit_code: 11,
      stopped: null,
      ...{ rows: 4, found: 2, not_found: 1, invalid: 1, failed: 0, skipped: 0, known: 0, suppressed: 0 },
      rows_left: 0,
      written: null,
      invalid_reasons: [{ reason: '"domain" is empty', rows: 1, first_rows: [4] }],
      without_result: [
        { status: 'not_found', reason: 'No company found', rows: 1, first_rows: [2] },
        { status: 'invalid', reason: '"domain" is empty', rows: 1, first_rows: [4] },
      ],
      not_asked: [],
      not_understood: [],
      oldest_in_store: null,
      sources: { lookup: 2, reused: 0, team: 0, duplicate: 1 },
      source: null,
      credits: 1,
      credits_before: 0,
      run: expect.stringMatching(/^[\w-]{36}$/),
      files: {
        input: here.path('in.csv'),
        output: here.path('out.csv'),
        partial: null,
        rejects: here.path('out.rejects.csv'),
        rejects_partial: null,
      },
      started_at: expect.any(String),
      finished_at: expect.any(String),
      seconds: expect.any(Number),
    })
    expect(modeOf('sum.json')).toBe(0o600)
  })

  it('says why a run stopped, with its partial files', async () => {
    const aside = here.path('out.rejects.csv.partial')
    await ends(enrich(csv, options, { caller: answering(poor) }), 4, `1 row needs fixing so far: ${aside}`)
    expect(summary()).toMatchObject({
      status: 'stopped',
      exit_code: 4,
      stopped: { reason: 'Insufficient credits', exit_code: 4, at_row: 1 },
      files: { output: null, partial: here.path('out.csv.partial'), rejects: null, rejects_partial: aside },
    })
    expect(here.read('out.rejects.csv.partial')).toBe('_line,_reason,domain\n5,"""domain"" is empty",\n')
    await enrich(csv, options)
    expect(readdirSync(here.home).filter((name) => name.endsWith('.partial'))).toEqual([])
  })

  it('says why a run was refused', async () => {
    await ends(enrich('a,b\n1,2\n', options), 2)
    const stopped = { reason: expect.stringContaining('No column') }
    expect(summary()).toMatchObject({
      run: null,
      status: 'refused',
      exit_code: 2,
      rows: 0,
      credits: 0,
      stopped,
    })
  })
})

describe('an option for what a column holds', () => {
  const rows = 'Company,Website,Land\nA,a.example,France\nB,b.example,\n'

  it('is the value of every row where --map leaves the column of its field out, which is kept', async () => {
    const caller = companies()
    const options =
      '--domain c.example --country Italien --map domain= --map country= --map name=Company --no-live -o out.csv'
    const ended = await ends(
      enrich(rows, options, { caller }),
      0,
      'No column fills domain, as --map domain= says.',
    )
    expect(ended.stderr).toContain('Unmapped columns (kept in the output): "Website", "Land"')
    expect(inputsOf(caller)).toEqual([{ name: 'A', domain: 'c.example', country: 'IT', live: false }])
    expect(here.read('out.csv')).toMatch(/\nA,a\.example,France,.*\nB,b\.example,,.*,duplicate\n$/)
  })

  it('is of another run where its column is left out, which is resumed so by its id', async () => {
    const caller = companies()
    const countries = () => inputsOf(caller).map(({ country }) => country)
    for (const option of ['', '--country IT --map country=', '--country IT --map country='])
      await enrich(rows, `${option} --max-age 0 -o out.csv`, { caller })
    expect(countries()).toEqual(['FR', undefined, 'IT', 'IT'])
    const spanish = '--country ES --map country= --max-age 0 --max-credits 1 -o out.csv'
    await ends(enrich(rows, spanish, { caller }), 12)
    await ends(here.run('runs resume --last --max-credits 9', { caller }), 0)
    expect(countries().slice(4)).toEqual(['ES', 'ES'])
  })

  it('is not paid for again by the same command over a finished run, however young answers of others have to be', async () => {
    const caller = companies()
    for (const option of ['', '--max-age 0', '--max-age 0', '--refresh'])
      await enrich('Website\na.example\n', `${option} -o out.csv`, { caller })
    expect(inputsOf(caller).length).toBe(2)
  })

  it('is the default for blank cells, and for cells that are not what their column holds, where it says anything else', async () => {
    const caller = companies()
    await ends(enrich(rows, '--country DE -o out.csv', { caller }), 0)
    await enrich('Website,Land\nc.example,linkedin.com/in/ada\n', '--country DE -o out.csv', { caller })
    expect(inputsOf(caller).map(({ country }) => country)).toEqual(['FR', 'DE', 'DE'])
  })

  it('does not hide results that only the cells of its column ask for', async () => {
    const caller = answering({ body: { email: 'a@a.example', phone: ['+15550100'] } })
    const csv = 'linkedin,enrichment_type\nlinkedin.com/in/ada,phone\nlinkedin.com/in/bob,\n'
    await batch('contacts waterfall', csv, '--enrichment-type email -o out.csv', { caller })
    expect(inputsOf(caller).map(({ enrichment_type: types }) => types)).toEqual([['phone'], ['email']])
    expect(linesOf('out.csv')[0]).toMatch(/,email,.*,phone,/)
  })
})

describe('values that do not say which company or person a row is', () => {
  it.each(casesOf<string>('cli/batch/does-not-look-up'))(
    'are not looked up as the domain of a company: %s',
    async (cell) => {
      const caller = companies()
      const csv = `Company,Website\nAcme,${cell}\n,${cell}\nBeta,beta.example\n`
      await ends(enrich(csv, '-o out.csv', { caller }), 11)
      expect(inputsOf(caller)).toEqual([{ name: 'Acme' }, { name: 'Beta', domain: 'beta.example' }])
      expect(linesOf('out.csv')[2]).toMatch(/,invalid,"?""?Website""? must be a company's own/)
    },
  )

  it('are free-mail addresses where only addresses say who is meant', async () => {
    const csv = 'Email\nada@acme.example\nada@gmail.com\nbob@gmail.com\nada@web.de\n'
    await ends(enrich(csv, '-o out.csv'), 11, '3 invalid')
  })

  it('make a row invalid, which says what it lacks in the names of its columns and in words', async () => {
    const csv = 'Vorname,Nachname,Firma\nAda,Lindqvist,Acme\nBob,,\n'
    const why = 'Invalid: 1 row: Provide a profile URL, or "Vorname" and "Nachname" with "Firma" or a domain'
    await ends(batch('leads enrich', csv, '-o out.csv'), 11, why)
  })

  it.each(['leads enrich', 'contacts waterfall --enrichment-type email'])(
    'are not names beside different profile URLs, which are looked up one by one in %s',
    async (command) => {
      const paths = [
        'in/sam-1',
        'in/sam-2/',
        'sales/lead/ACwAAA1,NAME_SEARCH,a',
        'sales/lead/ACwAAA2,NAME_SEARCH,a',
      ]
      const rows = [...paths, 'pub/sam/1/2/3', 'pub/sam/4/5/6', 'in/sam-1'].map(
        (path) => `Sam,Carter,Acme,"https://www.linkedin.com/${path}"`,
      )
      const csv = ['First Name,Last Name,Company,URL', ...rows, ''].join('\n')
      const { json } = await batch(command, csv, '--dry-run --json')
      const { rows: all, unique, invalid } = json as Record<string, number>
      expect([all, Number(unique) + Number(invalid)]).toEqual([7, 6])
    },
  )
})

describe('a file without a header', () => {
  it('has all its rows looked up, and the run resumed', async () => {
    const rows = 'a.example\nnobody.example\n'
    await ends(enrich(rows, '--rows 1 --fields name -o out.csv'), 0, 'The first row looks like data')
    const rest = companies()
    await ends(enrich(rows, '--fields name -o out.csv', { caller: rest }), 0)
    expect(inputsOf(rest)).toEqual([{ domain: 'nobody.example' }])
    expect(linesOf('out.csv').map((line) => line.split(',').slice(0, 3).join())).toEqual([
      'column_1,name,_status',
      "a.example,'=a.example,found",
      'nobody.example,,not_found',
      '',
    ])
  })

  it('has rejects that the same command reads', async () => {
    const caller = companies()
    const options = '--no-header -o out.csv --fail-on none'
    await enrich('a.example,x\n,y\n', options, { caller })
    const rejects = here.read('out.rejects.csv')
    expect(rejects).toMatch(/^_line,_reason,column_1,column_2\n2,/)
    const mended = rejects.replace('"",y', 'c.example,y').replace(/,,y/, ',c.example,y')
    await enrich(mended, `${options} --fresh`, { caller })
    expect(inputsOf(caller).at(-1)).toMatchObject({ domain: 'c.example' })
  })
})

describe('values of a file that are not understood', () => {
  it('are named by their column, also where the request has a list of them', async () => {
    const caller = answering({ body: { results: [] } })
    const ended = await here.run('messenger validate --csv -', { caller, stdin: 'Phone\nabc\n' })
    expect(ended.stdout).toContain(
      'invalid,"""Phone"" must be a phone number in E.164, such as +33612345678",0,',
    )
  })

  it('are left out, counted and named, and the rows are looked up without them', async () => {
    const caller = answering({ body: { name: 'Acme' } })
    const stdin =
      'Name,Domain,Country\nAcme,Bob <bob@acme.example>,Narnia\nTikTok,tiktok.com,\nBirch,ada@gmail.com,FR\n'
    const ended = await here.run('accounts enrich --csv -', { caller, stdin })
    expect(caller.asked.map(({ input }) => input)).toEqual([
      { name: 'Acme', domain: 'acme.example' },
      { name: 'TikTok', domain: 'tiktok.com' },
      { name: 'Birch', country: 'FR' },
    ])
    expect(ended.code).toBe(0)
    expect(ended.stderr).toContain('country: 1 value, such as "Narnia"')
    expect(ended.stderr).toContain('domain: 1 value, such as "ada@gmail.com"')
  })

  it('are blank where they only say that nothing is known, but for a family name', async () => {
    const caller = answering({ body: { name: 'Acme' } })
    const stdin = 'Name,Domain,Country\nn/a,N/A,FR\nnone,acme.example,-\nNull,null,#N/A\n'
    const ended = await here.run('accounts enrich --csv - --country DE', { caller, stdin })
    expect(caller.asked.map(({ input }) => input)).toEqual([
      { domain: 'acme.example', country: 'DE' },
      { name: 'Null', country: 'DE' },
    ])
    expect(ended.stdout.split('\n')[1]).toMatch(/^n\/a,N\/A,FR,.*,invalid,.* are empty/)
    expect(ended.stderr).toContain('"Name", such as Null')
    expect(ended.stderr).not.toContain('not understood')
  })
})
