/** Somebody who is to be forgotten, as whatever is on record can be asked about them. */
export interface Forgotten {
  /** Whether a text or a value of JSON tells of them. */
  isIn(value: unknown): boolean
  /**
   * What may stay of a record or a reply: all of it where it does not tell of them, what is about a company without
   * them, and nothing of what is about themselves.
   */
  left<T>(value: T): T | undefined
  /** A value without their addresses, numbers and profiles, and without them among those who hire. */
  without<T>(value: T): T
  /** A text without their full name as well. */
  unnamed(text: string): string
}
