import { type Command, Option } from 'commander'
import { Refusal } from '../../api/calls/errors.js'
import { withoutUndefined } from '../../api/values/objects.js'
import { formats } from '../../runs/output/columns.js'
import { crmNames } from '../../runs/output/crm-layout.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { formatSetting } from '../context/home.js'
import { notNegative, positive, word } from './values.js'

export const groups = {
  fields: 'Fields:',
  request: 'Request:',
  everyRequest: 'Every request:',
  batch: 'Many rows:',
  output: 'Output:',
  target: 'Target and key:',
  other: 'Other:',
} as const

/** Adds the options of every command, except where it has one of that name. The help of a group hides them. */
export function addGlobals<T extends Command>(command: T, { hidden = false } = {}): T {
  const own = new Set(command.options.map(({ long }) => long))
  for (const [group, options] of globals()) {
    for (const option of options.filter(({ long }) => !own.has(long)))
      command.addOption(option.helpGroup(group).hideHelp(hidden || option.long === refused))
  }
  return command
}

const refused = '--api-key'

export const globals = (): [string, Option[]][] => [
  [
    groups.output,
    [
      new Option(
        '--format <format>',
        `${formats.join(' | ')} (default: table on a terminal, else json)`,
      ).choices(formats),
      new Option('--json', 'short for --format json'),
      new Option('-q, --jq <expression>', 'filter the JSON with this jq expression'),
      new Option('--fields <a,b>', 'only these fields, in this order; a.b is field b of a'),
      new Option('-o, --output <file>', 'write the result to this file; its extension sets the format'),
      new Option('--quiet', 'no progress and no notices'),
      new Option('--verbose', 'log requests and replies on stderr'),
      new Option('--no-color', 'no colours'),
    ],
  ],
  [
    groups.target,
    [
      new Option('--profile <name>', 'the profile to use'),
      new Option('--local', 'use the local engine, whatever the profile says'),
      new Option('--base-url <url>', 'the address of the server, which ends in /api/v2'),
      new Option('--direct', 'talk to the server directly: no local ledger, pacing or stored answers'),
      new Option('--insecure-http', 'allow an http address of another machine'),
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
      new Option('-y, --yes', 'answer every question with yes'),
      new Option('--timeout <seconds>', 'timeout in seconds').argParser(positive),
      new Option('--max-wait <seconds>', 'seconds to wait for a rate limit (default: 10)').argParser(
        notNegative,
      ),
      new Option('--lock <name>', 'exit 15 while another command has the lock of this name'),
      new Option('--log <file>', 'append a log to this file: one JSON object per line'),
    ],
  ],
]

/** Creates `--no-input`. Commander would store it under the same name as `--input FILE`. */
function notInput(): Option {
  const option = new Option('--no-input', 'never ask a question')
  option.negate = false
  return option
}

function refuseKey(): never {
  throw new Refusal('usage.key_argument')
}

/** Creates `--layout`, which commands have that print companies or people. */
export const layoutOption = (): Option =>
  new Option('--layout <crm>', `columns for the import of ${crmNames.join(' | ')}, as CSV or .xlsx`)
    .choices(crmNames)
    .helpGroup(groups.output)

const names = [...globals().flatMap(([, options]) => options), layoutOption()]
  .filter(({ long }) => long !== refused && long !== '--no-input')
  .map((option) => option.attributeName())

/** Returns the global options of a command, given before or after its words. The last one counts. */
export function globalsOf(command: Command): GlobalOptions {
  const chosen: Record<string, unknown> = {}
  for (const each of lineage(command)) {
    const values: Record<string, unknown> = each.opts()
    for (const name of names)
      if (values[name] !== undefined && each.getOptionValueSource(name) !== 'default')
        chosen[name] = values[name]
    if (values.noInput === true) chosen.input = false
  }
  return chosen as GlobalOptions
}

export function withGlobalsOf(context: Context, command: Command): Context {
  const given = context.withGlobals(globalsOf(command))
  const { jq } = given.globals
  return given.withGlobals({
    ...(context.streams.stdout.isTTY ? { terminalFormat: formatSetting(given) } : {}),
    ...(jq === undefined ? {} : { json: true }),
  })
}

function lineage(command: Command): Command[] {
  return command.parent ? [...lineage(command.parent), command] : [command]
}

/** Returns the words that an argv begins with, without global options and their values. */
export function wordsOf(argv: readonly string[]): string[] {
  const options = globals().flatMap(([, each]) => each)
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
  const log = argv.some((word) => /^--log(=|$)/.test(word)) ? valueAfter('--log') : undefined
  return {
    json: given('--json'),
    verbose: given('--verbose'),
    quiet: given('--quiet'),
    ...withoutUndefined({ format: formats.find((each) => each === format), output, log }),
  }
}
