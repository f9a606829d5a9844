import { dirname, join } from 'node:path'
import { parseUrl } from '../../../api/values/url.js'
import { addressOf } from '../../../client/connection.js'
import { listMovements, readBalances, verifyLedger } from '../../../engine/credits/ledger.js'
import {
  countDeliveries,
  type Delivery,
  listDeliveries,
  listSigningSecrets,
} from '../../../engine/tables/deliveries.js'
import { type AsyncJob, countUnfinishedJobs, listJobs } from '../../../engine/tables/jobs.js'
import type { Connection } from '../../../storage/driver/connection.js'
import { foldersOf, quoteForShell } from '../../context/home.js'
import { isoTime } from '../../options/values.js'
import { countOf } from '../../output/text.js'
import {
  type DirectoryEntry,
  type DoctorContext,
  type Findings,
  formatSize,
  isFile,
  nearestFolder,
  ok,
  orElse,
  problem,
  reasonOf,
  type Verdict,
  warning,
} from './context.js'
import { askEngine, type EngineState, engineState } from './data.js'

/** The oldest Node that this program runs on. */
const oldest = [22, 22] as const

export function nodeVersion({ node }: DoctorContext): Findings {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isEnough = major > oldest[0] || (major === oldest[0] && minor >= oldest[1])
  if (isEnough) return ok(`Node ${node} is new enough.`)
  return problem(`Node ${node} is too old: ${oldest.join('.')} or newer is needed.`, 'Install a newer Node.')
}

/** Checks that SQLite loads, in a version that several processes can write with safely. */
export async function sqliteVersion(context: DoctorContext): Promise<Findings> {
  const hint = 'Install the packages again: npm rebuild better-sqlite3'
  try {
    // Loaded here, so that the other checks run without it.
    const { checkVersion } = await import('../../../storage/driver/sqlite/driver.js')
    const version = await context.sqlite()
    checkVersion(version)
    return ok(`SQLite ${version} is new enough.`)
  } catch (error) {
    return problem(`SQLite cannot be used: ${reasonOf(error)}.`, hint)
  }
}

/** Variables whose value may be printed. */
const plain: readonly string[] = ['PROSPECT_HOME', 'PROSPECT_PROFILE', 'PROSPECT_BASE_URL', 'PROSPECT_DEBUG']
/** Variables that hold a secret; their value is not printed. */
const secret: readonly string[] = ['PROSPECT_API_KEY', 'PROSPECT_WEBHOOK_SECRET', 'PROSPECT_DATABASE_URL']
const proxies: readonly string[] = ['HTTPS_PROXY', 'HTTP_PROXY']
const others: readonly string[] = [
  'NO_PROXY',
  'NO_COLOR',
  'CI',
  'NODE_EXTRA_CA_CERTS',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
]

export function environment({ env }: DoctorContext): readonly Verdict[] {
  const isSet = (name: string) => Boolean(env[name])
  const names = [...plain, ...secret, ...proxies, ...proxies.map(lower), ...others, 'no_proxy']
  const told = names.filter(isSet).map((name) => described(name, env[name] ?? ''))
  const fine =
    told.length === 0 ? 'No environment variable changes what commands do.' : `Set: ${told.join(', ')}.`
  return [ok(fine), ...unknownNames(Object.keys(env).filter(isSet)), ...unusable(env)]
}

const lower = (name: string): string => name.toLowerCase()

function described(name: string, value: string): string {
  if (proxies.includes(name.toUpperCase())) return `${name} (${withoutCredentials(value)})`
  if (name === 'PROSPECT_BASE_URL') return `${name} (${withoutCredentials(value)})`
  return plain.includes(name) ? `${name} (${value})` : name
}

