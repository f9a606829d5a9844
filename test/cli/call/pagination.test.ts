import { expect, it } from 'vitest'
import { answering, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const page = (ids: readonly string[], pagination: Record<string, unknown>) => ({
  body: {
    personas: ids.map((id) => ({ id, name: id })),
    pagination: { per_page: 500, total_count: 3, ...pagination },
  },
})

it('says that a page has fewer rows than were asked for', async () => {
  await here.json('init')
  const ended = await here.run('lists list --per-page 501')
  expect([ended.code, ended.stderr]).toEqual([0, '--per-page 501: a page has at most 500 rows.\n'])
  for (const request of ['/searches?per_page=501', '/searches -f per_page=501']) {
    const raw = await here.run(`api get ${request}`)
    expect([raw.code, raw.stderr]).toEqual([0, 'per_page 501: a page has at most 500 rows.\n'])
  }
  expect((await here.run('api get /searches?per_page=500')).stderr).toBe('')
  expect((await here.run('lists list --per-page 500')).stderr).toBe('')
})

it.each([
  '/lists?page=1&page=2',
  '/searches?enriched=true&enriched=false',
  '/accounts/technologies?query=a&query=b',
])('is refused with the name of a parameter that is given twice: %s', async (path) => {
  await here.json('init')
  const [, name] = /\?(\w+)=/.exec(path) ?? []
  const ended = await here.run(['api', 'GET', path, '--format', 'csv'])
  expect([ended.code, ended.stderr]).toEqual([7, expect.stringContaining(`${name} is given more than once`)])
})

it('fetches all pages of a list and prints them as one', async () => {
  const caller = answering(
    page(['a', 'b'], { page: 1, has_more: true, next_cursor: 'c1' }),
    page(['c'], { has_more: false }),
  )
  const ended = await here.run('personas list --all --json', { caller })
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(ended.stdout)).toEqual({
    personas: ['a', 'b', 'c'].map((id) => ({ id, name: id })),
    pagination: { per_page: 500, total_count: 3, has_more: false },
  })
  expect(caller.asked.map(({ input }) => input)).toEqual([{ per_page: 500 }, { per_page: 500, cursor: 'c1' }])
})

it('fetches the pages of a server that gives cursors and does not say whether it has more', async () => {
  const caller = answering(
    page(['a', 'b'], { next_cursor: 'c1' }),
    page(['c'], { next_cursor: 'c2' }),
    page(['d'], { next_cursor: 'c3' }),
  )
  const ended = await here.run('personas list --all --json', { caller })
  expect([ended.code, JSON.parse(ended.stdout).personas.length]).toEqual([0, 3])
})

it.each([
  ['csv', '', 'This is the first page of 3 rows. Add --all for the rest.\n'],
  ['ids', '', 'This is the first page of 3 rows. Add --all for the rest.\n'],
  ['json', '', ''],
  ['csv', ' --page 1', ''],
  ['csv', ' --quiet', ''],
])('says that a page in the format %s%s is not all', async (format, more, stderr) => {
  const caller = answering(page(['a', 'b'], { page: 1, has_more: true, next_cursor: 'c1' }))
  const ended = await here.run(`personas list --format ${format}${more}`, { caller })
  expect(ended).toMatchObject({ code: 0, stderr })
})

it('starts at --cursor with the given page size', async () => {
  const caller = answering(page(['c'], { has_more: false }))
  const argv = 'lists list --all --cursor c1 --per-page 2'
  await here.run(argv, { caller })
  expect(caller.asked.map(({ input }) => input)).toEqual([{ per_page: 2, cursor: 'c1' }])
})

it.each([
  [
    'repeats a cursor',
    [page(['a'], { has_more: true, next_cursor: 'c1' })],
    2,
    'a cursor that was used before',
  ],
  ['gives no cursor', [page(['a'], { has_more: true })], 1, 'gives no cursor for them'],
  [
    'repeats a page under another cursor',
    [
      page(['a'], { has_more: true, next_cursor: 'c1' }),
      page(['b'], { has_more: true, next_cursor: 'c2' }),
      page(['a'], { has_more: true, next_cursor: 'c3' }),
    ],
    3,
    'sends a page that has come before',
  ],
  [
    'sends an empty page',
    [page(['a'], { has_more: true, next_cursor: 'c1' }), page([], { has_more: true, next_cursor: 'c2' })],
    2,
    'the last one is empty',
  ],
])(
  'prints the rows that came, says that some are missing, and exits with 10 when a server %s',
  async (_, pages, requests, says) => {
    const caller = answering(...pages)
    const ended = await here.run('personas list --all --format ids', { caller })
    expect([ended.code, caller.asked.length, ended.stdout.trim().split('\n')[0]]).toEqual([10, requests, 'a'])
    expect(ended.stderr).toContain(says)
    expect((await here.run('api GET /personas --paginate', { caller: answering(...pages) })).code).toBe(10)
  },
)

it.each([
  ['has sent twice as many rows as it has: 507 rows came of 3', { total_count: 3 }, 507],
  ['there were 10,000 already: 10,000 rows came.', { total_count: undefined }, 10_000],
])('ends at a server that goes on for ever, when %s', async (says, total, requests) => {
  let asked = 0
  const caller = answering(() =>
    page([`p${asked}`], { ...total, has_more: true, next_cursor: `c${asked++}` }),
  )
  const ended = await here.run('personas list --all --format ids', { caller })
  expect([ended.code, asked]).toEqual([10, requests])
  expect(ended.stderr).toContain(says)
})

it('prints nothing when a later page is refused', async () => {
  const caller = answering(page(['a'], { has_more: true, next_cursor: 'c1' }), {
    status: 400,
    body: { error: 'Invalid pagination cursor' },
  })
  const ended = await here.run('personas list --all --format csv', { caller })
  expect([ended.code, ended.stdout]).toEqual([7, ''])
})
