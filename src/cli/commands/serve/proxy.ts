import { createHash } from 'node:crypto'
import { compose, type Layer } from '../../../api/calls/caller.js'
import type { WireNames } from '../../../api/calls/wire-names.js'
import { startsSeveral } from '../../../api/operations/facts.js'
import { type Operation, operation } from '../../../api/operations/table.js'
import type { Targets } from '../../../api/ports/ports.js'
import { aborted, lazily, once } from '../../../api/values/objects.js'
import type { Forward, Passed, ReceivedDelivery } from '../../../api/webhooks/events.js'
import { keptFrom, notAskedAbout, notPassedOn } from '../../../catalogue/suppression/suppressor.js'
import { type Home, retargeted } from '../../../client/governed.js'
import { holdBriefly } from '../../../client/paced.js'
import { parseDelivery } from '../../../client/parse-delivery.js'
import { createProxiedWork, type ProxiedWork, type ProxiedWorkLedger } from '../../../client/proxied-work.js'
import { createSender } from '../../../client/sender.js'
import { createServerLimit, settleAccepted } from '../../../engine/credits/server-limit.js'
import { guardCaller, memberAccounts, requireKey } from '../../../engine/request/proxy-guard.js'
import { schedule } from '../../../engine/worker/attempt-delivery.js'
import { type Forwarder, startForwarder } from '../../../http/forwarder.js'
import { newToken, retargetDeliveries } from '../../../http/receiver.js'
import type { SingleLookups } from '../../../runs/stored-lookups.js'
import { isPostgres } from '../../../storage/driver/connection.js'
import type { Events } from '../../../storage/state/webhook-inbox.js'
import { withTimeout } from '../../call/send.js'
import {
  createSpendingLayer,
  createSuspectRecorder,
  openStoredLookups,
  suspectLayer,
} from '../../call/spending.js'
import type { Context } from '../../context/context.js'
import { openAdmin, openEngineStore, openEvents, openStateOf } from '../../context/open-databases.js'
import { givenSecrets, type PublicAddress, publicAddress, type SecretChoice } from '../../options/webhooks.js'
import {
  baseUrlsOf,
  profileName,
  type RemoteTarget,
  targetIn,
  targetName,
} from '../../target/resolve-target.js'
import { type Backend, createApp } from './http-server.js'

interface ProxyOptions extends Pick<DeliveryRetargeting, 'targets' | 'secrets'> {
  /** Address of the server, which ends in `/api/v2`; of several over one database with commas. */
  readonly upstream: string
  /** Where the server reaches this machine, to deliver here first. */
  readonly publicUrl: string | undefined
  readonly baseUrl: () => string
}

/** How long a call of a proxy may take with all its attempts, in seconds: one slow attempt, or several quick ones. */
const defaultTimeout = 150

/**
 * Opens another server as what is served. Governed: clients use keys of this machine's workspace, and the server gets
 * its own key at a pace it accepts. With `--direct` the client's key is passed on, and ours never.
 */