/** Returns an address without user, password and query, which may hold secrets. */
function withoutCredentials(text: string): string {
  const url = addressOf(text)
  if (!url) return 'not an address'
  const { protocol, host, pathname } = url
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

function unknownNames(names: readonly string[]): readonly Verdict[] {
  const known = [...plain, ...secret]
  const unknown = names.filter((name) => name.startsWith('PROSPECT_') && !known.includes(name))
  if (unknown.length === 0) return []
  const text = `${unknown.length === 1 ? 'A variable is' : 'Variables are'} not known: ${unknown.join(', ')}.`
  return [warning(text, `Known: ${known.join(', ')}.`)]
}

function unusable(env: DoctorContext['env']): readonly Verdict[] {
  const warnings: Verdict[] = []
  for (const name of [...proxies, ...proxies.map(lower)])
    if (env[name] && withoutCredentials(env[name]) === 'not an address')
      warnings.push(warning(`${name} is not the address of a proxy.`, 'Such as http://proxy.example:3128'))
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0')
    warnings.push(
      warning(
        'NODE_TLS_REJECT_UNAUTHORIZED is 0: prospect checks certificates anyway.',
        'Unset it; NODE_EXTRA_CA_CERTS=FILE adds an authority of your own.',
      ),
    )
  return warnings
}

export function folders(context: DoctorContext): readonly Verdict[] {
  const all = foldersOf(context.home)
  const there = all.filter((folder) => context.files.entry(folder))
  const fine = there.length === 0 ? 'is created by the first command' : 'is private'
  return orElse(
    all.flatMap((folder) => folderTroubles(context, folder)),
    `${all.join(', ')} ${fine}.`,
  )
}

function folderTroubles(context: DoctorContext, folder: string): Findings {
  const entry = context.files.entry(folder)
  if (!entry) return []
  if (entry.kind === 'link')
    return problem(`${folder} is a symbolic link.`, 'Set PROSPECT_HOME to the folder itself.')
  if (entry.kind !== 'folder') return problem(`${folder} is not a folder.`, 'Set PROSPECT_HOME to a folder.')
  // The first command makes an empty folder private.
  const isEmpty = context.files.names(folder).length === 0
  const troubles = isEmpty ? [] : ownTroubles(context, folder, entry)
  if (context.files.isWritable(folder) || troubles.length > 0) return troubles
  return problem(`${folder} cannot be written to.`, `chmod 700 ${quoteForShell(folder)}`)
}

export function privateFiles(context: DoctorContext): readonly Verdict[] {
  const { config, credentials, engine, catalogue, state } = context.home
  const main = [config, credentials, engine, catalogue, state].filter(isFile)
  const beside = main.slice(2).flatMap((file) => [`${file}-wal`, `${file}-shm`])
  const below = ['runs', 'locks'].flatMap((name) => within(context, join(dirname(state), name)))
  const there = [...main, ...beside, ...below].filter((file) => context.files.entry(file))
  const troubles = [
    ...main.flatMap((file) => fileTroubles(context, file)),
    ...[...beside, ...below].flatMap((file) =>
      fileTroubles(context, file).map(({ text, hint }) => warning(text, hint)),
    ),
  ]
  const some = there.length === 1 ? '1 file is' : `${there.length} files are`
  return orElse(troubles, there.length === 0 ? 'There are no files yet.' : `${some} readable by you only.`)
}

function within(context: DoctorContext, folder: string): string[] {
  const names = context.files.names(folder)
  const inside = names.flatMap((name) => {
    const path = join(folder, name)
    return context.files.entry(path)?.kind === 'folder' ? within(context, path) : [path]
  })
  return context.files.entry(folder) ? [folder, ...inside] : []
}

function fileTroubles(context: DoctorContext, file: string): readonly Verdict[] {
  const entry = context.files.entry(file)
  if (!entry) return []
  if (entry.kind === 'link')
    return [problem(`${file} is a symbolic link.`, `Put the file itself there: rm ${quoteForShell(file)}`)]
  return ownTroubles(context, file, entry)
}

/** Checks owner and mode. Windows has no such bits. */
function ownTroubles(context: DoctorContext, path: string, entry: DirectoryEntry): readonly Verdict[] {
  if (context.platform === 'win32') return []
  if (context.user !== undefined && entry.owner !== context.user)
    return [problem(`${path} belongs to another user.`, `sudo chown -R "$(id -un)" ${quoteForShell(path)}`)]
  if ((entry.mode & 0o077) === 0) return []
  return [
    problem(
      `${path} can be read or changed by other users (mode ${entry.mode.toString(8)}).`,
      `chmod ${entry.kind === 'folder' ? 700 : 600} ${quoteForShell(path)}`,
    ),
  ]
}

const mebibyte = 1_048_576
/** The WAL alone grows to 16 MiB before its checkpoint. */
const tooLittle = 64 * mebibyte
const little = 1_024 * mebibyte

export function freeSpace(context: DoctorContext): readonly Verdict[] {
  const spaces = databaseFolders(context).map((folder) => ({
    folder,
    free: context.files.space(folder).free,
  }))
  const troubles = spaces.flatMap(({ folder, free }) => {
    if (free >= little) return []
    const text = `Only ${formatSize(free)} are free where ${folder} is.`
    return [
      (free < tooLittle ? problem : warning)(text, 'Free some space, or set PROSPECT_HOME to a larger disk.'),
    ]
  })
  return orElse(troubles, `${formatSize(Math.min(...spaces.map(({ free }) => free)))} are free.`)
}

/** Network file systems, by their `statfs` type on Linux. */
const overNetwork: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x01021997, '9P'],
  [0x0bd00bd0, 'Lustre'],
])
/** A FUSE file system may be local or remote; its type does not tell. */
const fuse = 0x65735546

