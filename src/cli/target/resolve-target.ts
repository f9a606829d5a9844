import { Refusal } from '../../api/calls/errors.js'
import type { WireNames } from '../../api/calls/wire-names.js'
import { withoutUndefined } from '../../api/values/objects.js'
import { isOwnMachine, parseUrl } from '../../api/values/url.js'
import { engineName, localName, toWorkspaceName } from '../../runs/target-name.js'
import type { Context, GlobalOptions, Profile, Settings, Streams } from '../context/context.js'
import { findStoredKey } from '../context/credentials.js'
import { profileOf } from '../context/home.js'

/** The end of every base address: the version of the API. */
const ending = '/api/v2'

/** Throws a Refusal with the corrected address; `source` names where it was given. */
export function baseUrlOf(text: string, source: string, insecure = false): URL {
  const url = parseUrl(text)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.hostname === '')
    throw new Refusal('usage.server_https', { source })
  if (url.username !== '' || url.password !== '')
    throw new Refusal('usage.server_password', { source, correct: correctUrl(url) })
  // Another version, or the version alone, is another API: to correct the address would promise too much.
  if (/\/v\d/.test(url.pathname) && !/\/api\/v2(?:\/|$)/.test(url.pathname))
    throw new Refusal('usage.server_other_api', {
      source,
      ending,
      correct: correctUrl(url),
      sync: syncHint(url),
    })
  if (
    url.search !== '' ||
    url.hash !== '' ||
    /[?#]/.test(text) ||
    !url.pathname.replace(/\/$/, '').endsWith(ending)
  )
    throw new Refusal('usage.server_ending', { source, ending, correct: correctUrl(url) })
  if (url.protocol === 'http:' && !insecure && !isOwnMachine(url))
    throw new Refusal('usage.server_http', { source })
  url.pathname = url.pathname.replace(/\/$/, '')
  return url
}

/** The addresses of servers over one database, the first of which names them and their key. */
type Urls = readonly [URL, ...URL[]]

/** Reads addresses that have commas between them. Throws a Refusal, also for the same one twice. */
export const baseUrlsOf = (text: string, source: string, insecure = false): Urls =>
  urlsIn(text, source, (one, which) => baseUrlOf(one, which, insecure))

/** They end in `/v2`. Throws a Refusal. */
export const syncBaseUrlsOf = (text: string, insecure = false): Urls =>
  urlsIn(text, 'sync_base_url', (one, which) => syncBaseUrlOf(one, which, insecure))

function urlsIn(text: string, source: string, read: (text: string, source: string) => URL): Urls {
  const [first = '', ...others] = text.split(',').map((one) => one.trim())
  if (others.length === 0) return [read(first, source)]
  const nameOf = (at: number) => `Address ${at + 1} of ${source}`
  const urls = [first, ...others].map((one, at) => {
    if (one !== '') return read(one, nameOf(at))
    throw new Refusal('usage.server_empty', { name: nameOf(at) })
  })
  const twice = urls.find(({ href }, at) => urls.findIndex((one) => one.href === href) < at)
  if (twice) throw new Refusal('usage.server_twice', { source, href: twice.href })
  return urls as unknown as Urls
}

function syncBaseUrlOf(text: string, source: string, insecure: boolean): URL {
  const path = parseUrl(text)?.pathname.replace(/\/$/, '') ?? ''
  if (!path.endsWith('/v2') || path.endsWith(ending))
    throw new Refusal('usage.server_sync_ending', { source })
  const url = baseUrlOf(text.replace(/\/v2\/?$/, ending), source, insecure)
  url.pathname = path
  return url
}

function correctUrl({ origin, pathname }: URL): string {
  const before = pathname.split(/\/(?:api|v\d[^/]*)(?:\/|$)/)[0] ?? ''
  return origin + before.replace(/\/+$/, '') + ending
}

const syncHint = ({ pathname }: URL): string =>
  /(?<!\/api)\/v2\/?$/.test(pathname)
    ? '. An address that ends in /v2 alone may be that of the synchronous waterfall: prospect config set sync_base_url URL'
    : ''

/** Where requests go: the engine of this machine, or a server. */
export type Target = ReturnType<typeof targetOf>

export type RemoteTarget = Extract<Target, { readonly kind: 'remote' }>

/** Chooses the target: `--local`, else the option, else the environment, else the profile, else local. */
export function targetOf(options: GlobalOptions, env: Streams['env'], settings: Settings) {
  const profile = profileOf(settings, options.profile ?? env.PROSPECT_PROFILE)
  // In seconds: for a request, and for a rate limit.
  const limits = withoutUndefined({ timeout: profile.timeout, maxWait: profile.max_wait })
  const urls = options.local ? undefined : addressesOf(options, env, profile)
  if (!urls) {
    if (options.direct) throw new Refusal('usage.direct_local')
    return { kind: 'local' as const, ...limits }
  }
  const [{ href, origin }, ...others] = urls
  const syncUrls = syncUrlsOf(urls, options, profile)
  return {
    kind: 'remote' as const,
    /** Ends in `/api/v2`. */
    baseUrl: href,
    /** Where the same database is served, too. Its name and its key are those of the first address. */
    otherUrls: others.map((other) => other.href),
    /** The origin that a stored key is bound to. */
    origin,
    /** The origins that get the key. */
    origins: originsOf(urls),
    profile: profileNameOf(options, env, settings),
    /** Whether calls bypass this machine's ledger, pacing and keys. */
    direct: options.direct === true,
    /** Whether fields that this program does not know are sent, after a warning. */
    passesFields: options.direct === true || options.passesFields === true,
    ...limits,
    ...withoutUndefined({
      /** The addresses of its synchronous waterfall; they end in `/v2`. */
      syncUrls: syncUrls?.map((one) => one.href),
      syncOrigins: syncUrls && originsOf(syncUrls),
      names: namesOf(options, profile),
      /** The plan whose rate windows apply. Headers of the server correct them. */
      plan: profile.plan,
      /** The header of idempotency keys that the server is known to honour, or `none`. */
      idempotency: profile.idempotency,
      publicUrl: profile.public_url,
    }),
  }
}

