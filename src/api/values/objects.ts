/** An object of named values, as JSON has them. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is such an object: neither a list nor null. */
export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
