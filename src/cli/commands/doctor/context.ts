import { isObject, resultOr } from '../../../api/values/objects.js'
import type { Run } from '../../../runs/journal/runs.js'
import type { Context, Settings } from '../../context/context.js'
import { givenKey } from '../../context/credentials.js'
import { type RemoteTarget, targetOf } from '../../target/resolve-target.js'
import { databasesOf, type Files, realFiles } from './disk.js'
import { askPublicUrl, openServer } from './requests.js'
import type { Findings } from './verdict.js'

/** Everything that the checks read. Tests replace parts of it with something broken. */
export type DoctorContext = ReturnType<typeof createDoctorContext>

/** One check. */
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
    sqlite: async () => (await import('../../../storage/database/read-only.js')).sqliteVersion(),
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
