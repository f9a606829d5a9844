import { createHash } from 'node:crypto'
import { type Input, type Reply, retryAfterMs } from '../api/calls/caller.js'
import type { Layer } from '../api/calls/compose.js'
import { ApiError, errorBody } from '../api/calls/errors.js'
import { countingOf } from '../api/operations/facts.js'
import { type Operation, operation } from '../api/operations/table.js'
import { windowsOf } from '../api/operations/windows.js'
import type { Clock } from '../engine/ports/ports.js'
import { admit, corrected, type PacedWindow, settleWindows, unanswered, type WindowKept } from './pace.js'

/** The rate windows of a server, shared by all processes of this machine. */
export interface Windows {
  /** Changes windows of an owner in one transaction. */
  change<T>(
    owner: string,
    names: readonly string[],
    decide: (known: readonly (PacedWindow | undefined)[]) => {
      readonly keep: readonly (PacedWindow | undefined)[]
      readonly answer: T
    },
  ): Promise<T>
}

/** What pacing needs. */
export interface PacedOptions {
  readonly windows: Windows
  /** The origin of the server. */
  readonly origin: string
  /** Real time. */
  readonly clock: Clock
  /** The caller's plan. Without it, limits are learnt from the server. */
  readonly plan?: string | undefined
  /** Whether to keep to limits that were observed and are not specified. */
  readonly observed?: boolean | undefined
}

/**
 * Keeps to the rate windows of a server. A request over a limit is answered 429 here, as the server would, and not
 * sent.
 */
export const paced =
  (options: PacedOptions): Layer =>
  (caller) => ({
    ...caller,
    refusedNow: async (id, call, input) => {
      const row = operation(id)
      const isOpen = countingOf(row).isChosenByLive && input === undefined
      const windows = isOpen ? [] : keptTo(row, input ?? {}, options)
      if (windows.length === 0) return undefined
      return refusal(row, ownerOf(options.origin, call?.apiKey), windows, options, false)
    },
    call: async (id, input, call) => {
      const row = operation(id)
      const windows = keptTo(row, input, options)
      if (windows.length === 0) return caller.call(id, input, call)
      const owner = ownerOf(options.origin, call?.apiKey)
      const refused = await refusal(row, owner, windows, options)
      if (refused) return refused
      const reply = await caller.call(id, input, call).catch(async (error: unknown) => {
        await learn(owner, windows, undefined, options)
        throw error
      })
      await learn(owner, windows, reply, options)
      return reply
    },
  })

/** Returns the owner of rate windows: the origin and a digest of the key. */
export const ownerOf = (origin: string, apiKey = ''): string =>
  `${origin} ${createHash('sha256').update(apiKey).digest('hex').slice(0, 16)}`

function keptTo(row: Operation, { live }: Input, { plan, observed }: PacedOptions): WindowKept[] {
  const isOfPlan = ({ name }: { readonly name: string }) => name.startsWith('plan:')
  return windowsOf(row, plan ?? '', live, observed).map((window) =>
    plan === undefined && isOfPlan(window) ? { ...window, limit: undefined } : window,
  )
}

const namesOf = (windows: readonly WindowKept[]): string[] => windows.map(({ name }) => name)

/** Returns the 429 of a request over a limit; `undefined` when it is admitted, and counted unless it is only a question. */
async function refusal(
  row: Operation,
  owner: string,
  windows: readonly WindowKept[],
  { windows: store, clock }: PacedOptions,
  counts = true,
): Promise<Reply | undefined> {
  const admission = await store.change(owner, namesOf(windows), (stored) => {
    const now = clock.now()
    const known = settleWindows(windows, stored, now)
    const answer = admit(windows, known, now)
    return { keep: counts && 'admitted' in answer ? answer.admitted : known, answer }
  })
  if ('admitted' in admission) return undefined
  const { waitMs, limit } = admission
  const seconds = String(Math.max(1, Math.ceil(waitMs / 1_000)))
  const told = { 'ratelimit-limit': String(limit), 'ratelimit-remaining': '0', 'ratelimit-reset': seconds }
  return {
    status: 429,
    body: errorBody(new ApiError('rate_limited'), row),
    headers: { ...(limit === undefined ? {} : told), 'retry-after': seconds },
    credits: 0,
    waitMs,
  }
}

/** Stores what a reply reports about the windows. The reply is returned even when storing fails. */
async function learn(
  owner: string,
  windows: readonly WindowKept[],
  reply: Reply | undefined,
  { windows: store, clock }: PacedOptions,
): Promise<void> {
  // The report is true now, not when it can be stored.
  const now = clock.now()
  const waitMs = retryAfterMs(reply?.headers['retry-after'], now)
  const learnt = store.change(owner, namesOf(windows), (stored) => {
    const known = settleWindows(windows, stored, now)
    const keep = reply ? corrected(windows, known, reply, waitMs, now) : unanswered(windows, known, now)
    return { keep, answer: undefined }
  })
  await learnt.catch(() => {})
}
