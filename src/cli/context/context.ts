import type { Caller, Layer } from '../../api/calls/caller.js'
import type { WireNames } from '../../api/calls/wire-names.js'
import type { VendorKind } from '../../api/operations/facts.js'
import type { Operation } from '../../api/operations/table.js'
import type { Clock, CommandLog, Ids, Targets } from '../../api/ports/ports.js'
import type { DeliveryShape } from '../../api/webhooks/events.js'
import type { Catalogue } from '../../catalogue/catalogue.js'
import type { Suppressor } from '../../catalogue/suppression/suppressor.js'
import type { Remote } from '../../client/remote.js'
import type { Admin } from '../../engine/admin/admin.js'
import type { Worker } from '../../engine/worker/worker.js'
import type { FormatName } from '../../runs/output/formats.js'
import type { AnswerSource } from '../../runs/ports.js'

/** Standard streams, environment, folder and signals; tests provide their own. */
export interface Streams {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Emits SIGINT and SIGTERM; absent when nothing can interrupt the command. */
  readonly signals?: Pick<NodeJS.Process, 'on' | 'off'>
  /** Returns how long ago the process of the command began, in milliseconds; absent where commands share a process. */
  readonly uptime?: () => number
  /** Returns how the program was installed; absent where it was not, as in tests. */
  readonly installation?: () => Installation
}

/** How the program was installed, such as `with npm`, in which folder, and how to upgrade it. */
export interface Installation {
  readonly how: string
  readonly folder: string
  readonly upgrade: string
}

/** The options of every command, as typed, without defaults. */
export interface GlobalOptions {
  readonly profile?: string
  readonly local?: boolean
  readonly baseUrl?: string
  readonly direct?: boolean
  /** Sends fields that this program does not know to a server, after a warning. No option: `prospect api` does. */
  readonly passesFields?: boolean
  /** Whether calls carry the keys of others, as in a proxy that passes them on. */
  readonly passesKeys?: boolean
  readonly insecureHttp?: boolean
  readonly networkName?: string
  readonly premiumName?: string
  /** The most that the command may cost at data vendors, by their names. */
  readonly maxCost?: Readonly<Record<string, number>>
  readonly accept?: 'valid'
  /** From when on data vendors are not asked again whose answers were lost. No option: `--retry-unknown` sets it. */
  readonly lostBefore?: number
  readonly format?: FormatName
  /** The format on a terminal, of the setting `format`. */
  readonly terminalFormat?: FormatName | undefined
  readonly json?: boolean
  readonly fields?: string
  readonly layout?: string
  readonly jq?: string
  readonly output?: string
  readonly quiet?: boolean
  readonly verbose?: boolean
  /** `--no-color` */
  readonly color?: boolean
  /** `--no-input`: false when given. */
  readonly input?: boolean | string
  readonly yes?: boolean
  readonly timeout?: number
  readonly maxWait?: number
  readonly log?: string
  readonly lock?: string
  readonly apiKeyFile?: string
  readonly apiKeyStdin?: boolean
}

type Place = 'folder' | 'config' | 'credentials' | 'engine' | 'catalogue' | 'state'

/** This machine's folder and files: 0600, in folders of 0700. The engine may be a `postgres://` address. */
export type Home = Readonly<Record<Place, string>>

/** A named target and its defaults. What each setting means is in `profileKeys` of `commands/setup/profiles.ts`. */
export interface Profile {
  readonly target?: 'local' | 'remote'
  readonly base_url?: string
  readonly sync_base_url?: string
  readonly insecure_http?: string
  readonly timeout?: number
  readonly max_wait?: number
  readonly plan?: string
  readonly idempotency?: string
  readonly network_name?: string
  readonly premium_name?: string
  readonly public_url?: string
  readonly max_age?: string
  readonly max_credits?: number
  readonly max_credits_per_day?: number
  readonly format?: FormatName
  readonly concurrency?: number
  readonly pager?: string
  readonly confirm_above?: string
}

export interface Settings {
  /** The profile in use; `default` when absent. */
  readonly profile?: string
  readonly profiles?: Readonly<Record<string, Profile>>
}

export type FileUse = 'read' | 'write'

