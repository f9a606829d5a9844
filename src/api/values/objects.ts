/** A value or a promise of it: SQLite returns at once, PostgreSQL later, and the rules work with both. */
export type Awaitable<T> = T | Promise<T>

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>

/** Returns whether a value is an object: neither a list nor null. */
export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value at a path of own properties; `undefined` where there is none. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
    at = at[key as keyof typeof at]
  }
  return at
}

export const valuesAt = (value: unknown, paths: readonly (readonly PropertyKey[])[]): unknown[] =>
  paths.map((path) => valueAt(value, path))

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

export const withoutUndefined = <T extends object>(fields: T): Defined<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>

export const pickFields = <T, K extends keyof T>(fields: T, names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map((name) => [name, fields[name]])) as Pick<T, K>

/** Returns whether a value of a request stands for none. */
export const isBlank = (value: unknown): boolean => value === '' || value === null

/** Returns what a function returns; `other` where it throws. */
export function resultOr<T, O>(other: O, work: () => T): T | O {
  try {
    return work()
  } catch {
    return other
  }
}

/** Returns a function that works on its first call and then returns the same result; a rejected promise is forgotten. */
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

/** Resolves when other work has had its turn in the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Returns what a map has under a key, which is made and kept there where it has nothing. */
export function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
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

/** Marks the name of a field in a sentence, so that each edge can write it as people know it there. */
export const markField = (name: string): string => `\ue000${name}\ue001`

export const markFields = (names: readonly string[]): string => names.map(markField).join(', ')

/** Returns a sentence with the names of its fields as `nameOf` writes them, by default as the API does. */
export const nameFields = (sentence: string, nameOf: (name: string) => string = (name) => name): string =>
  sentence.replace(/\ue000([^\ue001]*)\ue001/g, (_, name: string) => nameOf(name))

/** Resolves when a signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
