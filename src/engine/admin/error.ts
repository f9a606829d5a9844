/** Refusal of a command of the engine's owner: a sentence that says what to do instead. */
export class AdminError extends Error {
  override readonly name = 'AdminError'
}

/** Refusal of a name that nothing has. */
export class UnknownNameError extends AdminError {
  /** The exit code of what is not found. */
  readonly exit = 9
}
