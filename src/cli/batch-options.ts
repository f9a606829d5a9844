import { type Command, Option } from 'commander'
import type { Facts } from '../api/operation.js'
import { groups, repeated } from './flags.js'

/** Adds the options that turn a command into one for each row of a file, or for all its rows together. */
export function addBatchOptions(command: Command, { into }: NonNullable<Facts['batch']>): Command {
  const options =
    into === undefined ? [csv(rowByRow), ...reading(), ...writing()] : [csv(together), ...reading()]
  for (const option of [...options, failOn()]) command.addOption(option.helpGroup(groups.batch))
  return command
}

const rowByRow = 'one lookup for each row of this CSV file; - for stdin'
const together = 'the companies of this CSV file, a row each; - for stdin'

const csv = (description: string): Option => new Option('--csv <file>', description)

const reading = (): Option[] => [
  new Option('--map <field=Column>', 'which column fills a field (repeatable)').argParser(repeated),
  new Option('--map-only', 'show which column fills which field, and stop'),
  new Option('--encoding <label>', 'encoding of the file where it is not recognised, such as windows-1252'),
  new Option('--delimiter <character>', 'delimiter of the file where it is not recognised').argParser(
    delimiter,
  ),
  new Option('--raw-csv', 'leave cells alone, also those that a spreadsheet would take for a formula'),
]

const writing = (): Option[] => [
  new Option('--excel', 'write for a spreadsheet: with a byte order mark and semicolons'),
]

const failOn = (): Option =>
  new Option('--fail-on <when>', 'any: exit 11 when rows failed or were invalid; none: never').choices([
    'any',
    'none',
  ])

const delimiter = (text: string): string => (text === '\\t' || text === 'tab' ? '\t' : text)
