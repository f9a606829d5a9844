import { Refusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { withoutUndefined } from '../../api/values/objects.js'
import type { Reading } from '../../csv/detect-encoding.js'
import type { Context, StreamsContext } from '../context/context.js'
import { Stop } from '../context/errors.js'
import { styledStream } from '../context/io.js'
import { describe, reportOf } from '../messages.js'
import { type Look, labelOf, lookOf, oneLine } from './text.js'

/** Whether a person can answer: a terminal for input and output, no `--yes`, no `--no-input`, no CI. */
export function canAsk({ globals, streams }: Pick<Context, 'globals' | 'streams'>): boolean {
  if (streams.env.CI || globals.input === false || globals.yes) return false
  // stdin last, because Node creates its stream on first access.
  return streams.stderr.isTTY === true && streams.stdin.isTTY === true
}

export function showAbove({ globals, streams }: StreamsContext, draw: (look: Look) => string): void {
  const { stderr, env } = streams
  styledStream(stderr).write(draw(lookOf(stderr, env, globals.color !== false)))
}

const answers: Readonly<Record<string, boolean>> = { y: true, yes: true, n: false, no: false }

/** Asks yes or no on stderr, again until the answer is one of them. Enter gives the answer `preset`. */
async function askYesNo(context: Context, message: string, preset: 'yes' | 'no'): Promise<boolean> {
  const { input } = await import('@inquirer/prompts')
  const question = `${oneLine(message)} [${preset === 'yes' ? 'Y/n' : 'y/N'}]`
  for (let text = question; ; text = `Answer y or n. ${question}`) {
    const typed = await input({ message: text }, promptStreams(context))
    const answer = answers[typed.trim().toLowerCase() || preset]
    if (answer !== undefined) return answer
  }
}

/** Throws Stop where the answer is no. Asks nothing with `--yes`, and without a person to ask. */
export async function confirm(context: Context, message: string, preset: 'yes' | 'no'): Promise<void> {
  if (!canAsk(context) || (await askYesNo(context, message, preset))) return
  throw new Stop('Declined: nothing was sent, nothing was spent.', exitCodes.declined, '', 'declined')
}

/** Asks whether to go on in spite of a refusal, which it throws without a person to ask. Throws Stop where the answer is no. */
export async function confirmDespite(context: Context, refusal: Refusal, message: string): Promise<void> {
  if (!canAsk(context)) throw refusal
  context.notify(describe(refusal))
  await confirm(context, message, 'no')
}

/** Asks yes or no on stderr. Without a person to ask, the answer is that of `--yes`. */
export const agrees = (context: Context, message: string, preset: 'yes' | 'no'): Promise<boolean> =>
  canAsk(context) ? askYesNo(context, message, preset) : Promise.resolve(context.globals.yes === true)

/** Asks a question on stderr. Returns `undefined` without a person to ask. */
async function ask<T>(
  context: Context,
  draw: (
    prompts: typeof import('@inquirer/prompts'),
    streams: ReturnType<typeof promptStreams>,
  ) => Promise<T>,
): Promise<T | undefined> {
  return canAsk(context) ? draw(await import('@inquirer/prompts'), promptStreams(context)) : undefined
}

/** Asks for a line of text, again while `check` throws. */
export const askText = (
  context: Context,
  message: string,
  preset?: string,
  check: (answer: string) => unknown = () => {},
): Promise<string | undefined> =>
  ask(context, ({ input }, streams) =>
    input(
      withoutUndefined({ message: oneLine(message), validate: toValidator(check), default: preset }),
      streams,
    ),
  )

/** Asks for a secret without showing it, again while `check` throws. */
export const askSecret = (context: Context, message: string, check: (answer: string) => unknown) =>
  ask(context, ({ password }, streams) =>
    password({ message: oneLine(message), mask: false, validate: toValidator(check) }, streams),
  )

const toValidator =
  (check: (answer: string) => unknown) =>
  (answer: string): true | string => {
    try {
      check(answer)
      return true
    } catch (error) {
      return oneLine(reportOf(error)?.error ?? String(error))
    }
  }

export const askChoice = <T extends string>(
  context: Context,
  message: string,
  choices: readonly { readonly value: T; readonly name: string }[],
): Promise<T | undefined> =>
  ask(context, ({ select }, streams) => {
    const shown = choices.map(({ value, name }) => ({ value, name: oneLine(name) }))
    return select({ message: oneLine(message), choices: shown }, streams)
  })

/** Asks which of several encodings a file has. Throws the refusal that names them without a person to ask. */
export async function chooseEncoding(context: Context, refusal: Refusal): Promise<string> {
  const readings = refusal.details.readings as readonly Reading[]
  const choices = readings.map(({ label, sample }) => ({ value: label, name: `${sample} (${label})` }))
  const label = await askChoice(context, 'Which of these is spelled right?', choices)
  if (label === undefined) throw refusal
  context.notify(`Next time: --encoding ${label}`)
  return label
}

export const askChoices = (context: Context, message: string, values: readonly string[]) =>
  ask(context, ({ checkbox }, streams) => {
    const choices = values.map((value) => ({ value, name: labelOf(value) }))
    return checkbox({ message: oneLine(message), choices, required: true }, streams)
  })

const promptStreams = ({ streams }: StreamsContext) => ({
  input: streams.stdin,
  output: styledStream(streams.stderr),
})

/** Throws Stop where the answer is no, and a Refusal where nobody can be asked without `--yes`. */
export async function confirmLoss(context: Context, loss: string): Promise<void> {
  if (context.globals.yes) return
  if (!canAsk(context)) throw new Refusal('usage.unconfirmed', { loss })
  if (await askYesNo(context, `${loss} Continue?`, 'no')) return
  throw new Stop('Declined: nothing was changed.', exitCodes.declined, '', 'declined')
}
