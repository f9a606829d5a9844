import { type LocalCode, Refusal } from '../../api/calls/errors.js'
import type { ConversionResult, ConversionTask } from './convert.js'
import { readWorkbook } from './read.js'
import { writeWorkbook } from './write.js'

/** Does the conversion that the parent process asks for. The process ends when the parent disconnects or is killed. */
function convert(task: ConversionTask): Promise<void> {
  return 'workbook' in task ? readWorkbook(task) : writeWorkbook(task)
}

const toFailure = (error: unknown): ConversionResult => {
  if (error instanceof Refusal) return { refusal: error.code as LocalCode, details: error.details }
  const { code, message } = error as NodeJS.ErrnoException
  return { message, code }
}

process.once('message', (task: ConversionTask) => {
  convert(task)
    .then((): ConversionResult => ({ done: true }), toFailure)
    .then((result) => process.send?.(result))
})
process.once('disconnect', () => process.exit())
// Ctrl-C reaches this process, too. The parent kills it, and says what was interrupted.
process.on('SIGINT', () => {})
