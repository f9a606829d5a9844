import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Driver } from '../storage/driver.js'
import { openSqlite } from '../storage/sqlite.js'
import type { Context } from './context.js'
import { prepareHome } from './home.js'

/** What a run needs beside its input and output; all of it is gone when the command ends. */
export interface RunFolder {
  readonly path: string
  /** An empty database in it. That it is open marks the run as alive, and the system takes the mark away with us. */
  readonly database: Driver
}

/** Where the folders of runs are. */
const runsOf = (context: Context): string => join(dirname(context.home.state), 'runs')

const databaseIn = (folder: string): string => join(folder, 'scratch.db')

/** Makes a folder for a run, and removes those of runs that were killed. */
export async function openRunFolder(context: Context): Promise<RunFolder> {
  prepareHome(context.home)
  const path = join(runsOf(context), context.ids.uuid())
  await mkdir(path, { recursive: true, mode: 0o700 })
  context.onClose(() => rm(path, { recursive: true, force: true }))
  const database = openSqlite(databaseIn(path), { durable: false })
  context.onClose(() => database.close())
  await database.read(async (connection) => void connection.get('SELECT count(*) FROM sqlite_schema'))
  await removeLeftovers(context, path)
  return { path, database }
}

/** A folder that is this old and was never marked belongs to no run. */
const unmarkedForMs = 3_600_000
/** Making the mark takes a few steps; whoever asked between two of them would find a living run dead. */
const beginningForMs = 60_000

async function removeLeftovers(context: Context, own: string): Promise<void> {
  const folders = (await readdir(runsOf(context))).map((name) => join(runsOf(context), name))
  for (const folder of folders)
    if (folder !== own)
      // What cannot be removed now is left to the next batch; no run fails because of another one.
      await removeIfDead(folder, context.clock.now()).catch(() => {})
}

async function removeIfDead(folder: string, now: number): Promise<void> {
  const database = databaseIn(folder)
  const marked = await stat(database)
    .then(({ size }) => size > 0)
    .catch(() => false)
  if (now - (await stat(folder)).mtimeMs < (marked ? beginningForMs : unmarkedForMs)) return
  const { whileUnused } = await import('../storage/exclusive.js')
  const { rmSync } = await import('node:fs')
  whileUnused(database, () => rmSync(folder, { recursive: true, force: true }))
}
