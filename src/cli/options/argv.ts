import type { Command, Option } from 'commander'
import type { GlobalOptions } from '../context/context.js'
import { formats } from '../output/output.js'
import { globals } from './flags.js'

const names = [
  'profile',
  'local',
  'baseUrl',
  'direct',
  'insecureHttp',
  'networkName',
  'premiumName',
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

/** The words an argv begins with; global options among them are skipped with their values. */
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
    // Behind an option of a command a word may be its value.
    else if (!known.has(word.replace(/=.*/s, ''))) break
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
