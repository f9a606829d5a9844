import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { notifyBug } from '../../../src/cli/output/print.js'
import { rowFormats } from '../../../src/runs/output/formats.js'
import { answering, canary, ends, errorOf, type Given, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { casesOf } from '../../support/fixtures.js'

const here = perTest(machine)

const lists = {
  lists: [
    { id: 'a1', name: 'Solar, wind', status: 'completed', created_at: '2026-01-02T03:04:05.000Z' },
    { id: 'b2', name: '=1+1', status: 'pending', created_at: '2026-01-01T03:04:05.000Z' },
  ],
  pagination: { per_page: 100, total_count: 2, has_more: false },
}

const account = {
  id: 'c3',
  name: 'Acme',
  domain: 'acme.example',
  headcount: 1234,
  phone: null,
  technologies: ['react', 'node'],
}

const asked = (line: string, body: unknown, given: Given = {}) =>
  here.run(line, { caller: answering({ body }), ...given })

const shown = async (argv: string, body: unknown, given?: Given) => (await asked(argv, body, given)).stdout

describe('a failure that no command expects', () => {
  const failing = (error: Error) => ({
    ...answering(),
    call: async () => {
      throw error
    },
  })

  it('names the file where the system refuses something', async () => {
    const error = { code: 'ENOSPC', syscall: 'write', path: here.path('state.db') }
    const caller = failing(Object.assign(new Error('no space left'), error))
    const ended = await asked('credits --json', {}, { caller })
    expect([ended.code, errorOf(ended)]).toMatchObject([
      10,
      { code: 'system', error: expect.stringMatching(/state\.db cannot be read or written: .*ENOSPC/) },
    ])
  })

  it('is reported by a server that goes on, with where to report it and its place where --verbose is given', () => {
    const notices: string[] = []
    const context = { globals: { verbose: true }, notify: (text: string) => void notices.push(text) }
    notifyBug(context as never, new Error('out of order'))
    notifyBug({ ...context, globals: {} } as never, 'no error')
    const where = expect.stringMatching(/maintainers of the copy you installed.*Leave out keys/)
    expect(notices).toEqual([
      'This is a bug in prospect: out of order',
      where,
      expect.stringMatching(/^Error: out of order\n\s+at /),
      'This is a bug in prospect: no error',
      where,
    ])
  })

  it('is reported as a bug without the key, with where to report it and, on request, its place', async () => {
    const ended = await ends(
      asked('credits --verbose --json', {}, { caller: failing(new Error(`out of order: ${canary}`)) }),
      1,
      /Error: out of order: \[key\]\n\s+at /,
    )
    expect(errorOf(ended)).toMatchObject({
      code: 'bug',
      error: 'This is a bug in prospect: out of order: [key]',
      hint: expect.stringMatching(/maintainers of the copy you installed.*--verbose.*Leave out keys/),
    })
  })
})

it('a damaged state keeps no paid answer from being printed', async () => {
  here.write('state.db', 'not a database', 0o600)
  const caller = answering({ body: account, credits: 1 })
  const ended = await asked('accounts enrich acme.example --json', {}, { caller })
  expect([ended.code, ended.json]).toEqual([0, account])
  expect(ended.stderr).toContain('The 1 credits of this call are missing in prospect ledger')
})

describe('output formats', () => {
  it('prints a single record in the columns of a CRM', async () => {
    const printed = await shown('accounts enrich acme.example --layout hubspot --format csv', account)
    expect(printed).toMatch(/^Company name,Company domain name,/i)
    expect(printed).toContain('acme.example')
  })

  it('says of an empty list how its first record is made, and exits 0', async () => {
    const none = 'No lists found. Make one: prospect lists create --name NAME --csv FILE'
    const ended = await asked('lists list', { lists: [], pagination: { per_page: 100 } }, { terminal: true })
    expect([ended.code, ended.stdout.trimEnd()]).toEqual([0, none])
    const paged = { lists: [], pagination: { page: 1, per_page: 100, total_count: 0 } }
    expect((await asked('lists list', paged, { terminal: true })).stdout).toBe(`${none}\n`)
  })

  it('prints "Nothing found." for an empty result of any other command', async () => {
    const ended = await asked('accounts headcount acme.example', {}, { terminal: true })
    expect([ended.code, ended.stdout]).toEqual([0, 'Nothing found.\n'])
  })

  it('writes a dotted CSV column for each part of an object that --fields names', async () => {
    const body = { credits: { enrichment: 1, daily_profile_scraping: 2 } }
    expect(await shown('credits --format csv --fields credits', body)).toBe(
      'credits.enrichment,credits.daily_profile_scraping\n1,2\n',
    )
  })

  it('flattens nested records to dotted columns in TSV', async () => {
    const leads = { search: { id: 's' }, leads: [{ lead: { full_name: 'Ann' }, company: { name: 'Acme' } }] }
    expect(await shown('searches get s --format tsv', leads)).toBe(
      'lead.full_name\tcompany.name\nAnn\tAcme\n',
    )
  })

  it('prints one JSON object per line with --format ndjson', async () => {
    const lines = (await shown('lists list --format ndjson', lists)).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(lists.lists)
  })

  it('prints one id per line with --format ids', async () => {
    expect(await shown('lists list --format ids', lists)).toBe('a1\nb2\n')
  })

  it('prints only --fields of the records, and the rest of the body unchanged', async () => {
    expect(JSON.parse(await shown('lists list --json --fields name', lists))).toEqual({
      lists: [{ name: 'Solar, wind' }, { name: '=1+1' }],
      pagination: lists.pagination,
    })
  })

  it('chooses the format by the extension of -o, and prints nothing on stdout', async () => {
    const ended = await asked('lists list -o out.csv --fields id', lists)
    expect([ended.code, ended.stdout]).toEqual([0, ''])
    expect(here.read('out.csv')).toBe('id\na1\nb2\n')
  })

  it('prefers --format to the extension of -o', async () => {
    await asked('lists list -o out.csv --json', lists)
    expect(JSON.parse(here.read('out.csv'))).toEqual(lists)
  })

  it.each(['-o out.data --format csv', '-o out', '-o .out', '-o /dev/null'])(
    'writes to a name without a known extension where that says nothing else: %s',
    async (options) => {
      expect((await asked(`lists list ${options}`, lists)).code).toBe(0)
    },
  )

  const extensions = Object.values(rowFormats).flatMap((format) => format.extensions)

  it('names the extension of every format where it refuses an unknown one', async () => {
    const ended = await asked('lists list -o out.pdf', lists)
    expect(ended.code).toBe(2)
    expect(extensions.filter((extension) => !ended.stderr.includes(`.${extension}`))).toEqual([])
  })

  it.each([
    ['docs/enrich-a-file.md', /^## Output$.*/ms],
    ['src/library/home.ts', /The file to write: .*/],
  ])('has the extension of every format in %s', (file, part) => {
    const [text = ''] = part.exec(readFileSync(file, 'utf8')) ?? []
    expect(extensions.filter((extension) => !new RegExp(`[.\`]${extension}\\b`).test(text))).toEqual([])
  })

  it('accepts any field for a reply whose keys are not known in advance', async () => {
    const body = { Sales: { current_headcount: 3 } }
    const { stdout } = await asked(
      'accounts headcount --company-domain x.example --fields Sales.current_headcount',
      body,
    )
    expect(JSON.parse(stdout)).toEqual(body)
  })

  it('leaves no output file behind when the call is refused', async () => {
    const caller = answering({ status: 404, body: { error: 'No company found' } })
    await ends(asked('accounts enrich --domain x.example -o out.json', {}, { caller }), 9)
    expect([here.exists('out.json'), here.exists('out.json.partial')]).toEqual([false, false])
  })

  it('prints the path and query of a GET with --dry-run', async () => {
    const { stdout } = await asked('accounts technologies --query react --limit 5 --dry-run', {})
    expect(JSON.parse(stdout)).toMatchObject({
      path: '/accounts/technologies?query=react&limit=5',
      body: null,
    })
  })

  it('says what was charged on a terminal only', async () => {
    const caller = answering({ body: account, credits: 1 })
    const person = await asked('accounts enrich --domain x.example', {}, { caller, terminal: true })
    const program = await asked('accounts enrich --domain y.example', {}, { caller })
    expect([person.stderr, program.stderr]).toEqual(['Charged 1 credit.\n', ''])
  })
})

describe('the checks of credits', () => {
  const body = {
    credits: {
      enrichment: 499,
      daily_profile_scraping: 99,
      daily_company_import: 900,
      monthly_company_import: 5,
    },
    limits: { daily_profile_scraping: 1_000, daily_company_import: 1_000, monthly_company_import: 100 },
  }
  const check = (words: string, caller = answering({ body }, { body: { workspace: { plan: 'growth' } } })) =>
    here.run(['credits', ...words.split(' ')], { caller })

  it.each(casesOf<[string, number]>('cli/output/output/exits-with'))(
    '%s exits with %i',
    async (words, code) => {
      expect((await check(words)).code).toBe(code)
    },
  )

  it('names everything that is short', async () => {
    const { stderr } = await check('--min-credits 10% --min-daily-profiles 10% --min-daily-companies 1')
    expect(stderr).toContain(
      '499 credits are left, fewer than 10% (500); 99 daily profiles are left, fewer than 10% (100).',
    )
  })

  it('fails where the target does not say what is left', async () => {
    const ended = await check('--min-credits 1 --json', answering({ body: { credits: {}, limits: {} } }))
    expect([ended.code, errorOf(ended).error]).toEqual([
      13,
      '--min-credits: the target does not say how many are left.',
    ])
  })
})
