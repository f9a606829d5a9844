type Awaitable<T> = T | Promise<T>

/**
 * Work that writes records. Where each statement is answered at once, as in SQLite, it never stops on its way: a turn that
 * is awaited for each would cost more than they do. Where answers come later, it stops at those that it needs.
 */
export type Steps<T> = Generator<Promise<unknown>, T, unknown>

/** The answer of a statement. */
export function* answered<T>(answer: Awaitable<T>): Steps<T> {
  return answer instanceof Promise ? ((yield answer) as T) : answer
}

/** Does work; its result is there at once unless an answer came later. */
export function done<T>(steps: Steps<T>): Awaitable<T> {
  const first = steps.next()
  return first.done ? first.value : later(steps, first.value)
}

async function later<T>(steps: Steps<T>, asked: Promise<unknown>): Promise<T> {
  for (let answer = await asked; ; ) {
    const next = steps.next(answer)
    if (next.done) return next.value
    answer = await next.value
  }
}
