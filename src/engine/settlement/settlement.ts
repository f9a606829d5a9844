import type { Caller } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import {
  type Awaitable,
  type Connection,
  type Driver,
  isStorageFault,
} from '../../storage/driver/connection.js'
import { acceptJob, type NewJob } from '../credits/accept.js'
import { type Bill, charge } from '../credits/ledger.js'
import type { Principal } from '../tables/members.js'
import { type Claim, inProgressError } from './idempotency.js'

/** A request on its way through the checks. */
export interface Request {
  readonly operation: Operation
  readonly principal: Principal
  /** Engine time. */
  readonly now: number
  readonly input: Record<string, unknown>
  readonly topUpUrl: string
}

/** Returns what a request has to pay. */
export const billOf = (request: Request, credits: number): Bill => ({
  workspace: request.principal.workspace,
  member: request.principal.member,
  operation: request.operation.id,
  credits,
  topUpUrl: request.topUpUrl,
})

/** Throws when another process has taken over this work. */
export type FencingCheck = (tx: Connection) => Awaitable<void>

/** The result of a request's work. */
interface WorkResult {
  readonly credits: number
  readonly status: number
  readonly body: unknown
  readonly keep?: ((tx: Connection) => Awaitable<void>) | undefined
  readonly job?: NewJob | undefined
}

/** Writes stored data, charge and stored reply in one transaction. */
export function settleRequest(
  { store, checkFencing }: { readonly store: Driver; readonly checkFencing?: FencingCheck },
  request: Request,
  { credits, status, body, keep, job }: WorkResult,
  claim: Claim | undefined,
): Promise<void> {
  return store
    .transaction(async (tx) => {
      if (checkFencing) await checkFencing(tx)
      if (keep) await keep(tx)
      if (job) await acceptJob(tx, billOf(request, 0), job, request.now)
      if (credits > 0) await charge(tx, billOf(request, credits), request.now)
      if (claim) await claim.keep(tx, status, body, credits)
    }, request.principal.workspace.id)
    .catch((error: unknown) => {
      throw isStorageFault(error, 'already_there') ? inProgressError() : error
    })
}

/** Answers the rows of distributed runs. */
export interface RowCaller {
  /** Base address of the server; empty for the engine. */
  readonly source: string
  /** Most chunks of a process in progress at once. */
  readonly chunksAtOnce: number
  /** Most calls of a process in flight at once. */
  readonly atOnce: number
  /** Returns whether a call may be repeated under its key and is charged once. */
  mayRepeat(): Promise<boolean>
  /**
   * Calls as the member of a key; nothing is written that the fencing check refuses. The outcome of a rejected call
   * is unknown, unless it is the refusal `engine.not_sent`.
   */
  actingFor(keyId: string, checkFencing: FencingCheck): Pick<Caller, 'call'>
}
