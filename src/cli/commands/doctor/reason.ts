import { ApiError } from '../../../api/errors.js'
import { systemReason } from '../../../batch/errors.js'

/** Why something failed, in words that end a sentence; without its last full stop. */
export function reasonOf(error: unknown): string {
  const reason = error instanceof ApiError ? error.details.reason : undefined
  return (typeof reason === 'string' ? reason : systemReason(error)).replace(/\.$/, '')
}
