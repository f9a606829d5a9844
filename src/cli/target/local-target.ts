import type { Caller } from '../../api/calls/caller.js'
import type { WireNames } from '../../api/calls/wire-names.js'
import type { DeliveryShape } from '../../api/webhooks/events.js'
import type { Catalogue } from '../../catalogue/catalogue.js'
import type { Admin } from '../../engine/admin/admin.js'
import { sharedClock } from '../../engine/clock.js'
import type { DistributedCallerPorts } from '../../engine/distributed/caller.js'
import type { Clock, Ids, Sender, Source, Store, Targets } from '../../engine/ports/ports.js'
import type { Engine } from '../../engine/request/engine.js'
import type { RowCaller } from '../../engine/settlement/settlement.js'
import type { Worker } from '../../engine/worker/worker.js'
import { isPostgres } from '../../storage/driver/connection.js'
import type { Context, DistributedRun, GlobalOptions, Home } from '../context/context.js'
import { localOrigin, storedKey, storeKey } from '../context/credentials.js'
import { prepareHome } from '../context/home.js'
import { once } from '../context/once.js'
import { openEngineStore } from '../context/open-databases.js'
import { formatNumber } from '../output/text.js'
import { type RemoteTarget, targetOf } from './resolve-target.js'

/** What the local target needs. */
export interface LocalPorts {
  readonly home: () => Home
  readonly clock: Clock
  readonly ids: Ids
  readonly notify: Context['notify']
  readonly onClose: Context['onClose']
  readonly sleep: Context['sleep']
  /** Returns where a workspace of that many members may deliver to, besides public addresses. */
  readonly targets: (members: number) => Targets
  /** Other words for `network` and `premium` in deliveries. */
  readonly names?: WireNames | undefined
  /** How deliveries carry their records; nested by default. */
  readonly deliveryShape?: DeliveryShape | undefined
  /** Whether to count limits that were observed and are not specified. */
  readonly observedLimits?: boolean | undefined
}

/** The server that answers the rows of a run, and the key of the shared database they are distributed with. */
type RowServer = Pick<DistributedCallerPorts, 'caller' | 'source' | 'apiKey'>

/** The local target: the engine over this machine's store and catalogue. Each is opened on first use. */
export interface Local {
  caller(): Promise<Caller>
  catalogue(): Promise<Catalogue>
  admin(): Promise<Admin>
  /** Opens the worker, which does the work that the engine accepts. */
  worker(): Promise<Worker>
  /** Opens a caller whose rows are called by the workers that share the database. */
  distributedCaller(run: DistributedRun, server?: RowServer): Promise<Caller>
  /**
   * Returns the key of this machine for the workspace in use. The first use creates workspace, member and key, and
   * reports it. A lost key is replaced by a new one.
   */
  key(options: GlobalOptions): Promise<string>
}

/** Creates the local target. Opens nothing yet. */
export function createLocal(ports: LocalPorts): Local {
  const { clock, ids, targets, observedLimits } = ports
  const sender = lazySender(ports)
  const store = once(() => openStore(ports))
  const shared = once(async () => sharedClock(await store(), clock))
  const catalogue = once(() => openCatalogue(ports))
  const admin = once(async () => {
    const { createAdmin } = await import('../../engine/admin/admin.js')
    return createAdmin({ store: await store(), clock: await shared(), ids })
  })
  let working: Worker | undefined
  const worker = once(async () => {
    const { createWorker } = await import('../../engine/worker/worker.js')
    const source = lazySource(catalogue)
    const onTrouble = reportTrouble(ports)
    // Only a PostgreSQL database can be shared with other workers.
    const taking = isPostgres(ports.home().engine) ? { rowCaller: engineRowCaller(await engine()) } : {}
    const made = createWorker({
      ...{ store: await store(), source, clock: await shared(), ids, sender, targets, onTrouble },
      ...taking,
    })
    ports.onClose(() => made.stop())
    working = made
    return made
  })
  const engine = once(async () => {
    const { createEngine } = await import('../../engine/request/engine.js')
    // A worker in the background would find the work itself, but later.
    const accepted = () => working?.wake()
    const source = lazySource(catalogue)
    return createEngine({
      ...{ store: await store(), source, clock: await shared(), ids, sender, targets, accepted },
      observedLimits,
    })
  })
  return {
    catalogue,
    admin,
    worker,
    caller: engine,
    distributedCaller: async (run, server) => {
      const { createDistributedCaller } = await import('../../engine/distributed/caller.js')
      const asked = server ?? { caller: await engine(), source: '', apiKey: run.apiKey }
      const place = { store: await store(), clock: await shared(), ids, sleep: ports.sleep }
      const caller = createDistributedCaller({ ...place, ...run, ...asked })
      ports.onClose(() => caller.close())
      return caller
    },
    key: once(async (options) => {
      const workspace = await (await store()).read((reads) => reads.workspace())
      const known = workspace && storedKey(ports.home(), localOrigin(workspace.id))
      return known ?? makeKey(ports, await admin(), options)
    }),
  }
}

