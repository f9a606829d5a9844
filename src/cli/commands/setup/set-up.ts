import type { Context } from '../../context/context.js'
import { notSetUp } from '../../context/open-databases.js'
import { canAsk } from '../../output/prompt.js'

/**
 * Returns the context for a command that looks something up or spends, with the engine in a database. Where nothing was set
 * up, a person at a terminal is asked as `init` asks. Throws a Refusal (exit 2) without one, and creates nothing: a job with
 * another HOME would otherwise write over its output what an empty catalogue answers.
 */
export async function requireSetUp(context: Context, database = context.home.engine): Promise<Context> {
  const place = context.withDatabase(database)
  if (await place.isSetUp()) return context
  if (!canAsk(context)) throw notSetUp(place.home)
  return (await import('./login.js')).askToSetUp(context, place)
}
