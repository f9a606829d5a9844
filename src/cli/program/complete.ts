import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command, Option } from 'commander'
import { plans } from '../../api/operations/plans.js'
import { areaOf, operations } from '../../api/operations/table.js'
import { functions, namedFields } from '../../api/schemas/enumerations.js'
import { escapeControls } from '../../api/values/json.js'
import { eventNames } from '../../api/webhooks/events.js'
import { writeTo } from '../../runs/output/writer.js'
import { openRuns } from '../../runs/records.js'
import type { CommandEnvironment } from '../options/command-environment.js'
import { optionValues } from '../options/schema-options.js'
import { buildProgram } from './program.js'

type Candidate = Readonly<Record<'name' | 'summary', string>>

const toCandidates = (names: Iterable<string>): readonly Candidate[] =>
  Array.from(names, (name) => ({ name, summary: '' }))

/**
 * `prospect __complete WORD…`: prints lines of a word, a tab and its description. The last word is the one being typed.
 * Prints nothing where any text or a file can follow; the shell then offers files.
 */
export async function completeWords(environment: CommandEnvironment, typed: readonly string[]) {
  const lines = (await candidates(environment, typed)).map(({ name, summary }) => `${name}\t${summary}\n`)
  await writeTo(environment.context.streams.stdout, escapeControls(lines.join('')))
}

async function candidates(environment: CommandEnvironment, typed: readonly string[]) {
  // bash splits `--format=json` into three words.
  const current = typed.at(-1) === '=' ? '' : (typed.at(-1) ?? '')
  const words = typed.slice(0, -1).filter((word) => word !== '=')
  const [, attached] = /^(--[\w-]+=)/.exec(current) ?? []
  if (attached) words.push(attached.slice(0, -1))
  // `--map field=Column`: bash makes three words of it, other shells one.
  const split = typed.at(-1) === '=' ? typed.slice(0, -1) : typed.at(-2) === '=' ? typed.slice(0, -2) : []
  if (split.at(-2) === '--map') return startingWith(await columnsOf(environment, typed), current)
  const { command, option, position } = walk(await programFor(environment, words), words)
  const found = option
    ? await valuesOf(option, environment, typed)
    : current.startsWith('-')
      ? optionsOf(command)
      : [...wordsAt(command, position), ...(await storedAt(command, position, environment))]
  return startingWith(found, current.slice(attached?.length ?? 0), attached)
}

const startingWith = (found: readonly Candidate[], typed: string, before = ''): readonly Candidate[] =>
  found
    .filter(({ name }) => name.startsWith(typed))
    .map(({ name, summary }) => ({ name: before + name, summary }))

/** Builds the program for the words before the current one; without the last of them when that is no command. */
const programFor = (environment: CommandEnvironment, words: readonly string[]): Promise<Command> =>
  buildProgram(environment, words).catch(() => buildProgram(environment, []))

/** Returns the command that words name, the option whose value comes next, and the index of the next argument. */
function walk(program: Command, words: readonly string[]) {
  let command = program
  let option: Option | undefined
  let position = 0
  for (const word of words) {
    if (option) option = undefined
    else if (word.startsWith('-')) {
      const named = command.options.find(({ short, long }) => word === short || word === long)
      if (named?.required) option = named
    } else {
      const child = position === 0 && command.commands.find((each) => each.name() === word)
      if (child) command = child
      else position++
    }
  }
  return { command, option, position }
}

async function valuesOf(option: Option, environment: CommandEnvironment, typed: readonly string[]) {
  const { context } = environment
  if (option.long === '--only-missing') return columnsOf(environment, typed)
  if (option.long === '--map') {
    const field = /^([\w-]+)=/.exec(typed.at(-1) ?? '')?.[1]
    const columns = field === undefined ? [] : await columnsOf(environment, typed)
    return columns.map(({ name, summary }) => ({ name: `${field}=${name}`, summary }))
  }
  const profiles = () => ['default', 'local', ...Object.keys(context.settings().profiles ?? {})]
  const names = new Set(option.long === '--profile' ? profiles() : knownValues(option))
  if (!option.flags.includes(',…')) return toCandidates(names)
  const [begun = ''] = /^(?:--[\w-]+=)?(.*,)?/.exec(typed.at(-1) ?? '')?.slice(1) ?? []
  const chosen = begun.split(',')
  return toCandidates([...names].filter((name) => !chosen.includes(name)).map((name) => begun + name))
}

const wordsOfOption: Readonly<Record<string, () => readonly string[]>> = {
  '--department': () => Object.values(functions),
  '--departments': () => Object.values(functions),
  '--event': eventNames,
  '--plan': () => Object.keys(plans),
  '--scope': () => [...new Set(operations().map(({ id }) => areaOf(id)))],
}

function knownValues(option: Option): readonly string[] {
  const listed = option.argChoices ?? optionValues.get(option) ?? []
  if (listed.length > 0) return listed
  const { labels } = namedFields[option.name().replaceAll('-', '_')] ?? {}
  return labels ? Object.values(labels) : (wordsOfOption[option.long ?? '']?.() ?? [])
}

/** Returns the options that help shows. A group hides those of all commands, which can be typed there, too. */
function optionsOf(command: Command): readonly Candidate[] {
  const isGroup = command.commands.length > 0
  const shown = command.options.filter(({ hidden }) => isGroup || !hidden)
  return [
    ...shown.map(({ long, short, description }) => ({
      name: long ?? short ?? '',
      // The values in brackets at the end are candidates themselves.
      summary: description.replace(/ \([^()]*\)$/, ''),
    })),
    { name: '--help', summary: 'show this help' },
  ]
}

/** Returns the columns of the file that `--csv` names on the command line; none where it cannot be read. */
async function columnsOf({ context: { streams } }: CommandEnvironment, typed: readonly string[]) {
  const words = typed.filter((word) => word !== '=')
  const file = words[words.indexOf('--csv') + 1]
  if (!words.includes('--csv') || file === undefined) return []
  try {
    const { openTable } = await import('../../runs/input/table.js')
    const { header } = await openTable(resolve(streams.cwd, file))
    return toCandidates(header)
  } catch {
    return []
  }
}

/** Returns what this machine has stored that an argument can name: runs, plans, profiles. Creates nothing. */
async function storedAt(command: Command, position: number, { context }: CommandEnvironment) {
  const words = `${command.parent?.name()} ${command.name()}`
  if (position > 0) return []
  if (/^profiles (?:use|remove)$/.test(words))
    return toCandidates(Object.keys(context.settings().profiles ?? {}))
  if (words === 'plan set') return toCandidates(Object.keys(plans))
  if (!/^runs (?:show|resume|export|forget)$/.test(words) || !existsSync(context.home.state)) return []
  const { runs } = await openRuns(context)
  return (await runs.list()).map(({ id, file, operation }) => ({ name: id, summary: `${operation} ${file}` }))
}

const wordsAt = ({ commands, registeredArguments }: Command, position: number): readonly Candidate[] => [
  ...(position === 0 ? commands.map((each) => ({ name: each.name(), summary: each.description() })) : []),
  ...toCandidates(registeredArguments[position]?.argChoices ?? []),
]
