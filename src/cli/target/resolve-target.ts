import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { WireNames } from '../../api/calls/wire-names.js'
import { isOwnMachine, parseUrl } from '../../api/values/url.js'
import type { TargetNames } from '../../batch/run/ports.js'
import type {
  GlobalOptions,
  Home,
  HomeContext,
  Profile,
  Settings,
  Streams,
  StreamsContext,
  TargetContext,
} from '../context/context.js'
import { UsageError } from '../context/errors.js'
import { profileOf } from '../context/settings.js'

/** What every base address ends in: the version of the API. */
const ending = '/api/v2'

/**
 * Reads the base address of a server, without a slash at its end. What is wrong with it ends the command with exit 2 and
 * the corrected address; `source` names where it was given.
 */
export function baseUrlOf(text: string, source: string, insecure = false): URL {
  const url = parseUrl(text)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.hostname === '')
    throw new UsageError(`${source} takes an https address.`, 'Such as https://api.example.com/api/v2')
  if (url.username !== '' || url.password !== '')
    throw new UsageError(
      `${source} must not hold a user or password.`,
      `Write ${corrected(url)} and give the key as any other.`,
    )
  if (
    url.search !== '' ||
    url.hash !== '' ||
    /[?#]/.test(text) ||
    !url.pathname.replace(/\/$/, '').endsWith(ending)
  )
    throw new UsageError(`${source} must end in ${ending}.`, `Write ${corrected(url)}`)
  if (url.protocol === 'http:' && !insecure && !isOwnMachine(url))
    throw new UsageError(
      `${source} is an http address: the key and the data could be read on the way.`,
      'Use its https address, or add --insecure-http where nobody else is on the way.',
    )
  url.pathname = url.pathname.replace(/\/$/, '')
  return url
}

/** The address that was probably meant. */
function corrected({ origin, pathname }: URL): string {
  const before = pathname.split(/\/api(?:\/|$)/)[0] ?? ''
  return origin + before.replace(/\/+$/, '') + ending
}

/** Limits that hold for whatever the target is. */
interface Limits {
  /** Seconds a request may take. */
  readonly timeout?: number
  /** Seconds a rate limit is waited for. */
  readonly maxWait?: number
}

/** The engine of this machine. */
export interface LocalTarget extends Limits {
  readonly kind: 'local'
}

/** A server. */
export interface RemoteTarget extends Limits {
  readonly kind: 'remote'
  /** Ends in `/api/v2`. */
  readonly baseUrl: string
  /** What a stored key is bound to. */
  readonly origin: string
  /** Nothing is kept between the command and the server. */
  readonly direct: boolean
  readonly names?: WireNames
  /** The plan whose windows are kept to; what the server says of them corrects it. */
  readonly plan?: string
  /** The header of idempotency keys that the server is known to honour, or `none`. */
  readonly idempotency?: string
  /** Where it reaches this machine. */
  readonly publicUrl?: string
}

/** Where requests go. */
export type Target = LocalTarget | RemoteTarget

/** Chooses the target: `--local`, else the option, else the environment, else the profile, else local. */
export function targetOf(options: GlobalOptions, env: Streams['env'], settings: Settings): Target {
  const profile = profileOf(settings, options.profile ?? env.PROSPECT_PROFILE)
  const limits: Limits = {
    ...(profile.timeout === undefined ? {} : { timeout: profile.timeout }),
    ...(profile.max_wait === undefined ? {} : { maxWait: profile.max_wait }),
  }
  const url = options.local ? undefined : addressOf(options, env, profile)
  if (url) return { ...remoteOf(url, options, profile), ...limits }
  if (options.direct)
    throw new UsageError('--direct is about a remote server, and the target is the local engine.')
  return { kind: 'local', ...limits }
}

/** The base address meant; nothing for the local engine. */
function addressOf(options: GlobalOptions, env: Streams['env'], profile: Profile): URL | undefined {
  const insecure = options.insecureHttp === true
  if (options.baseUrl !== undefined) return baseUrlOf(options.baseUrl, '--base-url', insecure)
  if (env.PROSPECT_BASE_URL) return baseUrlOf(env.PROSPECT_BASE_URL, 'PROSPECT_BASE_URL', insecure)
  if (profile.target === 'local') return undefined
  if (profile.base_url !== undefined) return baseUrlOf(profile.base_url, 'base_url of the profile', insecure)
  if (profile.target === 'remote')
    throw new UsageError(
      'The profile is for a remote server and has no base_url.',
      'Set it: prospect config set base_url https://api.example.com/api/v2',
    )
  return undefined
}

