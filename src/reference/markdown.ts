import { errors } from '../api/calls/errors.js'
import { isPriced } from '../api/operations/facts.js'
import { type Plan, plans } from '../api/operations/plans.js'
import { operations } from '../api/operations/table.js'
import { eventBodyExamples, eventFieldTable, eventSourceTable, eventTable } from './event-tables.js'
import { priceWords, quotaWords, rateWords, table } from './words.js'

const tables: Readonly<Record<string, () => string>> = {
  operations: operationTable,
  prices: priceTable,
  limits: () => `${planTable()}\n\n${endpointTable()}`,
  errors: errorTable,
  events: () => `${eventTable()}\n\n${eventSourceTable()}`,
  'event-fields': eventFieldTable,
  'event-bodies': eventBodyExamples,
}

/** Names of the parts that can be generated into a document. */
export const renderable: readonly string[] = Object.keys(tables)

/** Returns the tables of a name as Markdown, from the operation table, the plans and the errors. */
export function render(name: string): string {
  const print = Object.hasOwn(tables, name) ? tables[name] : undefined
  if (!print) throw new Error(`nothing to generate is called ${name}; there are: ${renderable.join(', ')}`)
  return print()
}

const opening = /^<!-- generated:([\w-]+) -->$/gm

/**
 * Returns the document with everything between `<!-- generated:NAME -->` and `<!-- /generated -->` replaced by
 * `generated[NAME]`. Throws for an unknown name and for a part without an end.
 */
export function refresh(markdown: string, generated: Readonly<Record<string, string>>): string {
  const closing = '<!-- /generated -->'
  let fresh = ''
  let from = 0
  for (const { 0: marker, 1: name = '', index } of markdown.matchAll(opening)) {
    const end = markdown.indexOf(closing, index)
    const nested = markdown.slice(index + marker.length, end).includes('<!-- generated:')
    if (end < 0 || nested) throw new Error(`${marker} has no ${closing}`)
    if (!Object.hasOwn(generated, name)) throw new Error(`nothing was generated for ${marker}`)
    fresh += `${markdown.slice(from, index)}${marker}\n\n${generated[name]}\n\n`
    from = end
  }
  return fresh + markdown.slice(from)
}

function operationTable(): string {
  const rows = operations().map((row) => [
    `\`${row.method} ${row.path}\``,
    `\`${row.command}${row.flag ? ` --${row.flag}` : ''}\``,
    row.summary,
    priceWords(row),
    row.quota ? quotaWords[row.quota] : '',
    rateWords(row),
  ])
  return table(['Endpoint', 'Command', 'What it does', 'Price', 'Quota', 'Request limit'], rows)
}

function priceTable(): string {
  const rows = operations()
    .filter(isPriced)
    .map((row) => [
      `\`${row.command}${row.flag ? ` --${row.flag}` : ''}\``,
      `\`${row.method} ${row.path}\``,
      priceWords(row),
    ])
  return table(['Command', 'Endpoint', 'Price'], rows)
}

/** Plans with the same limits share a row. */
function planTable(): string {
  const names = new Map<Plan, string[]>()
  for (const [name, plan] of Object.entries(plans))
    names.set(plan, [...(names.get(plan) ?? []), capital(name)])
  const rows = [...names].map(([plan, shared]) => [
    shared.join(', '),
    ...[
      plan.requestsPerMinute,
      plan.dailyProfiles,
      plan.dailyCompanies,
      plan.monthlyCompanies,
      plan.monthlyCredits,
    ].map(formatCount),
  ])
  const heads = [
    'Requests per minute',
    'Profiles per day',
    'Companies per day',
    'Companies per month',
    'Monthly credits',
  ]
  return table(['Plan', ...heads], rows)
}

/** Operations with a limit of their own, and those that no plan counts. */
function endpointTable(): string {
  const rows = operations()
    .map((row) => ({ row, words: rateWords(row) }))
    .filter(({ words }) => words !== 'plan')
    .map(({ row, words }) => [`\`${row.method} ${row.path}\``, words])
  return table(['Endpoint', 'Request limit'], rows)
}

function errorTable(): string {
  const rows = Object.entries(errors).map(([name, row]) => [
    row.status,
    `\`${name}\``,
    'code' in row ? `\`${row.code}\`` : '',
    row.text,
    row.exit,
    row.hint,
  ])
  return table(['Status', 'Error', '`code` in the body', 'Text', 'Exit', 'What to do'], rows)
}

const capital = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1)
const formatCount = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',')
