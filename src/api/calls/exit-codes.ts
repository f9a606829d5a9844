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
