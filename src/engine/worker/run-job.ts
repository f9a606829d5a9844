import { ApiError } from '../../api/calls/errors.js'
import { operation } from '../../api/operations/table.js'
import { networkOrigin } from '../../api/values/network-url.js'
import { leaseFrom, leaseMsOf, startHeartbeat } from '../clock.js'
import type { Used } from '../credits/cost.js'
import { fail, type JobStep, keepStep, LeaseLost, type WorkerPorts } from '../jobs/progress.js'
import type { FoundLead, Lead } from '../ports/ports.js'
import { outsideOf, runWaterfall, toContactRecord } from '../records/waterfall.js'
import { type AsyncJob, type JobPlan, listEnrichments, renewJob, updateJob } from '../tables/jobs.js'
import { listCompanies, setMatchedAccount, updateList } from '../tables/lists.js'
import { openSuppressor } from '../tables/members.js'

/**
 * A job that this many processes died with before it made progress is not taken again, although it may not be to
 * blame.
 */
const mostAttempts = 10

/**
 * Runs a claimed job to its end, one transaction a step. Returns the job at its end, or as it stood when `signal`
 * aborted or its turn of so many milliseconds was over; `undefined` when another process took it over. Rejects when store or source cannot be reached: the job is
 * taken again when its lease has expired.
 */
export async function runJob(
  ports: WorkerPorts,
  claimed: AsyncJob,
  signal?: AbortSignal,
  onStep: (job: AsyncJob) => void = () => {},
  turnMs = Number.POSITIVE_INFINITY,
): Promise<AsyncJob | undefined> {
  const turnEnds = performance.now() + turnMs
  const isOver = () => signal?.aborted || performance.now() >= turnEnds
  const { id, token, workspaceId } = claimed
  const heartbeat = startHeartbeat(leaseMsOf(ports) / 3, () =>
    ports.store.transaction((tx) => renewJob(tx, id, token ?? '', leaseFrom(ports).leaseUntil), workspaceId),
  )
  try {
    const report = ignoreErrors(ports, onStep)
    const job = signal?.aborted ? claimed : await runSteps(ports, claimed, isOver, report)
    if (job.state === 'running') await returnJob(ports, job, () => 0)
    return job
  } catch (error) {
    if (error instanceof LeaseLost) return undefined
    // The job is not at fault.
    await returnJob(ports, claimed, (now) => now + leaseMsOf(ports)).catch(() => undefined)
    throw error
  } finally {
    clearInterval(heartbeat)
  }
}

/** An error of the observer must not fail the job. */
const ignoreErrors =
  ({ onTrouble }: WorkerPorts, onStep: (job: AsyncJob) => void) =>
  (job: AsyncJob): void => {
    try {
      onStep(job)
    } catch (error) {
      onTrouble?.(error)
    }
  }

async function runSteps(
  ports: WorkerPorts,
  claimed: AsyncJob,
  isOver: () => boolean | undefined,
  onStep: (job: AsyncJob) => void,
): Promise<AsyncJob> {
  if (claimed.attempts > mostAttempts)
    return await failJob(ports, claimed, 'It stopped its process repeatedly', onStep)
  let job = claimed
  try {
    do {
      job = await keepStep(ports, job, await doStep(ports, job))
      onStep(job)
    } while (job.state === 'running' && !isOver())
    return job
  } catch (error) {
    if (error instanceof LeaseLost || isTemporary(error)) throw error
    if (!(error instanceof ApiError)) ports.onTrouble?.(error)
    const message = error instanceof ApiError ? error.message : 'Internal error'
    return await failJob(ports, claimed, message, onStep)
  }
}

async function failJob(
  ports: WorkerPorts,
  claimed: AsyncJob,
  error: string,
  onStep: (job: AsyncJob) => void,
): Promise<AsyncJob> {
  const job = await fail(ports, claimed, error)
  onStep(job)
  return job
}

