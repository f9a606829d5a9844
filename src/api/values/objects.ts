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

/** Returns the values at some paths, in their order. */
export const valuesAt = (value: unknown, paths: readonly (readonly PropertyKey[])[]): unknown[] =>
  paths.map((path) => valueAt(value, path))

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Returns an object without its fields that are undefined. */
export const withoutUndefined = <T extends object>(fields: T): Defined<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>

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
