import { Refusal } from '../../../api/calls/errors.js'
import { isListedPlan } from '../../../api/operations/plans.js'
import { localOrigin } from '../../../api/values/key-names.js'
import { readEngineTime } from '../../../engine/clock.js'
import { listMovements, readBalances } from '../../../engine/credits/ledger.js'
import { hashKey } from '../../../engine/request/access.js'
import { countDeliveries } from '../../../engine/tables/deliveries.js'
import { describeFaults, listFaults } from '../../../engine/tables/faults.js'
import { countUnfinishedJobs } from '../../../engine/tables/jobs.js'
import { findPrincipal, findWorkspace, readClock } from '../../../engine/tables/members.js'
import { findCatalogueDatabase, isShared } from '../../../storage/database/open.js'
import { type Connection, isPostgres } from '../../../storage/driver/connection.js'
import type { Context } from '../../context/context.js'
import { givenKey, storedKey } from '../../context/credentials.js'
import { formatSize } from '../../messages.js'
import { isoTime } from '../../options/values.js'
import { countOf } from '../../output/text.js'
import { describeCatalogue } from '../../target/local-target.js'
import {
  type CheckedSchema,
  checkSchema,
  chosenTarget,
  type Doctor,
  type Findings,
  type Found,
  type Name,
  ok,
  orElse,
  problem,
  problemOf,
  reasonOf,
  type Usable,
  type Verdict,
  warning,
} from './context.js'

/** Size in bytes from which a database is read through only with --thorough. */
const large = 1_073_741_824

const repairs: Readonly<Record<Name, string>> = {
  engine: 'Put a backup in its place: prospect engine restore FILE',
  catalogue: 'Move it away and import your data again: prospect data import companies FILE',
  state: 'Move it away: runs and received events of this machine are lost with it.',
}

/** Reports a database that cannot be read. One whose file is intact must stay in its place. */
function unreadable(name: Name, what: string, error: unknown): Verdict {
  const isIntact = error instanceof Refusal && error.details.isIntact === true
  const repair = isIntact ? 'Check free space and permissions.' : repairs[name]
  return problem(`${what}: ${reasonOf(error)}.`, repair)
}

/** How to get a workspace, where lookups go to this machine. */
const toSetUp = (context: Context): string | undefined =>
  chosenTarget(context)?.kind === 'remote' ? undefined : 'To set up this machine: prospect init'

/** Checks that a database can be read, has the schema of this program and is not corrupt. */
export async function database(context: Context, doctor: Doctor, name: Name): Promise<Findings> {
  const { home, streams } = context
  const path = home[name]
  const found = await doctor.find(name)
  if (found.is === 'missing' && name === 'catalogue' && isShared(home)) return undefined
  if (found.is === 'missing')
    return name === 'engine'
      ? ok(`${path} does not exist yet.`, toSetUp(context))
      : ok(`${path} does not exist yet; the first command that needs it creates it.`)
  if (found.is === 'unusable') {
    if (isPostgres(path)) return [problemOf(found.error), ...(name === 'engine' ? await hostsOf(path) : [])]
    return unreadable(name, `${path} cannot be read`, found.error)
  }
  const { driver, schema } = found
  if (!isPostgres(path)) return [schemaTrouble(path, schema), await soundness(path, doctor, name, found)]
  const about = "The engine's database is on a server, and"
  // A standby permits no writes.
  const readOnly = await driver.requireWritable?.().then(() => undefined, problemOf)
  const troubles = [readOnly, schemaTrouble(about, schema)]
  const fine = `${about} has schema version ${schema.version}.`
  if (name !== 'engine') return orElse(troubles, fine)
  const { PROSPECT_DATABASE_DIRECT_URL: direct } = streams.env
  const listening = direct ? await unheardHosts(direct) : []
  return [...orElse(troubles, fine), ...(await hostsOf(path)), ...listening, await protection(driver)]
}

/** Warns of hosts at which notifications cannot be listened for. */
async function unheardHosts(url: string): Promise<readonly Found[]> {
  const { listHosts } = await import('../../../storage/driver/postgres/hosts.js')
  const hint = 'If none answers there, accepted work begins up to a second later.'
  return (await listHosts(url)).map(
    ({ name, found }) =>
      found instanceof Error && warning(`PROSPECT_DATABASE_DIRECT_URL: ${name}: ${reasonOf(found)}.`, hint),
  )
}

/** What each server of an address with several is now. */
async function hostsOf(url: string): Promise<readonly Found[]> {
  const { listHosts } = await import('../../../storage/driver/postgres/hosts.js')
  const hosts = await listHosts(url)
  if (hosts.length < 2) return []
  return hosts.map(({ name, found }) => {
    if (found instanceof Error)
      return warning(`${name}: ${reasonOf(found)}.`, 'The others are used meanwhile.')
    return ok(`${name} is ${found.standby ? 'a standby' : 'the primary'}.`)
  })
}