function remoteOf(url: URL, options: GlobalOptions, profile: Profile): RemoteTarget {
  const names = namesOf(options, profile)
  return {
    kind: 'remote',
    baseUrl: url.href,
    origin: url.origin,
    direct: options.direct === true,
    ...(names === undefined ? {} : { names }),
    ...(profile.plan === undefined ? {} : { plan: profile.plan }),
    ...(profile.idempotency === undefined ? {} : { idempotency: profile.idempotency }),
    ...(profile.public_url === undefined ? {} : { publicUrl: profile.public_url }),
  }
}

/** The server's words for `network` and `premium`, where it has others. */
export function namesOf(
  options: Pick<GlobalOptions, 'networkName' | 'premiumName'>,
  profile: Pick<Profile, 'network_name' | 'premium_name'>,
): WireNames | undefined {
  const network = options.networkName ?? profile.network_name ?? 'network'
  const premium = options.premiumName ?? profile.premium_name ?? 'premium'
  return network === 'network' && premium === 'premium' ? undefined : { network, premium }
}

/**
 * Whether the key in the environment may go to an origin: not where the environment names another server, whose key it
 * then is.
 */
export function isKeyFor(origin: string, env: Streams['env']): boolean {
  const named = parseUrl(env.PROSPECT_BASE_URL ?? '')
  return !named || named.origin === origin
}

const own = 'local'

/** The name of a target on record; an engine keeps it wherever its state is moved, but for that of this machine. */
export async function targetName(
  context: StreamsContext & HomeContext & TargetContext,
  options: GlobalOptions,
): Promise<string> {
  const target = targetOf(options, context.streams.env, context.settings())
  if (target.kind === 'remote') return target.baseUrl
  return isOwn(context.home) ? own : named(context, await engineOf(context, options))
}

/** The same, with the names that an engine has had at other places. */
export async function targetNames(
  context: StreamsContext & HomeContext & TargetContext,
  options: GlobalOptions,
): Promise<TargetNames> {
  if (!context.isLocal(options)) return { name: await targetName(context, options), formerly: [] }
  const { home } = context
  if (isOwn(home)) {
    // A state that came back from a server is this machine's again.
    const engine = existsSync(home.engine) ? await engineOf(context, { create: false }) : undefined
    return engine === undefined
      ? { name: own, formerly: [] }
      : { name: own, engine, formerly: [{ target: `${own} ${engine}` }] }
  }
  const engine = await engineOf(context, options)
  const name = named(context, engine)
  if (engine === undefined) return { name, formerly: [] }
  const isMoved = (await engineAt(besides(home))) === engine
  return {
    name,
    engine,
    formerly: [{ target: placeName(home) }, isMoved ? { target: own } : { target: own, engine }],
  }
}

const besides = ({ catalogue }: Home): string => join(dirname(catalogue), 'engine.db')

const isOwn = (home: Home): boolean => home.engine === besides(home)

const named = ({ home }: HomeContext, engine: string | undefined): string =>
  engine === undefined ? placeName(home) : `${own} ${engine}`

/** What an engine at another place was called before it was known by what is in it. */
const placeName = ({ engine }: Home): string => `${own} ${digest(withoutSecrets(engine))}`

/** The same place, whoever asks for it and with whatever password. */
const withoutSecrets = (location: string): string =>
  location.replace(/^(postgres(?:ql)?:\/\/)[^/@]*@/, '$1').replace(/(?<=[?&])(?:user|password)=[^&]*/g, '')

/** What an engine is known by: its first workspace, which goes with it wherever its state is moved. */
async function engineOf(
  context: TargetContext,
  options: GlobalOptions & { readonly create?: boolean },
): Promise<string | undefined> {
  const [first] = await (await context.admin(options)).workspaces()
  return first && engineName(first.id, first.createdAt)
}

/** The same of the file of an engine that is only looked at. */
async function engineAt(path: string): Promise<string | undefined> {
  if (!existsSync(path)) return undefined
  try {
    const look = (await import('../../storage/database/read-only.js')).openReadOnly(path)
    const first = await look.driver
      .read((reads) => reads.get<{ id: string; at: number }>(firstSql))
      .finally(() => look.driver.close())
    return first && engineName(first.id, first.at)
  } catch {
    // Whatever is wrong with it is told where it is used.
    return undefined
  }
}

const firstSql = 'SELECT id, created_at AS at FROM workspaces ORDER BY created_at, name LIMIT 1'

const engineName = (id: string, createdAt: number): string => digest(JSON.stringify([id, createdAt]))

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8)

/** The name that spending is counted under. */
export const profileName = (
  { streams, settings }: StreamsContext & HomeContext,
  options: GlobalOptions,
): string => options.profile ?? streams.env.PROSPECT_PROFILE ?? settings().profile ?? 'default'
