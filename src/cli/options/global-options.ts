import { type Command, type Help, Option } from 'commander'
import { Refusal } from '../../api/calls/errors.js'
import { once, resultOr, withoutUndefined } from '../../api/values/objects.js'
import { crmNames } from '../../runs/output/crm-names.js'
import { formats } from '../../runs/output/formats.js'
import type { Context, GlobalOptions, StreamsContext } from '../context/context.js'
import { toFlag } from '../context/errors.js'
import { formatSetting, profileOf } from '../context/home.js'
import { styledStream } from '../context/io.js'
import { wrapText as wrapWords } from '../output/text.js'
import { notNegative, optionRows, positive, toOptions, word } from './values.js'

export const groups = {
  fields: 'Fields:',
  request: 'Request:',
  everyRequest: 'Every request:',
  batch: 'Many rows:',
  output: 'Output:',
  target: 'Target and key:',
  other: 'Other:',
} as const

/**
 * Adds the options of every command, except where it has one of that name, and those of `target` that choose a target, by
 * default all of them. The help of a group hides them.
 */
export function addGlobals<T extends Command>(
  command: T,
  { hidden = false, target = targetRows }: { hidden?: boolean; target?: readonly TargetOption[] } = {},
): T {
  const own = new Set(command.options.map(({ long }) => long))
  const unasked = new Set(targetRows.filter((name) => !target.includes(name)).map(toFlag))
  unasked.delete(refused)
  for (const option of hidden ? hiddenGlobals() : shownGlobals())
    if (!own.has(option.long) && !unasked.has(option.long ?? '')) command.addOption(option)
  return command
}

const refused = '--api-key'

const outputs = optionRows({
  format: ['<format>', `${formats.join(' | ')} (default: table on a terminal, else json)`, formats],
  json: ['', 'short for --format json; errors are JSON then, too'],
  jq: ['-q <expression>', 'filter the JSON with this jq expression'],
  fields: ['<a,b>', 'only these fields, in this order; a.b is field b of a'],
  output: ['-o <file>', 'write the result to this file; its extension sets the format'],
  quiet: ['', 'no progress and no notices'],
  verbose: ['', 'log requests and replies on stderr'],
  noColor: ['', 'no colours'],
})

const targets = optionRows({
  profile: ['<name>', 'the profile to use'],
  local: ['', 'use the local engine, whatever the profile says'],
  baseUrl: [
    '<url>',
    'the address of the server, which ends in /api/v2; several, of one database, with commas',
  ],
  direct: ['', 'talk to the server directly: no local ledger, pacing or stored answers'],
  insecureHttp: ['', 'allow an http address of another machine'],
  networkName: ['<word>', "the server's word for network in the names of fields", word],
  premiumName: ['<word>', "the server's word for premium in the names of fields", word],
  apiKeyFile: ['<file>', 'read the API key from a file'],
  apiKeyStdin: ['', 'read the API key from stdin'],
  apiKey: ['<key>', 'refused', refuseKey],
  timeout: ['<seconds>', 'timeout in seconds', positive],
  maxWait: ['<seconds>', 'seconds to wait for a rate limit (default: 10)', notNegative],
})

const others = optionRows({
  noInput: ['', 'never ask a question'],
  yes: ['-y', 'answer every question with yes'],
  lock: ['<name>', 'exit 15 while another command has the lock of this name'],
  log: ['<file>', 'append a log to this file: one JSON object per line'],
})

/** An option that chooses a target, its key, or how long its answers may take. */
export type TargetOption = Exclude<keyof typeof targets, 'apiKey'>

const targetRows = Object.keys(targets) as readonly TargetOption[]

export const isOfTarget = (flag: string): boolean => targetRows.some((name) => toFlag(name) === flag)

/** Those of them that are recorded with a run: where it is, and nothing that is secret or about time. */
export const targetNames = targetRows.filter((name) => !/^(?:apiKey|timeout|maxWait)/.test(name))

const globals = (isHidden: boolean): readonly Option[] =>
  Object.entries({ output: outputs, target: targets, other: others } as const).flatMap(([group, rows]) =>
    toOptions(rows).map((option) =>
      withOwnName(option)
        .helpGroup(groups[group as keyof typeof groups])
        .hideHelp(isHidden || option.long === refused),
    ),
  )

/** Commands share them: in some areas, thirty commands have them. */
const shownGlobals = once(() => globals(false))
const hiddenGlobals = once(() => globals(true))

