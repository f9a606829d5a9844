import type { Input } from '../../api/calls/caller.js'
import type { Operation } from '../../api/operations/table.js'
import { identityOf } from '../../batch/plan/lookup.js'
import { type Counted, createQuote } from '../../batch/plan/quote.js'
import type { GlobalOptions } from '../context/context.js'
import type { CommandEnvironment } from '../options/command-environment.js'
import { readRemaining } from '../quote/limits.js'
import { showQuote } from '../quote/show.js'

/** Shows the quote of rows that go out together, in one free request; answers the exit code. */
export async function quoteTogether(
  environment: CommandEnvironment,
  operation: Operation,
  items: readonly Input[],
  invalid: number,
  globals: GlobalOptions,
): Promise<number> {
  const left = await readRemaining(environment.context, operation, {}, globals)
  if ('reply' in left) return showQuote(environment, left, globals)
  const rows = items.length + invalid
  const counted: Counted = {
    ...{ rows, unique: different(items.map(identityOf(operation))), invalid, lookups: 1, affordable: rows },
    ...{ inStore: 0, answered: 0, skipped: 0, most: 0 },
  }
  const spendable = { ...left.spendable, budget: undefined }
  const results = { credits: 0, answers: 0 }
  const quote = createQuote({ counted, results, defaultShare: 0, spendable, windows: left.windows })
  return showQuote(environment, quote, globals)
}

/** How many different identities there are; one that is none is like no other. */
function different(identities: readonly (string | undefined)[]): number {
  const named = identities.filter((identity) => identity !== undefined)
  return identities.length - named.length + new Set(named).size
}
