import { isObject, resultOr } from '../../../api/values/objects.js'
import type { Clock } from '../../../engine/ports/ports.js'
import type { Run } from '../../../storage/state/runs/runs.js'
import type { Context, GlobalOptions, Home, Settings, Streams } from '../../context/context.js'
import { givenKey } from '../../context/credentials.js'
import { type RemoteTarget, type Target, targetOf } from '../../target/resolve-target.js'
import { type Databases, databasesOf, type Files, realFiles } from './disk.js'
import { askPublicUrl, type CheckedServer, openServer, type PublicUrlAnswer } from './requests.js'
import type { Findings } from './verdict.js'

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
  server(target: RemoteTarget): CheckedServer
  /** Requests this machine's public address. Throws an error with the reason when it cannot be reached. */
  askPublicUrl(url: string): Promise<PublicUrlAnswer>
}

/** One check. */
export interface Check {
  readonly name: string
  run(context: DoctorContext): Promise<Findings> | Findings
}

/** Creates the context of this machine. It creates and changes nothing. */
export function createDoctorContext(context: Context, thorough: boolean): DoctorContext {
  const { streams, home, clock } = context
  const databases = databasesOf(home, realFiles)
  context.onClose(() => databases.close())
  const settings = () => settingsIn(realFiles, home.config)
  return {
    node: process.versions.node,
    platform: process.platform,
    user: process.getuid?.(),
    env: streams.env,
    ...{ home, options: context.globals, clock, databases, thorough, settings },
    files: realFiles,
    sqlite: async () => (await import('../../../storage/database/read-only.js')).sqliteVersion(),
    target: () => targetOf(context.globals, streams.env, settings() ?? {}),
    givenKey: async () => {
      const key = await givenKey(streams, context.globals)
      if (key !== undefined) context.conceal(key)
      return key
    },
    isRunning: async (run) => (await import('../../../batch/run/records.js')).isRunning(context, run),
    server: (target) => openServer(context, target),
    askPublicUrl: (url) => askPublicUrl(context, url),
  }
}

/** Returns the settings in a file: empty when it is missing, `undefined` when it cannot be read. */
function settingsIn(files: Files, config: string): Settings | undefined {
  if (!files.entry(config)) return {}
  const value: unknown = resultOr(undefined, () => JSON.parse(files.text(config)))
  return isObject(value) ? value : undefined
}
