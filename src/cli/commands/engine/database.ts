import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { listWorkspaces } from '../../../engine/tables/members.js'
import type { Driver } from '../../../storage/driver/connection.js'
import type { Context, FileUse } from '../../context/context.js'
import { forgetKey, localOrigin } from '../../context/credentials.js'
import { UsageError } from '../../context/errors.js'
import { prepareHome } from '../../context/home.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { print } from '../../output/print.js'
import { confirmLoss } from '../../output/prompt.js'
import { forgetDeadKey } from './members.js'

export const backupCommand: CommandFactory = ({ command }) =>
  command('backup', 'Write a consistent copy of the engine, even while it is in use')
    .argument('<file>', 'where to; an existing file is never replaced')
    .option('--catalogue <file>', 'copy the catalogue (companies, people, jobs, posts) too, to this file')
    .printResult(
      async (context, { args: [file = ''], options }) => {
        const { backup } = await import('../../../storage/database/backup.js')
        const { databaseFile } = await import('../../../storage/database/database-file.js')
        const engine = databaseFile(context.home.engine)
        const copies = planCopies(context, engine, file, options.catalogue)
        return copies.map(({ of, from, to }) => ({ database: of, file: to, bytes: backup(from, to) }))
      },
      { columns: ['database', 'file', 'bytes'] },
    )

/** Returns what to copy where. Throws a `UsageError` unless all of it can be written. */
function planCopies({ home, streams, claimFile }: Context, engine: string, file: string, catalogue: unknown) {
  const copies = [
    { of: 'engine', from: engine, to: resolve(streams.cwd, file) },
    ...(typeof catalogue === 'string'
      ? [{ of: 'catalogue', from: home.catalogue, to: resolve(streams.cwd, catalogue) }]
      : []),
  ]
  for (const { of, from, to } of copies) {
    claimFile(to, of === 'engine' ? 'FILE' : '--catalogue')
    if (!existsSync(from))
      throw new UsageError(`There is no ${of} to back up yet.`, 'Create it with: prospect init')
    if (existsSync(to)) throw new UsageError(`${to} exists already.`, 'Choose another name for the backup.')
  }
  return copies
}

export const restoreCommand: CommandFactory = ({ command }) =>
  command('restore', 'Replace the engine by a backup')
    .argument('<file>', 'a file that engine backup wrote; it is read, not moved')
    .option('--catalogue <file>', 'replace the catalogue by this backup, too')
    .printResult(
      async (context, { args: [file = ''], options }) => {
        prepareHome(context.home)
        const plan = await planRestore(context, file, options.catalogue)
        const existing = plan.filter(({ to }) => existsSync(to)).map(({ to }) => to)
        if (existing.length > 0)
          await confirmLoss(context, `This replaces ${existing.join(' and ')} and all that is in it.`)
        const { restore } = await import('../../../storage/database/backup.js')
        const done = plan.map(({ of, from, to, expected }) => ({
          database: of,
          file: to,
          schema_version: restore(from, to, expected),
        }))
        await forgetDeadKey(context, await context.admin({ create: false }))
        return done
      },
      { columns: ['database', 'file', 'schema_version'] },
    )

async function planRestore({ home, streams, claimFile }: Context, file: string, catalogue: unknown) {
  claimFile(file, 'FILE', 'read')
  const { engineSchema } = await import('../../../engine/tables/schema.js')
  const { databaseFile } = await import('../../../storage/database/database-file.js')
  const engine = {
    of: 'engine',
    from: resolve(streams.cwd, file),
    to: databaseFile(home.engine),
    expected: { table: 'movements', schema: engineSchema },
  }
  if (typeof catalogue !== 'string') return [engine]
  claimFile(catalogue, '--catalogue', 'read')
  const { catalogueSchema } = await import('../../../catalogue/schema/schema.js')
  const expected = { table: 'companies', schema: catalogueSchema }
  return [engine, { of: 'catalogue', from: resolve(streams.cwd, catalogue), to: home.catalogue, expected }]
}

export const exportCommand: CommandFactory = ({ command }) =>
  command('export', 'Write the whole engine to a file that engine import reads')
    .argument('<file>', 'where to; an existing file is never replaced')
    .run((context, invocation) =>
      transfer(context, invocation, 'write', async (driver, file) => {
        const { exportEngine } = await import('../../../engine/tables/export.js')
        return exportEngine(driver, file)
      }),
    )

export const importCommand: CommandFactory = ({ command }) =>
  command('import', 'Import an exported engine into a database without a workspace')
    .argument('<file>', 'a file that engine export wrote')
    .run((context, invocation) =>
      transfer(context, invocation, 'read', async (driver, file) => {
        const { importEngine } = await import('../../../engine/tables/export.js')
        return importEngine(driver, file)
      }),
    )

async function transfer(
  context: Context,
  { args: [name = ''] }: Invocation,
  use: FileUse,
  work: (driver: Driver, file: string) => Promise<number>,
): Promise<number> {
  context.claimFile(name, 'FILE', use)
  const file = resolve(context.streams.cwd, name)
  const driver = await openDatabase(context)
  await print(context, { file, rows: await work(driver, file) })
  return 0
}

async function openDatabase({ home, clock, onClose }: Context): Promise<Driver> {
  prepareHome(home)
  const { openEngineDatabase } = await import('../../../engine/tables/schema.js')
  const driver = await openEngineDatabase(home.engine, () => clock.now())
  onClose(() => driver.close())
  return driver
}

export const resetCommand: CommandFactory = ({ command }) =>
  command('reset', 'Delete the engine: all workspaces, members, keys and the ledger').printResult(
    async (context) => {
      const { databaseFile, removeDatabase, whileUnused } = await import(
        '../../../storage/database/database-file.js'
      )
      const file = databaseFile(context.home.engine)
      if (existsSync(file))
        await confirmLoss(context, `This deletes ${file}: workspaces, members, keys and the ledger.`)
      const ids = existsSync(file) ? await readWorkspaceIds(file) : []
      const deleted = whileUnused(file, () => removeDatabase(file))
      for (const id of ids) forgetKey(context.home, localOrigin(id), context.ids.uuid())
      if (deleted.length === 0) context.notify('There was no engine to delete.')
      return { deleted }
    },
  )

/** Returns the workspaces whose keys this machine may hold; none when the database cannot be read. */
async function readWorkspaceIds(file: string): Promise<string[]> {
  const { openEngineDatabase } = await import('../../../engine/tables/schema.js')
  try {
    const store = await openEngineDatabase(file)
    try {
      return (await store.read(listWorkspaces)).map(({ id }) => id)
    } finally {
      await store.close()
    }
  } catch {
    return []
  }
}