/** Warns where the only standbys are ones that may not have what was confirmed last. */
async function protection(driver: Usable['driver']): Promise<Found> {
  const { countLateStandbys } = await import('../../../storage/driver/postgres/driver.js')
  const standbys = await countLateStandbys(driver)
  if (standbys === 0) return undefined
  return warning(
    `The engine's database has ${countOf(standbys, 'standby')}, but confirms what none of them has yet: a failover can lose the last payments.`,
    'Set synchronous_standby_names on the server, or synchronous_mode: true in Patroni.',
  )
}

/** What a schema says about a database beyond that it is current; `about` begins the sentence. */
function schemaTrouble(about: string, { is, refused }: CheckedSchema): Found {
  if (is === 'empty') return warning(`${about} has no tables yet; its next use creates them.`)
  return refused !== undefined && problem(`${about} cannot be used: ${reasonOf(refused)}.`)
}

async function soundness(path: string, { thorough }: Doctor, name: Name, { driver, size, schema }: Usable) {
  const about = `${path}: ${formatSize(size)}, schema version ${schema.version}`
  if (size > large && !thorough)
    return ok(`${about}; not checked in full.`, 'To check it: prospect doctor --thorough')
  try {
    const { findFaults } = await import('../../../storage/database/database-file.js')
    const [first, ...more] = await findFaults(driver)
    if (first === undefined) return schema.is === 'current' && ok(`${about}, sound.`)
    const others = more.length === 0 ? '' : `, and ${more.length} more`
    return problem(`${path} is damaged: ${first.replace(/\s+/g, ' ')}${others}.`, repairs[name])
  } catch (error) {
    return unreadable(name, `${path} cannot be read to the end`, error)
  }
}

const filling =
  'Load practice data with prospect data sample, or yours with prospect data import companies FILE.'

export async function localData(context: Context, doctor: Doctor): Promise<Findings> {
  if (isShared(context.home))
    // The check of the engine's database reports that already.
    return (await doctor.find('engine')).is === 'unusable' ? undefined : sharedData(context)
  if ((await doctor.find('catalogue')).is === 'missing')
    return ok('There is no local data yet: local lookups find nothing.', filling)
  const driver = await doctor.current('catalogue')
  return driver?.read((reads) => dataIn(reads, 'The catalogue', context))
}

async function sharedData(context: Context): Promise<Findings> {
  const about = "The catalogue in the engine's database"
  const driver = await findCatalogueDatabase(context.home)
  const empty = warning(`${about} is empty: lookups find nothing.`, filling)
  const check = async (reads: Connection): Promise<Findings> => {
    const schema = await checkSchema(reads)
    if (schema.is === 'empty') return empty
    return schemaTrouble(about, schema) || dataIn(reads, about, context)
  }
  return driver ? driver.read(check).finally(() => driver.close()) : empty
}

async function dataIn(reads: Connection, what: string, { home, clock }: Context) {
  const { readCatalogueState } = await import('../../../catalogue/lookup/lookups.js')
  const { readOrigins } = await import('../../../catalogue/records/origins.js')
  const { isEmpty } = await readCatalogueState(reads)
  const { text } = describeCatalogue(home, await readOrigins(reads), clock.now())
  const troubles = [isEmpty && warning(`${what} is empty: lookups find nothing.`, filling)]
  return orElse(troubles, `${what} is filled: lookups are answered from ${text}.`)
}

/** `undefined` when the engine's database is missing or has another schema. */
async function engineState({ clock }: Context, doctor: Doctor) {
  const store = await doctor.current('engine')
  return store?.read(async (tx) => {
    const workspace = await findWorkspace(tx)
    return workspace && { store, workspace, now: await readEngineTime(tx, clock) }
  })
}

type EngineState = NonNullable<Awaited<ReturnType<typeof engineState>>>

/** A check of the engine, which does not apply where its database cannot be used. */
const ofEngine =
  (check: (tx: Connection, state: EngineState, context: Context) => Promise<Findings>) =>
  async (context: Context, doctor: Doctor): Promise<Findings> => {
    const state = await engineState(context, doctor)
    return state?.store.read((tx) => check(tx, state, context))
  }

