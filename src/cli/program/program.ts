import { Command, Option } from 'commander'
import { type Operation, operations } from '../../api/operations/table.js'
import { asGroup, type CommandEnvironment, checkWord } from '../options/command-environment.js'
import texts from '../options/command-texts.json' with { type: 'json' }
import { wordsOf } from '../options/global-options.js'
import { type Handwritten, handwritten } from './commands.js'
import { operationCommand } from './operation-command.js'

const headings = {
  lookups: 'Look up:',
  account: 'Saved, and your account:',
  machine: 'Your machine:',
  local: 'Practice engine and data:',
  servers: 'Servers:',
} as const

const others: Readonly<Record<string, Handwritten>> = {
  ...handwritten,
  commands: ['machine', async () => (await import('./command-map.js')).commandsCommand],
}

/** The lines of help of commands that are not derived from the operation table. */
const summaries: Readonly<Record<string, string>> = texts.summaries

/** Builds the program for an argv: the branch it names, and all others as names with summaries. */
export async function buildProgram(
  environment: CommandEnvironment,
  argv: readonly string[],
): Promise<Command> {
  const words = wordsOf(argv)
  const program = environment.command(
    'prospect',
    'Enrich companies and contacts. See the price first. Never pay twice.',
  )
  program
    .usage('<area> <command> [options]')
    .addOption(new Option('-V, --version', 'show the version').hideHelp())
  asGroup(program)
  const [area = ''] = words
  for (const name of Object.keys(areas))
    program.addCommand(
      (name === area
        ? await areaCommand(environment, name, words[1], argv)
        : stub(name, areas[name])
      ).helpGroup(savedAreas.has(name) ? headings.account : headings.lookups),
    )
  for (const [name, [heading, load]] of Object.entries(others)) {
    const command = name === area ? (await load())(environment) : stub(name, summaries[name])
    program.addCommand(command.helpGroup(headings[heading]))
  }
  if (area !== '') checkWord(program, area)
  return program
}

const stub = (name: string, summary = ''): Command => new Command(name).description(summary).helpOption(false)

const rowsOf = (words: string): Operation[] => operations().filter(({ command }) => command === words)

const commandsOf = (area: string): string[] => [
  ...new Set(
    operations().flatMap(({ command }) =>
      command.startsWith(`${area} `) ? [command.slice(area.length + 1)] : [],
    ),
  ),
]

async function areaCommand(
  environment: CommandEnvironment,
  area: string,
  word: string | undefined,
  argv: readonly string[],
): Promise<Command> {
  const own = rowsOf(area)
  const names = commandsOf(area)
  const isOwn = own.length > 0 && !names.includes(word ?? '')
  const command = isOwn
    ? await ofRows(environment, area, own, argv)
    : asGroup(environment.command(area, areas[area] ?? ''))
  for (const name of names) {
    const rows = rowsOf(`${area} ${name}`)
    command.addCommand(
      name === word ? await ofRows(environment, name, rows, argv) : stub(name, summaryOf(rows)),
    )
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
