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

it('stops when the server repeats a cursor', async () => {
  const caller = answering(page(['a'], { has_more: true, next_cursor: 'c1' }))
  const ended = await here.run('personas list --all', { caller })
  expect([ended.code, caller.asked.length]).toEqual([0, 2])
})

it('prints nothing when a later page is refused', async () => {
  const caller = answering(page(['a'], { has_more: true, next_cursor: 'c1' }), {
    status: 400,
    body: { error: 'Invalid pagination cursor' },
  })
  const ended = await here.run('personas list --all --format csv', { caller })
  expect([ended.code, ended.stdout]).toEqual([7, ''])
})
