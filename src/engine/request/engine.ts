import { type Shape, shapeOf } from '../../api/areas/shapes.js'
import type { Caller, CallOptions, Input, Reply, RowColumns, RunRow } from '../../api/calls/caller.js'
import { ApiError, toRefusal } from '../../api/calls/errors.js'
import { countingOf, hasBody, isPriced, topUpPath } from '../../api/operations/facts.js'
import { operationOn, type Window, windowsOf } from '../../api/operations/plans.js'
import { lostIn, type Operation, type OperationId, operation } from '../../api/operations/table.js'
import type { Asking, Sender, Targets } from '../../api/ports/ports.js'
import { ownWebhook } from '../../api/validation/own-webhook.js'
import { coerceQuery, fingerprintOf, validateInTurns, withoutBlanks } from '../../api/validation/validate.js'
import { parseExact } from '../../api/values/json.js'
import type { Awaitable } from '../../api/values/objects.js'
import type { Driver } from '../../storage/driver/connection.js'
import { type CounterState, countedAt, createClockWatch, engineTime } from '../clock.js'
import { checkSpendable, readSpendableCredits } from '../credits/check-balance.js'
import { costOf, creditsNeeded, unitsFor } from '../credits/cost.js'
import { grantDue } from '../credits/ledger.js'
import { checkQuota } from '../credits/quotas.js'
import {
  billOf,
  type Claim,
  claimKey,
  concludeRows,
  createRowClaim,
  dropRunReplies,
  findRunReply,
  idempotencyKey,
  inProgressError,
  isConcluded,
  type Request,
  reopenRows,
  settleRequest,
} from '../credits/settlement.js'
import { handlers } from '../handlers/registry.js'
import { requireConsent } from '../handlers/waterfall.js'
import type { WorkerPorts } from '../jobs/progress.js'
import { readCounter, setCounter } from '../tables/counters.js'
import { listMembers, openSuppressor, type Principal, type Workspace } from '../tables/members.js'
import type { StoredReply } from '../tables/replies.js'
import { checkScope, checkSession, createAccess } from './access.js'
import { answerUnderFaults, loseReply } from './faults.js'

interface EnginePorts extends Pick<WorkerPorts, 'store' | 'source' | 'vendors' | 'clock' | 'ids'> {
  /** Posts deliveries and checks their targets; without one every address is accepted. */
  readonly sender?: Pick<Sender, 'check'>
  /** Returns where a workspace with this number of members may deliver to, besides public addresses. */
  readonly targets?: (members: number) => Targets
  /** Receives the id of accepted work, once that is durable. */
  readonly accepted?: (jobId: string) => void
  /** Waits in real time; replaced by tests. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Where credits are bought; by default `/top-up` on the server's own origin. */
  readonly topUpUrl?: string
}

const pause = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, signal?.aborted ? 0 : ms)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    signal?.addEventListener('abort', end, { once: true })
  })

/** Creates an engine over a store and a source: it checks, answers and charges every request. */
export function createEngine(engine: EnginePorts): Caller {
  const { store } = engine
  const ports = createPipeline(engine)
  return {
    call: async (id, input, options = {}) => {
      const reply = await answer(ports, id, () => input, options)
      return reply.loss ? loseReply(reply, operation(id), options, ports) : reply
    },
    answerRequest: (id, readInput, options = {}) => answer(ports, id, readInput, options),
    discardReplies: async (run, before, options = {}) => {
      const { workspace } = await ports.access(options.apiKey)
      await store.transaction((tx) => dropRunReplies(tx, workspace.id, run, before), workspace.id)
    },
    concludeRows: async (id, rows, options = {}) => {
      const { workspace, suppresses } = await ports.access(options.apiKey)
      const replies = await store.transaction((tx) => concludeRows(tx, workspace.id, rows), workspace.id)
      const suppressor = suppresses ? await openSuppressor(store, workspace.id) : undefined
      const concluded: (Reply | undefined)[] = []
      for (const found of replies) {
        const reply = found && toRowReply(found, operation(id))
        concluded.push(
          reply && suppressor ? await suppressor.reply(operation(id), reply, ports.source) : reply,
        )
      }
      return concluded
    },
    reopenRows: async (run, options = {}) => {
      const { workspace } = await ports.access(options.apiKey)
      await store.transaction((tx) => reopenRows(tx, workspace.id, run), workspace.id)
    },
    close: () => store.close(),
  }
}

