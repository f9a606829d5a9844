import { existsSync } from 'node:fs'
import type { Caller } from '../../api/calls/caller.js'
import type { VendorKind } from '../../api/operations/facts.js'
import { operationOn } from '../../api/operations/plans.js'
import { type Operation, type OperationId, vendorKindsOf } from '../../api/operations/table.js'
import type { Search, Source, Targets } from '../../api/ports/ports.js'
import { parseJson } from '../../api/values/json.js'
import { localOrigin } from '../../api/values/key-names.js'
import { lazily, once, withoutUndefined } from '../../api/values/objects.js'
import type { Catalogue } from '../../catalogue/catalogue.js'
import type { Origins } from '../../catalogue/records/origins.js'
import type { Admin } from '../../engine/admin/admin.js'
import { countFaults } from '../../engine/tables/faults.js'
import { findWorkspace } from '../../engine/tables/members.js'
import type { Worker } from '../../engine/worker/worker.js'
import type { Run } from '../../runs/journal/runs.js'
import type { AnswerSource, OwnEngine, RunPorts } from '../../runs/ports.js'
import type { RecordedRequest } from '../../runs/request.js'
import { isPostgres } from '../../storage/driver/connection.js'
import type { Context, Home, Machine, TargetOptions, WorkspaceUse } from '../context/context.js'
import { findStoredKey, storedKey, storeKey } from '../context/credentials.js'
import {
  isThere,
  notSetUp,
  openEngineStore,
  openRegistry,
  openStateOf,
  type SuppressionOwner,
} from '../context/open-databases.js'
import { isoTime } from '../options/values.js'
import { countOf, formatNumber } from '../output/text.js'
import { lazySender, vendorPorts, vendorsOf } from './lazy-ports.js'
import { type RemoteTarget, targetIn, targetName, workspaceName } from './resolve-target.js'

/** How the engine serves and delivers, with the addresses that a workspace may deliver to. */
type LocalOptions = TargetOptions & { readonly targets: (members: number) => Targets }

/** Creates the local target: the engine over this machine's store and catalogue. Each is opened on first use. */
export function createLocal(machine: Machine, options: LocalOptions) {
  const { ids } = machine
  const { targets } = options
  const sender = lazySender(machine, options)
  const shared = once(() => openEngineStore(machine))
  const catalogue = once(async () => {
    // An engine that has moved does not use the catalogue any more that it left.
    if (isThere(machine.home.engine)) await shared()
    return openCatalogue(machine)
  })
  const admin = once(async () => {
    const { createAdmin } = await import('../../engine/admin/admin.js')
    return createAdmin({ ...(await shared()), ids })
  })
  const vendors = vendorsOf(machine, shared)
  let searched: { readonly search: Search; readonly now: number } | undefined
  const source = noteSearches(lazily<Source>(catalogue), (search, now) => {
    searched = { search, now }
  })
  const ports = { source, vendors, ids, sender, targets }
  let working: Worker | undefined
  const worker = once(async () => {
    const { createWorker } = await import('../../engine/worker/worker.js')
    const onTrouble = reportTrouble(machine)
    const made = createWorker({ ...(await shared()), ...ports, onTrouble })
    machine.onClose(() => made.stop())
    working = made
    return made
  })
  const engine = once(async () => {
    const { createEngine } = await import('../../engine/request/engine.js')
    // A worker in the background would find the work itself, but later.
    const accepted = () => working?.wake()
    return createEngine({ ...(await shared()), ...ports, accepted })
  })
  const caller = once(async () => {
    const made = await engine()
    const { store } = await shared()
    const workspace = await store.read(async (tx) => {
      const used = await findWorkspace(tx)
      return used && (await countFaults(tx, used.id)) > 0 ? used : undefined
    })
    return workspace ? keepKeys(machine, made, localOrigin(workspace.id)) : made
  })
  /** Returns the workspace in use. Creates no database. */
  const readWorkspace = async () =>
    isThere(machine.home.engine) ? (await shared()).store.read((tx) => findWorkspace(tx)) : undefined
  return {
    hasWorkspace: async () => (await readWorkspace()) !== undefined,
    hasVendors: async (kinds?: readonly VendorKind[]) => {
      if (kinds?.length === 0) return false
      const workspace = await readWorkspace()
      return workspace !== undefined && vendors.has(workspace.id, kinds)
    },
    vendorColumns: async (kinds: readonly VendorKind[]): Promise<readonly string[]> => {
      const workspace = kinds.length === 0 ? undefined : await readWorkspace()
      const isAny = workspace !== undefined && (await vendors.has(workspace.id))
      return isAny ? vendors.columns(workspace.id, kinds) : []
    },
    hasSearched: () => searched !== undefined,
    /** Returns how many of the matches of the last search are samples. */
    countSamples: async (): Promise<number> => {
      if (!searched) return 0
      const { kind, filters } = searched.search
      return (await catalogue()).count(
        { kind, filters: { ...filters, samples: true } } as Search,
        searched.now,
      )
    },
    catalogue,
    /** Returns whose entries say who is suppressed; `undefined` where there is no workspace. Creates no database. */
    owner: async (): Promise<SuppressionOwner | undefined> => {
      const workspace = await readWorkspace()
      return workspace && { driver: (await shared()).store, owner: workspace.id, name: workspace.name }
    },
    admin,
    worker,
    caller,
    /** Returns the key of this machine for the workspace in use. A lost one is replaced by a new one. */
    key: once(async (context: Machine): Promise<string> => {
      const workspace = await readWorkspace()
      if (!workspace) throw notSetUp(machine.home)
      return storedKey(machine.home, localOrigin(workspace.id)) ?? makeKey(context, await admin())
    }),
    /** Creates workspace, member and key where there is no workspace, and reports it. */
    create: async (context: Machine, use: WorkspaceUse): Promise<void> => {
      if (!(await readWorkspace())) await makeKey(context, await admin(), use)
    },
    priced: async (row: Operation): Promise<Operation> => {
      const workspace = await readWorkspace()
      return workspace ? operationOn(row, workspace.plan) : row
    },
  }
}

