import { resolve } from 'node:path'
import { Argument, Option } from 'commander'
import { parsePins } from '../../../batch/input/mapping.js'
import { ImportError, type ImportReport } from '../../../catalogue/import/report.js'
import { type ImportOptions, kinds, type RecordKind } from '../../../catalogue/kinds/kind.js'
import type { Driver } from '../../../storage/driver/connection.js'
import type {
  ClockContext,
  Context,
  GlobalOptions,
  StreamsContext,
  TargetContext,
} from '../../context/context.js'
import { Stop, UsageError } from '../../context/errors.js'
import { exitOfSignal, interruptible } from '../../context/interrupts.js'
import { ensureWorkspace } from '../../context/open-databases.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { catalogueOption, withCatalogueOption } from '../../options/databases.js'
import { repeated, whole } from '../../options/values.js'
import { openFile, print } from '../../output/output.js'
import { startProgress } from '../../output/progress.js'
import { formatNumber } from '../../output/text.js'
import { openInput, toCsv } from './import-input.js'
import {
  collectRejects,
  describeImport,
  describePreview,
  rejectsPath,
  reportRejects,
  showColumns,
} from './import-report.js'

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
    .option('--dry-run', 'check the whole file and say what would change, without importing anything')
    .option('--rejects <file>', 'write the rows that cannot be imported to this file, with the reason')
    .addOption(catalogueOption())
    .addExamples(
      'data import companies companies.csv',
      'data import people crm.csv --map full_name=Contact --map company_domain=Website',
      'data import jobs - --from ndjson < jobs.ndjson',
      'data import companies market.xlsx --sheet Targets',
      'data import people crm.csv --dry-run',
    )
    .addNote(
      'A record that is there already (same domain, profile url, job url, …) is updated.\n' +
        'Rejected lines are named on stderr and change nothing; the others are kept, and the exit code is 11.\n' +
        'Fix the rows in the file of --rejects, and import that file.\n' +
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
    throw new UsageError(`${file} is not a workbook, so it has no sheets.`, 'Leave out --sheet.')
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
  const rejects = rejectsPath(context, options.rejects)
  const isDryRun = options.dryRun === true
  const result = await interruptible(context.streams, async (signal) => {
    const sink = rejects === undefined ? undefined : await openFile(context, rejects, '--rejects', signal)
    const collector = collectRejects(sink)
    const bytes = untilSignal(signal, open(signal), isDryRun)
    const work = { ...settings, keepsRows: sink !== undefined, onRejected: collector.add }
    try {
      const report = await takeFile(context, parseKind(kind), bytes, work, globals, isDryRun)
      await collector.rejects?.finish()
      return { report, reasons: collector.reasons, rejects: collector.rejects?.file ?? undefined }
    } catch (error) {
      await collector.rejects?.abandon()
      throw error
    }
  })
  if (!isDryRun) await ensureWorkspace(context, globals)
  showColumns(context, result.report, globals)
  const { body, layout } = isDryRun ? describePreview(kind, result) : describeImport(kind, result)
  await print(context, body, globals, { layout: () => layout })
  return reportRejects(context, result, globals, isDryRun)
}

/** Imports the rows of a file, or finds out what that would do. */
async function takeFile(
  context: StreamsContext & ClockContext & TargetContext,
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  settings: ImportOptions,
  globals: GlobalOptions,
  isDryRun: boolean,
): Promise<ImportReport> {
  const progress = await startProgress(context, globals, formatProgress)
  const onProgress = (done: number) => progress.update({ rows: done, found: 0, credits: 0, total: undefined })
  const options = { ...settings, onProgress }
  try {
    const catalogue = await context.catalogue()
    return await (isDryRun
      ? withScratch((scratch) => catalogue.previewFile(kind, bytes, options, scratch))
      : catalogue.importFile(kind, bytes, options))
  } catch (error) {
    if (!isDryRun && error instanceof ImportError && error.report) {
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

/** Does work with an empty database in a temporary file. */
async function withScratch<T>(work: (scratch: Driver) => Promise<T>): Promise<T> {
  const { openDatabase } = await import('../../../storage/database/open.js')
  const scratch = await openDatabase('', { sqlite: { durable: false } })
  return work(scratch).finally(() => scratch.close())
}

const formatProgress = ({ rows }: { readonly rows: number }, elapsedMs: number): string =>
  `${formatNumber(rows)} records · ${formatNumber(Math.round((rows * 1_000) / Math.max(1, elapsedMs)))} records/s`

/** Returns the bytes until a signal comes. Throws a `Stop` then. */
async function* untilSignal(
  signal: AbortSignal,
  bytes: AsyncIterable<Uint8Array>,
  isDryRun: boolean,
): AsyncGenerator<Uint8Array> {
  const checkSignal = () => {
    const exit = exitOfSignal(signal)
    if (exit !== undefined)
      throw isDryRun
        ? new Stop('The check was interrupted.', exit, 'Nothing was imported.')
        : new Stop(
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

/** Returns the first argument of commands about one kind of record. */
export const kindArgument = (): Argument => new Argument('<kind>', 'kind of record').choices(kinds)

/** Returns the kind in an argument that commander has checked. */
export const parseKind = (text: string | undefined): RecordKind => text as RecordKind
