import { dirname, join } from 'node:path'
import { ApiError } from '../../../api/calls/errors.js'
import { isListedPlan } from '../../../api/operations/plans.js'
import { resultOr } from '../../../api/values/objects.js'
import { engineTime } from '../../../engine/clock.js'
import { listMovements, readBalances } from '../../../engine/credits/ledger.js'
import { hashKey } from '../../../engine/request/access.js'
import { describeFaults, listFaults } from '../../../engine/tables/faults.js'
import { findPrincipal, findWorkspace, readClock, type Workspace } from '../../../engine/tables/members.js'
import type { Run } from '../../../runs/journal/runs.js'
import { elsewhere } from '../../../runs/records.js'
import {
  readStoredNumber,
  type SchemaState,
  toSchemaState,
  unfinishedReason,
} from '../../../storage/database/migrate.js'
import { findSharedCatalogue, isShared } from '../../../storage/database/open.js'
import type { Connection, Driver } from '../../../storage/driver/connection.js'
import { localOrigin } from '../../context/credentials.js'
import { UsageError } from '../../context/errors.js'
import { foldersOf, quoteForShell } from '../../context/home.js'
import { isoTime } from '../../options/values.js'
import { countOf, formatNumber } from '../../output/text.js'
import { describeSource } from '../../target/local-target.js'
import {
  type DoctorContext,
  type Findings,
  formatSize,
  type Name,
  ok,
  orElse,
  problem,
  type Readable,
  reasonOf,
  type Served,
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

/** Checks that a database can be read, has the schema of this program and is not corrupt. */
export async function database(context: DoctorContext, name: Name): Promise<Findings> {
  const path = context.home[name]
  const found = await context.databases.find(name)
  switch (found.is) {
    case 'missing':
      return ok(`${path} does not exist yet; the first command that needs it creates it.`)
    case 'elsewhere':
      return warning(`The database of the ${name} is not a file of this machine, so it is not checked.`)
    case 'unreachable':
      return problem(`${found.reason}.`, 'Check that it runs, and its address in PROSPECT_DATABASE_URL.')
    case 'served':
      return await serverTroubles(found)
    case 'unreadable':
      return problem(`${path} cannot be read: ${found.reason}.`, repairs[name])
    default:
      return [...schemaTroubles(path, found.schema), ...soundness(context, name, found)]
  }
}

async function serverTroubles({ driver, schema }: Extract<Served, { is: 'served' }>): Promise<Findings> {
  const about = "The engine's database is on a server, and"
  const troubles = [...(await findReadOnly(driver)), ...schemaTroubles(about, schema)]
  return orElse(troubles, `${about} has schema version ${schema.version}.`)
}

/** Says that a server permits no writes, as a standby does. */
async function findReadOnly(driver: Pick<Driver, 'requireWritable'>): Promise<readonly Verdict[]> {
  try {
    await driver.requireWritable?.()
    return []
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'database_read_only') throw error
    const then =
      'Give the address of the primary server in PROSPECT_DATABASE_URL, or wait until this one can be written.'
    return [problem(`${error.message}.`, then)]
  }
}

/** What a schema says about a database beyond that it is current; `about` begins the sentence. */
function schemaTroubles(about: string, { is, version, newest }: SchemaState): readonly Verdict[] {
  const has = `${about} has schema version ${version}`
  const older = warning(`${has}; its next use upgrades that to ${newest}.`, keepCopy)
  const upgrade = 'Upgrade prospect; this version leaves the database as it is.'
  const troubles: Readonly<Record<SchemaState['is'], readonly Verdict[]>> = {
    current: [],
    empty: [warning(`${about} has no tables yet; its next use creates them.`)],
    older: [older],
    unreleased: version < newest ? [older] : [warning(`${has}; its next use marks it with that.`, keepCopy)],
    newer: [problem(`${has}, newer than this program's ${newest}.`, upgrade)],
    unfinished: [problem(`${about} cannot be used: ${unfinishedReason}.`)],
  }
  return troubles[is]
}

const keepCopy =
  'Nothing to do. An older program refuses it from then on: keep a copy if you may want to go back.'