/** Returns a source that says what it searched for. The profiles of a company are counted as a search of its people. */
function noteSearches(source: Source, note: (search: Search, now: number) => void): Source {
  const noted: Partial<Source> = {
    count: (search, now) => {
      note(search, now)
      return source.count(search, now)
    },
    find: (search, span) => {
      note(search as Search, span.now)
      return source.find(search, span)
    },
    countProfiles: (
      company,
      { title_to_include: job_titles, title_to_exclude: excluded_job_titles, ...places },
    ) => {
      const filters = withoutUndefined({ company, job_titles, excluded_job_titles, ...places })
      note({ kind: 'people', filters } as Search, 0)
      return source.countProfiles(company, {
        ...places,
        title_to_include: job_titles,
        title_to_exclude: excluded_job_titles,
      })
    },
  }
  return new Proxy(source, {
    get: (all, name) => Reflect.get(Object.hasOwn(noted, name) ? noted : all, name) as unknown,
  })
}

export const sentAgain =
  'An earlier attempt of this call has no known outcome. Sending it again with the same idempotency key, so it is paid once.'

/** Returns an engine whose faults lose answers: its single calls keep their keys, as those to a server do. */
async function keepKeys(machine: Machine, engine: Caller, origin: string): Promise<Caller> {
  const { idempotentEngine } = await import('../../client/kept-keys.js')
  const { serverMemory } = await import('../../storage/state/remote-servers.js')
  const { ids, clock, notify } = machine
  const keys = serverMemory(await openStateOf(machine), origin)
  return idempotentEngine({ keys, origin, ids, clock, onAgain: () => notify(sentAgain) })(engine)
}

/** Returns what reports errors of accepted work. Work is retried, so that the same error is reported once. */
export function reportTrouble({ notify }: Pick<Machine, 'notify'>): (error: unknown) => void {
  let lastText = ''
  return (error) => {
    const text = error instanceof Error ? error.message : String(error)
    if (text !== lastText) notify(`Queued jobs are paused: ${text}`)
    lastText = text
  }
}

async function openCatalogue({ home, prepareHome, clock, ids, onClose }: Machine): Promise<Catalogue> {
  prepareHome()
  const { openCatalogue: open } = await import('../../catalogue/catalogue.js')
  const { openCatalogueDatabase } = await import('../../storage/database/open.js')
  const catalogue = await open(await openCatalogueDatabase(home), { clock, ids })
  onClose(() => catalogue.close())
  withCatalogue.add(home)
  return catalogue
}

