import {
  type BigIntStats,
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { Refusal, systemCode } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { localPrefix } from '../../api/values/key-names.js'
import { isObject, once, resultOr } from '../../api/values/objects.js'
import { isPostgres, locationProblem } from '../../storage/driver/connection.js'
import type { Context, FileUse, Home, Profile, Settings, Streams } from './context.js'
import { Stop, shortenPath, systemReason } from './errors.js'

/** Returns where this machine's files are: in `PROSPECT_HOME`, or the platform's folders. Creates nothing. */
export function homeOf(streams: Streams, platform: NodeJS.Platform = process.platform): Home {
  const { env, cwd } = streams
  const folders = env.PROSPECT_HOME
    ? oneFolder(resolve(cwd, env.PROSPECT_HOME))
    : platformFolders(env, platform)
  const database = env.PROSPECT_DATABASE_URL
  const home: Home = {
    folder: folders.config,
    config: join(folders.config, 'config.json'),
    credentials: join(folders.config, 'credentials.json'),
    engine: join(folders.data, 'engine.db'),
    catalogue: join(folders.data, 'catalogue.db'),
    state: join(folders.state, 'state.db'),
  }
  return database ? withEngine(home, database, cwd, 'PROSPECT_DATABASE_URL') : home
}

type Folders = Readonly<Record<'config' | 'data' | 'state', string>>

const oneFolder = (folder: string): Folders => ({ config: folder, data: folder, state: folder })

/** Returns the home with another database for the engine. Throws a Refusal where it cannot be one. */
export function withEngine(home: Home, database: string, cwd: string, source = '--database'): Home {
  const problem = locationProblem(database)
  if (problem !== undefined) throw new Refusal('usage.database_place', { source, problem })
  if (isPostgres(database) || database === ':memory:') return { ...home, engine: database }
  const engine = resolve(cwd, database)
  const { config, credentials, catalogue, state } = home
  if ([config, credentials, catalogue, state].some((file) => isSameFile(engine, file)))
    throw new Refusal('usage.other_data', { source, engine })
  return { ...home, engine }
}

function platformFolders(env: Streams['env'], platform: NodeJS.Platform): Folders {
  // An empty HOME is none, and the system would return it as it is.
  const home = env.HOME?.trim() ? env.HOME : resultOr(homedir(), () => userInfo().homedir)
  if (platform === 'win32') {
    const roaming = env.APPDATA || join(home, 'AppData', 'Roaming')
    const local = join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'prospect')
    return { config: join(roaming, 'prospect'), data: local, state: local }
  }
  if (platform === 'darwin') return oneFolder(join(home, 'Library', 'Application Support', 'prospect'))
  return {
    config: join(env.XDG_CONFIG_HOME || join(home, '.config'), 'prospect'),
    data: join(env.XDG_DATA_HOME || join(home, '.local', 'share'), 'prospect'),
    state: join(env.XDG_STATE_HOME || join(home, '.local', 'state'), 'prospect'),
  }
}

export const foldersOf = ({ config, catalogue, state }: Home): string[] => [
  ...new Set([config, catalogue, state].map((file) => dirname(file))),
]

/** Creates the folders (0700). Throws Stop, with the command that fixes it, where others could read or change files. */
export function prepareHome(home: Home): void {
  for (const folder of foldersOf(home)) {
    if (!statsOf(folder)) create(folder)
    if (checkFolder(folder)) chmodSync(folder, 0o700)
  }
  for (const file of [home.config, home.credentials, home.catalogue, home.state]) checkFile(file)
  if (!home.engine.startsWith('/')) return
  checkFile(home.engine)
  checkNotEmptied(home)
}

/** Refuses an engine of 0 bytes when a key of one of its workspaces is stored: SQLite would take it for a new database. */
function checkNotEmptied({ engine, credentials }: Home): void {
  if (statsOf(engine)?.size !== 0 || !readPrivate(credentials)?.includes(`"${localPrefix}`)) return
  throw new Refusal('database.emptied', { file: engine })
}

/** Throws Stop for a folder that is none, or that others can read. Returns whether it is to be made private: an empty one. */
export function checkFolder(folder: string): boolean {
  const stats = statsOf(folder)
  if (!stats) return false
  if (stats.isSymbolicLink())
    refuse(`${folder} is a symbolic link.`, 'Set PROSPECT_HOME to the folder itself.')
  if (!stats.isDirectory()) refuse(`${folder} is not a folder.`, 'Set PROSPECT_HOME to a folder.')
  checkOwner(folder, stats)
  if (!isWide(stats)) return false
  // An empty folder has nothing to hide.
  if (readdirSync(folder).length === 0) return true
  return refuse(`${folder} can be read or changed by other users.`, `Run: chmod 700 ${quoteForShell(folder)}`)
}

