import { type Command, InvalidArgumentError } from 'commander'
import { dayOf } from '../../../api/values/dates.js'
import { UsageError } from '../../context/errors.js'
import type { Invocation } from '../../shell/shell.js'

/** Days in UTC, both included; no bound where none is given. */
export interface Days {
  readonly from?: string
  readonly to?: string
}

/** Gives a command the options that say which days are meant. */
export const dayOptions = (command: Command): Command =>
  command
    .option('--from <day>', 'from this day on (UTC), such as 2026-01-31', day)
    .option('--to <day>', 'to this day, included', day)

function day(text: string): string {
  if (dayOf(text) === undefined) throw new InvalidArgumentError('Give a day such as 2026-01-31.')
  return text
}

/** The days that the options of a command mean. */
export function daysOf(options: Invocation['options']): Days {
  const { from, to } = options as Days
  if (from !== undefined && to !== undefined && from > to)
    throw new UsageError('--from is after --to.', 'Swap them.')
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}