/** Homes whose catalogue is open: it is there, and to look for a shared one takes another connection. */
const withCatalogue = new WeakSet<Home>()

/** Makes a key of this machine for the workspace in use, which is created where there is none, and stores it. */
export async function makeKey(
  machine: Machine,
  admin: Admin,
  use: WorkspaceUse = 'practice',
): Promise<string> {
  const { home, notify } = machine
  const isOwnData = use !== 'practice'
  const { workspace, member, credits, created, key: fresh } = await admin.init({ isOwnData })
  if (created) {
    // With a catalogue there is data, or data is being loaded.
    const isEmpty = !isPostgres(home.engine) && !existsSync(home.catalogue)
    const { name, plan } = workspace
    const what = {
      practice: `: member ${member.email}, plan ${plan}, ${formatNumber(credits)} credits.${isEmpty ? ' Sample companies: prospect data sample' : ''}`,
      own: ` for your own data, without credits and quotas: member ${member.email}, plan ${plan}.`,
      records: `, without credits of its own: member ${member.email}.`,
    }[use]
    notify(`Created the workspace ${name} on this machine${what}`)
  }
  // Another process may have just created the workspace and be about to store its own key: both keys work.
  const key = fresh ?? (await admin.createKey({ member: member.email })).key
  storeKey(machine, localOrigin(workspace.id), key)
  return key
}

export type { AnswerSource }

/** Describes a catalogue as where answers come from. `practice`: sample data only. `mixed`: own and sample data. */
export function describeCatalogue(home: Pick<Home, 'engine'>, origins: Origins | undefined, now: number) {
  const place = placeOf(home)
  const { sampleCompanies = 0, ownCompanies = 0, hasOwnPeople = false, importedAt = null } = origins ?? {}
  const imported_at = isoTime(importedAt)
  const counts = { companies: ownCompanies, sample_companies: sampleCompanies, imported_at }
  const isEmpty = ownCompanies === 0 && !hasOwnPeople && sampleCompanies === 0
  if (isEmpty) return { kind: 'empty', text: `an empty catalogue ${place}`, ...counts }
  const sample = countOf(sampleCompanies, 'sample company', 'sample companies')
  if (ownCompanies === 0 && !hasOwnPeople)
    return { kind: 'practice', text: `practice data ${place} (${sample})`, ...counts }
  const details = [
    ownCompanies === 0 ? 'people only' : countOf(ownCompanies, 'company', 'companies'),
    ...(importedAt === null ? [] : [`imported ${formatDay(importedAt, now)}`]),
    ...(sampleCompanies === 0 ? [] : [`beside ${sample}`]),
  ]
  const kind = sampleCompanies === 0 ? 'own' : 'mixed'
  return { kind, text: `your catalogue ${place} (${details.join(', ')})`, ...counts }
}

/** Describes a server as where answers come from; `member` is the owner of the key where it is known. */
export function describeServer(
  { baseUrl, direct }: Pick<RemoteTarget, 'baseUrl' | 'direct'>,
  member: string | undefined,
) {
  const text = `${new URL(baseUrl).host}${member ? ` as ${member}` : ''}${direct ? ', directly' : ''}`
  return { kind: 'server', text, base_url: baseUrl, member: member ?? null, direct }
}

/** Returns a day such as `3 Nov` (UTC), with its year unless that is this one. */
function formatDay(ms: number, now: number): string {
  // Loading the names of other languages would take a fifth of the start of a command.
  const [, day, month, year] = new Date(ms).toUTCString().split(' ')
  const isThisYear = new Date(now).getUTCFullYear() === Number(year)
  return [Number(day), month, ...(isThisYear ? [] : [year])].join(' ')
}

