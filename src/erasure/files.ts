import { createReadStream, type Dirent, existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** What runs have read and written: those that mentioned the person, and others. */
export type RunFiles = Readonly<Record<'files' | 'otherFiles', readonly string[]>>

/** Files that may still have a person, and those of them that contain an address, a number or a profile. */
export type FoundFiles = Readonly<Record<'files' | 'found_in', readonly string[]>>

/** Where files of this program are. */
export interface FilePlaces {
  readonly folders: readonly string[]
  /** Databases, of which those in use are not searched: what they hold was erased. */
  readonly databases: readonly { readonly file: string; readonly isInUse: boolean }[]
}

/**
 * Returns the files that may still hold a person, which are not touched. Those of the runs that mentioned the person count
 * whatever they contain, with what lies beside them under their name. Files of other runs, in the folders of this program and
 * beside its databases, such as backups, count when they contain one of the words, which are in lower case.
 */
export async function findFilesWith(
  { folders, databases }: FilePlaces,
  words: readonly string[],
  { files, otherFiles }: RunFiles,
): Promise<FoundFiles> {
  const inUse = new Set(
    databases.flatMap(({ file, isInUse }) => (isInUse ? [file, `${file}-wal`, `${file}-shm`] : [])),
  )
  const ofRuns = await filesUnderNames(files)
  const beside = await filesUnderNames([...databases.map(({ file }) => file), ...otherFiles])
  const candidates = [...ofRuns, ...(await Promise.all(folders.map(filesIn))).flat(), ...beside]
  const found: string[] = []
  for (const file of new Set(candidates))
    if (!inUse.has(file) && (await containsWord(file, words))) found.push(file)
  return { files: [...new Set([...ofRuns, ...found])].sort(), found_in: found.sort() }
}

/** Returns files and those beside them whose names begin with theirs, such as `out.csv.partial`. Reads each folder once. */
async function filesUnderNames(paths: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const [folder, inFolder] of Map.groupBy(paths, (path) => dirname(path))) {
    const wanted = new Set(inFolder.map((path) => basename(path)))
    const isWanted = (name: string) =>
      wanted.has(name) || [...name.matchAll(/\./g)].some(({ index }) => wanted.has(name.slice(0, index)))
    const names = await readdir(folder).catch(() => [])
    found.push(...names.filter(isWanted).map((name) => join(folder, name)))
  }
  return found
}

async function filesIn(folder: string): Promise<string[]> {
  const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name))
}

/** Returns whether a file contains a word, in any case, also in a workbook. A file that cannot be read may contain one. */
async function containsWord(file: string, words: readonly string[]): Promise<boolean> {
  const overlap = Math.max(0, ...words.map((word) => Buffer.byteLength(word))) * 2
  const isArchive = /\.xlsx$/i.test(file)
  let rest = Buffer.alloc(0)
  try {
    const chunks: AsyncIterable<Buffer> = isArchive
      ? (await import('../csv/workbook/archive.js')).unpacked(file)
      : createReadStream(file, { highWaterMark: 1 << 20 })
    for await (const chunk of chunks) {
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

/** Rewrites database files, so that no deleted bytes are left. `remaining` are those that another process uses. */
export async function rewriteFiles(
  databases: readonly string[],
): Promise<{ rewritten: string[]; remaining: string[] }> {
  const { vacuum } = await import('../storage/database/database-file.js')
  const files = databases.filter((file) => existsSync(file))
  const remaining = files.filter((file) => !vacuum(file))
  return { rewritten: files.filter((file) => !remaining.includes(file)), remaining }
}
