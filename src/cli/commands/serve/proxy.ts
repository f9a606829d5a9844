import type { WorkHold } from '../../../api/calls/accepted-work.js'
import { compose } from '../../../api/calls/compose.js'
import type { WireNames } from '../../../api/calls/wire-names.js'
import { once } from '../../../api/values/once.js'
import { createProxiedWork, type ProxiedWork, type ProxiedWorkLedger } from '../../../client/proxied-work.js'
import { retargeted } from '../../../client/retargeted-webhooks.js'
import { createServerLimit, settleAccepted } from '../../../engine/credits/server-limit.js'
import { guardCaller } from '../../../engine/request/proxy-guard.js'
import type { BodyThreads } from '../../../http/body-threads.js'
import { isPostgres } from '../../../storage/driver/connection.js'
import type { Context } from '../../context/context.js'
import { openEngineStore, openStateOf, openWhenWritable } from '../../context/open-databases.js'
import { withTimeout } from '../../operation/call.js'
import { createDoubtRecorder, createSpendingLayer, doubtLayer } from '../../operation/record-spending.js'
import { openStoredLookups, usesStoredAnswers } from '../../operation/stored-lookups.js'
import { publicAddress } from '../../options/webhooks.js'
import { openRowWorker } from '../../target/local-target.js'
import {
  baseUrlOf,
  profileName,
  type RemoteTarget,
  targetIn,
  targetName,
} from '../../target/resolve-target.js'
import { type Backend, createApp } from './http-server.js'
import { type DeliveryRetargeting, openRetargeting } from './retarget.js'

/** What a proxy serves, and how. */
interface ProxyOptions extends Pick<DeliveryRetargeting, 'targets' | 'secrets'> {
  /** Address of the server; it ends in `/api/v2`. */
  readonly upstream: string
  /** Where the server reaches this machine, to deliver here first. */
  readonly publicUrl: string | undefined
  /** Whether it takes part in distributed runs. */
  readonly worker: boolean
  readonly baseUrl: () => string
}

/** How long a call of a proxy may take with all its attempts, in seconds: one slow attempt, or several quick ones. */
const usualTimeout = 150

/**
 * Opens another server as what is served. Governed: clients use keys of this machine's workspace, and the server gets
 * its own key at a pace it accepts. With `--direct` the client's key is passed on, and ours never. Returns `undefined`
 * when a signal ends the wait for the database.
 */
export const openProxy = (context: Context, options: ProxyOptions): Promise<Backend | undefined> =>
  openWhenWritable(context, () => openProxyBackend(context, options))

async function openProxyBackend(
  context: Context,
  { upstream, publicUrl, secrets, targets, worker, baseUrl }: ProxyOptions,
): Promise<Backend> {
  const { createBodyThreads } = await import('../../../http/body-threads.js')
  const threads = createBodyThreads()
  const { insecureHttp, direct } = context.globals
  const url = baseUrlOf(upstream, '--upstream', insecureHttp === true).href
  const server = context.withGlobals({ local: undefined, baseUrl: url, passesKeys: direct === true })
  const target = targetIn(server) as RemoteTarget
  const { names, origin } = target
  const address = publicAddress(publicUrl ?? target.publicUrl)
  // Fails at the start when there is no key for the server.
  const apiKey = target.direct ? undefined : await server.apiKey()
  const work = openProxiedWork(server, names, threads)
  const onDelivery = apiKey === undefined ? undefined : work.recordDelivery
  const retargeting =
    address &&
    (await openRetargeting(context, { address, targets, secrets, onDelivery, parse: threads.parse }))
  const { remote, openForProxy, governed } = await server.server()
  const timeout = withTimeout(context.globals.timeout ?? target.timeout ?? usualTimeout)
  const outgoing = [...governed, retargeting && retargeted(retargeting.home), timeout]
  const doubts = doubtLayer(server, apiKey !== undefined)
  const own = apiKey === undefined ? [doubts] : await openLayers(server, apiKey, work)
  const caller = compose([...own, ...outgoing], openForProxy(threads.parse))
  const kind = target.direct ? 'direct' : 'governed'
  const behind = { target: kind, upstream: origin }
  const openEngine = () => context.admin({ create: false })
  const serve = await createApp(context, caller, {
    ...{ baseUrl, words: names, behind, threads },
    // One that passes on keys writes nothing.
    ...(apiKey === undefined ? {} : { ready: async () => (await openEngine()).requireWritable() }),
  })
  const runChunkWorker =
    worker && apiKey !== undefined && isPostgres(context.home.engine)
      ? await openRowWorker(server, compose([doubts, ...outgoing], remote))
      : async () => {}
  const over = new AbortController()
  let running: Promise<unknown> | undefined
  const keys = kind === 'direct' ? 'Each request uses its own key.' : 'Requests use keys of this workspace.'
  const webhooks = address ? ' Webhooks come here first.' : ''
  return {
    handler: async (request) => retargeting?.deliveries.take(request) ?? serve(request),
    ...(apiKey === undefined ? {} : { own: { context, caller, source: server.source } }),
    hosts: address ? [address.host] : [],
    text: `Proxying ${origin}${kind === 'direct' ? '' : ' with rate limits and a ledger'}. ${keys}${webhooks} Ctrl-C ends it.`,
    start: () => {
      running = Promise.all([retargeting?.forwarding.run(over.signal), runChunkWorker(over.signal)])
    },
    stop: async () => {
      over.abort()
      await running
    },
  }
}

