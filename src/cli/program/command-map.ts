import type { Command, Option } from 'commander'
import { observedNote } from '../../api/operations/facts.js'
import { operations } from '../../api/operations/table.js'
import type { CommandEnvironment, CommandFactory } from '../options/command-environment.js'
import { optionValues } from '../options/schema-options.js'
import { limitsText, priceText } from '../output/text.js'
import { handwritten } from './commands.js'
import { operationCommand } from './operation-command.js'

export interface MappedOption {
  readonly flags: string
  readonly name: string
  readonly description: string
  readonly takes_value: boolean
  readonly values?: readonly string[]
  readonly group: string | null
}

/** A command, for programs to read: agents, and what writes the documents. */
export interface MappedCommand {
  /** Words after `prospect`. */
  readonly command: string
  /** Option that chooses it among commands of the same words. */
  readonly flag?: string
  readonly summary: string
  readonly arguments: readonly {
    readonly name: string
    readonly required: boolean
    readonly description: string
    readonly values?: readonly string[]
  }[]
  readonly options: readonly MappedOption[]
  readonly note?: string
  readonly operation?: string
  readonly method?: string
  readonly path?: string
  readonly price?: string
  readonly limits?: string
  readonly idempotent?: boolean
}

export const commandsCommand: CommandFactory = (environment) =>
  environment
    .command('commands', 'Every command and option, for programs')
    .printResult(() => commandMap(environment), { columns: ['command', 'flag', 'summary', 'price'] })

export async function commandMap(environment: CommandEnvironment): Promise<MappedCommand[]> {
  const derived = await Promise.all(
    operations().map(async (row) => {
      const words = row.command.split(' ')
      const command = await operationCommand(environment, words.at(-1) ?? '', row)
      return {
        ...facts(command, row.command),
        ...(row.flag === undefined ? {} : { flag: `--${row.flag}` }),
        ...(row.observed ? { note: observedNote } : {}),
        operation: row.id,
        method: row.method,
        path: row.path,
        price: priceText(row),
        limits: limitsText(row),
        idempotent: row.idempotent,
      }
    }),
  )
  const written = await Promise.all(
    Object.values(handwritten).map(async ([, load]) => (await load())(environment)),
  )
  return [
    ...derived,
    ...[...written, commandsCommand(environment)].flatMap((command) => leaves(command, command.name())),
  ]
}

/** Returns a command and those below it, without groups. */
function leaves(command: Command, path: string): MappedCommand[] {
  const below = command.commands.flatMap((each) => leaves(each, `${path} ${each.name()}`))
  // A group hides its options; a command that works and has others below it does not.
  const acts = below.length === 0 || command.options.some((option) => !option.hidden)
  return acts ? [facts(command, path), ...below] : below
}

function facts(command: Command, path: string): MappedCommand {
  return {
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

function toMappedOption(option: Option): MappedOption {
  const name = option.long ?? option.short ?? ''
  const words = option.argChoices ?? optionValues.get(option) ?? []
  return {
    flags: option.flags,
    name,
    description: option.description,
    takes_value: option.required || option.optional,
    ...(words.length === 0 ? {} : { values: words }),
    group: option.helpGroupHeading?.replace(/:$/, '') ?? null,
  }
}
