import { compose } from '../../../api/calls/compose.js'
import { retargeted } from '../../../client/retargeted-webhooks.js'
import { sharedClock } from '../../../engine/clock.js'
import { type GuardPorts, guardCaller } from '../../../engine/request/proxy-guard.js'
import { isLoopback } from '../../../http/hosts.js'
import { named } from '../../../http/wire-names.js'
import { isPostgres } from '../../../storage/driver/connection.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { accounted } from '../../operation/record-spending.js'
import { publicAddress, targetsOf } from '../../options/webhooks.js'
import { partFor } from '../../target/local-target.js'
import { baseUrlOf, type RemoteTarget, targetOf } from '../../target/resolve-target.js'
import type { Behind, ServeChoices } from './app.js'
import { createApp } from './app.js'
import { passedSpending } from './proxied-work.js'
import { openRetargeting } from './re-target.js'

/**
 * Serves another server. Governed: clients use keys of this machine's workspace, and the server gets its own key at a
 * pace it accepts. With `--direct` the client's key is passed on, and ours never.
 */
export async function proxyBehind(
  outer: Context,
  upstream: string,
  choices: ServeChoices,
  globals: GlobalOptions,
  baseUrl: () => string,
): Promise<Behind> {
  const { database, allowTarget, host = '127.0.0.1', publicUrl, secretFile, secretStdin, worker } = choices
  const address = baseUrlOf(upstream, '--upstream', globals.insecureHttp === true)
  const { local: _, ...rest } = globals
  const options: GlobalOptions = { ...rest, baseUrl: address.href }
  const targets = targetsOf(allowTarget, isLoopback(host))
  const context = outer.withDatabase(database ?? outer.home.engine, { targets })
  const target = targetOf(options, context.streams.env, context.settings()) as RemoteTarget
  const known = publicAddress(publicUrl ?? target.publicUrl)
  // Fails at the start when there is no key for the server.
  const apiKey = target.direct ? undefined : await context.apiKey(options)
  const secrets = { ...(secretFile ? { secretFile } : {}), ...(secretStdin ? { secretStdin } : {}) }
  const passed = passedSpending(context, target.names, options)
  const delivered = apiKey === undefined ? undefined : passed.delivered
  const home = known && (await openRetargeting(context, known, targets, secrets, globals, delivered))
  const { remote, governed } = await context.server(options)
  const outgoing = [...governed, home && retargeted(home.home)]
  const ours =
    apiKey === undefined
      ? []
      : [guardCaller(await guardOf(context, apiKey, options)), accounted(context, options), passed.accounted]
  const caller = compose([target.names && named(target.names), ...ours, ...outgoing], remote)
  const kind = target.direct ? 'direct' : 'governed'
  const behind = { target: kind, upstream: target.origin }
  const serve = await createApp(context, caller, globals, { baseUrl, words: target.names, behind })
  const over = new AbortController()
  const isShared = isPostgres(context.home.engine)
  const runChunkWorker =
    worker && apiKey !== undefined && isShared
      ? await partFor(context, options, compose(outgoing, remote))
      : async () => {}
  let passing: Promise<unknown> | undefined
  return {
    handler: async (request) => home?.deliveries.take(request) ?? serve(request),
    hosts: known ? [known.host] : [],
    text: textOf(kind, target.origin, known !== undefined),
    start: () => {
      passing = Promise.all([home?.passingOn.run(over.signal), runChunkWorker(over.signal)])
    },
    stop: async () => {
      over.abort()
      await passing
    },
  }
}

/** Opens what checks the keys of this machine's workspace, and replaces them with the server's. */
async function guardOf(context: Context, apiKey: string, options: GlobalOptions): Promise<GuardPorts> {
  await context.admin({ ...options, create: true })
  const { openStore } = await import('../../../storage/engine/store.js')
  const { sleep } = context
  const store = await openStore(context.home.engine, () => context.clock.now())
  context.onClose(() => store.close())
  const clock = sharedClock(store, context.clock)
  return { store, clock, apiKey, sleep }
}

function textOf(kind: 'direct' | 'governed', origin: string, isHome: boolean): string {
  const keys = kind === 'direct' ? 'Keys are passed on.' : 'Keys are those of this workspace.'
  const webhooks = isHome ? ' Deliveries come here first.' : ''
  return `Serving ${origin}, ${kind}. ${keys}${webhooks} Ctrl-C ends it.`
}