// Not with `recursive`: where the system denies that a folder exists (/proc), that never ends.
function create(folder: string): void {
  const above = dirname(folder)
  if (above !== folder && !statsOf(above)) create(above)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (systemCode(error) !== 'EEXIST')
      refuse(
        `${folder} cannot be created: ${systemReason(error)}.`,
        'Set PROSPECT_HOME to a folder you may write to.',
      )
  }
}

/** Throws Stop for a file with a secret that others can read. A pipe is fine. */
export function checkSecret(file: string): void {
  let stats: Stats | undefined
  try {
    stats = statSync(file, { throwIfNoEntry: false })
  } catch (error) {
    throw new Refusal('usage.file_unreadable', { file: shortenPath(file), reason: systemReason(error) })
  }
  if (stats?.isFile()) checkPrivate(file, stats)
}

/** Throws Stop for a file that is a symbolic link, belongs to another user or can be read by others. */
export function checkFile(file: string): void {
  const stats = statsOf(file)
  if (!stats) return
  if (stats.isSymbolicLink())
    refuse(`${file} is a symbolic link.`, `Put the file itself there: rm ${quoteForShell(file)}`)
  if (stats.isDirectory()) refuse(`${file} is a folder; a file is needed.`, 'Name a file in it.')
  checkPrivate(file, stats)
}

function checkPrivate(file: string, stats: Stats): void {
  checkOwner(file, stats)
  if (isWide(stats))
    refuse(`${file} can be read or changed by other users.`, `Run: chmod 600 ${quoteForShell(file)}`)
}

function checkOwner(path: string, stats: Stats): void {
  const user = process.getuid?.()
  if (user !== undefined && stats.uid !== user)
    refuse(`${path} belongs to another user.`, `Run: sudo chown -R "$(id -un)" ${quoteForShell(path)}`)
}

// Windows has no such bits: its folders are private to the account by inheritance.
const isWide = (stats: Stats): boolean => process.platform !== 'win32' && (stats.mode & 0o077) !== 0

export function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    return refuse(
      `${path} cannot be used: ${systemReason(error)}.`,
      'Set PROSPECT_HOME to a folder of your own.',
    )
  }
}