/**
 * Opens the layers of a governed proxy: keys of this machine's workspace are checked and replaced with the server's, then
 * stored answers are given where the setting `max_age` permits it. What is sent counts towards the weekly limit of its member
 * and is put on record with its cost, and its answer is stored.
 */
async function openLayers(context: Context, apiKey: string, work: ProxiedWork) {
  const given = { options: {} }
  const stored = usesStoredAnswers(context, given) ? await openStoredLookups(context, given) : undefined
  await context.admin()
  const engine = await openEngineStore(context)
  const doubt = createDoubtRecorder(context)
  const guard = guardCaller({
    ...engine,
    ...{ apiKey, sleep: context.sleep },
    onDoubted: (operation, member) => doubt({ operation, member }),
  })
  const limit = createServerLimit({ ...engine, server: await targetName(context), onAccepted: work.hold })
  return [guard, stored?.recall, limit.layer, createSpendingLayer(context), work.layer, stored?.keep]
}

/** Opens what puts the cost of proxied work on record in this machine's state. */
function openProxiedWork(
  context: Context,
  names: WireNames | undefined,
  { parse }: BodyThreads,
): ProxiedWork {
  const profile = profileName(context)
  const open = once(async () => {
    const { passedWorkOver } = await import('../../../runs/journal/proxied-work.js')
    return { target: await targetName(context), work: passedWorkOver(await openStateOf(context)) }
  })
  const settle = async (holds: readonly (WorkHold & { readonly cost: number })[]) => {
    if (holds.length === 0) return
    const limit = { ...(await openEngineStore(context)), server: await targetName(context) }
    for (const { cost, ...hold } of holds) await settleAccepted(limit, hold, cost)
  }
  const ledger: ProxiedWorkLedger = {
    start: async (ids, operation, member) => {
      const { target, work } = await open()
      await work.start({ target, operation, member }, ids, context.clock.now())
    },
    hold: async (holds) => {
      const { target, work } = await open()
      await settle(await work.hold(target, holds))
    },
    finish: async (operation, works) => {
      const { target, work } = await open()
      await settle(await work.finish({ target, operation }, works, context.clock.now()))
    },
    operationOf: async (ids) => {
      const { target, work } = await open()
      return work.operationOf(target, ids)
    },
    count: async (operation, ids, records) => {
      const { target, work } = await open()
      await work.count({ profile, target, operation }, ids, records, context.clock.now())
    },
    onError: async (error) => {
      const { reasonOf } = await import('../../messages.js')
      context.notify(`The cost of proxied work is missing in prospect ledger: ${reasonOf(error)}`)
    },
  }
  return createProxiedWork(ledger, names, parse)
}
