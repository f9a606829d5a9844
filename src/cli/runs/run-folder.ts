import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Context } from '../context/context.js'
import { prepareHome } from '../context/home.js'

/** Where the folders of runs are. */
export const runsFolder = (context: Context): string => join(dirname(context.home.state), 'runs')

/** The folder of a run: what it read from a pipe. */
export const folderOf = (context: Context, id: string): string => join(runsFolder(context), id)

/** A folder for what is read from a pipe; gone when the command ends, unless it is kept for a run. */
export interface RunFolder {
  readonly path: string
  keep(): void
}

/** Makes the folder of a run. */
export async function openRunFolder(context: Context, id = context.ids.uuid()): Promise<RunFolder> {
  prepareHome(context.home)
  const path = folderOf(context, id)
  await mkdir(path, { recursive: true, mode: 0o700 })
  let kept = false
  context.onClose(async () => {
    if (!kept) await rm(path, { recursive: true, force: true })
  })
  return {
    path,
    keep: () => {
      kept = true
    },
  }
}

/** Says that the run of a folder is on record in another place than the home of this machine. */
export const elsewhere = 'elsewhere'

/** Keeps the folder of a run whose records machines share from being taken for a leftover of this one. */
export const markShared = (context: Context, id: string): Promise<void> =>
  writeFile(join(folderOf(context, id), elsewhere), '', { mode: 0o600 })

/** A folder of no run is a leftover when nothing was written to it for so long. */
const leftoverMs = 86_400_000

/** Removes the folders of commands that were killed while they read a pipe; `known` are the ids of runs. */
export async function removeLeftovers(context: Context, known: ReadonlySet<string>): Promise<void> {
  const names = await readdir(runsFolder(context)).catch(() => [])
  for (const name of names) {
    if (known.has(name)) continue
    // What cannot be removed now is left to the next batch; no run fails because of another one.
    await removeIfOld(join(runsFolder(context), name), context.clock.now()).catch(() => {})
  }
}

async function removeIfOld(folder: string, now: number): Promise<void> {
  const names = await readdir(folder)
  if (names.includes(elsewhere)) return
  const files = [folder, ...names.map((name) => join(folder, name))]
  const times = await Promise.all(files.map(async (file) => (await stat(file)).mtimeMs))
  if (now - Math.max(...times) > leftoverMs) await rm(folder, { recursive: true, force: true })
}
