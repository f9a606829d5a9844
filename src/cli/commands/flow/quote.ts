import { parseJson } from '../../../api/values/json.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import { quoteFlow, type Range, type StepQuote } from '../../../flows/quote.js'
import type { Flow } from '../../../flows/read.js'
import { type FlowRecord, flowOperation } from '../../../flows/run.js'
import { readResults } from '../../../runs/find-run.js'
import { defaultShareOf } from '../../../runs/plan/lookup.js'
import { openRuns } from '../../../runs/records.js'
import { toRunHome } from '../../batch/run-home.js'
import type { Context, DataSource } from '../../context/context.js'
import { Stop } from '../../context/errors.js'
import { readRemaining } from '../../operation/quote.js'
import { duration, formatNumber, type Look } from '../../output/text.js'
import { targetNames } from '../../target/resolve-target.js'

export interface FlowQuote {
  readonly flow: string
  readonly steps: readonly StepQuote[]
  readonly credits: Range
  /** Of the flow's own budget; null without one. */
  readonly budget: number | null
  readonly balance: number | null
  /** Where the answers come from, where that is known. */
  readonly source?: DataSource
  /** The least time by the rate limits: that of its slowest step. null where they are not known. */
  readonly seconds: number | null
}

/** Quotes a flow: from its own history where there is enough, else from usual rates. Sends free questions only. */
export async function makeFlowQuote(
  context: Context,
  flow: Flow,
  path: string,
  listed: number,
): Promise<FlowQuote> {
  const { runs, database } = await openRuns(toRunHome(context))
  const earlier = (await runs.list()).find(({ operation, file, request }) => {
    const { flow: name, steps = [] } = parseJson(request) as Partial<FlowRecord>
    return operation === flowOperation && file === path && name === flow.name && steps.length > 0
  })
  const known = earlier
    ? (parseJson(earlier.request) as FlowRecord).steps.filter(({ isSource }) => !isSource)
    : []
  const { name: target } = await targetNames(context)
  let balance: number | null = null
  const steps = await quoteFlow(
    flow.steps,
    await rowsOf(flow, listed),
    flow.steps.map(({ name }, at) => (known[at]?.step === name ? known[at] : undefined)),
    async ({ operation, constants }) => {
      const remaining = await readRemaining(context, operation, constants)
      if ('reply' in remaining)
        throw new Stop('The target does not say what is left.', 10, 'See: prospect limits')
      balance = remaining.spendable.balance
      const results = await readResults({ operation, constants }, database, target)
      return { remaining, results, defaultShare: defaultShareOf(operation) }
    },
  )
  const sum = (of: keyof Range) => steps.reduce((all, { credits }) => all + credits[of], 0)
  const times = steps.map(({ seconds }) => seconds)
  return {
    ...{ flow: flow.name, steps },
    credits: { least: sum('least'), expected: sum('expected'), most: sum('most') },
    ...{ budget: flow.budget.credits ?? null, balance },
    seconds: times.includes(null) ? null : Math.max(0, ...times.map(Number)),
    ...withoutUndefined({ source: await context.source() }),
  }
}

/** Returns how many rows the input has. */
async function rowsOf({ table, source }: Flow, listed: number): Promise<Range> {
  if (source) {
    const most = Number(source.constants.limit)
    return { least: 0, expected: most, most }
  }
  let rows = listed
  for await (const batch of table?.table.rows() ?? []) rows += batch.length
  return { least: rows, expected: rows, most: rows }
}

const rangeText = ({ least, expected, most }: Range): string =>
  least === most
    ? formatNumber(expected)
    : `${formatNumber(expected)} (${formatNumber(least)}–${formatNumber(most)})`

export async function formatFlowQuote(body: unknown, look: Look): Promise<string> {
  const { grid, record } = await import('../../output/table.js')
  const { steps, credits, budget, balance, seconds, flow, source } = body as FlowQuote
  const rows = steps.map((step, at) => ({
    step: `${at + 1} ${step.step}`,
    rows: rangeText(step.rows),
    go_on: rangeText(step.out),
    credits: step.credits.most === 0 ? '0' : rangeText(step.credits),
    by: step.from_history ? 'earlier runs' : 'usual rates',
  }))
  const lines = {
    flow,
    ...(source ? { 'answers from': source.text } : {}),
    credits: credits.most === 0 ? 'none' : `${rangeText(credits)}`,
    ...(budget === null ? {} : { budget: `${formatNumber(budget)} at most` }),
    ...(balance === null ? {} : { balance: formatNumber(balance) }),
    ...(seconds === null || seconds < 1 ? {} : { time: `at least ${duration(seconds)}, by the rate limits` }),
  }
  return `${record(lines, look)}\n${grid(['step', 'rows', 'go_on', 'credits', 'by'], rows, look)}`
}
