import type { Command } from 'commander'
import { UsageError } from '../exit.js'
import { formatOf } from '../output.js'
import type { Shell } from '../shell.js'
import { document } from './document.js'
import { guide } from './guide.js'

/** `prospect openapi`: the whole API as an OpenAPI 3.1 document. */
export function openapiCommand(shell: Shell): Command {
  const command = shell.command('openapi', 'Print the OpenAPI 3.1 document of the API, as JSON')
  guide(command, ['openapi -o openapi.json'], 'A server offers the same at /openapi.json: prospect serve')
  return shell.action(command, async ({ globals }) => {
    if (globals.format && globals.format !== 'json')
      throw new UsageError(
        'The document is JSON.',
        `Leave out --format ${formatOf(globals, shell.context.streams)}.`,
      )
    await shell.print(await document(), { ...globals, format: 'json' })
    return 0
  })
}
