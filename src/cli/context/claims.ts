import { type BigIntStats, lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { resultOr } from '../../api/values/objects.js'
import { isPostgres } from '../../storage/driver/connection.js'
import type { FileUse, Home } from './context.js'
import { UsageError } from './errors.js'

/** A file that an option names. */
interface Claim {
  readonly option: string
  readonly path: string
  readonly use: FileUse
}

/**
 * Returns what keeps the files of one command apart. It throws a UsageError where an option would write to a file of this
 * program, or to the file of another option, under any name; or names a file outside `root`, where that is given.
 */
export function createClaims(root?: string): (home: Home, claim: Claim) => void {
  const claims: Claim[] = []
  return (home, claim) => {
    const { option, path, use } = claim
    const isKey = option === '--api-key-file'
    if (
      root !== undefined &&
      !isKey &&
      !(use === 'read' ? [path] : written(path)).every((file) => isInside(root, file))
    )
      throw new UsageError(`${option} names a file outside ${root}.`, 'Name a file in it.')
    if (use === 'write' && written(path).some((file) => isOwn(home, file)))
      throw new UsageError(`${option} names one of prospect's own data files: ${path}.`, 'Name another file.')
    for (const other of claims) {
      if (other.option === option || !isConflict(claim, other)) continue
      const [output, input] = use === 'write' ? [claim, other] : [other, claim]
      throw new UsageError(
        input.use === 'read'
          ? `${output.option} would overwrite the input file: ${output.path}.`
          : `${other.option} and ${option} name the same file: ${path}.`,
        `Name another file with ${output.option.replace(/ .*/, '')}.`,
      )
    }
    claims.push(claim)
  }
}

function isConflict(one: Claim, other: Claim): boolean {
  if (one.use === 'read' && other.use === 'read') return false
  const names = ({ path, use }: Claim) => (use === 'read' ? [path] : written(path))
  return names(one).some((path) => names(other).some((file) => isSameFile(path, file)))
}

/** Returns what is written for an output: itself and its temporary file, which a pipe or device does not have. */
const written = (path: string): string[] =>
  (statsOf(path)?.isFile() ?? true) ? [path, `${path}.partial`] : [path]

/** Whether two paths lead to one file, also to one that does not exist yet. Devices may be shared. */
export function isSameFile(one: string, other: string): boolean {
  const [first, second] = [statsOf(one), statsOf(other)]
  if (!first && !second) return isSameName(realPath(one), realPath(other))
  return first !== undefined && !first.isCharacterDevice() && isSame(first, second)
}

/** Whether a path leads to a file of this program: under its own name, a link's, or that of an open descriptor. */
function isOwn(home: Home, path: string): boolean {
  const { files, folders } = homeFiles(home)
  const real = realPath(path)
  const stats = statsOf(path)
  if (files.some((file) => isSameName(real, realPath(file)) || (stats && isSame(stats, statsOf(file)))))
    return true
  const own = folders.map(statsOf).filter((folder) => folder !== undefined)
  for (let folder = real; folder !== dirname(folder); ) {
    folder = dirname(folder)
    if (own.some((one) => isSame(one, statsOf(folder)))) return true
  }
  // A file with one name is not linked from these folders.
  if (!stats?.isFile() || stats.nlink < 2n) return false
  return folders.some((folder) => filesIn(folder).some((file) => isSame(stats, statsOf(file))))
}

/** Returns the files of a home, whether they exist or not, and the folders in which all files are its own. */
function homeFiles({ config, credentials, folder, engine, catalogue, state }: Home) {
  const databases = [engine, catalogue, state].filter((place) => !isPostgres(place) && place !== ':memory:')
  const beside = databases.flatMap((file) => ['-wal', '-shm', '-journal'].map((end) => file + end))
  return {
    files: [config, credentials, join(folder, 'maps.json'), ...databases, ...beside],
    folders: ['locks', 'runs'].map((name) => join(dirname(state), name)),
  }
}

/** Whether a path leads to a file in a folder, which is without links. */
export function isInside(root: string, path: string): boolean {
  const real = realPath(path)
  return real === root || real.startsWith(join(root, sep))
}

/** Letters of either case are one name to some file systems. */
const isSameName = (one: string, other: string): boolean =>
  foldName(one) === foldName(other) &&
  (dirname(one) === dirname(other) || isSame(statsOf(dirname(one)), statsOf(dirname(other))))

const foldName = (path: string): string => basename(path).normalize('NFC').toLowerCase()

const isSame = (one: BigIntStats | undefined, other: BigIntStats | undefined): boolean =>
  one !== undefined && one.dev === other?.dev && one.ino === other.ino

/** Returns what a path leads to; `undefined` where there is nothing, or nothing that can be seen. */
const statsOf = (path: string): BigIntStats | undefined =>
  resultOr(undefined, () => statSync(path, { bigint: true, throwIfNoEntry: false }))

const mostLinks = 40

/** Returns a path without links, also where its end does not exist. */
function realPath(path: string, links = mostLinks): string {
  const above = dirname(path)
  // Most of these files do not exist, and an error costs more than all else here.
  const itself = resultOr(undefined, () => lstatSync(path, { throwIfNoEntry: false }))
  const real = itself && resultOr(undefined, () => realpathSync.native(path))
  if (real !== undefined) return real
  if (above === path || links === 0) return path
  const target = itself?.isSymbolicLink() && resultOr(undefined, () => readlinkSync(path))
  return target ? realPath(resolve(above, target), links - 1) : join(realPath(above), basename(path))
}

const filesIn = (folder: string): string[] =>
  resultOr([], () =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
