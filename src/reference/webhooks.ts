import { operation } from '../api/operations/table.js'
import { type EventName, eventBody, eventNames, events } from '../api/webhooks/events.js'
import { eventExamples } from './examples.js'
import { jsonSchema, type Schema, type Schemas } from './schemas.js'
import { eventWords } from './words.js'

/** Headers of every delivery: those of Standard Webhooks 1.0. */
export const webhookParameters: Readonly<Record<string, Schema>> = {
  WebhookId: header('webhook-id', 'Identifier of the delivery, the same on every attempt', {
    type: 'string',
  }),
  WebhookTimestamp: header('webhook-timestamp', 'When this attempt was made, in seconds since 1970', {
    type: 'integer',
  }),
  WebhookSignature: header(
    'webhook-signature',
    'One or more signatures, apart by spaces: `v1,` and the base64 of the HMAC-SHA256 of id, timestamp and body, joined by dots',
    { type: 'string', pattern: '^v1,\\S+( v1,\\S+)*$' },
  ),
}

function header(name: string, description: string, schema: Schema): Schema {
  return { name, in: 'header', required: true, description, schema }
}

/** The bodies of events by the names of their schemas. */
export const eventBodies = (): [name: string, schema: Schema][] =>
  eventNames().map((name) => [schemaName(name), jsonSchema(eventBody(name))])

const schemaName = (name: EventName): string =>
  `${name.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`

/** Every event as an entry of `webhooks`: what is posted to the URL of a request. */
export const webhooks = (known: Schemas): Schema =>
  Object.fromEntries(eventNames().map((name) => [name, { post: delivery(name, known) }]))

function delivery(name: EventName, known: Schemas): Schema {
  const from = events[name.split('.')[0] as keyof typeof events].from
  const endpoints = from.map((id) => `\`${operation(id).method} ${operation(id).path}\``)
  return {
    operationId: name,
    tags: ['webhooks'],
    summary: eventWords(name),
    description: `Sent for ${endpoints.join(', ')}, to the \`webhook_url\` of the request.`,
    // Receivers authenticate deliveries by their signature; no key is sent.
    security: [],
    parameters: Object.keys(webhookParameters).map((one) => ({ $ref: `#/components/parameters/${one}` })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: known.place(jsonSchema(eventBody(name))),
          example: eventExamples[name],
        },
      },
    },
    responses: {
      '2XX': { description: 'Taken; it is not sent again' },
      '410': { description: 'Gone; it is not sent again' },
      default: { description: 'Anything else, or no answer within 15 seconds: it is sent again later' },
    },
  }
}
