import { type Row, valueAt } from '../output/records.js'
import { grouped, type Look } from '../output/terminal.js'

const quotas = [
  ['Profiles per day', 'daily_profile_scraping', 'every day, 00:00 UTC'],
  ['Companies per day', 'daily_company_import', 'every day, 00:00 UTC'],
  ['Companies per month', 'monthly_company_import', 'on the 1st, 00:00 UTC'],
] as const

/** `prospect credits` for a person: the balance, then each quota's rest of its ceiling and when it resets. */
export function creditsView(body: unknown, look: Look): string {
  const number = (path: string): string => {
    const value = valueAt(body as Row, path)
    return typeof value === 'number' ? grouped(value) : '–'
  }
  const rows = quotas.map(([label, name, resets]) => [
    label,
    number(`credits.${name}`),
    number(`limits.${name}`),
    resets,
  ])
  const table = [['Quota', 'Left', 'Of', 'Resets'], ...rows]
  const widths = [0, 1, 2, 3].map((at) => Math.max(...table.map((row) => row[at]?.length ?? 0)))
  const lines = table.map((row, line) => {
    const [label = '', left = '', of = '', resets = ''] = row.map((text, at) =>
      at === 1 || at === 2 ? text.padStart(widths[at] ?? 0) : at === 0 ? text.padEnd(widths[0] ?? 0) : text,
    )
    const text = `${label}   ${left}   ${of}   ${resets}`
    return line === 0 ? look.dim(text) : text
  })
  return `${look.bold('Enrichment credits')}   ${look.bold(number('credits.enrichment'))}\n\n${lines.join('\n')}\n`
}
