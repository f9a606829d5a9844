import type { Connection } from '../storage/driver.js'
import type { Given } from './kind.js'
import { date, text, Unreadable, whole } from './values.js'

/** Headcount of a company's department on a day; `All` is the whole company. */
export interface HeadcountEntry {
  readonly date: string
  readonly department: string
  readonly headcount: number
}

/** Reads a given headcount history. */
export function readHistory(entries: readonly Given[]): HeadcountEntry[] {
  return entries.map((entry) => {
    const [day, headcount] = [date(entry.date), whole(entry.headcount)]
    if (day === undefined || headcount === undefined)
      throw new Unreadable('headcount_history: each entry needs a date and a headcount')
    return { date: day.slice(0, 10), department: text(entry.department) ?? 'All', headcount }
  })
}

/** Adds to a company's headcount history; an entry of the same day and department is replaced. */
export async function writeHistory(
  connection: Connection,
  company: number,
  entries: readonly HeadcountEntry[],
): Promise<void> {
  for (const { department, date: day, headcount } of entries)
    await connection.run(
      `INSERT INTO headcount_history (company, department, date, headcount) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET headcount = excluded.headcount`,
      company,
      department,
      day,
      headcount,
    )
}
