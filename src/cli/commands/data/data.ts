import { Refusal } from '../../../api/calls/errors.js'
import { parseSubject } from '../../../catalogue/erasure/subject.js'
import type { Subject } from '../../../catalogue/erasure/tables.js'
import type { SourceRemoval } from '../../../catalogue/import/forget-source.js'
import type { RecordKind } from '../../../catalogue/kinds/kind.js'
import type { Stats } from '../../../catalogue/lookup/lookups.js'
import { purgeRunReplies, purgeWork } from '../../../engine/admin/erasure.js'
import { findFilesWith, rewriteFiles } from '../../../erasure/files.js'
import { countPerson, type Erased, erasePerson, forgetSuppressions } from '../../../erasure/person.js'
import { foldText } from '../../../identity/name.js'
import { readIndustries } from '../../call/filter-names.js'
import type { Context } from '../../context/context.js'
import {
  openAdmin,
  openStateOf,
  openWorkspaceOwner,
  requireWorkspace,
  suppressorFor,
  thisMachine,
} from '../../context/open-databases.js'
import type { CommandFactory } from '../../options/command-environment.js'
import {
  catalogueOption,
  durationMs,
  type OptionsOf,
  optionRows,
  withCatalogueOption,
} from '../../options/values.js'
import { print, printRecords } from '../../output/print.js'
import { startProgress } from '../../output/progress.js'
import { canAsk, confirmLoss } from '../../output/prompt.js'
import { countOf, formatNumber, listCounts } from '../../output/text.js'
import { hasCatalogue, openOwnEngine } from '../../target/local-target.js'
import { countRecords, importCommand, kindArgument, warnOfNewLookups } from './import.js'
import {
  type ExistingDatabases,
  exportPerson,
  findEverywhere,
  formatFiles,
  formatPerson,
  openExisting,
  placesOf,
} from './person.js'
import { sampleCommand } from './sample.js'
import { sourcesCommand } from './sources.js'

