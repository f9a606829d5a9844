import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeCursor, readCursor, readCursorSecret } from '../../../src/engine/handlers/pagination.js'
import { anyCodePoint } from '../../support/any-text.js'
import { perTest } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { openBench } from '../../support/engine.js'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const secret = 'ab'.repeat(32)
const scope = {
  endpoint: 'searches.list',
  workspaceId: 'w1',
  filters: { enriched: true, status: 'qualified' },
}
const position = [1_773_144_000_000, '6b5d2f3e-0000-4000-8000-000000000001']
const cursor = makeCursor(secret, scope, position)

const refused = (given: string, where = scope, key = secret) =>
  expect(() => readCursor(key, where, given)).toThrow('Invalid pagination cursor')

describe('a cursor', () => {
  it('returns its position; the order of filters does not matter', () => {
    const same = { ...scope, filters: { status: 'qualified', enriched: true } }
    expect(readCursor(secret, same, cursor)).toEqual(position)
    expect(cursor).toMatch(/^[\w-]+$/)
  })

  it('P24: is valid with its own secret, endpoint, workspace and filters only', () => {
    refused(cursor, { ...scope, endpoint: 'lists.list' })
    refused(cursor, { ...scope, workspaceId: 'w2' })
    refused(cursor, { ...scope, filters: { ...scope.filters, enriched: false } })
    refused(cursor, scope, 'cd'.repeat(32))
  })

  it('P24: is refused with any character changed to any other', () => {
    for (let at = 0; at < cursor.length; at++)
      for (const letter of `${alphabet}=.é\0`)
        if (letter !== cursor[at]) refused(cursor.slice(0, at) + letter + cursor.slice(at + 1))
  })

  it('P24: is refused when it is cut short, lengthened or made up', () => {
    for (let length = 0; length < cursor.length; length++) refused(cursor.slice(0, length))
    for (const more of [...alphabet, '=', ' ', '\n']) refused(cursor + more)
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint, maxLength: 200 }), (text) => void refused(text)),
      { numRuns: tries(300, 3_000) },
    )
  })
})

describe('P24: over the engine', () => {
  const bench = perTest(openBench)

  it('returns 400 for every cursor of another origin', async () => {
    for (const name of ['one', 'two', 'three']) await bench.call('personas.create', { name })
    const list = async (given: string, apiKey = bench.key) => {
      bench.clock.advance(60_000)
      return bench.call('personas.list', { cursor: given, per_page: 1 }, { apiKey })
    }
    const first = await bench.call('personas.list', { per_page: 1 })
    const own = (first.body as { pagination: { next_cursor: string } }).pagination.next_cursor
    expect((await list(own)).status).toBe(200)

    const { workspaceId } = bench
    const key = (await bench.store.read((tx) => readCursorSecret(tx, workspaceId))) ?? ''
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    const foreign = makeCursor(key, { endpoint: 'lists.list', workspaceId, filters: {} }, position)
    const filtered = makeCursor(key, { endpoint: 'personas.list', workspaceId, filters: { a: 1 } }, position)
    for (const given of [foreign, filtered, own.slice(1)]) {
      const { status, body } = await list(given)
      expect([given, status, body]).toEqual([given, 400, { error: 'Invalid pagination cursor' }])
    }

    await bench.admin.createWorkspace('Second')
    await bench.admin.useWorkspace('Second')
    await bench.admin.addMember({ email: 'eve@localhost' })
    const other = (await bench.admin.createKey({ member: 'eve@localhost' })).key
    // Before the other workspace has a secret, and once it has one.
    expect((await list(own, other)).status).toBe(400)
    for (const name of ['one', 'two']) await bench.call('personas.create', { name }, { apiKey: other })
    expect((await bench.call('personas.list', { per_page: 1 }, { apiKey: other })).status).toBe(200)
    expect((await list(own, other)).status).toBe(400)
    expect((await list(own)).status).toBe(200)
  })
})
