import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { hashKey, isKey, makeKey } from '../../../src/engine/request/access.js'
import { perTest } from '../../support/each.js'
import { openBench, randomIds, seededIds } from '../../support/engine.js'
import { newFolder } from '../../support/new-folder.js'

const folder = perTest(newFolder)

describe('P28: keys are stored safely', () => {
  it('creates keys of one form, never two alike', () => {
    const keys = Array.from({ length: 10_000 }, () => makeKey(randomIds))
    expect(new Set(keys).size).toBe(10_000)
    expect(keys.every(isKey)).toBe(true)
  })

  it('detects every wrong character and every swap of neighbours offline', () => {
    const key = makeKey(seededIds('keys'))
    for (let at = 3; at < key.length; at++) {
      const wrong = key[at] === 'x' ? 'y' : 'x'
      expect(isKey(key.slice(0, at) + wrong + key.slice(at + 1))).toBe(false)
    }
    expect(isKey(key.slice(0, -1))).toBe(false)
    expect(isKey(`${key}a`)).toBe(false)
  })

  it('hashes any text as OpenSSL does', () => {
    const texts = Array.from({ length: 200 }, (_, length) => 'kéy €'.repeat(length).slice(0, length))
    const expected = texts.map((text) => createHash('sha256').update(text).digest('hex'))
    expect(texts.map(hashKey)).toEqual(expected)
  })

  it('stores only the hash: no file contains the key', async () => {
    const bench = await openBench(folder.at('engine.db'))
    const { key } = await bench.admin.createKey({ member: 'me@localhost' })
    await bench.call('accounts.enrich', { domain: 'known.example' }, { apiKey: key, idempotencyKey: 'k' })
    for (const name of readdirSync(folder.path)) {
      const bytes = readFileSync(folder.at(name))
      expect(bytes.includes(key)).toBe(false)
      expect(bytes.includes(bench.key)).toBe(false)
    }
    expect(readFileSync(folder.at('engine.db-wal')).includes(hashKey(key))).toBe(true)
    await bench.caller.close()
  })
})

it('records when a key was last used, anew after an hour', async () => {
  const bench = await openBench()
  const used: (number | null | undefined)[] = []
  const start = bench.clock.now()
  for (const minutes of [0, 59, 60]) {
    bench.clock.advance(start + minutes * 60_000 - bench.clock.now())
    await bench.call('credits.show', {})
    // The request does not wait for it; what is written next does.
    await bench.store.transaction(async () => {})
    used.push((await bench.admin.keys())[0]?.usedAt)
  }
  expect(used.map((at) => ((at ?? 0) - start) / 60_000)).toEqual([0, 0, 60])
})

describe('P29: uniform refusal, fast revocation', () => {
  it('delays the 11th refusal of a second, and answers a valid key at once', async () => {
    const bench = await openBench()
    for (let count = 0; count < 12; count++) await bench.caller.call('credits.show', {}, {})
    expect(bench.sleeps).toEqual([1_000, 1_000])
    await bench.call('credits.show', {})
    bench.clock.advance(1_000)
    await bench.caller.call('credits.show', {}, {})
    expect(bench.sleeps).toHaveLength(2)
  })
})
