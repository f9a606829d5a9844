import type { InputOf, OutputOf } from '../../api/areas/shapes.js'
import type { RowColumns } from '../../api/calls/caller.js'
import type { OperationId } from '../../api/operations/table.js'
import type { Asking, Ids, Source, Vendors } from '../../api/ports/ports.js'
import type { Awaitable } from '../../api/values/objects.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import type { NewJob } from '../credits/accept.js'
import type { Used } from '../credits/cost.js'
import type { Principal } from '../tables/members.js'

/** The input of a handler. Everything that can refuse the request has been checked. */
export interface HandlerContext<Id extends OperationId> {
  readonly input: InputOf<Id>
  readonly principal: Principal
  /** Engine time of the request. */
  readonly now: number
  /** Units that balance and weekly allowance could pay for, at the operation's price; 0 when it is free. */
  readonly affordable: number
  readonly source: Source
  /** Data vendors of the workspace, where this machine asks any. */
  readonly vendors: Vendors | undefined
  readonly asking: () => Asking
  /** The columns of the rows that are asked about, in their order. */
  readonly columns: readonly (RowColumns | undefined)[]
  readonly store: Driver
  readonly ids: Ids
}

/** The result of a handler: the body, and the units found. It knows no prices. */
interface HandlerResult<Id extends OperationId> {
  readonly output: OutputOf<Id>
  readonly used?: Used
  /** What the request stores; it commits with the charge and the stored reply, or not at all. */
  readonly keep?: (tx: Connection) => Awaitable<void>
  /** HandlerContext that continues after the request; it is queued with the stored reply. */
  readonly job?: NewJob
}

/** Does the work of one operation. Throws an `ApiError` such as `no_company_found` when there is no result. */
export type Handler<Id extends OperationId> = (work: HandlerContext<Id>) => Awaitable<HandlerResult<Id>>

/** The handlers of an area by operation. A missing one does not compile. */
export type HandlersOf<Area extends string> = {
  readonly [Id in OperationId as Id extends `${Area}.${string}` ? Id : never]: Handler<Id>
}
