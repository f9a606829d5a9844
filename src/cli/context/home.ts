import {
  chmodSync,
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { resultOr } from '../../api/values/objects.js'
import { systemCode } from '../../csv/encoding.js'
import { isPostgres, locationProblem } from '../../storage/driver/connection.js'
import { isSameFile } from './claims.js'
import type { Home, Streams } from './context.js'
import { Stop, shortenPath, systemReason, UsageError } from './errors.js'

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

/** Returns the home with another database for the engine. Throws UsageError where it cannot be one. */
export function withEngine(home: Home, database: string, cwd: string, source = '--database'): Home {
  const problem = locationProblem(database)
  if (problem !== undefined)
    throw new UsageError(
      `${source} ${problem}.`,
      'Write it like postgres://role@host/database, or give the path of a file.',
    )
  if (isPostgres(database) || database === ':memory:') return { ...home, engine: database }
  const engine = resolve(cwd, database)
  const { config, credentials, catalogue, state } = home
  if ([config, credentials, catalogue, state].some((file) => isSameFile(engine, file)))
    throw new UsageError(`${source} names a file that holds other data: ${engine}.`, 'Name another file.')
  return { ...home, engine }
}

function platformFolders(env: Streams['env'], platform: NodeJS.Platform): Folders {
  const home = env.HOME || homedir()
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

/** Returns the folders of this machine's files. */
export const foldersOf = ({ config, catalogue, state }: Home): string[] => [
  ...new Set([config, catalogue, state].map((file) => dirname(file))),
]

/** Creates the folders (0700). Throws Stop, with the command that fixes it, where others could read or change files. */
export function prepareHome(home: Home): void {
  for (const folder of foldersOf(home)) privateFolder(folder)
  for (const file of [home.config, home.credentials, home.catalogue, home.state]) checkFile(file)
  if (!home.engine.startsWith('/')) return
  checkFile(home.engine)
  checkNotEmptied(home)
}

/** Refuses an engine of 0 bytes when a key of one of its workspaces is stored: SQLite would take it for a new database. */
function checkNotEmptied({ engine, credentials }: Home): void {
  if (statsOf(engine)?.size !== 0 || !readPrivate(credentials)?.includes(`"${localPrefix}`)) return
  throw new Stop(
    `${engine} is empty, but this machine has the key of a workspace that was in it.`,
    exitCodes.unreachable,
    'Delete the empty file, then restore a backup with prospect engine restore, or start again with prospect init.',
    'storage_failed',
  )
}

/** Begins the origins of the local engine's workspaces in the file of stored keys. */
export const localPrefix = 'local:'

function privateFolder(folder: string): void {
  const stats = statsOf(folder) ?? create(folder)
  if (stats.isSymbolicLink())
    refuse(`${folder} is a symbolic link.`, 'Set PROSPECT_HOME to the folder itself.')
  if (!stats.isDirectory()) refuse(`${folder} is not a folder.`, 'Set PROSPECT_HOME to a folder.')
  checkOwner(folder, stats)
  if (!isWide(stats)) return
  // An empty folder has nothing to hide: it is made private instead of refused.
  if (readdirSync(folder).length === 0) chmodSync(folder, 0o700)
  else refuse(`${folder} can be read or changed by other users.`, `Run: chmod 700 ${quoteForShell(folder)}`)
}

// Not with `recursive`: where the system denies that a folder exists (/proc), that never ends.
function create(folder: string): Stats {
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
  return lstatSync(folder)
}

/** Throws Stop for a file with a secret that others can read. A pipe is fine. */
export function checkSecret(file: string): void {
  const stats = followed(file)
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

function followed(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch (error) {
    throw new UsageError(`${shortenPath(file)} cannot be read: ${systemReason(error)}.`)
  }
}

function checkOwner(path: string, stats: Stats): void {
  const user = process.getuid?.()
  if (user !== undefined && stats.uid !== user)
    refuse(`${path} belongs to another user.`, `Run: sudo chown -R "$(id -un)" ${quoteForShell(path)}`)
}

// Windows has no such bits: its folders are private to the account by inheritance.
const isWide = (stats: Stats): boolean => process.platform !== 'win32' && (stats.mode & 0o077) !== 0

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    return refuse(
      `${path} cannot be used: ${systemReason(error)}.`,
      'Set PROSPECT_HOME to a folder of your own.',
    )
  }
}

/** Returns a text as one word of a shell command. */
export const quoteForShell = (path: string): string =>
  /^[\w./:@-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`

function refuse(text: string, hint: string): never {
  throw new Stop(text, exitCodes.usage, hint, 'unsafe_file')
}

/** Returns the text of a private file; `undefined` when there is none. */
export function readPrivate(file: string): string | undefined {
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
  const descriptor = openSync(partial, 'wx', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
    closeSync(descriptor)
    renameSync(partial, file)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
}
