import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { acceptJob, type NewJob } from '../../src/engine/credits/accept.js'
import { personaTable } from '../../src/engine/handlers/personas.js'
import { findWorkspace, listMembers } from '../../src/engine/tables/members.js'
import { perFile } from '../support/each.js'
import { tries } from '../support/effort.js'
import { type Bench, openBench } from '../support/engine.js'

const seed = Number(process.env.WALK_SEED ?? 20_260_310)

/** Adds the work that makes a row. */
const accept = (
  { store, workspaceId }: Bench,
  operation: 'lists.create' | 'leads.search',
  work: Pick<NewJob, 'id' | 'plan' | 'list'>,
  at: number,
): Promise<void> =>
  store.transaction(async (tx) => {
    const [member] = await listMembers(tx, workspaceId)
    const workspace = await findWorkspace(tx, workspaceId)
    if (!member || !workspace) throw new Error('no workspace')
    const accepted = { name: work.id, expected: 0, ...work }
    await acceptJob(tx, { workspace, member, operation, credits: 0, topUpUrl: '' }, accepted, at)
  })

const rowOf = (bench: Bench, id: string, at: number) => ({
  id,
  workspace_id: bench.workspaceId,
  name: id,
  created_at: at,
  updated_at: at,
})

const lists = {
  id: 'lists.list',
  query: {},
  rows: 'lists',
  add: (bench: Bench, id: string, at: number) => {
    const network_list_id = Number.parseInt(id.slice(0, 8), 16)
    const list = { ...rowOf(bench, id, at), network_list_id, status: 'pending' as const, companies: [] }
    return accept(bench, 'lists.create', { id, plan: { does: 'list' }, list }, at)
  },
} as const

const searches = {
  id: 'searches.list',
  query: { enriched: false },
  rows: 'searches',
  add: (bench: Bench, id: string, at: number) => {
    const search = { kind: 'people', filters: {} } as const
    return accept(bench, 'leads.search', { id, plan: { does: 'search', search, scale: false } }, at)
  },
} as const

const personas = {
  id: 'personas.list',
  query: {},
  rows: 'personas',
  add: (bench: Bench, id: string, at: number) => {
    const none = { job_titles: [], excluded_job_titles: [], functions: [], seniority_levels: [] }
    return bench.store.transaction((tx) => personaTable.insert(tx, { ...rowOf(bench, id, at), ...none }))
  },
} as const

/** A change between two pages: a row at one of few moments, or the deletion of one. */
const change = fc.oneof(fc.record({ at: fc.nat(3) }), fc.record({ drops: fc.nat() }))
const walk = fc.record({
  start: fc.array(fc.nat(3), { maxLength: 40 }),
  perPage: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 500 })),
  between: fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 12 }),
})
type Walk = typeof walk extends fc.Arbitrary<infer T> ? T : never

describe.each([lists, searches, personas])('P23: a walk over $id', (pages) => {
  const bench = perFile(openBench)
  let there = 0
  let epoch = Date.parse('2026-01-01T00:00:00Z')
  beforeAll(() => bench.admin.setPlan('Scale'))

  /** Walks to the end while rows come, at few moments, and go; those behind the cursor are due, whoever comes before is not. */
  async function walked({ start, perPage, between }: Walk): Promise<void> {
    // Rows of earlier walks come first in time, that is, last in the order: the walk ends when it meets them.
    epoch += 1_000
    const own = new Map<string, number>()
    const [due, dropped] = [new Set<string>(), new Set<string>()]
    const met: string[] = []
    const add = async (offset: number) => {
      const [id, at] = [crypto.randomUUID(), epoch + offset]
      const last = met.at(-1)
      const moment = last === undefined ? Number.POSITIVE_INFINITY : (own.get(last) ?? 0)
      if (at < moment || (at === moment && id < (last ?? ''))) due.add(id)
      own.set(id, at)
      await pages.add(bench, id, at)
      there++
    }
    const drop = async (which: number) => {
      const left = [...own.keys()].filter((id) => !dropped.has(id))
      const id = left[which % Math.max(1, left.length)]
      // Personas alone can be deleted.
      if (pages !== personas || id === undefined) return
      await bench.store.transaction((tx) => tx.run('DELETE FROM personas WHERE id = ?', id))
      there--
      dropped.add(id)
      if (!met.includes(id)) due.delete(id)
    }
    for (const offset of start) await add(offset)
    for (let page = 0, cursor = {}; ; page++) {
      bench.clock.advance(61_000)
      const { body } = await bench.call(pages.id, { ...pages.query, per_page: perPage, ...cursor })
      const { [pages.rows]: rows, pagination } = body as Page
      const ids = (rows ?? []).map(({ id }) => id)
      met.push(...ids.filter((id) => own.has(id)))
      expect(pagination.total_count).toBe(there)
      expect(pagination.has_more).toBe(pagination.next_cursor !== undefined)
      if (!pagination.has_more || ids.some((id) => !own.has(id))) break
      cursor = { cursor: pagination.next_cursor }
      for (const one of between[page] ?? []) await ('at' in one ? add(one.at) : drop(one.drops))
    }
    expect([...met].sort()).toEqual([...due].sort())
  }

  it(`visits every row exactly once, and none from before its cursor, WALK_SEED=${seed}`, async () => {
    await fc.assert(fc.asyncProperty(walk, walked), { seed, numRuns: tries(37, 150) })
  })
})

interface Page
  extends Partial<Record<'lists' | 'searches' | 'personas', readonly { readonly id: string }[]>> {
  readonly pagination: { has_more: boolean; total_count: number; next_cursor?: string }
}
