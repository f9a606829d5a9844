import type { BatchDialog, BatchPorts } from '../../batch/ports.js'
import type { RunHome, RunPorts } from '../../batch/run/ports.js'
import { isPostgres } from '../../storage/driver/connection.js'
import type { ClockContext, Context, HomeContext } from '../context/context.js'
import { prepareHome } from '../context/home.js'
import { interruptible } from '../context/interrupts.js'
import { placeWords } from '../options/databases.js'
import { readRemaining } from '../quote/limits.js'
import { profileName, targetNames } from '../target/resolve-target.js'
import { bulkOptions } from './bulk.js'
import { checkDatabase, distribute } from './distributed.js'
import type { BatchCommand } from './request.js'

/** Returns a batch with the context of its database: its engine is there, and so are the records of its run. */
export function withRunDatabase(
  context: Context,
  command: BatchCommand,
): { readonly context: Context; readonly command: BatchCommand } {
  const { choices, globals } = command
  const database = command.database ?? (choices.distribute ? context.home.engine : undefined)
  if (choices.distribute) checkDatabase(context, database, globals)
  const isShared = database !== undefined && isPostgres(database)
  return {
    context:
      database === undefined || database === context.home.engine ? context : context.withDatabase(database),
    command: isShared ? { ...command, database, place: placeWords(context, { database }) } : command,
  }
}

/** Returns what a batch needs of the context of its command. */
export function createPorts(context: Context, command: BatchCommand, dialog: BatchDialog): BatchPorts {
  const { globals } = command
  return {
    ...createRunPorts(context, command),
    sleep: (ms, signal) => context.sleep(ms, signal),
    interruptible: (work) => interruptible(context.streams, work),
    remaining: (operation, constants) => readRemaining(context, operation, constants, globals),
    dialog,
  }
}

/** Returns what a run needs of the context of its command. */
export function createRunPorts(context: Context, command: BatchCommand): RunPorts {
  const { globals } = command
  return {
    ...toRunHome(context),
    streams: context.streams,
    notify: (text) => context.notify(text, globals),
    target: {
      profile: profileName(context, globals),
      names: () => targetNames(context, globals),
      caller: () => context.caller(globals),
      apiKey: () => context.apiKey(globals),
      bulk: (run) => bulkOptions(context, command, run),
      distribute: (run, apiKey, signal) => distribute(context, command, run, apiKey, signal),
    },
  }
}

/** Returns what the records of runs need of a context. */
export const toRunHome = (context: ClockContext & HomeContext): RunHome => ({
  home: context.home,
  clock: context.clock,
  ids: context.ids,
  prepareHome: () => prepareHome(context.home),
  onClose: (work) => context.onClose(work),
})
