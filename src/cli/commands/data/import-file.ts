import { constants, createReadStream } from 'node:fs'
import { access, type FileHandle, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { ImportError, type ImportReport } from '../../../catalogue/import/report.js'
import type { ImportOptions, RecordKind } from '../../../catalogue/kinds/kind.js'
import { readChunks } from '../../../csv/encoding.js'
import { systemReason } from '../../../csv/errors.js'
import type { Driver } from '../../../storage/driver/connection.js'
import { filePorts, toRunHome } from '../../batch/run-home.js'
import type { Context, StreamsContext } from '../../context/context.js'
import { Stop, UsageError } from '../../context/errors.js'
import { exitOfSignal } from '../../context/interrupts.js'
import { readPipe } from '../../context/io.js'
import { startProgress } from '../../output/progress.js'
import { formatNumber } from '../../output/text.js'

/** Imports the rows of a file, or finds out what that would do. */
export async function takeFile(
  context: Context,
  kind: RecordKind,
  bytes: AsyncIterable<Uint8Array>,
  settings: ImportOptions,
  isDryRun: boolean,
): Promise<ImportReport> {
  const progress = await startProgress(context, formatProgress)
  const onProgress = (done: number) => progress.update({ rows: done, found: 0, credits: 0, total: undefined })
  const options = { ...settings, onProgress }
  try {
    const catalogue = await context.catalogue()
    return await (isDryRun
      ? withScratch((scratch) => catalogue.previewFile(kind, bytes, options, scratch))
      : catalogue.importFile(kind, bytes, options))
  } catch (error) {
    if (!isDryRun && error instanceof ImportError && error.report) {
      const { added, updated } = error.report
      context.notify(
        `Imported before the error: ${formatNumber(added)} added, ${formatNumber(updated)} updated.`,
      )
    }
    throw error
  } finally {
    progress.stop()
  }
}

/** Does work with an empty database in a temporary file. */
async function withScratch<T>(work: (scratch: Driver) => Promise<T>): Promise<T> {
  const { openDatabase } = await import('../../../storage/database/open.js')
  const scratch = await openDatabase('', { sqlite: { durable: false } })
  return work(scratch).finally(() => scratch.close())
}

const formatProgress = ({ rows }: { readonly rows: number }, elapsedMs: number): string =>
  `${formatNumber(rows)} records · ${formatNumber(Math.round((rows * 1_000) / Math.max(1, elapsedMs)))} records/s`

/** Returns the bytes until a signal comes. Throws a `Stop` then. */
export async function* untilSignal(
  signal: AbortSignal,
  bytes: AsyncIterable<Uint8Array>,
  isDryRun: boolean,
): AsyncGenerator<Uint8Array> {
  const checkSignal = () => {
    const exit = exitOfSignal(signal)
    if (exit !== undefined)
      throw isDryRun
        ? new Stop('The check was interrupted.', exit, 'Nothing was imported.')
        : new Stop(
            'The import was interrupted.',
            exit,
            'What was imported is kept. Run the same command again to import the rest.',
          )
  }
  try {
    for await (const chunk of bytes) {
      checkSignal()
      yield chunk
    }
  } catch (error) {
    // Reading ends with the signal.
    checkSignal()
    throw error
  }
}

/** Returns a copy of a sheet as CSV; `undefined` where the file is no workbook. */
export function openSheet(
  context: Context,
  path: string,
  sheet: string | undefined,
): Promise<FileHandle | undefined> {
  return filePorts(context).convertSheet(path, sheet, async () => {
    context.claimFile(path, 'FILE', 'read')
    const { openUnnamedFile } = await import('../../../runs/records.js')
    return openUnnamedFile(toRunHome(context))
  })
}

/** Returns what opens the bytes of a file, of its copy as CSV, or of stdin. A signal ends reading them. */
export async function openInput(
  { streams, claimFile }: StreamsContext,
  file: string,
  copy?: FileHandle,
): Promise<(signal: AbortSignal) => AsyncIterable<Uint8Array>> {
  if (copy) return () => readChunks(copy)
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
