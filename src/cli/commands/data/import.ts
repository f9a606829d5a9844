import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { parsePins } from '../../../batch/input/mapping.js'
import { ImportError, type ImportReport } from '../../../catalogue/import/report.js'
import type { ImportOptions } from '../../../catalogue/kinds/kind.js'
import { systemReason } from '../../../csv/errors.js'
import type { ClockContext, GlobalOptions, StreamsContext, TargetContext } from '../../context/context.js'
import { Stop, UsageError } from '../../context/errors.js'
import { exitOfSignal, interruptible } from '../../context/interrupts.js'
import { repeated } from '../../options/flags.js'
import { startProgress } from '../../output/progress.js'
import { grouped } from '../../output/terminal.js'
import { guide } from '../../shell/guide.js'
import type { Invocation, Shell } from '../../shell/shell.js'
import { catalogueOption, withCatalogueOption } from '../../target/catalogue-option.js'
import { describeImport, rejectsTold, summary } from './import-report.js'
import { kindArgument, kindOf } from './kind-argument.js'

/** `prospect data import`: adds or updates records from a CSV or NDJSON file. */
export function importCommand(shell: Shell): Command {
  const command = shell
    .command('import', 'Add or update records from a CSV or NDJSON file')
    .addArgument(kindArgument())
    .argument('<file>', 'the file, or - for stdin')
    .option('--map <field=column>', 'read this column as this field; repeat it for more', repeated)
    .addOption(new Option('--from <format>', 'csv | ndjson (default: recognised)').choices(['csv', 'ndjson']))
    .option('--encoding <name>', 'text encoding such as windows-1252 (default: UTF-8 or UTF-16, recognised)')
    .addOption(catalogueOption())
  guide(
    command,
    [
      'data import companies companies.csv',
      'data import people crm.csv --map full_name=Contact --map company_domain=Website',
      'data import jobs - --from ndjson < jobs.ndjson',
    ],
    'A record that is there already (same domain, profile url, job url, …) is updated.\n' +
      'Rejected lines are named on stderr and change nothing; the others are kept, and the exit code is 11.\n' +
      'Then look: prospect data stats',
  )
  return shell.action(command, (invocation) => importInto(shell, invocation))
}

async function importInto(shell: Shell, { args, options, globals }: Invocation): Promise<number> {
  const context = withCatalogueOption(shell.context, options)
  const [kind = '', file = ''] = args
  const { map, from, encoding } = options as { map?: string[]; from?: 'csv' | 'ndjson'; encoding?: string }
  const settings: ImportOptions = {
    ...(map === undefined ? {} : { map: parsePins(map) }),
    ...(from === undefined ? {} : { format: from }),
    ...(encoding === undefined ? {} : { encoding }),
  }
  const bytes = await bytesOf(context, file)
  const report = await interruptible(context.streams, (signal) =>
    imported(context, kindOf(kind), bytes, settings, globals, signal),
  )
  for (const field of Object.keys(report.mapping)) {
    const column = report.mapping[field]
    if (column !== field) context.notify(`Column "${column}" is read as ${field}.`, globals)
  }
  if (report.ignored.length > 0) context.notify(`Columns left aside: ${report.ignored.join(', ')}.`, globals)
  await shell.print(describeImport(kind, report), globals, { layout: () => summary(kind, report) })
  return rejectsTold(context, report, globals)
}

async function imported(
  context: StreamsContext & ClockContext & TargetContext,
  kind: ReturnType<typeof kindOf>,
  bytes: AsyncIterable<Uint8Array>,
  settings: ImportOptions,
  globals: GlobalOptions,
  signal: AbortSignal,
): Promise<ImportReport> {
  const progress = await startProgress(context, globals, importText)
  const onProgress = (done: number) => progress.update({ rows: done, found: 0, credits: 0, total: undefined })
  try {
    return await (await context.catalogue()).importFile(kind, until(signal, bytes), {
      ...settings,
      onProgress,
    })
  } catch (error) {
    if (error instanceof ImportError && error.report) {
      const { added, updated } = error.report
      context.notify(`Kept until there: ${grouped(added)} added, ${grouped(updated)} updated.`, globals)
    }
    throw error
  } finally {
    progress.stop()
  }
}

const importText = ({ rows }: { readonly rows: number }, elapsedMs: number): string =>
  `${grouped(rows)} records · ${grouped(Math.round((rows * 1_000) / Math.max(1, elapsedMs)))} records/s`

/** The bytes, up to the moment a signal comes. */
async function* until(signal: AbortSignal, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    const exit = exitOfSignal(signal)
    if (exit !== undefined)
      throw new Stop(
        'The import was stopped.',
        exit,
        'What was imported is kept; the same command does the rest.',
      )
    yield chunk
  }
}

async function bytesOf({ streams }: StreamsContext, file: string): Promise<AsyncIterable<Uint8Array>> {
  if (file === '-') return streams.stdin as AsyncIterable<Uint8Array>
  const path = resolve(streams.cwd, file)
  try {
    const handle = await open(path)
    const isFolder = (await handle.stat()).isDirectory()
    await handle.close()
    if (!isFolder) return createReadStream(path, { highWaterMark: 256 * 1024 })
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${systemReason(error)}.`, 'Check the path.')
  }
  throw new UsageError(`${file} is a folder.`, 'Give a CSV or NDJSON file, or - for stdin.')
}
