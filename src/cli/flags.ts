import { type Command, InvalidArgumentError, Option } from 'commander'
import type { GlobalOptions } from './context.js'
import { UsageError } from './exit.js'

/** Formats of the output. */
export const formats = ['table', 'json', 'ndjson', 'csv', 'tsv', 'ids'] as const

/** Headings of option groups in help. */
export const groups = {
  fields: 'Fields:',
  request: 'Request:',
  batch: 'Many rows:',
  output: 'Output:',
  target: 'Target and key:',
  other: 'Other:',
} as const

/** Adds the options that every command takes; only commands that do something are worth listing them in help. */
export function addGlobals(command: Command, { hidden = false } = {}): Command {
  for (const [group, options] of globals()) {
    for (const option of options)
      command.addOption(option.helpGroup(group).hideHelp(hidden || option.long === refused))
  }
  return command
}

const refused = '--api-key'

const globals = (): [string, Option[]][] => [
  [
    groups.output,
    [
      new Option(
        '--format <format>',
        `${formats.join(' | ')} (default: table on a terminal, else json)`,
      ).choices(formats),
      new Option('--json', 'short for --format json'),
      new Option('--fields <a,b>', 'only these fields, in this order; dots reach into objects'),
      new Option('-o, --output <file>', 'write the result to a file; its extension chooses the format'),
      new Option('--quiet', 'no progress and no notices'),
      new Option('--verbose', 'say on stderr what was asked and answered'),
      new Option('--no-color', 'no colours'),
    ],
  ],
  [
    groups.target,
    [
      new Option('--profile <name>', 'use this profile'),
      new Option('--local', 'use the local engine, whatever the profile says'),
      new Option('--base-url <url>', 'use the server at this address, which ends in /api/v2'),
      new Option('--direct', 'nothing kept between the command and the server'),
      new Option('--api-key-file <file>', 'read the API key from a file'),
      new Option('--api-key-stdin', 'read the API key from stdin'),
      new Option(`${refused} <key>`, 'refused').argParser(refuseKey),
    ],
  ],
  [
    groups.other,
    [
      notInput(),
      new Option('--yes', 'answer questions with yes'),
      new Option('--timeout <seconds>', 'give up after so long').argParser(positive),
      new Option('--max-wait <seconds>', 'wait at most so long when rate limited (default: 10)').argParser(
        notNegative,
      ),
    ],
  ],
]

/** `--no-input`, kept apart from `--input FILE`: commander would give both the same place. */
function notInput(): Option {
  const option = new Option('--no-input', 'never ask')
  option.negate = false
  return option
}

function refuseKey(): never {
  throw new UsageError(
    'An API key is never an argument: other users of this machine could see it, and the shell keeps it.',
    'Use PROSPECT_API_KEY, --api-key-file FILE or --api-key-stdin.',
  )
}

/** A number above zero. */
export function positive(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('Give a number above 0.')
  return value
}

/** A number, zero included. */
export function notNegative(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('Give 0 or a number above.')
  return value
}

/** A whole number, zero included. */
export function whole(text: string): number {
  const value = notNegative(text)
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('Give a whole number.')
  return value
}

/** Gathers a repeated option. */
export const repeated = (text: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  text,
]

const names = [
  'profile',
  'local',
  'baseUrl',
  'direct',
  'format',
  'json',
  'fields',
  'output',
  'quiet',
  'verbose',
  'color',
  'yes',
  'timeout',
  'maxWait',
  'apiKeyFile',
  'apiKeyStdin',
] as const

/** The global options of a command, given before or after its words; the nearest one wins. */
export function globalsOf(command: Command): GlobalOptions {
  const chosen: Record<string, unknown> = {}
  for (const each of lineage(command)) {
    const values: Record<string, unknown> = each.opts()
    for (const name of names)
      if (values[name] !== undefined && !isDefault(each, name)) chosen[name] = values[name]
    if (values.noInput === true) chosen.input = false
  }
  return chosen as GlobalOptions
}

const isDefault = (command: Command, name: string): boolean =>
  command.getOptionValueSource(name) === 'default'

function lineage(command: Command): Command[] {
  return command.parent ? [...lineage(command.parent), command] : [command]
}

/** Words of an argv that are not options, and where the value of a global option is skipped. */
export function wordsOf(argv: readonly string[]): string[] {
  const valued = new Set<string>()
  for (const [, options] of globals()) {
    for (const option of options)
      if (option.required) for (const flag of [option.short, option.long]) if (flag) valued.add(flag)
  }
  const words: string[] = []
  for (let at = 0; at < argv.length && argv[at] !== '--'; at++) {
    const word = argv[at] ?? ''
    if (!word.startsWith('-')) words.push(word)
    else if (valued.has(word)) at++
  }
  return words
}

/** The global options that matter to an error, read from an argv that may not parse. */
export function peekGlobals(argv: readonly string[]): GlobalOptions {
  const valueAfter = (...flags: string[]): string | undefined => {
    const at = argv.findLastIndex((word) =>
      flags.some((flag) => word === flag || word.startsWith(`${flag}=`)),
    )
    const word = argv[at]
    return word?.includes('=') ? word.slice(word.indexOf('=') + 1) : argv[at + 1]
  }
  const given = (flag: string) => argv.includes(flag)
  const format = argv.some((word) => /^--format(=|$)/.test(word)) ? valueAfter('--format') : undefined
  const output = argv.some((word) => /^(--output|-o)(=|$)/.test(word))
    ? valueAfter('--output', '-o')
    : undefined
  const known = formats.find((each) => each === format)
  return {
    json: given('--json'),
    verbose: given('--verbose'),
    quiet: given('--quiet'),
    ...(known ? { format: known } : {}),
    ...(output === undefined ? {} : { output }),
  }
}
