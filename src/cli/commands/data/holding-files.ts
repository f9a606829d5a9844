import { createReadStream, type Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { runFolder, runsFolder } from '../../../batch/run/records.js'
import { isShared } from '../../../storage/database/catalogue-location.js'
import type { Context } from '../../context/context.js'

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
