import { Command, Option } from 'commander'
import { observedNote } from '../../api/operations/facts.js'
import { type Operation, operations } from '../../api/operations/table.js'
import {
  asGroup,
  type CommandEnvironment,
  type CommandFactory,
  checkWord,
  ProspectCommand,
} from '../options/command-environment.js'
import { type TargetOption, withGlobalsOf, wordsOf } from '../options/global-options.js'
import { optionValues } from '../options/schema-options.js'
import { limitsText, priceText } from '../output/text.js'
import texts from './command-summaries.json' with { type: 'json' }
import { operationCommand } from './operation-command.js'

const headings = {
  lookups: 'Look up:',
  account: 'Saved, and your account:',
  machine: 'Your machine:',
  local: 'Practice engine and data:',
  servers: 'Servers:',
} as const

/**
 * A hand-written command: its heading in help, and its code, which is loaded when it is used. `target` are those of the options
 * that choose a target which it reads, with all commands below it: all of them where it is absent.
 */
type Handwritten = readonly [
  heading: 'lookups' | 'machine' | 'local' | 'servers',
  load: () => Promise<(environment: CommandEnvironment) => Command>,
  target?: readonly TargetOption[],
]

/** Of commands about this machine, whatever target is in use. */
const none: readonly TargetOption[] = []

/** The commands that are not derived from the operation table, in the order of help. Their lines of help are in `command-summaries.json`. */
const handwritten: Readonly<Record<string, Handwritten>> = {
  init: ['machine', async () => (await import('../commands/setup/login.js')).initCommand],
  login: ['machine', async () => (await import('../commands/setup/login.js')).loginCommand],
  logout: ['machine', async () => (await import('../commands/setup/login.js')).logoutCommand],
  engine: ['local', async () => (await import('../commands/engine/workspace.js')).engineCommand, none],
  data: ['local', async () => (await import('../commands/data/data.js')).dataCommand, none],
  industries: ['local', async () => (await import('../commands/data/data.js')).industriesCommand, none],
  config: ['machine', async () => (await import('../commands/setup/profiles.js')).configCommand],
  profiles: ['machine', async () => (await import('../commands/setup/profiles.js')).profilesCommand],
  providers: [
    'local',
    async () => (await import('../commands/providers/providers.js')).providersCommand,
    ['profile', 'local'],
  ],
  ledger: ['machine', async () => (await import('../commands/ledger/ledger.js')).ledgerCommand],
  serve: ['servers', async () => (await import('../commands/serve/serve.js')).serveCommand],
  dashboard: ['servers', async () => (await import('../commands/serve/serve.js')).dashboardCommand, none],
  worker: ['servers', async () => (await import('../commands/serve/serve.js')).workerCommand],
  mcp: ['servers', async () => (await import('../commands/mcp/mcp.js')).mcpCommand],
  listen: ['servers', async () => (await import('../commands/listen/listen.js')).listenCommand],
  match: ['lookups', async () => (await import('../commands/match/match.js')).matchCommand],
  crm: ['lookups', async () => (await import('../commands/crm/crm.js')).crmCommand, ['profile', 'local']],
  push: ['lookups', async () => (await import('../commands/crm/push.js')).pushCommand, ['profile', 'local']],
  suppress: [
    'lookups',
    async () => (await import('../commands/suppress/suppress.js')).suppressCommand,
    ['profile', 'local', 'baseUrl', 'direct', 'insecureHttp'],
  ],
  runs: ['lookups', async () => (await import('../commands/runs/runs.js')).runsCommand],
  explain: ['lookups', async () => (await import('../commands/explain/explain.js')).explainCommand],
  flow: ['lookups', async () => (await import('../commands/flow/flow.js')).flowCommand],
  events: ['servers', async () => (await import('../commands/events/events.js')).eventsCommand, none],
  limits: ['machine', async () => (await import('../commands/limits/limits.js')).limitsCommand],
  doctor: ['machine', async () => (await import('../commands/doctor/doctor.js')).doctorCommand],
  api: ['machine', async () => (await import('../commands/api/api.js')).apiCommand],
  openapi: ['machine', async () => (await import('../commands/api/api.js')).openapiCommand, none],
  completion: [
    'machine',
    async () => (await import('../commands/completion/completion.js')).completionCommand,
    none,
  ],
  skills: ['machine', async () => (await import('../commands/skills/skills.js')).skillsCommand, none],
  commands: ['machine', async () => commandsCommand],
}

