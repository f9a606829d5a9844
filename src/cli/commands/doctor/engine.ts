import { isListedPlan } from '../../../api/operations/plans.js'
import { resultOr } from '../../../api/values/objects.js'
import { parseUrl } from '../../../api/values/url.js'
import { engineTime } from '../../../engine/clock.js'
import { verifyLedger } from '../../../engine/credits/ledger.js'
import type { AsyncJob, Delivery, Reads, Store, Workspace } from '../../../engine/ports/ports.js'
import { hashKey } from '../../../engine/request/keys.js'
import { localOrigin } from '../../context/credentials.js'
import { UsageError } from '../../context/errors.js'
import { isoTime } from '../../options/values.js'
import type { DoctorContext } from './context.js'
import { counted, type Findings, ok, orElse, problem, type Verdict, warning } from './verdict.js'

/** The engine's state, read only. */
interface EngineState {
  readonly store: Pick<Store, 'read'>
  /** The workspace in use. */
  readonly workspace: Workspace
  /** Engine time. */
  readonly now: number
}

/** Returns the engine's state; `undefined` when its database is missing or has another schema. */
async function engineState(context: DoctorContext): Promise<EngineState | undefined> {
  const driver = await context.databases.current('engine')
  if (!driver) return undefined
  const { storeOver } = await import('../../../engine/tables/store.js')
  const store = storeOver(driver)
  return await store.read(async (reads) => {
    const workspace = await reads.workspace()
    if (!workspace) return undefined
    return { store, workspace, now: engineTime(await reads.clock(), context.clock.now()) }
  })
}

/** Runs reads on the engine; returns an empty list when its database cannot be used. */
async function askEngine<T>(
  context: DoctorContext,
  work: (reads: Reads, state: EngineState) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const state = await engineState(context)
  return state ? await state.store.read((reads) => work(reads, state)) : []
}

/** Returns the key stored for an origin, whatever the mode of the file. Throws UsageError when the file is damaged. */
function readStoredKey({ home, files }: DoctorContext, origin: string): string | undefined {
  if (files.entry(home.credentials)?.kind !== 'file') return undefined
  try {
    const { keys } = JSON.parse(files.text(home.credentials)) as { keys: Record<string, { key: string }> }
    return Object.hasOwn(keys, origin) ? keys[origin]?.key : undefined
  } catch {
    // The parser's message could quote a key.
    throw new UsageError(`${home.credentials} is damaged.`, 'Delete it and store the keys again.')
  }
}

/** Checks that there is a workspace with a listed plan. */
export async function workspace(context: DoctorContext): Promise<Findings> {
  const isThere = (await context.databases.find('engine')).is !== 'missing'
  if (isThere && !(await context.databases.current('engine'))) return []
  const state = await engineState(context)
  if (!state) return ok('There is no workspace yet; the first local command creates one.')
  const { name, plan } = state.workspace
  const sentence = `The workspace ${name} has the plan ${plan}`
  if (isListedPlan(plan)) return ok(`${sentence}.`)
  return warning(
    `${sentence}, which is not a listed plan: the limits of Free apply.`,
    'prospect engine plan set NAME',
  )
}

/** Checks that the engine accepts the key of local commands, and reports its scopes. */
export async function localKey(context: DoctorContext): Promise<Findings> {
  const state = await engineState(context)
  if (!state) return []
  const given = isForEngine(context) ? await context.givenKey() : undefined
  const stored = readStoredKey(context, localOrigin(state.workspace.id))
  const key = given ?? stored
  if (key === undefined) return ok('No key is stored for the workspace; the next local command creates one.')
  return await checkKey(context, state, key, given !== undefined)
}

/** Whether requests go to the engine. Another check reports an invalid target. */
const isForEngine = (context: DoctorContext): boolean =>
  context.settings() !== undefined && resultOr(undefined, () => context.target())?.kind === 'local'

async function checkKey(
  context: DoctorContext,
  state: EngineState,
  key: string,
  isGiven: boolean,
): Promise<Verdict> {
  const which = isGiven ? 'The key given with the command or the environment' : 'The stored key'
  const hint = isGiven
    ? 'Unset PROSPECT_API_KEY to use the stored key, or create one: prospect engine keys create --member EMAIL'
    : `Take "${localOrigin(state.workspace.id)}" out of ${context.home.credentials}: the next command creates a new key.`
  const principal = await state.store.read((reads) => reads.principal(hashKey(key)))
  if (!principal) return problem(`${which} is not known to the engine.`, hint)
  const { revokedAt, expiresAt, scopes } = principal.key
  if (revokedAt !== null) return problem(`${which} was revoked at ${isoTime(revokedAt)}.`, hint)
  if (expiresAt !== null && expiresAt <= state.now)
    return problem(`${which} expired at ${isoTime(expiresAt)} (engine time).`, hint)
  const until = expiresAt === null ? '' : `, until ${isoTime(expiresAt)}`
  const sentence = `${which} is accepted, as ${principal.member.email}${until}`
  if (scopes === null) return ok(`${sentence}.`)
  return warning(`${sentence}, for ${scopes.join(', ')} only.`, 'Other areas answer 403 (exit 3).')
}

