import { beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { shapeOf } from '../../../src/api/areas/shapes.js'
import type { Input, Reply } from '../../../src/api/calls/caller.js'
import { aliasesOf, type OperationId, operation, operations } from '../../../src/api/operations/table.js'
import { bare, kindOf } from '../../../src/api/validation/coerce.js'
import { perFile } from '../../support/each.js'
import { sample } from '../../support/effort.js'
import { requests } from '../requests.js'
import { openPlentiful, targets } from './targets.js'

/** A field of a request, at the top or within the objects of a list. */
interface Place {
  readonly id: OperationId
  readonly name: string
  readonly within: string | undefined
  readonly required: boolean
  readonly type: string
}

const fieldsIn = (id: OperationId, schema: z.ZodObject, within?: string): Place[] =>
  Object.entries(schema.shape as Record<string, z.core.$ZodType>).flatMap(([name, field]) => {
    const { required, type } = kindOf(field)
    const list = bare(field)
    const item = list instanceof z.ZodArray ? bare(list.element) : undefined
    const inner = item instanceof z.ZodObject ? fieldsIn(id, item, name) : []
    return [{ id, name, within, required, type }, ...inner]
  })

const places: readonly Place[] = (
  await Promise.all(
    operations().map(async ({ id, path }) => {
      const own = fieldsIn(id, (await shapeOf(id)).input).filter(({ name }) => !path.includes(`{${name}}`))
      const others = Object.entries(aliasesOf(id)).flatMap(([alias, name]) =>
        own
          .filter((place) => place.name === name)
          .map((place) => ({ ...place, name: alias, required: false })),
      )
      return [...own, ...others]
    }),
  )
).flat()

/** Returns the usual request with a value at a place; without the field when there is none. */
function withValue({ id, name, within }: Place, ...values: readonly unknown[]): Input {
  const change = (fields: Input): Input => {
    const { [name]: _, ...rest } = fields
    return values.length === 0 ? rest : { ...rest, [name]: values[0] }
  }
  if (within === undefined) return change(requests[id])
  const items = requests[id][within]
  return {
    ...requests[id],
    [within]: Array.isArray(items) ? items.map((item) => change(item as Input)) : items,
  }
}

/** What does not differ between two answers to the same request. */
const told = ({ status, body }: Pick<Reply, 'status' | 'body'>): string =>
  `${status} ${JSON.stringify(body)}`
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replace(/\d{4}-\d{2}-\d{2}T[\d:.]+Z|\d{2}\/\d{2}\/\d{4} \d{2}:\d{2}/g, 'TIME')
    .replace(/("(?:network_list_id|credits|enrichment|daily_\w+|monthly_\w+|total_count)"):\d+/g, '$1:N')
    .replace(/"next_cursor":"[^"]+"/g, 'CURSOR')

const shown = (place: Place) =>
  [`${place.id} ${place.within ? `${place.within}.` : ''}${place.name}`, place] as const
const optional = places.filter(({ required, name }) => !required && name !== 'live').map(shown)
const required = places.filter((place) => place.required).map(shown)
const lists = places.filter(({ type }) => type === 'array').map(shown)
const live = places.filter(({ name }) => name === 'live').map(shown)

// A query has no null.
const blanksOf = ({ id }: Place): readonly unknown[] => (operation(id).method === 'POST' ? ['', null] : [''])

it('the places are those of every operation', () => {
  expect([optional.length > 250, required.length > 20, lists.length > 60, live.length]).toEqual([
    true,
    true,
    true,
    10,
  ])
  expect(new Set(places.map(({ id }) => id)).size).toBeGreaterThan(30)
})

// The others differ in nothing that reads a field.
const asked = targets.filter(([name]) => name === 'the engine' || name.endsWith('of a real server'))
const ways = asked.map(([name, open], at) => ({ name, open, at }))

describe.each(ways)('by way of $name', ({ open, at }) => {
  const way = perFile(() => openPlentiful(open))
  beforeAll(() => way.bench.admin.addCredits(1_000_000))

  it.each(sample(optional, 2 * ways.length, at))(
    'an optional field that is empty is absent: %s',
    async (text, place) => {
      const { id } = place
      const without = withValue(place)
      const key = operation(id).idempotent ? `without-${text.replace(' ', '-')}` : undefined
      const plain = await way.ask(id, without, key)
      for (const blank of blanksOf(place)) {
        expect(told(await way.ask(id, withValue(place, blank)))).toBe(told(plain))
        if (key === undefined || plain.status >= 300) continue
        const again = await way.ask(id, withValue(place, blank), key)
        expect([again.status, again.body, again.headers['idempotent-replayed']]).toEqual([
          plain.status,
          plain.body,
          'true',
        ])
      }
    },
  )

  it.each(sample(required, ways.length, at))(
    'a required field that is empty is missing: %s',
    async (_, place) => {
      const { id, within } = place
      for (const blank of blanksOf(place)) {
        const { status, body } = await way.ask(id, withValue(place, blank))
        expect([within, status]).toEqual([within, id === 'credits.consumption' ? 422 : 400])
        expect(told({ status, body })).toBe(told(await way.ask(id, withValue(place))))
      }
    },
  )

  it.each(sample(live, ways.length, at))('live is true or false: %s', async (_, place) => {
    for (const wrong of ['', null, 'true', 0]) {
      const { status, body } = await way.ask(place.id, withValue(place, wrong))
      expect([status, JSON.stringify(body)]).toEqual([
        422,
        expect.stringContaining('live must be true or false'),
      ])
    }
  })

  it.each(sample(lists, 2 * ways.length, at))('null in a list is 422: %s', async (_, place) => {
    const given = withValue(place)
    const { status } = await way.ask(place.id, { ...given, [place.name]: [null] })
    expect(status).toBe(422)
  })
})
