import { constants, createReadStream } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { systemReason } from '../../../csv/errors.js'
import { toRunHome } from '../../batch/run-home.js'
import type { ClockContext, HomeContext, StreamsContext } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { readPipe } from '../../context/io.js'

/** Returns the path of a sheet as CSV, which is removed when the command ends; `undefined` where the file is no workbook. */
export async function toCsv(
  context: ClockContext & HomeContext & StreamsContext,
  path: string,
  sheet: string | undefined,
): Promise<string | undefined> {
  const { convertSheet } = await import('../../../csv/workbook/convert.js')
  return convertSheet(path, sheet, async () => {
    context.claimFile(path, 'FILE', 'read')
    const { openRunFolder } = await import('../../../batch/run/records.js')
    return join((await openRunFolder(toRunHome(context))).path, 'sheet.csv')
  })
}

/** Returns what opens the bytes of a file, or of stdin. A signal ends reading them. */
export async function openInput(
  { streams, claimFile }: StreamsContext,
  file: string,
): Promise<(signal: AbortSignal) => AsyncIterable<Uint8Array>> {
  if (file === '-') return (signal) => addAbortSignal(signal, streams.stdin as Readable)
  const path = resolve(streams.cwd, file)
  claimFile(path, 'FILE', 'read')
  try {
    const found = await stat(path)
    if (!found.isFile() && !found.isDirectory()) return (signal) => readPipe(path, signal)
    await access(path, constants.R_OK)
    if (found.isFile()) return (signal) => createReadStream(path, { highWaterMark: 256 * 1024, signal })
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${systemReason(error)}.`, 'Check the path.')
  }
  throw new UsageError(`${file} is a folder.`, 'Give a CSV or NDJSON file, or - for stdin.')
}
