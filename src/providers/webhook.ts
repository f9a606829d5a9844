import { createHmac, timingSafeEqual } from 'node:crypto'
import { maxLevels } from '../api/operations/facts.js'
import type { Clock } from '../api/ports/ports.js'
import { isDeeperThan, parseForeign } from '../api/values/json.js'
import { resultOr } from '../api/values/objects.js'
import { receiverPath } from '../api/webhooks/events.js'
import { verify } from '../api/webhooks/signature.js'
import {
  dropListener,
  extendListener,
  listCallsOf,
  listenerAddress,
  listProviders,
  putListener,
  updateCall,
} from '../engine/tables/providers.js'
import type { Connection, Driver } from '../storage/driver/connection.js'
import { compileStored } from './compile.js'
import type { KindFile, ProviderFile, Signature } from './definition.js'

/** How long a program that receives webhooks is believed to run after its last sign of life, and how often it gives one. */
const listenerLeaseMs = 30_000
const signMs = listenerLeaseMs / 3

/** Returns where vendors reach a program now; `undefined` where they reach none. */
export const addressNow = (tx: Connection) => listenerAddress(tx, listenerLeaseMs)

/** What the paths of vendors' deliveries begin with, behind that of the address. */
export const vendorPath = receiverPath('vendors/')

/** Returns the address of a webhook below that of a program which receives them. */
export const addressFor = (listener: string, token: string): string => listener + vendorPath + token

interface DeliveryPorts {
  readonly store: Driver
  /** Real time. */
  readonly clock: Clock
  /** Returns the secret that a vendor signs its webhooks with. */
  readonly secretOf: (workspaceId: string, name: string) => string | undefined
}

/** What arrived at an address. */
interface Delivered {
  /** The end of the address. */
  readonly token: string
  readonly headers: Headers
  readonly bytes: Uint8Array
}

/**
 * What became of a delivery: it is kept until whoever asked reads it, says nothing new, or is refused. `foreign` is about other
 * work, `unsigned` not by the vendor.
 */
export type DeliveryEnd =
  | 'kept'
  | 'known'
  | 'early'
  | 'no_address'
  | 'foreign'
  | 'unsigned'
  | 'no_secret'
  | 'unreadable'

/** Keeps what a vendor sent to an address of ours, where that is the answer to work which it accepted. */
export async function takeDelivery(
  { store, clock, secretOf }: DeliveryPorts,
  { token, headers, bytes }: Delivered,
): Promise<DeliveryEnd> {
  const known = await store.read(async (tx) => {
    const calls = await listCallsOf(tx, token)
    const [first] = calls
    const all = first ? await listProviders(tx, first.workspaceId) : []
    return { first, stored: all.find(({ name }) => name === first?.provider) }
  })
  const { first, stored } = known
  if (!first || !stored) return 'no_address'
  const kind = (await compileStored(stored)).kinds[first.kind as keyof ProviderFile['kinds']]
  const webhook = kind?.file.webhook
  if (!kind || !webhook) return 'no_address'
  const secret = secretOf(stored.workspaceId, stored.name)
  if (webhook.sign !== undefined && secret === undefined) return 'no_secret'
  if (!isSigned(webhook, { headers, bytes }, secret ?? '', clock.now())) return 'unsigned'
  const text = Buffer.from(bytes).toString()
  const body = isDeeperThan(text, maxLevels) ? undefined : resultOr(undefined, () => parseForeign(text))
  if (body === undefined) return 'unreadable'
  const said = kind.idOfDelivery(body)
  const answer = kind.deliveryOf(body)
  return store.transaction(async (tx) => {
    const calls = await listCallsOf(tx, token)
    if (calls.some(({ vendorId }) => said !== undefined && vendorId !== null && vendorId !== said))
      return 'foreign'
    const open = calls.find(({ state }) => state === 'asked' || state === 'submitted' || state === 'unknown')
    if (!open || calls.some(({ delivery }) => delivery !== null)) return 'known'
    // Some tell how far they are.
    if (!kind.isDelivered(answer)) return 'early'
    await updateCall(tx, open, { delivery: answer })
    return 'kept'
  }, first.workspaceId)
}

const toleranceMs = 300_000

/** Whether a delivery is signed as the file says; without a word about it, its unguessable address has to do. */
function isSigned(
  { sign }: NonNullable<KindFile['webhook']>,
  { headers, bytes }: Omit<Delivered, 'token'>,
  secret: string,
  now: number,
): boolean {
  if (sign === undefined) return true
  if (sign === 'standard') return verify(headers, bytes, [secret], now).valid
  const { header, timestamp } = sign
  const time = timestamp === undefined ? '' : (headers.get(timestamp) ?? '')
  // In seconds, or in milliseconds.
  const at = Number(time) * (Number(time) > 1e11 ? 1 : 1_000)
  if (timestamp !== undefined && (time === '' || !(Math.abs(now - at) <= toleranceMs))) return false
  const expected = Buffer.from(signatureOver(sign, secret, { timestamp: time, body: bytes }))
  const given = Buffer.from(headers.get(header) ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** Returns a signature over some words. */
export function signatureOver(
  { hmac, over, encoding = 'hex', prefix = '' }: Signature,
  key: string,
  words: Readonly<Record<string, string | Uint8Array>>,
): string {
  const signed = createHmac(hmac, key)
  // The bytes as they came: what is parsed and written again has another signature.
  for (const [part, name] of over.matchAll(/\{(\w+)\}|[^{]+|\{/g))
    signed.update(name === undefined ? part : (words[name] ?? ''))
  return prefix + signed.digest(encoding)
}

/** Says from now on that vendors reach a program at an address, until it is ended. */
export async function announceListener(
  {
    store,
    sleep,
  }: Pick<DeliveryPorts, 'store'> & {
    readonly sleep: (ms: number, over: AbortSignal) => Promise<void>
  },
  address: string,
  token: string,
): Promise<{ readonly end: () => Promise<void> }> {
  await store.transaction((tx) => putListener(tx, address, token, listenerLeaseMs))
  const over = new AbortController()
  const announce = async () => {
    while (!over.signal.aborted) {
      await sleep(signMs, over.signal).catch(() => {})
      // A database that is busy for a moment is no reason to end.
      await store.transaction((tx) => extendListener(tx, address, token, listenerLeaseMs)).catch(() => {})
    }
    await store.transaction((tx) => dropListener(tx, address, token)).catch(() => {})
  }
  const ended = announce()
  return {
    end: () => {
      over.abort()
      return ended
    },
  }
}
