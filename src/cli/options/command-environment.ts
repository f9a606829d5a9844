import { Command, type ErrorOptions, Option } from 'commander'
import { areaOf, operations } from '../../api/operations/table.js'
import { nearest } from '../../api/values/nearest.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { Context, FileUse, GlobalOptions } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { styledStream } from '../context/io.js'
import { openAdmin } from '../context/open-databases.js'
import { print, type View } from '../output/output.js'
import { lookOf } from '../output/text.js'
import { addGlobals, globalsOf, groups } from './global-options.js'

/** The arguments and options that a command was given. */
export interface Invocation {
  readonly args: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
  readonly globals: GlobalOptions
}

/** The work of a command. */
export type Work<T> = (context: Context, invocation: Invocation) => Promise<T>

/** Creates a command. */
export type CommandFactory = (environment: CommandEnvironment) => Command

/** What all commands are created with. */
export interface CommandEnvironment {
  readonly context: Context
  /** Creates a command with the help and errors of all commands. */
  command(name: string, summary: string): ProspectCommand
  /** Creates a command that groups others. */
  group(name: string, summary: string, parts: readonly CommandFactory[]): ProspectCommand
  /** Returns the exit code of the command that ran. */
  exitCode(): number
}

/** Creates the environment of one invocation. */
export function createCommandEnvironment(context: Context): CommandEnvironment {
  let code = 0
  const environment: CommandEnvironment = {
    context,
    command: (name, summary) =>
      new ProspectCommand(name, summary, context, (exit) => {
        code = exit
      }),
    group: (name, summary, parts) => {
      const group = asGroup(environment.command(name, summary))
      for (const part of parts) group.addCommand(part(environment))
      return group
    },
    exitCode: () => code,
  }
  return environment
}

/** A command with the help and errors of all commands. It suggests an option for an unknown one. */
export class ProspectCommand extends Command {
  readonly #context: Context
  readonly #onEnd: (exit: number) => void

  constructor(name: string, summary: string, context: Context, onEnd: (exit: number) => void) {
    super(name)
    this.#context = context
    this.#onEnd = onEnd
    const look = lookOf(context.streams.stdout, context.streams.env)
    this.description(summary)
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
      .addHelpOption(helpOption())
  }

  addOptions(options: readonly Option[]): this {
    for (const option of options) this.addOption(option)
    return this
  }

  /** Adds examples to the help, without the leading `prospect`. */
  addExamples(...examples: readonly string[]): this {
    const lines = examples.map((example) => `  $ prospect ${example}`)
    return this.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
  }

  /** Adds a paragraph to the end of the help. */
  addNote(text: string): this {
    return this.addHelpText('after', `\n${text}`)
  }

  /** Sets the work of the command, which returns its exit code; `undefined` means 0. */
  run(work: Work<number | undefined>): this {
    return addGlobals(this).action(async () => {
      const invocation = { args: this.args, options: this.opts(), globals: globalsOf(this) }
      claimFiles(this.#context, { ...invocation.options, ...invocation.globals })
      this.#onEnd((await work(this.#context, invocation)) ?? 0)
    })
  }

  /** Sets work with the engine's administration, whose result is printed. */
  printAdmin(work: (admin: Admin, ...rest: [Invocation, Context]) => Promise<unknown>, view?: View): this {
    return this.run(async (context, given) => {
      const admin = await openAdmin(context, given.globals)
      const result = await work(admin, given, context)
      // The times of an engine are those of its clock.
      const now = async () => (await admin.clock()).now
      if (result !== undefined) await print(context, result, given.globals, { now, ...view })
      return 0
    })
  }

  /** Sets the work of a command whose result is printed; `undefined` when the work has printed it. */
  printResult(work: Work<unknown>, view?: View): this {
    return this.run(async (context, invocation) => {
      const result = await work(context, invocation)
      if (result !== undefined) await print(context, result, invocation.globals, view)
      return 0
    })
  }

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

/** The options that name a file, as they are typed, and what a command does with it. */
const fileOptions: Readonly<Record<string, readonly [option: string, use: FileUse]>> = {
  csv: ['--csv', 'read'],
  input: ['--input', 'read'],
  apiKeyFile: ['--api-key-file', 'read'],
  secretFile: ['--secret-file', 'read'],
  output: ['-o', 'write'],
  rejects: ['--rejects', 'write'],
  summaryJson: ['--summary-json', 'write'],
}

/** Throws UsageError, before a command does anything, where it would replace a file that must not be. */
function claimFiles({ claimFile }: Context, options: Readonly<Record<string, unknown>>): void {
  for (const [name, [option, use]] of Object.entries(fileOptions)) {
    const path = options[name]
    if (typeof path === 'string' && path !== '' && path !== '-') claimFile(path, option, use)
  }
}

/** Makes a command a group, which prints its help where none of its commands is given. */
export function asGroup<T extends Command>(command: T): T {
  return addGlobals(command.addHelpOption(helpOption().hideHelp()), { hidden: true })
    .allowExcessArguments(true)
    .action(() => {
      const [word] = command.args
      if (word !== undefined) checkWord(command, word)
      command.help()
    })
}

const helpOption = (): Option => new Option('-h, --help', 'show this help').helpGroup(groups.other)

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
