/**
 * Does a piece of work when first asked and remembers its answer. A promise that was rejected is forgotten: who asks again
 * has the work done again.
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
