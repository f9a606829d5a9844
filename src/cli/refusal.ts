import { spoken } from './complain.js'
import type { GlobalOptions } from './context.js'
import { formatOf } from './output.js'
import type { Shell } from './shell.js'

/** Prints the body of a refusal on stdout, complete: `--fields` and `-o` are about results. */
export function printRefusal(shell: Shell, body: unknown, options: GlobalOptions): Promise<void> {
  const { context } = shell
  const { fields: _, output: __, ...rest } = options
  const format = formatOf(options, context.streams)
  return shell.print(spoken(context, body), { ...rest, format })
}
