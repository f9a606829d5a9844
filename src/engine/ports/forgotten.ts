/** Somebody who is to be forgotten, as whatever is on record can be asked about them. */
export interface Forgotten {
  /** Whether a text or a value of JSON mentions them. */
  isIn(value: unknown): boolean
  /** Whether it is about them, and not about somebody or something else that mentions them in a text. */
  isAbout(value: unknown): boolean
  /** A value without their addresses, numbers and profiles, and without them among those who hire. */
  without<T>(value: T): T
  /** A text without their full name as well. */
  unnamed(text: string): string
}
