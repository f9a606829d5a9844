import type { z } from 'zod'
import type { OutputOf, Shapes } from '../areas/shapes.js'
import type { OperationId } from '../operations/table.js'
import { type Caller, type CallOptions, type Input, isOk, type Reply } from './caller.js'

/** The fields of a request to an operation: body, query and path parameters in one object. */
export type InputTo<Id extends OperationId> = z.input<Shapes[Id]['input']>

/** The body of a refusal. Operations with coded errors have a number in `error`, and the text in `message`. */
export interface Refusal {
  readonly error: string | number
  readonly message?: string
  /** The code to branch on, with the status. */
  readonly code?: string
  readonly top_up_url?: string
}

/** The reply of an operation: `ok` distinguishes success and refusal. */
export type ReplyTo<Id extends OperationId> =
  | (Omit<Reply, 'body'> & { readonly ok: true; readonly body: OutputOf<Id> })
  | (Omit<Reply, 'body'> & { readonly ok: false; readonly body: Refusal })

/** A caller whose requests and replies have the types of their operation. It is also a `Caller`. */
export interface TypedCaller extends Omit<Caller, 'call'> {
  call<Id extends OperationId>(id: Id, input: InputTo<Id>, options?: CallOptions): Promise<ReplyTo<Id>>
}

/** Types a caller, and adds a key to the calls whose options have none. */
export function withTypes(caller: Caller, apiKey?: string): TypedCaller {
  const call = async (id: OperationId, input: Input, options: CallOptions = {}) => {
    const isKeyless = apiKey !== undefined && !('apiKey' in options)
    const reply = await caller.call(id, input, isKeyless ? { ...options, apiKey } : options)
    return { ...reply, ok: isOk(reply) }
  }
  return { ...caller, call: call as TypedCaller['call'] }
}
