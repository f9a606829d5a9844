import { type Command, Option } from 'commander'
import { Refusal } from '../../api/calls/errors.js'
import { once, withoutUndefined } from '../../api/values/objects.js'
import { crmNames } from '../../runs/output/crm-names.js'
import { formats } from '../../runs/output/formats.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { toFlag } from '../context/errors.js'
import { formatSetting } from '../context/home.js'
import { groups } from './help.js'
import { notNegative, optionRows, positive, toOptions, word } from './values.js'

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
