import type { Reply } from '../../../../api/calls/caller.js'
import type { OperationId } from '../../../../api/operations/table.js'
import type { Clock } from '../../../../engine/ports/ports.js'
import type { Run } from '../../../../storage/state/runs/runs.js'
import type { GlobalOptions, Home, Settings, Streams } from '../../../context/context.js'
import type { RemoteTarget, Target } from '../../../target/resolve-target.js'
import type { Databases } from './databases.js'
import type { Files } from './files.js'
import type { Verdict } from './verdict.js'

/** What the checks look at, and all they look at: a test puts something broken in its place. */
export interface Scene {
  /** Version of Node. */
  readonly node: string
  readonly platform: NodeJS.Platform
  /** Id of the user; nothing where the platform has none. */
  readonly user: number | undefined
  readonly env: Streams['env']
  readonly home: Home
  readonly options: GlobalOptions
  readonly clock: Clock
  readonly files: Files
  readonly databases: Databases
  /** Read databases through, however large they are. */
  readonly thorough: boolean
  /** Version of SQLite; throws where it cannot be loaded. */
  sqlite(): Promise<string>
  /** The settings of `config.json`; nothing where they cannot be read. */
  settings(): Settings | undefined
  /** Where requests go; throws a `UsageError` that says why not. */
  target(): Target
  /** A key given with the command or by the environment; throws where its file cannot be used. */
  givenKey(): Promise<string | undefined>
  /** Whether a living process is at a run. */
  isUnderWay(run: Run): Promise<boolean>
  server(target: RemoteTarget): Server
  /** Asks the address at which servers reach this machine; throws an error that says why it is not reached. */
  wayHome(url: string): Promise<WayHome>
}

/** Where a public address leads: to the port for deliveries, to whoever answered with a status; or its port is in use. */
export type WayHome = 'home' | 'busy' | number

/** A server that is asked nothing that costs, and no longer than a few seconds. */
export interface Server {
  /** Its `/health`, asked without a key; throws an error whose message says why it cannot be reached. */
  health(): Promise<Answer>
  /** Calls a free operation with the key; throws where there is no key or no answer. */
  call(id: OperationId): Promise<Reply>
}

/** What came back over HTTP; lower-case names of headers. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** One thing to look at; it answers nothing where there is nothing to say. */
export interface Check {
  readonly name: string
  look(scene: Scene): Promise<readonly Verdict[]> | readonly Verdict[]
}
