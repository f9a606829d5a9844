import type { Shape } from '../../../api/areas/shapes.js'
import type { Input } from '../../../api/calls/caller.js'
import type { Operation } from '../../../api/operations/table.js'
import { withSavedMap } from '../../batch/map-columns.js'
import { choicesOf } from '../../batch/options.js'
import { batch } from '../../batch/run.js'
import type { CommandEnvironment, Invocation } from '../../options/command-environment.js'

/** Runs a lookup for each row of a CSV file; answers the exit code. */
export async function lookUpRows(
  environment: CommandEnvironment,
  operation: Operation,
  shape: Shape,
  constants: Input,
  invocation: Invocation,
): Promise<number> {
  const given = choicesOf(invocation, environment.context.streams)
  const choices = withSavedMap(environment.context, given, invocation.options.useMap)
  const { database } = invocation.options
  const place = typeof database === 'string' ? { database } : {}
  return batch(environment, { operation, shape, constants, choices, globals: invocation.globals, ...place })
}
