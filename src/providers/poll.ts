import { retryDelayMs } from '../api/calls/caller.js'
import { fails, isLimited, passes } from '../api/calls/retry.js'
import type { Clock } from '../api/ports/ports.js'
import { toMs } from '../api/values/duration.js'
import { Lost } from '../client/reading.js'
import type { CompiledKind, VendorAnswer } from './compile.js'

/** How long a request is put off at least that its vendor wants at once again. */
const leastWaitMs = 250

/** Why work that a vendor accepted has no answer. */
export const workErrors = {
  lost: 'The vendor does not know the work',
  late: 'The vendor did not end the work in time',
  silent: 'The vendor sent no answer in time',
  unreachable: 'No poll was answered',
  out_of_credits: 'A poll was refused: out of credits',
  invalid_key: 'A poll was refused: invalid key',
}

/** Whether work that ended so may still be done: its vendor is asked for it again, for nothing. */
export const isUnderWay = (error: string | null): boolean =>
  error !== null &&
  [workErrors.late, workErrors.unreachable, workErrors.out_of_credits, workErrors.invalid_key].includes(error)

/** What became of work that a vendor accepted: its answer, or why there is none yet. */
type PolledWork =
  | { readonly is: 'done'; readonly answer: VendorAnswer }
  | { readonly is: keyof typeof workErrors; readonly answer?: undefined }

/**
 * Polls for work that was accepted at `since`, until the vendor has done it or its time is over. `poll` returns nothing while
 * nothing has arrived of work whose answer is only sent. `read` says what an answer means for a row: one that is put off is
 * asked for again, whatever else the answer says; one that `hasArrived` is what there is.
 */
export async function pollWork(
  { clock }: { readonly clock: Clock },
  kind: CompiledKind,
  since: number,
  poll: (waitMs: number) => Promise<VendorAnswer | Lost | undefined>,
  read: (answer: VendorAnswer) => ReturnType<CompiledKind['outcomeOf']>,
  hasArrived: (answer: VendorAnswer) => boolean = () => false,
): Promise<PolledWork> {
  const { every = '5s', give_up = kind.file.webhook?.give_up ?? '10m' } = kind.file.poll ?? {}
  for (let waitMs = toMs(every); ; ) {
    // Where a killed process had it, or it was given up, it may have been there for long.
    const isLast = clock.now() >= since + toMs(give_up)
    const leftMs = since + toMs(give_up) - clock.now()
    const answer = await poll(isLast ? 0 : Math.min(waitMs, leftMs))
    waitMs = toMs(every)
    if (answer === undefined) {
      // What is only sent may never come.
      if (isLast) return { is: kind.file.poll ? 'late' : 'silent' }
      continue
    }
    if (!(answer instanceof Lost) && hasArrived(answer)) return { is: 'done', answer }
    // Asking is free: what failed is asked again.
    if (answer instanceof Lost || fails(answer)) {
      if (isLast) return { is: 'unreachable' }
      if (!(answer instanceof Lost)) waitMs = Math.max(waitMs, waitOf(answer, undefined, 0, clock.now()))
      continue
    }
    if (kind.isLost(answer)) return { is: 'lost' }
    const isDone = kind.isDone(answer) && !passes(answer)
    const { is, waitMs: asked } = (isDone || answer.status >= 400 ? read(answer) : undefined) ?? {}
    if (is === 'out_of_credits' || is === 'invalid_key') return { is }
    const isPutOff = is === 'again' || is === 'rate_limited'
    if (isDone && !isPutOff) return { is: 'done', answer }
    if (isLast) return { is: passes(answer) ? 'unreachable' : 'late' }
    if (isPutOff || passes(answer)) waitMs = Math.max(waitMs, waitOf(answer, is, asked, clock.now()))
  }
}

/** Returns how long a vendor wants a request to be put off: as its answer says, else as its file does. */
export function waitOf(
  answer: VendorAnswer,
  is: string | undefined,
  usual: number | undefined,
  now: number,
): number {
  const isOfRate = is === 'rate_limited' || isLimited(answer)
  return Math.max(leastWaitMs, retryDelayMs(answer.headers, isOfRate, now) ?? usual ?? 1_000)
}
