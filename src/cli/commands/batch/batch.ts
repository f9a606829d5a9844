import type { Shape } from '../../../api/areas/shapes.js'
import type { Input } from '../../../api/calls/caller.js'
import type { Operation } from '../../../api/operations/table.js'
import { withSavedMap } from '../../batch/map-columns.js'
import { choicesOf } from '../../batch/options.js'
import { batch } from '../../batch/run.js'
import type { Invocation, Shell } from '../../shell/shell.js'

/** Runs a lookup for each row of a CSV file; answers the exit code. */
export async function lookUpRows(
  shell: Shell,
  operation: Operation,
  shape: Shape,
  constants: Input,
  invocation: Invocation,
): Promise<number> {
  const given = choicesOf(invocation, shell.context.streams)
  const choices = withSavedMap(shell.context, given, invocation.options.useMap)
  const { database } = invocation.options
  const place = typeof database === 'string' ? { database } : {}
  return batch(shell, { operation, shape, constants, choices, globals: invocation.globals, ...place })
}
