import type { Command, Help, Option } from 'commander'
import { resultOr } from '../../api/values/objects.js'
import type { Context, StreamsContext } from '../context/context.js'
import { profileOf } from '../context/home.js'
import { styledStream } from '../context/io.js'
import { wrapText as wrapWords } from '../output/text.js'

/**
 * The headings of options in help. What help says of an option stands in its row: in the file of its command, for files in
 * `cli/batch/options.ts`, for every command in `global-options.ts`; of a field of a request, in the description of its schema.
 */
export const groups = {
  fields: 'Fields:',
  request: 'Request:',
  everyRequest: 'Every request:',
  batch: 'Many rows:',
  output: 'Output:',
  target: 'Target and key:',
  other: 'Other:',
} as const

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
