import { resolve } from 'node:path'
import { Argument, Option } from 'commander'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { parsePins } from '../../../batch/input/mapping.js'
import { ImportError, type ImportReport } from '../../../catalogue/import/report.js'
import { type ImportOptions, kinds, type RecordKind } from '../../../catalogue/kinds/kind.js'
import type {
  ClockContext,
  Context,
  GlobalOptions,
  StreamsContext,
  TargetContext,
} from '../../context/context.js'
import { Stop, UsageError } from '../../context/errors.js'
import { exitOfSignal, interruptible } from '../../context/interrupts.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { catalogueOption, withCatalogueOption } from '../../options/databases.js'
import { repeated, whole } from '../../options/values.js'
import { print } from '../../output/output.js'
import { startProgress } from '../../output/progress.js'
import { formatNumber } from '../../output/text.js'
import { openInput, toCsv } from './import-input.js'

/** `prospect data import`: adds or updates records from a CSV or NDJSON file. */
export const importCommand: CommandFactory = ({ command }) =>
  command('import', 'Add or update records from a CSV, NDJSON or .xlsx file')
    .addArgument(kindArgument())
    .argument('<file>', 'the file, or - for stdin')
    .option('--map <field=column>', 'read this column as this field; repeat it for more', repeated)
    .addOption(new Option('--from <format>', 'csv | ndjson (default: recognised)').choices(['csv', 'ndjson']))
    .option('--sheet <name>', 'the sheet of a workbook (default: its first one)')
    .option(
      '--encoding <name>',
      'text encoding such as windows-1252 (default: UTF-8, UTF-16 or windows-1252, recognised)',
    )
    .addOption(
      new Option('--skip-lines <n>', 'lines above the header where they are not recognised').argParser(whole),
    )
    .addOption(catalogueOption())
    .addExamples(
      'data import companies companies.csv',
      'data import people crm.csv --map full_name=Contact --map company_domain=Website',
      'data import jobs - --from ndjson < jobs.ndjson',
      'data import companies market.xlsx --sheet Targets',
    )
    .addNote(
      'A record that is there already (same domain, profile url, job url, …) is updated.\n' +
        'Rejected lines are named on stderr and change nothing; the others are kept, and the exit code is 11.\n' +
        'Then look: prospect data stats',
    )
    .run(runImport)

async function runImport(outer: Context, { args, options, globals }: Invocation): Promise<number> {
  const context = withCatalogueOption(outer, options)
  const [kind = '', file = ''] = args
  const { map, from, encoding, sheet } = options as {
    map?: string[]
    from?: 'csv' | 'ndjson'
    encoding?: string
    sheet?: string
  }
  const csv = file === '-' ? undefined : await toCsv(context, resolve(context.streams.cwd, file), sheet)
  if (csv === undefined && sheet !== undefined)
    throw new UsageError(`${file} is no workbook, so it has no sheets.`, 'Leave out --sheet.')
  if (csv !== undefined && (from !== undefined || encoding !== undefined))
    throw new UsageError(
      `${file} is a workbook; --from and --encoding are for text files.`,
      'Leave out --from and --encoding.',
    )
  const settings: ImportOptions = {
    ...(map === undefined ? {} : { map: parsePins(map) }),
    ...(from === undefined ? {} : { format: from }),
    ...(encoding === undefined ? {} : { encoding }),
    ...(csv === undefined ? {} : { isSheet: true }),
    ...(typeof options.skipLines === 'number' ? { skipLines: options.skipLines } : {}),
  }
  const open = await openInput(context, csv ?? file)
  const report = await interruptible(context.streams, (signal) =>
    importRows(context, parseKind(kind), open(signal), settings, globals, signal),
  )
  for (const field of Object.keys(report.mapping)) {
    const column = report.mapping[field]
    if (column !== field) context.notify(`Column "${column}" is read as ${field}.`, globals)
  }
  if (report.ignored.length > 0)
    context.notify(`Unmapped columns (not imported): ${report.ignored.join(', ')}.`, globals)
  await print(context, describeImport(kind, report), globals, {
    layout: () => formatSummary(kind, report),
  })
  return reportRejects(context, report, globals)
}

