import { type Command, Option } from 'commander'
import { groups, repeated } from './flags.js'

/** Adds the options that turn a lookup into one lookup for each row of a file. */
export function addBatchOptions(command: Command): Command {
  for (const option of batchOptions()) command.addOption(option.helpGroup(groups.batch))
  return command
}

const batchOptions = (): Option[] => [
  new Option('--csv <file>', 'one lookup for each row of this CSV file; - for stdin'),
  new Option('--map <field=Column>', 'which column fills a field (repeatable)').argParser(repeated),
  new Option('--map-only', 'show which column fills which field, and stop'),
  new Option('--encoding <label>', 'encoding of the file where it is not recognised, such as windows-1252'),
  new Option('--delimiter <character>', 'delimiter of the file where it is not recognised').argParser(
    delimiter,
  ),
  new Option('--excel', 'write for a spreadsheet: with a byte order mark and semicolons'),
  new Option('--raw-csv', 'leave cells alone, also those that a spreadsheet would take for a formula'),
  new Option('--fail-on <when>', 'any: exit 11 when rows failed or were invalid; none: never').choices([
    'any',
    'none',
  ]),
]

const delimiter = (text: string): string => (text === '\\t' || text === 'tab' ? '\t' : text)