function soundness(context: DoctorContext, name: Name, { look, size, schema }: Readable): readonly Verdict[] {
  const path = context.home[name]
  const about = `${path}: ${formatSize(size)}, schema version ${schema.version}`
  if (size > large && !context.thorough)
    return [ok(`${about}; not checked in full.`, 'To check it: prospect doctor --thorough')]
  try {
    const [first, ...more] = look.faults()
    if (first === undefined) return schema.is === 'current' ? [ok(`${about}, sound.`)] : []
    const others = more.length === 0 ? '' : `, and ${more.length} more`
    return [problem(`${path} is damaged: ${first.replace(/\s+/g, ' ')}${others}.`, repairs[name])]
  } catch (error) {
    return [problem(`${path} cannot be read to the end: ${reasonOf(error)}.`, repairs[name])]
  }
}

const about = "The catalogue in the engine's database"
const look = 'See what it contains: prospect data stats'
const filling =
  'Load practice data with prospect data sample, or yours with prospect data import companies FILE.'

export async function localData(context: DoctorContext): Promise<Findings> {
  if (isShared(context.home)) return await checkSharedData(context)
  const { is } = await context.databases.find('catalogue')
  if (is === 'missing') return ok('There is no local data yet: local lookups find nothing.', filling)
  const driver = await context.databases.current('catalogue')
  if (!driver) return []
  const { readCatalogueState } = await import('../../../catalogue/lookup/lookups.js')
  const { isEmpty, isUnbuilt } = await driver.read(readCatalogueState)
  const unbuilt = warning(
    'The first import of a kind is under way, or was killed: searches wait for its indexes.',
    'Where none is under way, prospect data stats builds them; then run the same import again.',
  )
  const empty = warning('The catalogue is empty: local lookups find nothing.', filling)
  const held = `The catalogue contains data: ${await describeHeld(driver, context)}.`
  return orElse([...(isEmpty ? [empty] : []), ...(isUnbuilt ? [unbuilt] : [])], held)
}

async function describeHeld(driver: Pick<Driver, 'read'>, { home, clock }: DoctorContext): Promise<string> {
  const { readOrigins } = await import('../../../catalogue/records/origins.js')
  return describeSource({ home, origins: await driver.read(readOrigins), now: clock.now() }).text
}

async function checkSharedData(context: DoctorContext): Promise<Findings> {
  // The check of the engine's database reports that already.
  if ((await context.databases.find('engine')).is === 'unreachable') return []
  try {
    const driver = await findSharedCatalogue(context.home.engine)
    if (!driver) return await reportEmptyShared(context)
    return await driver.read((connection) => checkShared(connection, context)).finally(() => driver.close())
  } catch (error) {
    return problem(`${about} cannot be read: ${reasonOf(error)}.`)
  }
}

async function checkShared(connection: Connection, context: DoctorContext): Promise<Verdict> {
  const { readCatalogueState } = await import('../../../catalogue/lookup/lookups.js')
  const { catalogueSchema } = await import('../../../catalogue/schema/schema.js')
  const schema = toSchemaState(await readStoredNumber(connection), catalogueSchema)
  const [trouble] = schema.is === 'empty' ? [] : schemaTroubles(about, schema)
  if (trouble) return trouble
  if (schema.is === 'empty' || (await readCatalogueState(connection)).isEmpty)
    return await reportEmptyShared(context)
  const held = await describeHeld({ read: async (work) => work(connection) }, context)
  return ok(`${about} contains data: ${held}.`, look)
}

/** The catalogue does not move to a server with the engine. */
async function reportEmptyShared({ databases, home }: DoctorContext): Promise<Verdict> {
  const here = await databases.find('catalogue')
  const driver = await databases.current('catalogue')
  const { readCatalogueState } = await import('../../../catalogue/lookup/lookups.js')
  const holds = driver ? !(await driver.read(readCatalogueState)).isEmpty : 'look' in here
  const text = `${about} is empty: lookups find nothing.`
  return holds
    ? warning(
        `${text} This machine has one in ${home.catalogue}.`,
        'Copy it there: prospect data copy server',
      )
    : warning(text, filling)
}

/** Files that were not written to for this long are left over. */
const leftMs = 86_400_000
const mostNamed = 3

/** Finds what killed commands left behind: stopped runs, folders and incomplete files. */
export async function leftovers(context: DoctorContext): Promise<readonly Verdict[]> {
  const runs = await readRuns(context)
  const troubles = [
    ...(runs ? [...(await partialOutputs(context, runs)), ...unknownFolders(context, runs)] : []),
    ...partialFiles(context),
  ]
  return orElse(troubles, 'Nothing is left over from commands that were stopped.')
}

