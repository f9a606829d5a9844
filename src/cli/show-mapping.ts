import { describeMapping, type Mapping } from '../batch/mapping.js'
import type { GlobalOptions } from './context.js'
import { exits } from './exit.js'
import type { Shell } from './shell.js'

/** Prints which column fills which field; answers the exit code. */
export async function showMapping(shell: Shell, mapping: Mapping, globals: GlobalOptions): Promise<number> {
  await shell.print(mapping, globals, { layout: () => `${describeMapping(mapping).join('\n')}\n` })
  return exits.ok
}
