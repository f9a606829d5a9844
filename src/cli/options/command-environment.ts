import { Command, type ErrorOptions, Option } from 'commander'
import { areaOf, operations } from '../../api/operations/table.js'
import { nearest } from '../../csv/names.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { styledStream } from '../context/io.js'
import { print, type View } from '../output/output.js'
import { lookOf } from '../output/text.js'
import { addGlobals, globalsOf, groups } from './global-options.js'

/** The arguments and options that a command was given. */
export interface Invocation {
  readonly args: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
  readonly globals: GlobalOptions
}

/** Does the work of a command and returns its exit code; `undefined` means 0. */
export type Run = (invocation: Invocation) => Promise<number | undefined>

/** What all commands are created with. */
export interface CommandEnvironment {
  readonly context: Context
  /** Creates a command with the help and errors of all commands. */
  command(name: string, summary: string): Command
  /** Adds the global options and the work of a command. */
  action(command: Command, run: Run): Command
  /** Prints a result in the chosen format, to stdout or to `-o`. */
  print(body: unknown, globals: GlobalOptions, view?: View): Promise<void>
  /** Returns the exit code of the command that ran. */
  exitCode(): number
}

/** A command that suggests an option for an unknown one. */
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

/** Creates the environment of one invocation. */
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

/** Makes a command a group, which prints its help where none of its commands is given. */
export function asGroup(command: Command): Command {
  return addGlobals(command.addHelpOption(helpOption().hideHelp()), { hidden: true })
    .allowExcessArguments(true)
    .action(() => {
      const [word] = command.args
      if (word !== undefined) checkWord(command, word)
      command.help()
    })
}

/** Creates an area with its commands. */
export function createGroup(
  environment: CommandEnvironment,
  [name, summary]: readonly [name: string, summary: string],
  parts: readonly ((environment: CommandEnvironment) => Command)[],
): Command {
  const group = asGroup(environment.command(name, summary))
  for (const part of parts) group.addCommand(part(environment))
  return group
}

function configured(command: Command, context: Context): Command {
  const look = lookOf(context.streams.stdout, context.streams.env)
  command
    .exitOverride()
    .allowExcessArguments(false)
    .enablePositionalOptions()
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => styledStream(context.streams.stdout).write(text),
      // Commander throws an error with the same text, which is reported once, in our form.
      writeErr: () => {},
      outputError: () => {},
      getOutHelpWidth: () => Math.min(look.width, 110),
      getOutHasColors: () => look.isTerminal,
    })
    .configureHelp({
      styleTitle: look.bold,
      // Our descriptions already list the values of an option.
      optionDescription: (option) => option.description,
      helpWidth: Math.min(look.width, 110),
      minWidthToWrap: 16,
    })
  return command.addHelpOption(helpOption())
}

const helpOption = (): Option => new Option('-h, --help', 'show this help').helpGroup(groups.other)

/** Adds examples, without the leading `prospect`, and a note to the help of a command. */
export function guide(command: Command, examples: readonly string[], next = ''): Command {
  const lines = examples.map((example) => `  $ prospect ${example}`)
  const after = next === '' ? '' : `\n\n${next}`
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}${after}`)
}

/** Throws UsageError, with a suggestion, where a word is no command of its parent. */
export function checkWord(parent: Command, word: string, path: string = pathOf(parent)): void {
  const names = parent.commands.map((command) => command.name())
  if (names.includes(word)) return
  throw new UsageError(`${path} has no command "${word}".`, `${guess(word, names, path)} See: ${path} --help`)
}

function guess(word: string, names: readonly string[], path: string): string {
  const near = nearest(word, names)
  const guesses = [namedByApi(word, path), near === undefined ? [] : [`${path} ${near}`], elsewhere(word)]
  const meant = guesses.find(({ length }) => length > 0)
  return meant ? `Did you mean: ${meant.join(' or ')}?` : `It has: ${names.join(', ')}.`
}

/** Returns the commands of other areas that end in a word. */
function elsewhere(word: string): readonly string[] {
  const ending = operations().filter(({ command }) => command.endsWith(` ${word}`))
  return [...new Set(ending.map(({ command }) => `prospect ${command}`))]
}

/** Returns the commands of an area whose operation has this name in the API: in its path, or in its id. */
function namedByApi(word: string, path: string): readonly string[] {
  const name = word.replaceAll('-', '_')
  const inArea = operations().filter(({ id }) => path === `prospect ${areaOf(id)}`)
  return inArea
    .filter((row) => row.path.endsWith(`/${name}`) || row.id.endsWith(`.${name}`))
    .map(({ command, flag }) => `prospect ${command}${flag ? ` --${flag}` : ''}`)
}

const mostMeant = 3

/** Returns the options that an unknown one resembles: the nearest, else the first that share a word with it. */
export function suggestOptions(typed: string, options: readonly string[]): readonly string[] {
  const near = nearest(typed, options)
  if (near !== undefined) return [near]
  const one = singular(typed.replace(/^--/, ''))
  return options.filter((option) => option.split('-').map(singular).includes(one)).slice(0, mostMeant)
}

const singular = (word: string): string => word.replace(/s$/, '')

/** Returns the words of a command, from the program's name on. */
const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