/** Work for an address that no delivery could go to is refused. */
function webhookCheck({ store, sender, targets = () => nowhereElse }: EnginePorts) {
  return async (url: string, workspace: Workspace): Promise<void> => {
    if (!sender || url === ownWebhook) return
    const members = await store.read((tx) => listMembers(tx, workspace.id))
    const reason = await sender.check(url, targets(members.length), workspace.id)
    if (reason !== undefined) throw new ApiError('bad_request', { reason: `webhook_url: ${reason}` })
  }
}

const nowhereElse: Targets = { allow: [], loopback: false }

type PipelinePorts = ReturnType<typeof createPipeline>

function createPipeline(engine: EnginePorts) {
  const { store, clock, sleep = pause, accepted = () => {} } = engine
  return {
    ...engine,
    sleep,
    accepted,
    realNow: () => clock.now(),
    noticeTime: createClockWatch(store),
    access: createAccess(store, { clock, sleep }),
    checkWebhook: webhookCheck(engine),
  }
}

/** A request, and for whom vendors are asked. */
interface AskingRequest extends Request {
  readonly asking: () => Asking
  readonly columns: readonly (RowColumns | undefined)[]
}

/**
 * Runs one request through the checks in the order of `docs/rules.md`: key, scope, rates, body, fields, idempotency,
 * quota, balance, weekly limit, then work, then charge. A refusal is a reply too.
 *
 * What costs nothing to check comes first, so that a refusal neither does work nor tells a stranger anything. A request counts
 * for its rates before its body is read, or bad requests would be free. A known key replays its reply before credits are
 * looked at: what was paid for is given even when nothing is left. Work comes before the charge, since only a result is paid.
 */
async function answer(
  ports: PipelinePorts,
  id: OperationId,
  readInput: () => Awaitable<Input>,
  options: CallOptions,
): Promise<Reply> {
  let readRateHeaders: (() => Reply['headers']) | undefined
  let reply: Reply
  try {
    const principal = await ports.access(options.apiKey)
    checkScope(id, principal)
    const engineNow = () => engineTime(principal.clock, ports.realNow())
    const now = engineNow()
    await ports.noticeTime(now)
    if (now >= principal.workspace.nextAllocationAt) await grantDue(ports.store, principal.workspace, now)
    const row = operationOn(operation(id), principal.workspace.plan)
    const count = async (live: unknown) => {
      const admission = await countRequest(ports.store, row, principal, live, now)
      readRateHeaders = () => rateHeaders(admission, engineNow())
      if (admission.refused) throw new ApiError('rate_limited')
    }
    const { isCounted, isChosenByLive } = countingOf(row)
    if (isCounted && !isChosenByLive) await count(undefined)
    const given = await readInput()
    if (isCounted && isChosenByLive) await count(given.live)
    const input = await check(ports, row, given, principal)
    const topUpUrl = ports.topUpUrl ?? `${options.origin ?? 'http://127.0.0.1:4010'}${topUpPath}`
    const { workspace, member } = principal
    let asked: Asking | undefined
    const asking = () =>
      // What the call may cost at vendors: as its run says, else it is a run of its own.
      (asked ??= {
        ...(options.vendors ?? { run: options.row?.run ?? ports.ids.uuid() }),
        workspaceId: workspace.id,
        memberId: member.id,
      })
    const { columns = [] } = options
    const request = { operation: row, principal, now, input, topUpUrl, asking, columns }
    const suppressor = principal.suppresses ? await openSuppressor(ports.store, workspace.id) : undefined
    const work = async () => {
      if (!suppressor) return replyTo(ports, request, given, options)
      const source = suppressor.source(ports.source)
      const vendors = ports.vendors && suppressor.vendors(ports.vendors, ports.source)
      const found = await replyTo({ ...ports, source, vendors }, request, given, options)
      return suppressor.reply(row, found, ports.source)
    }
    reply = await (principal.faults > 0 ? answerUnderFaults(ports, request, options, work) : work())
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    reply = toRefusal(error, operation(id))
  }
  // Rate headers as of now, since the work takes time.
  return readRateHeaders ? { ...reply, headers: { ...readRateHeaders(), ...reply.headers } } : reply
}