/** Commander would store `--no-input` under the same name as `--input FILE`. */
function withOwnName(option: Option): Option {
  if (option.long === '--no-input') option.negate = false
  return option
}

function refuseKey(): never {
  throw new Refusal('usage.key_argument')
}

export const layoutOption = (): Option =>
  new Option('--layout <crm>', `columns for the import of ${crmNames.join(' | ')}, as CSV or .xlsx`)
    .choices(crmNames)
    .helpGroup(groups.output)

const names = [...shownGlobals(), layoutOption()]
  .filter(({ long }) => long !== refused && long !== '--no-input')
  .map((option) => option.attributeName())

/** The code of commander's error. */
export const unknownOption = 'commander.unknownOption'

/** Returns the global options of a command, given before or after its words. The last one counts. Throws for one that it has not. */
function globalsOf(command: Command): GlobalOptions {
  const chosen: Record<string, unknown> = {}
  const own = new Set(command.options.map((option) => option.attributeName()))
  for (const each of lineage(command)) {
    const values: Record<string, unknown> = each.opts()
    for (const name of names) {
      if (values[name] === undefined || each.getOptionValueSource(name) === 'default') continue
      // Given before the words of the command, where every option is taken.
      if (!own.has(name)) command.error(`error: unknown option '${toFlag(name)}'`, { code: unknownOption })
      chosen[name] = values[name]
    }
    if (values.noInput === true) chosen.input = false
  }
  return chosen as GlobalOptions
}

export function withGlobalsOf(context: Context, command: Command): Context {
  const given = context.withGlobals(globalsOf(command))
  return given.withGlobals({ terminalFormat: formatSetting(given) })
}

function lineage(command: Command): Command[] {
  return command.parent ? [...lineage(command.parent), command] : [command]
}

/** Returns the words that an argv begins with, without global options and their values. */
export function wordsOf(argv: readonly string[]): string[] {
  const options = shownGlobals()
  const flagsOf = (some: readonly Option[]) => new Set(some.flatMap(({ short, long }) => [short, long]))
  const known = flagsOf(options)
  const valued = flagsOf(options.filter(({ required }) => required))
  const words: string[] = []
  for (let at = 0; at < argv.length && argv[at] !== '--'; at++) {
    const word = argv[at] ?? ''
    if (!word.startsWith('-')) words.push(word)
    else if (valued.has(word)) at++
    // After an option of a command, a word may be its value.
    else if (!known.has(word.replace(/=.*/s, ''))) break
  }
  return words
}

/** Reads the global options that the report of an error needs, from an argv that may be invalid. */
export function peekGlobals(argv: readonly string[]): GlobalOptions {
  const valueAfter = (...flags: readonly string[]): string | undefined => {
    const at = argv.findLastIndex((word) => flags.includes(word.replace(/=.*/s, '')))
    const attached = /=(.*)/s.exec(argv[at] ?? '')?.[1]
    return attached ?? (at < 0 ? undefined : argv[at + 1])
  }
  const [output, log] = [valueAfter('--output', '-o'), valueAfter('--log')]
  const [format, profile] = [valueAfter('--format'), valueAfter('--profile')]
  return {
    json: argv.includes('--json'),
    verbose: argv.includes('--verbose'),
    quiet: argv.includes('--quiet'),
    direct: argv.includes('--direct'),
    ...withoutUndefined({ format: formats.find((each) => each === format), output, log, profile }),
  }
}

/** What the help of a command shows: its own options, those about a file, or everything. */
export type HelpTopic = 'own' | 'csv' | 'all'

/** Reads `help WORDS`, `WORDS help`, `WORDS --help`, `--help csv` and `--help all`; `--help` is left, at the end of the words. */
export function readHelp(argv: readonly string[]): { argv: readonly string[]; topic: HelpTopic } {
  const [first, second] = argv
  if (first === 'help' || (second === 'help' && argv.length === 2)) {
    const words = argv.filter((word, at) => at > 1 || !['help', '--help', '-h', 'version'].includes(word))
    return readHelp([...words, '--help'])
  }
  const ending = argv.indexOf('--')
  const at = argv.findIndex((word) => /^(?:-h|--help(?:=.*)?)$/.test(word))
  if (at < 0 || (ending >= 0 && ending < at)) return { argv, topic: 'own' }
  const attached = /=(.*)/.exec(argv[at] ?? '')?.[1]
  const word = attached ?? argv[at + 1]
  const topic = word === 'csv' || word === 'all' ? word : undefined
  const rest = argv.slice(at + (topic !== undefined && attached === undefined ? 2 : 1))
  return { argv: [...argv.slice(0, at), ...rest, '--help'], topic: topic ?? 'own' }
}

