import { Refusal } from '../../../api/calls/errors.js'
import { parseJson } from '../../../api/values/json.js'
import { rowPriceOf } from '../../../engine/credits/cost.js'
import { traceRow, type Unasked } from '../../../flows/trace.js'
import type { Run } from '../../../runs/journal/runs.js'
import type { RunsLocation } from '../../../runs/records.js'
import type { RecordedRequest } from '../../../runs/request.js'
import { inputOfRow, type NotLookedUp, whyNotLookedUp } from '../../../runs/run-batch.js'
import { fromRecord, toRequest } from '../../batch/request.js'
import { createRunPorts } from '../../batch/run.js'
import type { Context } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { countOf } from '../../output/text.js'

/** Returns the `_status` of a row that something keeps from being looked up, and what to say of it. */
const keptOut: Readonly<Record<NotLookedUp['status'], (error: string) => readonly [string, string]>> = {
  blank: () => ['skipped', 'The row is blank, or a footer: it was not looked up.'],
  filled: () => ['skipped', 'The row has a value for it already: it was not looked up.'],
  known: () => ['known', 'A list that was to be left out has it: it was not looked up.'],
  suppressed: () => ['suppressed', 'It is suppressed: it was not looked up.'],
  invalid: (error) => ['invalid', error],
}

/** Returns what says why rows of a flow were not looked up; `undefined` where its file or its input is not the same any more. */
export async function traced(
  context: Context,
  location: RunsLocation,
  flow: Run,
  row: number,
  recordedOf: Parameters<typeof traceRow>[4],
) {
  const [{ openFlow, placeOf }, quiet] = [
    await import('../flow/open.js'),
    context.withGlobals({ quiet: true }),
  ]
  try {
    const asked = await openFlow(quiet, flow.file)
    const ports = createRunPorts(quiet, await placeOf(location))
    return await traceRow(asked, ports, flow, row - 1, recordedOf)
  } catch (error) {
    if (error instanceof Refusal || error instanceof UsageError) return undefined
    throw error
  }
}

/** Returns the `_status` of a row that came to a step of a flow and was not looked up there, and why. */
export function unaskedText(flow: Run, step: Run, why: Unasked): readonly [status: string, why: string] {
  if (why?.status === 'passed')
    return ['skipped', 'The condition of the step is not true of it: it passes by the step.']
  if (why) return keptOut[why.status](why.error)
  if (flow.status === 'running') return ['skipped', 'It has not been reached yet.']
  if (step.status !== 'finished') return ['skipped', 'It was not reached: the flow stopped before.']
  return [
    'skipped',
    'It was not looked up: an earlier run of the flow had it, or a later step needed no more.',
  ]
}

/** Returns what a row was looked up by, from its file; `undefined` where that is not the same any more. */
export async function inputOf(context: Context, run: Run, row: number) {
  const { request, ports } = (await recordedOf(context, run)) ?? {}
  return request && ports ? inputOfRow(request, ports, run, row) : undefined
}

/** Returns the request of a run, and the ports for it; `undefined` of a step of a flow, which reads no file. */
async function recordedOf(context: Context, run: Run) {
  const recorded = parseJson(run.request) as Partial<RecordedRequest>
  if (recorded.choices?.flow !== undefined || recorded.constants === undefined) return undefined
  const plain = context.withGlobals({ jq: undefined, format: undefined, json: undefined, fields: undefined })
  const { context: own, command } = await fromRecord(
    plain,
    { ...run, output: null },
    { args: [], options: {} },
  )
  return { request: toRequest(own, command), ports: createRunPorts(own, command) }
}

/** Whether a run is a step of a flow, which reads no file of its own. */
export const isStep = ({ request }: Run): boolean =>
  (parseJson(request) as Partial<RecordedRequest>).choices?.flow !== undefined

const noSuchRow =
  'No row of this number was looked up in this step of the flow. What became of a row of the input: prospect explain with the file of the flow, without --run.'

const changedSince =
  'Why is not known any more: a list that was to be left out, or who is suppressed, has changed, or its lookup was deleted.'

/** Returns the `_status` of a row without a lookup, and why it has none. */
export async function notLookedUp(
  context: Context,
  run: Run,
  row: number,
): Promise<readonly [string, string]> {
  if (isStep(run)) return ['none', noSuchRow]
  const recorded = await recordedOf(context, run)
  const why = recorded && (await whyNotLookedUp(recorded.request, recorded.ports, run, row))
  if (why) return keptOut[why.status](why.error)
  if (why === undefined)
    return ['none', 'It was not looked up. Why is not known any more: its file is gone or has changed.']
  const { rows, maxCredits } = recorded?.request.choices ?? {}
  if (rows !== undefined && row >= rows)
    return [
      'skipped',
      `It was not reached: only the first ${countOf(rows, 'row was', 'rows were')} asked for.`,
    ]
  if (run.status === 'running') return ['skipped', 'It has not been reached yet.']
  // A finished run reached every row.
  if (run.status === 'finished') return ['none', `It was not looked up. ${changedSince}`]
  const spent = run.credits + run.reserved
  const isSpent = maxCredits !== undefined && maxCredits > 0 && spent >= maxCredits
  const budget = isSpent ? ` when its budget of ${countOf(maxCredits, 'credit', 'credits')} was spent` : ''
  const input = maxCredits !== undefined && !isSpent ? (await inputOf(context, run, row))?.input : undefined
  const { most, perRecord } = recorded && input ? rowPriceOf(recorded.request) : {}
  const price = input && most ? Math.min(most(input), perRecord ?? Number.POSITIVE_INFINITY) : 0
  const tooLittle =
    maxCredits !== undefined && maxCredits > 0 && price > maxCredits - spent && !isSpent
      ? ` Its budget of ${countOf(maxCredits, 'credit', 'credits')} leaves ${maxCredits - spent}, and the row can cost ${price}.`
      : ''
  return [
    'skipped',
    `It was not reached: the run stopped${budget} with ${run.done} of ${countOf(run.total, 'row', 'rows')} done.${tooLittle}`,
  ]
}
