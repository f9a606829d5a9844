import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Account } from '../../../src/api/ports/ports.js'
import { loadSample } from '../../../src/catalogue/sample/sample.js'
import { perFile } from '../../support/each.js'
import { tries } from '../../support/effort.js'
import { exported, openEmpty, openWith, stillClock } from '../open.js'

const at = (date: string, headcount: number, department?: string) => ({ date, headcount, department })

describe('headcount', () => {
  const catalogue = perFile(() =>
    openWith([
      {
        domain: 'acme.example',
        network_id: '100',
        headcount: 1,
        headcount_history: [
          at('2026-03-01', 110),
          at('2025-11-29', 100),
          at('2025-12-09', 97),
          at('2025-09-20', 88),
          at('2026-03-01', 5, 'Sales'),
          at('2025-12-01', 0, 'Sales'),
          at('2026-03-01', 30, 'Human Resources'),
        ],
      },
      { domain: 'birch.example', headcount: 40 },
      { domain: 'bare.example' },
    ]),
  )

  const ask = (departments: readonly string[] = [], domain = 'acme.example') =>
    catalogue.headcount({ domain }, departments)
  const evolution = (base: number | null, now: number, gain: number | null, percentage: number | null) => ({
    base_headcount: base,
    current_headcount: now,
    headcount_gain: gain,
    headcount_gain_percentage: percentage,
  })

  it('is compared with the days nearest to 3, 6 and 12 months before', async () => {
    expect((await ask())?.All).toEqual({
      current_headcount: 110,
      '3_months_evolution': evolution(100, 110, 10, 10),
      '6_months_evolution': evolution(88, 110, 22, 25),
      '12_months_evolution': evolution(null, 110, null, null),
    })
  })

  it('has no growth percentage for a department that was empty', async () => {
    expect((await ask())?.Sales?.['3_months_evolution']).toEqual(evolution(0, 5, 5, null))
  })

  it('is returned for all departments, or for All and the requested ones in any case', async () => {
    expect(Object.keys((await ask()) ?? {}).sort()).toEqual(['All', 'Human Resources', 'Sales'])
    expect(Object.keys((await ask(['human resources', 'Legal'])) ?? {})).toEqual(['All', 'Human Resources'])
  })

  it('is taken from the record when there is no history', async () => {
    expect((await ask([], 'birch.example'))?.All).toEqual({
      current_headcount: 40,
      '3_months_evolution': evolution(null, 40, null, null),
      '6_months_evolution': evolution(null, 40, null, null),
      '12_months_evolution': evolution(null, 40, null, null),
    })
  })

  it('is empty for a company without figures, and undefined for an unknown company', async () => {
    expect(await ask([], 'bare.example')).toEqual({})
    expect(await ask([], 'ghost.example')).toBeUndefined()
  })

  it('is found by the id on the network, even if the url beside it belongs to another company', async () => {
    const url = 'https://www.network.example/company/elsewhere'
    expect(await catalogue.headcount({ networkId: '100', url }, [])).toEqual(await ask())
    expect(await catalogue.headcount({ networkId: '101', domain: 'acme.example' }, [])).toBeUndefined()
  })
})

it('the headcount of each company of the sample has a current value and a base for every period', async () => {
  const count = tries(25, 40)
  const catalogue = await openEmpty()
  await loadSample(catalogue, { companies: count, people: 0, now: stillClock.now() })
  const companies = (await exported(catalogue, 'companies')) as unknown as Account[]
  expect(companies.length).toBe(count)
  for (const { domain, headcount } of companies) {
    const all = (await catalogue.headcount({ domain: domain ?? '' }, []))?.All
    expect(all?.current_headcount).toBe(headcount)
    for (const months of [3, 6, 12] as const)
      expect(all?.[`${months}_months_evolution`]?.base_headcount).toEqual(expect.any(Number))
  }
  await catalogue.close()
})

it('the headcount gain is the current value minus the base, whatever the history', async () => {
  const counts = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 4, maxLength: 4 })
  const one = fc.asyncProperty(counts, async ([now = 0, three = 0, six = 0, twelve = 0]) => {
    const history = [
      at('2026-05-31', now),
      at('2026-02-28', three),
      at('2025-11-30', six),
      at('2025-05-31', twelve),
    ]
    const catalogue = await openWith([{ domain: 'acme.example', headcount_history: history }])
    const all = (await catalogue.headcount({ domain: 'acme.example' }, []))?.All
    const bases = [three, six, twelve]
    for (const [index, months] of ([3, 6, 12] as const).entries())
      expect(all?.[`${months}_months_evolution`]).toMatchObject({
        base_headcount: bases[index],
        headcount_gain: now - (bases[index] ?? 0),
      })
    await catalogue.close()
  })
  await fc.assert(one, { seed: 312, numRuns: tries(6, 25) })
})