export function placeOf({ engine }: Pick<Home, 'engine'>): string {
  if (!isPostgres(engine)) return 'on this machine'
  const [, authority = '', rest = ''] = /^\w+:\/\/([^/?#]*)(.*)$/s.exec(engine) ?? []
  // Behind a slash in a password nothing is a host.
  const hosts = rest.includes('@') ? '' : authority.slice(authority.lastIndexOf('@') + 1)
  return hosts === '' ? 'in a shared database' : `in the database at ${hosts}`
}

/** `undefined` where that is not known. Creates no catalogue. `member` is the owner of the key where it is known. */
export async function sourceOf(context: Context, member?: string): Promise<AnswerSource | undefined> {
  const target = targetIn(context)
  try {
    if (target.kind === 'remote') {
      const owner = member ?? findStoredKey(context.home, target, await context.apiKey())?.member
      return describeServer(target, owner)
    }
    if (!context.isLocal()) return undefined
    return describeCatalogue(context.home, await readOrigins(context), context.clock.now())
  } catch {
    // What cannot be read is reported where answers are asked for, and must not end a run that is done.
    return undefined
  }
}

/** Returns where the answers of a run came from, in its last execution; `undefined` where that is not recorded. */
export const sourceOfRun = ({ request }: Pick<Run, 'request'>): AnswerSource | undefined =>
  (parseJson(request) as Pick<RecordedRequest, 'source'>).source

export const readOrigins = async (context: Context): Promise<Origins | undefined> =>
  (await hasCatalogue(context.home)) ? (await context.catalogue()).origins() : undefined

export async function hasCatalogue(home: Home): Promise<boolean> {
  if (withCatalogue.has(home)) return true
  if (!isPostgres(home.engine)) return existsSync(home.catalogue)
  const { hasSharedCatalogue } = await import('../../storage/database/open.js')
  return hasSharedCatalogue(home.engine)
}

export const nameSource = ({ text }: Pick<AnswerSource, 'text'>): string => `Answers come from ${text}.`

export async function notifySource(context: Context, member?: string): Promise<void> {
  const source = await sourceOf(context, member)
  if (source) context.notify(nameSource(source))
  noteSourceShown(context)
}

/** Says on stderr where the answers of a run came from that is only written again. */
export function notifySourceOfRun(context: Context, run: Pick<Run, 'request'>): void {
  const source = sourceOfRun(run)
  if (!source) return
  context.notify(nameSource(source))
  noteSourceShown(context)
}

const shown = new WeakSet<object>()

/** Notes that a person or a log has read where the answers come from, so that the report of a run does not repeat it. */
export const noteSourceShown = ({ streams }: Pick<Context, 'streams'>): void => void shown.add(streams)

/** Says on stderr where the answers of what has ended came from, unless that was said before; where nothing was found, why. */
export function notifySourceAtEnd(
  context: Context,
  source: AnswerSource | undefined,
  isMissing: boolean,
): void {
  const named = source && !shown.has(context.streams) ? nameSource(source) : undefined
  const text = (isMissing ? describeMissing(source) : undefined) ?? named
  if (text !== undefined) context.notify(text)
}

export const describeSamples = (samples: number): string =>
  `${samples === 1 ? '1 match is a sample' : `${formatNumber(samples)} matches are samples`}, invented for practice: prospect data sample --remove takes them out.`

/** Says why nothing can be found; `undefined` where a catalogue has more than sample data, and of a server. */
export function describeMissing(source: AnswerSource | undefined): string | undefined {
  return source?.kind === 'practice'
    ? `${nameSource(source)} All of it is invented. For real records, prospect init connects a vendor, and prospect data import loads your own data.`
    : undefined
}

/** Opens the engine of this machine as what knows how the rows ended that were sent to it; `undefined` where there is none. */
export async function openOwnEngine(context: Context): Promise<OwnEngine | undefined> {
  const local = context.withGlobals({ local: true, direct: undefined, baseUrl: undefined })
  if (!isThere(local.home.engine) || !(await local.isSetUp())) return undefined
  const [name, workspace] = [await targetName(local), await workspaceName(local)]
  return { name, workspace, caller: await local.caller(), apiKey: await local.apiKey() }
}

/** Returns which data vendors of this machine runs may ask; a server has its own. */
export const vendorsOfRuns = (
  context: Context,
): Pick<RunPorts['target'], 'vendorsToAsk' | 'carryBudget'> => ({
  vendorsToAsk: async ({ id: run, operation }, names) => {
    if (!context.isLocal() || names.length === 0) return new Set()
    const kinds = vendorKindsOf({ id: operation as OperationId })
    const { workspaceId, askable } = await openRegistry(context)
    const workspace = await workspaceId()
    const withKey = names.filter((name) => vendorPorts(context).keyOf(workspace, name) !== undefined)
    return askable(withKey, kinds, { run, most: context.globals.maxCost })
  },
  carryBudget: async (from, to) => {
    if (context.isLocal()) await (await openRegistry(context)).carryBudget(from, to)
  },
})
