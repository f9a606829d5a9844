import { describe, expect, it } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { requests } from '../spec/requests.js'
import { sample } from '../support/effort.js'
import { describeWeeklyLimit } from './caller.js'
import { compositions } from './compositions.js'

for (const [name, open] of sample(Object.entries(compositions), 2)) describeWeeklyLimit(name, open)

/** A body without what differs from one engine to the next: ids, times and where it is served. */
const masked = (body: unknown): string =>
  JSON.stringify(body)
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replace(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, 'TIME')
    .replace(/("network_list_id"):\d+/g, '$1:ID')
    .replace(/http:\/\/127\.0\.0\.1:\d+/g, 'ORIGIN')

const windowHeaders = ['retry-after', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']

type Composition = [name: string, open: (typeof compositions)[string]]

/**
 * Every operation with a request that it takes, with nothing in it, without a key, and without credits; under an
 * idempotency key, twice; and a key that was used for something else.
 */
async function transcript(open: Composition[1]): Promise<readonly string[]> {
  const { caller, bench, key, close } = await open()
  const apiKey = key ?? bench.key
  const lines: string[] = []
  const ask = async (note: string, ...[id, input, options]: Parameters<typeof caller.call>) => {
    const { status, body, headers } = await caller.call(id, input, { apiKey, ...options })
    const said = ['idempotent-replayed', ...windowHeaders].map((name) => headers[name] ?? '-')
    lines.push(`${id} ${note}: ${status} ${said.join(' ')} ${masked(body)}`)
    return { status, body }
  }
  try {
    await bench.admin.setPlan('Scale')
    for (const { id, path } of operations()) {
      await ask('whole', id, requests[id])
      await ask('bare', id, path.includes('{') ? requests[id] : {})
      for (const wrong of [undefined, 'pk_wrong']) await ask('refused', id, requests[id], { apiKey: wrong })
    }
    for (const { id } of operations().filter(({ idempotent }) => idempotent)) {
      const first = await ask('keyed', id, requests[id], { idempotencyKey: `key-${id}` })
      const again = await ask('again', id, requests[id], { idempotencyKey: `key-${id}` })
      if (first.status < 300) expect(again, id).toEqual(first)
    }
    const used = { idempotencyKey: 'key-accounts.enrich' }
    await ask('other', 'accounts.enrich', { domain: 'other.example' }, used)
    await bench.admin.setCredits(0)
    for (const { id, price } of operations())
      if (Object.keys(price).length > 0) await ask('poor', id, requests[id])
  } finally {
    await close()
  }
  return lines
}

describe('the ways to call an engine', () => {
  const [[, first], ...others] = Object.entries(compositions) as [Composition, ...Composition[]]
  let expected: readonly string[] = []

  it.each(sample(others, 3, 1))('return the same statuses and bodies: %s', async (_, open) => {
    if (expected.length === 0) expected = await transcript(first)
    expect(expected.length).toBeGreaterThan(100)
    expect(await transcript(open)).toEqual(expected)
  })
})