export const dataCommand: CommandFactory = ({ command, group }) =>
  group('data', 'The local catalogue: import, sample, sources, stats, export, forget, purge', [
    importCommand,
    sampleCommand,
    sourcesCommand,
    command('stats', 'Count the records of each kind, and name the open data among them')
      .withOptions(catalogueOption)
      .printResult(async (outer, { options }) => {
        const context = withCatalogueOption(outer, options)
        await requireData(context)
        if (!(await hasCatalogue(context.home))) return nothing
        const catalogue = await context.catalogue()
        const sources = (await catalogue.sources()).map(({ key: _, imported_at, ...source }) => ({
          ...source,
          imported_at: new Date(imported_at).toISOString(),
        }))
        return { ...(await catalogue.stats()), ...(sources.length > 0 ? { sources } : {}) }
      }),
    command('export', 'Print all records of a kind, oldest first, or everything about one person')
      .addArgument(kindArgument('[kind]'))
      .addLayout()
      .withOptions(exportOptions)
      .run(async (outer, { args, options }) => {
        const context = withCatalogueOption(outer, options)
        const { person } = options
        if (person !== undefined && args[0] !== undefined)
          throw new Refusal('usage.kind_and_person', { kind: args[0] })
        if (person !== undefined) {
          const held = await exportPerson(context, person)
          return print(context, held, { layout: () => formatPerson(held) })
        }
        if (args[0] === undefined) throw new Refusal('usage.no_kind')
        const kind = args[0] as RecordKind
        await requireData(context)
        const catalogue = await context.catalogue()
        const suppressor = await suppressorFor(await openWorkspaceOwner(context))
        const records = async function* () {
          for await (const record of catalogue.exportRecords(kind)) {
            const rest = suppressor ? await suppressor.records(record) : record
            if (rest !== undefined) yield rest as typeof record
          }
        }
        await printRecords(context, records, { columns: columns[kind], isStream: true })
      }),
    command('forget', 'Delete everything that is stored about a person, or from open data')
      .argument('[person]', 'an email address, professional or personal, or the url of a profile')
      .withOptions(forgetOptions)
      .run(async (outer, { args, options }) => {
        const context = withCatalogueOption(outer, options)
        const { profileUrl, dryRun = false, suppress = false, source } = options
        if (source !== undefined) return forgetOpenData(context, source, args[0] ?? profileUrl, options)
        const subject = readSubject(args[0], profileUrl)
        const now = context.clock.now()
        const { erased, words } = await findEverywhere(context, subject, async (found, stored) => {
          const { words } = found
          if (dryRun) return { erased: await countPerson(found, now), words }
          if (!context.globals.yes)
            await confirmLoss(context, `This deletes ${formatCounts(await countPerson(found, now))}.`)
          // First, so that what is found meanwhile is no longer kept.
          const entries = stored ?? (suppress ? await openStateOf(context) : undefined)
          const engine = found.engine ?? (suppress ? await openWorkspaceDatabase(context) : undefined)
          await forgetSuppressions({ ...found, engine }, entries, thisMachine, suppress, now)
          return { erased: await erasePerson(found, now), words }
        })
        const { files: runFiles, otherFiles, ...state } = erased.state
        const written = dryRun ? { rewritten: [], remaining: [] } : await rewriteFiles(filesOf(context))
        const files = await findFilesWith(await placesOf(context), words, { files: runFiles, otherFiles })
        const report = { dry_run: dryRun, ...erased, state, ...written, ...files }
        const counts = formatCounts(erased)
        const text = [`${dryRun ? 'Would delete' : 'Deleted'} ${counts}.`, ...formatFiles(files)].join('\n')
        await print(context, report, { layout: () => `${text}\n` })
        if (!context.streams.stdout.isTTY && counts === nothingStored)
          context.notify('Nothing is stored about this person: check the spelling.')
        const { remaining } = written
        if (remaining.length > 0) throw new Refusal('usage.bytes_left', { files: remaining.join(' and ') })
      }),
    command('purge', 'Delete old finished jobs, runs and received events')
      .requiredOption('--older-than <duration>', 'older than this, such as 90d', durationMs)
      .withOptions(catalogueOption)
      .run(async (outer, { options }) => {
        const context = withCatalogueOption(outer, options)
        const { olderThan } = options as { olderThan: number }
        if (canAsk(context))
          await confirmLoss(context, 'This permanently deletes old jobs, runs and received events.')
        const databases = await openExisting(context)
        const purged = await purgeAll(context, databases, olderThan).finally(databases.close)
        const { remaining } = await rewriteFiles(filesOf(context))
        const counts = listCounts(purged)
        await print(context, purged, {
          layout: () => (counts === '' ? 'Nothing is that old.\n' : `Deleted ${counts}.\n`),
        })
        if (remaining.length > 0)
          context.notify(
            `Another process uses ${remaining.join(' and ')}: its disk space is not free yet. Run the same command again later.`,
          )
      }),
  ])

/** Throws a Refusal where nothing was set up: an empty file would be written over that of another home. */
async function requireData(context: Context): Promise<void> {
  if (!(await hasCatalogue(context.home))) await requireWorkspace(context, 'engine')
}

/** Returns the database of the workspace, which is created where there is none: whoever is suppressed is so in it. */
async function openWorkspaceDatabase(context: Context) {
  await openAdmin(context)
  return (await openWorkspaceOwner(context))?.driver
}

const filesOf = ({ home }: Context): string[] => [home.catalogue, home.engine, home.state]

const nothing: Stats = { companies: 0, people: 0, jobs: 0, technologies: 0, posts: 0 }

const columns = {
  companies: ['name', 'domain', 'industry', 'headcount', 'country'],
  people: ['full_name', 'title', 'company_domain', 'country'],
  jobs: ['job_title', 'company_domain', 'job_location', 'date_posted'],
  posts: ['post_url', 'author_profile_url', 'published_at'],
} as const

const exportOptions = optionRows({
  person: [
    '<who>',
    'all that is stored about a person: an email address, a profile or its id, or "Jane Doe at acme.example"',
  ],
  ...catalogueOption,
})

async function purgeAll(context: Context, { engine, state, runs }: ExistingDatabases, olderThanMs: number) {
  const { clock } = context
  const { purgeOldRuns } = await import('../../../runs/purge.js')
  const { eventsOver } = await import('../../../storage/state/webhook-inbox.js')
  const now = clock.now()
  const purged = await purgeOldRuns(context, runs, olderThanMs, () => openOwnEngine(context))
  const events = state ? await eventsOver(state).purge(now - olderThanMs, now) : 0
  const { purgeCrm } = await import('../../../crm/purge.js')
  const crm = { pushes: 0, crm_records: 0 }
  for (const { database } of runs) {
    const one = await purgeCrm(database, now - olderThanMs)
    crm.pushes += one.pushes
    crm.crm_records += one.crm_records
  }
  const counts = { runs: purged.runs.length, answers: purged.answers, events, ...crm }
  if (!engine) return { jobs: 0, records: 0, contacts: 0, deliveries: 0, replies: 0, ...counts }
  const work = await purgeWork(engine, clock, olderThanMs)
  return { ...work, replies: work.replies + (await purgeRunReplies(engine, purged.runs)), ...counts }
}

