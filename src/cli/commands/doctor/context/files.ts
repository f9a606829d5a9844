import { accessSync, constants, lstatSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemCode } from '../../../../csv/errors.js'

/** What is known of an entry of a folder: of itself, not of what a link leads to. */
export interface Entry {
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  /** Permission bits. */
  readonly mode: number
  /** User id of the owner. */
  readonly owner: number
  /** Bytes. */
  readonly size: number
  /** When it was last written to, in milliseconds since 1970. */
  readonly writtenAt: number
}

/** A file system. */
export interface Space {
  /** Its kind, as `statfs` numbers it. */
  readonly type: number
  /** Bytes that may still be written. */
  readonly free: number
}

/** The disk, as far as checks look at it; nothing is ever written. */
export interface Files {
  /** Nothing where there is no such entry. */
  entry(path: string): Entry | undefined
  /** Names in a folder; none where it is missing or closed to this user. */
  names(folder: string): readonly string[]
  /** Throws the system's error where it cannot be read. */
  text(file: string): string
  isWritable(folder: string): boolean
  space(folder: string): Space
}

/** The disk of this machine. */
export const realFiles: Files = {
  entry: (path) => {
    const stats = unlessMissing(() => lstatSync(path))
    if (!stats) return undefined
    const kinds = [
      stats.isFile() && 'file',
      stats.isDirectory() && 'folder',
      stats.isSymbolicLink() && 'link',
    ]
    const kind = (kinds.find(Boolean) || 'other') as Entry['kind']
    const { mode, uid: owner, size, mtimeMs: writtenAt } = stats
    return { kind, mode: mode & 0o777, owner, size, writtenAt }
  },
  names: (folder) => unlessMissing(() => readdirSync(folder).sort(), ['EACCES']) ?? [],
  text: (file) => readFileSync(file, 'utf8'),
  isWritable: (folder) => {
    try {
      accessSync(folder, constants.W_OK | constants.X_OK)
      return true
    } catch {
      return false
    }
  },
  space: (folder) => {
    const { type, bavail, bsize } = statfsSync(folder)
    return { type: type >>> 0, free: bavail * bsize }
  },
}

function unlessMissing<T>(ask: () => T, others: readonly string[] = []): T | undefined {
  try {
    return ask()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', ...others].includes(systemCode(error) ?? '')) return undefined
    throw error
  }
}

/** The folder that a path is in, or will be: the nearest one that is there. */
export function nearestFolder(files: Files, path: string): string {
  const above = dirname(path)
  return above === path || files.entry(above) ? above : nearestFolder(files, above)
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** A size for a person, such as `1.2 GiB`. */
export function sizeText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const size = bytes / 1_024 ** power
  return `${size < 10 && power > 0 ? size.toFixed(1) : Math.floor(size)} ${units[power]}`
}

/** A path as a shell takes it. */
export const quoted = (path: string): string =>
  /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
