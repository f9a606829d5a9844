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

/** What the exit codes mean to a script, and what to do: rows of `docs/errors.md`. */
// biome-ignore format: one row, one line
export const exitMeanings: Readonly<Record<keyof typeof exitCodes, readonly [meaning: string, advice: string]>> = {
  ok: ['Success. A search or list that finds nothing is a success.', ''],
  bug: ['A bug in prospect.', 'Report it. `--verbose` shows where it happened.'],
  usage: ['A wrong option, argument, mapping or input file. Nothing was sent.', 'Correct it. `--help` shows what the command accepts.'],
  key: ['The key is missing, invalid, or lacks permission.', 'Check the key.'],
  credits: ['Not enough credits. Everything you paid for is written.', 'Buy credits, then run the command again.'],
  weeklyLimit: ['The weekly limit is reached.', 'Wait until Monday 00:00 UTC, or raise the limit.'],
  planLimit: ['A plan quota is used up.', 'Wait for the reset. `prospect credits` shows what is left.'],
  refused: ['The request was refused.', 'Read the message.'],
  rateLimited: ['Rate limited for longer than `--max-wait`.', 'Wait, or raise `--max-wait`.'],
  notFound: ['Not found. Nothing was charged.', 'Try another identifier.'],
  unreachable: ['Server error, network failure or timeout.', 'Try again.'],
  someFailed: ['The batch is complete, but some rows failed or were invalid.', 'See `_error` in the output.'],
  budget: ['The budget (`--max-credits` or `--max-credits-per-day`) is reached.', 'Raise the budget, then run the command again.'],
  checkFailed: ['A check failed: `credits --min-credits` and its like, `ledger check`, `engine ledger verify`.', ''],
  stillRunning: ['Still running when `--wait` expired.', 'Fetch the result with the command that is printed.'],
  locked: ['Another command holds the lock (`--lock`), or works on the same run.', 'Wait until it ends.'],
  declined: ['You answered no to a confirmation. Nothing was sent, nothing was spent.', 'Answer yes, or add `--yes`.'],
  interrupted: ['Interrupted (Ctrl-C).', ''],
  stdoutClosed: ['The reader of stdout left during a run that spends (`… | head`). Every paid answer is recorded.', 'Resume the run with the command that is printed.'],
  terminated: ['Terminated.', ''],
}

/** Returns what a person is told when a run ends with exit code 12: a budget leaves too little for its next row. */
export function describeBudgetReached(budget: 'run' | 'day', credits: number) {
  const amount = `${credits.toLocaleString('en-US')} ${credits === 1 ? 'credit' : 'credits'}`
  const isOfRun = budget === 'run'
  return {
    reason: `Budget reached: ${amount} ${isOfRun ? 'for this run' : 'a day'}`,
    hint: isOfRun
      ? 'Raise --max-credits, then resume.'
      : 'Resume tomorrow (UTC), or raise --max-credits-per-day.',
    exit_code: exitCodes.budget,
  }
}
