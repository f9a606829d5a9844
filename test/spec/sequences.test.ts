import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { OperationId } from '../../src/api/operations/table.js'
import { tries } from '../support/effort.js'
import { requests, unknownId } from './requests.js'
import { openService, type Service } from './service.js'

const seed = Number(process.env.PROSPECT_TEST_SEED ?? 20_260_310)

/** What makes, shows, lists and deletes things of a kind, and fields that are refused. */
interface Kind extends Partial<Record<'lists' | 'deletes', OperationId>> {
  readonly makes: OperationId
  readonly refused: Record<string, unknown>
  readonly shows: OperationId
}

const kinds = {
  persona: {
    makes: 'personas.create',
    refused: { name: 7 },
    shows: 'personas.get',
    lists: 'personas.list',
    deletes: 'personas.delete',
  },
  list: { makes: 'lists.create', refused: { companies: 'x' }, shows: 'lists.get', lists: 'lists.list' },
  search: {
    makes: 'leads.search',
    refused: { functions: ['none'] },
    shows: 'searches.get',
    lists: 'searches.list',
    deletes: 'searches.delete',
  },
  contact: { makes: 'contacts.enrich', refused: { enrichment_type: ['fax'] }, shows: 'contacts.get' },
  bulk: { makes: 'contacts.bulk_enrich', refused: { contacts: [] }, shows: 'contacts.get_enrichment' },
} satisfies Record<string, Kind>
type KindName = keyof typeof kinds
const names = Object.keys(kinds) as KindName[]
const kindOf = (name: KindName): Kind => kinds[name]

/** Texts that are ids of nothing. */
const noIds = [unknownId, ...'x %00 %2e%2e a%2Fb 0 -1 %F0%9F%A4%96 null 1%27%20OR%201 é'.split(' ')]

interface Made {
  readonly kind: KindName
  readonly id: string
  readonly owner: number
  alive: boolean
}

const step = fc.record({
  does: fc.constantFrom('make', 'refuse', 'show', 'show', 'cross', 'list', 'delete', 'work', 'garbage'),
  kind: fc.constantFrom(...names),
  other: fc.constantFrom(...names),
  as: fc.nat(1),
  which: fc.nat(),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Two workspaces, and what was made in them. */
class Model {
  readonly made: Made[] = []
  readonly #service: Service
  readonly #keys: readonly string[]

  constructor(service: Service, keys: readonly string[]) {
    this.#service = service
    this.#keys = keys
  }

  async take({ does, kind, other, as, which }: Step): Promise<void> {
    this.#service.clock.advance(61_000)
    const one = this.made[which % Math.max(1, this.made.length)]
    if (does === 'work') await this.#service.work()
    else if (does === 'refuse') await this.#refuse(kind, as)
    else if (does === 'list') await this.#list(kind, as)
    else if (does === 'garbage') await this.#garbage(kind, as, which)
    else if (does === 'make' || !one) await this.#make(kind, as)
    else if (does === 'show') await this.#show(one, as)
    else if (does === 'cross') await this.#cross(one, other, as)
    else await this.#delete(one, as)
  }

  #ask(id: OperationId, fields: Record<string, unknown>, as: number) {
    return this.#service.ask(id, fields, { key: this.#keys[as] ?? '' })
  }

  async #make(kind: KindName, owner: number): Promise<void> {
    const { makes } = kindOf(kind)
    const { body, status } = await this.#ask(makes, requests[makes], owner)
    expect(status).toBeLessThan(300)
    this.made.push({ kind, id: String(body.id ?? body.enrichment_id), owner, alive: true })
  }

  async #refuse(kind: KindName, as: number): Promise<void> {
    const { makes, refused } = kindOf(kind)
    expect((await this.#ask(makes, { ...requests[makes], ...refused }, as)).status).toBe(422)
    await this.#list(kind, as)
  }

  async #show({ kind, id, owner, alive }: Made, as: number): Promise<void> {
    const { status } = await this.#ask(kindOf(kind).shows, { id, uuid: id }, as)
    expect([kind, status]).toEqual([kind, alive && owner === as ? 200 : 404])
  }

  /** Both ways to show a contact show both kinds of enrichment; nothing else is reached by a way of another kind. */
  async #cross(one: Made, other: KindName, as: number): Promise<void> {
    const isContact = [one.kind, other].every((kind) => kind === 'contact' || kind === 'bulk')
    const expected = (one.kind === other || isContact) && one.alive && one.owner === as ? 200 : 404
    const { status } = await this.#ask(kindOf(other).shows, { id: one.id, uuid: one.id }, as)
    expect([one.kind, other, status]).toEqual([one.kind, other, expected])
  }

  async #list(kind: KindName, as: number): Promise<void> {
    const { lists } = kindOf(kind)
    if (!lists) return
    const query = lists === 'searches.list' ? { enriched: false, per_page: 1 } : { per_page: 1 }
    const { body } = await this.#ask(lists, query, as)
    const own = this.made.filter((one) => one.kind === kind && one.owner === as && one.alive)
    expect((body.pagination as { total_count: number }).total_count).toBe(own.length)
  }

  async #garbage(kind: KindName, as: number, which: number): Promise<void> {
    const id = noIds[which % noIds.length]
    expect((await this.#ask(kindOf(kind).shows, { id, uuid: id }, as)).status).toBe(404)
  }

  async #delete(one: Made, as: number): Promise<void> {
    const deletes = kindOf(one.kind).deletes ?? 'personas.delete'
    const { status } = await this.#ask(deletes, { id: one.id, uuid: one.id }, as)
    const isThere = kindOf(one.kind).deletes !== undefined && one.owner === as && one.alive
    expect([one.kind, status]).toEqual([one.kind, isThere ? 200 : 404])
    if (isThere) one.alive = false
  }
}

it(`P26: in random sequences of calls, PROSPECT_TEST_SEED=${seed}, what is created exists for its owner alone, until it is deleted`, async () => {
  const service = await openService()
  const { admin } = service
  await admin.setPlan('Scale')
  await admin.createWorkspace('Second')
  await admin.useWorkspace('Second')
  await admin.addMember({ email: 'eve@localhost' })
  const { key } = await admin.createKey({ member: 'eve@localhost' })
  for (const workspace of ['Second', 'Local']) {
    await admin.useWorkspace(workspace)
    await admin.setCredits(1_000_000)
    await admin.setQuotas({ dailyProfiles: 1_000_000 })
  }
  // What earlier sequences left is still there for later ones.
  const model = new Model(service, [service.key, key])
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
      for (const one of steps) await model.take(one)
    }),
    { seed, numRuns: tries(100, 1_000), endOnFailure: true },
  )
  expect(await admin.verify()).toMatchObject({ ok: true, problems: [] })
})
