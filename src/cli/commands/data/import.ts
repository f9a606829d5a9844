import { resolve } from 'node:path'
import { Argument, Option } from 'commander'
import { withoutUndefined } from '../../../api/values/objects.js'
import { type ImportOptions, kinds, type RecordKind } from '../../../catalogue/kinds/kind.js'
import { parsePins } from '../../../runs/input/mapping.js'
import type { Context } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { interruptible } from '../../context/interrupts.js'
import { ensureWorkspace } from '../../context/open-databases.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { catalogueOption, withCatalogueOption } from '../../options/databases.js'
import { repeated, whole } from '../../options/values.js'
import { openFile, print } from '../../output/output.js'
import { openInput, openSheet, takeFile, untilSignal } from './import-file.js'
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
    .option('--map <field=column>', 'read this column as this field (repeatable)', repeated)
    .addOption(new Option('--from <format>', 'csv | ndjson (default: recognised)').choices(['csv', 'ndjson']))
    .option('--sheet <name>', 'the sheet of a workbook (default: its first one)')
    .option('--encoding <name>', 'text encoding such as windows-1252 (default: detected)')
    .addOption(
      new Option('--skip-lines <n>', 'lines above the header where they are not recognised').argParser(whole),
    )
    .option('--dry-run', 'check the whole file and say what would change, without importing anything')
    .option('--rejects <file>', 'write the rows that cannot be imported to this file, with the reason')
    .addOption(catalogueOption())
    .run(runImport)

async function runImport(outer: Context, { args, options }: Invocation): Promise<number> {
  const context = withCatalogueOption(outer, options)
  const [kind = '', file = ''] = args
  const { map, from, encoding, sheet, skipLines } = options as {
    map?: string[]
    from?: 'csv' | 'ndjson'
    encoding?: string
    sheet?: string
    skipLines?: number
  }
  const copy = file === '-' ? undefined : await openSheet(context, resolve(context.streams.cwd, file), sheet)
  if (copy === undefined && sheet !== undefined) {
    await openInput(context, file)
    throw new UsageError(`${file} is not a workbook, so it has no sheets.`, 'Leave out --sheet.')
  }
  if (copy !== undefined && (from !== undefined || encoding !== undefined))
    throw new UsageError(
      `${file} is a workbook; --from and --encoding are for text files.`,
      'Leave out --from and --encoding.',
    )
  const isSheet = copy === undefined ? undefined : true
  const pins = map && parsePins(map)
  const settings: ImportOptions = withoutUndefined({ map: pins, format: from, encoding, isSheet, skipLines })
  const open = await openInput(context, file, copy)
  const rejects = rejectsPath(context, options.rejects)
  const isDryRun = options.dryRun === true
  const result = await interruptible(context.streams, async (signal) => {
    const sink = rejects === undefined ? undefined : await openFile(context, rejects, '--rejects', signal)
    const collector = collectRejects(sink)
    const bytes = untilSignal(signal, open(signal), isDryRun)
    const work = { ...settings, keepsRows: sink !== undefined, onRejected: collector.add }
    try {
      const report = await takeFile(context, parseKind(kind), bytes, work, isDryRun)
      await collector.rejects?.finish()
      return { report, reasons: collector.reasons, rejects: collector.rejects?.file ?? undefined }
    } catch (error) {
      await collector.rejects?.abandon()
      throw error
    }
  })
  if (!isDryRun) await ensureWorkspace(context)
  showColumns(context, result.report)
  const { body, layout } = isDryRun ? describePreview(kind, result) : describeImport(kind, result)
  await print(context, body, { layout: () => layout })
  return reportRejects(context, result, isDryRun)
}

/** Returns the first argument of commands about one kind of record. */
export const kindArgument = (): Argument => new Argument('<kind>', 'kind of record').choices(kinds)

/** Returns the kind in an argument that commander has checked. */
export const parseKind = (text: string | undefined): RecordKind => text as RecordKind