/** The lines of help of commands that are not derived from the operation table. */
const summaries: Readonly<Record<string, string>> = texts.summaries

const loadWritten = async (environment: CommandEnvironment, [, load, target]: Handwritten) =>
  (await load())(target ? environment.withTarget(...target) : environment)

/** Returns a command that is not derived from the operation table, by its words. */
export async function writtenCommand(
  environment: CommandEnvironment,
  words: string,
): Promise<ProspectCommand> {
  const [area = '', ...names] = words.split(' ')
  const row = handwritten[area]
  let command: Command | undefined = row && (await loadWritten(environment, row))
  for (const name of names) command = command?.commands.find((one) => one.name() === name)
  if (command instanceof ProspectCommand) return command
  throw new Error(`there is no command ${words}`)
}

/** What the program is for, in a line. */
export const purpose = 'Enrich companies and contacts. See the price first. Never pay twice.'

/** Builds the program for an argv: the branch it names, and all others as names with summaries. */
export async function buildProgram(environment: CommandEnvironment, argv: readonly string[]) {
  const words = wordsOf(argv)
  const program = environment.command('prospect', purpose)
  program
    .usage('<area> <command> [options]')
    .addOption(new Option('-V, --version', 'show the version').hideHelp())
  asGroup(program, async () => {
    const { printOverview } = await import('../commands/overview/overview.js')
    await printOverview(withGlobalsOf(environment.context, program), purpose)
  })
  const [area = ''] = words
  for (const [name, summary] of Object.entries(areas)) {
    const isNamed = name === area
    const command = isNamed ? await areaCommand(environment, name, words[1], argv) : stub(name, summary)
    program.addCommand(command.helpGroup(savedAreas.has(name) ? headings.account : headings.lookups))
  }
  for (const [name, row] of Object.entries(handwritten)) {
    const command = name === area ? await loadWritten(environment, row) : stub(name, summaries[name])
    program.addCommand(command.helpGroup(headings[row[0]]))
  }
  if (area !== '') checkWord(program, area)
  return program
}

const stub = (name: string, summary = ''): Command => new Command(name).description(summary).helpOption(false)

const rowsOf = (words: string): Operation[] => operations().filter(({ command }) => command === words)

async function areaCommand(
  environment: CommandEnvironment,
  area: string,
  word: string | undefined,
  argv: readonly string[],
): Promise<Command> {
  const own = rowsOf(area)
  const below = operations().filter(({ command }) => command.startsWith(`${area} `))
  const names = [...new Set(below.map(({ command }) => command.slice(area.length + 1)))]
  const isOwn = own.length > 0 && !names.includes(word ?? '')
  const command = isOwn
    ? await ofRows(environment, area, own, argv)
    : asGroup(environment.command(area, areas[area] ?? ''))
  for (const name of names) {
    const rows = rowsOf(`${area} ${name}`)
    const isNamed = name === word
    command.addCommand(isNamed ? await ofRows(environment, name, rows, argv) : stub(name, summaryOf(rows)))
  }
  const isOfPlural = rowsOf(`${area}s ${word}`).length > 0
  if (word !== undefined && (names.length > 0 || isOfPlural)) checkWord(command, word, `prospect ${area}`)
  return command
}

function ofRows(
  environment: CommandEnvironment,
  name: string,
  rows: readonly Operation[],
  argv: readonly string[],
): Promise<Command> {
  const row =
    rows.find(({ flag }) => flag !== undefined && argv.includes(`--${flag}`)) ??
    rows.find(({ flag }) => flag === undefined)
  if (!row) throw new Error(`no row without a flag for ${rows[0]?.command}`)
  const others = rows.filter((each) => each !== row)
  return operationCommand(environment, name, row, others)
}

