import type * as z from 'zod'
import { operation } from '../api/operations/table.js'
import * as record from '../api/schemas/records.js'
import { similarity, technologiesFound } from '../api/schemas/records.js'
import { type EventKind, type EventName, eventBody, eventNames, events } from '../api/webhooks/events.js'
import { eventExamples } from './examples.js'
import { jsonSchema, type Schema } from './schemas.js'
import { eventWords, type Row, table } from './words.js'

const common = ['event', 'id', 'created_at', 'custom']
/** Fields of a contact are those of its result: too many for a cell. */
const contact = Object.keys(record.contactResult().shape)

/** Every event: when it is sent, and which fields its body adds to the common ones. */
export const eventTable = (): string =>
  table(
    ['Event', 'When', 'Carries'],
    eventNames().map((name) => [`\`${name}\``, eventWords(name), carriedBy(name)]),
  )

function carriedBy(name: EventName): string {
  const fields = Object.keys(eventBody(name).shape).filter((field) => !common.includes(field))
  if (fields.includes('enrichment_id')) return 'the contact'
  return fields.map((field) => `\`${field}\``).join(', ')
}

/** The body of every event from the sample data, each folded under its name. */
export const eventBodyExamples = (): string =>
  eventNames()
    .map((name) => {
      const body = JSON.stringify(eventExamples[name], null, 2)
      return `<details>\n<summary><code>${name}</code></summary>\n\n\`\`\`json\n${body}\n\`\`\`\n\n</details>`
    })
    .join('\n\n')

/** Which endpoints send which kind of event. */
export const eventSourceTable = (): string =>
  table(
    ['Events', 'Of'],
    (Object.keys(events) as EventKind[]).map((kind) => [
      `\`${kind}.*\``,
      events[kind].from.map((id) => `\`${operation(id).method} ${operation(id).path}\``).join(', '),
    ]),
  )

/** Every field of the bodies with type and meaning, each record once. */
export function eventFieldTable(): string {
  const bodies = eventNames().map((name) => jsonSchema(eventBody(name)))
  const own = new Map<string, Schema>()
  for (const { properties } of bodies)
    for (const [name, field] of Object.entries(properties as Record<string, Schema>))
      if (common.includes(name) || !contact.includes(name)) own.set(name, field)
  const records: readonly (readonly [where: string, schema: z.ZodType])[] = [
    ['`lead`, in `leads`', record.leadRecord()],
    ['`account`, `company`, in `accounts`', record.accountRecord()],
    ['in `jobs`', record.jobRecord()],
    ['in `technologies_found`', technologiesFound()],
    ['`similarity`', similarity()],
    ['`list`', record.listRecord()],
    ['the contact', record.contactResult()],
  ]
  const rows = records.flatMap(([where, schema]) => fieldsOf(where, fieldsIn(jsonSchema(schema))))
  return table(['Where', 'Field', 'Type', 'Meaning'], [...fieldsOf('the body', own), ...rows])
}

function fieldsIn({ properties, items }: Schema): Map<string, Schema> {
  const fields = properties ?? (items as Schema).properties
  return new Map(Object.entries(fields as Record<string, Schema>))
}

const fieldsOf = (where: string, fields: ReadonlyMap<string, Schema>): Row[] =>
  [...fields]
    .filter(([name]) => name !== 'event')
    .map(([name, field]) => [where, `\`${name}\``, typeWords(field), String(field.description ?? '')])

function typeWords({ type, enum: words, format, anyOf }: Schema): string {
  if (Array.isArray(anyOf)) return anyOf.map(typeWords).join(' or ')
  if (type === 'null') return 'null'
  const types = [type].flat().filter((one) => one !== 'null')
  const what = Array.isArray(words)
    ? words
        .filter((word) => word !== null)
        .map((word) => `\`${word}\``)
        .join(', ')
    : types.map((one) => String(format ?? one)).join(' or ')
  return [type].flat().includes('null') ? `${what} or null` : what
}
