import { resolve } from 'node:path'
import { writeTo } from '../../runs/output/writer.js'
import { type Context, type GlobalOptions, type Streams, version } from '../context/context.js'
import { formatSetting } from '../context/home.js'
import { openLog, watchStreams } from '../context/io.js'
import { createCommandEnvironment, type StartCommand } from '../options/command-environment.js'
import { peekGlobals } from '../options/global-options.js'
import { readHelp } from '../options/help.js'
import { outcomeOf } from '../output/print.js'
import { createContext, type Overrides } from '../target/create.js'
import { callOperation } from './operation-command.js'
import { buildProgram, purpose, writtenCommand } from './program.js'

export { escapeControls } from '../../api/values/json.js'
export { outputOf } from '../context/plain-output.js'

/** Runs one command: arguments without the program's own name, the outside world, and the exit code back. */
export async function main(
  argv: readonly string[],
  streams: Streams,
  overrides: Overrides = {},
): Promise<number> {
  const start: StartCommand = {
    command: ({ command, args = [], options = {} }, globals, own, given) =>
      inContext(own, { ...overrides, ...given }, globals, async (context) => {
        const environment = createCommandEnvironment(context, start)
        const written = await writtenCommand(environment, command)
        await written.perform(context.withGlobals(globals), args, options)
        return environment.exitCode()
      }),
    operation: (call, globals, own, given) =>
      inContext(own, { ...overrides, ...given }, globals, (context) =>
        callOperation(context.withGlobals(globals), call),
      ),
  }
  const peeked = peekGlobals(argv)
  return inContext(streams, overrides, peeked, (context) => runCommand(context, argv, start, peeked.log))
}

/** Does the work of one command in a context of its own. `globals` are those that the report of an error needs. */
async function inContext(
  streams: Streams,
  overrides: Overrides,
  globals: GlobalOptions,
  work: (context: Context) => Promise<number>,
): Promise<number> {
  const outputFailure = watchStreams(streams)
  const context = createContext(streams, overrides)
  const report = (error: unknown) => {
    const known = context.withGlobals(globals)
    return outcomeOf(error, known.withGlobals({ terminalFormat: formatSetting(known) }))
  }
  try {
    const code = await work(context).catch(report)
    const failure = code === 0 ? await outputFailure() : undefined
    const exit = failure ? await report(failure) : code
    context.log?.end(exit)
    return exit
  } finally {
    await context.close()
  }
}

/** Runs a command, with the log of `--log`. Returns its exit code. */
async function runCommand(context: Context, argv: readonly string[], start: StartCommand, log?: string) {
  if (log) {
    context.claimFile(log, '--log')
    const path = resolve(context.streams.cwd, log)
    context.log = openLog(path, () => context.clock.now(), context.redact)
  }
  if (['--version', '-V', 'version'].includes(argv[0] ?? '')) {
    const installed = context.streams.installation?.()
    const lines = [
      await version(),
      ...(installed ? [`Installed ${installed.how}, in ${installed.folder}`] : []),
    ]
    await writeTo(context.streams.stdout, lines.map((line) => `${line}\n`).join(''))
    return 0
  }
  if (argv.length === 0) {
    const { printOverview } = await import('../commands/overview/overview.js')
    await printOverview(context, purpose)
    return 0
  }
  if (argv[0] === '__complete') {
    const { completeWords } = await import('./complete.js')
    await completeWords(createCommandEnvironment(context, start), argv.slice(1))
    return 0
  }
  const { argv: words, topic } = readHelp(argv)
  const environment = createCommandEnvironment(context, start, topic)
  await (await buildProgram(environment, words)).parseAsync(words, { from: 'user' })
  return environment.exitCode()
}
