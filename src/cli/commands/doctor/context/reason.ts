import { ApiError } from '../../../../api/calls/errors.js'
import { systemReason } from '../../../../csv/errors.js'

/** Why something failed, in words that end a sentence: one line, without its last full stop. */
export function reasonOf(error: unknown): string {
  const [line = ''] = sentenceOf(error).split('\n')
  return line.trim().replace(/\.$/, '')
}

function sentenceOf(error: unknown): string {
  if (!(error instanceof ApiError)) return systemReason(error)
  const { reason } = error.details
  return typeof reason === 'string' ? reason : error.message
}
