import type { Input } from '../../api/calls/caller.js'
import { isPriced } from '../../api/operations/facts.js'
import type { Operation } from '../../api/operations/table.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { canAsk, confirm } from '../output/prompt.js'
import { lookOf } from '../output/text.js'

/** On a terminal, an import of everything that matches shows its quote and is agreed on first; answers whether it may begin. */
export async function confirmAll(
  context: Context,
  operation: Operation,
  input: Input,
  globals: GlobalOptions,
): Promise<boolean> {
  const isMetered = operation.quota !== undefined || isPriced(operation)
  if (operation.starts !== 'import' || !isMetered || input.limit !== undefined) return true
  if (globals.yes || !canAsk(context, globals)) return true
  const { importQuote } = await import('../quote/import.js')
  const { record } = await import('../output/table.js')
  const { stderr, env } = context.streams
  const quote = await importQuote(context, operation, input, globals)
  if (Object.keys(quote).length === 0) return true
  stderr.write(record(quote, lookOf(stderr, env, globals.color !== false)))
  return confirm(context, 'Without --limit everything that matches is imported. Start?', globals)
}
