import type { Input } from '../../api/caller.js'
import type { Shape } from '../../api/shapes.js'
import type { Operation } from '../../api/table.js'
import { choicesOf } from '../batch-choices.js'
import { runBatch } from '../run-batch.js'
import { withSavedMap } from '../saved-maps.js'
import type { Invocation, Shell } from '../shell.js'

/** Runs a lookup for each row of a CSV file; answers the exit code. */
export async function batch(
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
  return runBatch({ shell, operation, shape, constants, choices, globals: invocation.globals, ...place })
}
