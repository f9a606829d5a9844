import type { GlobalOptions, HomeContext, Profile, StreamsContext } from '../../context/context.js'
import { UsageError } from '../../context/errors.js'
import { prepareHome } from '../../context/home.js'
import { openSettings, profileOf } from '../../context/settings.js'
import { publicAddress } from '../../options/webhooks.js'
import { baseUrlOf } from '../../target/resolve-target.js'

interface Key {
  readonly description: string
  /** The value of a text; nothing where it is none. */
  parse(text: string): number | string | undefined
}

const seconds = (least: number, open: boolean) => (text: string) => {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) && (open ? value > least : value >= least) ? value : undefined
}

const fieldWord = /^[a-z][a-z0-9_]{0,39}$/

function matching(pattern: RegExp) {
  return (text: string) => (pattern.test(text.trim()) ? text.trim() : undefined)
}

/** The permission for an http address is given with each command, and not once for all. */
function baseUrl(text: string): string {
  return baseUrlOf(text, 'base_url', true).href
}

function publicUrl(text: string): string {
  publicAddress(text)
  return text
}

/** What a profile may say, by its name in the settings. */
export const profileKeys = {
  timeout: { description: 'seconds after which a request is given up', parse: seconds(0, true) },
  max_wait: { description: 'seconds that a rate limit is waited for', parse: seconds(0, false) },
  base_url: { description: 'the address of a server, which ends in /api/v2', parse: baseUrl },
  target: { description: 'local or remote', parse: matching(/^(?:local|remote)$/) },
  plan: {
    description: "the plan of the server's workspace, such as growth",
    parse: matching(/^[\w -]{1,64}$/),
  },
  idempotency: {
    description: 'the header of idempotency keys that the server honours, or none',
    parse: matching(/^[A-Za-z0-9-]{1,64}$/),
  },
  network_name: { description: "the server's word for network in fields", parse: matching(fieldWord) },
  premium_name: { description: "the server's word for premium in fields", parse: matching(fieldWord) },
  public_url: {
    description: 'where the server reaches this machine, in place of --public-url',
    parse: publicUrl,
  },
} as const satisfies Partial<Record<keyof Profile, Key>>

/** The name of a setting of a profile. */
export type ProfileKey = keyof typeof profileKeys

/** The names of the settings, for help. */
export const keyNames = Object.keys(profileKeys).join(', ')

/** The setting of a name; others are refused. */
export function keyNamed(name: string): ProfileKey {
  const key = name.replaceAll('-', '_')
  if (Object.hasOwn(profileKeys, key)) return key as ProfileKey
  throw new UsageError(`There is no setting ${name}.`, `Settings: profile, ${keyNames}.`)
}

/** The profile meant: the option, else the environment, else the one in use. */
export function currentProfile({ settings, streams }: StreamsContext & HomeContext, globals: GlobalOptions) {
  const wanted = globals.profile ?? streams.env.PROSPECT_PROFILE
  const name = wanted ?? settings().profile ?? 'default'
  return { name, profile: profileOf(settings(), wanted) }
}

/** Names that are there without having been added. */
export const builtIn: readonly string[] = ['default', 'local']

/** Changes settings of a profile, which is created when it was not there; null takes one back. */
export async function changeProfile(
  context: HomeContext,
  name: string,
  change: Partial<Record<ProfileKey, number | string | null>>,
): Promise<void> {
  const store = await opened(context)
  const profiles = store.get('profiles') ?? {}
  const changed = Object.entries({ ...profiles[name], ...change }).filter(([, value]) => value !== null)
  store.set('profiles', { ...profiles, [name]: Object.fromEntries(changed) })
}

/** Uses a profile from now on; it must be there. */
export async function useProfile(context: HomeContext, name: string): Promise<void> {
  profileOf(context.settings(), name)
  const store = await opened(context)
  store.set('profile', name)
}

/** Removes a profile; answers whether it was the one in use, and `default` is now. */
export async function removeProfile(context: HomeContext, name: string): Promise<boolean> {
  profileOf(context.settings(), name)
  const store = await opened(context)
  const { [name]: _, ...rest } = store.get('profiles') ?? {}
  store.set('profiles', rest)
  const wasUsed = store.get('profile') === name
  if (wasUsed) store.delete('profile')
  return wasUsed
}

function opened(context: HomeContext): ReturnType<typeof openSettings> {
  prepareHome(context.home)
  return openSettings(context.home)
}