/** Returns the stored reply to a permitted request, or the reply of its work. */
function replyTo(
  ports: PipelinePorts,
  request: AskingRequest,
  given: Input,
  { row, idempotencyKey: header }: CallOptions,
): Promise<Reply> {
  const { idempotent } = request.operation
  if (idempotent && row) return answerRow(ports, request, row)
  const key = idempotent ? idempotencyKey(header) : undefined
  return key === undefined ? doWork(ports, request) : answerOnce(ports, request, given, key)
}

/** Checks fields (400, 422) with sessions, consent and webhooks. */
async function check(
  { checkWebhook }: PipelinePorts,
  operation: Operation,
  given: Input,
  principal: Principal,
): Promise<Input> {
  const input = await validated(await shapeOf(operation.id), operation, given)
  checkSession(operation, input, principal.workspace)
  if (Array.isArray(input.enrichment_type))
    requireConsent(input.enrichment_type, principal.member.consentPersonalEmail)
  if (typeof input.webhook_url === 'string') await checkWebhook(input.webhook_url, principal.workspace)
  return input
}

function validated(shape: Shape, operation: Operation, given: Input): Input | Promise<Input> {
  const typed = hasBody(operation) ? given : coerceQuery(shape.input, given)
  return validateInTurns(operation.id, shape, typed)
}

/** With an idempotency key: returns the stored reply, or does the work under a claim. */
async function answerOnce(
  ports: PipelinePorts,
  request: AskingRequest,
  input: Input,
  key: string,
): Promise<Reply> {
  const { operation, principal, now } = request
  const shape = await shapeOf(operation.id)
  const fingerprint = fingerprintOf(operation, withoutBlanks(operation.id, shape, input))
  const claimed = await claimKey(ports, principal.workspace.id, key, fingerprint, now)
  if ('replay' in claimed) return toReplayedReply(claimed.replay, operation)
  try {
    return await doWork(ports, request, claimed.claim)
  } catch (error) {
    await claimed.claim.drop()
    throw error
  }
}

/** For a row of a run on this machine: returns its stored reply, or does the work under its claim. */
async function answerRow(ports: PipelinePorts, request: AskingRequest, row: RunRow): Promise<Reply> {
  const { id } = request.principal.workspace
  const found = row.fresh
    ? undefined
    : await ports.store.read((tx) => findRunReply(tx, id, row.run, row.ordinal))
  if (!found) return doWork(ports, request, createRowClaim(id, row))
  // Somebody settles what its run had under way.
  if (isConcluded(found)) throw inProgressError()
  const reply = toRowReply(found, request.operation)
  const isFreeLoss = found.credits === 0 && lostIn(reply.body).length > 0
  return isFreeLoss && request.asking().lostBefore !== undefined
    ? doWork(ports, request, createRowClaim(id, row, found))
    : reply
}

const toRowReply = (
  found: Pick<StoredReply, 'body'> & { status: number; credits: number },
  row: Operation,
) => ({
  ...toReplayedReply(found, row),
  replayed: found.credits,
})

const toReplayedReply = (
  { status, body }: Pick<StoredReply, 'status' | 'body'>,
  operation: Operation,
): Reply => ({
  status: status ?? operation.ok,
  body: parseExact(body ?? 'null'),
  headers: { 'idempotent-replayed': 'true' },
  credits: 0,
})

