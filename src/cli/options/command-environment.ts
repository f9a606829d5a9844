import { Argument, Command, type ErrorOptions, Help, Option } from 'commander'
import type { VendorSpending } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { areaOf, type OperationId, operations } from '../../api/operations/table.js'
import { nearest } from '../../api/values/nearest.js'
import { type Fields, withoutUndefined } from '../../api/values/objects.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { CommandCall, OperationCall } from '../../mcp/session.js'
import { resolveField } from '../../runs/output/columns.js'
import type { Context, FileUse, GlobalOptions, Streams } from '../context/context.js'
import { Stop } from '../context/errors.js'
import type { Taking } from '../context/in-process.js'
import { holdLock, openAdmin, requireWorkspace } from '../context/open-databases.js'
import { checkLayoutFormat, fieldsOf } from '../output/output.js'
import { checkJq, print, type View } from '../output/print.js'
import { namesOf, recordsIn } from '../output/records.js'
import { lookOf, shortenId, wrapText as wrapWords } from '../output/text.js'
import { commandsMeantBy, examplesOf, notesOf } from './command-notes.js'
import {
  addGlobals,
  isOfTarget,
  layoutOption,
  type TargetOption,
  unknownOption,
  withGlobalsOf,
} from './global-options.js'
import {
  groups,
  groupsByName,
  type HelpDetail,
  type HelpTopic,
  helpLayout,
  moreHelp,
  mostHelpLines,
  printPaged,
  toSentence,
  withMore,
  wrapText,
} from './help.js'
import { type OptionRows, type OptionsOf, toOptions } from './values.js'

export interface Invocation<Options = Fields> {
  readonly args: readonly string[]
  readonly options: Options
}

type Work<T, Options> = (context: Context, invocation: Invocation<Options>) => Promise<T>

// biome-ignore lint/suspicious/noConfusingVoidType: most works return nothing
type Ended = number | void

export type CommandFactory = (environment: CommandEnvironment) => Command

export interface CommandEnvironment {
  readonly context: Context
  command(name: string, summary: string): ProspectCommand
  group(name: string, summary: string, parts: readonly (Command | CommandFactory)[]): ProspectCommand
  exitCode(): number
  readonly start: StartCommand
  /** Returns an environment whose commands have only those of the options that choose a target. */
  withTarget(...names: readonly TargetOption[]): CommandEnvironment
}

/** What differs from a command that a person starts. */
export interface StartedCommand extends Taking {
  readonly root: string
  readonly vendors: VendorSpending
  readonly moreCredits?: number
}

/** Does the work of a command within this process. Returns its exit code. */
export interface StartCommand {
  /** One that is no operation, with values in place of words. */
  command(call: CommandCall, globals: GlobalOptions, streams: Streams, given: StartedCommand): Promise<number>
  /** The command of an operation, with a request in place of words. */
  operation(
    call: OperationCall,
    globals: GlobalOptions,
    streams: Streams,
    given: StartedCommand,
  ): Promise<number>
}

/** Creates the environment of one invocation, which may be a request for help. */
export function createCommandEnvironment(context: Context, start: StartCommand, topic: HelpTopic = 'own') {
  let code = 0
  const environmentOf = (target?: readonly TargetOption[]): CommandEnvironment => {
    const environment: CommandEnvironment = {
      context,
      start,
      command: (name, summary) => {
        const command = new ProspectCommand(name, summary, context, topic, (exit) => {
          code = exit
        })
        return target ? command.withTarget(...target) : command
      },
      group: (name, summary, parts) => {
        const group = asGroup(environment.command(name, summary))
        for (const part of parts) group.addCommand(part instanceof Command ? part : part(environment))
        return group
      },
      exitCode: () => code,
      withTarget: (...names) => environmentOf(names),
    }
    return environment
  }
  return environmentOf()
}

