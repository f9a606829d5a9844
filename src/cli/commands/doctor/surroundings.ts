import type { Reply } from '../../../api/caller.js'
import type { OperationId } from '../../../api/table.js'
import type { Context, GlobalOptions, Settings } from '../../context.js'
import { givenKey } from '../../credentials.js'
import { type RemoteTarget, targetOf } from '../../target.js'
import { databasesOf } from './databases.js'
import { type Files, realFiles } from './files.js'
import type { Answer, Scene, Server } from './scene.js'

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
    sqlite: async () => (await import('../../../storage/look.js')).sqliteVersion(),
    target: () => targetOf(options, streams.env, settings() ?? {}),
    givenKey: async () => {
      const key = await givenKey(streams, options)
      if (key !== undefined) context.conceal(key)
      return key
    },
    isUnderWay: async (run) => (await import('../../open-runs.js')).isRunning(context, run),
    server: (target) => serverOf(context, target, options),
  }
}

/** The settings of a file; none where it is missing, nothing where it cannot be read. */
export function settingsIn(files: Files, config: string): Settings | undefined {
  if (!files.entry(config)) return {}
  try {
    const value: unknown = JSON.parse(files.text(config))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Most time for one question to a server, in milliseconds. */
const patienceMs = 5_000

function serverOf(context: Context, target: RemoteTarget, options: GlobalOptions): Server {
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

async function healthOf({ streams, onClose }: Context, { baseUrl, origin }: RemoteTarget): Promise<Answer> {
  const { createConnection } = await import('../../../client/connection.js')
  const { proxyOf } = await import('../../../client/proxy.js')
  const base = new URL(baseUrl)
  const connection = createConnection({
    base,
    proxy: proxyOf(base, streams.env),
    ca: undefined,
    connectMs: patienceMs,
    answerMs: patienceMs,
    bodyBytes: 65_536,
    connections: 1,
  })
  onClose(() => connection.close())
  const path = new URL(`${baseUrl.replace(/\/api\/v2\/?$/, '')}/health`, origin).pathname
  const headers = { accept: 'application/json' }
  const answer = await connection.exchange({ method: 'GET', path }, headers, AbortSignal.timeout(patienceMs))
  return { status: answer.status, headers: answer.headers, text: answer.body.toString('utf8') }
}
