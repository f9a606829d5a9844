import { Refusal } from '../../../api/calls/errors.js'
import { traceRow, type Unasked } from '../../../flows/trace.js'
import type { Run } from '../../../runs/journal/runs.js'
import type { RunsLocation } from '../../../runs/records.js'
import type { NotLookedUp } from '../../../runs/run-batch.js'
import { createRunPorts } from '../../batch/run.js'
import type { Context } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'

/** Returns the `_status` of a row that something keeps from being looked up, and what to say of it. */
export const keptOut: Readonly<Record<NotLookedUp['status'], (error: string) => readonly [string, string]>> =
  {
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
    await import('../flow/flow.js'),
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
