import { rename, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { GlobalOptions, StreamsContext } from '../context/context.js'

/**
 * Moves the rows that a stopped run left in `FILE.partial` to the first free name (`FILE.partial.1`, …), because they
 * were paid for and the next run writes its own there.
 */
export async function keepPartial(
  context: StreamsContext,
  file: string,
  options: GlobalOptions,
): Promise<void> {
  const partial = `${resolve(context.streams.cwd, file)}.partial`
  if ((await sizeOf(partial)) === 0) return
  let kept = partial
  for (let number = 1; kept === partial || (await isThere(kept)); number++) kept = `${partial}.${number}`
  await rename(partial, kept)
  context.notify(`An earlier run left rows in ${partial}; they are kept as ${kept}`, options)
}

const found = (path: string) => stat(path).catch(() => undefined)

const isThere = async (path: string): Promise<boolean> => (await found(path)) !== undefined

/** Size of a file in bytes; 0 when there is none. */
const sizeOf = async (path: string): Promise<number> => {
  const stats = await found(path)
  return stats?.isFile() ? stats.size : 0
}