export async function openProxy(
  context: Context,
  { upstream, publicUrl, secrets, targets, baseUrl }: ProxyOptions,
): Promise<Backend> {
  const { insecureHttp, direct } = context.globals
  const baseUrls = baseUrlsOf(upstream, '--upstream', insecureHttp === true).join()
  const server = context.withGlobals({ local: undefined, baseUrl: baseUrls, passesKeys: direct === true })
  const target = targetIn(server) as RemoteTarget
  const { names, origin, origins } = target
  const address = publicAddress(publicUrl ?? target.publicUrl)
  // Fails at the start when there is no key for the server.
  const apiKey = target.direct ? undefined : await server.apiKey()
  const work = openProxiedWork(server, names)
  const stored = apiKey === undefined ? undefined : await openTeamLookups(server)
  const onDelivery =
    stored &&
    (async (started: string, delivery: ReceivedDelivery) => {
      await work.recordDelivery(started, delivery)
      if (started !== 'contacts.enrich') return
      for (const { record } of parseDelivery('contact_enrichment', delivery, names).found)
        await stored.keepResult(record)
    })
  const retargeting = address && (await openRetargeting(server, { address, targets, secrets, onDelivery }))
  const { openForProxy, governed } = await server.server()
  const timeout = withTimeout(context.globals.timeout ?? target.timeout ?? defaultTimeout)
  const held = target.direct ? undefined : holdBriefly(context)
  const outgoing = [held, ...governed, retargeting && retargeted(retargeting.home), timeout]
  const suspects = suspectLayer(server, apiKey !== undefined)
  const own =
    apiKey === undefined || !stored
      ? [requireKey, suspects, keptFrom(() => server.suppressor())]
      : await openLayers(server, apiKey, { work, stored })
  const caller = compose([...own, ...outgoing], openForProxy())
  const kind = target.direct ? 'direct' : 'governed'
  const openEngine = () => context.admin()
  const serve = await createApp(context, caller, {
    baseUrl,
    words: names,
    upstream: { target: kind, upstream: origin },
    // One that passes on keys writes nothing.
    ...(apiKey === undefined ? {} : { ready: async () => (await openEngine()).requireWritable() }),
  })
  const over = new AbortController()
  let running: Promise<unknown> | undefined
  const keys = kind === 'direct' ? 'Each request uses its own key.' : 'Requests use keys of this workspace.'
  const webhooks = address ? ' Webhooks come here first.' : ''
  return {
    handler: async (request) => retargeting?.deliveries.take(request) ?? serve(request),
    ...(apiKey === undefined ? {} : { own: { context: server, caller, isProxy: true } }),
    hosts: address ? [address.host] : [],
    text: `Proxying ${origins.join(' or ')}${kind === 'direct' ? '' : ' with rate limits and a ledger'}. ${keys}${webhooks} Ctrl-C ends it.`,
    start: () => {
      running = retargeting?.forwarding.run(over.signal)
    },
    stop: async () => {
      over.abort()
      await running
    },
  }
}

/**
 * Opens the layers of a governed proxy: keys of this machine's workspace are checked and replaced with the server's,
 * members get their own account and consent, and what they have paid for is answered from the store, unless the setting
 * `max_age` is 0. What is sent counts towards the weekly limit of its member and is recorded with its cost, and its answer is
 * stored.
 */
async function openLayers(context: Context, apiKey: string, { work, stored }: TeamLayers) {
  const engine = await openEngineStore(context)
  const noteSuspect = createSuspectRecorder(context)
  const guard = guardCaller({
    ...engine,
    apiKey,
    sleep: context.sleep,
    onSuspect: (operation, member) => noteSuspect({ operation, member }),
  })
  const server = await targetName(context)
  const own = memberAccounts({ ...engine, server })
  const limit = createServerLimit({ ...engine, server, onAccepted: work.hold })
  const spending = createSpendingLayer(context)
  // Spending is recorded before the answer is stored, which no later lookup pays for: a kill in between loses neither.
  // Who is suppressed is hidden before an answer is stored; in what was stored before, the store does so.
  const unasked = notAskedAbout(() => context.suppressor())
  const unshown = notPassedOn(() => context.suppressor())
  // A job for several contacts has a place for each of them, so that who is suppressed is taken out where the job is made.
  const [before, after] = [onlyFor((one) => !startsSeveral(one), unasked), onlyFor(startsSeveral, unasked)]
  return [guard, own, before, stored.recall, after, limit.layer, stored.keep, unshown, spending, work.layer]
}

const onlyFor =
  (isFor: (one: Operation) => boolean, layer: Layer): Layer =>
  (caller) => {
    const layered = layer(caller)
    return { ...caller, call: (id, ...call) => (isFor(operation(id)) ? layered : caller).call(id, ...call) }
  }

interface TeamLayers {
  readonly work: ProxiedWork
  readonly stored: SingleLookups
}

/** Opens what the members have paid for, and share. */
async function openTeamLookups(context: Context): Promise<SingleLookups> {
  await openAdmin(context)
  const { engine: database } = context.home
  const shared = isPostgres(database) ? { database } : {}
  return openStoredLookups(context, { options: {} }, { ...shared, answersKeys: true, sharesWork: true })
}

function openProxiedWork(context: Context, names: WireNames | undefined) {
  const open = async () => {
    const { proxiedWorkOver } = await import('../../../runs/journal/proxied-work.js')
    const target = await targetName(context)
    const { engine, state } = context.home
    // Proxies over one database take work from each other.
    return proxiedWorkOver(await openStateOf(context, isPostgres(engine) ? engine : state), {
      target,
      profile: profileName(context),
      now: () => context.clock.now(),
      settle: async (hold, cost) =>
        settleAccepted({ ...(await openEngineStore(context)), server: target }, hold, cost),
    })
  }
  const onError = async (error: unknown) => {
    const { reasonOf } = await import('../../messages.js')
    context.notify(`The cost of proxied work is missing in prospect ledger: ${reasonOf(error)}`)
  }
  return createProxiedWork(lazily<ProxiedWorkLedger>(once(open)), onError, names)
}