/** Checks what can be paid, does the work, and charges for what it found, in this order. */
async function doWork(ports: PipelinePorts, request: AskingRequest, claim?: Claim): Promise<Reply> {
  const { operation, principal, now, asking, columns } = request
  const { ids, source, store, vendors } = ports
  const affordable = await checkLimits(store, request)
  try {
    const found = await handlers[operation.id]({
      input: request.input as never,
      principal,
      now,
      affordable,
      source,
      vendors,
      asking,
      columns,
      store,
      ids,
    })
    const { output: body, used = {}, keep, job } = found
    const credits = costOf(operation, used)
    const hasEffect = credits > 0 || keep !== undefined || job !== undefined
    if (hasEffect || isKept(claim))
      await settleRequest(store, request, { credits, status: operation.ok, body, keep, job }, claim)
    if (job) ports.accepted(job.id)
    return { status: operation.ok, body, headers: {}, credits, ...(claim?.text ? { text: claim.text } : {}) }
  } catch (error) {
    // "Nothing found" is a result too: free, and stored under its key.
    if (!(error instanceof ApiError) || error.status !== 404) throw error
    const refusal = toRefusal(error, operation)
    if (isKept(claim)) await settleRequest(store, request, refusal, claim)
    return refusal
  }
}

/** Returns whether a reply is stored under its key even when it had no effect. */
const isKept = (claim: Claim | undefined): boolean => claim !== undefined && !claim.effectsOnly

/** Throws when quota, balance or weekly allowance forbid the request. Returns how many units they could pay for. */
async function checkLimits(store: Driver, request: Request): Promise<number> {
  const { operation, principal, now, input } = request
  const { workspace, member } = principal
  const { quota } = operation
  if (quota) await store.read((tx) => checkQuota(tx, workspace, quota, now))
  const credits = creditsNeeded(operation, input)
  if (credits === 0) return isPriced(operation) ? 0 : Number.POSITIVE_INFINITY
  const spendable = await readSpendableCredits(store, workspace, member, now)
  checkSpendable(billOf(request, credits), spendable)
  return unitsFor(operation, Math.min(spendable.credits, spendable.allowance))
}

/** A window after a request was counted in it, or refused by it. */
type CountedWindow = Window & CounterState

/** Counts a request in all its windows in one small transaction, or in none. Returns those, or the ones that refuse it. */
async function countRequest(
  store: Driver,
  operation: Operation,
  principal: Principal,
  live: unknown,
  now: number,
) {
  const windows = windowsOf(operation, principal.workspace.plan, live)
  if (windows.length === 0) return { refused: false, windows: [] }
  const owner = `user:${principal.member.id}`
  return store.transaction(
    async (tx) => {
      const found: CountedWindow[] = []
      for (const window of windows) {
        const counter = await readCounter(tx, owner, window.name)
        const counted = countedAt(counter, window, now)
        // Stored also when the request is refused: the time that is left has to decrease from now on.
        if (counter && counter.started_at > now) await setCounter(tx, owner, window.name, counted)
        found.push({ ...window, ...counted })
      }
      if (found.some(isFull)) return { refused: true, windows: found.filter(isFull) }
      const counted = found.map((window) => ({ ...window, count: window.count + 1 }))
      for (const { name, started_at: startedAt, count } of counted)
        await setCounter(tx, owner, name, { started_at: startedAt, count })
      return { refused: false, windows: counted }
    },
    owner,
    'short',
  )
}

const isFull = (window: CountedWindow) => window.count >= window.limit

/**
 * Returns the headers of the window with the least remaining; on a tie, of the one that resets last. After
 * `retry-after` seconds a refused request is admitted. `x-ratelimit-reset-after` has milliseconds, because a client
 * in a one-second window has to know when it ends.
 */
function rateHeaders(
  { refused, windows }: Awaited<ReturnType<typeof countRequest>>,
  now: number,
): Readonly<Record<string, string>> {
  const remaining = (window: CountedWindow) => Math.max(0, window.limit - window.count)
  const [tightest] = [...windows].sort((a, b) => remaining(a) - remaining(b) || b.resetsAt - a.resetsAt)
  if (!tightest) return {}
  const leftMs = Math.max(0, tightest.resetsAt - now)
  const reset = String(Math.max(1, Math.ceil(leftMs / 1_000)))
  return {
    'ratelimit-limit': String(tightest.limit),
    'ratelimit-remaining': String(remaining(tightest)),
    'ratelimit-reset': reset,
    'x-ratelimit-reset-after': (leftMs / 1_000).toFixed(3),
    ...(refused ? { 'retry-after': reset } : {}),
  }
}
