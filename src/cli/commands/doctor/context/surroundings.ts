import type { Reply } from '../../../../api/calls/caller.js'
import type { OperationId } from '../../../../api/operations/table.js'
import { isObject } from '../../../../api/values/objects.js'
import type {
  ClockContext,
  Context,
  GlobalOptions,
  HomeContext,
  Settings,
  StreamsContext,
  TargetContext,
} from '../../../context/context.js'
import { givenKey } from '../../../context/credentials.js'
import { type RemoteTarget, targetOf } from '../../../target/resolve-target.js'
import { usualPort } from '../../../wait/receiver.js'
import { databasesOf } from './databases.js'
import { type Files, realFiles } from './files.js'
import type { Answer, Scene, Server, WayHome } from './scene.js'

/** What a command finds around it; nothing is made or changed by looking. */
export function surroundings(context: Context, options: GlobalOptions, thorough: boolean): Scene {
  const { streams, home, clock } = context
  const databases = databasesOf(home, realFiles)
  context.onClose(() => databases.close())
  const settings = () => settingsIn(realFiles, home.config)
  return {
    node: process.versions.node,
    platform: process.platform,
    user: process.getuid?.(),
    env: streams.env,
    ...{ home, options, clock, databases, thorough, settings },
    files: realFiles,
    sqlite: async () => (await import('../../../../storage/database/read-only.js')).sqliteVersion(),
    target: () => targetOf(options, streams.env, settings() ?? {}),
    givenKey: async () => {
      const key = await givenKey(streams, options)
      if (key !== undefined) context.conceal(key)
      return key
    },
    isUnderWay: async (run) => (await import('../../../runs/run-store.js')).isRunning(context, run),
    server: (target) => serverOf(context, target, options),
    wayHome: (url) => wayHome(context, url),
  }
}

/** The settings of a file; none where it is missing, nothing where it cannot be read. */
export function settingsIn(files: Files, config: string): Settings | undefined {
  if (!files.entry(config)) return {}
  try {
    const value: unknown = JSON.parse(files.text(config))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Most time for one question to a server, in milliseconds. */
const patienceMs = 5_000

function serverOf(
  context: StreamsContext & HomeContext & TargetContext,
  target: RemoteTarget,
  options: GlobalOptions,
): Server {
  // Directly: a question of ours is neither counted nor kept on this machine.
  const direct = { ...options, direct: true }
  return {
    health: () => healthOf(context, target),
    call: async (id: OperationId): Promise<Reply> => {
      const apiKey = await context.apiKey(direct)
      const caller = await context.caller(direct)
      return await caller.call(id, {}, { apiKey, signal: AbortSignal.timeout(patienceMs) })
    },
  }
}

const healthOf = (context: StreamsContext & HomeContext, { baseUrl }: RemoteTarget): Promise<Answer> =>
  answerOf(context, new URL(`${baseUrl.replace(/\/api\/v2\/?$/, '')}/health`))

/** Asks an address once, without a key. */
async function answerOf({ streams, onClose }: StreamsContext & HomeContext, url: URL): Promise<Answer> {
  const { createConnection } = await import('../../../../client/connection.js')
  const { proxyOf } = await import('../../../../client/proxy.js')
  const connection = createConnection({
    base: url,
    proxy: proxyOf(url, streams.env),
    ca: undefined,
    connectMs: patienceMs,
    answerMs: patienceMs,
    bodyBytes: 65_536,
    connections: 1,
  })
  onClose(() => connection.close())
  const request = { method: 'GET', path: url.pathname } as const
  const answer = await connection.exchange(
    request,
    { accept: 'application/json' },
    AbortSignal.timeout(patienceMs),
  )
  return { status: answer.status, headers: answer.headers, text: answer.body.toString('utf8') }
}

/** Asks a public address while somebody listens where it should lead: whether the question came home. */
async function wayHome(context: StreamsContext & ClockContext & HomeContext, url: string): Promise<WayHome> {
  const { listen, ListenError } = await import('../../../../http/listen.js')
  const { origin, host, pathname } = new URL(url)
  const path = `${pathname.replace(/\/+$/, '')}/${context.ids.uuid()}`
  let came = false
  const handler = async (request: Request) => {
    came ||= path.endsWith(new URL(request.url).pathname)
    return new Response('{}', { headers: { 'content-type': 'application/json' } })
  }
  try {
    const place = { host: '127.0.0.1', port: usualPort, allowHosts: [host] }
    const listening = await listen({ handler, ...place })
    try {
      const { status } = await answerOf(context, new URL(path, origin))
      return came ? 'home' : status
    } finally {
      await listening.close()
    }
  } catch (error) {
    if (error instanceof ListenError) return 'busy'
    throw error
  }
}
