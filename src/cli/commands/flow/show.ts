import { isPriced } from '../../../api/operations/facts.js'
import { parseJson, toJson } from '../../../api/values/json.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import { unitPrice } from '../../../engine/credits/cost.js'
import { type StepCount, stepNames } from '../../../flows/chain.js'
import { quoteFlow, type Range } from '../../../flows/quote.js'
import type { Flow } from '../../../flows/read.js'
import {
  type FlowRecord,
  type FlowReport,
  flowOperation,
  isRecordOf,
  likeStep,
  stepsOf,
} from '../../../flows/run.js'
import { readResults } from '../../../runs/find-run.js'
import type { Run } from '../../../runs/journal/runs.js'
import { defaultShareOf, type RowCounts } from '../../../runs/plan/quote.js'
import { openRuns, type RunRecords, type RunsLocation } from '../../../runs/records.js'
import { providerText, quoteProviders } from '../../batch/quote.js'
import type { VendorCost } from '../../batch/vendor-costs.js'
import { readRemaining } from '../../call/limits.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { Stop } from '../../context/errors.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { among, resolveIds, type StoredKind } from '../../options/command-environment.js'
import { runsLocationOf, sharedOptions } from '../../options/values.js'
import { countOf, duration, formatCredits, formatNumber, type Look } from '../../output/text.js'
import { targetName } from '../../target/resolve-target.js'
import { toRunView } from '../runs/runs.js'
import { quoteSearch } from './ports.js'

export const stored: StoredKind = { noun: 'flow', list: 'flow list' }

const flowsOf = async ({ runs }: RunRecords): Promise<readonly Run[]> =>
  (await runs.list()).filter(({ operation }) => operation === flowOperation)

export async function findFlow(records: RunRecords, invocation: Pick<Invocation, 'args' | 'options'>) {
  const flows = await flowsOf(records)
  const [id] = await resolveIds(invocation, stored, among(flows.map((flow) => flow.id)))
  return flows.find((flow) => flow.id === id) as Run
}

/** Returns what a flow was started with, which holds where it is resumed by its id: its target, and its budgets. */
export function startedWith({ request }: Run) {
  const { maxCredits, globals = {} } = parseJson(request) as Partial<FlowRecord>
  const { maxCost, accept, ...target } = globals as Pick<GlobalOptions, 'maxCost' | 'accept'>
  return { target, budgets: { maxCredits, maxCost, accept } }
}

async function toView(context: Context, flow: Run, records: RunRecords) {
  const { flow: name = '', stopped = null } = parseJson(flow.request) as Partial<FlowRecord>
  const steps = await stepsOf(flow, records)
  const run = await toRunView(context, flow, records, steps)
  const { id, file, output, target, status, done, credits, started_at, finished_at } = run
  const paid = { written: done, credits, started_at, finished_at }
  return { id, flow: name, file, output, target, status, ...paid, stopped, steps }
}

export const listCommand: CommandFactory = ({ command }) =>
  command('list', 'List the flows that were run, newest first')
    .withTarget()
    .withOptions(sharedOptions)
    .reads('records')
    .printResult(
      async (context, { options }) => {
        const records = await openRuns(context, runsLocationOf(context, options))
        const flows = await flowsOf(records)
        return Promise.all(flows.map((flow) => toView(context, flow, records)))
      },
      {
        columns: ['id', 'flow', 'file', 'status', 'written', 'credits', 'started_at'],
        ids: ['id'],
        empty: 'No flow was run yet.',
      },
    )

export const showCommand: CommandFactory = ({ command }) =>
  command('show', 'Show a flow: what became of the rows in each step, and what it cost')
    .withTarget()
    .addStoredId(stored)
    .withOptions(sharedOptions)
    .reads('records')
    .printResult(
      async (context, invocation) => {
        const records = await openRuns(context, runsLocationOf(context, invocation.options))
        const flow = await findFlow(records, invocation)
        const { costsAtVendors } = await import('../../batch/vendor-costs.js')
        const vendors = await costsAtVendors(context, flow.id, records)
        return { ...(await toView(context, flow, records)), ...(vendors.length > 0 ? { vendors } : {}) }
      },
      { layout: formatFlow },
    )

async function formatFlow(body: unknown, look: Look): Promise<string> {
  const { bars } = await import('../../output/records.js')
  const { grid, record } = await import('../../output/table.js')
  const { vendorFacts } = await import('../../batch/vendor-costs.js')
  const { steps, stopped, vendors, ...flow } = body as Awaited<ReturnType<typeof toView>> & {
    vendors?: readonly VendorCost[]
  }
  const header = ['step', 'in', 'found', 'out', 'credits']
  const names = stepNames(steps)
  const rows = steps.map((step, at) => ({ ...step, step: names[at] }))
  const funnel = [
    { label: 'Input', value: steps[0]?.in ?? 0 },
    ...steps.map(({ out }, at) => ({ label: names[at] ?? '', value: out })),
  ]
  const why = stopped ? { stopped: `${stopped.step}: ${stopped.reason}` } : {}
  return `${record({ ...flow, ...vendorFacts(vendors ?? []), ...why }, look)}\n${grid(header, rows, look)}\n${bars(funnel, look)}`
}

