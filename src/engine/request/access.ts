import { ApiError, type ErrorCode } from '../../api/calls/errors.js'
import type { Operation, OperationId } from '../../api/operations/table.js'
import type { Clock, Ids } from '../../api/ports/ports.js'
import { digestOf } from '../../api/values/digest.js'
import type { Fields } from '../../api/values/objects.js'
import { searchPageOf } from '../../api/values/url.js'
import type { Driver } from '../../storage/driver/connection.js'
import { engineTime } from '../clock.js'
import { findPrincipal, keyTable, type Principal, type Workspace } from '../tables/members.js'

/** Real time, in which refusals are slowed down. */
interface WaitPorts {
  readonly clock: Clock
  readonly sleep: (ms: number) => Promise<void>
}

/** Refusals per second that are answered at once; later ones wait a second. */
const promptRefusals = 10
const lateMs = 1_000

/** Number of keys whose hashes are cached; a server sees few keys many times. */
const rememberedKeys = 1_000

/** Returns a function that authenticates a key. Missing, malformed, unknown, revoked and expired keys are all 401. */
export function createAccess(store: Driver, waiting: WaitPorts) {
  const refuse = createRefusal(waiting)
  const hashes = new Map<string, string>()
  const recordUse = createUseRecorder(store, waiting.clock)
  return async (apiKey: string | undefined): Promise<Principal> => {
    if (apiKey === undefined) return await refuse()
    const hash = hashes.get(apiKey) ?? (isKey(apiKey) ? hashKey(apiKey) : undefined)
    const principal = hash && (await findPrincipal(store, hash))
    if (!principal || !isValid(principal, waiting.clock)) return await refuse()
    // Only accepted keys are cached, so that guesses cannot crowd them out.
    if (hashes.size < rememberedKeys) hashes.set(apiKey, hash)
    recordUse(principal)
    return principal
  }
}

/** How old the recorded last use of a key may become, so that not every request writes. */
const maxUseAgeMs = 3_600_000

/** Returns a function that records when a key was used. A request neither waits for it nor fails with it. */
function createUseRecorder(store: Driver, real: Clock): (principal: Principal) => void {
  const recorded = new Map<string, number>()
  return ({ key, clock }) => {
    const now = engineTime(clock, real.now())
    const last = recorded.get(key.id) ?? key.usedAt
    if (last !== null && Math.abs(now - last) < maxUseAgeMs) return
    recorded.set(key.id, now)
    store.transaction((tx) => keyTable.update(tx, { usedAt: now }, 'id = ?', key.id)).catch(() => {})
  }
}

function isValid({ key, clock }: Principal, real: Clock): boolean {
  if (key.revokedAt !== null) return false
  return key.expiresAt === null || engineTime(clock, real.now()) < key.expiresAt
}

/** Slows down guessing of keys: from the 11th refusal of a second on, each waits. */
function createRefusal({ clock, sleep }: WaitPorts): () => Promise<never> {
  let second = 0
  let refusals = 0
  return async () => {
    const now = Math.floor(clock.now() / 1_000)
    refusals = now === second ? refusals + 1 : 1
    second = now
    if (refusals > promptRefusals) await sleep(lateMs)
    throw new ApiError('invalid_api_key')
  }
}

/** Throws 403 without a `code` when the key's scopes lack the operation's area. Any key may be tried with `GET /credits`, and say whose it is. */
export function checkScope(id: OperationId, principal: Principal): void {
  if (id === 'credits.show' || id === 'account.show') return
  const { scopes } = principal.key
  if (scopes && !scopes.includes(id.slice(0, id.indexOf('.')))) throw new ApiError('forbidden')
}

/** Throws 422 when a request needs the network and the workspace has no valid session there. */
export function checkSession(operation: Operation, fields: Fields, workspace: Workspace): void {
  const { session } = operation
  if (!session || !needsSession(operation, fields)) return
  const premium =
    session.premium === 'yes' ||
    (session.premium === 'url' && searchPageOf(String(fields.search_url))?.premium === true)
  if (!workspace.networkSession || (premium && !workspace.premiumSession))
    throw new ApiError(sessionError(operation))
}

/** Returns the refusal of a request without a session; it names `live: false` where the operation has it. */
export const sessionError = ({ session }: Operation): ErrorCode =>
  session?.when === 'live' ? 'network_session_required' : 'session_required'

/** Returns whether a request acts on the network, with its session. */
export function needsSession({ session }: Operation, fields: Fields): boolean {
  if (session?.when === 'live') return fields.live !== false
  if (session?.when === 'source') return (fields.source ?? 'live') === 'live'
  return session !== undefined
}

/** The characters of keys. */
export const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const prefix = 'pk_'
const bodyLength = 32
const checkLength = 6
const format = new RegExp(`^${prefix}[0-9A-Za-z]{${bodyLength + checkLength}}$`)

/** Creates an API key: prefix, 190 random bits in base 62, and a checksum that detects a typing mistake offline. */
export function makeKey(ids: Ids): string {
  let body = ''
  while (body.length < bodyLength)
    // Bytes of 248 and above would make the first characters more likely than the others.
    for (const byte of ids.bytes(bodyLength * 2))
      if (byte < 248 && body.length < bodyLength) body += alphabet[byte % 62]
  return prefix + body + checksum(body)
}

export function isKey(text: string): boolean {
  return format.test(text) && checksum(text.slice(prefix.length, -checkLength)) === text.slice(-checkLength)
}

/** Returns the stored form of a key. */
export const hashKey = (key: string): string => digestOf(key).toString('hex')

/** Returns the first characters of a key: enough to recognise it, useless to an attacker. */
export const hintOf = (key: string): string => key.slice(0, prefix.length + 4)

function checksum(body: string): string {
  const digest = digestOf(`prospect key ${body}`)
  let check = ''
  for (let at = 0; at < checkLength; at++) check += alphabet[(digest[at] ?? 0) % 62]
  return check
}
