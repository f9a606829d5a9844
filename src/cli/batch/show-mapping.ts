import { describeMapping, type Mapping } from '../../batch/input/mapping.js'
import type { GlobalOptions } from '../context/context.js'
import { exits } from '../context/errors.js'
import type { Shell } from '../shell/shell.js'

/** Prints which column fills which field; answers the exit code. */
export async function showMapping(shell: Shell, mapping: Mapping, globals: GlobalOptions): Promise<number> {
  await shell.print(mapping, globals, { layout: () => `${describeMapping(mapping).join('\n')}\n` })
  return exits.ok
}
