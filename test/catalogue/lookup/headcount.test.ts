import { describe, expect, it } from 'vitest'
import { perFile } from '../../support/each.js'
import { openWith } from '../open.js'

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
