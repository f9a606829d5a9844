import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Driver } from '../../../storage/driver/connection.js'
import type { ClockContext, HomeContext } from '../../context/context.js'
import { prepareHome } from '../../context/home.js'
import { type CommandEnvironment, guide, type Invocation } from '../../options/command-environment.js'

/** `prospect engine export`: all of the engine's state in a file that any database takes. */
export function exportCommand(environment: CommandEnvironment): Command {
  const command = environment
    .command('export', 'Write all of the engine to a file that another database takes')
    .argument('<file>', 'where to; an existing file is never replaced')
  guide(
    command,
    ['engine export engine.ndjson'],
    'For moving between a file and PostgreSQL; a copy of a file is quicker made by: prospect engine backup\n' +
      'It holds workspaces, members, ledger, jobs, secrets that sign, and hashes of keys; it is readable by you only.',
  )
  return environment.action(command, (invocation) =>
    moved(environment, invocation, async (driver, file) => {
      const { exportEngine } = await import('../../../storage/engine/export.js')
      return exportEngine(driver, file)
    }),
  )
}

/** `prospect engine import`: brings an exported engine into an empty database. */
export function importCommand(environment: CommandEnvironment): Command {
  const command = environment
    .command('import', 'Bring an exported engine into a database that has no workspace yet')
    .argument('<file>', 'a file that engine export wrote')
  guide(
    command,
    ['engine import engine.ndjson'],
    'All of it is brought in, or nothing. Stop whatever uses the old database before you export it.\n' +
      'Then check it: prospect engine ledger verify',
  )
  return environment.action(command, (invocation) =>
    moved(environment, invocation, async (driver, file) => {
      const { importEngine } = await import('../../../storage/engine/export.js')
      return importEngine(driver, file)
    }),
  )
}

async function moved(
  environment: CommandEnvironment,
  { args: [name = ''], globals }: Invocation,
  work: (driver: Driver, file: string) => Promise<number>,
): Promise<number> {
  const { context } = environment
  const file = resolve(context.streams.cwd, name)
  const driver = await database(context)
  await environment.print({ file, rows: await work(driver, file) }, globals)
  return 0
}

async function database({ home, clock, onClose }: ClockContext & HomeContext): Promise<Driver> {
  prepareHome(home)
  const { openEngineDatabase } = await import('../../../storage/engine/store.js')
  const driver = await openEngineDatabase(home.engine, () => clock.now())
  onClose(() => driver.close())
  return driver
}
