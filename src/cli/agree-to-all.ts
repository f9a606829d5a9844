import type { Input } from '../api/caller.js'
import { isOk } from '../api/caller.js'
import { isPriced } from '../api/operation.js'
import { type Operation, operation as rowOf } from '../api/table.js'
import { canAsk, confirm } from './ask.js'
import { callOnce } from './call.js'
import type { Context, GlobalOptions } from './context.js'
import { credited, priceText } from './facts.js'
import { valueAt } from './records.js'
import { grouped } from './terminal.js'

/** On a terminal, an import of everything that matches is agreed on first; answers whether it may begin. */
export async function agreeToAll(
  context: Context,
  operation: Operation,
  input: Input,
  globals: GlobalOptions,
): Promise<boolean> {
  const isMetered = operation.quota !== undefined || isPriced(operation)
  if (operation.starts !== 'import' || !isMetered || input.limit !== undefined) return true
  if (globals.yes || !canAsk(context, globals)) return true
  const cost = costText(operation, await means(context, globals))
  return confirm(context, `Without --limit everything that matches is imported. ${cost} Start?`, globals)
}

/** What is left to spend; the question is free, and where it is not answered nothing is said. */
async function means(context: Context, globals: GlobalOptions): Promise<unknown> {
  const caller = await context.caller(globals)
  const reply = await callOnce(context, caller, rowOf('credits.show'), {}, globals)
  return isOk(reply) ? reply.body : {}
}

function costText(operation: Operation, means: unknown): string {
  const left = (name: string) => {
    const value = valueAt(means, `credits.${name}`)
    return typeof value === 'number' ? value : undefined
  }
  if (operation.quota === 'profiles')
    return `Each person takes one of the daily profile quota${has(left('daily_profile_scraping'))}.`
  if (operation.quota === 'companies') {
    const [day, month] = [left('daily_company_import'), left('monthly_company_import')]
    const least = day === undefined || month === undefined ? undefined : Math.min(day, month)
    return `Each company takes one of the daily and monthly company quota${has(least)}.`
  }
  const balance = left('enrichment')
  return `${priceText(operation)}${balance === undefined ? '' : ` The balance is ${credited(balance)}.`}`
}

const has = (left: number | undefined): string =>
  left === undefined ? '' : `, which has ${grouped(left)} left`
