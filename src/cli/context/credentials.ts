import { resolve } from 'node:path'
import { Refusal } from '../../api/calls/errors.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isObject } from '../../api/values/objects.js'
import { toWorkspaceName } from '../../runs/target-name.js'
import type { GlobalOptions, Home, Machine, Streams } from './context.js'
import { Stop } from './errors.js'
import { checkSecret, prepareHome, readPrivateJson, writePrivate } from './home.js'
import { readStdin, readText } from './io.js'

/** Stored keys by the origin they were stored for; those of a profile, by `keyNameOf`. */
type Keys = Readonly<Record<string, StoredKey>>

interface StoredKey {
  readonly key: string
  readonly stored_at: string
  /** Email of its owner; absent where the server did not say it. */
  readonly member?: string | undefined
  /** Names the workspace of a key that took the place of an older one of the same owner. */
  readonly workspace?: string | undefined
  /** Origins of other servers over the same database that it was stored for, too. */
  readonly origins?: readonly string[] | undefined
}

export type KeyOwner = Readonly<Record<'origin' | 'profile', string>>

/** Returns the name that the key of a profile is stored under. That of `default` serves other profiles without one, too. */
export const keyNameOf = ({ origin, profile }: KeyOwner): string =>
  profile === 'default' ? origin : `${origin} ${profile}`

/** Returns the key of a profile for this very origin, else the one that was stored for the origin alone. */
export function findKeyOf(home: Home, owner: KeyOwner): StoredKey | undefined {
  const keys = readKeys(home)
  const name = [keyNameOf(owner), owner.origin].find((one) => Object.hasOwn(keys, one))
  return name === undefined ? undefined : keys[name]
}

export const storedKeyOf = (home: Home, owner: KeyOwner): string | undefined => findKeyOf(home, owner)?.key

export function storedKey(home: Home, name: string): string | undefined {
  const keys = readKeys(home)
  return Object.hasOwn(keys, name) ? keys[name]?.key : undefined
}

/** Returns what is known of a key; `undefined` where it is not the stored one. */
export function findStoredKey(home: Home, owner: KeyOwner, key: string | undefined): StoredKey | undefined {
  const keys = readKeys(home)
  return [keyNameOf(owner), owner.origin]
    .map((name) => (Object.hasOwn(keys, name) ? keys[name] : undefined))
    .find((stored) => stored?.key === key)
}

export function storeKey(
  { home, clock, ids }: Machine,
  name: string,
  key: string,
  { member, origins }: Pick<StoredKey, 'member' | 'origins'> = {},
): void {
  prepareHome(home)
  const keys = readKeys(home)
  const before = Object.hasOwn(keys, name) ? keys[name] : undefined
  // A new key of the same owner is for the same workspace, whose answers it goes on using.
  const isSame = before?.member !== undefined && before.member === member
  const workspace = isSame ? (before.workspace ?? toWorkspaceName(before.key)) : undefined
  const entry: StoredKey = { key, stored_at: new Date(clock.now()).toISOString(), member, workspace, origins }
  save(home, { ...keys, [name]: entry }, ids.uuid())
}

export const forgetKey = (machine: Machine, name: string): boolean =>
  forgetKeys(machine, (each) => each === name)

export const forgetKeysOf = (machine: Machine, profile: string): boolean =>
  forgetKeys(machine, (each) => each.endsWith(` ${profile}`))

function forgetKeys({ home, ids }: Machine, isGone: (name: string) => boolean): boolean {
  const keys = Object.entries(readKeys(home))
  const left = keys.filter(([name]) => !isGone(name))
  if (left.length < keys.length) save(home, Object.fromEntries(left), ids.uuid())
  return left.length < keys.length
}

/** Returns the key given with this command: by `--api-key-stdin`, `--api-key-file`, else by the environment. */
export async function givenKey(streams: Streams, options: GlobalOptions): Promise<string | undefined> {
  if (options.apiKeyStdin && options.apiKeyFile) throw new Refusal('usage.api_key_twice')
  if (options.apiKeyStdin) return clean(await readStdin(streams, 64 * 1024), 'stdin')
  if (options.apiKeyFile) {
    const path = resolve(streams.cwd, options.apiKeyFile)
    checkSecret(path)
    return clean(await readText(streams, path, '--api-key-file'), options.apiKeyFile)
  }
  return streams.env.PROSPECT_API_KEY ? clean(streams.env.PROSPECT_API_KEY, 'PROSPECT_API_KEY') : undefined
}

/** Returns the key in a text that was typed. Throws Stop where it cannot be one. */
export const keyIn = (text: string, source = 'What was typed'): string => clean(text, source)

function clean(text: string, source: string): string {
  const key = text.trim()
  if (/^[\x21-\x7e]{1,512}$/.test(key)) return key
  const what = key === '' ? 'contains no API key' : 'contains something that cannot be an API key'
  throw new Stop(`${source} ${what}.`, exitCodes.key, 'It must contain only the key, on one line.', 'key')
}

function readKeys(home: Home): Keys {
  const value = readPrivateJson(home.credentials)
  if (value === undefined) return {}
  if (isObject(value) && isObject(value.keys)) return value.keys as Keys
  throw new Refusal('usage.damaged_keys', { file: home.credentials })
}

function save(home: Home, keys: Keys, unique: string): void {
  writePrivate(home.credentials, `${JSON.stringify({ keys }, null, 2)}\n`, unique)
}
