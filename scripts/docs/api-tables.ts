import type * as z from 'zod'
import { type ErrorCode, errors } from '../../src/api/calls/errors.js'
import { exitCodes } from '../../src/api/calls/exit-codes.js'
import exitMeanings from '../../src/api/calls/exit-meanings.json' with { type: 'json' }
import { isPriced, observedNote } from '../../src/api/operations/facts.js'
import { isUnlimited, type Plan, plans } from '../../src/api/operations/plans.js'
import { operation, operations } from '../../src/api/operations/table.js'
import * as record from '../../src/api/schemas/records.js'
import {
  type EventKind,
  type EventName,
  eventBody,
  eventNames,
  events,
} from '../../src/api/webhooks/events.js'
import { hintOf } from '../../src/cli/context/errors.js'
import {
  bodyWords,
  eventExamples,
  eventWords,
  priceWords,
  quotaWords,
  rateWords,
} from '../../src/reference/openapi.js'
import { type JsonSchema, toJsonSchema } from '../../src/reference/schemas.js'

const tables: Readonly<Record<string, () => string>> = {
  operations: operationTable,
  prices: priceTable,
  limits: () => `${planTable()}\n\n${endpointTable()}`,
  'exit-codes': exitTable,
  errors: errorTable,
  events: () => `${eventTable()}\n\n${eventSourceTable()}`,
  'event-fields': eventFieldTable,
  bodies: bodyTable,
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
    row.observed ? `${row.summary}. *${observedNote}*` : row.summary,
    priceWords(row),
    row.quota ? quotaWords[row.quota] : '',
    rateWords(row),
  ])
  return formatTable(['Endpoint', 'Command', 'What it does', 'Price', 'Quota', 'Request limit'], rows)
}

function bodyTable(): string {
  return formatTable(['Endpoint', 'Largest request body'], [['every one', bodyWords()]])
}

function priceTable(): string {
  const rows = operations()
    .filter(isPriced)
    .map((row) => [
      `\`${row.command}${row.flag ? ` --${row.flag}` : ''}\``,
      `\`${row.method} ${row.path}\``,
      priceWords(row),
    ])
  return formatTable(['Command', 'Endpoint', 'Price'], rows)
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
    ].map((count) => (isUnlimited(count) ? 'no limit' : formatCount(count))),
  ])
  const heads = [
    'Requests per minute',
    'Profiles per day',
    'Companies per day',
    'Companies per month',
    'Monthly credits',
  ]
  return formatTable(['Plan', ...heads], rows)
}

/** Operations with a limit of their own, and those that no plan counts. */
function endpointTable(): string {
  const rows = operations()
    .map((row) => ({ row, words: rateWords(row) }))
    .filter(({ words }) => words !== 'plan')
    .map(({ row, words }) => [`\`${row.method} ${row.path}\``, words])
  return formatTable(['Endpoint', 'Request limit'], rows)
}

/** By number; commands have further ones for signals. */
function exitTable(): string {
  const rows = Object.entries(exitCodes)
    .sort(([, one], [, other]) => one - other)
    .map(([name, code]) => [code, ...Object.values(exitMeanings[name as keyof typeof exitCodes])])
  return formatTable(['Exit', 'Meaning', 'What to do'], rows)
}

function errorTable(): string {
  const rows = Object.entries(errors).map(([name, row]) => [
    row.status,
    `\`${name}\``,
    'code' in row ? `\`${row.code}\`` : '',
    row.text,
    row.exit,
    hintOf(name as ErrorCode),
  ])
  return formatTable(['Status', 'Error', '`code` in the body', 'Text', 'Exit', 'What to do'], rows)
}

const capital = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1)
const formatCount = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',')

const common = ['event', 'id', 'created_at', 'custom']
/** Fields of a contact are those of its result: too many for a cell. */
const contact = Object.keys(record.contactResult().shape)

/** Every event: when it is sent, and which fields its body adds to the common ones. */
const eventTable = (): string =>
  formatTable(
    ['Event', 'When', 'Carries'],
    eventNames().map((name) => [`\`${name}\``, eventWords(name), listFields(name)]),
  )

function listFields(name: EventName): string {
  const fields = Object.keys(eventBody(name).shape).filter((field) => !common.includes(field))
  if (fields.includes('enrichment_id')) return 'the contact'
  return fields.map((field) => `\`${field}\``).join(', ')
}

/** Returns a file for the body of every event, from the sample data. */
export const eventBodyFiles = (): { path: string; text: string }[] =>
  eventNames().map((name) => ({
    path: `docs/examples/events/${name}.json`,
    text: `${JSON.stringify(eventExamples[name], null, 2)}\n`,
  }))

/** Which endpoints send which kind of event. */
const eventSourceTable = (): string =>
  formatTable(
    ['Events', 'Of'],
    (Object.keys(events) as EventKind[]).map((kind) => [
      `\`${kind}.*\``,
      events[kind].from.map((id) => `\`${operation(id).method} ${operation(id).path}\``).join(', '),
    ]),
  )

/** Every field of the bodies with type and meaning, each record once. */
function eventFieldTable(): string {
  const bodies = eventNames().map((name) => toJsonSchema(eventBody(name)))
  const own = new Map<string, JsonSchema>()
  for (const { properties } of bodies)
    for (const [name, field] of Object.entries(properties as Record<string, JsonSchema>))
      if (common.includes(name) || !contact.includes(name)) own.set(name, field)
  const records: readonly (readonly [where: string, schema: z.ZodType])[] = [
    ['`lead`, in `leads`', record.leadRecord()],
    ['`account`, `company`, in `accounts`', record.accountRecord()],
    ['in `jobs`', record.jobRecord()],
    ['in `technologies_found`', record.technologiesFound()],
    ['`similarity`', record.similarity()],
    ['`list`', record.listRecord()],
    ['the contact', record.contactResult()],
  ]
  const rows = records.flatMap(([where, schema]) => fieldsOf(where, fieldsIn(toJsonSchema(schema))))
  return formatTable(['Where', 'Field', 'Type', 'Meaning'], [...fieldsOf('the body', own), ...rows])
}

function fieldsIn({ properties, items }: JsonSchema): Map<string, JsonSchema> {
  const fields = properties ?? (items as JsonSchema).properties
  return new Map(Object.entries(fields as Record<string, JsonSchema>))
}

const fieldsOf = (where: string, fields: ReadonlyMap<string, JsonSchema>): TableRow[] =>
  [...fields]
    .filter(([name]) => name !== 'event')
    .map(([name, field]) => [where, `\`${name}\``, typeWords(field), String(field.description ?? '')])

function typeWords({ type, enum: words, format, anyOf }: JsonSchema): string {
  if (Array.isArray(anyOf)) return anyOf.map(typeWords).join(' or ')
  if (type === 'null') return 'null'
  const types = [type].flat().filter((one) => one !== 'null')
  const what = Array.isArray(words)
    ? words
        .filter((word) => word !== null)
        .map((word) => `\`${word}\``)
        .join(', ')
    : types.map((one) => (format === 'iri' ? 'URL' : String(format ?? one))).join(' or ')
  return [type].flat().includes('null') ? `${what} or null` : what
}

/** Cells of a row. */
type TableRow = readonly (string | number)[]

/** Returns a table in Markdown. */
function formatTable(heads: readonly string[], rows: readonly TableRow[]): string {
  const line = (cells: TableRow) =>
    `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')
}
