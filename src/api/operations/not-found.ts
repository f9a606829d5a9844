import type { Operation } from './table.js'

const identifying = ['id', 'name', 'full_name', 'domain', 'network_id', 'network_url', 'network_profile_url']
const reachable = ['email', 'personal_email', 'phone']

/**
 * Returns whether a success found nothing, as some servers answer a lookup: all identifying fields (of a waterfall:
 * addresses and numbers) are null or missing.
 */
export function resolvesNothing(operation: Operation, body: unknown): boolean {
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
