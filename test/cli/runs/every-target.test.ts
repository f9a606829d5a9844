import { rmSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { bundled } from '../../helpers/processes.js'
import { engineWith, type Reached, reaches } from './served.js'

const peopleCount = 260
const companyCount = 400

let program: string
let filled: Awaited<ReturnType<typeof engineWith>>
beforeAll(async () => {
  program = await bundled('programs/prospect.ts')
  filled = await engineWith(async (owner) => {
    const people = Array.from(
      { length: peopleCount },
      (_, at) => `Ada,Number ${at},c${at}.example,ada@c${at}.example`,
    )
    const header = 'first_name,last_name,company_domain,email'
    await owner.run(['data', 'import', 'people', '-'], { stdin: `${header}\n${people.join('\n')}\n` })
    const companies = Array.from({ length: companyCount }, (_, at) => `Company ${at},company-${at}.example`)
    await owner.run(['data', 'import', 'companies', '-'], { stdin: `name,domain\n${companies.join('\n')}\n` })
  })
}, 120_000)
afterAll(() => {
  rmSync(program)
  filled.remove()
})

const domains = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => `company-${from + at}.example`)
const companies = (rows: readonly string[]) => `Website\n${rows.join('\n')}\n`
const credits = (rows: readonly Readonly<Record<string, string>>[]) =>
  rows.reduce((sum, { _credits }) => sum + Number(_credits), 0)
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

