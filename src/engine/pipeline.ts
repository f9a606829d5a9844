import type { CallOptions, Input, Reply } from '../api/caller.js'
import { coerceInput } from '../api/coerce.js'
import { ApiError, errorBody } from '../api/errors.js'
import { validate } from '../api/invalid.js'
import { type Shape, shapeOf } from '../api/shapes.js'
import type { Operation } from '../api/table.js'
import { checkScope } from './access.js'
import { handlerOf } from './handlers.js'
import { type Claim, type ClaimPorts, claimKey, fingerprintOf, idempotencyKey } from './idempotency.js'
import { type Bill, charge, checkAffordable, grantDue } from './ledger.js'
import type { Principal, Source, Store } from './ports.js'
import { costOf, creditsNeeded } from './price.js'
import { checkQuota } from './quotas.js'
import { countRequest } from './rates.js'
import { checkSession } from './sessions.js'
import { engineTime } from './time.js'

/** What the pipeline works with. */
export interface PipelinePorts extends ClaimPorts {
  readonly store: Store
  readonly source: Source
  readonly access: (apiKey: string | undefined) => Promise<Principal>
  readonly topUpUrl: (origin: string | undefined) => string
}

/** A request on its way through the checks. */
interface Request {
  readonly operation: Operation
  readonly principal: Principal
  /** Engine time. */
  readonly now: number
  readonly input: Record<string, unknown>
  readonly topUpUrl: string
}

type Fields = Input | (() => Promise<Input>)

/**
 * Takes one request through the checks in the order of `docs/rules.md`: key, body, rates, fields, scope,
 * idempotency, quota, balance, weekly limit, then work, then charge. A refusal is a reply too.
 */
export async function answer(
  ports: PipelinePorts,
  operation: Operation,
  fields: Fields,
  options: CallOptions,
): Promise<Reply> {
  let headers: Readonly<Record<string, string>> = {}
  try {
    const principal = await ports.access(options.apiKey)
    const now = engineTime(principal.clock, ports.realNow())
    if (now >= principal.workspace.nextAllocationAt) await grantDue(ports.store, principal.workspace, now)
    const given = typeof fields === 'function' ? await fields() : fields
    headers = await countRequest(ports.store, operation, principal, given.live, now)
    const input = check(operation, await shapeOf(operation.id), given, principal)
    const request = { operation, principal, now, input, topUpUrl: ports.topUpUrl(options.origin) }
    const reply = await once(ports, request, given, options.idempotencyKey)
    return { ...reply, headers: { ...headers, ...reply.headers } }
  } catch (error) {
    return refusal(error, operation, headers)
  }
}

function refusal(error: unknown, operation: Operation, headers: Reply['headers']): Reply {
  if (!(error instanceof ApiError)) throw error
  const body = errorBody(error, operation)
  return { status: error.status, body, headers: { ...headers, ...error.headers }, credits: 0 }
}

/** Fields (400, 422), sessions (422), then the key's scope (403). */
function check(
  operation: Operation,
  shape: Shape,
  given: Input,
  principal: Principal,
): Record<string, unknown> {
  const typed = operation.method === 'POST' ? given : coerceInput(shape.input, given)
  const input = validate(operation.id, shape, typed) as Record<string, unknown>
  checkSession(operation, input, principal.workspace)
  checkScope(operation, principal)
  return input
}

type Answer = Omit<Reply, 'headers'> & { headers?: Reply['headers'] }

/** With a key on an operation that takes one: the stored reply, or the work under a claim. */
async function once(
  ports: PipelinePorts,
  request: Request,
  given: Input,
  header: string | undefined,
): Promise<Answer> {
  const { operation, principal, now } = request
  const key = operation.idempotent ? idempotencyKey(header) : undefined
  if (key === undefined) return await work(ports, request)
  const fingerprint = fingerprintOf(operation, given)
  const claimed = await claimKey(ports, principal.workspace.id, key, fingerprint, now)
  if ('claim' in claimed) return await underClaim(ports, request, claimed.claim)
  const { status, body } = claimed.replay
  return {
    status: status ?? operation.ok,
    body: JSON.parse(body ?? 'null'),
    headers: { 'idempotent-replayed': 'true' },
    credits: 0,
  }
}

async function underClaim(ports: PipelinePorts, request: Request, claim: Claim): Promise<Answer> {
  try {
    return await work(ports, request, claim)
  } catch (error) {
    await claim.drop()
    throw error
  }
}

/** What can be paid is checked, the work done, and what it found charged, in this order. */
async function work(ports: PipelinePorts, request: Request, claim?: Claim): Promise<Answer> {
  await checkLimits(ports.store, request)
  const { operation } = request
  const handler = handlerOf(operation.id)
  if (!handler) throw new ApiError('not_implemented')
  try {
    const { principal, now } = request
    const { source, store } = ports
    const found = await handler({ input: request.input as never, principal, now, source, store })
    const credits = costOf(operation, found.used ?? {})
    await settle(ports.store, request, credits, operation.ok, found.output, claim)
    return { status: operation.ok, body: found.output, credits }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error
    const body = errorBody(error, operation)
    await settle(ports.store, request, 0, error.status, body, claim)
    return { status: error.status, body, credits: 0 }
  }
}

const billOf = (request: Request, credits: number): Bill => ({
  workspace: request.principal.workspace,
  member: request.principal.member,
  operation: request.operation.id,
  credits,
  topUpUrl: request.topUpUrl,
})

async function checkLimits(store: Store, request: Request): Promise<void> {
  const { operation, principal, now, input } = request
  const credits = creditsNeeded(operation, input)
  const { quota } = operation
  if (credits === 0 && !quota) return
  await store.read(async (reads) => {
    if (quota) await checkQuota(reads, principal.workspace, quota, now)
    if (credits > 0) await checkAffordable(reads, billOf(request, credits), now)
  })
}

/** Charge and stored reply in one transaction. */
async function settle(
  store: Store,
  request: Request,
  credits: number,
  status: number,
  body: unknown,
  claim: Claim | undefined,
): Promise<void> {
  if (credits === 0 && !claim) return
  await store.transaction(async (tx) => {
    await charge(tx, billOf(request, credits), request.now)
    await claim?.keep(tx, status, body)
  })
}