/** Checks the sessions that live calls need. */
export const sessions = (context: DoctorContext): Promise<readonly Verdict[]> =>
  askEngine(context, async (_, { workspace: { networkSession, premiumSession } }) =>
    sessionVerdicts(networkSession, premiumSession, 'prospect engine session set'),
  )

/** Returns the consequences of sessions that are not valid. */
export function sessionVerdicts(network: boolean, premium: boolean, repairs: string): readonly Verdict[] {
  if (network && premium) return [ok('The sessions on the network and on its premium tool are valid.')]
  const hint = (name: string) =>
    repairs.startsWith('prospect ') ? `${repairs} --${name} true, or add --no-live` : repairs
  return [
    ...(network
      ? []
      : [warning('The network session is not valid: live calls are refused.', hint('network'))]),
    ...(premium
      ? []
      : [warning('The premium session is not valid: its searches are refused.', hint('premium'))]),
  ]
}

/** Maximum difference of two clocks; deliveries are accepted within it, too. */
export const toleratedMs = 300_000

/** Checks that engine time equals real time and that no clock went back. */
export async function clocks(context: DoctorContext): Promise<readonly Verdict[]> {
  const now = context.clock.now()
  const troubles = [...(await engineClock(context, now)), ...(await machineClock(context, now))]
  return orElse(troubles, 'The engine clock matches real time.')
}

async function engineClock(context: DoctorContext, now: number): Promise<readonly Verdict[]> {
  const state = await engineState(context)
  if (!state) return []
  const { offsetMs, frozenAt } = await state.store.read((reads) => reads.clock())
  const hint = 'Set it to real time: prospect engine clock reset'
  if (frozenAt !== null) return [warning(`The engine clock is frozen at ${isoTime(frozenAt)}.`, hint)]
  if (offsetMs !== 0) return [warning(`The engine clock was changed: it shows ${isoTime(state.now)}.`, hint)]
  const { seq } = await state.store.read((reads) => reads.position(state.workspace.id))
  const [newest] = await state.store.read((reads) => reads.movements(state.workspace.id, seq - 1, 1))
  if (!newest || newest.createdAt <= now + toleratedMs) return []
  return [
    warning(
      `The newest ledger entry is dated ${isoTime(newest.createdAt)}, which is in the future: a clock was set back.`,
      'Check the time of this machine. Until it is right, rate limits and quotas do not reset.',
    ),
  ]
}

/** The state of this machine has real timestamps, whatever the engine's clock. */
async function machineClock(context: DoctorContext, now: number): Promise<readonly Verdict[]> {
  const driver = await context.databases.current('state')
  if (!driver) return []
  const { eventsOver } = await import('../../../storage/state/webhook-inbox.js')
  const { runsOver } = await import('../../../storage/state/runs/runs.js')
  const [event] = await eventsOver(driver).list({}, 'newest', 1)
  const [run] = await runsOver(driver).list()
  const newest = Math.max(event?.receivedAt ?? 0, run?.startedAt ?? 0)
  if (newest <= now + toleratedMs) return []
  const text = `A record of this machine is dated ${isoTime(newest)}, which is in the future: its clock was set back.`
  return [
    warning(
      text,
      'Set the time of this machine; signatures are refused where it is more than 5 minutes off.',
    ),
  ]
}

/** Number of movements to check; `engine ledger verify` checks all. */
const recent = 10_000

/** Checks the sums of the newest ledger movements. */
export async function ledger(context: DoctorContext): Promise<Findings> {
  const state = await engineState(context)
  if (!state) return []
  const { store, workspace } = state
  const { id } = workspace
  const from = await store.read(async (reads) => {
    const last = await reads.position(id)
    const [movement] = last.seq <= recent ? [] : await reads.movements(id, last.seq - recent - 1, 1)
    return movement
  })
  const { movements, problems } = await verifyLedger(store, id, from)
  const [first, ...more] = problems
  if (first === undefined)
    return ok(`The ledger adds up: ${counted(movements, 'movement')}${from ? ', the newest' : ''}.`)
  const others = more.length === 0 ? '' : `, and ${more.length} more`
  return problem(
    `The ledger does not add up: ${first}${others}.`,
    'prospect engine ledger verify lists all problems.',
  )
}

