import { describe, expect, it } from 'vitest'
import type { Input } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { perTest } from '../support/each.js'
import { openBench } from '../support/engine.js'

const bench = perTest(openBench)

type Shown = { id: string; name: string }

/** Calls with the clock a minute on, so that no request limit is met. */
const call = (id: OperationId, input: Input) => {
  bench.clock.advance(60_000)
  return bench.call(id, input)
}

const names = ({ personas }: Page) => personas.map(({ name }) => name)

describe('a persona', () => {
  it('is returned as it was created, free of charge, with an id and times of the server', async () => {
    const chosen = { job_titles: ['Head of Sales'], functions: ['25'], seniority_levels: ['220'] }
    const sent = { id: 'mine', uuid: 'mine', workspace_id: 'other', created_at: '1999-01-01T00:00:00Z' }
    const reply = await bench.call('personas.create', { ...sent, ...chosen, name: ' Buyers ' })
    const { id } = reply.body as Shown
    expect(id).not.toBe('mine')
    const body = {
      id,
      uuid: id,
      name: 'Buyers',
      ...chosen,
      excluded_job_titles: [],
      created_at: '2026-03-10T12:00:00.000Z',
      updated_at: '2026-03-10T12:00:00.000Z',
    }
    expect([reply.status, reply.body, reply.credits]).toEqual([201, body, 0])
    expect(await bench.call('personas.get', { uuid: id })).toMatchObject({ status: 200, body })
    expect(await bench.balance()).toBe(1_000)
  })
})

interface Page {
  personas: Shown[]
  pagination: {
    page?: number
    per_page: number
    total_count: number
    has_more: boolean
    next_cursor?: string
  }
}

const paged = async (input: Input) => (await call('personas.list', input)).body as Page

async function withPersonas(count: number): Promise<void> {
  for (let at = 0; at < count; at++) await call('personas.create', { name: `${at}` })
}

describe('pages', () => {
  it('come newest first, by number or by cursor', async () => {
    await withPersonas(5)
    const first = await paged({ per_page: 2 })
    expect(names(first)).toEqual(['4', '3'])
    const { next_cursor = '', ...rest } = first.pagination
    expect(rest).toEqual({ page: 1, per_page: 2, total_count: 5, has_more: true })
    const second = await paged({ per_page: 2, cursor: next_cursor })
    expect([names(second), second.pagination.page]).toEqual([['2', '1'], undefined])
    expect(second.pagination).not.toHaveProperty('page')
    const last = await paged({ per_page: 2, page: 3 })
    expect(last).toMatchObject({ personas: [{ name: '0' }], pagination: { page: 3 } })
    expect(last.pagination).toEqual({ page: 3, per_page: 2, total_count: 5, has_more: false })
  })

  it('after the last one are empty, however far', async () => {
    await withPersonas(1)
    const { personas, pagination } = await paged({ page: Number.MAX_SAFE_INTEGER, per_page: 500 })
    expect([personas, pagination.has_more, pagination.total_count]).toEqual([[], false, 1])
  })

  it('begin with the first for an empty cursor, which is none', async () => {
    await withPersonas(2)
    expect(await paged({ cursor: '' })).toEqual(await paged({}))
  })

  it('have 500 rows at most', async () => {
    expect((await paged({ per_page: 501 })).pagination.per_page).toBe(500)
  })

  it.each([' ', 'x'.repeat(5_000)])('are refused for the cursor %j', async (cursor) => {
    expect((await bench.call('personas.list', { cursor })).status).toBe(400)
  })
})
