/** Refusal of a command of the engine's owner: a sentence that says what to do instead. */
export class AdminError extends Error {
  override readonly name = 'AdminError'
}
