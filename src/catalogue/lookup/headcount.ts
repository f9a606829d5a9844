import type { Headcount } from '../../engine/ports/ports.js'
import type { Connection } from '../../storage/driver/connection.js'
import { foldText } from '../normalize/name.js'
import type { StoredAccount } from '../records/company-row.js'
import { findHeadcountBefore, type HeadcountEntry, toGrowthPercent } from '../records/headcount.js'
import type { CompanyMatch } from '../records/match-company.js'

type Evolution = NonNullable<Headcount[string]['3_months_evolution']>

const history =
  'SELECT department, date, headcount FROM headcount_history WHERE company = ? ORDER BY department, date'

/**
 * Returns a company's newest known headcount with its evolution: `All`, and the requested departments, or every
 * department when none is requested. Unknown departments are left out.
 */
export async function findHeadcount(
  connection: Connection,
  { key, record }: CompanyMatch,
  departments: readonly string[],
): Promise<Headcount> {
  const entries = await connection.all<HeadcountEntry>(history, key)
  const byDepartment = new Map([['All', []], ...Map.groupBy(entries, ({ department }) => department)])
  const wanted = new Set(['All', ...departments].map(foldText))
  const { headcount } = JSON.parse(record) as StoredAccount
  const all = byDepartment.get('All')?.at(-1)?.headcount ?? headcount ?? undefined
  return Object.fromEntries(
    [...byDepartment]
      .filter(([department]) => departments.length === 0 || wanted.has(foldText(department)))
      .flatMap(([department, entries]) => {
        const now = entries.at(-1)?.headcount ?? all
        return now === undefined ? [] : [[department, toHeadcount(entries, now)]]
      }),
  )
}

const toHeadcount = (entries: readonly HeadcountEntry[], now: number): Headcount[string] => ({
  current_headcount: now,
  '3_months_evolution': toEvolution(entries, now, 3),
  '6_months_evolution': toEvolution(entries, now, 6),
  '12_months_evolution': toEvolution(entries, now, 12),
})

function toEvolution(entries: readonly HeadcountEntry[], now: number, months: number): Evolution {
  const base = findHeadcountBefore(entries, months)
  return {
    base_headcount: base,
    current_headcount: now,
    headcount_gain: base === null ? null : now - base,
    headcount_gain_percentage: toGrowthPercent(base, now),
  }
}
