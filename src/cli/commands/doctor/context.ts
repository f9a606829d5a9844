import type { Reply } from '../../../api/calls/caller.js'
import { Refusal } from '../../../api/calls/errors.js'
import type { OperationId } from '../../../api/operations/table.js'
import { isObject, resultOr } from '../../../api/values/objects.js'
import type { Run } from '../../../runs/journal/runs.js'
import type { Context, Settings } from '../../context/context.js'
import { givenKey } from '../../context/credentials.js'
import { formatNumber } from '../../output/text.js'
import { type RemoteTarget, targetOf } from '../../target/resolve-target.js'
import { deliveriesPort } from '../../wait/run-remote.js'
import { databasesOf, type Files, realFiles } from './disk.js'

/** Everything that the checks read. Tests replace parts of it with something broken. */
export type DoctorContext = ReturnType<typeof createDoctorContext>

export interface Check {
  readonly name: string
  run(context: DoctorContext): Promise<Findings> | Findings
}

/** Creates the context of this machine. It creates and changes nothing. `thorough`: large databases are read through, too. */
export function createDoctorContext(context: Context, thorough: boolean) {
  const { streams, home, clock } = context
  const databases = databasesOf(home, realFiles)
  context.onClose(() => databases.close())
  const settings = () => settingsIn(realFiles, home.config)
  return {
    node: process.versions.node,
    platform: process.platform,
    /** Id of the user; `undefined` on platforms without one. */
    user: process.getuid?.(),
    env: streams.env,
    ...{ home, options: context.globals, clock, databases, thorough },
    files: realFiles,
    /** Returns the version of SQLite. Throws when it cannot be loaded. */
    sqlite: async () => (await import('../../../storage/database/database-file.js')).sqliteVersion(),
    settings,
    /** Returns the chosen target. Throws a `UsageError` with the reason when there is none. */
    target: () => targetOf(context.globals, streams.env, settings() ?? {}),
    /** Returns the key given with the command or in the environment. Throws when its file cannot be used. */
    givenKey: async () => {
      const key = await givenKey(streams, context.globals)
      if (key !== undefined) context.conceal(key)
      return key
    },
    isRunning: async (run: Run) => (await import('../../../runs/records.js')).isRunning(context, run),
    server: (target: RemoteTarget) => openServer(context, target),
    askPublicUrl: (url: string) => askPublicUrl(context, url),
  }
}

/** Returns the settings in a file: empty when it is missing, `undefined` when it cannot be read. */
function settingsIn(files: Files, config: string): Settings | undefined {
  if (!files.entry(config)) return {}
  const value: unknown = resultOr(undefined, () => JSON.parse(files.text(config)))
  return isObject(value) ? value : undefined
}

/** A warning can wait. A problem makes commands fail or costs money. */
type Status = 'ok' | 'warning' | 'problem'

export interface Verdict {
  readonly status: Status
  /** One sentence, without keys and secrets. */
  readonly text: string
  /** What to do, as a command or a sentence; null when nothing is needed. */
  readonly hint: string | null
}

/** What a check found: one result, several, or none when it does not apply. */
export type Findings = Verdict | readonly Verdict[]

const verdict =
  (status: Status) =>
  (text: string, hint: string | null = null): Verdict => ({ status, text, hint })

export const ok = verdict('ok')

export const warning = verdict('warning')

export const problem = verdict('problem')

/** Returns the troubles, or `fine` as the only result when there are none. */
export const orElse = (troubles: readonly Verdict[], fine: string): readonly Verdict[] =>
  troubles.length > 0 ? troubles : [ok(fine)]

export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${formatNumber(count)} ${count === 1 ? noun : plural}`

/** `home`: it leads to the port for deliveries. `busy`: that port is in use. A number: the status of another server. */
export type PublicUrlAnswer = 'home' | 'busy' | number

/** A server. Requests to it are free and take a few seconds at most. */
export interface CheckedServer {
  /** Requests `/health` without a key. Throws an error with the reason when the server cannot be reached. */
  health(): Promise<ServerAnswer>
  /** Calls a free operation with the key. Throws when there is no key or no answer. */
  call(id: OperationId): Promise<Reply>
}

/** An HTTP response, with header names in lower case. */
export interface ServerAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

const timeoutMs = 5_000

function openServer(context: Context, target: RemoteTarget): CheckedServer {
  // Direct, so that the check leaves no trace in the state of this machine.
  const direct = context.withGlobals({ direct: true })
  return {
    health: () => fetchOnce(context, new URL(`${target.baseUrl.replace(/\/api\/v2\/?$/, '')}/health`)),
    call: async (id: OperationId): Promise<Reply> => {
      const apiKey = await direct.apiKey()
      const caller = await direct.caller()
      return await caller.call(id, {}, { apiKey, signal: AbortSignal.timeout(timeoutMs) })
    },
  }
}

/** Requests an address once, without a key. */
async function fetchOnce({ streams, clock, onClose }: Context, url: URL): Promise<ServerAnswer> {
  const { createConnection } = await import('../../../client/connection.js')
  const { proxyOf } = await import('../../../client/connection.js')
  const connection = createConnection({
    base: url,
    proxy: proxyOf(url, streams.env),
    ca: undefined,
    connectMs: timeoutMs,
    answerMs: timeoutMs,
    bodyBytes: 65_536,
    connections: 1,
    now: () => clock.now(),
  })
  onClose(() => connection.close())
  const request = { method: 'GET', path: url.pathname } as const
  const answer = await connection.exchange(
    request,
    { accept: 'application/json' },
    AbortSignal.timeout(timeoutMs),
  )
  return { status: answer.status, headers: answer.headers, text: Buffer.from(answer.body).toString() }
}

export async function askPublicUrl(context: Context, url: string): Promise<PublicUrlAnswer> {
  const { listen } = await import('../../../http/listen.js')
  const { origin, host, pathname } = new URL(url)
  const path = `${pathname.replace(/\/+$/, '')}/${context.ids.uuid()}`
  let came = false
  const handler = async (request: Request) => {
    came ||= path.endsWith(new URL(request.url).pathname)
    return new Response('{}', { headers: { 'content-type': 'application/json' } })
  }
  try {
    const place = { host: '127.0.0.1', port: deliveriesPort, allowHosts: [host] }
    const listening = await listen({ handler, ...place })
    try {
      const { status } = await fetchOnce(context, new URL(path, origin))
      return came ? 'home' : status
    } finally {
      await listening.close()
    }
  } catch (error) {
    if (error instanceof Refusal) return 'busy'
    throw error
  }
}
