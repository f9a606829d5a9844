/** Does a piece of work when first asked and remembers its answer. */
export function once<A extends unknown[], T>(work: (...values: A) => T): (...values: A) => T {
  let done: { readonly value: T } | undefined
  return (...values) => {
    done ??= { value: work(...values) }
    return done.value
  }
}
