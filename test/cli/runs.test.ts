import { readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { ConnectionLost } from '../../src/api/calls/caller.js'
import { answering, ends, type Given, practiceMachine } from '../support/command.js'
import { perTest } from '../support/each.js'

const here = perTest(practiceMachine)

/** A target that knows every domain for a credit each, until `credits` are spent. */
function companies(credits = Number.POSITIVE_INFINITY) {
  let left = credits
  const caller = answering((_, { domain }) => {
    if (left === 0) return { status: 402, body: { error: 'Insufficient', code: 'insufficient_credits' } }
    left--
    return { body: { name: `Name of ${domain}`, headcount: left }, credits: 1 }
  })
  const topUp = (more: number) => {
    left = more
  }
  return { caller, asked: caller.asked, topUp, domains: () => caller.asked.map(({ input }) => input.domain) }
}

const domains = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `d${from + at}.example`)
const csv = (rows: readonly string[]) => `domain\n${rows.join('\n')}\n`

const enrich = (text: string, options: string, given: Given) => {
  here.write('in.csv', text)
  return here.run(`accounts enrich --csv in.csv -o out.csv --fields name ${options}`, given)
}

interface Listed {
  readonly id: string
  readonly file: string
  readonly status: string
}
const list = () => here.json<[Listed, ...Listed[]]>('runs list')
const statusOf = (text: string) =>
  text
    .split('\n')
    .slice(1, -1)
    .map((line) => line.split(',').slice(2))

/** A run of 20 rows that stopped after 8 paid ones. */
async function stopped(target = companies(8), text = csv(domains(20))) {
  const ended = await ends(enrich(text, '', target), 4)
  const [run] = await list()
  return { target, ended, id: run.id }
}

describe('a batch that is started again', () => {
  it('resumes a stopped run at the first row without an answer', async () => {
    const { target, id, ended } = await stopped()
    expect(ended.stderr).toContain(`Resume with the same command, or: prospect runs resume ${id}`)
    target.topUp(100)
    const before = target.asked.length
    const again = await enrich(csv(domains(20)), '', target)
    expect([again.code, target.domains().slice(before)]).toEqual([0, domains(20).slice(8)])
    expect(again.stderr).toContain(`Resuming run ${id}: 8 of 20 rows are answered, 8 credits paid.`)
    expect(again.stderr).toContain('20 found · 20 credits, 8 of them paid before')
    expect(statusOf(here.read('out.csv'))).toEqual(domains(20).map(() => ['found', '', '1', 'lookup']))
  })

  it('keeps every answered row in the output when it is resumed and refused at an earlier one', async () => {
    const target = companies(2)
    const caller = answering(async (id, input, options) => {
      if (/[13579]\./.test(String(input.domain))) return { status: 404, body: { error: 'No company found' } }
      // Every row is on its way before the first one is refused.
      await new Promise((resolve) => setTimeout(resolve, 20))
      return target.caller.call(id, input, options)
    })
    const first = await enrich(csv(domains(30)), '', { caller })
    expect(first.stderr).toContain('2 found · 15 not found')
    const before = here.read('out.csv.partial')
    for (const atOnce of ['1', '3']) {
      const again = await enrich(csv(domains(30)), `--concurrency ${atOnce}`, { caller })
      expect(again.stderr).toContain('2 found · 15 not found')
      expect(here.read('out.csv.partial')).toEqual(before)
      expect(await list()).toMatchObject([{ status: 'stopped', done: 17 }])
    }
  })

  it('lists no row as done where the first one was refused, and looks all of them up when it goes on', async () => {
    const { target } = await stopped(companies(0))
    expect(await list()).toMatchObject([{ status: 'stopped', done: 0, credits: 0 }])
    target.topUp(100)
    await ends(enrich(csv(domains(20)), '', target), 0)
    expect(new Set(target.domains()).size).toBe(20)
    expect(await list()).toMatchObject([{ status: 'finished', done: 20, credits: 20 }])
  })

  it('resumes the same run with another file path, output, format and budget', async () => {
    const { target } = await stopped()
    target.topUp(100)
    renameSync(here.path('in.csv'), here.path('moved.csv'))
    await ends(here.run('accounts enrich --csv moved.csv -o other.ndjson --max-credits 50', target), 0)
    expect(target.asked.length).toBeLessThanOrEqual(20 + 12)
    const runs = await list()
    expect(runs).toHaveLength(1)
    expect(runs[0]).toMatchObject({ output: here.path('other.ndjson'), file: here.path('moved.csv') })
  })

  it.each([
    ['option of the request', '--no-live'],
    ['mapping', '--map name=domain'],
  ])('starts another run when a %s changes', async (_, more) => {
    const { target } = await stopped()
    target.topUp(100)
    expect((await enrich(csv(domains(20)), more, target)).code).toBe(0)
    expect(await list()).toHaveLength(2)
  })

  it('ends a finished run as it ended before, and shows how many of its rows are invalid', async () => {
    const target = companies()
    const text = 'domain,name\na.example,A\nx.example,1,2\nb.example,\nwww.a.example,\n'
    const first = await enrich(text, '', target)
    const again = await enrich(text, '', target)
    expect([first.code, again.code, target.asked.length]).toEqual([11, 11, 2])
    expect(await here.json('runs show --last')).toMatchObject({
      rows: 4,
      lookups: { total: 2, found: 2, invalid: 1 },
    })
    const { stdout } = await here.run('runs show --last', { terminal: true })
    expect(stdout).toMatch(
      /\nAnswered +4 +100 % .*\nInvalid +1 +25 % .*\nLooked up +2 +50 % .*\n… found +2 +100 % /,
    )
  })
})