/** Returns the job to the queue at a moment of real time; the attempt does not count. */
const returnJob = (
  { store, clock }: WorkerPorts,
  { id, token, workspaceId }: AsyncJob,
  until: (now: number) => number,
): Promise<void> =>
  store.transaction(async (tx) => {
    if (await renewJob(tx, id, token ?? '', until(clock.now()))) await updateJob(tx, id, { attempts: 0 })
  }, workspaceId)

/** Returns whether store or source just cannot be reached for now. */
const isTemporary = (error: unknown): boolean => error instanceof ApiError && error.status === 503

async function doStep(given: WorkerPorts, job: AsyncJob): Promise<JobStep> {
  const { plan } = job
  const suppressor = await openSuppressor(given.store, job.workspaceId)
  const { source, vendors } = given
  const others = vendors && suppressor?.vendors(vendors, source)
  const ports = suppressor ? { ...given, source: suppressor.source(source), vendors: others } : given
  if (plan.does === 'search') return searchStep(ports, job, plan)
  return plan.does === 'waterfall' ? waterfallStep(ports, job, plan) : listStep(ports, job)
}

const recordsPerStep = 100

async function searchStep(
  { source }: WorkerPorts,
  job: AsyncJob,
  { search, scale }: Extract<JobPlan, { does: 'search' }>,
): Promise<JobStep> {
  const left = (job.most ?? Number.POSITIVE_INFINITY) - job.done
  const limit = Math.min(recordsPerStep, left)
  const span = { limit, after: job.place ?? undefined, now: job.createdAt }
  const { records, next } = await source.find(search, span)
  const isPriced = Object.keys(operation(job.operation).price).length > 0
  return {
    records: records.map((record) => ('lead' in record ? toLead(record, scale) : record)),
    ...(isPriced ? { used: records.map((): Used => ({ company: 1 })) } : {}),
    place: next ?? null,
    ended: next === undefined || records.length >= left,
  }
}

/** Returns a lead as delivered. With `scale` it has fewer fields, and the user id in its profile URL. */
function toLead({ lead, company, network_id }: FoundLead, scale: boolean): Lead {
  if (!scale) return { lead, company }
  const { connections_count: _, headline: __, ...rest } = lead
  const url = network_id === null ? rest.network_profile_url : `${networkOrigin}/in/${network_id}`
  return { lead: { ...rest, network_profile_url: url }, company }
}

const contactsPerStep = 20

async function waterfallStep(
  { source, store, vendors }: WorkerPorts,
  job: AsyncJob,
  { ask, contacts }: Extract<JobPlan, { does: 'waterfall' }>,
): Promise<JobStep> {
  const enrichments = await store.read((tx) => listEnrichments(tx, job.id))
  const providers = await source.providers()
  const { workspaceId, memberId } = job
  const outside = await outsideOf(
    vendors,
    { ...(ask.vendors ?? { run: job.id }), workspaceId, memberId },
    source,
  )
  // Vendors are asked about many at once, and their answers are kept as they come.
  const next = contacts.slice(job.done, job.done + (outside ? contacts.length : contactsPerStep))
  const found = await Promise.all(next.map((contact) => runWaterfall(providers, contact, ask, outside)))
  return {
    records: found.flatMap((result, at) => {
      const enrichment = enrichments[job.done + at]
      return enrichment ? [toContactRecord(operation(job.operation), result, enrichment)] : []
    }),
    used: found.map(({ used }) => used),
    place: null,
    ended: job.done + next.length >= contacts.length,
  }
}

const companiesPerStep = 500

async function listStep({ source, store }: WorkerPorts, job: AsyncJob): Promise<JobStep> {
  const listed = await store.read((tx) => listCompanies(tx, job.id, job.done, companiesPerStep))
  const accounts = await Promise.all(listed.map(({ company }) => source.company(company)))
  const ended = listed.length < companiesPerStep
  return {
    records: [],
    done: job.done + listed.length,
    place: null,
    ended,
    also: async (tx, now) => {
      for (const [at, { ordinal }] of listed.entries())
        await setMatchedAccount(tx, job.id, ordinal, accounts[at]?.id ?? null)
      if (ended) await updateList(tx, job.id, { status: 'completed', updated_at: now })
    },
  }
}
