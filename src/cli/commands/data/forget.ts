import type { Command } from 'commander'
import type { Traces } from '../../../catalogue/erasure/identifiers.js'
import type { Context, GlobalOptions, StreamsContext } from '../../context/context.js'
import { exits } from '../../context/errors.js'
import { complain } from '../../output/report-error.js'
import { grouped } from '../../output/terminal.js'
import { canAsk } from '../../prompt/ask.js'
import { confirmLoss } from '../../prompt/confirm-loss.js'
import { guide } from '../../shell/guide.js'
import type { Invocation, Shell } from '../../shell/shell.js'
import { catalogueOption, withCatalogueOption } from '../../target/catalogue-option.js'
import { forgetAll, type Told } from './forget-all.js'
import { holdingFiles } from './holding-files.js'
import { openRecords, type RecordsOnDisk, rewriteAll } from './records-on-disk.js'
import { meantBy } from './subject-argument.js'

/** `prospect data forget`: deletes somebody from all that is on record on this machine. */
export function forgetCommand(shell: Shell): Command {
  const command = shell
    .command('forget', 'Delete all that is on record of a person')
    .argument('[person]', 'an e-mail address, professional or personal, or the url of a profile')
    .option('--profile-url <url>', 'the person with this profile, where the address is not known')
    .option('--dry-run', 'only say what would be deleted')
    .addOption(catalogueOption())
  guide(
    command,
    [
      'data forget jane.doe@example.com --dry-run',
      'data forget jane.doe@example.com --yes',
      'data forget --profile-url https://www.network.example/in/jane-doe',
    ],
    'Reaches the catalogue, searches, jobs, deliveries, stored replies, runs and received events, and writes the\n' +
      'databases anew, so that nothing is left in them. The ledger holds ids only. Output files and backups are named,\n' +
      'not touched.',
  )
  return shell.action(command, (invocation) => forget(shell, invocation))
}

async function forget(shell: Shell, { args, options, globals }: Invocation): Promise<number> {
  const context = withCatalogueOption(shell.context, options)
  const { profileUrl, dryRun = false } = options as { profileUrl?: string; dryRun?: boolean }
  const meant = await meantBy(args[0], profileUrl)
  const { tracesGiven, tracesOf, wordsOf } = await import('../../../catalogue/erasure/identifiers.js')
  const records = await openRecords(context, true)
  const given = tracesGiven(meant)
  const traces = await records.catalogue?.read((connection) => tracesOf(connection, meant))
  const told = await forgetKnown(context, records, traces ?? given, dryRun, globals).finally(records.close)
  const { runs, ...state } = told.state
  const written = dryRun ? { rewritten: [], remaining: [] } : await rewriteAll(context)
  const files = await holdingFiles(context, runs, wordsOf(traces ?? given))
  const report: Report = { dry_run: dryRun, ...told, state, ...written, files }
  await shell.print(report, globals, { layout: () => summary(report) })
  return written.remaining.length === 0 ? exits.ok : unfinished(context, written.remaining, globals)
}

/** Deletes, on a terminal once what would be deleted was agreed on; or counts. */
async function forgetKnown(
  context: Context,
  records: RecordsOnDisk,
  traces: Traces,
  dryRun: boolean,
  globals: GlobalOptions,
): Promise<Told> {
  if (!dryRun && canAsk(context, globals) && !globals.yes) {
    const would = await forgetAll(records, traces, context.clock, true)
    await confirmLoss(context, `This deletes ${listed(would)}.`, globals)
  }
  return forgetAll(records, traces, context.clock, dryRun)
}

/** What was deleted, or would be, and where the person may still be. */
interface Report extends Omit<Told, 'state'> {
  readonly dry_run: boolean
  readonly state: Omit<Told['state'], 'runs'>
  /** Databases that were written anew. */
  readonly rewritten: readonly string[]
  /** Databases that could not be. */
  readonly remaining: readonly string[]
  readonly files: readonly string[]
}

function summary(report: Report): string {
  const lines = [
    `${report.dry_run ? 'Would delete' : 'Deleted'} ${listed(report)}.`,
    ...(report.files.length === 0
      ? []
      : ['These files may still hold them:', ...report.files.map((file) => `  ${file}`)]),
  ]
  return `${lines.join('\n')}\n`
}

const listed = ({ catalogue, engine, state }: Omit<Told, 'state'> & { state: Report['state'] }): string => {
  const counts: [number, string, string][] = [
    [catalogue.people, 'person of the catalogue', 'people of the catalogue'],
    [catalogue.engagements, 'reaction to a post', 'reactions to posts'],
    [
      catalogue.posts + catalogue.jobs + catalogue.companies,
      'mention in the catalogue',
      'mentions in the catalogue',
    ],
    [engine.records, 'record of a search', 'records of searches'],
    [engine.contacts, 'contact of a waterfall', 'contacts of waterfalls'],
    [engine.jobs, 'mention in a request', 'mentions in requests'],
    [engine.replies, 'stored reply', 'stored replies'],
    [state.answers, 'answer of a run', 'answers of runs'],
    [state.events, 'received event', 'received events'],
  ]
  const named = counts.filter(([count]) => count > 0)
  if (named.length === 0) return 'nothing: nothing on record tells of them'
  return named.map(([count, one, many]) => `${grouped(count)} ${count === 1 ? one : many}`).join(', ')
}

/** Tells what could not be written anew; answers the exit code. */
const unfinished = (
  context: StreamsContext,
  remaining: readonly string[],
  globals: GlobalOptions,
): Promise<number> =>
  complain(
    context,
    {
      error: `The records are deleted, but their bytes may still be in ${remaining.join(' and ')}: another process uses it`,
      ...{ code: 'busy', status: null, exit_code: exits.checkFailed },
      hint: 'Stop the server or batch that uses it, then run the same command again.',
    },
    globals,
  )
