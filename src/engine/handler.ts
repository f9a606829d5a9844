import type { InputOf, OutputOf } from '../api/shapes.js'
import type { OperationId } from '../api/table.js'
import type { Awaitable, Principal, Source, Store } from './ports.js'
import type { Used } from './price.js'

/** What a handler is given. Everything that can refuse the request has been checked. */
export interface Work<Id extends OperationId> {
  readonly input: InputOf<Id>
  readonly principal: Principal
  /** Engine time of the request. */
  readonly now: number
  readonly source: Source
  readonly store: Store
}

/** What a handler answers: the body, and the units found. It knows no prices. */
export interface Outcome<Id extends OperationId> {
  readonly output: OutputOf<Id>
  readonly used?: Used
}

/** Does the work of one operation; throws an `ApiError` such as `no_company_found` when there is no result. */
export type Handler<Id extends OperationId> = (work: Work<Id>) => Awaitable<Outcome<Id>>