const forgetOptions = optionRows({
  source: ['<name>', 'what was imported from this open data (data sources), instead of a person'],
  profileUrl: ['<url>', 'the person with this profile, where the address is not known'],
  dryRun: ['', 'only show what would be deleted'],
  suppress: ['', 'also never look the person up again, or let an import bring them back; keeps hashes only'],
  ...catalogueOption,
})

async function forgetOpenData(
  context: Context,
  source: string,
  person: string | undefined,
  { dryRun = false, suppress }: OptionsOf<typeof forgetOptions>,
): Promise<void> {
  if (person !== undefined || suppress)
    throw new Refusal('usage.source_whole', { other: suppress ? '--suppress' : 'a person' })
  if (!(await hasCatalogue(context.home))) await requireWorkspace(context, 'engine')
  const catalogue = await context.catalogue()
  const described = (found: SourceRemoval) =>
    `${countRecords('companies', found.removed)}${found.kept > 0 ? `, and what it says of ${formatNumber(found.kept)} others` : ''}`
  if (!dryRun && !context.globals.yes) {
    const found = await catalogue.forgetSource(source, true)
    if (found.removed + found.kept > 0) await confirmLoss(context, `This deletes ${described(found)}.`)
  }
  const progress = await startProgress(
    context,
    ({ rows }: { readonly rows: number }) => `${formatNumber(rows)} companies`,
  )
  const found = await catalogue
    .forgetSource(source, dryRun, (rows) => progress.update({ rows }))
    .finally(() => progress.stop())
  const isNone = found.removed + found.kept === 0
  const text = isNone
    ? `Nothing was imported from ${source}.`
    : `${dryRun ? 'Would delete' : 'Deleted'} ${described(found)}.`
  await print(context, { source, dry_run: dryRun, ...found }, { layout: () => `${text}\n` })
  if (!dryRun && !isNone) await warnOfNewLookups(context)
}

/** Returns the person with an email address or the URL of a profile, of which only one may be given. */
function readSubject(person: string | undefined, profileUrl: string | undefined): Subject {
  const text = person ?? profileUrl
  if (text === undefined) throw new Refusal('usage.which_person')
  if (person !== undefined && profileUrl !== undefined) throw new Refusal('usage.two_people')
  const subject = parseSubject(text)
  if (subject && (person !== undefined || 'profile' in subject)) return subject
  throw new Refusal('usage.no_subject', { text, isProfile: person === undefined })
}

const nothingStored = 'nothing: nothing is stored about this person'

function formatCounts({ catalogue, engine, state }: Erased): string {
  const mentions = catalogue.mentions + engine.mentions + state.mentions
  const counts: [number, string, string][] = [
    [catalogue.people, 'catalogue entry', 'catalogue entries'],
    [catalogue.engagements, 'reaction to a post', 'reactions to posts'],
    [catalogue.posts, 'post', 'posts'],
    [engine.records, 'search result', 'search results'],
    [engine.contacts, 'waterfall contact', 'waterfall contacts'],
    [engine.jobs, 'stored request', 'stored requests'],
    [engine.replies, 'stored reply', 'stored replies'],
    [state.answers, 'run result', 'run results'],
    [state.events, 'received event', 'received events'],
    [state.crm, 'record of your CRM', 'records of your CRM'],
    [mentions, 'mention in another record', 'mentions in other records'],
  ]
  const found = counts.filter(([count]) => count > 0)
  return found.map((counted) => countOf(...counted)).join(', ') || nothingStored
}

export const industriesCommand: CommandFactory = ({ command, group }) =>
  group('industries', 'Industries by name', [
    command('find', 'Find industries by a part of their name')
      .argument('[text]', 'part of the name (default: all industries)')
      .printResult(
        async (context, { args: [text = ''] }) => {
          const found = await readIndustries(context)
          return found.filter(({ name }) => foldText(name).includes(foldText(text)))
        },
        { columns: ['id', 'name', 'companies'] },
      ),
  ])
