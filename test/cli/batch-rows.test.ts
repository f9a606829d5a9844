import { existsSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { describe, expect, it } from 'vitest'
import type { Caller, Input } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { type CommandResult, command, errorOf, type Given, keyed, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { casesOf } from '../support/fixtures.js'

const here = perTest(machine)

type Answer = (id: OperationId, input: Input) => { status: number; body: unknown; credits?: number }

/** A target that records its calls. */
function target(answer: Answer): Caller & { readonly asked: Input[] } {
  const asked: Input[] = []
  return {
    asked,
    call: async (id, input) => {
      asked.push(input)
      return { headers: {}, credits: 0, ...answer(id, input) }
    },
    close: async () => {},
  }
}

const company: Answer = (_, { domain }) =>
  domain === 'nobody.example'
    ? { status: 404, body: { error: 'No company found' } }
    : { status: 200, body: { name: `Name of ${domain}`, headcount: 7, phone: '+15550100' }, credits: 1 }

const batch = async (
  words: string,
  csv: string,
  argv: readonly string[],
  given: Given,
): Promise<CommandResult> => {
  await writeFile(join(here.home, 'in.csv'), csv)
  const all = [...words.split(' '), '--csv', 'in.csv', ...argv]
  return command(all, { env: keyed(here.home), cwd: here.home, ...given })
}

const read = (name: string) => readFile(join(here.home, name), 'utf8')

describe('--only-missing', () => {
  const csv = 'domain,Phone\na.example,+33612345678\nb.example,\nnobody.example, \n'

  it('skips rows whose column is filled, and fills the others in the same column', async () => {
    const caller = target(company)
    const argv = ['--only-missing', 'phone', '--fields', 'name,phone', '-o', 'out.csv']
    const ended = await batch('accounts enrich', csv, argv, { caller })
    expect(caller.asked).toEqual([{ domain: 'b.example' }, { domain: 'nobody.example' }])
    expect(await read('out.csv')).toBe(
      [
        'domain,Phone,name,_status,_error,_credits,_source',
        'a.example,+33612345678,,skipped,,0,',
        'b.example,+15550100,Name of b.example,found,,1,lookup',
        'nobody.example,,,not_found,No company found,0,lookup',
        '',
      ].join('\n'),
    )
    expect([ended.code, ended.stderr.includes('1 skipped')]).toEqual([0, true])
  })

  it('fills the status of a value with the value, in its column of the file', async () => {
    const caller = target((_, { first_name: name }) => ({
      status: 200,
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
    const csv = `first_name,last_name,company_domain,email,Email Status\n${people.join('\n')}\n`
    const only = ['--only-missing', 'most_probable_email=email', '--fields', 'most_probable_email']
    await batch('leads enrich', csv, [...only, '-o', 'out.csv'], { caller })
    expect(await read('out.csv')).toBe(
      [
        'first_name,last_name,company_domain,email,Email Status,_status,_error,_credits,_source',
        'Ada,King,a.example,ada@a.example,risky,found,,1,lookup',
        'Eve,King,a.example,,old,found,,1,lookup',
        'Ida,King,a.example,i@a.example,valid,skipped,,0,',
        '',
      ].join('\n'),
    )
  })

  it('starts a separate run with --only-missing, so a run without it looks the skipped rows up', async () => {
    const caller = target(company)
    await batch('accounts enrich', csv, ['--only-missing', 'phone', '-o', 'out.csv'], { caller })
    await batch('accounts enrich', csv, ['-o', 'all.csv'], { caller })
    expect(caller.asked.filter(({ domain }) => domain === 'a.example')).toHaveLength(1)
    expect(await read('all.csv')).not.toContain('skipped')
  })

  it.each([
    ['phnoe', 'Did you mean phone?'],
    ['headcount', 'the file has no column "headcount"'],
  ])('refuses --only-missing %s before any call', async (field, words) => {
    const caller = target(company)
    const ended = await batch('accounts enrich', csv, ['--only-missing', field, '-o', 'out.csv'], { caller })
    expect([ended.code, caller.asked, existsSync(join(here.home, 'out.csv.partial'))]).toEqual([2, [], false])
    expect(ended.stderr).toContain(words)
  })
})

const hiring: Answer = (_, { company_domain, limit }) => {
  const jobs = ['A', 'B', 'C'].slice(0, Number(limit ?? 100)).map((job_title) => ({ job_title }))
  return {
    status: 200,
    body: { total_jobs: 3, truncated: false, jobs, company_domain },
    credits: jobs.length,
  }
}

describe('--explode', () => {
  const csv = 'domain\na.example\nb.example\n'
  const fields = ['--fields', 'total_jobs,job_title']

  it('resumes an exploded run by input row after its budget stopped it, and its credits add up', async () => {
    const caller = target(hiring)
    const argv = ['--explode', ...fields, '-o', 'out.csv']
    const stopped = await batch('accounts hiring', csv, [...argv, '--max-credits', '3'], { caller })
    expect(stopped.code).toBe(12)
    expect((await read('out.csv.partial')).split('\n')).toHaveLength(5)
    const ended = await batch('accounts hiring', csv, argv, { caller })
    expect([ended.code, caller.asked.length]).toEqual([0, 2])
    expect(await read('out.csv')).toBe(
      [
        'domain,total_jobs,job_title,_status,_error,_credits,_source',
        'a.example,3,A,found,,3,lookup',
        'a.example,3,B,found,,0,lookup',
        'a.example,3,C,found,,0,lookup',
        'b.example,3,A,found,,3,lookup',
        'b.example,3,B,found,,0,lookup',
        'b.example,3,C,found,,0,lookup',
        '',
      ].join('\n'),
    )
    expect(ended.stderr).toContain('2 rows in')
  })

  it('exports a finished run again with --explode without spending', async () => {
    const caller = target(hiring)
    await batch('accounts hiring', csv, ['-o', 'one.csv', '--fields', 'jobs_count'], { caller })
    await batch('accounts hiring', csv, ['-o', 'many.csv', '--explode', '--fields', 'job_title'], { caller })
    expect(caller.asked).toHaveLength(2)
    expect((await read('one.csv')).split('\n')[1]).toBe('a.example,3,found,,3,lookup')
    expect((await read('many.csv')).split('\n')[3]).toBe('a.example,C,found,,0,lookup')
  })

  it('refuses --explode where a row has one result only', async () => {
    const ended = await batch('accounts enrich', csv, ['--explode'], { caller: target(company) })
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('--explode')])
  })
})

describe('columns of the output', () => {
  it('writes the columns of the requested enrichment types for a waterfall', async () => {
    const body = { email: 'x@a.example', email_status: 'valid', status: 'finished', credits_used: 3 }
    const caller = target(() => ({ status: 200, body, credits: 3 }))
    const csv = 'First name,Last name,Company\nJo,Doe,A\n'
    const { stdout } = await batch('contacts waterfall', csv, ['--enrichment-type', 'email'], {
      caller,
    })
    expect(stdout.split('\n')[0]).toBe(
      'First name,Last name,Company,enrichment_id,first_name,last_name,network_profile_url,status,email,email_status,' +
        'credits_used,_status,_error,_credits,_source',
    )
  })

  it.each([
    ['Profile URL', '"Profile URL" is empty'],
    ['Notes', 'no column holds network_url'],
  ])('says why a row without a profile URL is invalid: with the column %s, %s', async (column, why) => {
    const caller = target(() => ({ status: 200, body: {}, credits: 0 }))
    const csv = `First name,Last name,Company,${column}\nJo,Doe,A,\n`
    const { stdout } = await batch('contacts waterfall', csv, ['--enrichment-type', 'phone'], { caller })
    const [row] = parse(stdout, { columns: true }) as Record<string, string>[]
    expect([row?._status, row?._error, caller.asked]).toEqual(['invalid', expect.stringContaining(why), []])
  })

  it('writes one column for each fact of a phone check', async () => {
    const results = [{ phone_number: '+15550100', reachable: true, checked_at: '2026-01-01T00:00:00.000Z' }]
    const caller = target(() => ({ status: 200, body: { results }, credits: 1 }))
    const { stdout } = await batch('messenger validate', 'phone\n+15550100\n', [], { caller })
    expect(stdout).toBe(
      'phone,phone_number,reachable,checked_at,_status,_error,_credits,_source\n' +
        '+15550100,+15550100,true,2026-01-01T00:00:00.000Z,found,,1,lookup\n',
    )
  })

  it('writes headcount columns for the company and each requested department', async () => {
    const body = { All: { current_headcount: 9 }, Sales: { current_headcount: 2 } }
    const caller = target(() => ({ status: 200, body }))
    const argv = ['--no-live', '--departments', 'Sales']
    const { stdout } = await batch('accounts headcount', 'domain\na.example\n', argv, { caller })
    expect(stdout.split('\n')[0]).toBe(
      'domain,All.current_headcount,Sales.current_headcount,departments,_status,_error,_credits,_source',
    )
    expect(stdout.split('\n')[1]).toMatch(/^a\.example,9,2,"\{""All""/)
  })

  it('sends only the first identifier of a row where a request takes one', async () => {
    const caller = target(() => ({ status: 200, body: { total: 1 } }))
    const csv = 'network_id,network_url\n7,https://www.linkedin.com/company/acme\n8,\n'
    await batch('accounts count-profiles', csv, [], { caller })
    expect(caller.asked.map((input) => Object.keys(input))).toEqual([
      ['company_network_url'],
      ['company_network_id'],
    ])
  })
})

describe('profile URLs of the wrong kind', () => {
  const profile = (path: string) => `https://www.linkedin.com/${path}`

  it("does not send a person's profile URL for a company that another field identifies", async () => {
    const caller = target(company)
    await batch(
      'accounts enrich',
      `Company,LinkedIn\nA,${profile('in/jo')}\nB,${profile('company/b')}\n`,
      [],
      {
        caller,
      },
    )
    expect(caller.asked).toEqual([{ name: 'A' }, { name: 'B', company_network_url: profile('company/b') }])
  })

  it("does not send a company's profile URL for a person", async () => {
    const caller = target(() => ({ status: 200, body: { id: 'p' }, credits: 1 }))
    const csv = `First name,Last name,Company,network_url\nJo,Doe,A,${profile('company/a')}\n`
    await batch('leads enrich', csv, [], { caller })
    expect(caller.asked).toEqual([{ first_name: 'Jo', last_name: 'Doe', company_name: 'A' }])
  })
})

describe('rejects', () => {
  const csv = 'domain;country;note\na.example;DE;x\n;;"two\nlines"\n;;=1\nshort\n'

  it('writes invalid rows unchanged to a rejects file that can be fixed and run again', async () => {
    const caller = target(company)
    const ended = await batch('accounts enrich', csv, ['-o', 'out.csv', '--fields', 'name'], { caller })
    expect(await read('out.rejects.csv')).toBe(
      [
        '_line;_reason;domain;country;note\n',
        '3;"""domain"" is empty";;;"two\nlines"\n',
        `5;"""domain"" is empty";;;'=1\n`,
        '6;"the row has 1 cell; the header has 3";short\n',
      ].join(''),
    )
    expect((await stat(join(here.home, 'out.rejects.csv'))).mode & 0o777).toBe(0o600)
    expect(ended.stderr).toContain(`3 rows need fixing: ${join(here.home, 'out.rejects.csv')}`)
    expect((await read('out.csv')).match(/,invalid,/g)).toHaveLength(3)
    const mended =
      '_line;_reason;domain;country;note\n3;old;c.example;;x\n5;old;b.example;FR;=1\n6;old;d.example;;\n'
    const again = await batch('accounts enrich', mended, ['-o', 'more.csv'], { caller })
    expect([again.code, existsSync(join(here.home, 'more.rejects.csv'))]).toEqual([0, false])
    expect(again.stderr).toContain('Unmapped columns (kept in the output): "note"\n')
    expect((await read('more.csv')).split('\n')[1]).toMatch(/^3,,c\.example,,x,/)
    await batch('accounts enrich', mended, ['-o', 'more.csv'], { caller })
    expect(caller.asked).toHaveLength(4)
  })

  it('groups invalid rows by a reason in the names of the columns, in the summary and --summary-json', async () => {
    const file = 'Website,Land\na.example,Narnia\n,DE\nb.example,Oz\nshort\nc.example,DE\n'
    const argv = ['--map', 'country=Land', '--summary-json', 'sum.json']
    const reasons = [
      { reason: '"Website" is empty', rows: 1 },
      { reason: 'the row has 1 cell; the header has 2', rows: 1 },
    ]
    const ended = await batch('accounts enrich', file, argv, { caller: target(company) })
    expect(JSON.parse(await read('sum.json'))).toMatchObject({
      invalid: 2,
      invalid_reasons: reasons,
      not_understood: [{ field: 'country', values: 2, sample: 'Narnia' }],
    })
    expect(ended.stderr).toContain('Left out: country: 2 values not understood, such as "Narnia"')
  })

  it('writes rejects to the file of --rejects, and to none when the output goes to stdout', async () => {
    const caller = target(company)
    const plain = await batch('accounts enrich', csv, [], { caller })
    expect(existsSync(join(here.home, 'in.rejects.csv'))).toBe(false)
    await batch('accounts enrich', csv, ['--rejects', 'bad.csv'], { caller })
    expect([plain.code, (await read('bad.csv')).split('\n')[0]]).toEqual([
      11,
      '_line;_reason;domain;country;note',
    ])
  })

  it('removes an old rejects file when no row is rejected', async () => {
    await writeFile(join(here.home, 'out.rejects.csv'), 'of an earlier run')
    await batch('accounts enrich', 'domain\na.example\n', ['-o', 'out.csv'], { caller: target(company) })
    expect(existsSync(join(here.home, 'out.rejects.csv'))).toBe(false)
  })
})

describe('--delimiter', () => {
  it.each([
    ['semicolon', 'domain;x\na.example;1\n'],
    ['tab', 'domain\tx\na.example\t1\n'],
    ['bar', 'domain|x\na.example|1\n'],
    [':', 'domain:x\na.example:1\n'],
  ])('reads a file with the delimiter %s', async (delimiter, csv) => {
    const caller = target(company)
    await batch('accounts enrich', csv, ['--delimiter', delimiter], { caller })
    expect(caller.asked).toEqual([{ domain: 'a.example' }])
  })

  it.each(['', ';;', '"', 'colon'])('refuses the delimiter %j', async (delimiter) => {
    const caller = target(company)
    const argv = ['--delimiter', delimiter]
    const ended = await batch('accounts enrich', 'domain\na.example\n', argv, { caller })
    expect([ended.code, caller.asked]).toEqual([2, []])
    expect(errorOf(ended).error).toContain('Give one character')
  })
})

describe('--summary-json', () => {
  const summary = async () => JSON.parse(await read('sum.json')) as Record<string, unknown>
  const csv = 'domain\na.example\nnobody.example\na.example\n""\n'
  const argv = ['-o', 'out.csv', '--summary-json', 'sum.json']

  it('writes the counts, files and exit code of a finished run', async () => {
    const ended = await batch('accounts enrich', csv, argv, { caller: target(company) })
    expect(await summary()).toEqual({
      run: expect.stringMatching(/^[\w-]{36}$/),
      operation: 'accounts.enrich',
      status: 'finished',
      exit_code: 11,
      stopped: null,
      rows: 4,
      found: 2,
      not_found: 1,
      invalid: 1,
      failed: 0,
      skipped: 0,
      known: 0,
      suppressed: 0,
      written: null,
      invalid_reasons: [{ reason: '"domain" is empty', rows: 1 }],
      not_asked: [],
      not_understood: [],
      oldest_stored: null,
      sources: { live: 2, store: 0, duplicate: 1, lookup: 2, reused: 0 },
      source: null,
      credits: 1,
      credits_before: 0,
      files: {
        input: join(here.home, 'in.csv'),
        output: join(here.home, 'out.csv'),
        partial: null,
        rejects: join(here.home, 'out.rejects.csv'),
        rejects_partial: null,
      },
      started_at: expect.any(String),
      finished_at: expect.any(String),
      seconds: expect.any(Number),
    })
    expect([ended.code, (await stat(join(here.home, 'sum.json'))).mode & 0o777]).toEqual([11, 0o600])
  })

  it('writes why a run stopped, with its partial files', async () => {
    const body = { error: 'Insufficient credits', code: 'insufficient_credits' }
    const caller = target(() => ({ status: 402, body }))
    const ended = await batch('accounts enrich', csv, argv, { caller })
    expect(await summary()).toMatchObject({
      status: 'stopped',
      exit_code: 4,
      stopped: { reason: 'Insufficient credits', exit_code: 4, at_row: 1 },
      files: {
        output: null,
        partial: join(here.home, 'out.csv.partial'),
        rejects: null,
        rejects_partial: join(here.home, 'out.rejects.csv.partial'),
      },
    })
    expect(ended.code).toBe(4)
    expect(ended.stderr).toContain(`1 row needs fixing so far: ${join(here.home, 'out.rejects.csv.partial')}`)
    expect(await read('out.rejects.csv.partial')).toBe('_line,_reason,domain\n5,"""domain"" is empty",\n')
    await batch('accounts enrich', csv, argv, { caller: target(company) })
    expect((await readdir(here.home)).filter((name) => name.endsWith('.partial'))).toEqual([])
  })

  it('names no rejects file when the run stopped before any row was rejected', async () => {
    const caller = target(() => ({ status: 402, body: { error: 'no', code: 'insufficient_credits' } }))
    await batch('accounts enrich', 'domain\na.example\n', argv, { caller })
    expect(await summary()).toMatchObject({ files: { rejects: null, rejects_partial: null } })
    expect(existsSync(join(here.home, 'out.rejects.csv.partial'))).toBe(false)
  })

  it('writes why a run was refused', async () => {
    const ended = await batch('accounts enrich', 'a,b\n1,2\n', argv, { caller: target(company) })
    expect(await summary()).toMatchObject({ run: null, status: 'refused', exit_code: 2, rows: 0, credits: 0 })
    expect((await summary()).stopped).toMatchObject({ reason: expect.stringContaining('No column') })
    expect(ended.code).toBe(2)
  })
})

describe('saved mappings', () => {
  const csv = 'Firma,Heim\nA,a.example\n'

  it('maps exactly the saved columns with --use-map', async () => {
    const caller = target(company)
    const pins = ['--map', 'domain=Heim', '--map', 'name=Firma']
    await batch('accounts enrich', csv, [...pins, '--map-only', '--save-map', 'crm'], { caller })
    expect((await stat(join(here.home, 'maps.json'))).mode & 0o777).toBe(0o600)
    const wider = 'Heim,Firma,Country\na.example,A,DE\n'
    await batch('accounts enrich', wider, ['--use-map', 'crm'], { caller })
    expect(caller.asked).toEqual([{ name: 'A', domain: 'a.example' }])
  })

  it('refuses a saved mapping whose column is missing, and suggests a similar column', async () => {
    const caller = target(company)
    await batch('accounts enrich', csv, ['--map', 'domain=Heim', '--map-only', '--save-map', 'crm'], {
      caller,
    })
    const ended = await batch('accounts enrich', 'Firma,Heimat\nA,a.example\n', ['--use-map', 'crm'], {
      caller,
    })
    expect([ended.code, caller.asked]).toEqual([2, []])
    expect(errorOf(ended).error).toContain(
      'The saved map crm names the column "Heim", which does not exist. Did you mean "Heimat"?',
    )
  })

  it('refuses an unknown saved mapping, and suggests a similar name', async () => {
    const caller = target(company)
    await batch('accounts enrich', csv, ['--map', 'domain=Heim', '--map-only', '--save-map', 'crm'], {
      caller,
    })
    const ended = await batch('accounts enrich', csv, ['--use-map', 'cmr', '--json'], { caller })
    expect([ended.code, errorOf(ended).hint]).toEqual([2, 'Did you mean crm?'])
  })
})

describe('an option for what a column holds', () => {
  const companies = 'Company,Website,Land\nA,a.example,France\nB,b.example,\n'
  const people = 'First Name,Last Name,Company,LinkedIn\nAda,L,A,https://www.linkedin.com/in/ada\n'
  const found: Answer = () => ({ status: 200, body: { name: 'N', full_name: 'N' }, credits: 1 })

  it.each([
    ['accounts enrich', companies, ['--domain', 'c.example'], '--domain', 'Website'],
    ['accounts enrich', companies, ['--name', 'C', '--map', 'name=Company'], '--name', 'Company'],
    ['accounts hiring', companies, ['--company-domain', 'c.example'], '--company-domain', 'Website'],
    ['leads enrich', people, ['--network-url', 'linkedin.com/in/x'], '--network-url', 'LinkedIn'],
    ['leads enrich', people, ['--company-name', 'C'], '--company-name', 'Company'],
    [
      'contacts waterfall',
      people,
      ['--first-name', 'X', '--enrichment-type', 'email'],
      '--first-name',
      'First Name',
    ],
  ])('is refused in %s where it says which row it is', async (words, csv, argv, option, column) => {
    for (const more of [['-o', 'out.csv'], ['--dry-run'], ['--map-only']]) {
      const caller = target(found)
      const ended = await batch(words, csv, [...argv, ...more], { caller })
      expect([ended.code, caller.asked, existsSync(join(here.home, 'out.csv.partial'))]).toEqual([
        2,
        [],
        false,
      ])
      expect(ended.stderr).toMatch(
        new RegExp(
          `${option} and the column .*"${column}.* both fill .*Leave out ${option}, or .* --override `,
        ),
      )
    }
  })

  it('replaces the column in every row with --override, and the column is kept', async () => {
    const caller = target(company)
    const argv = ['--override', 'domain=c.example', '--override', 'country=Italien', '--map', 'name=Company']
    const ended = await batch('accounts enrich', companies, [...argv, '-o', 'out.csv'], { caller })
    expect([ended.code, ended.stderr]).toEqual([
      0,
      expect.stringContaining('Unmapped columns (kept in the output): "Website"'),
    ])
    expect(caller.asked).toEqual([{ name: 'A', domain: 'c.example', country: 'IT' }])
    expect(await read('out.csv')).toMatch(/\nA,a\.example,France,.*\nB,b\.example,,.*,duplicate\n$/)
  })

  it('starts another run with another --override', async () => {
    const caller = target(company)
    const run = (...argv: string[]) =>
      batch('accounts enrich', companies, [...argv, '--max-age', '0', '-o', 'out.csv'], { caller })
    await run()
    await run('--override', 'country=IT')
    await run('--override', 'country=IT')
    await run('--override', 'country=ES')
    expect(caller.asked.map(({ country }) => country)).toEqual(['FR', undefined, 'IT', 'IT', 'ES', 'ES'])
  })

  it('is the default for blank cells where it says anything else', async () => {
    const caller = target(company)
    const ended = await batch('accounts enrich', companies, ['--country', 'DE', '-o', 'out.csv'], { caller })
    expect([ended.code, caller.asked.map(({ country }) => country)]).toEqual([0, ['FR', 'DE']])
  })

  it('is also the default for cells that are not what their column holds', async () => {
    const caller = target(company)
    const csv = 'Website,Land\na.example,linkedin.com/in/ada\n'
    await batch('accounts enrich', csv, ['--country', 'DE', '-o', 'out.csv'], { caller })
    expect(caller.asked).toEqual([{ domain: 'a.example', country: 'DE' }])
  })

  it('does not hide results that only the cells of its column ask for', async () => {
    const caller = target(() => ({ status: 200, body: { email: 'a@a.example', phone: ['+15550100'] } }))
    const csv = 'linkedin,enrichment_type\nlinkedin.com/in/ada,phone\nlinkedin.com/in/bob,\n'
    await batch('contacts waterfall', csv, ['--enrichment-type', 'email', '-o', 'out.csv'], { caller })
    expect(caller.asked.map(({ enrichment_type: types }) => types)).toEqual([['phone'], ['email']])
    expect((await read('out.csv')).split('\n')[0]).toMatch(/,email,.*,phone,/)
  })

  it.each([
    [['--override', 'domian=x'], 'Did you mean "domain"?'],
    [['--override', 'country'], '--override takes field=value'],
    [['--override', 'country=Narnia'], 'unknown country "Narnia"'],
    [['--override', 'domain=x.example', '--domain', 'y.example'], '--domain and --override both fill domain'],
    [['--override', 'domain=x.example', '--map', 'domain=Website'], '--map and --override both fill domain'],
  ])('is refused as %j before any call', async (argv, words) => {
    const caller = target(company)
    const ended = await batch('accounts enrich', companies, [...argv, '-o', 'out.csv'], { caller })
    expect([ended.code, caller.asked]).toEqual([2, []])
    expect(ended.stderr).toContain(words)
  })

  it('is resumed with its --override by the id of the run', async () => {
    const caller = target(company)
    const argv = ['--override', 'country=IT', '--max-credits', '1', '-o', 'out.csv']
    expect((await batch('accounts enrich', companies, argv, { caller })).code).toBe(12)
    const given = { env: keyed(here.home), cwd: here.home, caller }
    const { stdout } = await command(['runs', 'list', '--format', 'ids'], given)
    const resumed = await command(['runs', 'resume', stdout.trim(), '--max-credits', '9'], given)
    expect([resumed.code, caller.asked.map(({ country }) => country)]).toEqual([0, ['IT', 'IT']])
  })
})

it('skips rows of delimiters only, which spreadsheets write for blank lines, and keeps them in the output', async () => {
  const caller = target(company)
  const ended = await batch('accounts enrich', 'Website;Note;\na.example;x;\n;;\n ; ;\n', ['-o', 'out.csv'], {
    caller,
  })
  expect([ended.code, caller.asked, ended.stderr]).toEqual([
    0,
    [{ domain: 'a.example' }],
    expect.stringContaining('3 rows in'),
  ])
  expect(ended.stderr).toContain('2 skipped')
  expect(existsSync(join(here.home, 'out.rejects.csv'))).toBe(false)
  const answers = (await read('out.csv')).split('\n').slice(1, 4)
  expect(answers.map((line) => /,(found|skipped|invalid),/.exec(line)?.[1])).toEqual([
    'found',
    'skipped',
    'skipped',
  ])
})

describe('values that do not say which company or person a row is', () => {
  const profile = 'https://www.linkedin.com/company/acme'
  const headers = ['Website', 'Domain', 'URL', 'Webseite', 'Site web', 'Company Domain Name', 'domain']

  it.each(headers)('reads profile URLs below "%s" as profiles, never as a domain', async (header) => {
    const caller = target(company)
    const csv = `${header}\n${profile}\nhttps://de.linkedin.com/company/beta/?x=1\nlinkedin.com/sales/company/42\n`
    const ended = await batch('accounts enrich', csv, ['-o', 'out.csv'], { caller })
    expect([ended.code, caller.asked.map((input) => Object.keys(input))]).toEqual([
      0,
      [['company_network_url'], ['company_network_url'], ['company_network_url']],
    ])
  })

  it.each(casesOf<string>('cli/batch-rows/does-not-look-up'))(
    'does not look up %s as the domain of a company',
    async (cell) => {
      const caller = target(company)
      const csv = `Company,Website\nAcme,${cell}\n,${cell}\nBeta,beta.example\n`
      const ended = await batch('accounts enrich', csv, ['-o', 'out.csv'], { caller })
      expect([ended.code, caller.asked]).toEqual([
        11,
        [{ name: 'Acme' }, { name: 'Beta', domain: 'beta.example' }],
      ])
      expect((await read('out.csv')).split('\n')[2]).toMatch(
        /,invalid,"?""?Website""? must be a company's own/,
      )
    },
  )

  it('says what a row lacks in the names of its columns and in words', async () => {
    const csv = 'Vorname,Nachname,Firma\nAda,Lindqvist,Acme\nBob,,\n'
    const ended = await batch('leads enrich', csv, ['-o', 'out.csv'], { caller: target(company) })
    expect(ended.stderr).toContain(
      'Invalid: 1 row: Provide a profile URL, or "Vorname" and "Nachname" with "Firma" or a domain',
    )
  })

  it('does not look up free-mail addresses as companies where only addresses say who is meant', async () => {
    const caller = target(company)
    const csv = 'Email\nada@acme.example\nada@gmail.com\nbob@gmail.com\nada@web.de\n'
    const ended = await batch('accounts enrich', csv, ['-o', 'out.csv'], { caller })
    expect([ended.code, caller.asked.length, ended.stderr]).toEqual([
      11,
      1,
      expect.stringContaining('3 invalid'),
    ])
  })

  it.each([
    ['leads enrich', []],
    ['contacts waterfall', ['--enrichment-type', 'email']],
  ])('looks up people of one name with different profile URLs one by one in %s', async (words, argv) => {
    const caller = target(() => ({
      status: 200,
      body: { full_name: 'Sam', email: 's@acme.example' },
      credits: 1,
    }))
    const urls = [
      'https://www.linkedin.com/in/sam-1',
      'https://www.linkedin.com/in/sam-2/',
      'https://www.linkedin.com/sales/lead/ACwAAA1,NAME_SEARCH,a',
      'https://www.linkedin.com/sales/lead/ACwAAA2,NAME_SEARCH,a',
      'https://www.linkedin.com/pub/sam/1/2/3',
      'https://www.linkedin.com/pub/sam/4/5/6',
    ]
    const rows = urls.map((url) => `Sam,Carter,Acme,"${url}"`)
    const csv = ['First Name,Last Name,Company,URL', ...rows, rows[0], ''].join('\n')
    const { json } = await batch(words, csv, [...argv, '--dry-run', '--json'], { caller })
    const { rows: all, unique, invalid } = json as Record<string, number>
    expect([all, Number(unique) + Number(invalid)]).toEqual([7, 6])
    if (words !== 'leads enrich') return
    await batch(words, csv, [...argv, '-o', 'out.csv'], { caller })
    const sent = caller.asked.flatMap(({ network_url: url }) => (url === undefined ? [] : [url]))
    expect(new Set(sent).size).toBe(sent.length)
    const answers = (await read('out.csv')).trimEnd().split('\n').slice(1)
    expect(answers.filter((line) => line.endsWith(',duplicate'))).toHaveLength(1)
    expect(answers.at(-1)).toMatch(/,duplicate$/)
  })
})

describe('a run that stopped at its budget', () => {
  const csv = 'domain\na.example\nb.example\nc.example\n'
  const at = (host: string) => ({ ...keyed(here.home), PROSPECT_BASE_URL: `https://${host}/api/v2` })
  const stop = async (caller: Caller) => {
    const ended = await batch('accounts enrich', csv, ['--max-credits', '1', '-o', 'out.csv'], {
      caller,
      env: at('a.example'),
    })
    expect(ended.code).toBe(12)
    const { stdout } = await command(['runs', 'list', '--format', 'ids'], { env: keyed(here.home) })
    return stdout.trim()
  }

  it('is not resumed with another target', async () => {
    const caller = target(company)
    const id = await stop(caller)
    const { code, stderr } = await command(['runs', 'resume', id], {
      caller,
      cwd: here.home,
      env: at('b.example'),
    })
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('is for another target: https://a.example/api/v2'),
    ])
  })
})

describe('a file without a header', () => {
  const answer: Answer = (id, { domain }) =>
    domain === 'b.example' ? { status: 500, body: { error: 'no' } } : company(id, { domain })

  it('has all its rows looked up, and the run resumed', async () => {
    const argv = ['--fields', 'name', '-o', 'out.csv']
    const rows = 'a.example\nnobody.example\n'
    const ended = await batch('accounts enrich', rows, ['--rows', '1', ...argv], { caller: target(answer) })
    expect(ended.stderr).toContain('The first row looks like data')
    const rest = target(answer)
    expect(await batch('accounts enrich', rows, argv, { caller: rest })).toMatchObject({ code: 0 })
    expect(rest.asked).toEqual([{ domain: 'nobody.example' }])
    expect((await read('out.csv')).split('\n').map((line) => line.split(',').slice(0, 3).join())).toEqual([
      'column_1,name,_status',
      'a.example,Name of a.example,found',
      'nobody.example,,not_found',
      '',
    ])
  })

  it('has rejects that the same command reads', async () => {
    const caller = target(answer)
    const argv = ['--no-header', '-o', 'out.csv', '--fail-on', 'none']
    await batch('accounts enrich', 'a.example,x\n,y\n', argv, { caller })
    const rejects = await read('out.rejects.csv')
    expect(rejects).toMatch(/^_line,_reason,column_1,column_2\n2,/)
    await batch(
      'accounts enrich',
      rejects.replace('"",y', 'c.example,y').replace(/,,y/, ',c.example,y'),
      [...argv, '--fresh'],
      { caller },
    )
    expect(caller.asked.at(-1)).toMatchObject({ domain: 'c.example' })
  })
})
