import { peekGlobals } from './argv.js'
import { outcomeOf } from './complain.js'
import type { Streams } from './context.js'
import { createContext, type World } from './create-context.js'
import { toleratePipes, write } from './io.js'
import { buildProgram } from './program.js'
import { createShell } from './shell.js'
import { version } from './version.js'

/** Runs one command: arguments without the program's own name, the outside world, and the exit code back. */
export async function main(argv: readonly string[], streams: Streams, world: World = {}): Promise<number> {
  toleratePipes(streams)
  const context = createContext(streams, world)
  const options = peekGlobals(argv)
  try {
    if (argv[0] === '--version' || argv[0] === '-V') {
      await write(streams.stdout, `${await version()}\n`)
      return 0
    }
    const shell = createShell(context)
    const words = argv[0] === 'help' ? [...argv.slice(1), '--help'] : [...argv]
    await (await buildProgram(shell, words)).parseAsync(words, { from: 'user' })
    return shell.exitCode()
  } catch (error) {
    return await outcomeOf(error, context, options)
  } finally {
    await context.close()
  }
}
