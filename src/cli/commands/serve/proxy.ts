import type { Caller } from '../../../api/calls/caller.js'
import { rehomed } from '../../../client/retargeted-webhooks.js'
import { sharedClock } from '../../../engine/clock.js'
import { guardCaller } from '../../../engine/request/proxy-guard.js'
import { isLoopback } from '../../../http/hosts.js'
import { isPostgres } from '../../../storage/database/location.js'
import type { Context, GlobalOptions } from '../../context/context.js'
import { recorded } from '../../operation/record-spending.js'
import { targetsOf } from '../../options/delivery-targets.js'
import { publicAddress } from '../../options/public-address.js'
import { baseUrlOf } from '../../target/base-url.js'
import { type RemoteTarget, targetOf } from '../../target/resolve-target.js'
import { partFor } from '../../target/upstream-worker.js'
import { served } from './app.js'
import type { Behind, ServeChoices } from './behind.js'
import { passedSpending } from './proxied-work.js'
import { openRehoming, type Rehomed } from './re-target.js'

/**
 * Another server behind ours. Governed: people bring keys of this machine's workspace, and the server gets the one key it
 * knows, at a pace it takes. With `--direct` the key of whoever asks is passed on, and ours never.
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
  let home: Rehomed | undefined
  const context = outer.withDatabase(database ?? outer.home.engine, {
    targets,
    around: (remote) => (home ? rehomed(remote, home.home) : remote),
  })
  const target = targetOf(options, context.streams.env, context.settings()) as RemoteTarget
  const known = publicAddress(publicUrl ?? target.publicUrl)
  // Without the server's key nothing could be passed on: known before anybody asks.
  const apiKey = target.direct ? undefined : await context.apiKey(options)
  const secrets = { ...(secretFile ? { secretFile } : {}), ...(secretStdin ? { secretStdin } : {}) }
  const passed = passedSpending(context, target.names, options)
  const delivered = apiKey === undefined ? undefined : passed.delivered
  if (known) home = await openRehoming(context, known, targets, secrets, globals, delivered)
  const remote = await context.caller(options)
  const caller =
    apiKey === undefined ? remote : await governedCaller(context, passed.around(remote), apiKey, options)
  const kind = target.direct ? 'direct' : 'governed'
  const behind = { target: kind, upstream: target.origin }
  const serve = await served(context, caller, globals, { baseUrl, names: target.names, behind })
  const over = new AbortController()
  const isShared = isPostgres(context.home.engine)
  const runChunkWorker =
    worker && apiKey !== undefined && isShared ? await partFor(context, options) : async () => {}
  let passing: Promise<unknown> | undefined
  return {
    handler: async (request) => home?.rehoming.take(request) ?? serve(request),
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

async function governedCaller(
  context: Context,
  remote: Caller,
  apiKey: string,
  options: GlobalOptions,
): Promise<Caller> {
  await context.admin({ ...options, create: true })
  const { openStore } = await import('../../../storage/engine/store.js')
  const { sleep } = context
  const store = await openStore(context.home.engine, () => context.clock.now())
  context.onClose(() => store.close())
  const clock = sharedClock(store, context.clock)
  return guardCaller(recorded(context, remote, options), { store, clock, apiKey, sleep })
}

function textOf(kind: 'direct' | 'governed', origin: string, isHome: boolean): string {
  const keys = kind === 'direct' ? 'Keys are passed on.' : 'Keys are those of this workspace.'
  const webhooks = isHome ? ' Deliveries come here first.' : ''
  return `Serving ${origin}, ${kind}. ${keys}${webhooks} Ctrl-C ends it.`
}
