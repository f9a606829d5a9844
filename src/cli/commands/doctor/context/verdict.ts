/** How a check ended: a warning can wait, a problem makes commands fail or costs money. */
export type Status = 'ok' | 'warning' | 'problem'

/** What a check found. */
export interface Verdict {
  readonly status: Status
  /** One sentence; never a key or secret. */
  readonly text: string
  /** What to do: a command, or a sentence; null where there is nothing to do. */
  readonly hint: string | null
}

/** What is in order. */
export const ok = (text: string, hint: string | null = null): Verdict => ({ status: 'ok', text, hint })

/** What can wait. */
export const warning = (text: string, hint: string | null = null): Verdict => ({
  status: 'warning',
  text,
  hint,
})

/** What makes commands fail, or costs money. */
export const problem = (text: string, hint: string | null = null): Verdict => ({
  status: 'problem',
  text,
  hint,
})

/** The troubles, or the word that there are none. */
export const orElse = (troubles: readonly Verdict[], fine: string): readonly Verdict[] =>
  troubles.length > 0 ? troubles : [ok(fine)]
