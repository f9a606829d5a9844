import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OperationId } from '../../src/api/operations/table.js'
import { acceptJob, type NewJob } from '../../src/engine/credits/accept.js'
import { findWorkspace, listMembers } from '../../src/engine/tables/members.js'
import { tries } from '../support/effort.js'
import { type Bench, openBench } from '../support/engine.js'

const seed = Number(process.env.WALK_SEED ?? 20_260_310)

/** Pages of one kind of rows, and the work that makes a row. */
interface Pages {
  readonly id: OperationId
  readonly query: Record<string, unknown>
  readonly rows: 'lists' | 'searches'
  work(id: string, workspaceId: string, at: number): Pick<NewJob, 'plan' | 'list'>
}

const lists: Pages = {
  id: 'lists.list',
  query: {},
  rows: 'lists',
  work: (id, workspaceId, at) => ({
    plan: { does: 'list' },
    list: {
      ...{
        id,
        workspace_id: workspaceId,
        name: id,
        network_list_id: Number.parseInt(id.slice(0, 8), 16),
        status: 'pending',
        companies: [],
      },
      ...{ created_at: at, updated_at: at },
    },
  }),
}

const searches: Pages = {
  id: 'searches.list',
  query: { enriched: false },
  rows: 'searches',
  work: () => ({ plan: { does: 'search', search: { kind: 'people', filters: {} }, scale: false } }),
}

/** Puts a row beneath the engine. */
const addRow = ({ store, workspaceId }: Bench, pages: Pages, id: string, at: number): Promise<void> =>
  store.transaction(async (tx) => {
    const [member] = await listMembers(tx, workspaceId)
    const workspace = await findWorkspace(tx, workspaceId)
    if (!member || !workspace) throw new Error('no workspace')
    const operation = pages.rows === 'lists' ? 'lists.create' : 'leads.search'
    const work = { id, name: id, expected: 0, ...pages.work(id, workspaceId, at) }
    await acceptJob(tx, { workspace, member, operation, credits: 0, topUpUrl: '' }, work, at)
  })

const walk = fc.record({
  start: fc.array(fc.nat(3), { maxLength: 30 }),
  perPage: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 500 })),
  between: fc.array(fc.array(fc.nat(3), { maxLength: 4 }), { maxLength: 10 }),
})
type Walk = typeof walk extends fc.Arbitrary<infer T> ? T : never

describe.each([lists, searches])('P23: a walk over $id', (pages) => {
  let bench: Bench
  let epoch = Date.parse('2026-01-01T00:00:00Z')
  beforeAll(async () => {
    bench = await openBench()
    await bench.admin.setPlan('Scale')
  })
  afterAll(() => bench.caller.close())

  /** Walks to the end while rows are added at few moments; those behind the cursor are due, whoever comes before is not. */
  async function walked({ start, perPage, between }: Walk): Promise<void> {
    // Rows of earlier walks come first in time, that is, last in the order: the walk ends when it meets them.
    epoch += 1_000
    const own = new Map<string, number>()
    const due = new Set<string>()
    const met: string[] = []
    const add = async (offset: number) => {
      const [id, at] = [crypto.randomUUID(), epoch + offset]
      const last = met.at(-1)
      const moment = last === undefined ? Number.POSITIVE_INFINITY : (own.get(last) ?? 0)
      if (at < moment || (at === moment && id < (last ?? ''))) due.add(id)
      own.set(id, at)
      await addRow(bench, pages, id, at)
    }
    for (const offset of start) await add(offset)
    for (let page = 0, cursor = {}; ; page++) {
      bench.clock.advance(61_000)
      const { body } = await bench.call(pages.id, { ...pages.query, per_page: perPage, ...cursor })
      const { [pages.rows]: rows, pagination } = body as Page
      const ids = (rows ?? []).map(({ id }) => id)
      met.push(...ids.filter((id) => own.has(id)))
      expect(pagination.has_more).toBe(pagination.next_cursor !== undefined)
      if (!pagination.has_more || ids.some((id) => !own.has(id))) break
      cursor = { cursor: pagination.next_cursor }
      for (const offset of between[page] ?? []) await add(offset)
    }
    expect([...met].sort()).toEqual([...due].sort())
  }

  it(`visits every row exactly once, and none from before its cursor, WALK_SEED=${seed}`, async () => {
    await fc.assert(fc.asyncProperty(walk, walked), { seed, numRuns: tries(37, 150) })
  })
})

interface Page {
  readonly lists?: readonly { readonly id: string }[]
  readonly searches?: readonly { readonly id: string }[]
  readonly pagination: { readonly has_more: boolean; readonly next_cursor?: string }
}