/** Quotes a flow: from its own history where there is enough, else from usual rates. Sends free questions only. */
export async function makeFlowQuote(
  context: Context,
  flow: Flow,
  path: string,
  listed: number,
  location: RunsLocation,
  counted: RowCounts | undefined,
) {
  const { runs, database } = await openRuns(context, location)
  const earlier = (await runs.list()).find(
    (run) =>
      isRecordOf(run, flow.name, path) &&
      ((parseJson(run.request) as Partial<FlowRecord>).steps ?? []).length > 0,
  )
  const { steps: known = [], search } = earlier ? (parseJson(earlier.request) as Partial<FlowRecord>) : {}
  // How many records another search brought says nothing about this one.
  const isSameSearch = toJson(search ?? null) === toJson(flow.source?.written ?? null)
  const target = await targetName(context)
  let balance: number | null = null
  const all = flow.source ? [flow.source, ...flow.steps] : flow.steps
  const steps = await quoteFlow(
    all,
    await rowsOf(flow, listed, earlier ? known[0] : undefined),
    all.map((step, at) => {
      const before = known[at]
      return before?.step === step.name && (step !== flow.source || isSameSearch) ? before : undefined
    }),
    async (step) => {
      const { operation, constants } = step
      const remaining = await readRemaining(context, operation, constants)
      if ('reply' in remaining)
        throw new Stop('The target does not say what is left.', 10, 'See: prospect limits')
      balance = remaining.spendable.balance
      const results = await readResults(step, database, target, likeStep(flow, step))
      const providers = (lookups: number) => quoteProviders(context, { operation, constants }, { lookups })
      return { remaining, results, defaultShare: defaultShareOf(operation), providers }
    },
    counted,
  )
  const sum = (of: keyof Range) => steps.reduce((sums, { credits }) => sums + credits[of], 0)
  const times = steps.map(({ seconds }) => seconds)
  return {
    flow: flow.name,
    steps,
    credits: { min: sum('min'), expected: sum('expected'), max: sum('max') },
    budget: flow.budget.credits ?? null,
    balance,
    ...(flow.input.kind === 'provider' ? { search: await quoteSearch(context, flow.input) } : {}),
    // The least time by the rate limits: that of its slowest step.
    seconds: times.includes(null) ? null : Math.max(0, ...times.map(Number)),
    ...withoutUndefined({ source: await context.source() }),
  }
}

async function rowsOf(
  { input, table, source }: Flow,
  listed: number,
  before: StepCount | undefined,
): Promise<Range> {
  // It is one request.
  if (source) return { min: 1, expected: 1, max: 1 }
  if (input.kind === 'provider') {
    const { limit } = input
    return { min: 0, expected: before ? Math.min(limit, before.in) : limit, max: limit }
  }
  let rows = listed
  for await (const batch of table?.table.rows() ?? []) rows += batch.length
  return { min: rows, expected: rows, max: rows }
}

/** Says which answers the price leaves out: those of the first step alone are known. */
function storedText(steps: Awaited<ReturnType<typeof makeFlowQuote>>['steps']): string {
  const [first, ...others] = steps
  const later = others.some(({ credits }) => credits.max > 0)
  const note = later ? 'later steps are priced as if nothing were stored' : ''
  if (!first?.answered) return note
  const known = `${countOf(first.answered, 'lookup')} of ${first.step} ${first.answered === 1 ? 'is' : 'are'} answered already`
  return note === '' ? known : `${known}; ${note}`
}

const rangeText = ({ min, expected, max }: Range): string =>
  min === max
    ? formatNumber(expected)
    : `${formatNumber(expected)} (${formatNumber(min)}–${formatNumber(max)})`

export async function formatFlowQuote(body: unknown, look: Look): Promise<string> {
  const { grid, record } = await import('../../output/table.js')
  const { steps, credits, budget, balance, seconds, flow, source, search, finished } = body as Awaited<
    ReturnType<typeof makeFlowQuote>
  > & { readonly finished?: true }
  const names = stepNames(steps)
  const rows = steps.map((step, at) => ({
    step: names[at],
    rows: rangeText(step.rows),
    go_on: rangeText(step.out),
    credits: step.credits.max === 0 ? '0' : rangeText(step.credits),
    by: step.from_history ? 'earlier runs' : 'usual rates',
  }))
  const lines = {
    flow,
    finished: finished && 'prospect flow run writes its output again and costs nothing',
    'Answers from': source?.text,
    credits: credits.max === 0 ? 'none' : rangeText(credits),
    search: search && `at most ${formatNumber(search.max)} credits of ${search.provider}`,
    providers: steps.flatMap(({ providers = [] }) => providers.map(providerText)).join(' · '),
    budget: budget === null ? '' : `${formatNumber(budget)} at most`,
    balance,
    stored: storedText(steps),
    time: seconds === null || seconds < 1 ? '' : `at least ${duration(seconds)}, by the rate limits`,
  }
  return `${record(lines, look)}\n${grid(['step', 'rows', 'go_on', 'credits', 'by'], rows, look)}`
}

/** Says what data vendors have cost, and what a search with a price may cost. */
export async function noteSpending(context: Context, flow: Flow, report: FlowReport, location: RunsLocation) {
  const { notifyVendorCosts } = await import('../../batch/vendor-costs.js')
  await notifyVendorCosts(context, report.run, location)
  noteSearch(context, flow, report)
}

/**
 * Says of a search with a price what it may cost where the budget is too small for it, and that it brought what was known: it
 * is not asked for more than its limit, which costs again.
 */
function noteSearch(context: Context, { source, since }: Flow, { steps, stopped }: FlowReport): void {
  if (!source || !isPriced(source.operation)) return
  const { name, operation, constants } = source
  const limit = Number(constants.limit)
  if (stopped?.budget && stopped.step === name) {
    const most = formatCredits(limit * unitPrice(operation))
    context.notify(`${name} with limit: ${limit} may cost ${most}. A lower limit costs less.`)
  }
  const known = steps.reduce((sum, { left_out = 0 }) => sum + left_out, 0)
  if (since && known > 0 && (steps[0]?.out ?? 0) >= limit)
    context.notify(
      `${name} charges for every record, also for the ${formatNumber(known)} that were known. Raise its limit to get more.`,
    )
}
