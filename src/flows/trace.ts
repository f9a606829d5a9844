import { parseJson } from '../api/values/json.js'
import type { RowLookup, Run } from '../runs/journal/runs.js'
import type { OutputRow } from '../runs/output/columns.js'
import type { RunPorts } from '../runs/ports.js'
import { type NotLookedUp, objectionTo } from '../runs/run-batch.js'
import { cellsOf, lookupFor, openOnlyIf, openWorker, type RunStep, rowsAfter } from './chain.js'
import type { FlowRow } from './fields.js'
import { tableRows } from './inputs.js'
import { type Flow, isRowStep, type Step } from './read.js'
import {
  contentOf,
  type FlowPorts,
  type FlowRecord,
  type FlowRequest,
  keyOfFlow,
  openKnownLists,
  requestFor,
} from './run.js'

/** Why a row was not looked up in a step that it came to: `passed` by its condition, or null where nothing was against it. */
export type Unasked = NotLookedUp | { readonly status: 'passed' } | null

/** What is recorded of a row of a step. */
type Recorded = Pick<RowLookup, 'state' | 'source' | 'error'> & { readonly body: unknown }

/**
 * Takes a row of the input, counted from 0, through the steps of a flow again, by what is recorded of it. Returns why rows that
 * come of it were not looked up, by step and row; `undefined` where the flow or its input is not the same any more.
 */
export async function traceRow(
  asked: Pick<FlowRequest, 'flow' | 'path'>,
  ports: RunPorts,
  record: Run,
  row: number,
  recordedOf: (run: string, row: number) => Promise<Recorded | undefined>,
): Promise<((step: number, row: number) => Unasked | undefined) | undefined> {
  const { flow } = asked
  // The companies of a list and what a vendor has found are not asked for again.
  if (!flow.table && !flow.source) return undefined
  const { steps: counts, rowsOfOne } = parseJson(record.request) as FlowRecord
  const steps = [...(flow.source ? [flow.source] : []), ...flow.steps].slice(0, counts.length)
  const lists = await openKnownLists(ports, flow.skipKnown)
  const content = [await contentOf(asked), lists?.fingerprint]
  const parts = [content, steps.map(({ written }) => written)]
  if (keyOfFlow(asked, await ports.target.workspace(), parts) !== record.identityKey) return undefined
  const found = new Map<string, Unasked>()
  const why = (step: number, at: number) => found.get(`${step} ${at}`)
  const without = (rows: readonly FlowRow[], { before }: Pick<Step, 'before'>): readonly FlowRow[] =>
    rows.map((one) =>
      one.fields && lists?.has(before.about, one.fields) ? { ...one, fields: undefined } : one,
    )
  let [first, rows] = [row, await inputRow(flow, row)]
  let isNew = true
  for (const [at, step] of steps.entries()) {
    if (isNew) rows = without(rows, step)
    isNew = !isRowStep(step)
    if (isRowStep(step)) {
      // Which rows a limit leaves depends on those before, as does which one is the first of equal ones, and the place of a sorted one.
      if (step.kind === 'limit' || step.kind === 'distinct' || step.kind === 'sort') return why
      const { work } = await openWorker(step)
      rows = rows.map((one) => (one.fields ? { ...one, fields: work(one.fields).fields } : one))
      continue
    }
    const run = counts[at]?.run
    if (run === null || run === undefined) return why
    const isSource = step === flow.source
    const objectTo = await objections(asked, ports, step)
    const after: FlowRow[] = []
    for (const [place, one] of rows.entries()) {
      const ordinal = isSource ? 0 : first + place
      const recorded = await recordedOf(run, ordinal)
      const unasked = recorded || !one.fields ? undefined : await objectTo(one)
      if (unasked !== undefined) found.set(`${at} ${ordinal}`, unasked)
      if (isSource && recorded?.state !== 'found') return why
      const { body, error = null, source = null } = recorded ?? {}
      const state = recorded?.state ?? (unasked?.status === 'passed' ? 'skipped' : 'invalid')
      const status = state as OutputRow['status']
      after.push(...rowsAfter(step, { ...one, cells: [], status, body, error, source, credits: 0 }))
    }
    rows = isSource ? after.slice(row, row + 1) : after
    if (!isSource) first *= rowsOfOne[at] ?? 1
  }
  return why
}

/** Returns a row of the input of a flow, or what stands for the search that it comes from. */
async function inputRow({ table }: Flow, row: number): Promise<readonly FlowRow[]> {
  if (!table) return [{ line: 1, fields: {} }]
  let before = 0
  for await (const rows of tableRows(table)) {
    if (row < before + rows.length) return rows.slice(row - before, row - before + 1)
    before += rows.length
  }
  return []
}

/** Returns what says why a row of a step is not looked up. Nothing is sent for it. */
async function objections(asked: Pick<FlowRequest, 'flow' | 'path'>, ports: RunPorts, step: RunStep) {
  const importInput = async ({ constants }: Parameters<FlowPorts['importInput']>[0]) => constants
  const given = { ...asked, fresh: false, retryUnknown: false, targetOptions: {} }
  const request = await requestFor({ importInput }, given, step, '', 0)
  const { header, ofFile, lookup } = await lookupFor(ports, step, request, undefined)
  const stage = { step, ...(ofFile && { ofFile }) }
  const isAsked = await openOnlyIf(step)
  return async (row: FlowRow): Promise<Unasked> =>
    row.fields && isAsked?.(row.fields) === false
      ? { status: 'passed' }
      : objectionTo(lookup, cellsOf(stage, row, true), header)
}
