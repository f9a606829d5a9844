import type { ImportReport } from '../../../catalogue/import/report.js'
import type { GlobalOptions, StreamsContext } from '../../context/context.js'
import { exits, Stop } from '../../context/errors.js'
import { grouped } from '../../output/terminal.js'

/** The report of an import as results carry it. */
export const describeImport = (
  kind: string,
  { added, updated, companies, rejected, rejectedTotal, mapping, ignored }: ImportReport,
) => ({
  kind,
  added,
  updated,
  companies_added: companies,
  rejected,
  rejected_total: rejectedTotal,
  mapping,
  ignored,
})

const one: Readonly<Record<string, string>> = {
  companies: 'company',
  people: 'person',
  jobs: 'job',
  posts: 'post',
}

/** The report of an import in one line. */
export function summary(kind: string, { added, updated, companies, rejectedTotal }: ImportReport): string {
  const besides =
    companies > 0 && kind !== 'companies'
      ? [`${grouped(companies)} ${companies === 1 ? 'company' : 'companies'} created beside them`]
      : []
  const parts = [
    `${grouped(added)} ${added === 1 ? (one[kind] ?? kind) : kind} added`,
    `${grouped(updated)} updated`,
    ...besides,
  ]
  return `${[...parts, `${grouped(rejectedTotal)} rejected`].join(', ')}\n`
}

const linesTold = 20

/** Names the rejected lines on stderr; 0 when there are none, else the command stops with exit 11. */
export function rejectsTold(
  context: StreamsContext,
  { rejected, rejectedTotal }: ImportReport,
  globals: GlobalOptions,
): number {
  if (rejectedTotal === 0) return exits.ok
  for (const { line, reason } of rejected.slice(0, linesTold))
    context.notify(`Line ${line}: ${reason}`, globals)
  const more = rejectedTotal - Math.min(linesTold, rejected.length)
  const rest = more > 0 ? ` ${grouped(more)} more are not shown; --json lists up to 1,000.` : ''
  throw new Stop(
    `${grouped(rejectedTotal)} ${rejectedTotal === 1 ? 'line was' : 'lines were'} rejected.${rest}`,
    exits.someFailed,
    'Correct them and import the file again: what is there already is updated.',
    'rows_rejected',
  )
}