interface DeliveryRetargeting {
  readonly address: PublicAddress
  /** Returns where a workspace of that many members may deliver to. */
  readonly targets: (members: number) => Targets
  readonly secrets: SecretChoice
  /** Called with each delivery, and the operation that it is a result of, before it is kept. */
  readonly onDelivery: ((operation: string, delivery: ReceivedDelivery) => Promise<void>) | undefined
}

/** Opens what takes deliveries at a public address, keeps them and forwards them, signed by this machine's workspace. */
async function openRetargeting(context: Context, options: DeliveryRetargeting) {
  const { clock, ids } = context
  const { address, onDelivery } = options
  const admin = await openAdmin(context)
  const events = await openEvents(context)
  const sender = createSender({ clock })
  context.onClose(() => sender.close())
  const targets = async () => options.targets((await admin.members()).length)
  const send = async (url: string, { headers, body }: Forward['delivery']): Promise<Passed> => {
    const id = headers['webhook-id'] ?? `msg_${createHash('sha256').update(body).digest('hex').slice(0, 32)}`
    const secrets = [await admin.webhookSecret(false)]
    const attempt = { ...(await targets()), url, id, timestamp: clock.now(), body, secrets }
    const { status, error } = await sender.send(attempt)
    const answer = status === null ? (error ?? 'not sent') : String(status)
    return { ok: error === null, answer, ...(status === 410 ? { isFinal: true } : {}) }
  }
  const forwarding = createForwarding(context, events, send)
  const deliveries = retargetDeliveries({
    secret: await events.token(newToken(ids.bytes(16))),
    random: () => ids.bytes(16),
    prefix: address.prefix,
    secrets: await givenSecrets(context.streams, options.secrets),
    clock,
    // Counted first, which happens once however often it comes: once kept, it is not sent to us again.
    keep: async (delivery, { target, operation }) => {
      await onDelivery?.(operation, delivery)
      return forwarding.keep(delivery, target)
    },
    report: (error) => context.notify(`A delivery could not be stored: ${(error as Error).message}.`),
  })
  const home: Home = {
    check: async (url) => sender.check(url, await targets()),
    addressFor: (url, operation, key) =>
      address.origin + address.prefix + deliveries.pathFor(url, operation, key),
  }
  return { home, deliveries, forwarding }
}

/** Before the addresses of what waits here, because the forwarders of `listen` do not sign. */
const mark = 'signed '

function createForwarding(
  { clock, notify }: Context,
  events: Events,
  send: (url: string, delivery: Forward['delivery']) => Promise<Passed>,
) {
  const forwarders = new Map<string, Forwarder>()
  let over: AbortSignal | undefined
  const passed = ({ delivery }: Forward, { ok, answer }: Passed, isLast: boolean) => {
    const id = delivery.headers['webhook-id'] ?? 'A delivery'
    if (!ok && isLast)
      notify(`${id} was not forwarded (${answer}) and is given up. See: prospect events list`)
  }
  const report = (error: unknown) => notify(`Forwarding is paused: ${(error as Error).message}.`)
  const start = (target: string, signal: AbortSignal): Forwarder => {
    const outbox = events.outbox(target)
    const pass = (delivery: Forward['delivery']) => send(target.slice(mark.length), delivery)
    const pausesMs = schedule.slice(1)
    const one = startForwarder({ outbox, pass, clock, pausesMs, passed, report }, signal)
    forwarders.set(target, one)
    return one
  }
  return {
    /** Keeps a delivery, and forwards it. Returns whether it was new. */
    keep: async (delivery: ReceivedDelivery, url: string) => {
      const isNew = await events.keep(await events.clean(delivery), mark + url)
      if (isNew && over && !over.aborted) (forwarders.get(mark + url) ?? start(mark + url, over)).wake()
      return isNew
    },
    /** Forwards until the signal, beginning with what was kept earlier. */
    run: async (signal: AbortSignal): Promise<void> => {
      over = signal
      for (const target of await events.waitingTargets(mark)) start(target, signal)
      await aborted(signal)
      await Promise.all([...forwarders.values()].map(({ ended }) => ended))
    },
  }
}
