import type { Caller } from '../../api/calls/caller.js'
import type { Catalogue } from '../../catalogue/catalogue.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { SpreadPorts } from '../../engine/distributed/caller.js'
import type { Clock, Ids } from '../../engine/ports/ports.js'
import type { Worker } from '../../engine/worker/worker.js'

/** The outside world as the command line sees it; tests give their own. */
export interface Streams {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Where SIGINT and SIGTERM are heard; absent where nothing can interrupt. */
  readonly signals?: Pick<NodeJS.Process, 'on' | 'off'>
}

/** Options that every command takes, as given; nothing defaulted. */
export interface GlobalOptions {
  readonly profile?: string
  readonly local?: boolean
  readonly baseUrl?: string
  readonly direct?: boolean
  /** Permits an `http:` server that is not this machine. */
  readonly insecureHttp?: boolean
  /** The server's word for `network` in the names of fields. */
  readonly networkName?: string
  /** The server's word for `premium` in the names of fields. */
  readonly premiumName?: string
  readonly format?: 'table' | 'json' | 'ndjson' | 'csv' | 'tsv' | 'ids'
  readonly json?: boolean
  readonly fields?: string
  readonly output?: string
  readonly quiet?: boolean
  readonly verbose?: boolean
  /** `--no-color` */
  readonly color?: boolean
  /** `--no-input`: false when given. */
  readonly input?: boolean | string
  readonly yes?: boolean
  /** Seconds. */
  readonly timeout?: number
  /** Seconds. */
  readonly maxWait?: number
  readonly apiKeyFile?: string
  readonly apiKeyStdin?: boolean
}

/** Folder and files of this machine's state, all 0600 in folders of 0700. */
export interface Home {
  readonly folder: string
  readonly config: string
  readonly credentials: string
  /** A path, or a `postgres://` address. */
  readonly engine: string
  readonly catalogue: string
  readonly state: string
}

/** A named target with its own defaults. */
export interface Profile {
  readonly target?: 'local' | 'remote'
  readonly base_url?: string
  /** Seconds. */
  readonly timeout?: number
  /** Seconds. */
  readonly max_wait?: number
  /** The plan of the workspace on a remote server. */
  readonly plan?: string
  /** The header of idempotency keys that the server is known to honour, or `none`. */
  readonly idempotency?: string
  readonly network_name?: string
  readonly premium_name?: string
  /** Where a server reaches this machine, for deliveries. */
  readonly public_url?: string
}

/** The settings of this machine, as `config.json` holds them. */
export interface Settings {
  /** The profile in use; `default` when absent. */
  readonly profile?: string
  readonly profiles?: Readonly<Record<string, Profile>>
}

/** The rows of a run that are to be spread. */
export type SpreadRows = Pick<
  SpreadPorts,
  'run' | 'operation' | 'rows' | 'atOnce' | 'apiKey' | 'signal' | 'watches' | 'onWorkers'
>

/** A server that answers rows, and with which key of the shared database they are spread. */
export type Elsewhere = Pick<SpreadPorts, 'caller' | 'source' | 'apiKey'>

/** Everything a command may need, opened when first asked for and closed once at the end. */
export interface Context {
  readonly streams: Streams
  readonly clock: Clock
  readonly ids: Ids
  readonly home: Home
  /** The caller for the chosen target; the first local use creates workspace, member and key, and says so. */
  caller(options: GlobalOptions): Promise<Caller>
  /** The key for the chosen target. */
  apiKey(options: GlobalOptions): Promise<string | undefined>
  /**
   * What the engine's owner may do. The first use creates workspace, member and key like any local command,
   * unless `create` is false (for a command that does it by itself).
   */
  admin(options?: GlobalOptions & { readonly create?: boolean }): Promise<Admin>
  catalogue(): Promise<Catalogue>
  /** A caller for the rows of a run, which the workers that share the engine's database call. */
  spread(run: SpreadRows, options: GlobalOptions): Promise<Caller>
  /** Whether the target is the engine of this machine, so that what it accepts can be done by this process. */
  isLocal(options: GlobalOptions): boolean
  /** Who does what the local target accepts; it is stopped at the end. */
  worker(): Promise<Worker>
  settings(): Settings
  /** One line on stderr, unless `--quiet`. */
  notify(text: string, options: GlobalOptions): void
  /** The text without any key this command has handled. */
  redact(text: string): string
  /** Tells of a secret that this command handles, so that it is never printed. */
  conceal(secret: string): void
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Work to do before the program ends, last added first. */
  onClose(work: () => Promise<void> | void): void
  close(): Promise<void>
}
