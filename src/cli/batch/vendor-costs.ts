import { parseJson } from '../../api/values/json.js'
import { type FlowRecord, flowOperation, stepsOf } from '../../flows/run.js'
import type { Run } from '../../runs/journal/runs.js'
import { type Spent, spentDimensions, sumSpent } from '../../runs/journal/spending.js'
import { openRuns, type RunRecords, type RunsLocation } from '../../runs/records.js'
import { shownTarget } from '../../runs/target-name.js'
import type { Context } from '../context/context.js'
import { openWorkspaceOwner } from '../context/open-databases.js'
import { countOf, formatNumber } from '../output/text.js'
import { profileName, targetName } from '../target/resolve-target.js'

/** By what questions to data vendors are recorded as: the run that has asked them. */
export type VendorRuns = ReadonlyMap<string, string>

/** Returns the runs by what their questions are recorded as: by their ids, and the search of a flow by what it asks. */
export function vendorRunsOf(runs: readonly Run[]): VendorRuns {
  const oldest = [...runs].sort((one, other) => one.startedAt - other.startedAt)
  const known = new Map(oldest.map(({ id }) => [id, id]))
  for (const { id, operation, request } of oldest) {
    const { searched } = operation === flowOperation ? (parseJson(request) as Partial<FlowRecord>) : {}
    if (searched !== undefined && !known.has(searched)) known.set(searched, id)
  }
  return known
}

/** Returns the ids of some runs, and of the runs of their steps where they are flows. */
export async function withSteps(ids: readonly string[], records: RunRecords): Promise<Set<string>> {
  const found = (await Promise.all(ids.map((id) => records.runs.find(id)))).flat()
  const steps = (await Promise.all(found.map((one) => stepsOf(one, records)))).flat()
  return new Set([...ids, ...steps.flatMap((step) => step.run ?? [])])
}

/** Returns what the data vendors of the workspace in use were asked: each costs its own credits, and none of ours. */
export async function spentAtProviders(
  context: Context,
  { from = '', to = '9999' }: Readonly<Partial<Record<'from' | 'to', string | undefined>>>,
  runs: VendorRuns,
) {
  const workspace = context.isLocal() ? await openWorkspaceOwner(context) : undefined
  if (!workspace) return []
  const { listCosts } = await import('../../engine/tables/providers.js')
  const [profile, target] = [profileName(context), shownTarget(await targetName(context))]
  const costs = await workspace.driver.read((tx) => listCosts(tx, workspace.owner))
  const usual = { profile, target, credits: 0, suspect: 0 }
  const spent = costs
    .filter(({ day }) => from <= day && day <= to)
    // Single calls have no run here.
    .map((cost) => ({ ...cost, ...usual, run: runs.get(cost.run) ?? null }))
  return sumSpent(spent, spentDimensions) as Spent[]
}

/** What a run has cost at a data vendor, in its credits. */
export interface VendorCost extends Record<'calls' | 'cost' | 'at_risk', number> {
  readonly provider: string
}

export const sumOfVendors = (spent: readonly Spent[]): VendorCost[] =>
  sumSpent(spent, ['provider']).map(({ provider, calls, cost = 0, at_risk = 0 }) => ({
    provider: String(provider),
    calls,
    cost,
    at_risk,
  }))

/** Returns what a run, or a flow with its steps, has cost at data vendors; nothing where it has asked none. */
export async function costsAtVendors(
  context: Context,
  run: string,
  records: RunRecords,
): Promise<VendorCost[]> {
  const known = vendorRunsOf(await records.runs.list())
  const runs = await withSteps([run], records)
  const spent = await spentAtProviders(context, {}, known)
  return sumOfVendors(spent.filter((one) => one.run !== null && runs.has(one.run)))
}

/** Says on stderr what a run, or a flow with its steps, has cost at data vendors so far. */
export async function notifyVendorCosts(
  context: Context,
  run: string,
  location: RunsLocation,
): Promise<void> {
  if (!(await context.hasVendors())) return
  const text = formatVendorCosts(await costsAtVendors(context, run, await openRuns(context, location)))
  if (text !== '') context.notify(text)
}

/** Says what was spent at data vendors; empty where none was asked. */
export function formatVendorCosts(costs: readonly VendorCost[]): string {
  const all = costs.map(
    ({ provider, cost, at_risk }) =>
      `${provider} ${cost}${at_risk === 0 ? '' : ` (${at_risk} more at risk)`}`,
  )
  return all.length === 0 ? '' : `Own credits of data vendors: ${all.join(', ')}.`
}

/** Returns what `show` says to a person of what was asked at data vendors; empty where none was. */
export function vendorFacts(costs: readonly VendorCost[]): { readonly vendors?: string } {
  const texts = costs.map(
    ({ provider, calls, cost, at_risk }) =>
      `${provider}: asked ${countOf(calls, 'time')}, ${countOf(cost, 'credit')} of its own` +
      `${at_risk === 0 ? '' : `, ${formatNumber(at_risk)} more at risk`}`,
  )
  return texts.length === 0 ? {} : { vendors: texts.join('; ') }
}
