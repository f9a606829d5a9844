import type { Context, GlobalOptions } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { askChoice, canAsk } from './ask.js'

/** Goes on only with `--yes` or a person's yes; `loss` says what would be gone, as a sentence. */
export async function confirmLoss(context: Context, loss: string, options: GlobalOptions): Promise<void> {
  if (options.yes) return
  if (!canAsk(context, options)) throw new UsageError(loss, 'Add --yes to do it all the same.')
  const choices = [
    { value: 'no', name: 'No, keep it' },
    { value: 'yes', name: 'Yes, do it' },
  ] as const
  if ((await askChoice(context, `${loss} Go on?`, choices, options)) !== 'yes')
    throw new UsageError('Nothing was changed.')
}
