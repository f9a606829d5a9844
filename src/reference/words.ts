import { type Rate, usualBody } from '../api/operations/facts.js'
import type { Operation } from '../api/operations/table.js'
import type { EventName } from '../api/webhooks/events.js'

/** Returns a price in words, such as `3 credits per email, 30 credits per phone`; `free` without one. */
export function priceWords({ price }: Operation): string {
  const parts = Object.entries(price).map(
    ([unit, credits]) => `${credits} ${credits === 1 ? 'credit' : 'credits'} per ${unit.replace('_', ' ')}`,
  )
  return parts.length === 0 ? 'free' : parts.join(', ')
}

/** What a plan quota counts, in words. */
export const quotaWords = { profiles: 'profiles per day', companies: 'companies per day and month' } as const

/** Returns the limits of an operation in words; both when `live: false` changes them. */
export function rateWords({ rate }: Operation): string {
  if (!('live' in rate)) return formatRate(rate)
  return `${formatRate(rate.live)}; with live: false: ${formatRate(rate.database)}`
}

function formatRate({ plan, own }: Rate): string {
  const parts = [...(own ? [`${own[0]} per ${own[1]}`] : []), ...(plan ? ['plan'] : [])]
  return parts.length === 0 ? 'none' : parts.join(' and ')
}

/** Returns the limits of a request body in words. */
export function bodyWords({ body = usualBody }: Pick<Operation, 'body'>): string {
  return `${body.bytes / 1_048_576} MiB and ${body.values.toLocaleString('en')} values`
}

const phases: Readonly<Record<string, string>> = {
  record: 'A record was found; only with streaming: true',
  completed: 'The work is done',
  failed: 'The work could not be done',
}

/** Returns what an event means, in words. */
export const eventWords = (name: EventName): string => phases[name.split('.')[1] ?? ''] ?? ''
