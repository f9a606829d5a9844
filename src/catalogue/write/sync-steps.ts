import type { Awaitable } from '../../storage/driver/connection.js'

/**
 * Work that is synchronous where the database is. SQLite answers at once, and awaiting each statement would cost more than
 * running it. With PostgreSQL the work waits for the results that it needs.
 */
export type Steps<T> = Generator<Promise<unknown>, T, unknown>

/** Returns the result of a statement, and waits for it only when it is a promise. */
export function* awaitResult<T>(result: Awaitable<T>): Steps<T> {
  return result instanceof Promise ? ((yield result) as T) : result
}

/** Runs steps. The result is synchronous unless a step waited. */
export function runSteps<T>(steps: Steps<T>): Awaitable<T> {
  const first = steps.next()
  return first.done ? first.value : runAsync(steps, first.value)
}

async function runAsync<T>(steps: Steps<T>, pending: Promise<unknown>): Promise<T> {
  for (let result = await pending; ; ) {
    const next = steps.next(result)
    if (next.done) return next.value
    result = await next.value
  }
}