async function importRows(
  context: StreamsContext & ClockContext & TargetContext,
  kind: ReturnType<typeof parseKind>,
  bytes: AsyncIterable<Uint8Array>,
  settings: ImportOptions,
  globals: GlobalOptions,
  signal: AbortSignal,
): Promise<ImportReport> {
  const progress = await startProgress(context, globals, formatProgress)
  const onProgress = (done: number) => progress.update({ rows: done, found: 0, credits: 0, total: undefined })
  try {
    return await (await context.catalogue()).importFile(kind, untilSignal(signal, bytes), {
      ...settings,
      onProgress,
    })
  } catch (error) {
    if (error instanceof ImportError && error.report) {
      const { added, updated } = error.report
      context.notify(
        `Imported before the error: ${formatNumber(added)} added, ${formatNumber(updated)} updated.`,
        globals,
      )
    }
    throw error
  } finally {
    progress.stop()
  }
}

const formatProgress = ({ rows }: { readonly rows: number }, elapsedMs: number): string =>
  `${formatNumber(rows)} records · ${formatNumber(Math.round((rows * 1_000) / Math.max(1, elapsedMs)))} records/s`

/** Returns the bytes until a signal comes. Throws a `Stop` then. */
async function* untilSignal(
  signal: AbortSignal,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const checkSignal = () => {
    const exit = exitOfSignal(signal)
    if (exit !== undefined)
      throw new Stop(
        'The import was interrupted.',
        exit,
        'What was imported is kept. Run the same command again to import the rest.',
      )
  }
  try {
    for await (const chunk of bytes) {
      checkSignal()
      yield chunk
    }
  } catch (error) {
    // Reading ends with the signal.
    checkSignal()
    throw error
  }
}

/** Returns the report of an import in the form in which commands print it. */
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

const singular: Readonly<Record<string, string>> = {
  companies: 'company',
  people: 'person',
  jobs: 'job',
  posts: 'post',
}

/** Returns the report of an import as one line. */
export function formatSummary(
  kind: string,
  { added, updated, companies, rejectedTotal }: ImportReport,
): string {
  const besides =
    companies > 0 && kind !== 'companies'
      ? [`${formatNumber(companies)} ${companies === 1 ? 'company' : 'companies'} created beside them`]
      : []
  const parts = [
    `${formatNumber(added)} ${added === 1 ? (singular[kind] ?? kind) : kind} added`,
    `${formatNumber(updated)} updated`,
    ...besides,
  ]
  return `${[...parts, `${formatNumber(rejectedTotal)} rejected`].join(', ')}\n`
}

const shownRejects = 20

/** Prints the rejected lines on stderr. Throws a `Stop` (exit 11) when there are any; returns 0 otherwise. */
export function reportRejects(
  context: StreamsContext,
  { rejected, rejectedTotal }: ImportReport,
  globals: GlobalOptions,
): number {
  if (rejectedTotal === 0) return exitCodes.ok
  for (const { line, reason } of rejected.slice(0, shownRejects))
    context.notify(`Line ${line}: ${reason}`, globals)
  const more = rejectedTotal - Math.min(shownRejects, rejected.length)
  const rest = more > 0 ? ` ${formatNumber(more)} more are not shown; --json lists up to 1,000.` : ''
  throw new Stop(
    `${formatNumber(rejectedTotal)} ${rejectedTotal === 1 ? 'line was' : 'lines were'} rejected.${rest}`,
    exitCodes.someFailed,
    'Fix them and import the file again. Records that exist already are updated.',
    'rows_rejected',
  )
}

/** Returns the first argument of commands about one kind of record. */
export const kindArgument = (): Argument => new Argument('<kind>', 'kind of record').choices(kinds)

/** Returns the kind in an argument that commander has checked. */
export const parseKind = (text: string | undefined): RecordKind => text as RecordKind
