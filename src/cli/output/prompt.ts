import type { Context, GlobalOptions, StreamsContext } from '../context/context.js'
import { UsageError } from '../context/errors.js'

/** Whether a person is there to answer: a terminal on both sides, no `--no-input`, no CI. */
export function canAsk({ streams }: Pick<Context, 'streams'>, options: GlobalOptions): boolean {
  if (streams.env.CI || options.input === false) return false
  // stdin last: its stream is made when first asked for.
  return streams.stderr.isTTY === true && streams.stdin.isTTY === true
}

/** Asks yes or no on stderr; without a person to ask, and with `--yes`, the answer is yes. */
export async function confirm(context: Context, message: string, options: GlobalOptions): Promise<boolean> {
  if (options.yes || !canAsk(context, options)) return true
  const { confirm: prompt } = await import('@inquirer/prompts')
  return prompt({ message, default: true }, promptStreams(context))
}

/** Asks for a line of text on stderr, again while `check` throws; nothing when there is no person to ask. */
export async function askText(
  context: Context,
  message: string,
  options: GlobalOptions,
  preset?: string,
  check: (answer: string) => unknown = () => {},
): Promise<string | undefined> {
  if (!canAsk(context, options)) return undefined
  const { input } = await import('@inquirer/prompts')
  return input(
    { message, validate: validating(check), ...(preset === undefined ? {} : { default: preset }) },
    promptStreams(context),
  )
}

/** Asks for a secret on stderr, again while `check` throws; what is typed is not shown. Nothing without a person. */
export async function askSecret(
  context: Context,
  message: string,
  options: GlobalOptions,
  check: (answer: string) => unknown,
): Promise<string | undefined> {
  if (!canAsk(context, options)) return undefined
  const { password } = await import('@inquirer/prompts')
  return password({ message, mask: false, validate: validating(check) }, promptStreams(context))
}

const validating =
  (check: (answer: string) => unknown) =>
  (answer: string): true | string => {
    try {
      check(answer)
      return true
    } catch (error) {
      return (error as Error).message
    }
  }

/** Asks for one of some values on stderr; nothing when there is no person to ask. */
export async function askChoice<T extends string>(
  context: Context,
  message: string,
  choices: readonly { readonly value: T; readonly name: string }[],
  options: GlobalOptions,
): Promise<T | undefined> {
  if (!canAsk(context, options)) return undefined
  const { select } = await import('@inquirer/prompts')
  return select({ message, choices }, promptStreams(context))
}

const promptStreams = ({ streams }: StreamsContext) => ({ input: streams.stdin, output: streams.stderr })

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
