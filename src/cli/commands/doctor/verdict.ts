import { formatNumber } from '../../output/text.js'

/** A warning can wait. A problem makes commands fail or costs money. */
type Status = 'ok' | 'warning' | 'problem'

/** What a check found. */
export interface Verdict {
  readonly status: Status
  /** One sentence, without keys and secrets. */
  readonly text: string
  /** What to do, as a command or a sentence; null when nothing is needed. */
  readonly hint: string | null
}

/** What a check found: one result, several, or none when it does not apply. */
export type Findings = Verdict | readonly Verdict[]

const verdict =
  (status: Status) =>
  (text: string, hint: string | null = null): Verdict => ({ status, text, hint })

/** Returns a result that needs no action. */
export const ok = verdict('ok')

/** Returns a result that can wait. */
export const warning = verdict('warning')

/** Returns a result that makes commands fail or costs money. */
export const problem = verdict('problem')

/** Returns the troubles, or `fine` as the only result when there are none. */
export const orElse = (troubles: readonly Verdict[], fine: string): readonly Verdict[] =>
  troubles.length > 0 ? troubles : [ok(fine)]

/** Returns a number with its noun, such as `1 job` or `1,200 deliveries`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${formatNumber(count)} ${count === 1 ? noun : plural}`
