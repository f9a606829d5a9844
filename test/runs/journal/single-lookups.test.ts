import { describe, expect, it } from 'vitest'
import { runsOver } from '../../../src/runs/journal/runs.js'
import { lookupsOver } from '../../../src/runs/journal/single-lookups.js'
import { purgeRuns } from '../../../src/runs/purge.js'
import { states } from '../../support/states.js'
import { journalFor, newRun } from '../fakes.js'

describe.each(states())('answers to single lookups in %s', (_, open) => {
  const day = 86_400_000
  const now = 20 * day
  const lookup = {
    operation: 'accounts.enrich',
    target: 'local',
    workspace: 'ours',
    identity: 'company:domain:a',
    hash: 2 ** 52,
  }
  const found = (name: string) => ({ status: 'found', error: null, body: { name }, credits: 1 }) as const

  it('are found by operation, target, identity and age, the newest first, and in no list of runs', async () => {
    const driver = await open()
    const { keep, find } = lookupsOver(driver)
    await keep(lookup, found('old'), now - 2 * day, 'one')
    await keep(lookup, found('new'), now, 'two')
    await keep({ ...lookup, identity: 'company:domain:b' }, found('other'), now + 1, 'three')
    expect(await find(lookup, 0)).toMatchObject({ answer: { body: { name: 'new' } }, answeredAt: now })
    expect(await find(lookup, now + 1)).toBeUndefined()
    expect(await find({ ...lookup, target: 'https://x.example/api/v2' }, 0)).toBeUndefined()
    expect(await find({ ...lookup, operation: 'accounts.stack' }, 0)).toBeUndefined()
    expect(await runsOver(driver).list()).toEqual([])
  })

  it('are those of runs, too, the first run of a database included', async () => {
    const driver = await open()
    const journal = await journalFor(driver, await runsOver(driver).add(newRun()), { now: () => now })
    const row = { ...lookup, ordinal: 0, repeats: false, most: 1, source: 'live' as const }
    await journal.keep([{ ...row, answer: found('first') }])
    expect(await lookupsOver(driver).find(lookup, 0)).toMatchObject({ answer: { body: { name: 'first' } } })
  })

  it('are those that a run which takes no stored answers gets from then on', async () => {
    const driver = await open()
    const journal = await journalFor(driver, await runsOver(driver).add(newRun()), { now: () => now })
    const { find } = lookupsOver(driver)
    expect(await find(lookup, 0)).toBeUndefined()
    const row = { ...lookup, ordinal: 0, repeats: false, most: 1, source: 'live' as const }
    await journal.keep([{ ...row, answer: found('later') }])
    expect(await find(lookup, 0)).toMatchObject({ answer: { body: { name: 'later' } } })
  })

  it('are purged day by day, and are no runs', async () => {
    const driver = await open()
    const { keep, find } = lookupsOver(driver)
    await keep(lookup, found('old'), now - 2 * day, 'one')
    await keep(lookup, found('new'), now, 'two')
    const hold = () => ({ release: () => {} })
    expect(await purgeRuns(driver, { before: now - day, now, hold })).toEqual({ runs: [], answers: 1 })
    expect(await find(lookup, 0)).toMatchObject({ answer: { body: { name: 'new' } } })
  })
})
