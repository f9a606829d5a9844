import { operation } from '../api/operations/table.js'
import { type EventName, eventBody, eventNames, events } from '../api/webhooks/events.js'
import document from './document.json' with { type: 'json' }
import { eventExamples } from './examples.js'
import { type JsonSchema, type NamedSchemas, toJsonSchema } from './schemas.js'
import { eventWords } from './words.js'

/** The bodies of events by the names of their schemas. */
export const listEventBodies = (): [name: string, schema: JsonSchema][] =>
  eventNames().map((name) => [schemaName(name), toJsonSchema(eventBody(name))])

const schemaName = (name: EventName): string =>
  `${name.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`

/** Every event as an entry of `webhooks`: what is posted to the URL of a request. */
export const describeWebhooks = (known: NamedSchemas): JsonSchema =>
  Object.fromEntries(eventNames().map((name) => [name, { post: describeDelivery(name, known) }]))

function describeDelivery(name: EventName, known: NamedSchemas): JsonSchema {
  const from = events[name.split('.')[0] as keyof typeof events].from
  const endpoints = from.map((id) => `\`${operation(id).method} ${operation(id).path}\``)
  return {
    operationId: name,
    tags: ['webhooks'],
    summary: eventWords(name),
    description: `Sent for ${endpoints.join(', ')}, to the \`webhook_url\` of the request.`,
    // Receivers authenticate deliveries by their signature; no key is sent.
    security: [],
    parameters: Object.keys(document.webhookParameters).map((one) => ({
      $ref: `#/components/parameters/${one}`,
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: known.place(toJsonSchema(eventBody(name))),
          example: eventExamples[name],
        },
      },
    },
    responses: document.deliveryResponses,
  }
}