/** Returns what reports errors of accepted work. Work is retried, so that the same error is reported once. */
export function reportTrouble({ notify }: Pick<LocalPorts, 'notify'>): (error: unknown) => void {
  let lastText = ''
  return (error) => {
    const text = error instanceof Error ? error.message : String(error)
    if (text !== lastText) notify(`Accepted work cannot go on for now: ${text}`, {})
    lastText = text
  }
}

async function openStore({ home, clock, onClose }: LocalPorts): Promise<Store> {
  prepareHome(home())
  const { openStore: open } = await import('../../storage/engine/store.js')
  const store = await open(home().engine, () => clock.now())
  onClose(() => store.close())
  return store
}

async function openCatalogue({ home, clock, ids, onClose }: LocalPorts): Promise<Catalogue> {
  prepareHome(home())
  const { openCatalogue: open } = await import('../../catalogue/catalogue.js')
  const { openCatalogueDatabase } = await import('../../storage/database/open.js')
  const catalogue = await open(await openCatalogueDatabase(home()), { clock, ids })
  onClose(() => catalogue.close())
  return catalogue
}

async function makeKey(
  { home, clock, ids, notify }: LocalPorts,
  admin: Admin,
  options: GlobalOptions,
): Promise<string> {
  const { workspace, member, credits, created, key: fresh } = await admin.init()
  if (created)
    notify(
      `Created the workspace ${workspace.name} on this machine: member ${member.email}, plan ${workspace.plan}, ` +
        `${formatNumber(credits)} credits. Sample companies: prospect data sample`,
      options,
    )
  // Another process may have just created the workspace and be about to store its own key: both keys work.
  const key = fresh ?? (await admin.createKey({ member: member.email })).key
  storeKey(home(), localOrigin(workspace.id), key, clock.now(), ids.uuid())
  return key
}

/** Returns a sender that is loaded on first use. It is registered first, so that it closes after what uses it. */
function lazySender({ clock, onClose, names, deliveryShape }: LocalPorts): Sender {
  let made: Sender | undefined
  onClose(() => made?.close())
  const sender = once(async () => {
    const { createSender } = await import('../../client/sender.js')
    made = createSender({ clock, names, shape: deliveryShape })
    return made
  })
  return {
    send: async (attempt) => (await sender()).send(attempt),
    check: async (...checked) => (await sender()).check(...checked),
    close: async () => {},
  }
}

/** Returns a source that opens the catalogue on first use. */
function lazySource(catalogue: () => Promise<Catalogue>): Source {
  return {
    company: async (query) => (await catalogue()).company(query),
    person: async (query) => (await catalogue()).person(query),
    personByEmail: async (email) => (await catalogue()).personByEmail(email),
    reachable: async (numbers) => (await catalogue()).reachable(numbers),
    technologies: async (query, limit) => (await catalogue()).technologies(query, limit),
    stack: async (query) => (await catalogue()).stack(query),
    headcount: async (query, departments) => (await catalogue()).headcount(query, departments),
    countProfiles: async (query, filters) => (await catalogue()).countProfiles(query, filters),
    jobs: async (query, filters, limit, now) => (await catalogue()).jobs(query, filters, limit, now),
    count: async (search, now) => (await catalogue()).count(search, now),
    find: async (search, span) => (await catalogue()).find(search, span),
    searchAt: async (url, of) => (await catalogue()).searchAt(url, of),
    urlOf: async (search) => (await catalogue()).urlOf(search),
    locations: async (name, source) => (await catalogue()).locations(name, source),
    titlesLike: async (title, limit) => (await catalogue()).titlesLike(title, limit),
    providers: async () => (await catalogue()).providers(),
  }
}

/** Returns the engine as a caller of rows. It takes many at once, because they share commits. */
export const engineRowCaller = ({ actingFor }: Engine): RowCaller => ({
  ...{ source: '', chunksAtOnce: 2, atOnce: 200, mayRepeat: async () => true, actingFor },
})

/** How many calls to a server are in flight by default. */
const usualAtOnce = 8

/** Returns what works on runs whose rows a server answers, with the server's key, until a signal. */
export async function openRowWorker(
  context: Context,
  options: GlobalOptions,
  remote: Caller,
  atOnce = usualAtOnce,
): Promise<(stopping: AbortSignal) => Promise<void>> {
  const target = targetOf(options, context.streams.env, context.settings()) as RemoteTarget
  // Without the server's key no call could succeed, so it is checked first.
  const apiKey = (await context.apiKey(options)) ?? ''
  const { guardCallerFor } = await import('../../engine/request/proxy-guard.js')
  const { runChunkWorker } = await import('../../engine/distributed/worker.js')
  const { store, clock } = await openEngineStore(context)
  const rowCaller: RowCaller = {
    ...{ source: target.baseUrl, chunksAtOnce: 2, atOnce },
    mayRepeat: async () => remote.supportsIdempotency?.() ?? true,
    // A call to a server cannot be undone: the idempotency keys of rows keep them from being paid twice.
    actingFor: (keyId) => guardCallerFor(keyId, remote, { store, clock, apiKey }),
  }
  const ports = { store, clock, ids: context.ids, rowCaller, onTrouble: reportTrouble(context) }
  return (stopping) => runChunkWorker(ports, stopping)
}
