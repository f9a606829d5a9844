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

/** Returns an object of asynchronous methods that is opened with the first call of one. `open` gets its name. */
export const lazily = <T extends object>(open: (name: keyof T) => Promise<T>): T =>
  new Proxy({} as T, {
    get:
      (_, key) =>
      async (...values: unknown[]) => {
        const name = key as keyof T
        const opened = await open(name)
        return Reflect.apply(opened[name] as () => unknown, opened, values)
      },
  })
