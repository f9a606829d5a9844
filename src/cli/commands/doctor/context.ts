import type { Reply } from '../../../api/calls/caller.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import type { OperationId } from '../../../api/operations/table.js'
import { isObject } from '../../../api/values/objects.js'
import { engineTime } from '../../../engine/clock.js'
import type { Clock, Reads, Store, Workspace } from '../../../engine/ports/ports.js'
import type { Run } from '../../../storage/state/runs/runs.js'
import type {
  ClockContext,
  Context,
  GlobalOptions,
  Home,
  HomeContext,
  Settings,
  Streams,
  StreamsContext,
  TargetContext,
} from '../../context/context.js'
import { givenKey } from '../../context/credentials.js'
import { Stop } from '../../context/errors.js'
import { grouped } from '../../output/text.js'
import { type RemoteTarget, type Target, targetOf } from '../../target/resolve-target.js'
import { usualPort } from '../../wait/receiver.js'
import { type Databases, databasesOf, type Files, realFiles } from './disk.js'

/** Everything that the checks read. Tests replace parts of it with something broken. */
export interface DoctorContext {
  /** Version of Node. */
  readonly node: string
  readonly platform: NodeJS.Platform
  /** Id of the user; `undefined` on platforms without one. */
  readonly user: number | undefined
  readonly env: Streams['env']
  readonly home: Home
  readonly options: GlobalOptions
  readonly clock: Clock
  readonly files: Files
  readonly databases: Databases
  /** Whether large databases are read through, too. */
  readonly thorough: boolean
  /** Returns the version of SQLite. Throws when it cannot be loaded. */
  sqlite(): Promise<string>
  /** Returns the settings in `config.json`; `undefined` when they cannot be read. */
  settings(): Settings | undefined
  /** Returns the chosen target. Throws a `UsageError` with the reason when there is none. */
  target(): Target
  /** Returns the key given with the command or in the environment. Throws when its file cannot be used. */
  givenKey(): Promise<string | undefined>
  /** Whether a process is working on a run. */
  isRunning(run: Run): Promise<boolean>
  server(target: RemoteTarget): Server
  /** Requests this machine's public address. Throws an error with the reason when it cannot be reached. */
  askPublicUrl(url: string): Promise<PublicUrlAnswer>
}

/** `home`: it leads to the port for deliveries. `busy`: that port is in use. A number: the status of another server. */
export type PublicUrlAnswer = 'home' | 'busy' | number

/** A server. Requests to it are free and take a few seconds at most. */
export interface Server {
  /** Requests `/health` without a key. Throws an error with the reason when the server cannot be reached. */
  health(): Promise<Answer>
  /** Calls a free operation with the key. Throws when there is no key or no answer. */
  call(id: OperationId): Promise<Reply>
}

/** An HTTP response, with header names in lower case. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** One check. It returns an empty list when it does not apply. */
export interface Check {
  readonly name: string
  look(scene: DoctorContext): Promise<readonly Verdict[]> | readonly Verdict[]
}

/** A warning can wait. A problem makes commands fail or costs money. */
type Status = 'ok' | 'warning' | 'problem'

/** What a check found. */
export interface Verdict {
  readonly status: Status
  /** One sentence, without keys and secrets. */
  readonly text: string
  /** What to do, as a command or a sentence; null when nothing is needed. */
  readonly hint: string | null
}

/** Returns a result that needs no action. */
export const ok = (text: string, hint: string | null = null): Verdict => ({ status: 'ok', text, hint })

/** Returns a result that can wait. */
export const warning = (text: string, hint: string | null = null): Verdict => ({
  status: 'warning',
  text,
  hint,
})

/** Returns a result that makes commands fail or costs money. */
export const problem = (text: string, hint: string | null = null): Verdict => ({
  status: 'problem',
  text,
  hint,
})

/** Returns the troubles, or `fine` as the only result when there are none. */
export const orElse = (troubles: readonly Verdict[], fine: string): readonly Verdict[] =>
  troubles.length > 0 ? troubles : [ok(fine)]

/** Creates the context of this machine. It creates and changes nothing. */
export function createDoctorContext(
  context: Context,
  options: GlobalOptions,
  thorough: boolean,
): DoctorContext {
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
    sqlite: async () => (await import('../../../storage/database/read-only.js')).sqliteVersion(),
    target: () => targetOf(options, streams.env, settings() ?? {}),
    givenKey: async () => {
      const key = await givenKey(streams, options)
      if (key !== undefined) context.conceal(key)
      return key
    },
    isRunning: async (run) => (await import('../../../batch/run/records.js')).isRunning(context, run),
    server: (target) => serverOf(context, target, options),
    askPublicUrl: (url) => askPublicUrl(context, url),
  }
}

/** Returns the settings in a file: empty when it is missing, `undefined` when it cannot be read. */
function settingsIn(files: Files, config: string): Settings | undefined {
  if (!files.entry(config)) return {}
  try {
    const value: unknown = JSON.parse(files.text(config))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Maximum time for one request to a server. */
const patienceMs = 5_000

function serverOf(
  context: StreamsContext & HomeContext & TargetContext,
  target: RemoteTarget,
  options: GlobalOptions,
): Server {
  // Direct, so that the check leaves no trace in the state of this machine.
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

/** Requests an address once, without a key. */
async function answerOf({ streams, onClose }: StreamsContext & HomeContext, url: URL): Promise<Answer> {
  const { createConnection } = await import('../../../client/connection.js')
  const { proxyOf } = await import('../../../client/proxy.js')
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

/** Listens on the port for deliveries and requests the public address, which should lead there. */
async function askPublicUrl(
  context: StreamsContext & ClockContext & HomeContext,
  url: string,
): Promise<PublicUrlAnswer> {
  const { listen, ListenError } = await import('../../../http/listen.js')
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

/** The engine's state, read only. */
export interface EngineState {
  readonly store: Pick<Store, 'read'>
  /** The workspace in use. */
  readonly workspace: Workspace
  /** Engine time. */
  readonly now: number
}

/** Returns the engine's state; `undefined` when its database is missing or has another schema. */
export async function engineState(scene: DoctorContext): Promise<EngineState | undefined> {
  const driver = await scene.databases.current('engine')
  if (!driver) return undefined
  const { storeOver } = await import('../../../storage/engine/store.js')
  const store = storeOver(driver)
  return await store.read(async (reads) => {
    const workspace = await reads.workspace()
    if (!workspace) return undefined
    return { store, workspace, now: engineTime(await reads.clock(), scene.clock.now()) }
  })
}

/** Runs reads on the engine; returns an empty list when its database cannot be used. */
export async function askEngine<T>(
  scene: DoctorContext,
  work: (reads: Reads, state: EngineState) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const state = await engineState(scene)
  return state ? await state.store.read((reads) => work(reads, state)) : []
}

/** Returns the key stored for an origin, whatever the mode of the file. Throws a `Stop` when the file is damaged. */
export function readStoredKey({ home, files }: DoctorContext, origin: string): string | undefined {
  if (files.entry(home.credentials)?.kind !== 'file') return undefined
  try {
    const { keys } = JSON.parse(files.text(home.credentials)) as { keys: Record<string, { key: string }> }
    return Object.hasOwn(keys, origin) ? keys[origin]?.key : undefined
  } catch {
    // The parser's message could quote a key.
    throw new Stop(
      `${home.credentials} is damaged.`,
      exitCodes.key,
      'Delete it and store the keys again.',
      'key',
    )
  }
}

/** Returns a number with its noun, such as `1 job` or `1,200 deliveries`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${grouped(count)} ${count === 1 ? noun : plural}`