/** Maximum number of jobs and of deliveries to read, by state. */
const most = 1_000
/** A worker takes due work within seconds, so none ran for this long. */
const unattendedMs = 600_000
/** Attempts that make a job suspicious; after 10 it fails. */
const manyAttempts = 3

/** Checks that accepted jobs make progress. */
export const jobs = (context: DoctorContext): Promise<readonly Verdict[]> =>
  askEngine(context, async (reads, state) => {
    const running = await reads.jobs(state.workspace.id, { state: 'running' }, { skip: 0, limit: most })
    const queued = await reads.jobs(state.workspace.id, { state: 'queued' }, { skip: 0, limit: most })
    const alone = running.filter(({ leaseUntil }) => leaseUntil <= context.clock.now())
    const waiting = queued.filter(({ createdAt }) => createdAt <= state.now - unattendedMs)
    const failing = [...running, ...queued].filter(({ attempts }) => attempts >= manyAttempts)
    const { queued: waitingCount, running: runningCount } = await reads.countUnfinished(state.workspace.id)
    const open = waitingCount + runningCount
    const run = 'Run them: prospect engine jobs run'
    const troubles = [
      ...countTroubles(alone, 'running without a worker', run),
      ...countTroubles(waiting, 'waiting for longer than 10 minutes', run),
      ...countTroubles(
        failing,
        `at attempt ${manyAttempts} or later, without progress`,
        'prospect engine jobs show ID shows details.',
      ),
    ]
    return orElse(troubles, open === 0 ? 'No jobs are open.' : `${counted(open, 'job')} open, none stuck.`)
  })

/** Checks that results are delivered. */
export const deliveries = (context: DoctorContext): Promise<readonly Verdict[]> =>
  askEngine(context, async (reads, { workspace: { id }, now }) => {
    const counts = await reads.countDeliveries(id)
    const pending = await reads.deliveries(id, { state: 'pending' }, most)
    const failed = counts.failed === 0 ? [] : await reads.deliveries(id, { state: 'failed' }, 1)
    const overdue = pending.filter(({ dueAt }) => dueAt !== null && dueAt <= now - unattendedMs)
    const troubles = [
      ...countTroubles(
        overdue,
        'due for longer than 10 minutes',
        'Send what is due with prospect engine jobs run, or continuously with prospect worker.',
      ),
      ...failed.map((newest) => failedDelivery(newest, counts.failed)),
    ]
    const open = `${counted(counts.pending, 'delivery', 'deliveries')} open, none overdue.`
    return orElse(troubles, counts.pending === 0 ? 'No delivery is open or failed.' : open)
  })

function failedDelivery({ url, error, status }: Delivery, count: number): Verdict {
  const reason = error ?? (status === null ? 'no answer' : `answer ${status}`)
  // The rest of the URL may be a secret of its receiver.
  const host = parseUrl(url)?.host ?? 'its receiver'
  return warning(
    `${counted(count, 'delivery', 'deliveries')} failed for good; the newest, to ${host}: ${reason.replace(/\.$/, '')}.`,
    'prospect engine deliveries list --state failed, then prospect engine deliveries retry ID',
  )
}

function countTroubles(
  found: readonly (AsyncJob | Delivery)[],
  what: string,
  hint: string,
): readonly Verdict[] {
  const [first] = found
  if (!first) return []
  const count =
    'url' in first ? counted(found.length, 'delivery', 'deliveries') : counted(found.length, 'job')
  const which = found.length === 1 ? `(${first.id}) is` : `(${first.id}, …) are`
  return [warning(`${count} ${which} ${what}.`, hint)]
}

const yearMs = 365 * 86_400_000
/** How long the old secret still signs after a rotation. */
const overlapMs = 86_400_000

/** Checks the age of the secret that signs deliveries. */
export const signingSecret = (context: DoctorContext): Promise<readonly Verdict[]> =>
  askEngine(context, async (reads, state) => {
    const since = await signingSince(reads, state)
    if (since === undefined) return [ok('There is no signing secret yet; the first delivery creates one.')]
    const text = `The signing secret has not been changed since ${isoTime(since)}`
    if (state.now - since <= yearMs) return [ok(`${text}.`)]
    return [warning(`${text}, for more than a year.`, 'prospect engine webhooks secret --rotate')]
  })

/**
 * Returns the earliest time at which the current secret can have been created. Only the end of the one before is
 * stored.
 */
async function signingSince(reads: Reads, { workspace }: EngineState): Promise<number | undefined> {
  const secrets = await reads.signingSecrets(workspace.id)
  if (secrets.length === 0) return undefined
  const ended = secrets.flatMap(({ until }) => until ?? [])
  return ended.length === 0 ? workspace.createdAt : Math.max(...ended) - overlapMs
}
