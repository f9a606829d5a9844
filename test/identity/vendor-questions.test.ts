import { describe, expect, it } from 'vitest'
import { findCall, insertCall, newCall } from '../../src/engine/tables/providers.js'
import { engines } from '../support/databases.js'
import { perTest } from '../support/each.js'
import { openBench } from '../support/engine.js'

describe.each(engines())('what a vendor was asked, in %s,', (_, open) => {
  const bench = perTest(() => openBench(open))

  it('is found by the same question, and by none that differs in a letter, its case, an accent or a blank', async () => {
    const questions = [
      'acme',
      'Acme',
      'acmé',
      'acme\u0301',
      'acme ',
      'a_me',
      'acm%',
      'açme',
      'ACME',
      'ıcme',
      '😀',
      '😁',
    ]
    const key = { workspaceId: bench.workspaceId, provider: 'vendor', kind: 'email' }
    const asked = (identity: string) =>
      newCall({
        ...key,
        identity,
        subject: identity,
        reserved: 1,
        memberId: 'me',
        run: 'run',
        askedAt: 1,
        leaseUntil: 2,
      })
    for (const question of questions) {
      const found = await bench.store.read((tx) => findCall(tx, { ...key, identity: question }))
      expect([question, found]).toEqual([question, undefined])
      await bench.store.transaction((tx) => insertCall(tx, asked(question)))
    }
    for (const question of questions) {
      const found = await bench.store.read((tx) => findCall(tx, { ...key, identity: question }))
      expect(found?.subject).toBe(question)
      await expect(bench.store.transaction((tx) => insertCall(tx, asked(question)))).rejects.toThrow()
    }
  })
})
