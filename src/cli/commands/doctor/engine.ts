import { isListedPlan } from '../../../api/operations/plans.js'
import { resultOr } from '../../../api/values/objects.js'
import { engineTime } from '../../../engine/clock.js'
import { listMovements, readBalances } from '../../../engine/credits/ledger.js'
import { hashKey } from '../../../engine/request/access.js'
import { findPrincipal, findWorkspace, readClock, type Workspace } from '../../../engine/tables/members.js'
import type { Connection, Driver } from '../../../storage/driver/connection.js'
import { localOrigin } from '../../context/credentials.js'
import { UsageError } from '../../context/errors.js'
import { isoTime } from '../../options/values.js'
import type { DoctorContext } from './context.js'
import { type Findings, ok, orElse, problem, type Verdict, warning } from './verdict.js'

/** The engine's state, read only. */
export interface EngineState {
  readonly store: Pick<Driver, 'read'>
  /** The workspace in use. */
  readonly workspace: Workspace
  /** Engine time. */
  readonly now: number
}

/** Returns the engine's state; `undefined` when its database is missing or has another schema. */
export async function engineState(context: DoctorContext): Promise<EngineState | undefined> {
  const store = await context.databases.current('engine')
  if (!store) return undefined
  return await store.read(async (tx) => {
    const workspace = await findWorkspace(tx)
    if (!workspace) return undefined
    return { store, workspace, now: engineTime(await readClock(tx), context.clock.now()) }
  })
}

/** Runs reads on the engine; returns an empty list when its database cannot be used. */
export async function askEngine<T>(
  context: DoctorContext,
  work: (tx: Connection, state: EngineState) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const state = await engineState(context)
  return state ? await state.store.read((tx) => work(tx, state)) : []
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
  const principal = await state.store.read((tx) => findPrincipal(tx, hashKey(key)))
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
  const { offsetMs, frozenAt } = await state.store.read((tx) => readClock(tx))
  const hint = 'Set it to real time: prospect engine clock reset'
  if (frozenAt !== null) return [warning(`The engine clock is frozen at ${isoTime(frozenAt)}.`, hint)]
  if (offsetMs !== 0) return [warning(`The engine clock was changed: it shows ${isoTime(state.now)}.`, hint)]
  const { seq } = await state.store.read((tx) => readBalances(tx, state.workspace.id))
  const [newest] = await state.store.read((tx) => listMovements(tx, state.workspace.id, seq - 1, 1))
  if (!newest || newest.created_at <= now + toleratedMs) return []
  return [
    warning(
      `The newest ledger entry is dated ${isoTime(newest.created_at)}, which is in the future: a clock was set back.`,
      'Check the time of this machine. Until it is right, rate limits and quotas do not reset.',
    ),
  ]
}

/** The state of this machine has real timestamps, whatever the engine's clock. */
async function machineClock(context: DoctorContext, now: number): Promise<readonly Verdict[]> {
  const driver = await context.databases.current('state')
  if (!driver) return []
  const { eventsOver } = await import('../../../storage/state/webhook-inbox.js')
  const { runsOver } = await import('../../../runs/journal/runs.js')
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