describe('prospect runs', () => {
  it('lists runs newest first with their documented fields', async () => {
    const target = companies()
    await enrich(csv(['a.example']), '', target)
    await stopped(companies(3))
    const runs = await list()
    expect(runs).toMatchObject([
      { status: 'stopped', rows: 20, done: 3, credits: 3 },
      {
        status: 'finished',
        rows: 1,
        done: 1,
        credits: 1,
        finished_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      },
    ])
    expect(Object.keys(runs[0])).toEqual(
      'id operation file output target status rows done invalid credits started_at finished_at'.split(' '),
    )
    expect(runs[0]).toMatchObject({
      operation: 'accounts.enrich',
      file: here.path('in.csv'),
      output: here.path('out.csv'),
      target: 'local',
      finished_at: null,
    })
  })

  it('lists a run as running only while its process holds the lock', async () => {
    const target = companies()
    let seen: unknown
    const caller = answering(async (...request) => {
      seen ??= (await list())[0].status
      return target.caller.call(...request)
    })
    await enrich(csv(['a.example']), '', { caller })
    expect([seen, (await list())[0].status]).toEqual(['running', 'finished'])
  })

  it('resumes a run from any folder with its file, options and output', async () => {
    const { target, id } = await stopped()
    target.topUp(100)
    const before = target.asked.length
    const ended = await here.run(`runs resume ${id}`, { ...target, cwd: '/' })
    expect([ended.code, target.asked.length - before]).toEqual([0, 12])
    expect(here.read('out.csv').split('\n')[0]).toBe('domain,name,_status,_error,_credits,_source')
    expect((await list())[0]).toMatchObject({ status: 'finished', credits: 20, done: 20 })
  })

  it('counts the lookups of a run by their state with what they hold and cost, as the same question in SQL does', async () => {
    const caller = answering((_, { domain }) => {
      if (domain === 'd2.example') throw new ConnectionLost('cut', true)
      if (domain === 'd3.example') return { status: 404, body: { error: 'No company found' } }
      return { body: { name: `Name of ${domain}` }, credits: 1 }
    })
    await enrich(csv(domains(12)), '--concurrency 1', { caller })
    const counts = await here.json('runs show --last --state')
    const state = new Database(here.path('state.db'), { readonly: true })
    const sql = /"(SELECT state[^"]+)"/.exec(readFileSync('docs/paid-once.md', 'utf8'))?.[1] ?? ''
    expect(counts).toEqual(state.prepare(sql).all())
    state.close()
    expect(counts).toEqual([
      { state: 'found', lookups: 10, held: 0, cost: 10 },
      { state: 'not_found', lookups: 1, held: 0, cost: 0 },
      { state: 'unknown', lookups: 1, held: 1, cost: 0 },
    ])
  })

  it('exports the rows of a stopped run so far', async () => {
    const { id } = await stopped(companies(2), csv(domains(3)))
    const ended = await here.run(`runs export ${id} -o again.csv`)
    expect([ended.code, statusOf(here.read('again.csv'))]).toEqual([
      0,
      [
        ['found', '', '1', 'lookup'],
        ['found', '', '1', 'lookup'],
        ['skipped', 'Not looked up yet', '0', ''],
      ],
    ])
    expect((await list())[0]).toMatchObject({ status: 'stopped', output: here.path('out.csv') })
  })
})

describe('rows from a pipe', () => {
  const argv = 'accounts enrich --csv - -o out.csv --fields name'

  it('stores piped rows privately with the run, and resumes without the pipe', async () => {
    const target = companies(2)
    await ends(here.run(argv, { ...target, stdin: csv(domains(5)) }), 4)
    const [run] = await list()
    expect(run.file).toBe('-')
    expect(statSync(here.path(`runs/${run.id}/stdin.csv`)).mode & 0o777).toBe(0o600)
    target.topUp(100)
    expect((await here.run(`runs resume ${run.id}`, target)).code).toBe(0)
    expect(here.read('out.csv')).toContain('d4.example,Name of d4.example,found')
  })

  it('resumes when the same rows are piped again, and stores them once', async () => {
    const target = companies(2)
    await here.run(argv, { ...target, stdin: csv(domains(5)) })
    target.topUp(100)
    await here.run(argv, { ...target, stdin: csv(domains(5)) })
    expect([(await list()).length, readdirSync(here.path('runs')).length]).toEqual([1, 1])
  })

  it('removes the stored rows with the runs, several at once', async () => {
    for (const from of [0, 9]) await here.run(argv, { ...companies(2), stdin: csv(domains(5, from)) })
    const runs = await list()
    expect((await here.run(['runs', 'forget', ...runs.map(({ id }) => id)])).code).toBe(0)
    expect([runs.length, await list(), readdirSync(here.path('runs'))]).toEqual([2, [], []])
  })
})
