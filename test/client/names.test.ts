import type { RequestListener } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { shapeOf } from '../../src/api/areas/shapes.js'
import { renamedFields, renameOut } from '../../src/api/calls/wire-names.js'
import { engineFilters } from '../../src/api/operations/facts.js'
import { operations } from '../../src/api/operations/table.js'
import type { Remote } from '../../src/client/remote.js'
import { answering, type Listener, received } from './listeners.js'
import { remoteTo } from './serving.js'

const names = { network: 'linkedin', premium: 'sales_navigator' }
const neutral = new Set(renamedFields.filter((name) => name !== 'is_premium_network'))

interface Json {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Json>>
  readonly items?: Json
  readonly anyOf?: readonly Json[]
}

/** A value with every field of a schema. */
function sampleOf({ type, properties, items, anyOf }: Json): unknown {
  if (anyOf) return sampleOf(anyOf.find((one) => one.type !== 'null') ?? {})
  if (properties)
    return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, sampleOf(one)]))
  if (type === 'array') return [sampleOf(items ?? {})]
  if (type === 'object') return { network_id: 'of your own' }
  return type === 'boolean' ? true : type === 'integer' || type === 'number' ? 1 : 'network_id'
}

const keysOf = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, one]) => [
        ...(Array.isArray(value) ? [] : [key]),
        ...(key === 'custom' ? [] : keysOf(one)),
      ])
    : []

let server: Listener | undefined
let remote: Remote | undefined
afterEach(async () => {
  await remote?.close()
  await server?.close()
})

describe('field names of a server', () => {
  it.each(operations().map((row) => [row.id, row] as const))(
    'renames every field of a request and its reply, and nothing within custom: %s',
    async (id, row) => {
      const shape = await shapeOf(id)
      const input = sampleOf(z.toJSONSchema(shape.input, { io: 'input' }) as Json) as Record<string, unknown>
      for (const name of engineFilters) delete input[name]
      const output = sampleOf(z.toJSONSchema(shape.output) as Json)
      let seen: unknown
      const answer: RequestListener = async (request, response) => {
        const { body } = await received(request)
        const { searchParams } = new URL(request.url ?? '/', 'http://x')
        seen = body === '' ? Object.fromEntries(searchParams) : JSON.parse(body)
        response.writeHead(row.ok).end(JSON.stringify(renameOut(output, names)))
      }
      server = await answering(answer)
      remote = remoteTo(`http://127.0.0.1:${server.port}/api/v2`, { names })
      const reply = await remote.call(id, input)
      expect(reply).toMatchObject({ status: row.ok, body: output })
      expect(keysOf(seen).filter((key) => neutral.has(key))).toEqual([])
      const inPath = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const rest = Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.includes(name)))
      expect(Object.keys(seen as object).sort()).toEqual(Object.keys(renameOut(rest, names) as object).sort())
    },
  )
})
