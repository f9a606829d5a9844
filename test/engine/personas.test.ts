import { describe, expect, it } from 'vitest'
import type { CallOptions, Input } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { perTest } from '../support/each.js'
import { openBench } from '../support/engine.js'

const bench = perTest(openBench)

type Shown = { id: string; name: string }

/** Calls with the clock a minute on, so that no request limit is met. */
const call = (id: OperationId, input: Input, options?: CallOptions) => {
  bench.clock.advance(60_000)
  return bench.call(id, input, options)
}

const created = async (name: string, options?: CallOptions) =>
  (await call('personas.create', { name }, options)).body as Shown

const names = (body: unknown) => (body as { personas: Shown[] }).personas.map(({ name }) => name)

/** The key of a second workspace. */
async function secondKey(): Promise<string> {
  await bench.admin.createWorkspace('Second')
  await bench.admin.useWorkspace('Second')
  await bench.admin.addMember({ email: 'eve@localhost' })
  return (await bench.admin.createKey({ member: 'eve@localhost' })).key
}

const notFound = { status: 404, body: { error: 'Not found' }, credits: 0 }

describe('a persona', () => {
  it('is returned as it was created, free of charge', async () => {
    const given = {
      name: ' Buyers ',
      job_titles: ['Head of Sales'],
      functions: ['25'],
      seniority_levels: ['220'],
    }
    const reply = await bench.call('personas.create', given)
    const { id } = reply.body as Shown
    const body = {
      id,
      uuid: id,
      name: 'Buyers',
      job_titles: ['Head of Sales'],
      excluded_job_titles: [],
      functions: ['25'],
      seniority_levels: ['220'],
      created_at: '2026-03-10T12:00:00.000Z',
      updated_at: '2026-03-10T12:00:00.000Z',
    }
    expect([reply.status, reply.body, reply.credits]).toEqual([201, body, 0])
    expect(await bench.call('personas.get', { uuid: id })).toMatchObject({ status: 200, body })
    expect(await bench.balance()).toBe(1_000)
  })

  it('stores nothing when its creation is refused', async () => {
    const refused = [{}, { name: ' ' }, { name: 'x', functions: ['999'] }, { name: 'x', job_titles: [''] }]
    for (const input of refused) {
      const { status } = await bench.call('personas.create', input)
      expect([input, [400, 422].includes(status)]).toEqual([input, true])
    }
    expect((await bench.call('personas.list', {})).body).toEqual({
      personas: [],
      pagination: { page: 1, per_page: 100, total_count: 0, has_more: false },
    })
  })

  it('has an id and timestamps of the server, whatever is sent', async () => {
    const sent = { name: 'x', id: 'mine', workspace_id: 'other', created_at: '1999-01-01T00:00:00Z' }
    const { body } = await bench.call('personas.create', sent)
    expect(body).toMatchObject({ created_at: '2026-03-10T12:00:00.000Z' })
    expect((body as Shown).id).not.toBe('mine')
  })

  it('is deleted for good', async () => {
    const { id } = await created('Buyers')
    const reply = await bench.call('personas.delete', { uuid: id })
    expect(reply).toMatchObject({ status: 200, body: { message: 'Persona deleted' } })
    expect(await bench.call('personas.get', { uuid: id })).toMatchObject(notFound)
    expect(await bench.call('personas.delete', { uuid: id })).toMatchObject(notFound)
  })

  it('is 404 when it is unknown, of another workspace or no uuid', async () => {
    const { id } = await created('Buyers')
    const apiKey = await secondKey()
    const ids = [id, crypto.randomUUID(), 'x', '../x', '%00', "' OR 1=1 --", 'a'.repeat(201), ' ']
    for (const operation of ['personas.get', 'personas.delete'] as const)
      for (const uuid of ids) {
        const { headers, ...reply } = await call(operation, { uuid }, { apiKey })
        expect([operation, uuid, reply]).toEqual([operation, uuid, notFound])
      }
    expect(names((await bench.call('personas.list', {}, { apiKey })).body)).toEqual([])
    expect((await bench.call('personas.get', { uuid: id })).status).toBe(200)
  })
})

interface Pagination {
  page?: number
  per_page: number
  total_count: number
  has_more: boolean
  next_cursor?: string
}

const paged = async (input: Input, options?: CallOptions) =>
  (await call('personas.list', input, options)).body as { personas: Shown[]; pagination: Pagination }

async function withPersonas(count: number): Promise<void> {
  for (let at = 0; at < count; at++) await created(`${at}`)
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
