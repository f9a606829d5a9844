import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { ImportReport } from '../../../catalogue/import/report.js'
import type { OriginalFile, RejectedRecord } from '../../../catalogue/kinds/kind.js'
import { describeMapping } from '../../../runs/input/mapping.js'
import { describeEncoding } from '../../../runs/input/table.js'
import { type ReasonCount, ReasonCounter } from '../../../runs/output/report.js'
import {
  createRejects,
  csvRejects,
  isWorkbookName,
  jsonRejects,
  type Rejects,
  type Sink,
} from '../../../runs/output/writer.js'
import type { StreamsContext } from '../../context/context.js'
import { Stop, UsageError } from '../../context/errors.js'
import { pathOf } from '../../output/output.js'
import { formatLeftOut, formatNumber, formatReasons, formatToFix, oneLine } from '../../output/text.js'

/** The result of an import or of its preview. */
interface ImportResult {
  readonly report: ImportReport
  readonly reasons: readonly ReasonCount[]
  /** The file with the rejected rows; `undefined` when there is none. */
  readonly rejects: string | undefined
}

/** Returns the path of `--rejects`; `undefined` without it. Throws UsageError for what cannot be such a file. */
export function rejectsPath({ streams }: StreamsContext, option: unknown): string | undefined {
  const path = pathOf('--rejects', option, streams)
  if (isWorkbookName(path))
    throw new UsageError(
      '--rejects writes text in the format of the input, no workbooks.',
      'Name a .csv file.',
    )
  return path
}

/** Returns what counts rejected rows by reason, and writes them to the file of `--rejects`. */
export function collectRejects(sink: Sink | undefined) {
  const reasons = new ReasonCounter()
  let original: OriginalFile | undefined
  const toFormat = () => (original ? csvRejects(original, false) : jsonRejects)
  const rejects: Rejects | undefined = sink && createRejects(sink, toFormat)
  return {
    rejects,
    get reasons() {
      return reasons.counts
    },
    add: async (rows: readonly RejectedRecord[], of: OriginalFile | undefined): Promise<void> => {
      original = of
      // The value is another one in each row.
      for (const { reason } of rows) reasons.add(reason.replace(/'.*'/s, '…'))
      await rejects?.add(rows)
    },
  }
}

/** Shows on stderr which column is read as which field, with a value of each. */
export function showColumns(
  context: StreamsContext,
  { mapping, ignored, samples = {}, encoding }: ImportReport,
): void {
  const columns = Object.entries(mapping).map(([field, column]) => {
    const sample = samples[field]
    return { field, column, ...(sample ? { sample } : {}) }
  })
  const width = context.streams.stderr.columns
  for (const line of describeMapping(
    { columns, unused: ignored, notes: encoding ? describeEncoding(encoding) : [] },
    width,
    'not imported',
  ))
    context.notify(oneLine(line))
}

/** Returns the report of an import, as JSON and as one line. */
export function describeImport(kind: string, { report }: ImportResult) {
  const { added, updated, companies, rejected, rejectedTotal, leftOut, mapping, ignored, samples } = report
  return {
    body: {
      ...{ kind, added, updated, companies_added: companies },
      ...{ rejected, rejected_total: rejectedTotal, not_understood: leftOut, mapping, samples, ignored },
    },
    layout: formatCounts([
      `${countRecords(kind, added)} added`,
      `${formatNumber(updated)} updated`,
      ...createdBeside(kind, companies),
      `${formatNumber(rejectedTotal)} rejected`,
    ]),
  }
}

/** Returns what an import would do, as JSON and in lines. */
export function describePreview(kind: string, { report, reasons }: ImportResult) {
  const { added, updated, unchanged, companies, rejected, rejectedTotal, mapping, ignored, samples } = report
  const changed = updated - unchanged
  const counts = formatCounts([
    `${countRecords(kind, added)} would be added`,
    `${formatNumber(changed)} changed`,
    `${formatNumber(unchanged)} unchanged`,
    ...createdBeside(kind, companies),
    `${formatNumber(rejectedTotal)} invalid`,
  ])
  return {
    body: {
      ...{ kind, dry_run: true, added, changed, unchanged, companies_added: companies },
      ...{ invalid: rejectedTotal, invalid_reasons: reasons, not_understood: report.leftOut },
      ...{ rejected, mapping, samples, ignored },
    },
    layout: `${counts}Nothing was imported.\n`,
  }
}

const formatCounts = (parts: readonly string[]): string => `${parts.join(', ')}\n`

const singular: Readonly<Record<string, string>> = {
  companies: 'company',
  people: 'person',
  jobs: 'job',
  posts: 'post',
}

const countRecords = (kind: string, count: number): string =>
  `${formatNumber(count)} ${count === 1 ? (singular[kind] ?? kind) : kind}`

const createdBeside = (kind: string, companies: number): string[] =>
  companies > 0 && kind !== 'companies' ? [`${countRecords('companies', companies)} created beside them`] : []

const shownRejects = 20

/** Prints on stderr what was left out, and the rejected lines. Throws a `Stop` (exit 11) when there are any; returns 0 otherwise. */
export function reportRejects(
  context: StreamsContext,
  { report: { rejected, rejectedTotal, leftOut }, reasons, rejects }: ImportResult,
  isDryRun: boolean,
): number {
  for (const line of formatLeftOut(leftOut)) context.notify(`Left out: ${oneLine(line)}`)
  if (rejectedTotal === 0) return exitCodes.ok
  if (isDryRun) for (const line of formatReasons(reasons)) context.notify(`Invalid: ${oneLine(line)}`)
  for (const { line, reason } of rejected.slice(0, shownRejects))
    context.notify(`Line ${line}: ${oneLine(reason)}`)
  const more = rejectedTotal - Math.min(shownRejects, rejected.length)
  const list = rejects === undefined ? '--rejects FILE writes all' : `all are in ${rejects}`
  const rest = more > 0 ? ` ${formatNumber(more)} more are not shown; ${list}.` : ''
  if (rejects !== undefined) context.notify(formatToFix(rejectedTotal, rejects))
  const verb = `${isDryRun ? 'would be' : rejectedTotal === 1 ? 'was' : 'were'} rejected`
  throw new Stop(
    `${formatNumber(rejectedTotal)} ${rejectedTotal === 1 ? 'line' : 'lines'} ${verb}.${rest}`,
    exitCodes.someFailed,
    rejects === undefined
      ? `Fix ${rejectedTotal === 1 ? 'it' : 'them'} and import the file again. Records that exist already are updated.`
      : `Fix the ${rejectedTotal === 1 ? 'row' : 'rows'} in ${rejects}, and import that file.`,
    'rows_rejected',
  )
}
