import { type Fields, isObject } from '../values/objects.js'
import type { Unit } from './facts.js'
import type { Operation } from './table.js'

/** Units found, as a server would charge them. */
export type Units = Partial<Readonly<Record<Unit, number>>>

/**
 * Returns the charged units of a success, read from its body. Work that continues after the reply (imports,
 * waterfalls) has found nothing yet.
 */
export function unitsOf(operation: Operation, body: unknown): Units {
  if (operation.starts || !isObject(body) || resolvesNothing(operation, body)) return {}
  const count = counts[operation.id as keyof typeof counts]
  return count?.(body) ?? {}
}

/** Returns the units of one waterfall; an invalid address is free, and numbers are charged once. */
export const contactUnits = (result: Fields): Units => ({
  email: Number(isFilled(result.email) && result.email_status !== 'invalid'),
  personal_email: Number(isFilled(result.personal_email) && result.personal_email_status !== 'invalid'),
  phone: Number(isFilled(result.phone)),
})

/** Returns the credits of a success: what the server says, otherwise price times units. */
export function creditsCharged(operation: Operation, body: unknown): number {
  if (Object.keys(operation.price).length === 0 || operation.starts || !isObject(body)) return 0
  if (Number.isSafeInteger(body.credits_used)) return Math.max(0, body.credits_used as number)
  const units = Object.entries(unitsOf(operation, body)) as [Unit, number][]
  return units.reduce((sum, [unit, found]) => sum + (operation.price[unit] ?? 0) * found, 0)
}

const counts = {
  'accounts.enrich': () => ({ company: 1 }),
  'accounts.bulk_enrich': ({ results }: Fields) => ({ company: countRecords(results) }),
  'accounts.hiring': ({ jobs }: Fields) => ({ job: lengthOf(jobs) }),
  'accounts.stack': ({ technologies, technologies_with_confidence: sure }: Fields) => ({
    company: Number(lengthOf(technologies) + lengthOf(sure) > 0),
  }),
  'leads.enrich': () => ({ person: 1 }),
  'leads.bulk_enrich': ({ results }: Fields) => ({ person: countRecords(results) }),
  'contacts.reverse_lookup': () => ({ person: 1 }),
  'contacts.enrich_sync': contactUnits,
  'messenger.validate': ({ results }: Fields) => ({
    number: Array.isArray(results)
      ? results.filter((one) => isObject(one) && one.reachable === true).length
      : 0,
  }),
} as const

/** Returns how many items of a bulk request were resolved. */
const countRecords = (results: unknown): number =>
  Array.isArray(results) ? results.filter((one) => isObject(one) && !isBlank(one, identifying)).length : 0

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0)

const isFilled = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))

const identifying = ['id', 'name', 'full_name', 'domain', 'network_id', 'network_url', 'network_profile_url']
const reachable = ['email', 'personal_email', 'phone']

/**
 * Returns whether a success found nothing, as some servers answer a lookup: all identifying fields (of a waterfall:
 * addresses and numbers) are null or missing.
 */
export function resolvesNothing(operation: Operation, body: unknown): boolean {
  if (operation.needs === 'items')
    return isObject(body) && Array.isArray(body.results) && countRecords(body.results) === 0
  if (operation.id === 'contacts.enrich_sync') return isBlank(body, reachable)
  if (operation.needs !== 'unit' || operation.batch?.found !== undefined) return false
  return isBlank(body, identifying)
}

/** Returns whether the text of a 400 says that a lookup found nothing. */
export const saysNothingFound = (text: string): boolean => /\bno(t| \w+) found\b/i.test(text)

const isBlank = (body: unknown, names: readonly string[]): boolean =>
  names.every((name) => {
    const value = (body as Readonly<Record<string, unknown>> | null)?.[name] ?? null
    return value === null || value === '' || (Array.isArray(value) && value.length === 0)
  })
