import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { csvOf, machines, type Paying } from './paying.js'

let filled: Awaited<ReturnType<typeof machines>>
beforeAll(async () => {
  filled = await machines(40, 1_000)
})
afterAll(() => filled.remove())

let here: Paying
beforeEach(() => {
  here = filled.copy()
})
afterEach(() => here.remove())

const charged = async () => (await here.charges()).length
const ids = async () => (await here.runs()).map(({ id }) => id)

/** Starts a run of 20 rows that its budget stops after 8, and returns its id. */
async function stopped(): Promise<string> {
  here.write('in.csv', csvOf(20))
  await here.enrich('--max-credits', '8')
  return (await ids())[0] ?? ''
}

describe('runs list --json', () => {
  it('lists runs newest first with exactly the documented keys', async () => {
    const id = await stopped()
    here.write('more.csv', csvOf(3))
    await here.run('accounts', 'enrich', '--csv', 'more.csv', '--quiet')
    const listed = await here.json<object[]>('runs', 'list')
    const keys = ['id', 'operation', 'file', 'output', 'target', 'status', 'rows', 'done', 'credits']
    for (const run of listed) expect(Object.keys(run)).toEqual([...keys, 'started_at', 'finished_at'])
    expect(listed).toMatchObject([
      { operation: 'accounts.enrich', output: null, target: 'local', status: 'finished', rows: 3, done: 3 },
      { id, status: 'stopped', rows: 20, done: 8, credits: 8, output: join(here.home, 'out.csv') },
    ])
  })

  it('prints an empty array when there is no run', async () => {
    expect(await here.runs()).toEqual([])
  })
})

describe('runs resume', () => {
  it('pays for the remaining rows only, and for nothing when repeated', async () => {
    const id = await stopped()
    expect((await here.run('runs', 'resume', id, '--max-credits', '100')).code).toBe(0)
    expect([await charged(), here.rows('out.csv').length]).toEqual([20, 20])
    const first = here.read('out.csv')
    expect((await here.run('runs', 'resume', id)).code).toBe(0)
    expect([await charged(), here.read('out.csv')]).toEqual([20, first])
  })

  it('resumes the given run even when a newer run has the same content', async () => {
    await here.run('config', 'set', 'max_age', '0')
    const id = await stopped()
    await here.enrich('--fresh')
    expect((await here.run('runs', 'resume', id, '--max-credits', '100')).code).toBe(0)
    expect((await here.runs()).map(({ status, credits }) => [status, credits])).toEqual([
      ['finished', 20],
      ['finished', 20],
    ])
    expect(await charged()).toBe(40)
  })
})

describe('runs export', () => {
  it('exports the answered rows without spending or changing the run', async () => {
    const id = await stopped()
    const before = await here.runs()
    expect((await here.run('runs', 'export', id, '-o', 'again.csv')).code).toBe(0)
    expect(here.rows('again.csv').map(({ _status }) => _status)).toEqual([
      ...Array.from({ length: 8 }, () => 'found'),
      ...Array.from({ length: 12 }, () => 'skipped'),
    ])
    expect([await here.runs(), await charged(), existsSync(join(here.home, 'out.csv'))]).toEqual([
      before,
      8,
      false,
    ])
  })

  it('refuses a format that is not for rows, without a word about an option that nobody typed', async () => {
    const ended = await here.run('runs', 'export', await stopped(), '--format', 'table')
    expect([ended.code, ended.stderr]).toEqual([
      2,
      expect.stringContaining('The format table is not for the rows of a file.'),
    ])
    expect(ended.stderr).not.toContain('--csv')
  })

  it('exports a finished run byte for byte', async () => {
    here.write('in.csv', csvOf(20))
    await here.enrich()
    await here.run('runs', 'export', (await ids())[0] ?? '', '-o', 'again.csv')
    expect(here.read('again.csv')).toBe(here.read('out.csv'))
  })
})

describe('runs forget', () => {
  it('forgets a run, so that the same command with --refresh pays again', async () => {
    const id = await stopped()
    expect((await here.run('runs', 'forget', id)).code).toBe(0)
    expect(await ids()).toEqual([])
    expect((await here.enrich('--refresh')).code).toBe(0)
    expect(await charged()).toBe(28)
  })

  it('forgets several runs at once', async () => {
    await stopped()
    await here.enrich('--fresh')
    const ended = await here.run('runs', 'forget', ...(await ids()))
    expect([ended.code, ended.stderr, await ids()]).toEqual([0, expect.stringContaining('forgotten'), []])
  })
})

describe('an unknown run id', () => {
  it.each(['show', 'resume', 'export', 'forget'])(
    'exits 9 for an unknown id in runs %s, and suggests runs list',
    async (word) => {
      await stopped()
      const { code, stderr } = await here.run('runs', word, 'ffff-no-such-run')
      expect([code, stderr]).toEqual([9, expect.stringContaining('There is no run ffff-no-such-run.')])
      expect(stderr).toContain('prospect runs list')
    },
  )
})
