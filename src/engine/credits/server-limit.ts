import { shapeOf } from '../../api/areas/shapes.js'
import {
  type Caller,
  type CallMember,
  type CallOptions,
  ConnectionLost,
  type Input,
  isOk,
  type Reply,
  type WorkHold,
} from '../../api/calls/caller.js'
import { ApiError, failureOf, toRefusal } from '../../api/calls/errors.js'
import { isPriced } from '../../api/operations/facts.js'
import { type Operation, operation } from '../../api/operations/table.js'
import type { Clock } from '../../api/ports/ports.js'
import { validate } from '../../api/validation/validate.js'
import { parseExact, toJson } from '../../api/values/json.js'
import { isObject, valueAt } from '../../api/values/objects.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { periodStart } from '../clock.js'
import { dropClaim, findReply, insertClaim, replaceClaim, storeReply } from '../tables/replies.js'
import { checkSpendable } from './check-balance.js'
import { creditsAccepted, mostCredits, unitPrice, unitsFor } from './cost.js'
import { countSpending, readAllowanceNow, readWeek } from './weekly-limit.js'

interface ServerLimitPorts {
  /** The members, and what they have spent. Several processes and machines may share it. */
  readonly store: Driver
  /** Real time, by the clock of the store. */
  readonly clock: Clock
  /** Base address of the server. */
  readonly server: string
  /** Called when work was accepted, with its reply and what it counts at. */
  readonly onAccepted?: (reply: Reply, hold: WorkHold) => Promise<void>
}

/** What a call takes of a week before it is made: its maximum, as in every budget (decision 8). */
interface Reservation {
  readonly credits: number
  readonly week: number
  /** Replaces the `limit` of the request, of which the week permits only a part. */
  readonly limit?: number
  /** Whether its idempotency key was sent before: then it was counted, or cost nothing. */
  readonly wasSent?: true
}

/**
 * Applies the weekly limits of members to what they spend at a server, and counts what the others spend. A call counts at
 * its maximum before it is made, and at its cost after it. Where its outcome is unknown, or this process is killed meanwhile, the maximum stays counted.
 */
