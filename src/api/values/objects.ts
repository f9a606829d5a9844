/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>

/** Returns whether a value is an object: neither a list nor null. */
export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
