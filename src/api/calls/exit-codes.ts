/** Exit codes of commands. The error table says which one an answer of the API leads to. */
export const exitCodes = {
  ok: 0,
  bug: 1,
  usage: 2,
  key: 3,
  credits: 4,
  weeklyLimit: 5,
  planLimit: 6,
  refused: 7,
  rateLimited: 8,
  notFound: 9,
  unreachable: 10,
  someFailed: 11,
  /** A budget (`--max-credits`) is reached. */
  budget: 12,
  checkFailed: 13,
  stillRunning: 14,
  locked: 15,
  /** The answer to a confirmation was no. */
  declined: 16,
  interrupted: 130,
  terminated: 143,
  /** The reader of stdout left during a run that spends. */
  stdoutClosed: 141,
} as const

/** Returns what a person is told when a run ends with exit code 12: a budget leaves too little for its next row. */
export function describeBudgetReached(budget: keyof typeof budgetTexts, most: number) {
  const unit = budget === 'profiles' ? 'profile' : 'credit'
  const amount = `${most.toLocaleString('en-US')} ${unit}${most === 1 ? '' : 's'}`
  const [time, hint] = budgetTexts[budget]
  return { budget, reason: `Budget reached: ${amount} ${time}`, hint, exit_code: exitCodes.budget }
}

const budgetTexts = {
  run: ['for this run', 'Raise --max-credits, then resume.'],
  profiles: ['for this run', 'Raise --max-profiles, then resume.'],
  day: ['a day', 'Resume tomorrow (UTC), or raise --max-credits-per-day.'],
  flow: ['for this flow', 'Raise budget: credits: in its file, then run it again.'],
} as const
