import { constants } from 'node:fs'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from './context.js'
import { UsageError } from './exit.js'
import { write } from './io.js'

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
export async function openSink(context: Context, file: string | undefined): Promise<Sink> {
  if (file === undefined) {
    return {
      write: (text) => write(context.streams.stdout, text),
      finish: async () => {},
      discard: async () => {},
    }
  }
  const path = resolve(context.streams.cwd, file)
  const partial = `${path}.partial`
  if ((await stat(path).catch(() => undefined))?.isDirectory())
    throw new UsageError(`${file} is a folder.`, 'Give a file name with -o.')
  const handle = await create(partial, file)
  return {
    write: (text) => handle.appendFile(text),
    finish: async () => {
      await handle.sync()
      await handle.close()
      await rename(partial, path)
    },
    discard: async () => {
      await handle.close().catch(() => {})
      await rm(partial, { force: true })
    },
  }
}

async function create(partial: string, file: string): Promise<FileHandle> {
  await rm(partial, { force: true }).catch(() => {})
  try {
    return await open(partial, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600)
  } catch (error) {
    throw new UsageError(
      `${file} cannot be written (${(error as NodeJS.ErrnoException).code}).`,
      'Choose another place with -o.',
    )
  }
}
