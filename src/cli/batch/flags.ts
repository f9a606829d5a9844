import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Facts } from '../../api/operations/facts.js'
import { serverAddress } from '../options/databases.js'
import { groups } from '../options/global-options.js'
import { durationMs, repeated, whole } from '../options/values.js'

/**
 * Adds the options that turn a command into one for each row of a file, or for all its rows together; `isMany` where
 * a row can have several results.
 */
export function addBatchOptions(
  command: Command,
  { into }: NonNullable<Facts['batch']>,
  isMany = false,
): Command {
  const options =
    into === undefined
      ? [csv(rowByRow), ...reading(), ...writing(isMany), ...running()]
      : [csv(together), ...reading(), summary()]
  for (const option of [...options, failOn()]) command.addOption(option.helpGroup(groups.batch))
  return command
}

const rowByRow = 'one lookup for each row of this CSV file; - for stdin'
const together = 'the companies of this CSV file, a row each; - for stdin'

const csv = (description: string): Option => new Option('--csv <file>', description)

const reading = (): Option[] => [
  new Option('--map <field=Column>', 'which column fills a field (repeatable)').argParser(repeated),
  new Option('--map-only', 'show which column fills which field, and stop'),
  new Option('--save-map <name>', 'keep under a name which column fills which field'),
  new Option('--use-map <name>', 'fill fields as that name says, and no others'),
  new Option('--encoding <label>', 'encoding of the file where it is not recognised, such as windows-1252'),
  new Option('--delimiter <character>', 'delimiter of the file where it is not recognised').argParser(
    delimiter,
  ),
  new Option('--raw-csv', 'leave cells alone, also those that a spreadsheet would take for a formula'),
  new Option(
    '--rejects <file>',
    'where invalid rows go as they came; by default OUT.rejects.csv beside the file of -o',
  ),
]

const writing = (isMany: boolean): Option[] => [
  new Option('--only-missing <field>', 'skip rows that have this result already; fill the others in place'),
  ...(isMany ? [new Option('--explode', 'a row for each result, instead of all results in one cell')] : []),
  new Option('--excel', 'write for a spreadsheet: with a byte order mark and the delimiter of your locale'),
]

const summary = (): Option =>
  new Option('--summary-json <file>', 'write how the run ended to this file, as JSON')

/** Where the input of a run on record is now. */
export const sameFile = (): Option =>
  new Option('--csv <file>', 'the file that the run read, where it is now; - for stdin')

/** The options of a run that may change when it is resumed. */
export const spending = (): Option[] => [
  new Option(
    '--max-credits <n>',
    'stop before the run has cost more than this, with all its parts',
  ).argParser(whole),
  new Option(
    '--max-credits-per-day <n>',
    'stop before the runs of this profile have cost more than this today (UTC)',
  ).argParser(whole),
  summary(),
  new Option('--retry-unknown', 'send rows again whose call may have been charged without an answer'),
  new Option('--lock <name>', 'refuse to run while another command holds the lock of this name (exit 15)'),
  new Option('--distribute', 'have the workers that share the PostgreSQL database make the calls'),
]

const running = (): Option[] => [
  new Option('--fresh', 'start a new run instead of going on with the same one'),
  new Option(
    '--max-age <duration>',
    'take answers of earlier runs that are not older, such as 90d',
  ).argParser(durationMs),
  new Option('--refresh', 'take no answers of earlier runs'),
  new Option(
    '--database <url>',
    'the PostgreSQL database of engine and run, postgres://… (default: engine and runs of this machine)',
  ).argParser(serverAddress),
  ...spending(),
]

const failOn = (): Option =>
  new Option('--fail-on <when>', 'any: exit 11 when rows failed or were invalid; none: never').choices([
    'any',
    'none',
  ])

const delimiterNames: Readonly<Record<string, string>> = {
  ...{ '\\t': '\t', tab: '\t', comma: ',', semicolon: ';', bar: '|', pipe: '|' },
}

/** A delimiter by itself or by its name. */
function delimiter(text: string): string {
  const character = delimiterNames[text] ?? text
  if (!/^[^"\r\n]$/u.test(character))
    throw new InvalidArgumentError('Give one character, or tab, comma, semicolon or bar.')
  return character
}