export function createServerLimit({ store, clock, server, onAccepted }: ServerLimitPorts) {
  const queues = new Map<string, Waiting>()
  // Where the server sells credits, as it said last.
  let topUpUrl: string | undefined

  /** Takes credits from the week of a member. Returns what is left of it where that is not enough. */
  const take = (row: Operation, input: Input, member: CallMember, key: string | undefined) =>
    store.transaction(async (tx): Promise<Reservation | { readonly allowance: number }> => {
      const now = clock.now()
      const week = periodStart('week', now)
      const sent = key === undefined ? undefined : await findSentKey(tx, member, key, now)
      if (sent) return { credits: 0, week, wasSent: true, ...sent }
      const spender = { ...member, server }
      const allowance = await readAllowanceNow(tx, spender, now)
      if (allowance === undefined) return { credits: 0, week }
      const most = maxCostOf(row, input)
      // The engine, too, returns as many jobs as the week permits.
      const credits = row.price.job === undefined ? most : Math.min(most, allowance)
      if (credits > allowance || credits === 0) return { allowance }
      const limit = credits < most ? credits : undefined
      await countSpending(tx, spender, credits, now)
      if (key !== undefined) await keepSentKey(tx, member, key, row, limit, now)
      return { credits, week, ...(limit === undefined ? {} : { limit }) }
    }, scopeOf(member))

  /** Like `take`. While calls of this process may give credits back, it waits for them. */
  const reserve = async (row: Operation, input: Input, member: CallMember, key: string | undefined) => {
    const queue = queues.get(member.id) ?? new Waiting()
    queues.set(member.id, queue)
    for (;;) {
      const taken = await take(row, input, member, key)
      if ('credits' in taken) {
        queue.begin()
        return taken
      }
      if (!(await queue.isFreed())) return taken
    }
  }

  /** Counts what a call has cost in place of what it took before. */
  const settle = async (
    member: CallMember,
    { credits, week, wasSent }: Reservation,
    cost: number,
    refusedKey?: string,
  ) => {
    const change = wasSent ? 0 : cost - credits
    if (change !== 0 || (refusedKey !== undefined && !wasSent))
      await store.transaction(async (tx) => {
        if (change !== 0) await adjust(tx, { clock, server }, member.id, change, week)
        if (refusedKey !== undefined && !wasSent) await forgetSentKey(tx, member, refusedKey)
      }, scopeOf(member))
    return change
  }

  const unlimited = (): Reservation => ({ credits: 0, week: periodStart('week', clock.now()) })

  const layer = (upstream: Caller): Caller => {
    const balance = async (options: CallOptions) => {
      const reply = await upstream.call('credits.show', {}, options).catch(() => undefined)
      const body = reply && isOk(reply) ? reply.body : undefined
      return valueAt(body, ['credits', 'enrichment']) as number | undefined
    }
    /** Returns the refusal of a call that a week does not permit, in the order in which the engine checks. */
    const refuse = async (row: Operation, input: Input, options: CallOptions, allowance: number) => {
      const limited = await upstream.refusedNow?.(row.id, options, input)
      if (limited) return limited
      try {
        validate(row.id, await shapeOf(row.id), input)
        const most = maxCostOf(row, input)
        const isBounded = row.price.job === undefined && Number.isFinite(most)
        const need = {
          credits: isBounded ? most : unitPrice(row),
          topUpUrl,
        }
        const credits = (await balance({ apiKey: options.apiKey })) ?? Number.POSITIVE_INFINITY
        checkSpendable(need, { credits, allowance })
        // Only an import whose matches are not known yet is left.
        const reason = `limit is needed: the weekly limit leaves ${unitsFor(row, allowance)} records`
        throw new ApiError('invalid', { reason })
      } catch (error) {
        if (error instanceof ApiError) return toRefusal(error, row)
        throw error
      }
    }
    const key = async ({ idempotencyKey }: CallOptions) => {
      if (idempotencyKey === undefined) return undefined
      // A blank keeps it apart from the keys that this engine has answered.
      return (await (upstream.supportsIdempotency?.() ?? true)) ? `${server} ${idempotencyKey}` : undefined
    }
    const call: Caller['call'] = async (id, input, options = {}) => {
      const row = operation(id)
      const { member } = options
      if (!member || !isPriced(row)) return upstream.call(id, input, options)
      const isLimited = member.weeklyLimit !== null
      const sentKey = isLimited ? await key(options) : undefined
      const reserved = isLimited ? await reserve(row, input, member, sentKey) : unlimited()
      if (!('credits' in reserved)) return refuse(row, input, options, reserved.allowance)
      let given = 0
      try {
        const asked = reserved.limit === undefined ? input : { ...input, limit: reserved.limit }
        const reply = await upstream.call(id, asked, options)
        if (!isOk(reply)) topUpUrl = failureOf(reply.status, reply.body).topUpUrl ?? topUpUrl
        const cost = costOf(row, asked, reply)
        const isRefused = !isOk(reply) && reply.status !== 404 && cost !== undefined
        given = await settle(member, reserved, cost ?? reserved.credits, isRefused ? sentKey : undefined)
        if (row.starts && isOk(reply) && !reserved.wasSent && cost)
          await onAccepted?.(reply, { member: member.id, credits: cost, week: reserved.week })
        return reserved.limit === undefined ? reply : asTruncated(reply)
      } catch (error) {
        if (error instanceof ConnectionLost && !error.unknown)
          given = await settle(member, reserved, 0, sentKey)
        throw error
      } finally {
        if (isLimited) queues.get(member.id)?.end(given < 0)
      }
    }
    return { ...upstream, call }
  }
  return { layer }
}

const scopeOf = ({ id }: Pick<CallMember, 'id'>) => `spending ${id}`

/** Adds credits to the current week of a member, or gives back those of an earlier call while its week lasts. */
async function adjust(
  tx: Connection,
  { clock, server }: Pick<ServerLimitPorts, 'clock' | 'server'>,
  id: string,
  credits: number,
  week: number,
): Promise<void> {
  // The counter of a server is found without a workspace.
  const spender = { id, workspaceId: '', server }
  const now = clock.now()
  const { started_at: startedAt } = await readWeek(tx, spender, now)
  if (credits > 0 || periodStart('week', startedAt) === week) await countSpending(tx, spender, credits, now)
}

