import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { Subject } from '../../../catalogue/erasure/identifiers.js'
import type { ErasedRecords } from '../../../catalogue/erasure/tables.js'
import type { ErasedWork } from '../../../engine/admin/erasure.js'
import type { Erased } from '../../../storage/erasure/erase.js'
import type { Context } from '../../context/context.js'
import { Stop, UsageError } from '../../context/errors.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { catalogueOption, withCatalogueOption } from '../../options/databases.js'
import { print } from '../../output/print.js'
import { confirmLoss } from '../../output/prompt.js'
import { formatNumber } from '../../output/text.js'
import { openExisting, openExistingCatalogue, rewriteFiles, searchedPlaces } from './databases.js'

/** `prospect data forget`: erases a person from all databases of this machine. */
export const forgetCommand: CommandFactory = ({ command }) =>
  command('forget', 'Delete everything that is stored about a person')
    .argument('[person]', 'an email address, professional or personal, or the url of a profile')
    .option('--profile-url <url>', 'the person with this profile, where the address is not known')
    .option('--dry-run', 'only show what would be deleted')
    .withOptions(catalogueOption)
    .run(forget)

async function forget(outer: Context, { args, options }: Invocation): Promise<number> {
  const context = withCatalogueOption(outer, options)
  const { profileUrl, dryRun = false } = options as { profileUrl?: string; dryRun?: boolean }
  const subject = await readSubject(args[0], profileUrl)
  const { erased, words } = await confirmAndErase(context, subject, dryRun)
  const { files: runFiles, ...state } = erased.state
  const written = dryRun ? { rewritten: [], remaining: [] } : await rewriteFiles(context)
  const { findFilesWith } = await import('../../../storage/erasure/erase.js')
  const files = await findFilesWith(words, { runFiles, ...(await searchedPlaces(context)) })
  const report: ForgetReport = { dry_run: dryRun, ...erased, state, ...written, files }
  await print(context, report, { layout: (body) => formatSummary(body as ForgetReport) })
  if (written.remaining.length === 0) return exitCodes.ok
  throw new Stop(
    `The records are deleted, but their bytes may still be in ${written.remaining.join(' and ')}: another process uses it`,
    exitCodes.checkFailed,
    'Stop the server or batch that uses it, then run the same command again.',
    'busy',
  )
}

/** Erases a person from all databases, after a confirmation. With `dryRun` it only counts. */
async function confirmAndErase(
  context: Context,
  subject: Subject,
  dryRun: boolean,
): Promise<{ readonly erased: Erased<ErasedRecords, ErasedWork>; readonly words: readonly string[] }> {
  const { findSubject } = await import('../../../catalogue/erasure/subject.js')
  const { eraseFromEngine, noWorkErased } = await import('../../../engine/admin/erasure.js')
  const { eraseEverywhere } = await import('../../../storage/erasure/erase.js')
  const catalogue = await openExistingCatalogue(context)
  const { engine, runs, close } = await openExisting(context)
  try {
    const { matcher, words, eraseCatalogue } = await findSubject(catalogue, subject)
    const databases = {
      states: runs.map(({ database }) => database),
      eraseEngine: async (only: boolean) =>
        engine ? await eraseFromEngine(engine, matcher, only) : noWorkErased,
      eraseCatalogue,
    }
    const erase = (only: boolean) =>
      eraseEverywhere(databases, matcher, { now: context.clock.now(), dryRun: only })
    if (!dryRun && !context.globals.yes)
      await confirmLoss(context, `This deletes ${formatCounts(await erase(true))}.`)
    return { erased: await erase(dryRun), words }
  } finally {
    await catalogue?.close()
    await close()
  }
}

/** Returns the person with an email address or the URL of a profile, of which only one may be given. */
async function readSubject(person: string | undefined, profileUrl: string | undefined): Promise<Subject> {
  const text = person ?? profileUrl
  if (text === undefined)
    throw new UsageError('No person is given.', 'Give an email address or the URL of a profile.')
  if (person !== undefined && profileUrl !== undefined)
    throw new UsageError('Two people are given.', 'Give an email address or --profile-url, one at a time.')
  const { parseSubject } = await import('../../../catalogue/erasure/subject.js')
  const subject = parseSubject(text)
  if (subject && (person !== undefined || 'profile' in subject)) return subject
  throw new UsageError(
    person === undefined
      ? `--profile-url: "${text}" is not the URL of a person's profile.`
      : `"${text}" is neither an email address nor the URL of a person's profile.`,
    'Write it like jane.doe@example.com or https://www.network.example/in/jane-doe.',
  )
}

/** What was deleted, or would be, and where the person may still be. */
interface ForgetReport extends Omit<Erased<ErasedRecords, ErasedWork>, 'state'> {
  readonly dry_run: boolean
  readonly state: Omit<Erased<ErasedRecords, ErasedWork>['state'], 'files'>
  /** Database files that were rewritten. */
  readonly rewritten: readonly string[]
  /** Database files that another process uses, so that deleted bytes may be left in them. */
  readonly remaining: readonly string[]
  readonly files: readonly string[]
}

function formatSummary(report: ForgetReport): string {
  const lines = [
    `${report.dry_run ? 'Would delete' : 'Deleted'} ${formatCounts(report)}.`,
    ...(report.files.length === 0
      ? []
      : ['These files may still hold them:', ...report.files.map((file) => `  ${file}`)]),
  ]
  return `${lines.join('\n')}\n`
}

function formatCounts({
  catalogue,
  engine,
  state,
}: Pick<ForgetReport, 'catalogue' | 'engine' | 'state'>): string {
  const counts: [number, string, string][] = [
    [catalogue.people, 'catalogue entry', 'catalogue entries'],
    [catalogue.engagements, 'reaction to a post', 'reactions to posts'],
    [
      catalogue.posts + catalogue.jobs + catalogue.companies,
      'mention in the catalogue',
      'mentions in the catalogue',
    ],
    [engine.records, 'search result', 'search results'],
    [engine.contacts, 'waterfall contact', 'waterfall contacts'],
    [engine.jobs, 'stored request', 'stored requests'],
    [engine.replies, 'stored reply', 'stored replies'],
    [state.answers, 'run result', 'run results'],
    [state.events, 'received event', 'received events'],
  ]
  const found = counts.filter(([count]) => count > 0)
  if (found.length === 0) return 'nothing: nothing is stored about this person'
  return found.map(([count, one, many]) => `${formatNumber(count)} ${count === 1 ? one : many}`).join(', ')
}