describe.each(reaches)('on the target %s', (how) => {
  let here: Reached
  beforeEach(async () => {
    here = await filled.reach(program, how)
  }, 60_000)
  afterEach(() => here.close(), 60_000)

  const enrich = ['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--fail-on', 'none']

  it('rows are found, not found, equal or invalid, and each is paid once', async () => {
    here.write('in.csv', companies([...domains(30), 'nobody.example', '""', ...domains(5)]))
    const { exitCode, stderr } = await here.run(...enrich)
    expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, ''])
    const rows = here.rows('out.csv')
    expect(rows.map(({ _status }) => _status)).toEqual([
      ...Array(30).fill('found'),
      ...['not_found', 'invalid'],
      ...Array(5).fill('found'),
    ])
    expect([credits(rows), sum(await here.charges())]).toEqual([30, 30])
    expect(rows.at(-1)).toMatchObject({ name: 'Company 4', _source: 'duplicate' })
  }, 60_000)

  it('a run that is killed again and again loses nothing and pays nothing twice', async () => {
    here.write('in.csv', companies(domains(companyCount)))
    for (const writes of [3, 1, 8]) await here.killed(writes, ...enrich)
    expect((await here.run(...enrich)).exitCode).toBe(0)
    const rows = here.rows('out.csv')
    expect(rows.map(({ domain }) => domain)).toEqual(domains(companyCount))
    expect([credits(rows), (await here.charges()).length]).toEqual([companyCount, companyCount])
    expect(await here.engine('ledger', 'verify')).toMatchObject({ ok: true })
  }, 60_000)

  it('a budget stops it, and a higher one completes it', async () => {
    here.write('in.csv', companies(domains(80)))
    expect((await here.run(...enrich, '--max-credits', '33')).exitCode).toBe(12)
    expect([sum(await here.charges()), credits(here.rows('out.csv.partial'))]).toEqual([33, 33])
    expect((await here.run(...enrich, '--max-credits', '80')).exitCode).toBe(0)
    expect(sum(await here.charges())).toBe(80)
  }, 60_000)

  it.each([
    [4, ['credits', 'set', '25'], ['credits', 'add', '500']],
    [
      5,
      ['members', 'set', 'me@localhost', '--weekly-limit', '25'],
      ['members', 'set', 'me@localhost', '--weekly-limit', '500'],
    ],
  ])(
    'what cannot be paid stops it with %i, and it goes on when it can',
    async (code, less, more) => {
      here.write('in.csv', companies(domains(60)))
      await here.engine(...less)
      expect((await here.run(...enrich)).exitCode).toBe(code)
      expect([sum(await here.charges()), credits(here.rows('out.csv.partial'))]).toEqual([25, 25])
      await here.engine(...more)
      expect((await here.run(...enrich)).exitCode).toBe(0)
      expect(sum(await here.charges())).toBe(60)
    },
    60_000,
  )

  it('a rate limit is waited for', async () => {
    here.write('in.csv', companies(domains(50)))
    const { exitCode, stderr } = await here.run('accounts', 'headcount', '--csv', 'in.csv', '-o', 'out.csv')
    expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, ''])
    expect(here.rows('out.csv').map(({ _status }) => _status)).toEqual(Array(50).fill('found'))
  }, 60_000)

  describe('waterfalls', () => {
    const find = ['contacts', 'waterfall', '--csv', 'in.csv', '--enrichment-type', 'email', '-o', 'out.csv']
    const person = (at: number, name = 'Ada') => `${name},Number ${at},c${at}.example`
    const people = (rows: readonly string[]) => `First name,Last name,Website\n${rows.join('\n')}\n`
    const jobs = () => here.engine<{ operation: string; total: number; state: string }[]>('jobs', 'list')

    it('go out together and come back to their rows', async () => {
      const rows = Array.from({ length: 205 }, (_, at) => person(at, at % 5 === 4 ? 'Nobody' : 'Ada'))
      here.write('in.csv', people([...rows, ...rows.slice(0, 3)]))
      const { exitCode, stderr } = await here.run(...find, '--fail-on', 'none')
      expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, ''])
      const written = here.rows('out.csv')
      expect(written.slice(0, 205).map(({ email }) => email)).toEqual(
        rows.map((_, at) => (at % 5 === 4 ? '' : `ada@c${at}.example`)),
      )
      expect(written.slice(205).map(({ _source }) => _source)).toEqual(Array(3).fill('duplicate'))
      expect([credits(written), sum(await here.charges())]).toEqual([164 * 3, 164 * 3])
      expect(written[0]).not.toHaveProperty('custom.prospect_row')
      const sent = (await jobs()).map(({ operation }) => operation)
      expect(sent).toEqual(['contacts.bulk_enrich', 'contacts.bulk_enrich', 'contacts.bulk_enrich'])
    }, 60_000)

    it('that are killed pay once, and are joined to their rows', async () => {
      here.write('in.csv', people(Array.from({ length: peopleCount }, (_, at) => person(at))))
      for (const writes of [2, 1, 4, 9]) await here.killed(writes, ...find)
      const { exitCode, stderr } = await here.run(...find)
      expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, ''])
      const rows = here.rows('out.csv')
      expect(rows.map(({ email }) => email)).toEqual(rows.map((_, at) => `ada@c${at}.example`))
      expect([rows.length, credits(rows), sum(await here.charges())]).toEqual([260, 780, 780])
      expect(await jobs()).toHaveLength(3)
      expect(await here.json('runs', 'list')).toMatchObject([{ status: 'finished', credits: 780 }])
      expect(await here.engine('ledger', 'verify')).toMatchObject({ ok: true })
      // Work that a killed process had taken up is free again after 30 s.
    }, 120_000)

    it.each([
      [12, [], ['--max-credits', '95'], []],
      [4, ['credits', 'set', '95'], [], ['credits', 'add', '900']],
      [
        5,
        ['members', 'set', 'me@localhost', '--weekly-limit', '95'],
        [],
        ['members', 'set', 'me@localhost', '--weekly-limit', '900'],
      ],
    ])(
      'use up what may be spent, stop with %i, and go on',
      async (code, less, options, more) => {
        here.write('in.csv', people(Array.from({ length: 60 }, (_, at) => person(at))))
        if (less.length > 0) await here.engine(...less)
        expect((await here.run(...find, ...options)).exitCode).toBe(code)
        expect([sum(await here.charges()), credits(here.rows('out.csv.partial'))]).toEqual([93, 93])
        if (more.length > 0) await here.engine(...more)
        expect((await here.run(...find)).exitCode).toBe(0)
        expect([sum(await here.charges()), here.rows('out.csv').length]).toEqual([180, 60])
      },
      60_000,
    )
  })
})
