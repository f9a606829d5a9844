import { parseJson } from '../../../api/values/json.js'
import { type StepCount, stepNames } from '../../../flows/chain.js'
import { type FlowRecord, flowOperation } from '../../../flows/run.js'
import type { Run } from '../../../runs/journal/runs.js'
import { isRunning, openRuns, type RunRecords } from '../../../runs/records.js'
import { toRunHome } from '../../batch/run-home.js'
import type { Context } from '../../context/context.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { runPlaceOf, sharedOptions } from '../../options/databases.js'
import { addStoredId, among, resolveIds, type StoredKind } from '../../options/stored-ids.js'
import { isoTime } from '../../options/values.js'
import type { Look } from '../../output/text.js'

/** Flows, as their commands name them. */
export const stored: StoredKind = { noun: 'flow', list: 'flow list' }

const flowsOf = async ({ runs }: RunRecords): Promise<readonly Run[]> =>
  (await runs.list()).filter(({ operation }) => operation === flowOperation)

export async function findFlow(
  records: RunRecords,
  invocation: Pick<Invocation, 'args' | 'options'>,
): Promise<Run> {
  const flows = await flowsOf(records)
  const [id] = await resolveIds(invocation, stored, among(flows.map((flow) => flow.id)))
  return flows.find((flow) => flow.id === id) as Run
}

/** Returns what became of the rows of a flow in each step, and what that has cost so far. */
export function stepsOf({ request }: Run, { runs }: RunRecords): Promise<readonly StepCount[]> {
  const { steps = [] } = parseJson(request) as Partial<FlowRecord>
  return Promise.all(
    steps.map(async (count): Promise<StepCount> => {
      const [run] = count.run === null ? [] : await runs.find(count.run)
      return run ? { ...count, credits: run.credits } : count
    }),
  )
}

async function toView(context: Context, flow: Run, records: RunRecords) {
  const record = parseJson(flow.request) as Partial<FlowRecord>
  const steps = await stepsOf(flow, records)
  const isStopped = flow.status === 'running' && !(await isRunning(context, flow, records.locks))
  return {
    id: flow.id,
    flow: record.flow ?? '',
    file: flow.file,
    output: flow.output,
    target: flow.target,
    status: isStopped ? 'stopped' : flow.status,
    written: flow.done,
    credits: steps.reduce((sum, { credits }) => sum + credits, 0),
    started_at: isoTime(flow.startedAt),
    finished_at: flow.status === 'finished' ? isoTime(flow.endedAt) : null,
    stopped: record.stopped ?? null,
    steps,
  }
}

export const listCommand: CommandFactory = ({ command }) =>
  command('list', 'List the flows that were run, newest first')
    .withOptions(sharedOptions)
    .reads('records')
    .printResult(
      async (context, { options }) => {
        const records = await openRuns(toRunHome(context), runPlaceOf(context, options))
        const flows = await flowsOf(records)
        return Promise.all(flows.map((flow) => toView(context, flow, records)))
      },
      { columns: ['id', 'flow', 'file', 'status', 'written', 'credits', 'started_at'], ids: ['id'] },
    )

export const showCommand: CommandFactory = ({ command }) =>
  addStoredId(command('show', 'Show a flow: what became of the rows in each step, and what it cost'), stored)
    .withOptions(sharedOptions)
    .reads('records')
    .printResult(
      async (context, invocation) => {
        const records = await openRuns(toRunHome(context), runPlaceOf(context, invocation.options))
        return toView(context, await findFlow(records, invocation), records)
      },
      { layout: formatFlow },
    )

async function formatFlow(body: unknown, look: Look): Promise<string> {
  const { bars } = await import('../../output/records.js')
  const { grid, record } = await import('../../output/table.js')
  const { steps, stopped, ...flow } = body as Awaited<ReturnType<typeof toView>>
  const header = ['step', 'in', 'found', 'out', 'credits']
  const names = stepNames(steps)
  const rows = steps.map(({ in: came, found, out, credits }, at) => ({
    ...{ step: names[at], in: came, found, out, credits },
  }))
  const first = steps[0]?.in ?? 0
  const funnel = [
    { label: 'Input', value: first },
    ...steps.map(({ out }, at) => ({ label: names[at] ?? '', value: out })),
  ]
  const why = stopped ? { stopped: `${stopped.step}: ${stopped.reason}` } : {}
  return `${record({ ...flow, ...why }, look)}\n${grid(header, rows, look)}\n${bars(funnel, look)}`
}