/** Checks that the databases are on a local disk. File locks are unreliable over a network. */
export function fileSystem(context: DoctorContext): readonly Verdict[] {
  if (context.platform !== 'linux') return []
  const troubles = databaseFolders(context).flatMap((folder) => {
    const { type } = context.files.space(folder)
    const name = overNetwork.get(type)
    const hint = 'Set PROSPECT_HOME to a folder on a disk of this machine.'
    if (name)
      return [
        warning(`${folder} is on a network file system (${name}), where databases can be damaged.`, hint),
      ]
    if (type !== fuse) return []
    return [warning(`${folder} is on a FUSE file system, which may be one over a network.`, hint)]
  })
  return orElse(troubles, 'The databases are on a disk of this machine.')
}

function databaseFolders({ home, files }: DoctorContext): string[] {
  const locations = [home.engine, home.catalogue, home.state].filter(isFile)
  return [...new Set(locations.map((path) => nearestFolder(files, path)))]
}

/** Number of movements to check; `engine ledger verify` checks all. */
const recent = 10_000

/** Checks the sums of the newest ledger movements. */
export async function ledger(context: DoctorContext): Promise<Findings> {
  const state = await engineState(context)
  if (!state) return []
  const { store, workspace } = state
  const { id } = workspace
  const from = await store.read(async (tx) => {
    const last = await readBalances(tx, id)
    const [movement] = last.seq <= recent ? [] : await listMovements(tx, id, last.seq - recent - 1, 1)
    return movement
  })
  const { movements, problems } = await verifyLedger(store, id, from)
  const [first, ...more] = problems
  if (first === undefined)
    return ok(`The ledger adds up: ${countOf(movements, 'movement')}${from ? ', the newest' : ''}.`)
  const others = more.length === 0 ? '' : `, and ${more.length} more`
  return problem(
    `The ledger does not add up: ${first}${others}.`,
    'prospect engine ledger verify lists all problems.',
  )
}

const most = 1_000
/** A worker takes due work within seconds, so none ran for this long. */
const unattendedMs = 600_000
/** Attempts that make a job suspicious; after 10 it fails. */
const manyAttempts = 3

