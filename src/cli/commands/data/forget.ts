import { createReadStream, type Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Command } from 'commander'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { runFolder, runsFolder } from '../../../batch/run/records.js'
import type { Subject, SubjectIdentifiers } from '../../../catalogue/erasure/identifiers.js'
import type { ErasedRecords } from '../../../catalogue/erasure/tables.js'
import type { Clock } from '../../../engine/ports/ports.js'
import { isShared } from '../../../storage/database/open.js'
import type { ErasedWork } from '../../../storage/erasure/engine-tables.js'
import type { ErasedState } from '../../../storage/erasure/state-tables.js'
import type { Context, GlobalOptions, StreamsContext } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import type { CommandEnvironment, Invocation } from '../../options/command-environment.js'
import { guide } from '../../options/command-environment.js'
import { catalogueOption, withCatalogueOption } from '../../options/databases.js'
import { canAsk, confirmLoss } from '../../output/prompt.js'
import { reportError } from '../../output/report-error.js'
import { grouped } from '../../output/text.js'
import { openRecords, type RecordsOnDisk, rewriteAll } from './records-on-disk.js'

/** `prospect data forget`: erases a person from all databases of this machine. */
export function forgetCommand(environment: CommandEnvironment): Command {
  const command = environment
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
  return environment.action(command, (invocation) => forget(environment, invocation))
}

async function forget(
  environment: CommandEnvironment,
  { args, options, globals }: Invocation,
): Promise<number> {
  const context = withCatalogueOption(environment.context, options)
  const { profileUrl, dryRun = false } = options as { profileUrl?: string; dryRun?: boolean }
  const subject = await parseSubject(args[0], profileUrl)
  const { findIdentifiers, searchWords, toIdentifiers } = await import(
    '../../../catalogue/erasure/identifiers.js'
  )
  const records = await openRecords(context, true)
  const known = await records.catalogue?.read((connection) => findIdentifiers(connection, subject))
  const identifiers = known ?? toIdentifiers(subject)
  const erased = await confirmAndErase(context, records, identifiers, dryRun, globals).finally(records.close)
  const { runs, ...state } = erased.state
  const written = dryRun ? { rewritten: [], remaining: [] } : await rewriteAll(context)
  const files = await holdingFiles(context, runs, searchWords(identifiers))
  const report: Report = { dry_run: dryRun, ...erased, state, ...written, files }
  await environment.print(report, globals, { layout: () => summary(report) })
  return written.remaining.length === 0 ? exitCodes.ok : unfinished(context, written.remaining, globals)
}

/** Erases a person; on a terminal only after a confirmation. With `dryRun` it only counts. */
async function confirmAndErase(
  context: Context,
  records: RecordsOnDisk,
  identifiers: SubjectIdentifiers,
  dryRun: boolean,
  globals: GlobalOptions,
): Promise<Erased> {
  if (!dryRun && canAsk(context, globals) && !globals.yes) {
    const preview = await eraseEverywhere(records, identifiers, context.clock, true)
    await confirmLoss(context, `This deletes ${listed(preview)}.`, globals)
  }
  return eraseEverywhere(records, identifiers, context.clock, dryRun)
}

/** What was erased, by database. */
interface Erased {
  readonly catalogue: ErasedRecords
  readonly engine: ErasedWork
  readonly state: ErasedState
}

/**
 * Erases a person from all databases, or counts what mentions them. The catalogue comes last, since only it knows the
 * person's identifiers; then what was on its way from it meanwhile is erased too.
 */
async function eraseEverywhere(
  records: RecordsOnDisk,
  identifiers: SubjectIdentifiers,
  clock: Clock,
  dryRun: boolean,
): Promise<Erased> {
  const { createMatcher } = await import('../../../catalogue/erasure/matcher.js')
  const { eraseFromCatalogue } = await import('../../../catalogue/erasure/tables.js')
  const { eraseFromEngine } = await import('../../../storage/erasure/engine-tables.js')
  const { eraseFromState } = await import('../../../storage/erasure/state-tables.js')
  const subject = createMatcher(identifiers)
  let engine: ErasedWork = { records: 0, contacts: 0, jobs: 0, replies: 0 }
  let state: ErasedState = { events: 0, answers: 0, runs: [] }
  const eraseWorkAndRuns = async () => {
    for (const { database } of records.runs) {
      const { events, answers, runs } = await eraseFromState(database, subject, clock.now(), dryRun)
      state = {
        events: state.events + events,
        answers: state.answers + answers,
        runs: [...state.runs, ...runs],
      }
    }
    if (!records.engine) return
    const { records: found, contacts, jobs, replies } = await eraseFromEngine(records.engine, subject, dryRun)
    engine = {
      records: engine.records + found,
      contacts: engine.contacts + contacts,
      jobs: engine.jobs + jobs,
      replies: engine.replies + replies,
    }
  }
  await eraseWorkAndRuns()
  const catalogue = records.catalogue
    ? await eraseFromCatalogue(records.catalogue, identifiers, subject, dryRun)
    : { people: 0, phones: 0, engagements: 0, posts: 0, jobs: 0, companies: 0 }
  if (!dryRun) await eraseWorkAndRuns()
  return { catalogue, engine, state }
}