export async function workspace(context: Context, doctor: Doctor): Promise<Findings> {
  const isThere = (await doctor.find('engine')).is !== 'missing'
  if (isThere && !(await doctor.current('engine'))) return undefined
  const state = await engineState(context, doctor)
  if (!state) return ok('There is no workspace on this machine yet.', toSetUp(context))
  const { name, plan, id } = state.workspace
  const sentence = `The workspace ${name} has the plan ${plan}`
  const unlisted = `${sentence}, which is not a listed plan: the limits of Free apply.`
  const faults = await state.store.read((tx) => listFaults(tx, id))
  return [
    isListedPlan(plan) ? ok(`${sentence}.`) : warning(unlisted, 'prospect engine plan set NAME'),
    faults.length > 0 && warning(describeFaults(faults), 'To remove them: prospect engine faults clear'),
  ]
}

export async function localKey(context: Context, doctor: Doctor): Promise<Findings> {
  const state = await engineState(context, doctor)
  if (!state) return undefined
  const { store, workspace, now } = state
  const given =
    chosenTarget(context)?.kind === 'local' ? await givenKey(context.streams, context.globals) : undefined
  const key = given ?? storedKey(context.home, localOrigin(workspace.id))
  if (key === undefined) return ok('No key is stored for the workspace; the next local command creates one.')
  context.conceal(key)
  const which = given ? 'The key given with the command or the environment' : 'The stored key'
  const hint = given
    ? 'Unset PROSPECT_API_KEY to use the stored key, or create one: prospect engine keys create --member EMAIL'
    : `Take "${localOrigin(workspace.id)}" out of ${context.home.credentials}: the next command creates a new key.`
  const principal = await findPrincipal(store, hashKey(key))
  if (!principal) return problem(`${which} is not known to the engine.`, hint)
  const { revokedAt, expiresAt, scopes } = principal.key
  if (revokedAt !== null) return problem(`${which} was revoked at ${isoTime(revokedAt)}.`, hint)
  if (expiresAt !== null && expiresAt <= now)
    return problem(`${which} expired at ${isoTime(expiresAt)} (engine time).`, hint)
  const until = expiresAt === null ? '' : `, until ${isoTime(expiresAt)}`
  const sentence = `${which} is accepted, as ${principal.member.email}${until}`
  if (scopes === null) return ok(`${sentence}.`)
  return warning(`${sentence}, for ${scopes.join(', ')} only.`, 'Other areas answer 403 (exit 3).')
}

export const sessions = ofEngine(async (_, { workspace: { networkSession, premiumSession } }) => {
  const hint = (name: string) => `prospect engine session set --${name} true, or add --no-live`
  const troubles = sessionTroubles(networkSession, premiumSession, hint)
  return orElse(troubles, 'The sessions on the network and on its premium tool are valid.')
})

export const sessionTroubles = (network: boolean, premium: boolean, hint: (name: string) => string) => [
  !network && warning('The network session is not valid: live calls are refused.', hint('network')),
  !premium && warning('The premium session is not valid: its searches are refused.', hint('premium')),
]

/** Maximum difference of two clocks; deliveries are accepted within it, too. */
export const toleratedMs = 300_000

/** Checks that engine time equals real time and that no clock went back. */
export const clock = ofEngine(async (tx, { workspace, now }, context) => {
  const { offsetMs, frozenAt } = await readClock(tx)
  const hint = 'Set it to real time: prospect engine clock reset'
  if (frozenAt !== null) return warning(`The engine clock is frozen at ${isoTime(frozenAt)}.`, hint)
  if (offsetMs !== 0) return warning(`The engine clock was changed: it shows ${isoTime(now)}.`, hint)
  const { seq } = await readBalances(tx, workspace.id)
  const [newest] = await listMovements(tx, workspace.id, seq - 1, 1)
  if (!newest || newest.created_at <= context.clock.now() + toleratedMs)
    return ok('The engine clock matches real time.')
  return warning(
    `The newest ledger entry is dated ${isoTime(newest.created_at)}, which is in the future: a clock was set back.`,
    'Check the time of this machine. Until it is right, rate limits and quotas do not reset.',
  )
})

/** Counts what a server or worker has still to do, and the deliveries that it has given up. */
export const openWork = ofEngine(async (tx, { workspace: { id } }) => {
  const { queued, running } = await countUnfinishedJobs(tx, id)
  const { pending, failed } = await countDeliveries(tx, id)
  const jobs = queued + running
  const deliveries = (count: number) => countOf(count, 'delivery', 'deliveries')
  const hint = 'prospect serve and prospect worker do them; prospect engine jobs run does, once.'
  const isOpen = jobs + pending > 0
  return [
    isOpen
      ? ok(`${countOf(jobs, 'job')} and ${deliveries(pending)} are open.`, hint)
      : ok('No job or delivery is open.'),
    failed > 0 &&
      warning(
        `${deliveries(failed)} failed for good.`,
        'prospect engine deliveries list --state failed, then prospect engine deliveries retry ID',
      ),
  ]
})