function summaryOf(rows: readonly Operation[]): string {
  const flags = rows.flatMap(({ flag }) => (flag === undefined ? [] : [`--${flag}`]))
  const summary = rows.find(({ flag }) => flag === undefined)?.summary ?? ''
  return flags.length === 0 ? summary : `${summary} (also ${flags.join(', ')})`
}

const savedAreas: ReadonlySet<string> = new Set(['searches', 'lists', 'personas', 'credits', 'account'])

export const areas: Readonly<Record<string, string>> = texts.areas

/** A command, for programs to read: agents, and what writes the documents. */
export type MappedCommand = ReturnType<typeof facts> & Partial<ReturnType<typeof factsOfOperation>>

const commandsCommand: CommandFactory = (environment) =>
  environment
    .command('commands', 'Every command and option, for programs')
    .withTarget()
    .printResult(() => commandMap(environment), { columns: ['command', 'flag', 'summary', 'price'] })

async function commandMap(environment: CommandEnvironment): Promise<MappedCommand[]> {
  const derived = await Promise.all(
    operations().map(async (row) => {
      const words = row.command.split(' ')
      const command = await operationCommand(environment, words.at(-1) ?? '', row)
      return { ...facts(command, row.command), ...factsOfOperation(row) }
    }),
  )
  const written = await Promise.all(Object.values(handwritten).map((row) => loadWritten(environment, row)))
  return [...derived, ...written.flatMap((command) => leaves(command, command.name()))]
}

/** Returns a command and those below it, without groups. */
function leaves(command: Command, path: string): MappedCommand[] {
  const below = command.commands.flatMap((each) => leaves(each, `${path} ${each.name()}`))
  // A group hides its options; a command that works and has others below it does not.
  const acts = below.length === 0 || command.options.some((option) => !option.hidden)
  return acts ? [facts(command, path), ...below] : below
}

const factsOfOperation = (row: Operation) => ({
  /** The option that chooses it among commands of the same words. */
  ...(row.flag === undefined ? {} : { flag: `--${row.flag}` }),
  ...(row.observed ? { note: observedNote } : {}),
  operation: row.id,
  method: row.method,
  path: row.path,
  price: priceText(row),
  limits: limitsText(row),
  idempotent: row.idempotent,
})

function facts(command: Command, path: string) {
  return {
    /** The words after `prospect`. */
    command: path,
    summary: command.description(),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      required: argument.required,
      description: argument.description,
      ...(argument.argChoices ? { values: argument.argChoices } : {}),
    })),
    options: command.options.filter((option) => !option.hidden).map(toMappedOption),
  }
}

/** What an option takes by the name of its value; of others it is text, or one of several values. */
const typesByValue: Readonly<Record<string, string>> = {
  n: 'number',
  seconds: 'number',
  credits: 'number',
  share: 'number',
  file: 'file',
  folder: 'file',
  url: 'url',
  duration: 'duration',
  'key=value': 'object',
  'name=n': 'object',
  'field=Column': 'object',
  'field=column': 'object',
  json: 'json',
}

function typeOf({ flags, required, optional, description }: Option, words: readonly string[]): string {
  if (!required && !optional) return 'boolean'
  const value = /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1] ?? ''
  const known = typesByValue[value]
  if (known !== undefined) return known
  return /…|,/.test(value) || description.includes('repeatable') ? 'list' : words.length > 0 ? 'enum' : 'text'
}

function toMappedOption(option: Option) {
  const name = option.long ?? option.short ?? ''
  const words = option.argChoices ?? optionValues.get(option) ?? []
  return {
    flags: option.flags,
    name,
    description: option.description,
    type: typeOf(option, words),
    /** As it is written in the description; null without one. */
    default: /\bdefault: ([^;)]+)/.exec(option.description)?.[1] ?? null,
    takes_value: option.required || option.optional,
    ...(words.length === 0 ? {} : { values: words }),
    group: option.helpGroupHeading?.replace(/:$/, '') ?? null,
  }
}
