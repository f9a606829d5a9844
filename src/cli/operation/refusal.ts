import type { GlobalOptions } from '../context/context.js'
import { formatOf } from '../output/output.js'
import { spoken } from '../output/report-error.js'
import type { Shell } from '../shell/shell.js'

/** Prints the body of a refusal on stdout, complete: `--fields` and `-o` are about results. */
export function printRefusal(shell: Shell, body: unknown, options: GlobalOptions): Promise<void> {
  const { context } = shell
  const { fields: _, output: __, ...rest } = options
  const format = formatOf(options, context.streams)
  return shell.print(spoken(context, body), { ...rest, format })
}
