import { Command, type ErrorOptions, Option } from 'commander'
import type { Context, GlobalOptions } from '../context/context.js'
import { print, type View } from '../output/output.js'
import { lookOf } from '../output/terminal.js'
import { globalsOf } from './argv.js'
import { addGlobals, groups } from './flags.js'
import { checkWord, suggestOptions } from './suggest.js'

/** What a chosen command gets: its arguments, its own options, and the global ones. */
export interface Invocation {
  readonly args: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
  readonly globals: GlobalOptions
}

/** Does a command's work and answers its exit code; nothing means 0. */
export type Run = (invocation: Invocation) => Promise<number | undefined>

/** What commands are made with, the derived and the hand-written ones alike. */
export interface CommandEnvironment {
  readonly context: Context
  /** A command that behaves like all others: help, errors, global options. */
  command(name: string, summary: string): Command
  /** Gives a command its work. */
  action(command: Command, run: Run): Command
  /** Prints a result in the chosen format, to stdout or to `-o`. */
  print(body: unknown, globals: GlobalOptions, view?: View): Promise<void>
  /** The exit code of the command that ran. */
  exitCode(): number
}

/** A command that is asked for something, and says which option was meant by one it lacks. */
class SuggestingCommand extends Command {
  override error(message: string, options?: ErrorOptions): never {
    const typed = options?.code === 'commander.unknownOption' && /'(--[^'=]+)/.exec(message)?.[1]
    if (!typed) return super.error(message, options)
    const known = this.createHelp().visibleOptions(this)
    const meant = suggestOptions(
      typed,
      known.flatMap(({ long }) => long ?? []),
    )
    const [said] = message.split('\n')
    return super.error(meant.length > 0 ? `${said}\nDid you mean ${meant.join(' or ')}?` : `${said}`, options)
  }
}

/** Makes the shell of one invocation. */
export function createCommandEnvironment(context: Context): CommandEnvironment {
  let code = 0
  return {
    context,
    command: (name, summary) => configured(new SuggestingCommand(name).description(summary), context),
    action: (command, run) =>
      addGlobals(command).action(async () => {
        const globals = globalsOf(command)
        code = (await run({ args: command.args, options: command.opts(), globals })) ?? 0
      }),
    print: (body, globals, view) => print(context, body, globals, view),
    exitCode: () => code,
  }
}

/** An area without work of its own: without a command it shows what there is. */
export function asGroup(command: Command): Command {
  return addGlobals(command.addHelpOption(helpOption().hideHelp()), { hidden: true })
    .allowExcessArguments(true)
    .action(() => {
      const [word] = command.args
      if (word !== undefined) checkWord(command, word)
      command.help()
    })
}

function configured(command: Command, context: Context): Command {
  const look = lookOf(context.streams.stdout, context.streams.env)
  command
    .exitOverride()
    .allowExcessArguments(false)
    .enablePositionalOptions()
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => context.streams.stdout.write(text),
      // What commander would write is part of the error it throws, which is reported once, in our form.
      writeErr: () => {},
      outputError: () => {},
      getOutHelpWidth: () => Math.min(look.width, 110),
      getOutHasColors: () => look.isTerminal,
    })
    .configureHelp({
      styleTitle: look.bold,
      // What an option takes is part of its description.
      optionDescription: (option) => option.description,
      helpWidth: Math.min(look.width, 110),
      minWidthToWrap: 16,
    })
  return command.addHelpOption(helpOption())
}

const helpOption = (): Option => new Option('-h, --help', 'show this help').helpGroup(groups.other)

/** Ends a command's help with examples, written without the leading `prospect`, and with what to do next. */
export function guide(command: Command, examples: readonly string[], next = ''): Command {
  const lines = examples.map((example) => `  $ prospect ${example}`)
  const after = next === '' ? '' : `\n\n${next}`
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}${after}`)
}
