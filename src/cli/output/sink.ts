import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileSink, keepPartial } from '../../batch/output/writer.js'
import type { GlobalOptions, StreamsContext } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { write } from '../context/io.js'

/** Where a result goes. */
export interface Sink {
  write(text: string): Promise<void>
  /** Makes the result appear under its name. */
  finish(): Promise<void>
  /** Leaves nothing behind. */
  discard(): Promise<void>
}

/**
 * Opens stdout, or a file: it is written as `FILE.partial`, 0600 from birth, and takes its name when it is
 * complete, so that nobody ever sees half a result under the final name.
 */
export async function openSink(
  context: StreamsContext,
  file: string | undefined,
  options: GlobalOptions,
): Promise<Sink> {
  if (file === undefined)
    return {
      write: (text) => write(context.streams.stdout, text),
      finish: async () => {},
      discard: async () => {},
    }
  checkOutputName(file)
  const path = resolve(context.streams.cwd, file)
  await keepPartial(path, (text) => context.notify(text, options))
  const sink = await fileSink(path)
  return {
    write: sink.write,
    finish: sink.finish,
    discard: async () => {
      await sink.abandon()
      if (sink.partial !== undefined) await rm(sink.partial, { force: true })
    },
  }
}

/** Throws UsageError for the name of a workbook: a spreadsheet program could not open what is written. */
export function checkOutputName(file: string): void {
  const [workbook] = /\.(?:xlsx?|ods|numbers)$/i.exec(file) ?? []
  if (workbook === undefined) return
  throw new UsageError(
    `prospect does not write ${workbook.toLowerCase()} files.`,
    'Spreadsheets open .csv files: use -o FILE.csv, and with --csv also --excel.',
  )
}
