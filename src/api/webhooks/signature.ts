import { createHmac, timingSafeEqual } from 'node:crypto'

// Standard Webhooks 1.0. Its JavaScript library reads the time from the system, so only the tests can use it.

/** The headers that sign a delivery; the timestamp is in seconds since 1970. */
export type SignatureHeaders = Readonly<
  Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>
>

/** Headers as received: those of a fetch request, or of `node:http`. */
export type ReceivedHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/** The result of a verification; `reason` is a sentence for the sender. */
export type Verification =
  | { readonly valid: true; readonly id: string; readonly timestampMs: number }
  | { readonly valid: false; readonly reason: string }

const prefix = 'whsec_'
const version = 'v1'
const defaultToleranceMs = 300_000
const smallestSecret = 24
const largestSecret = 64

/** Creates a signing secret from 24 to 64 random bytes. */
export function newSecret(random: Uint8Array): string {
  const secret = prefix + Buffer.from(random).toString('base64')
  if (!isSecret(secret)) throw new RangeError('A signing secret has 24 to 64 bytes')
  return secret
}

/** Returns whether a text is a signing secret: `whsec_` and the base64 of 24 to 64 bytes. */
export const isSecret = (text: string): boolean => keyOf(text) !== undefined

/** Signs a body, with one signature per secret. Every secret must pass `isSecret`; `timestampMs` is real time. */
export function sign(id: string, timestampMs: number, body: string | Uint8Array, secrets: readonly string[]) {
  const timestamp = String(Math.floor(timestampMs / 1_000))
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures(id, timestamp, body, secrets).join(' '),
  }
}

/**
 * Verifies that a body was signed with one of the secrets, at most `toleranceMs` before or after `nowMs` (real time).
 * The body is the bytes as received: parsing and writing it again breaks the signature.
 */
export function verify(
  headers: ReceivedHeaders,
  rawBody: string | Uint8Array,
  secrets: readonly string[],
  nowMs: number,
  toleranceMs = defaultToleranceMs,
): Verification {
  const [id, timestamp, signature] = (['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const).map(
    (name) => headerOf(headers, name),
  )
  if (!id) return missing('webhook-id')
  if (!timestamp) return missing('webhook-timestamp')
  if (!signature) return missing('webhook-signature')
  const untimely = findTimeProblem(timestamp, nowMs, toleranceMs)
  if (untimely) return invalid(untimely)
  if (!secrets.some(isSecret)) return invalid('There is no secret to check the signature with')
  const expected = signatures(id, timestamp, rawBody, secrets.filter(isSecret))
  if (!anyEqual(signature.split(' '), expected))
    return invalid(`webhook-signature has no ${version} signature that matches the secret`)
  return { valid: true, id, timestampMs: Number(timestamp) * 1_000 }
}

const invalid = (reason: string): Verification => ({ valid: false, reason })
const missing = (name: keyof SignatureHeaders): Verification => invalid(`The header ${name} is missing`)

function findTimeProblem(timestamp: string, nowMs: number, toleranceMs: number): string | undefined {
  if (!/^\d{1,12}$/.test(timestamp)) return 'webhook-timestamp is not a number of seconds since 1970'
  const seconds = Math.floor(nowMs / 1_000) - Number(timestamp)
  if (Math.abs(seconds) * 1_000 <= toleranceMs) return undefined
  const side = seconds > 0 ? 'past' : 'future'
  return `webhook-timestamp lies ${Math.abs(seconds)} s in the ${side}; ${toleranceMs / 1_000} s are allowed`
}

function signatures(id: string, timestamp: string, body: string | Uint8Array, secrets: readonly string[]) {
  return secrets.map((secret) => {
    const key = keyOf(secret)
    if (!key) throw new RangeError('A signing secret is whsec_ and the base64 of 24 to 64 bytes')
    const digest = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
    return `${version},${digest}`
  })
}

function keyOf(secret: string): Buffer | undefined {
  if (!secret.startsWith(prefix)) return undefined
  const text = secret.slice(prefix.length)
  const key = Buffer.from(text, 'base64')
  const canonical = key.toString('base64') === text
  return canonical && key.length >= smallestSecret && key.length <= largestSecret ? key : undefined
}

/** Compares all pairs to the end, so that the time taken reveals nothing about any of them. */
function anyEqual(given: readonly string[], expected: readonly string[]): boolean {
  let equal = false
  for (const one of given)
    for (const other of expected) equal = isSameText(Buffer.from(one), Buffer.from(other)) || equal
  return equal
}

const isSameText = (one: Buffer, other: Buffer) => one.length === other.length && timingSafeEqual(one, other)

/** Returns a header that was sent once; a repeated one cannot be trusted. */
function headerOf(headers: ReceivedHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const values = Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? [])
  return values.length === 1 ? values[0] : undefined
}