export class ProspectCommand<Options = Fields> extends Command {
  #operation: OperationId | undefined
  readonly #notes: string[] = []
  #reads: 'engine' | 'records' | undefined
  #work: Work<Ended, Options> | undefined
  #target: readonly TargetOption[] | undefined

  constructor(
    name: string,
    summary: string,
    private readonly context: Context,
    private readonly topic: HelpTopic,
    private readonly onEnd: (exit: number) => void,
  ) {
    super(name)
    const look = lookOf(context.streams.stdout, context.streams.env)
    const width = Math.min(look.width, 110)
    this.description(summary)
      .exitOverride()
      .allowExcessArguments(false)
      .enablePositionalOptions()
      .helpCommand(false)
      .configureOutput({
        // Commander throws an error with the same text, which is reported once, in our form.
        writeErr: () => {},
        outputError: () => {},
        getOutHelpWidth: () => width,
        getOutHasColors: () => look.isTerminal,
      })
      .configureHelp({
        ...helpLayout(topic, new Help()),
        styleTitle: look.bold,
        helpWidth: width,
      })
      .addHelpOption(helpOption())
  }

  override addOption(option: Option): this {
    option.description = toSentence(option.description)
    return super.addOption(option)
  }

  addOptions(options: readonly Option[]): this {
    for (const option of options) this.addOption(option)
    return this
  }

  withOptions<const Rows extends OptionRows>(rows: Rows): ProspectCommand<Options & OptionsOf<Rows>> {
    return this.addOptions(toOptions(rows)) as unknown as ProspectCommand<Options & OptionsOf<Rows>>
  }

  /** Adds the argument and the option that name things of a kind: by ids, their beginnings, or `--last`. */
  addStoredId({ noun, list }: StoredKind, several = false): this {
    const one = new Argument('[id]', `id, or its beginning, as ${list} shows it`)
    const many = new Argument('[id...]', `ids, or their beginnings, as ${list} shows them`)
    return this.addArgument(several ? many : one).addOption(new Option('--last', `the newest ${noun}`))
  }

  addLayout(): this {
    return this.addOption(layoutOption())
  }

  /** Adds the examples of an operation to the help, beside those in `command-notes.json`. */
  addExamplesOf(id: OperationId): this {
    this.#operation = id
    return this
  }

  /** Adds a paragraph to the end of the help, beside the one in `command-notes.json`. */
  addNote(text: string): this {
    this.#notes.push(text)
    return this
  }

  /** Returns the whole help: usage and options, notes, examples, and where the rest is. */
  override helpInformation(): string {
    const details: readonly HelpDetail[] = this.topic === 'own' ? ['full', 'lines', 'names'] : ['full']
    let text = ''
    for (const detail of details) {
      text = this.#helpWith(detail)
      if (text.split('\n').length <= mostHelpLines) break
    }
    return text
  }

  #helpWith(detail: HelpDetail): string {
    this.configureHelp({ ...this.configureHelp(), ...helpLayout(this.topic, new Help(), detail) })
    const { helpWidth = 80, styleTitle } = this.createHelp()
    const ofFile = this.topic === 'csv'
    const { examples: lines = [], first = [], note = [] } = notesOf(pathOf(this))
    const more = this.#operation === undefined ? [] : examplesOf(this.#operation)
    const paragraphs = [...(note.length > 0 ? [note.join('\n')] : []), ...this.#notes]
    const notes = ofFile ? [] : paragraphs.map((text) => wrapText(text, helpWidth))
    const all = [...lines, ...more].filter((example) => !ofFile || example.includes(' --csv '))
    const examples =
      all.length > 0 ? [styleTitle('Examples:'), ...all.map((each) => `  $ prospect ${each}`)] : []
    const [usage = '', summary = '', ...options] = super.helpInformation().trimEnd().split('\n\n')
    return [
      usage,
      summary,
      wrapText(first.join('\n'), helpWidth),
      ...(detail === 'names' ? [...groupsByName(this)] : []).map(([heading, of]) => {
        const names = wrapWords(of.map(({ long, short }) => long ?? short).join(', '), helpWidth - 2)
        return `${styleTitle(heading)}\n  ${names.join('\n  ')}`
      }),
      options.join('\n\n'),
      ...withMore(notes, wrapText(moreHelp(this, this.topic, detail), helpWidth)),
      examples.join('\n'),
    ]
      .flatMap((text) => (text === '' ? [] : [`${text}\n`]))
      .join('\n')
  }

