import { Refusal } from '../../src/api/calls/errors.js'
import { describe } from '../../src/cli/messages.js'

/** Does what may be refused below the command line; a refusal is thrown with the sentence that a person reads. */
export function inWords<T>(work: () => T): T {
  try {
    const result = work()
    return result instanceof Promise ? (result.catch(throwInWords) as T) : result
  } catch (error) {
    return throwInWords(error)
  }
}

function throwInWords(error: unknown): never {
  throw error instanceof Refusal ? new Error(describe(error), { cause: error }) : error
}