export const targetIn = ({ globals, streams, settings }: Context): Target =>
  targetOf(globals, streams.env, settings())

/** Returns the chosen base addresses; `undefined` for the local engine. */
function addressesOf(options: GlobalOptions, env: Streams['env'], profile: Profile) {
  const insecure = options.insecureHttp === true
  if (options.baseUrl !== undefined) return baseUrlsOf(options.baseUrl, '--base-url', insecure)
  if (env.PROSPECT_BASE_URL) return baseUrlsOf(env.PROSPECT_BASE_URL, 'PROSPECT_BASE_URL', insecure)
  if (profile.target === 'local') return undefined
  if (profile.base_url !== undefined)
    return baseUrlsOf(profile.base_url, 'base_url of the profile', isInsecure(options, profile))
  if (profile.target === 'remote') throw new Refusal('usage.no_base_url')
  return undefined
}

/** Whether the addresses of a profile may be http. The setting is about no others. */
const isInsecure = ({ insecureHttp }: GlobalOptions, { insecure_http }: Profile): boolean =>
  insecureHttp === true || insecure_http === 'yes'

/** Those of a profile belong to its server. Keys of others, which a proxy passes on, stay with the origins they were sent for. */
function syncUrlsOf(urls: Urls, options: GlobalOptions, profile: Profile): Urls | undefined {
  const { base_url, sync_base_url } = profile
  if (sync_base_url === undefined || originsIn(base_url)[0] !== urls[0].origin) return undefined
  const found = syncBaseUrlsOf(sync_base_url, isInsecure(options, profile))
  return options.passesKeys && !areAmong(originsOf(found), originsOf(urls)) ? undefined : found
}

/** Returns the server's words for `network` and `premium`; `undefined` where they are the same. */
export function namesOf(
  options: Pick<GlobalOptions, 'networkName' | 'premiumName'>,
  profile: Pick<Profile, 'network_name' | 'premium_name'>,
): WireNames | undefined {
  const network = options.networkName ?? profile.network_name ?? 'network'
  const premium = options.premiumName ?? profile.premium_name ?? 'premium'
  return network === 'network' && premium === 'premium' ? undefined : { network, premium }
}

const originsOf = (urls: readonly URL[]): readonly string[] => [...new Set(urls.map(({ origin }) => origin))]

/** Returns the origins of addresses that have commas between them; what is none is left out. */
const originsIn = (addresses = ''): readonly string[] =>
  originsOf(addresses.split(',').flatMap((one) => parseUrl(one.trim()) ?? []))

export const areAmong = (some: readonly string[], all: readonly string[]): boolean =>
  some.every((one) => all.includes(one))

/** Not where the environment names other servers, whose key it then is. */
export function isKeyFor(origins: readonly string[], env: Streams['env']): boolean {
  const named = originsIn(env.PROSPECT_BASE_URL)
  return named.length === 0 || areAmong(origins, named)
}

/** Returns the origins that the profile of a target names beside its first one; none where it is for another server. */
export function profileOrigins({ profile, origin }: RemoteTarget, settings: Settings): readonly string[] {
  const named = originsIn(profileOf(settings, profile).base_url)
  return named[0] === origin ? named : []
}

/** Returns all addresses of a target as they are given. */
export const addressesText = ({ baseUrl, otherUrls }: RemoteTarget): string => [baseUrl, ...otherUrls].join()

/** Returns the recorded name of a target. */
export async function targetName(context: Context): Promise<string> {
  const target = targetIn(context)
  if (target.kind === 'remote') return target.baseUrl
  const [first] = await (await context.admin()).workspaces()
  return first ? engineName(first) : localName
}

/** Returns what time it is at the target: the engine of this machine has a clock of its own. */
export const targetTime = async (context: Context): Promise<number> =>
  context.isLocal() ? (await (await context.admin()).clock()).now : context.clock.now()

/** Returns the email of the member whose key a command has at this machine's engine; `undefined` at another server. */
export async function memberEmail(context: Context): Promise<string | undefined> {
  if (!context.isLocal()) return undefined
  const key = (await context.apiKey()) ?? ''
  return (await (await context.admin()).principalOf(key))?.member.email
}

/** Returns the workspace that pays for calls: its id at an engine here, else what is known of it by its key. */
export async function workspaceName(context: Context): Promise<string> {
  const key = (await context.apiKey()) ?? ''
  if (context.isLocal()) return (await (await context.admin()).principalOf(key))?.workspace.id ?? ''
  const target = targetIn(context)
  const stored = target.kind === 'remote' ? findStoredKey(context.home, target, key)?.workspace : undefined
  return stored ?? toWorkspaceName(key)
}

export const profileName = ({ globals, streams, settings }: Context): string =>
  profileNameOf(globals, streams.env, settings())

/** Returns the name of the profile of a command: that of the option, else of the environment, else the one in use. */
const profileNameOf = (options: GlobalOptions, env: Streams['env'], settings: Settings): string =>
  options.profile ?? env.PROSPECT_PROFILE ?? settings.profile ?? 'default'