/** What a command reads and prints. Nothing printed through it contains a key. */
export interface StreamsContext {
  readonly streams: Streams
  readonly globals: GlobalOptions
  /** The log of `--log`; absent without one. */
  log?: CommandLog | undefined
  /** The only folder of the files that options name; absent where all are permitted. */
  readonly root?: string | undefined
  /** The most credits that the command may spend, beside what its run has spent before. */
  readonly moreCredits?: number | undefined
  /** Takes the result of the command, which is printed without it. */
  readonly take?: ((result: unknown) => void) | undefined
  /** Writes one line to stderr, unless `--quiet`. */
  notify(text: string): void
  /** Returns the text without the keys this command has handled. */
  redact(text: string): string
  /** Adds a secret that `redact` removes from now on. */
  conceal(secret: string): void
  /** Throws a Refusal where an option may not write to a path, or read it. `option` names the option in errors. */
  claimFile(path: string, option: string, use?: FileUse): void
}

/** What a command has without its target: streams, time and randomness, and this machine's files. */
export interface Machine extends StreamsContext {
  readonly clock: Clock
  readonly ids: Ids
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  readonly home: Home
  /** Creates the folders of the home (0700). Throws Stop where others could read or change files in them. */
  prepareHome(): void
  settings(): Settings
  /** Adds work for the end of the command; the last added runs first. */
  onClose(work: () => Promise<void> | void): void
}

/** What a new workspace is for: practice, with credits; own data; or what is stored in it, such as members of a proxy. */
export type WorkspaceUse = 'practice' | 'own' | 'records'

/** Everything a command may need. Target and engine are opened on first use, and closed with the command. */
export interface Context extends Machine {
  /** Opens the chosen target. */
  caller(): Promise<Caller>
  /** Returns what keeps out whom the chosen target suppresses; `undefined` where that is nobody. */
  suppressor(): Promise<Suppressor | undefined>
  /** Opens the chosen server, without the layers of this machine. */
  server(): Promise<OpenedServer>
  /** Throws a Refusal where the target is this machine's engine, which has no workspace yet. */
  apiKey(): Promise<string | undefined>
  /** Whether this process can do the work that the target accepts, because the target is this machine's engine. */
  isLocal(): boolean
  /** With `create`, makes a workspace with a member and a key where there is none, and reports it. */
  admin(options?: { readonly create: WorkspaceUse }): Promise<Admin>
  /** Whether the chosen target can answer: a server always, this machine's engine once it has a workspace. Creates nothing. */
  isSetUp(): Promise<boolean>
  catalogue(): Promise<Catalogue>
  /** `undefined` where it is not known. `member` is the owner of the key where the caller knows it. */
  source(member?: string): Promise<AnswerSource | undefined>
  notifySource(member?: string): Promise<void>
  /** Says how many matches of the last search are samples, where this machine has them beside own data. */
  notifySamples(): Promise<void>
  /** Returns an operation as the chosen target charges and counts it, as far as this machine knows. */
  priced(operation: Operation): Promise<Operation>
  /** Throws a Refusal (exit 2) where this machine is asked and has no records that one of the operations could find. */
  requireRecords(rows: readonly Operation[]): Promise<void>
  /** Whether the chosen target asks data vendors of its workspace (for one of these kinds), as far as this machine knows. */
  hasVendors(kinds?: readonly VendorKind[]): Promise<boolean>
  /** Returns the columns of files that its data vendors are asked with for these kinds. */
  vendorColumns(kinds: readonly VendorKind[]): Promise<readonly string[]>
  /** Returns the worker of the local target. It is stopped with the command. */
  worker(): Promise<Worker>
  /** Returns the same context with some global options changed; `undefined` takes one away. */
  withGlobals(change: { readonly [Name in keyof GlobalOptions]?: GlobalOptions[Name] | undefined }): Context
  /** Returns the same context with another database for the engine, or other options. It closes with this one. */
  withDatabase(database: string, options?: TargetOptions): Context
  close(): Promise<void>
}

/** A server, and the layers that pace it and keep its idempotency keys. There are none with `--direct`. */
export interface OpenedServer {
  readonly remote: Remote
  /** Opens a caller for a proxy, which hands back the bytes of each reply. */
  openForProxy(): Caller
  readonly governed: readonly Layer[]
}

/** How the engine of a database serves and delivers, where that differs from the usual. */
export interface TargetOptions {
  /** Returns the addresses a workspace of that many members may deliver to, besides public ones. */
  readonly targets?: ((members: number) => Targets) | undefined
  /** Other words for `network` and `premium` in what the engine delivers. */
  readonly names?: WireNames | undefined
  /** How the engine's deliveries carry their records; nested by default. */
  readonly deliveryShape?: DeliveryShape | undefined
}

/** Returns the version in package.json, which the build inserts here. */
export async function version(): Promise<string> {
  const { default: manifest } = await import('../../../package.json', { with: { type: 'json' } })
  return manifest.version
}