  override outputHelp(): void {
    printPaged(this.context, this.helpInformation())
  }

  /** Chooses which of the options that choose a target the command has; by default it has all of them. */
  withTarget(...names: readonly TargetOption[]): this {
    this.#target = names
    return this
  }

  /** Adds the options of every command, and of those that choose a target those that it reads. */
  addGlobals(hidden = false): this {
    return addGlobals(this, { hidden, ...(this.#target && { target: this.#target }) })
  }

  /** Makes the command only read, so that it refuses where there is no workspace to read. */
  reads(reads: 'engine' | 'records'): this {
    this.#reads = reads
    return this
  }

  /** Sets the work of the command, which returns its exit code; without one it is 0. */
  run(work: Work<Ended, Options>): this {
    this.#work = work
    return this.addGlobals().action(() => this.#begin(withGlobalsOf(this.context, this), this.args))
  }

  /** Does the work of the command with values in place of words: of options, a text is read as one that is typed. */
  async perform(context: Context, args: readonly string[], options: Fields): Promise<void> {
    for (const [name, value] of Object.entries(withoutUndefined(options))) {
      const option = this.options.find((one) => one.attributeName() === name)
      if (!option) throw new Error(`${pathOf(this)} has no option ${name}`)
      if (typeof value === 'string') this.parseOptions([`${option.long}=${value}`])
      else this.setOptionValue(name, value)
    }
    await this.#begin(context, args)
  }

  async #begin(context: Context, args: readonly string[]): Promise<void> {
    const { globals } = context
    const invocation = { args, options: this.opts() as Invocation['options'] & Options }
    await checkFormats(globals)
    claimFiles(context, { ...invocation.options, ...globals })
    checkLayoutFormat(globals)
    const typed = Object.keys(this.opts()).filter((name) => this.getOptionValueSource(name) !== 'default')
    context.log?.write('start', { command: pathOf(this), options: typed })
    const { csv, dryRun, database, shared } = invocation.options
    // A batch holds the lock that is recorded with its run.
    if (globals.lock !== undefined && dryRun !== true && csv === undefined && this.name() !== 'resume')
      await holdLock(context, globals.lock)
    // The options about a shared database name it.
    if (this.#reads && dryRun !== true && database === undefined && shared !== true)
      await requireWorkspace(context, this.#reads)
    this.onEnd((await this.#work?.(context, invocation)) ?? 0)
  }

  printAdmin(
    work: (admin: Admin, ...rest: [Invocation<Options>, Context]) => Promise<unknown>,
    view?: View,
  ): this {
    return this.run(async (context, given) => {
      const admin = await openAdmin(context)
      const result = await work(admin, given, context)
      // The times of an engine are those of its clock.
      const now = async () => (await admin.clock()).now
      if (result !== undefined) await print(context, result, { now, ...view })
    })
  }

  /** Sets the work of a command whose result is printed; `undefined` when the work has printed it. */
  printResult(work: Work<unknown, Options>, view?: View): this {
    return this.run(async (context, invocation) => {
      const result = await work(context, invocation)
      if (result !== undefined) await print(withNames(context, result, view), result, view)
    })
  }

  override error(message: string, options?: ErrorOptions): never {
    const typed = options?.code === unknownOption && /'(--[^'=]+)/.exec(message)?.[1]
    if (!typed) return super.error(message, options)
    const known = this.options.filter(({ hidden }) => !hidden)
    const names = known.flatMap(({ long }) => long ?? [])
    const meant = isOfTarget(typed) ? [] : suggestOptions(typed, names)
    const [said] = message.split('\n')
    const hint = meant.length > 0 ? `Did you mean ${meant.join(' or ')}?` : ''
    const why = isOfTarget(typed) && this.#target?.length === 0 ? `${pathOf(this)} asks no server.` : hint
    return super.error(why === '' ? `${said}` : `${said}\n${why}`, options)
  }
}

/** Returns the context with `--fields` as a result of this machine has them. Throws a Refusal for one that it has not. */
function withNames(context: Context, result: unknown, view?: View): Context {
  const fields = fieldsOf(context.globals)
  const names = fields ? namesOf(recordsIn(result, view?.columns).rows) : []
  if (!fields || names.length === 0) return context
  return context.withGlobals({ fields: fields.map((field) => resolveField(field, names)).join(',') })
}

/** The options that name a file, as they are typed, and what a command does with it. */
const fileOptions: Readonly<Record<string, readonly [option: string, use: FileUse]>> = {
  csv: ['--csv', 'read'],
  input: ['--input', 'read'],
  apiKeyFile: ['--api-key-file', 'read'],
  secretFile: ['--secret-file', 'read'],
  keyFile: ['--key-file', 'read'],
  output: ['-o', 'write'],
  rejects: ['--rejects', 'write'],
  review: ['--review', 'write'],
  settings: ['--settings', 'read'],
  summaryJson: ['--summary-json', 'write'],
  log: ['--log', 'write'],
}

/** Throws a Refusal where two options choose the format, and for an expression that jq does not understand. */
async function checkFormats({ json, format, jq, fields }: GlobalOptions): Promise<void> {
  if (jq !== undefined) {
    const other = format !== undefined && format !== 'json' ? `--format ${format}` : '--fields'
    if (other !== '--fields' || fields !== undefined) throw new Refusal('usage.jq_or_other', { other })
    await checkJq(jq)
  }
  if (json && format !== undefined && format !== 'json') throw new Refusal('usage.json_or_format', { format })
}

/** Throws a Refusal, before a command does anything, where a file is missing, or one would be replaced that must not be. */
export function claimFiles({ claimFile }: Context, options: Fields): void {
  for (const [name, [option, use]] of Object.entries(fileOptions)) {
    const path = options[name]
    if (typeof path !== 'string' || path === '' || path === '-') continue
    // `--csv --quiet` forgot the file, and the next option would be taken for it.
    if (/^--[a-z]/.test(path)) throw new Refusal('usage.file_forgotten', { option, path })
    claimFile(path, option, use)
  }
}

/** Makes a command a group, which prints its help, or does other work, where none of its commands is given. */
export function asGroup(
  command: ProspectCommand,
  work: () => Promise<void> | void = () => command.outputHelp(),
): ProspectCommand {
  return command
    .addHelpOption(helpOption().hideHelp())
    .addGlobals(true)
    .allowExcessArguments(true)
    .action(() => {
      const [word] = command.args
      if (word !== undefined) checkWord(command, word)
      return work()
    })
}

const helpOption = (): Option =>
  new Option('-h, --help', 'Show this help; --help all shows every option').helpGroup(groups.other)

/** Throws a Refusal, with a suggestion, where a word is no command of its parent. */
export function checkWord(parent: Command, word: string, path: string = pathOf(parent)): void {
  const names = parent.commands.map((command) => command.name())
  if (names.includes(word)) return
  throw new Refusal('usage.no_command', { path, word, guess: guess(word, names, path) })
}

function guess(word: string, names: readonly string[], path: string): string {
  const near = nearest(word, names)
  const others = path === 'prospect' ? commandsMeantBy(word) : []
  const commands = [...new Set(operations().map(({ command }) => `prospect ${command}`))]
  const guesses = [
    others.map((command) => `prospect ${command}`),
    // The area whose name is the plural: `accounts enrich` for `account enrich`.
    commands.filter((command) => command === `${path}s ${word}`),
    namedByApi(word, path),
    near === undefined ? [] : [`${path} ${near}`],
    commands.filter((command) => command.endsWith(` ${word}`)),
  ]
  const meant = guesses.find(({ length }) => length > 0)
  return meant ? `Did you mean: ${meant.join(' or ')}?` : `It has: ${names.join(', ')}.`
}

function namedByApi(word: string, path: string): readonly string[] {
  const name = word.replaceAll('-', '_')
  const inArea = operations().filter(({ id }) => path === `prospect ${areaOf(id)}`)
  return inArea
    .filter((row) => row.path.endsWith(`/${name}`) || row.id.endsWith(`.${name}`))
    .map(({ command, flag }) => `prospect ${command}${flag ? ` --${flag}` : ''}`)
}

const maxSuggestions = 3

/** Returns the options that an unknown one resembles: those that end in it, the nearest, or the first that share a word. */
function suggestOptions(typed: string, options: readonly string[]): readonly string[] {
  const longer = options.filter((option) => option.endsWith(`-${typed.replace(/^--/, '')}`))
  if (longer.length > 0) return longer.slice(0, maxSuggestions)
  const near = nearest(typed, options)
  // Other commands say it in more words: --company-domain, where this one has --domain.
  const shorter = options.filter((option) => typed.endsWith(option.slice(1)))
  if (near !== undefined || shorter.length > 0)
    return [...new Set([...(near === undefined ? [] : [near]), ...shorter])].slice(0, maxSuggestions)
  const one = singular(typed.replace(/^--/, ''))
  return options.filter((option) => option.split('-').map(singular).includes(one)).slice(0, maxSuggestions)
}

const singular = (word: string): string => word.replace(/s$/, '')

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()

/** What commands name by an id: a noun such as `run`, and the command that lists them, without the leading `prospect`. */
export type StoredKind = Readonly<Record<'noun' | 'list', string>>

/** Returns ids that begin so, the newest first; at most so many are needed. */
export type StoredIds = (prefix: string, limit: number) => Promise<readonly string[]>

/** Returns how ids are found among all of them, newest first. */
export const among =
  (ids: readonly string[]): StoredIds =>
  async (prefix) =>
    ids.filter((id) => id.startsWith(prefix))

const maxCandidates = 6

/** Throws a Refusal for no id or an ambiguous one, and a `Stop` (exit 9) for one that nothing has. */
export async function resolveIds(
  { args, options }: Pick<Invocation, 'args' | 'options'>,
  kind: StoredKind,
  ids: StoredIds,
): Promise<readonly string[]> {
  if (options.last === true) {
    if (args.length > 0) throw new Refusal('usage.last_or_id')
    const [id] = await ids('', 1)
    if (id === undefined) throw new Stop(`There is no ${kind.noun} yet.`, exitCodes.notFound, '', 'not_found')
    return [id]
  }
  if (args.length === 0) throw new Refusal('usage.no_id', { noun: kind.noun, list: kind.list })
  const whole = async (given: string): Promise<string> => {
    const id = await expandId(given, kind.noun, ids)
    if (id !== undefined) return id
    const hint = `See what there is: prospect ${kind.list}`
    throw new Stop(`There is no ${kind.noun} ${given}.`, exitCodes.notFound, hint, 'not_found')
  }
  return Promise.all(args.map(whole))
}

/** Returns the whole id of which `given` is the beginning; `undefined` where nothing begins so. Throws a Refusal for several. */
export async function expandId(given: string, noun: string, ids: StoredIds) {
  const found = given === '' ? [] : await ids(given, maxCandidates)
  if (found.length < 2 || found.includes(given)) return found.includes(given) ? given : found[0]
  const shown = found.slice(0, maxCandidates - 1).map((id) => shortenId(id, found))
  const more = found.length > shown.length ? ' and others' : ''
  throw new Refusal('usage.id_ambiguous', { given, noun, known: shown, more })
}
