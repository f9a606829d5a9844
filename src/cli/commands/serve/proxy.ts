import { compose } from '../../../api/calls/compose.js'
import { retargeted } from '../../../client/retargeted-webhooks.js'
import { isPostgres } from '../../../storage/driver/connection.js'
import type { Context } from '../../context/context.js'
import { openWhenWritable } from '../../context/open-databases.js'
import { withTimeout } from '../../operation/call.js'
import { doubtLayer } from '../../operation/record-spending.js'
import { publicAddress } from '../../options/webhooks.js'
import { openRowWorker } from '../../target/local-target.js'
import { baseUrlOf, type RemoteTarget, targetIn } from '../../target/resolve-target.js'
import { type Backend, createApp } from './http-server.js'
import { openLayers, openProxiedWork } from './proxy-layers.js'
import { type DeliveryRetargeting, openRetargeting } from './retarget.js'

/** What a proxy serves, and how. */
export interface ProxyOptions extends Pick<DeliveryRetargeting, 'targets' | 'secrets'> {
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