export const quoteForShell = (path: string): string =>
  /^[\w./:@-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`

function refuse(text: string, hint: string): never {
  throw new Stop(text, exitCodes.usage, hint, 'unsafe_file')
}

function readPrivate(file: string): string | undefined {
  checkFile(file)
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Returns what a private file holds as JSON: `undefined` when there is none, null when it is no JSON. */
export function readPrivateJson(file: string): unknown {
  const text = readPrivate(file)
  // The parser's message could quote a key.
  return text === undefined ? undefined : resultOr(null, () => JSON.parse(text))
}

/** Replaces a private file. It is 0600 from its first byte, and durable before it takes the name. */
export function writePrivate(file: string, text: string, unique: string): void {
  checkFile(file)
  const partial = `${file}.${unique}.partial`
  try {
    writeFileSync(partial, text, { flag: 'wx', mode: 0o600, flush: true })
    renameSync(partial, file)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
}

type Claim = Readonly<{ option: string; path: string; use: FileUse }>

/**
 * Returns what keeps the files of one command apart. It throws a Refusal where an option would write to a file of this
 * program, or to the file of another option, under any name; or names a file outside `root`, where that is given.
 */
export function createClaims(root?: string): (home: Home, claim: Claim) => void {
  const claims: Claim[] = []
  return (home, claim) => {
    const { option, path, use } = claim
    const isKey = option === '--api-key-file'
    const places = placesOf(claim)
    if (root !== undefined && !isKey && !places.every(({ real }) => isBelow(root, real())))
      throw new Refusal('usage.outside_root', { option, root })
    if (use === 'write' && isOwn(home, places)) throw new Refusal('usage.own_file', { option, path })
    for (const other of claims) {
      if (other.option === option || (use === 'read' && other.use === 'read')) continue
      if (!haveOneInCommon(places, placesOf(other))) continue
      const [output, input] = use === 'write' ? [claim, other] : [other, claim]
      const names = { option, other: other.option, output: output.option }
      const isInput = input.use === 'read'
      throw new Refusal('usage.same_file', { ...names, isInput, path: isInput ? output.path : path })
    }
    claims.push(claim)
  }
}

/** What a path leads to, which is looked up once. */
interface Place {
  /** The file there; `undefined` where there is nothing, or nothing that can be seen. */
  readonly file: BigIntStats | undefined
  /** The path without links. */
  readonly real: () => string
}

const placeOf = (path: string): Place => ({
  file: resultOr(undefined, () => statSync(path, { bigint: true, throwIfNoEntry: false })),
  real: once(() => realPath(path)),
})

/** Returns the file of a claim; for an output also its temporary file, which a pipe or device does not have. */
function placesOf({ path, use }: Claim): Place[] {
  const place = placeOf(path)
  return use === 'write' && (place.file?.isFile() ?? true) ? [place, placeOf(`${path}.partial`)] : [place]
}

/** Whether two paths lead to one file, also to one that does not exist yet. Devices may be shared. */
export const isSameFile = (one: string, other: string): boolean => isSame(placeOf(one), placeOf(other))

function isSame({ file, real }: Place, other: Place): boolean {
  if (!file || !other.file) return real() === other.real()
  return !file.isCharacterDevice() && file.dev === other.file.dev && file.ino === other.file.ino
}

const haveOneInCommon = (places: readonly Place[], others: readonly Place[]): boolean =>
  places.some((place) => others.some((other) => isSame(place, other)))

/** Whether one leads to a file of this program: under its own name, a link's, or that of an open descriptor. */
function isOwn(home: Home, places: readonly Place[]): boolean {
  const { config, credentials, engine, catalogue, state } = home
  const databases = [engine, catalogue, state].filter((place) => !isPostgres(place) && place !== ':memory:')
  const beside = databases.flatMap((file) => ['-wal', '-shm', '-journal'].map((end) => file + end))
  const files = [config, credentials, ...databases, ...beside]
  const folders = ['locks', 'runs'].map((name) => join(dirname(state), name))
  if (haveOneInCommon(places, files.map(placeOf))) return true
  return folders
    .map((name) => realPath(name))
    .some((root) => places.some(({ real }) => isBelow(root, real())))
}

/** Whether a path leads to a file in a folder, which is without links. */
export const isInside = (root: string, path: string): boolean => isBelow(root, realPath(path))

const isBelow = (root: string, real: string): boolean => real === root || real.startsWith(join(root, sep))

const maxLinks = 40

/** Returns a path without links, also where its end does not exist. */
function realPath(path: string, links = maxLinks): string {
  const above = dirname(path)
  // Most of these files do not exist, and an error costs more than all else here.
  const itself = resultOr(undefined, () => lstatSync(path, { throwIfNoEntry: false }))
  const real = itself && resultOr(undefined, () => realpathSync.native(path))
  if (real !== undefined) return real
  if (above === path || links === 0) return path
  const target = itself?.isSymbolicLink() && resultOr(undefined, () => readlinkSync(path))
  return target ? realPath(resolve(above, target), links - 1) : join(realPath(above), basename(path))
}

/** Reads the settings. Every command does, so what writes them is not loaded (decision 26). */
export function readSettings(home: Home): Settings {
  const value = readPrivateJson(home.config)
  if (value === undefined) return {}
  if (isObject(value)) return value
  throw new Refusal('usage.config_broken', { config: home.config })
}

/** Opens the settings for writing; every change is written at once, 0600. */
export async function openSettings(home: Home) {
  prepareHome(home)
  const { default: Conf } = await import('conf')
  readSettings(home)
  return new Conf<{ profile?: string; profiles?: Record<string, Profile> }>({
    cwd: home.folder,
    configName: 'config',
    configFileMode: 0o600,
    accessPropertiesByDotNotation: true,
  })
}

/** Returns the profile of a command: that of the option, else of the environment, else the one in use. */
export const profileInUse = ({ globals, settings, streams }: Context): Profile =>
  profileOf(settings(), globals.profile ?? streams.env.PROSPECT_PROFILE)

/** Above `confirm_above`, 10 % by default. A price or balance that is not known counts as large (null), nothing free does. */
export function isLargePrice(context: Context, most: number | null, balance: number | null): boolean {
  if (most === 0) return false
  const percent = Number.parseFloat(profileInUse(context).confirm_above ?? '10')
  return most === null || balance === null || most > (balance * percent) / 100
}

/**
 * Returns the setting `format`, which counts on a terminal; `undefined` elsewhere, and where the settings cannot be read,
 * which is reported where they are needed.
 */
export const formatSetting = (context: Context): Profile['format'] =>
  context.streams.stdout.isTTY ? resultOr(undefined, () => profileInUse(context).format) : undefined

/** Returns the profile of a name, else the one in use. Throws a Refusal where there is none of that name. */
export function profileOf(settings: Settings, name: string | undefined): Profile {
  const wanted = name ?? settings.profile
  const known = settings.profiles ?? {}
  if (wanted === undefined || wanted === 'default' || wanted === 'local')
    return known[wanted ?? 'default'] ?? {}
  const profile = known[wanted]
  if (profile) return profile
  const names = new Set(['default', 'local', ...Object.keys(known)])
  throw new Refusal('usage.no_profile', { wanted, known: [...names] })
}
