import { createHash } from 'node:crypto'
import { type Input, type Reply, retryAfterMs } from '../api/calls/caller.js'
import type { Layer } from '../api/calls/compose.js'
import { ApiError, errorBody } from '../api/calls/errors.js'
import { type Operation, operation } from '../api/operations/table.js'
import { windowsOf } from '../api/operations/windows.js'
import type { Clock } from '../engine/ports/ports.js'
import { admit, corrected, type PacedWindow, unanswered, type WindowKept } from './pace.js'

/** What is remembered of windows, shared by all processes of this machine. */
export interface Windows {
  /** Decides on windows of an owner alone: nobody else changes them meanwhile. */
  change<T>(
    owner: string,
    names: readonly string[],
    decide: (known: readonly (PacedWindow | undefined)[]) => {
      readonly keep: readonly (PacedWindow | undefined)[]
      readonly answer: T
    },
  ): Promise<T>
}

/** What pacing works with. */
export interface PacedOptions {
  readonly windows: Windows
  /** The origin of the server. */
  readonly origin: string
  /** Real time. */
  readonly clock: Clock
  /** The plan of whoever asks; without one, limits are learnt from the server. */
  readonly plan?: string | undefined
}

/**
 * Keeps to the windows of a server before it has to refuse: a request that does not fit is answered 429 here, as the
 * server would, and is not sent.
 */
export const paced =
  (options: PacedOptions): Layer =>
  (caller) => ({
    ...caller,
    call: async (id, input, call) => {
      const row = operation(id)
      const windows = keptTo(row, input, options.plan)
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

/** Whose windows they are: those of a key, as a digest of it. */
export const ownerOf = (origin: string, apiKey = ''): string =>
  `${origin} ${createHash('sha256').update(apiKey).digest('hex').slice(0, 16)}`

function keptTo(row: Operation, { live }: Input, plan: string | undefined): WindowKept[] {
  const isOfPlan = ({ name }: { readonly name: string }) => name.startsWith('plan:')
  return windowsOf(row, plan ?? '', live).map((window) =>
    plan === undefined && isOfPlan(window) ? { ...window, limit: undefined } : window,
  )
}

const namesOf = (windows: readonly WindowKept[]): string[] => windows.map(({ name }) => name)

/** The 429 of a request that does not fit; nothing where it was let through, and counted. */
async function refusal(
  row: Operation,
  owner: string,
  windows: readonly WindowKept[],
  { windows: store, clock }: PacedOptions,
): Promise<Reply | undefined> {
  const admission = await store.change(owner, namesOf(windows), (known) => {
    const answer = admit(windows, known, clock.now())
    return { keep: 'admitted' in answer ? answer.admitted : known, answer }
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

/** Keeps what a reply says of the windows; or that there was none. What cannot be kept takes no reply from anybody. */
async function learn(
  owner: string,
  windows: readonly WindowKept[],
  reply: Reply | undefined,
  { windows: store, clock }: PacedOptions,
): Promise<void> {
  // What it says is of this moment, and not of when it can be written down.
  const now = clock.now()
  const waitMs = retryAfterMs(reply?.headers['retry-after'], now)
  const learnt = store.change(owner, namesOf(windows), (known) => ({
    keep: reply ? corrected(windows, known, reply, waitMs, now) : unanswered(windows, known, now),
    answer: undefined,
  }))
  await learnt.catch(() => {})
}
