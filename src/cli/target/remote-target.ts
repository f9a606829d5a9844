import { exitCodes } from '../../api/calls/exit-codes.js'
import type { OperationId } from '../../api/operations/table.js'
import { lazily, once } from '../../api/values/once.js'
import type { ServerMemory } from '../../storage/state/remote-servers.js'
import type { GlobalOptions, Machine, OpenedServer } from '../context/context.js'
import { storedKeyOf } from '../context/credentials.js'
import { Stop } from '../context/errors.js'
import { openEvents, openStateOf } from '../context/open-databases.js'
import { version } from '../context/version.js'
import { isKeyFor, type RemoteTarget } from './resolve-target.js'

/** What a remote target needs. */
type RemotePorts = Machine & {
  /** Returns the key given with the command: in a file, on stdin or in the environment. */
  readonly givenKey: (options: GlobalOptions) => Promise<string | undefined>
}

/** Creates the remote target of a command. Opens nothing yet. */
export const createRemoteServer = (ports: RemotePorts) => ({
  open: once((target: RemoteTarget) => open(ports, target)),
  /** Returns the key for the target. Throws Stop (exit 3) where there is none. */
  key: (target: RemoteTarget, options: GlobalOptions) => keyFor(ports, target, options),
})

async function open(ports: RemotePorts, target: RemoteTarget): Promise<OpenedServer> {
  const { streams, clock, ids, sleep, onClose } = ports
  const { createRemote, withSyncServer } = await import('../../client/remote.js')
  const memory = target.direct ? undefined : lazyMemory(ports, target)
  const options = {
    ...{ clock, ids, sleep, env: streams.env, random: Math.random },
    names: target.names,
    idempotency: target.idempotency,
    version: await version(),
  }
  const { baseUrl, syncBaseUrl } = target
  const openForProxy = (passOn?: Parameters<OpenedServer['openForProxy']>[0]) => {
    const main = createRemote({ ...options, baseUrl, remembered: memory, passOn })
    const sync = syncBaseUrl && createRemote({ ...options, baseUrl: syncBaseUrl, sync: true, passOn })
    const remote = sync ? withSyncServer(main, sync, (key) => syncKey(ports, target, key)) : main
    onClose(() => remote.close())
    return remote
  }
  const remote = openForProxy()
  const onPassed = target.passesFields
    ? (text: string) => ports.notify(`${text}. It is sent as it is.`)
    : undefined
  const check = { names: target.names, onPassed }
  if (!memory) {
    const { checkedFields } = await import('../../client/checked-fields.js')
    return { remote, openForProxy, governed: [checkedFields(check)] }
  }
  const { governed } = await import('../../client/governed.js')
  const { origin, plan } = target
  const onAgain = () => ports.notify(sentAgain)
  const observed = syncBaseUrl !== undefined
  const keepUnusable = (id: OperationId, text: string) => storeUnusable(ports, target, id, text)
  return {
    remote,
    openForProxy,
    governed: governed({
      ...check,
      ...{ memory, origin, plan, observed, ids, clock },
      onAgain,
      keepUnusable,
    }),
  }
}

const sentAgain =
  'An earlier attempt of this call has no known outcome. Sending it again with the same idempotency key, so it is paid once.'

/** Stores an answer that cannot be used as an event, and says where it is. */
async function storeUnusable(
  { home, clock, ids, onClose, notify }: RemotePorts,
  { origin }: RemoteTarget,
  operation: OperationId,
  body: string,
): Promise<void> {
  const id = ids.uuid()
  await (await openEvents({ home, onClose })).keepUnusable({
    ...{ id, receivedAt: clock.now(), body },
    headers: { server: origin, operation },
  })
  notify(
    `The server's answer could not be read and may have been charged. It is stored: prospect events show ${id}`,
  )
}

/** Returns the key for the synchronous address: the call's own at the same origin, otherwise the profile's for it. */
async function syncKey(
  { home, conceal }: RemotePorts,
  { origin, profile, syncBaseUrl = '' }: RemoteTarget,
  apiKey: string | undefined,
): Promise<string | undefined> {
  const other = new URL(syncBaseUrl).origin
  if (other === origin) return apiKey
  const key = storedKeyOf(home, { origin: other, profile })
  if (key === undefined)
    throw new Stop(
      `There is no API key for ${other}, the address of the synchronous waterfall.`,
      exitCodes.key,
      'Store one: prospect login --sync',
      'key',
    )
  conceal(key)
  return key
}

/** Returns what this machine remembers of a server. It is opened on first use. */
function lazyMemory({ home, onClose }: RemotePorts, { origin }: RemoteTarget): ServerMemory {
  const open = async (options: { readonly durable?: boolean }) => {
    const { serverMemory } = await import('../../storage/state/remote-servers.js')
    return serverMemory(await openStateOf({ home, onClose }, undefined, options), origin)
  }
  const memory = once(() => open({}))
  // Rate windows need not be durable: after a power cut they have ended.
  const windows = once(() => open({ durable: false }))
  return lazily((name) => (name === 'windows' || name === 'change' ? windows() : memory()))
}

/**
 * Returns the key for a server: the one given with the command, else that of the environment where it is not another
 * server's, else the one that the profile has stored for this very origin.
 */
async function keyFor(
  { streams, home, givenKey }: RemotePorts,
  target: RemoteTarget,
  options: GlobalOptions,
): Promise<string> {
  const { origin, profile } = target
  const isGiven = options.apiKeyFile !== undefined || options.apiKeyStdin === true
  const mayGo = isGiven || isKeyFor(origin, streams.env)
  const key = (mayGo ? await givenKey(options) : undefined) ?? storedKeyOf(home, target)
  if (key !== undefined) return key
  const others = streams.env.PROSPECT_API_KEY
    ? ' PROSPECT_API_KEY goes to the server in PROSPECT_BASE_URL only.'
    : ''
  throw new Stop(
    `There is no API key for ${origin}.${others}`,
    exitCodes.key,
    `Store one: prospect login${profile === 'default' ? '' : ` --profile ${profile}`} --base-url ${origin}/api/v2, or give one with --api-key-file FILE.`,
    'key',
  )
}
