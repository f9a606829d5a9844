import { type Input, isOk } from '../../api/calls/caller.js'
import { failureOf } from '../../api/calls/errors.js'
import { quotaLabel, quotaNames, quotas } from '../../api/operations/plans.js'
import { type Fields, isObject } from '../../api/values/objects.js'
import type { ListKind } from '../../lists/list-index.js'
import type { Context } from '../context/context.js'
import { Stop } from '../context/errors.js'
import { flatten, numberAt, type Row, sparkline, valueAt } from '../output/records.js'
import { grid, record, table } from '../output/table.js'
import { cellOfLeft, type Look } from '../output/text.js'
import { resolveListName } from './filter-names.js'
import { callOnce, everyPage } from './send.js'

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
