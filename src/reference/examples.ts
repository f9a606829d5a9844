import type { OperationId } from '../api/operations/table.js'
import type { EventName } from '../api/webhooks/events.js'
import recorded from './examples.json' with { type: 'json' }

/** A request, its path parameters and query among the fields, and the reply of the engine. */
export interface Example {
  readonly request: Readonly<Record<string, unknown>>
  readonly reply: unknown
}

/** A success of every operation, recorded from the engine over the sample data. */
export const examples: Readonly<Record<OperationId, Example>> = recorded.operations

/** A body of every event, recorded in the same way. */
export const eventExamples: Readonly<Record<EventName, unknown>> = recorded.events
