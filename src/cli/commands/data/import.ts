import { constants, createReadStream } from 'node:fs'
import { access, type FileHandle, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { Argument } from 'commander'
import { isRefusal, Refusal } from '../../../api/calls/errors.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import type { ImportReport } from '../../../catalogue/import/import.js'
import {
  type ImportOptions,
  kinds,
  type OriginalFile,
  type RecordKind,
} from '../../../catalogue/kinds/kind.js'
import { readChunks } from '../../../csv/encoding.js'
import { footerNote, type SkippedRows } from '../../../csv/footer.js'
import { parsePins } from '../../../runs/input/mapping.js'
import { encodingNotes } from '../../../runs/input/table.js'
import { type ReasonCount, ReasonCounter } from '../../../runs/output/report.js'
import { createRejects, csvRejects, jsonRejects } from '../../../runs/output/writer.js'
import { isShared } from '../../../storage/database/open.js'
import { describeMapping } from '../../batch/map-columns.js'
import { capHeap } from '../../batch/run.js'
import { filePorts } from '../../batch/run-home.js'
import { openSpending } from '../../call/spending.js'
import type { Context, StreamsContext } from '../../context/context.js'
import { systemReason } from '../../context/errors.js'
import { exitOfSignal, interruptible, readPipe } from '../../context/io.js'
import { ensureWorkspace, isThere, openWorkspaceOwner, suppressorFor } from '../../context/open-databases.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import {
  catalogueOption,
  type OptionsOf,
  optionRows,
  repeated,
  whole,
  withCatalogueOption,
} from '../../options/values.js'
import { openFile, pathOf } from '../../output/output.js'
import { print } from '../../output/print.js'
import { startProgress } from '../../output/progress.js'
import { chooseEncoding } from '../../output/prompt.js'
import {
  countOf,
  formatLeftOut,
  formatNumber,
  formatReasons,
  formatToFix,
  oneLine,
} from '../../output/text.js'
import { targetName } from '../../target/resolve-target.js'
import { describeSet, noteMissing, openDataOptions, openOptions } from './open-data.js'

export const importCommand: CommandFactory = ({ command }) =>
  command('import', 'Add or update records from a CSV, NDJSON or .xlsx file')
    .addArgument(kindArgument())
    .argument('<file>', 'the file, or - for stdin')
    .withOptions(importOptions)
    .run(async (context, invocation) => {
      try {
        return await runImport(context, invocation)
      } catch (error) {
        if (!isRefusal(error, 'csv.encoding_uncertain') || invocation.args[1] === '-') throw error
        const encoding = await chooseEncoding(context, error)
        return runImport(context, { ...invocation, options: { ...invocation.options, encoding } })
      }
    })

const importOptions = optionRows({
  map: ['<field=column>', 'read this column as this field (repeatable)', repeated],
  from: ['<format>', 'csv | ndjson (default: recognised)', ['csv', 'ndjson']],
  sheet: ['<name>', 'the sheet of a workbook (default: its first one)'],
  encoding: ['<name>', 'text encoding such as windows-1252 (default: detected)'],
  skipLines: ['<n>', 'lines above the header where they are not recognised', whole],
  noHeader: ['', 'the first row is data; columns are column_1, column_2 and so on (default: detected)'],
  dryRun: ['', 'check the whole file and say what would change, without importing anything'],
  ...openOptions,
  rejects: ['<file>', 'write the rows that cannot be imported to this file, with the reason'],
  ...catalogueOption,
})

type ImportInvocation = Invocation<OptionsOf<typeof importOptions>>