/** Headings that only `--help all` shows, since their options are the same in many commands. */
const shared: readonly string[] = [groups.everyRequest, groups.output, groups.target, groups.other]

/** Options of other groups that are also about a file. */
const alsoBatch: readonly string[] = ['--dry-run', '--max-age', '--refresh', '--output', '--layout']

const isAbout = (topic: HelpTopic, { helpGroupHeading = '', long }: Option): boolean => {
  if (topic === 'all') return true
  if (topic === 'csv') return helpGroupHeading === groups.batch || alsoBatch.includes(long ?? '')
  return long === '--csv' || (helpGroupHeading !== groups.batch && !shared.includes(helpGroupHeading))
}

/** What the help of a command says of its options: all, at most one line of each, or of groups of many only their names. */
export type HelpDetail = 'full' | 'lines' | 'names'

/** The most lines of the help of a command, unless all of its options are asked for. */
export const mostHelpLines = 45

/** Groups of more options are named only, where one line for each option is too much. */
const mostInGroup = 6

/** Returns the groups of which the help of a command has only the names of options, with these options. */
export function groupsByName(command: Command): ReadonlyMap<string, readonly Option[]> {
  const visible = command.options.filter((option) => !option.hidden && isAbout('own', option))
  const groupsOf = Map.groupBy(visible, ({ helpGroupHeading }) => helpGroupHeading ?? '')
  return new Map(
    [...groupsOf].filter(
      ([heading, options]) =>
        options.length > mostInGroup &&
        ![groups.request, ''].includes(heading) &&
        !options.some(({ description }) => description.includes('(required')),
    ),
  )
}

/** Returns how the help of a command is laid out: an option on one line where it fits, else wrapped or said in short. */
export function helpLayout(topic: HelpTopic, usual: Help, detail: HelpDetail = 'full'): Partial<Help> {
  return {
    visibleOptions: (command) => {
      const named = detail === 'names' ? groupsByName(command) : undefined
      return usual
        .visibleOptions(command)
        .filter((option) => isAbout(topic, option) && !named?.has(option.helpGroupHeading ?? ''))
    },
    // What an option says, too, is said once.
    visibleArguments: (command) => {
      const said = new Set(command.options.map(({ description }) => description.replace(notesAtEnd, '')))
      return usual.visibleArguments(command).filter(({ description }) => !said.has(description))
    },
    // Our descriptions already list the values of an option.
    optionDescription: ({ description }) => description,
    argumentDescription: ({ description, argChoices = [] }) =>
      [toSentence(description), ...(argChoices.length > 0 ? [argChoices.join(' | ')] : [])].join(': '),
    subcommandTerm: (command) => command.name(),
    padWidth: (command, helper) =>
      Math.min(usual.padWidth(command, helper), Math.floor((helper.helpWidth ?? 80) * widestTerm)),
    styleUsage(this: Help, text) {
      return this.boxWrap(text, (this.helpWidth ?? 80) - usageTitle.length).replaceAll(
        '\n',
        `\n${' '.repeat(usageTitle.length)}`,
      )
    },
    formatItem: (term, termWidth, text, helper) =>
      formatItem(term, termWidth, text, helper, detail !== 'full' && term.startsWith('-')),
    minWidthToWrap: 16,
  }
}

const usageTitle = 'Usage: '

/** The part of the width that the names of options take at most; longer names reach into their description. */
const widestTerm = 0.4

function formatItem(term: string, termWidth: number, whole: string, helper: Help, isShort: boolean): string {
  const width = helper.helpWidth ?? 80
  const column = termWidth + 4
  const from = Math.max(column, term.length + 4)
  const fits = (text: string) => from + text.length <= width
  const shorter = isShort && !fits(whole) ? shortened(whole) : []
  const text = shorter.find(fits) ?? shorter.at(-1) ?? whole
  if (fits(text)) return `  ${term}`.padEnd(from) + text
  const indent = ' '.repeat(column)
  const lines = helper.boxWrap(text, Math.max(width - column, 16)).split('\n')
  const head = term.length + 4 > column ? `  ${term}\n${indent}` : `  ${term}`.padEnd(column)
  return head + lines.join(`\n${indent}`)
}

