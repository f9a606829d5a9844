import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { forgetKey, localOrigin } from '../../context/credentials.js'
import { type CommandEnvironment, guide } from '../../options/command-environment.js'
import { confirmLoss } from '../../output/prompt.js'

/** `prospect engine reset`: deletes the engine with all its workspaces; the catalogue stays. */
export function resetCommand(environment: CommandEnvironment): Command {
  const command = environment.command(
    'reset',
    'Delete the engine: all workspaces, members, keys and the ledger',
  )
  guide(
    command,
    ['engine reset --yes'],
    'The catalogue stays. An engine that is in use is not deleted: stop its server first.\n' +
      'The next command creates a new workspace; or: prospect init',
  )
  return environment.action(command, async ({ globals }) => {
    const { context } = environment
    const { databaseFile, removeDatabase, whileUnused } = await import(
      '../../../storage/database/database-file.js'
    )
    const file = databaseFile(context.home.engine)
    if (existsSync(file))
      await confirmLoss(context, `This deletes ${file}: workspaces, members, keys and the ledger.`, globals)
    const ids = existsSync(file) ? await workspaceIds(file) : []
    const deleted = whileUnused(file, () => removeDatabase(file))
    for (const id of ids) forgetKey(context.home, localOrigin(id), context.ids.uuid())
    if (deleted.length === 0) context.notify('There was no engine to delete.', globals)
    await environment.print({ deleted }, globals)
    return 0
  })
}

/** The workspaces whose keys this machine may hold; none where the database cannot be read. */
async function workspaceIds(file: string): Promise<string[]> {
  const { openStore } = await import('../../../storage/engine/store.js')
  try {
    const store = await openStore(file)
    try {
      return (await store.read((reads) => reads.workspaces())).map(({ id }) => id)
    } finally {
      await store.close()
    }
  } catch {
    return []
  }
}