async function runImport(outer: Context, { args, options }: ImportInvocation): Promise<number> {
  const context = withCatalogueOption(outer, options)
  const [kind = '', file = ''] = args
  const { map, from, encoding, sheet, skipLines, dryRun: isDryRun = false } = options
  const converted =
    file === '-' ? undefined : await openCopy(context, resolve(context.streams.cwd, file), sheet)
  const copy = converted?.copy
  const isSheet = converted?.isSheet ? true : undefined
  if (!isSheet && sheet !== undefined) {
    await openInput(context, file, copy)
    throw new Refusal('usage.no_sheets', { file })
  }
  if (isSheet && (from !== undefined || encoding !== undefined))
    throw new Refusal('usage.workbook_options', { file })
  const pins = map && parsePins(map)
  const settings: ImportOptions = withoutUndefined({
    ...(await openDataOptions(context, kind as RecordKind, file, options)),
    map: pins,
    format: from,
    encoding,
    isSheet,
    uncalculated: converted?.uncalculated,
    skipLines,
    header: options.header === false ? false : undefined,
  })
  const open = await openInput(context, file, copy)
  const rejects = pathOf('--rejects', options.rejects, context.streams)
  const taken = await interruptible(context.streams, async (signal) => {
    const sink = rejects === undefined ? undefined : await openFile(context, rejects, '--rejects', signal)
    let original: OriginalFile | undefined
    const written = sink && createRejects(sink, () => (original ? csvRejects(original, false) : jsonRejects))
    const reasons = new ReasonCounter()
    const onRejected: ImportOptions['onRejected'] = async (rows, of) => {
      original = of
      // The value is another one in each row.
      for (const { reason } of rows) reasons.add(reason.replace(/'.*'/s, '…'))
      await written?.add(rows)
    }
    const bytes = untilSignal(signal, open(signal), isDryRun)
    const work = { ...settings, keepsRows: sink !== undefined, onRejected }
    try {
      const report = await takeFile(context, kind as RecordKind, bytes, work, isDryRun)
      await written?.finish()
      return { report, reasons: reasons.counts, written: written?.file ?? undefined }
    } catch (error) {
      await written?.abandon()
      throw error
    }
  })
  const { report, reasons, written } = taken
  if (!isDryRun) await ensureWorkspace(context, 'own')
  showColumns(context, report)
  if (report.set) {
    context.notify(describeSet(report.set, settings.snapshot))
    const missing = await noteMissing(report.set, report.mapping, options.where ?? '')
    for (const line of missing) context.notify(line)
  }
  const { body, layout } = describeImport(kind, report, reasons, isDryRun, settings)
  await print(context, body, { layout: () => layout })
  if (!isDryRun && report.added + report.updated > 0) await warnOfNewLookups(context)
  for (const line of formatLeftOut(report.leftOut))
    context.notify(`Not understood, and left out: ${oneLine(line)}`)
  if (report.rejectedTotal === 0) return exitCodes.ok
  if (isDryRun) for (const line of formatReasons(reasons)) context.notify(`Invalid: ${oneLine(line)}`)
  return refuseRejects(context, report, written, isDryRun)
}

export async function warnOfNewLookups(context: Context): Promise<void> {
  if (!isThere(context.home.state) || isShared(context.home)) return
  const spent = await (await openSpending(context)).list({ target: await targetName(context) })
  if (spent.some(({ credits }) => credits > 0))
    context.notify('Earlier answers from your catalogue are no longer reused: the next lookups pay again.')
}

export const kindArgument = (name = '<kind>'): Argument => new Argument(name, 'kind of record').choices(kinds)

async function takeFile(
  context: Context,
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  settings: ImportOptions,
  isDryRun: boolean,
): Promise<ImportReport> {
  const progress = await startProgress(context, formatProgress)
  const uncap = capHeap()
  const onProgress = (rows: number) => progress.update({ rows })
  const suppressor = await suppressorFor(await openWorkspaceOwner(context))
  const options: ImportOptions = {
    ...settings,
    onProgress,
    ...(suppressor && {
      withoutSuppressed: async (results) =>
        ((await suppressor.records({ results })) as { readonly results: readonly unknown[] }).results,
    }),
  }
  try {
    const catalogue = await context.catalogue()
    if (!isDryRun) return await catalogue.importFile(kind, bytes, options)
    const { openDatabase } = await import('../../../storage/database/open.js')
    const scratch = await openDatabase('', { sqlite: { durable: false } })
    return await catalogue.previewFile(kind, bytes, options, scratch).finally(() => scratch.close())
  } catch (error) {
    if (!isDryRun && error instanceof Refusal && error.details.report) {
      const { added, updated } = error.details.report as ImportReport
      if (added + updated > 0)
        context.notify(
          `Imported before the error: ${formatNumber(added)} added, ${formatNumber(updated)} updated.`,
        )
    }
    throw error
  } finally {
    uncap()
    progress.stop()
  }
}

const formatProgress = ({ rows }: { readonly rows: number }, elapsedMs: number): string =>
  `${formatNumber(rows)} records · ${formatNumber(Math.round((rows * 1_000) / Math.max(1, elapsedMs)))} records/s`