const address = /^[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@.,;<>]+$/

/** Returns the person with an e-mail address or the url of a profile, of which only one may be given. */
async function parseSubject(person: string | undefined, profileUrl: string | undefined): Promise<Subject> {
  const text = person ?? profileUrl
  if (text === undefined)
    throw new UsageError('Nobody is named.', 'Give an e-mail address or the url of a profile.')
  if (person !== undefined && profileUrl !== undefined)
    throw new UsageError('Two are named.', 'Give an e-mail address or --profile-url, one at a time.')
  const { parseProfile } = await import('../../../catalogue/normalize/profile.js')
  const profile = parseProfile(text)
  if (profile?.kind === 'person') return { profile }
  const email = text.trim().toLowerCase()
  if (person !== undefined && address.test(email)) return { email }
  throw new UsageError(
    person === undefined
      ? `--profile-url: "${text}" is not the url of a person's profile.`
      : `"${text}" is neither an e-mail address nor the url of a person's profile.`,
    'Write it like jane.doe@example.com or https://www.network.example/in/jane-doe.',
  )
}

/** What was deleted, or would be, and where the person may still be. */
interface Report extends Omit<Erased, 'state'> {
  readonly dry_run: boolean
  readonly state: Omit<Erased['state'], 'runs'>
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

const listed = ({ catalogue, engine, state }: Omit<Erased, 'state'> & { state: Report['state'] }): string => {
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
  reportError(
    context,
    {
      error: `The records are deleted, but their bytes may still be in ${remaining.join(' and ')}: another process uses it`,
      ...{ code: 'busy', status: null, exit_code: exitCodes.checkFailed },
      hint: 'Stop the server or batch that uses it, then run the same command again.',
    },
    globals,
  )

/** Input and output of a run; null for stdout. */
export interface RunFiles {
  readonly file: string
  readonly output: string | null
}

/**
 * Files that are not touched and may still hold somebody: input and output of the runs that told of them, with what
 * lies beside the output under its name, and whatever in the folders of this program has one of the words in it, such
 * as a backup. The words are in lower case.
 */
export async function holdingFiles(
  context: Context,
  runs: readonly RunFiles[],
  words: readonly string[],
): Promise<string[]> {
  const found = new Set<string>()
  for (const { file, output } of runs)
    for (const path of output === null ? [file] : [file, output])
      for (const there of await underTheName(path)) found.add(there)
  for (const file of await ownFiles(context)) if (await holds(file, words)) found.add(file)
  return [...found].sort()
}

/** Files in the folders of this program, and beside its databases, that are not databases in use. */
async function ownFiles(context: Context): Promise<string[]> {
  const { config, catalogue, engine, state } = context.home
  // One that is not in use, because the catalogue is on a server, may hold anybody.
  const databases = [...(isShared(context.home) ? [] : [catalogue]), engine, state]
  const folders = new Set([config, catalogue, state].map((file) => dirname(file)))
  const spooled = await readdir(runsFolder(context)).catch(() => [])
  const below = spooled.map((run) => runFolder(context, run))
  const files = await Promise.all([...folders, ...below].map(filesIn))
  const inUse = new Set(databases.flatMap((file) => [file, `${file}-wal`, `${file}-shm`]))
  return [...new Set([...files.flat(), ...(await underTheName(engine))])].filter((file) => !inUse.has(file))
}

/** A file and those beside it that are called after it, such as `out.csv.partial`; only those that are there. */
async function underTheName(path: string): Promise<string[]> {
  const [name, folder] = [basename(path), dirname(path)]
  const there = await readdir(folder).catch(() => [])
  return there.filter((one) => one === name || one.startsWith(`${name}.`)).map((one) => join(folder, one))
}

async function filesIn(folder: string): Promise<string[]> {
  const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name))
}

/** Whether one of some words in lower case is in a file, in any case; a file that cannot be read may hold them. */
async function holds(file: string, words: readonly string[]): Promise<boolean> {
  const overlap = Math.max(0, ...words.map((word) => Buffer.byteLength(word))) * 2
  let rest = Buffer.alloc(0)
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
      const bytes = Buffer.concat([rest, chunk])
      const text = bytes.toString('utf8').toLowerCase()
      if (words.some((word) => text.includes(word))) return true
      rest = bytes.subarray(Math.max(0, bytes.length - overlap))
    }
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}
