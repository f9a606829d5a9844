import { type Facts, isPriced, type Rate, type Unit } from '../../api/operations/facts.js'
import { grouped } from './terminal.js'

const units: Readonly<Record<Unit, string>> = {
  company: 'company found',
  person: 'person found',
  job: 'job returned',
  email: 'e-mail address found',
  personal_email: 'personal e-mail address found',
  phone: 'contact with a phone found',
  number: 'reachable number',
}

/** What an operation costs, in a sentence. */
export function priceText(facts: Facts): string {
  if (!isPriced(facts)) return facts.quota ? 'No credits.' : 'Free.'
  const parts = Object.entries(facts.price).map(
    ([unit, credits]) => `${credited(credits)} per ${units[unit as Unit]}`,
  )
  const counted = facts.needs === 'records' ? 'company imported' : undefined
  const text =
    counted === undefined ? parts.join(', ') : `${credited(facts.price.company ?? 0)} per ${counted}`
  return `${text}; nothing found costs nothing.`
}

/** A number of credits in words. */
export const credited = (credits: number): string =>
  `${grouped(credits)} ${credits === 1 ? 'credit' : 'credits'}`

/** Which requests-per-time limits and quotas an operation counts in, in a sentence. */
export function limitsText(facts: Facts): string {
  const quota = facts.quota && `one unit of the ${quotas[facts.quota]} quota per record`
  const rate = 'live' in facts.rate ? splitText(facts.rate.live, facts.rate.database) : rateText(facts.rate)
  const text = [rate, quota].filter((part) => part).join('; ')
  return text === '' ? 'None.' : `${text[0]?.toUpperCase()}${text.slice(1)}.`
}

const quotas = { profiles: 'daily profile', companies: 'daily and monthly company' } as const

function rateText(rate: Rate): string {
  const own = rate.own
    ? `${rate.own[0]} ${rate.own[0] === 1 ? 'request' : 'requests'} per ${rate.own[1]}`
    : ''
  return [own, rate.plan ? "your plan's requests per minute" : '']
    .filter((part) => part !== '')
    .join(', and ')
}

function splitText(live: Rate, database: Rate): string {
  return `${rateText(live) || 'none'}; with --no-live ${rateText(database) || 'none'}`
}
