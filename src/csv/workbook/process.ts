import { type LocalCode, Refusal } from '../../api/calls/errors.js'
import type { ConversionResult, ConversionTask } from './convert.js'
import { type ChosenSheet, readWorkbook } from './read.js'
import { writeWorkbook } from './write.js'

/** Does the conversion that the parent process asks for. The process ends when the parent disconnects or is killed. */
async function convert(task: ConversionTask): Promise<ChosenSheet | undefined> {
  if ('workbook' in task) return readWorkbook(task)
  await writeWorkbook(task)
  return undefined
}

const toFailure = (error: unknown): ConversionResult => {
  if (error instanceof Refusal) return { refusal: error.code as LocalCode, details: error.details }
  const { code, message } = error as NodeJS.ErrnoException
  return { message, code }
}

process.once('message', (task: ConversionTask) => {
  convert(task)
    .then((chosen): ConversionResult => ({ done: true, ...(chosen ? { chosen } : {}) }), toFailure)
    .then((result) => process.send?.(result))
})
process.once('disconnect', () => process.exit())
// Ctrl-C reaches this process, too. The parent kills it, and says what was interrupted.
process.on('SIGINT', () => {})
