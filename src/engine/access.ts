import { ApiError } from '../api/errors.js'
import type { Operation } from '../api/table.js'
import { hashKey, isKey } from './keys.js'
import type { Clock, Principal, Store } from './ports.js'
import { engineTime } from './time.js'

/** Real time, in which refusals are slowed down. */
export interface Waiting {
  readonly clock: Clock
  readonly sleep: (ms: number) => Promise<void>
}

/** Refusals per second that are answered at once; later ones wait a second. */
const promptRefusals = 10
const lateMs = 1_000

/** Finds out who is asking. Missing, malformed, unknown, revoked and expired keys are refused alike: 401. */
export function createAccess(
  store: Store,
  waiting: Waiting,
): (apiKey: string | undefined) => Promise<Principal> {
  const refuse = createRefusal(waiting)
  return async (apiKey) => {
    const known = apiKey !== undefined && isKey(apiKey)
    const hash = known ? hashKey(apiKey) : undefined
    const principal = hash && (await store.read((reads) => reads.principal(hash)))
    if (!principal || !isValid(principal, waiting.clock.now())) return await refuse()
    return principal
  }
}

function isValid({ key, clock }: Principal, realNow: number): boolean {
  if (key.revokedAt !== null) return false
  return key.expiresAt === null || engineTime(clock, realNow) < key.expiresAt
}

/** Guessing keys is slow: from the 11th refusal of a second on, each is answered late. */
function createRefusal({ clock, sleep }: Waiting): () => Promise<never> {
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

/** Refuses a key whose scopes lack the operation's area: 403 without a `code`. */
export function checkScope(operation: Operation, principal: Principal): void {
  const { scopes } = principal.key
  if (scopes && !scopes.includes(operation.id.slice(0, operation.id.indexOf('.'))))
    throw new ApiError('forbidden')
}
