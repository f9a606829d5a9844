import { type Input, isOk, type Reply } from '../../api/calls/caller.js'
import { failureOf } from '../../api/calls/errors.js'
import { quotaLabel, quotaNames, quotas } from '../../api/operations/plans.js'
import { dayMs } from '../../api/values/dates.js'
import { type Fields, isObject } from '../../api/values/objects.js'
import type { ListKind } from '../../lists/list-index.js'
import type { Context } from '../context/context.js'
import { Stop, UsageError } from '../context/errors.js'
import { chosenFormat, fileOf, formatOf } from '../output/output.js'
import { print } from '../output/print.js'
import { bars, flatten, numberAt, type Row, sparkline, valueAt } from '../output/records.js'
import { grid, record, table } from '../output/table.js'
import { cellOfLeft, countOf, formatCredits, type Look } from '../output/text.js'
import { targetTime } from '../target/resolve-target.js'
import type { OperationRequest } from './build.js'
import { resolveListName } from './filter-names.js'
import { reportRefusal } from './print.js'
import { callOnce, everyPage } from './send.js'

/**
 * `prospect credits consumption --last 30d`: prints the credits of each day until today. Returns the exit code, or the
 * request of the whole range where that is all that was asked for.
 */
export async function showConsumption(context: Context, request: OperationRequest) {
  const { input, invocation } = request
  const { options } = invocation
  if (typeof options.last !== 'number') return request
  if (input.start_date !== undefined || input.end_date !== undefined)
    throw new UsageError('--last and days cannot be used together.', 'Leave out --start-date and --end-date.')
  const days = datesUntil(await targetTime(context), Math.max(1, Math.ceil(options.last / dayMs)))
  const whole = { ...input, start_date: days[0], end_date: days.at(-1) }
  if (options.dryRun === true) return { ...request, input: whole }
  const credits = await readDays(context, request, days)
  if (!Array.isArray(credits)) return reportRefusal(context, request.operation, credits)
  // A drawing is for a terminal; a pipe gets the same as a table, unless it asks for another format.
  const isTable = chosenFormat(context.globals) === undefined && fileOf(context.globals) === undefined
  const format = isTable ? 'table' : formatOf(context)
  const layout = context.streams.stdout.isTTY ? { layout: formatDays } : {}
  await print(context.withGlobals({ format }), credits, { ...layout, columns: ['date', 'credits'] })
  return 0
}

const datesUntil = (now: number, count: number): string[] =>
  Array.from({ length: count }, (_, at) =>
    new Date(now - (count - 1 - at) * dayMs).toISOString().slice(0, 10),
  )

/** Credits consumed on a day (UTC). */
type DayCredits = Readonly<{ date: string; credits: number }>

/** Reads the credits of each day. A range without any needs one request; of two halves, one is read. */
async function readDays(context: Context, { operation }: OperationRequest, dates: readonly string[]) {
  const read = async (part: readonly string[]): Promise<number | Reply> => {
    const range = { start_date: part[0], end_date: part.at(-1) }
    const reply = await callOnce(context, operation.id, range)
    return (isOk(reply) ? numberAt(reply.body, 'credits_consumed') : undefined) ?? reply
  }
  const split = async (part: readonly string[], credits: number): Promise<DayCredits[] | Reply> => {
    // Several days have none left to divide.
    if (part.length === 1 || credits === 0) return part.map((date) => ({ date, credits }))
    const [early, late] = [part.slice(0, part.length / 2), part.slice(part.length / 2)]
    const first = await read(early)
    if (typeof first !== 'number') return first
    const before = await split(early, first)
    if (!Array.isArray(before)) return before
    const after = await split(late, credits - first)
    return Array.isArray(after) ? [...before, ...after] : after
  }
  const all = await read(dates)
  return typeof all === 'number' ? split(dates, all) : all
}

function formatDays(body: unknown, look: Look): string {
  const days = body as readonly DayCredits[]
  const total = days.reduce((sum, { credits }) => sum + credits, 0)
  const drawn = days.map(({ date, credits }) => ({ label: date, value: credits }))
  return `${bars(drawn, look)}\n${look.dim(`${formatCredits(total)} in ${countOf(days.length, 'day')}`)}\n`
}

/** Returns the table of `prospect credits`: the balance, and what is left of each quota and when it resets. */
export function creditsView(body: unknown, look: Look): string {
  const number = (path: string) => cellOfLeft(valueAt(body as Row, path) ?? '–')
  const rows = quotaNames.map((name) => ({
    Quota: quotaLabel(name),
    Left: number(`credits.${name}`),
    Of: number(`limits.${name}`),
    Resets: `${quotas[name].period === 'day' ? 'every day' : 'on the 1st'}, 00:00 UTC`,
  }))
  const balance = record({ 'Enrichment credits': number('credits.enrichment') }, look)
  return `${balance}\n${grid(['Quota', 'Left', 'Of', 'Resets'], rows, look)}`
}

/** Returns the table of `prospect lists get`: the list, and its companies where the server sends them. */
export function listView(body: unknown, look: Look): string {
  const { companies, pagination, ...list } = body as Row
  if (!Array.isArray(companies) || companies.length === 0) return record(flatten(list), look)
  const rows = companies.filter(isObject)
  const names = ['name', 'domain', 'network_url', 'country_code', 'account_id']
  const columns = names.filter((name) => rows.some((company) => (company[name] ?? null) !== null))
  const listing = { rows, isList: true, from: 'companies' }
  return `${record(flatten(list), look)}\n${table({ pagination }, listing, { columns }, look)}`
}

const spans = ['3', '6', '12'] as const

/** Returns the table of `prospect accounts headcount`: departments, now and 3, 6 and 12 months ago, with their trend. */
export function headcountView(body: unknown, look: Look): string {
  const rows = Object.entries(body as Row).map(([Department, headcount]) => {
    const count = (path: string) => numberAt(headcount, path) ?? null
    const now = count('current_headcount')
    const before = spans.map((months) => count(`${months}_months_evolution.base_headcount`))
    const growth = count('12_months_evolution.headcount_gain_percentage')
    return {
      Department,
      Now: now,
      '3 mo ago': before[0],
      '6 mo ago': before[1],
      '12 mo ago': before[2],
      Trend: sparkline([...before.toReversed(), now], look),
      Growth: growth === null ? null : `${growth > 0 ? '+' : ''}${growth} %`,
    }
  })
  if (rows.length === 0) return 'Nothing found.\n'
  return grid(Object.keys(rows[0] ?? {}), rows, look, { optional: ['6 mo ago', '3 mo ago', 'Growth'] })
}

/** Yields the records of the catalogue of this machine, or the companies of the list that `list:NAME` names. */
export async function* readListRecords(
  context: Context,
  source: string,
  kind: ListKind,
): AsyncGenerator<Fields> {
  if (source === 'catalogue') return yield* (await context.catalogue()).exportRecords(kind)
  const id = await resolveListName(context, source.slice('list:'.length))
  const reply = await everyPage((page: Input) => callOnce(context, 'lists.get', { id, ...page }), {})
  if (reply.incomplete) throw reply.incomplete
  if (isOk(reply)) return yield* (reply.body as { readonly companies: readonly Fields[] }).companies
  const { text, exit } = failureOf(reply.status, reply.body)
  throw new Stop(`${source} cannot be read: ${text}`, exit, 'See your lists: prospect lists list')
}