/** Returns the bytes until a signal comes, and throws then. */
async function* untilSignal(signal: AbortSignal, bytes: AsyncIterable<Uint8Array>, isDryRun: boolean) {
  const checkSignal = () => {
    if (exitOfSignal(signal) === undefined) return
    const details = { signal: signal.reason as unknown }
    throw new Refusal(isDryRun ? 'import.check_interrupted' : 'import.interrupted', details)
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

/** Returns a copy of a sheet as CSV, or of what a packed file has; `undefined` for another file. */
function openCopy(context: Context, path: string, sheet: string | undefined) {
  return filePorts(context).convertFile(path, sheet, async () => {
    context.claimFile(path, 'FILE', 'read')
    const { openUnnamedFile } = await import('../../../runs/records.js')
    return openUnnamedFile(context)
  })
}

/** Returns what opens the bytes of a file, of its copy as CSV, or of stdin. A signal ends reading them. */
async function openInput(
  { streams, claimFile }: StreamsContext,
  file: string,
  copy?: FileHandle,
): Promise<(signal: AbortSignal) => AsyncIterable<Uint8Array>> {
  if (copy) return () => readChunks(copy)
  if (file === '-') return (signal) => addAbortSignal(signal, streams.stdin as Readable)
  const path = resolve(streams.cwd, file)
  claimFile(path, 'FILE', 'read')
  try {
    const found = await stat(path)
    if (!found.isFile() && !found.isDirectory()) return (signal) => readPipe(path, signal)
    await access(path, constants.R_OK)
    if (found.isFile()) return (signal) => createReadStream(path, { highWaterMark: 256 * 1024, signal })
  } catch (error) {
    throw new Refusal('usage.import_unreadable', { file, reason: systemReason(error) })
  }
  throw new Refusal('usage.import_folder', { file })
}

function showColumns(
  context: StreamsContext,
  { mapping, ignored, samples = {}, encoding, footer, notes }: ImportReport,
) {
  const columns = Object.entries(mapping).map(([field, column]) => {
    const sample = samples[field]
    return { field, column, ...(sample ? { sample } : {}) }
  })
  const shown = {
    columns,
    unused: ignored,
    notes: [...notes, ...(encoding ? encodingNotes(encoding) : []), ...(footer ? [footerNote(footer)] : [])],
  }
  for (const line of describeMapping(shown, context.streams.stderr.columns, 'not imported'))
    context.notify(oneLine(line))
}

/** Returns the report of an import, or of what it would do, as JSON and in lines. */
function describeImport(
  kind: string,
  report: ImportReport,
  reasons: readonly ReasonCount[],
  isDryRun: boolean,
  { where, snapshot }: ImportOptions,
) {
  const {
    added,
    updated,
    unchanged,
    companies,
    suppressed,
    unknown,
    older,
    unwanted,
    set,
    rejected,
    rejectedTotal,
  } = report
  const { leftOut: not_understood, mapping, samples, ignored } = report
  const changed = updated - unchanged
  const counts = isDryRun
    ? [`${countRecords(kind, added)} would be added`, `${formatNumber(changed)} changed`]
    : [`${countRecords(kind, added)} added`, `${formatNumber(updated)} updated`]
  const after = added + updated + suppressed + unknown + older
  const parts = [
    where && `${formatNumber(after)} of ${countRecords(kind, after + unwanted)} meet the condition`,
    ...counts,
    isDryRun && `${formatNumber(unchanged)} unchanged`,
    companies > 0 && kind !== 'companies' && `${countRecords('companies', companies)} created beside them`,
    unknown > 0 && `${formatNumber(unknown)} not known and left out`,
    older > 0 && `${formatNumber(older)} stay as a newer snapshot has them`,
    suppressed > 0 && `${formatNumber(suppressed)} suppressed and left out`,
    `${formatNumber(rejectedTotal)} ${isDryRun ? 'invalid' : 'rejected'}`,
  ]
  const skipped = [...skippedRows('footer', report.footer?.end), ...skippedRows('sums', report.footer?.sums)]
  const found = { not_understood, skipped, rejected, mapping, samples, ignored }
  const shared = {
    companies_added: companies,
    suppressed,
    ...(where ? { before_where: after + unwanted, after_where: after } : {}),
    ...(set
      ? {
          source: { name: set.name, title: set.title, snapshot, licence: set.licence },
          not_known: unknown,
          older,
        }
      : {}),
    ...found,
  }
  const preview = { changed, unchanged, invalid: rejectedTotal, invalid_reasons: reasons }
  return {
    body: isDryRun
      ? { kind, dry_run: true, added, ...preview, ...shared }
      : { kind, added, updated, rejected_total: rejectedTotal, ...shared },
    layout: `${parts.filter(Boolean).join(', ')}\n${isDryRun ? 'Nothing was imported.\n' : ''}`,
  }
}

const skippedRows = (kind: 'footer' | 'sums', found: SkippedRows | undefined) =>
  found ? [{ kind, rows: found.rows, lines: found.lines, first_text: found.sample }] : []

const singular: Readonly<Record<string, string>> = {
  companies: 'company',
  people: 'person',
  jobs: 'job',
  posts: 'post',
}

export const countRecords = (kind: string, count: number): string =>
  countOf(count, singular[kind] ?? kind, kind)

const shownRejects = 20

/** Prints the first rejected lines on stderr, and throws (exit 11). `rejects` is the file with all of them. */
function refuseRejects(
  context: StreamsContext,
  { rejected, rejectedTotal }: ImportReport,
  rejects: string | undefined,
  isDryRun: boolean,
): never {
  for (const { line, reason } of rejected.slice(0, shownRejects))
    context.notify(`Line ${line}: ${oneLine(reason)}`)
  if (rejects !== undefined) context.notify(formatToFix(rejectedTotal, rejects))
  const more = rejectedTotal - Math.min(shownRejects, rejected.length)
  throw new Refusal('import.rows_rejected', { rows: rejectedTotal, more, rejects, isDryRun })
}