export const jobs = (context: DoctorContext): Promise<readonly Verdict[]> =>
  askEngine(context, async (tx, state) => {
    const running = await listJobs(tx, state.workspace.id, { state: 'running' }, { skip: 0, limit: most })
    const queued = await listJobs(tx, state.workspace.id, { state: 'queued' }, { skip: 0, limit: most })
    const alone = running.filter(({ leaseUntil }) => leaseUntil <= context.clock.now())
    const waiting = queued.filter(({ createdAt }) => createdAt <= state.now - unattendedMs)
    const failing = [...running, ...queued].filter(({ attempts }) => attempts >= manyAttempts)
    const { queued: waitingCount, running: runningCount } = await countUnfinishedJobs(tx, state.workspace.id)
    const open = waitingCount + runningCount
    const run = 'Run them: prospect engine jobs run'
    const troubles = [
      ...countTroubles(alone, 'running without a worker', run),
      ...countTroubles(waiting, 'waiting for longer than 10 minutes', run),
      ...countTroubles(
        failing,
        `at attempt ${manyAttempts} or later, without progress`,
        'prospect engine jobs show ID shows details.',
      ),
    ]
    return orElse(troubles, open === 0 ? 'No jobs are open.' : `${countOf(open, 'job')} open, none stuck.`)
  })

export const deliveries = (context: DoctorContext): Promise<readonly Verdict[]> =>
  askEngine(context, async (tx, { workspace: { id }, now }) => {
    const counts = await countDeliveries(tx, id)
    const pending = await listDeliveries(tx, id, { state: 'pending' }, most)
    const failed = counts.failed === 0 ? [] : await listDeliveries(tx, id, { state: 'failed' }, 1)
    const overdue = pending.filter(({ dueAt }) => dueAt !== null && dueAt <= now - unattendedMs)
    const troubles = [
      ...countTroubles(
        overdue,
        'due for longer than 10 minutes',
        'Send what is due with prospect engine jobs run, or continuously with prospect worker.',
      ),
      ...failed.map((newest) => failedDelivery(newest, counts.failed)),
    ]
    const open = `${countOf(counts.pending, 'delivery', 'deliveries')} open, none overdue.`
    return orElse(troubles, counts.pending === 0 ? 'No delivery is open or failed.' : open)
  })

function failedDelivery({ url, error, status }: Delivery, count: number): Verdict {
  const reason = error ?? (status === null ? 'no answer' : `answer ${status}`)
  // The rest of the URL may be a secret of its receiver.
  const host = parseUrl(url)?.host ?? 'its receiver'
  return warning(
    `${countOf(count, 'delivery', 'deliveries')} failed for good; the newest, to ${host}: ${reason.replace(/\.$/, '')}.`,
    'prospect engine deliveries list --state failed, then prospect engine deliveries retry ID',
  )
}

function countTroubles(
  found: readonly (AsyncJob | Delivery)[],
  what: string,
  hint: string,
): readonly Verdict[] {
  const [first] = found
  if (!first) return []
  const count =
    'url' in first ? countOf(found.length, 'delivery', 'deliveries') : countOf(found.length, 'job')
  const which = found.length === 1 ? `(${first.id}) is` : `(${first.id}, …) are`
  return [warning(`${count} ${which} ${what}.`, hint)]
}

const yearMs = 365 * 86_400_000
/** How long the old secret still signs after a rotation. */
const overlapMs = 86_400_000

export const signingSecret = (context: DoctorContext): Promise<readonly Verdict[]> =>
  askEngine(context, async (tx, state) => {
    const since = await signingSince(tx, state)
    if (since === undefined) return [ok('There is no signing secret yet; the first delivery creates one.')]
    const text = `The signing secret has not been changed since ${isoTime(since)}`
    if (state.now - since <= yearMs) return [ok(`${text}.`)]
    return [warning(`${text}, for more than a year.`, 'prospect engine webhooks secret --rotate')]
  })

/** Only the end of the secret before is stored: this is the earliest time at which the current one can have been created. */
async function signingSince(tx: Connection, { workspace }: EngineState): Promise<number | undefined> {
  const secrets = await listSigningSecrets(tx, workspace.id)
  if (secrets.length === 0) return undefined
  const ended = secrets.flatMap(({ until }) => until ?? [])
  return ended.length === 0 ? workspace.createdAt : Math.max(...ended) - overlapMs
}