/** Has accepted work count at its cost. It is called once for each; where it is not, the work counts at its maximum. */
export const settleAccepted = (ports: ServerLimitPorts, { member, credits, week }: WorkHold, cost: number) =>
  ports.store.transaction((tx) => adjust(tx, ports, member, cost - credits, week), scopeOf({ id: member }))

/** The most jobs that a search returns without a limit. */
const maxJobs = 100

/** Returns the highest cost of a request; at least a credit, as a server may accept fields that we would refuse. */
function maxCostOf(row: Operation, input: Input): number {
  const most = mostCredits(row, input) ?? (row.price.job === undefined ? Number.POSITIVE_INFINITY : maxJobs)
  return Math.max(1, Math.ceil(most))
}

/** Returns what a call has cost, or the most that accepted work can cost; `undefined` where that is not known. */
function costOf(row: Operation, input: Input, reply: Reply): number | undefined {
  if (reply.unknown || reply.unusable !== undefined) return undefined
  // It was counted when the server answered it first.
  if (reply.headers['idempotent-replayed'] === 'true') return 0
  return row.starts && isOk(reply) ? (creditsAccepted(row, input, reply.body) ?? 0) : reply.credits
}

/** Returns a reply with a part of the jobs that were asked for, marked as the engine does. */
function asTruncated(reply: Reply): Reply {
  const { body, wire } = reply
  if (!isOk(reply) || !isObject(body) || !(Number(body.total_jobs) > reply.credits)) return reply
  // In a text of the body its quotation marks are escaped.
  const written = (text: string) => text.replace(/("truncated"\s*:\s*)false/, '$1true')
  const { text, ...rest } = reply
  return {
    ...rest,
    body: { ...body, truncated: true },
    ...(wire
      ? { wire: new Uint8Array(Buffer.from(written(Buffer.from(wire).toString('latin1')), 'latin1')) }
      : {}),
  }
}

/** Calls of a member in this process, and those that wait for credits that they may give back. */
class Waiting {
  #underWay = 0
  readonly #line: ((isFreed: boolean) => void)[] = []

  begin(): void {
    this.#underWay++
  }

  /** Ends a call, which may have given credits back. */
  end(gaveBack: boolean): void {
    this.#underWay--
    if (this.#underWay === 0) for (const go of this.#line.splice(0)) go(true)
    else if (gaveBack) this.#line.shift()?.(true)
  }

  /** Resolves when credits may have been given back; false at once where no call is under way. */
  isFreed(): Promise<boolean> {
    if (this.#underWay === 0) return Promise.resolve(false)
    return new Promise((resolve) => this.#line.push(resolve))
  }
}

/** How long a server is expected to keep idempotency keys. */
const keptMs = 86_400_000

/**
 * Returns what a member sent to a server under a key that the server still knows: the `limit` in place of that of the request,
 * if the week permitted only a part. It is `undefined` where nothing was.
 */
async function findSentKey(tx: Connection, { workspaceId }: CallMember, key: string, now: number) {
  const known = await findReply(tx, workspaceId, key)
  return known && now - known.created_at < keptMs
    ? (parseExact(known.body ?? '{}') as { limit?: number })
    : undefined
}

/** Keeps that a request is sent to a server under a key, in place of what was sent under it long ago. */
async function keepSentKey(
  tx: Connection,
  { id: token, workspaceId }: CallMember,
  key: string,
  row: Operation,
  limit: number | undefined,
  now: number,
): Promise<void> {
  const claim = { fingerprint: row.id, token, created_at: now }
  const known = await findReply(tx, workspaceId, key)
  if (known) await replaceClaim(tx, { workspaceId, key, token: known.token }, claim)
  else await insertClaim(tx, { workspaceId, key }, claim)
  await storeReply(tx, { workspaceId, key, token }, row.ok, toJson({ limit }))
}

/** Forgets a key whose request had no effect, which may be sent again. */
async function forgetSentKey(tx: Connection, { id: token, workspaceId }: CallMember, key: string) {
  const of = { workspaceId, key, token }
  const claim = { fingerprint: '', token, created_at: 0 }
  if (await replaceClaim(tx, of, claim)) await dropClaim(tx, of)
}
