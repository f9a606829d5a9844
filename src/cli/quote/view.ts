import type { Basis, BatchQuote } from '../../runs/plan/quote.js'
import type { DataSource } from '../context/context.js'
import { valueAt } from '../output/records.js'
import { record } from '../output/table.js'
import {
  countRows,
  duration,
  formatCredits,
  formatLeftOut,
  formatNumber,
  formatReasons,
  formatReused,
  type Look,
} from '../output/text.js'

/** Returns a quote for a person: a line for each fact. */
export const quoteView = (body: unknown, look: Look): string => record(facts(body as ShownQuote, look), look)

/** A quote, and where its answers would come from. */
type ShownQuote = BatchQuote & { readonly source?: DataSource }

function facts(quote: ShownQuote, { now }: Pick<Look, 'now'>): Readonly<Record<string, string>> {
  const { rows, credits, balance, weekly_allowance: allowance, budget, unknown } = quote
  const isFree = credits.max === 0
  const isUnknown = (name: string) => unknown.includes(name)
  return {
    'Answers from': quote.source?.text ?? '',
    Rows: formatNumber(rows),
    Lookups: lookupsText(quote),
    Invalid: formatReasons(quote.invalid_reasons).join(' · '),
    'Left out': formatLeftOut(quote.not_understood).join(' · '),
    Reused: reusedText(quote, now),
    Stored: storedText(quote),
    'Email only': emailOnlyText(quote.email_only),
    Credits: isFree ? 'none' : creditsText(quote),
    Expected: isFree ? '' : basisText(quote.basis),
    Balance: balance === null ? notSaid : formatCredits(balance),
    'This week':
      allowance === null
        ? isUnknown('weekly_allowance')
          ? notSaid
          : ''
        : `${formatCredits(allowance)} left`,
    'Quotas left': quotasText(quote.quotas),
    Budget: budget === null ? '' : `${formatCredits(budget)} left`,
    Affordable: affordableText(quote),
    Time: isUnknown('seconds') ? 'not known: the target does not say its plan' : timeText(quote),
  }
}

const notSaid = 'not known: the target does not say'

const quotaNames: Readonly<Record<string, string>> = {
  daily_profile_scraping: 'profiles/day',
  daily_company_import: 'companies/day',
  monthly_company_import: 'companies/month',
}

/** Returns what is left of each quota, in one line. */
export function quotasText(quotas: BatchQuote['quotas']): string {
  const left = Object.entries(quotas).map(
    ([name, state]) => `${formatNumber(Number(valueAt(state, 'remaining')))} ${quotaNames[name] ?? name}`,
  )
  return left.join(', ')
}

/** Returns the number of lookups and of the rows that need none, without zeros. */
function lookupsText(quote: BatchQuote): string {
  const duplicates = quote.rows - quote.unique - quote.invalid - quote.skipped - quote.known
  const others = [
    [quote.answered, 'answered before'],
    [quote.in_store, 'in the store'],
    [duplicates, duplicates === 1 ? 'duplicate' : 'duplicates'],
    [quote.skipped, 'skipped'],
    [quote.known, 'known'],
    [quote.invalid, 'invalid'],
  ] as const
  const parts = others.filter(([count]) => count > 0).map(([count, text]) => `${formatNumber(count)} ${text}`)
  return [formatNumber(quote.lookups), ...parts].join(', ')
}

const emailOnlyText = (rows: number): string =>
  rows === 0
    ? ''
    : `${countRows(rows)} ${rows === 1 ? 'has' : 'have'} no profile URL: looked up for the email only`

function reusedText({ in_store: reused, unique, oldest_in_store: oldest }: BatchQuote, now: number): string {
  const text = formatReused(reused, unique, oldest === null ? undefined : now - Date.parse(oldest))
  return text && `${text}; --refresh asks again`
}

const storedText = ({ stored, lookups }: BatchQuote): string =>
  stored === 0
    ? ''
    : `${formatNumber(stored)} of ${formatNumber(lookups)} lookups are paid for already: --max-age 90d uses the stored answers`

function creditsText({ credits: { min, expected, max }, expected_range: range }: BatchQuote): string {
  const likely = range ? `${formatNumber(range[0])} to ${formatNumber(range[1])}` : formatNumber(expected)
  return `at least ${formatNumber(min)}, about ${likely}, at most ${formatNumber(max)}`
}

const shareText = (share: number): string =>
  share === 0.5 ? 'half the rows are found' : `${formatNumber(share * 100)} % of the maximum`

function basisText(basis: Basis): string {
  if (basis.kind === 'own')
    return `from ${formatNumber(basis.answers)} of your own lookups: ${formatCredits(basis.credits_per_lookup)} each`
  if (basis.kind === 'default')
    return basis.answers === 0
      ? `no history yet; assuming ${shareText(basis.share)}`
      : `little history yet (${formatNumber(basis.answers)} lookups); mostly assuming ${shareText(basis.share)}`
  return ''
}

function affordableText({ rows, rows_affordable: affordable, credits, budget }: BatchQuote): string {
  if (credits.max === 0) return ''
  const covers = budget === null ? 'your balance covers' : 'your balance and budget cover'
  return affordable === rows
    ? `${covers} all rows`
    : `${covers} at least the first ${formatNumber(affordable)} of ${formatNumber(rows)} rows`
}

const timeText = ({ seconds }: BatchQuote): string =>
  seconds === null || seconds === 0
    ? 'no rate limit applies'
    : `at least ${duration(seconds)}, because of rate limits`
