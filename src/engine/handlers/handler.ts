import type { InputOf, OutputOf } from '../../api/areas/shapes.js'
import type { OperationId } from '../../api/operations/table.js'
import type { NewJob } from '../credits/accept.js'
import type { Used } from '../credits/price.js'
import type { Awaitable, Ids, Principal, Source, Store, Transaction } from '../ports/ports.js'

/** What a handler is given. Everything that can refuse the request has been checked. */
export interface Work<Id extends OperationId> {
  readonly input: InputOf<Id>
  readonly principal: Principal
  /** Engine time of the request. */
  readonly now: number
  /** Units of what the operation is priced by that balance and weekly allowance could pay for; 0 where it is free. */
  readonly affordable: number
  readonly source: Source
  readonly store: Store
  readonly ids: Ids
}

/** What a handler answers: the body, and the units found. It knows no prices. */
export interface Outcome<Id extends OperationId> {
  readonly output: OutputOf<Id>
  readonly used?: Used
  /** What the request leaves behind; it commits together with the charge and the kept reply, or not at all. */
  readonly keep?: (tx: Transaction) => Awaitable<void>
  /** Work that goes on after the request; it is queued together with the kept reply. */
  readonly job?: NewJob
}

/** Does the work of one operation; throws an `ApiError` such as `no_company_found` when there is no result. */
export type Handler<Id extends OperationId> = (work: Work<Id>) => Awaitable<Outcome<Id>>
