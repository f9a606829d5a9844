import type { Command } from 'commander'
import { UsageError } from '../../context/errors.js'
import { version } from '../../context/version.js'
import type { CommandEnvironment } from '../../options/command-environment.js'
import { guide } from '../../options/command-environment.js'
import { formatOf } from '../../output/output.js'

/** `prospect openapi`: the whole API as an OpenAPI 3.1 document. */
export function openapiCommand(environment: CommandEnvironment): Command {
  const command = environment.command('openapi', 'Print the OpenAPI 3.1 document of the API, as JSON')
  guide(command, ['openapi -o openapi.json'], 'A server offers the same at /openapi.json: prospect serve')
  return environment.action(command, async ({ globals }) => {
    if (globals.format && globals.format !== 'json')
      throw new UsageError(
        'The document is JSON.',
        `Leave out --format ${formatOf(globals, environment.context.streams)}.`,
      )
    await environment.print(await document(), { ...globals, format: 'json' })
    return 0
  })
}

/** The OpenAPI document of the engine behind a base address. */
export async function document(serverUrl?: string): Promise<object> {
  const { openapi } = await import('../../../reference/openapi.js')
  return openapi({ version: await version(), ...(serverUrl === undefined ? {} : { serverUrl }) })
}
