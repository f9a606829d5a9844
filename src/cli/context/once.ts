/**
 * Returns a function that works only on its first call and then returns the same result. A rejected promise is
 * forgotten.
 */
export function once<A extends unknown[], T>(work: (...values: A) => T): (...values: A) => T {
  let done: { readonly value: T } | undefined
  return (...values) => {
    if (done) return done.value
    const made = { value: work(...values) }
    done = made
    if (made.value instanceof Promise)
      made.value.catch(() => {
        if (done === made) done = undefined
      })
    return made.value
  }
}