/** Returns what is said of an option in fewer and fewer words; all of it for a required one, whose values are needed. */
function shortened(text: string): readonly string[] {
  if (/\(required\b/.test(text)) return [text]
  const sentence = text.replace(/(?:;| \(|,? such as ).*$/s, '')
  const clause = sentence.replace(/, .*$/s, '')
  return [sentence, clause, clause.replace(/(?<!^(?:With|Deliveries).*): .*$/s, '')]
}

/** What the description of an option says of its values, in brackets at its end. */
const notesAtEnd = / \(((?:required|repeatable|default: |[^()|]+ \| )[^()]*)\)$/

/** Returns text that begins with a capital, unless it begins with a list of values, which stay as they are typed. */
export const toSentence = (text: string): string =>
  /^\w+ \|/.test(text) ? text : `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`

/** Returns the line that says where the rest of a command's help is; an empty one where this is all of it. */
export function moreHelp(command: Command, topic: HelpTopic, detail: HelpDetail): string {
  const has = (heading: string) =>
    command.options.some(({ hidden, helpGroupHeading }) => !hidden && helpGroupHeading === heading)
  const more = [
    topic === 'own' && has(groups.batch) ? '--help csv for a file' : '',
    topic !== 'all' && has(groups.output)
      ? `--help all ${detail === 'full' ? 'for' : 'explains'} every option`
      : '',
  ].filter((part) => part !== '')
  return more.length === 0 ? '' : `More:     ${more.join(', ')}`
}

/** Adds that line to notes: below price and limits, else as a paragraph. */
export const withMore = (notes: readonly string[], more: string): readonly string[] =>
  more !== '' && /^Price:/m.test(notes[0] ?? '')
    ? [`${notes[0]}\n${more}`, ...notes.slice(1)]
    : [...notes, more]

/** Returns text wrapped to a width. Lines that end within a sentence are joined with the next one first. */
export function wrapText(text: string, width: number): string {
  const lines: string[] = []
  for (const line of text.split('\n')) {
    const last = lines.at(-1)
    const goesOn = last !== undefined && /^\S.*[^.:]$/.test(last) && /^[a-z\d-]/.test(line)
    if (goesOn) lines[lines.length - 1] = `${last} ${line}`
    else lines.push(line)
  }
  return lines.map((line) => wrapLine(line, width)).join('\n')
}

const hasLabel = /^(?:\w+: {2,}| +\S+ {2,})/

function wrapLine(line: string, width: number): string {
  // A command is copied whole.
  if (line.startsWith('  $ ')) return line
  const label = hasLabel.exec(line)?.[0] ?? /^ */.exec(line)?.[0] ?? ''
  const indent = ' '.repeat(label.length)
  return label + wrapWords(line.slice(label.length), width - label.length).join(`\n${indent}`)
}

/** Prints text on stdout, through a pager where it has more lines than the terminal. */
export function printPaged(context: Context, text: string): void {
  const { stdout } = context.streams
  const pager = pagerFor(context, text)
  if (pager === undefined || !isPaged(context, pager, text)) styledStream(stdout).write(text)
}

/** Returns the pager for a text: `PAGER`, else the setting, else `less`; `undefined` where it is printed plainly. */
function pagerFor({ streams, settings }: Context, text: string): string | undefined {
  const { stdout, env } = streams
  const { rows = Number.POSITIVE_INFINITY } = stdout as { readonly rows?: number }
  if (!stdout.isTTY || env.CI || env.TERM === 'dumb' || text.split('\n').length <= rows) return undefined
  // Help is printed where the settings cannot be read, too.
  const set = resultOr(undefined, () => profileOf(settings(), undefined).pager)
  const pager = env.PAGER ?? set ?? (process.platform === 'win32' ? '' : 'less')
  return ['', 'cat', 'off', 'none'].includes(pager.trim()) ? undefined : pager
}

/** Commands that the shell of the system does not find end with this status. */
const notFound = [126, 127]

/** Gives text to a pager until it ends. Returns false where the pager cannot be started. */
function isPaged({ streams }: StreamsContext, pager: string, text: string): boolean {
  const { signals, env } = streams
  // Ctrl-C ends a search within less, not this program.
  const ignore = () => {}
  signals?.on('SIGINT', ignore)
  // Loaded only here: it takes a tenth of the start of a command.
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const { status, error } = spawnSync(pager, {
    shell: true,
    input: text,
    stdio: ['pipe', 'inherit', 'ignore'],
    env: { LESS: 'FRX', ...env },
  })
  signals?.off('SIGINT', ignore)
  return (error as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT' && !notFound.includes(status ?? 0)
}