async function readRuns(context: DoctorContext): Promise<readonly Run[] | undefined> {
  const driver = await context.databases.current('state')
  if (!driver) return undefined
  const { runsOver } = await import('../../../runs/journal/runs.js')
  return await runsOver(driver).list()
}

async function partialOutputs(context: DoctorContext, runs: readonly Run[]): Promise<readonly Verdict[]> {
  const stopped: Run[] = []
  for (const run of runs) {
    const isOpen = run.status !== 'finished' && run.output !== null
    if (isOpen && context.files.entry(`${run.output}.partial`) && !(await context.isRunning(run)))
      stopped.push(run)
  }
  const named = stopped.slice(0, mostNamed).map((run) => {
    const rows = `${formatNumber(run.done)} of ${formatNumber(run.total)} rows`
    return warning(
      `The run ${run.id} was stopped after ${rows}; they are in ${run.output}.partial.`,
      `prospect runs resume ${run.id}`,
    )
  })
  const more = stopped.length - named.length
  return more > 0
    ? [...named, warning(`${formatNumber(more)} more runs were stopped.`, 'prospect runs list')]
    : named
}

function unknownFolders(context: DoctorContext, runs: readonly Run[]): readonly Verdict[] {
  const folder = join(dirname(context.home.state), 'runs')
  const known = new Set(runs.map(({ id }) => id))
  const left = context.files
    .names(folder)
    .filter((name) => !known.has(name) && isOld(context, join(folder, name)))
    .filter((name) => !context.files.names(join(folder, name)).includes(elsewhere))
  if (left.length === 0) return []
  return [
    warning(
      `${countOf(left.length, 'folder')} of no run in ${folder}.`,
      'Nothing to do: the next batch removes them.',
    ),
  ]
}

/** Finds temporary files whose command was killed before it renamed them. */
function partialFiles(context: DoctorContext): readonly Verdict[] {
  const { home, files } = context
  const left = foldersOf(home).flatMap((folder) =>
    files
      .names(folder)
      .filter((name) => name.endsWith('.partial'))
      .map((name) => join(folder, name))
      .filter((path) => isOld(context, path)),
  )
  return left.map((path) => warning(`${path} was never completed.`, `rm ${quoteForShell(path)}`))
}

/** Whether neither the path nor anything directly in it was written to recently. */
function isOld(context: DoctorContext, path: string): boolean {
  const inside = context.files.names(path).map((name) => join(path, name))
  const times = [path, ...inside].map((each) => context.files.entry(each)?.writtenAt ?? 0)
  return context.clock.now() - Math.max(...times) > leftMs
}

/** The engine's state, read only. */
export interface EngineState {
  readonly store: Pick<Driver, 'read' | 'get'>
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

export async function workspace(context: DoctorContext): Promise<Findings> {
  const isThere = (await context.databases.find('engine')).is !== 'missing'
  if (isThere && !(await context.databases.current('engine'))) return []
  const state = await engineState(context)
  if (!state) return ok('There is no workspace yet; the first local command creates one.')
  const { name, plan } = state.workspace
  const sentence = `The workspace ${name} has the plan ${plan}`
  const faults = await state.store.read((tx) => listFaults(tx, state.workspace.id))
  return [
    isListedPlan(plan)
      ? ok(`${sentence}.`)
      : warning(
          `${sentence}, which is not a listed plan: the limits of Free apply.`,
          'prospect engine plan set NAME',
        ),
    ...(faults.length === 0
      ? []
      : [warning(describeFaults(faults), 'To remove them: prospect engine faults clear')]),
  ]
}

export async function localKey(context: DoctorContext): Promise<Findings> {
  const state = await engineState(context)
  if (!state) return []
  const given = isForEngine(context) ? await context.givenKey() : undefined
  const stored = readStoredKey(context, localOrigin(state.workspace.id))
  const key = given ?? stored
  if (key === undefined) return ok('No key is stored for the workspace; the next local command creates one.')
  return await checkKey(context, state, key, given !== undefined)
}

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
  const principal = await findPrincipal(state.store, hashKey(key))
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
