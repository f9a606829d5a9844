import { type Command, InvalidArgumentError, Option } from 'commander'
import { UsageError } from '../context/errors.js'
import { formats } from '../output/output.js'

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

/** The options that every command takes, by the heading help lists them under. */
export const globals = (): [string, Option[]][] => [
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
      new Option('--insecure-http', 'permit an http address that is not this machine'),
      new Option('--network-name <word>', "the server's word for network in the names of fields").argParser(
        word,
      ),
      new Option('--premium-name <word>', "the server's word for premium in the names of fields").argParser(
        word,
      ),
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

/** A part of the name of a field. */
export function word(text: string): string {
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(text))
    throw new InvalidArgumentError('Give a word of lower-case letters, digits and _.')
  return text
}

/** A number above zero. */
function positive(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('Give a number above 0.')
  return value
}

/** A number, zero included. */
function notNegative(text: string): number {
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

/** A port, 0 for any that is free. */
export function port(text: string): number {
  const value = whole(text)
  if (value > 65_535) throw new InvalidArgumentError('Give a port from 0 to 65535.')
  return value
}

/** Gathers a repeated option. */
export const repeated = (text: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  text,
]

/** What a command does with the work it started. */
export interface Wait {
  /** Whether it sees to the work itself, or leaves it to whoever comes next. */
  readonly stays: boolean
  /** Whether it prints what the work found, in place of the API's reply. */
  readonly shows: boolean
  /** How long it stays, in seconds; until the end when absent. */
  readonly seconds?: number
}

/** The options of a command that starts work. */
export const waitOptions = (): Option[] =>
  [
    new Option(
      '--wait [seconds]',
      'print what the work found, not the reply; exit 14 when it takes longer than so many seconds',
    ).argParser(seconds),
    new Option(
      '--public-url <url>',
      'with --wait on a server elsewhere: where it reaches this machine, such as a tunnel',
    ),
    new Option(
      '--receive-port <n>',
      'the port of this machine that --public-url leads to (default: 4011)',
    ).argParser(port),
    new Option('--no-wait', 'leave the work to the next prospect serve, worker or engine jobs run'),
  ].map((option) => option.helpGroup(groups.request))

function seconds(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('Give a number of seconds, or none to wait until the end.')
  return value
}

/** Reads those options: without them the work is done, and the reply is what is printed. */
export function waitOf({ wait }: Readonly<Record<string, unknown>>): Wait {
  if (wait === undefined) return { stays: true, shows: false }
  if (wait === false) return { stays: false, shows: false }
  return { stays: true, shows: true, ...(typeof wait === 'number' ? { seconds: wait } : {}) }
}
