import type { Input } from '../../api/calls/caller.js'
import { exitCodes } from '../../api/calls/exit-codes.js'
import { isUnlimited } from '../../api/operations/plans.js'
import { type Fields, withoutUndefined } from '../../api/values/objects.js'
import type { ProviderKind } from '../../providers/definition.js'
import type { ProviderQuote } from '../../providers/registry.js'
import type { Basis, BatchQuote, Shortage } from '../../runs/plan/quote.js'
import type { AnswerSource, TargetRefusal } from '../../runs/ports.js'
import type { RunChoices } from '../../runs/request.js'
import type { OperationRequest } from '../call/build.js'
import { quotasText, reportShort } from '../call/confirm.js'
import { owners } from '../call/limits.js'
import { reportRefusal } from '../call/print.js'
import type { Context } from '../context/context.js'
import { isLargePrice } from '../context/home.js'
import { openRegistry } from '../context/open-databases.js'
import { print } from '../output/print.js'
import { canAsk, confirm, showAbove } from '../output/prompt.js'
import { record } from '../output/table.js'
import {
  countOf,
  duration,
  formatCredits,
  formatLeftOut,
  formatNumber,
  formatReasons,
  formatReused,
  type Look,
} from '../output/text.js'
import { noteSourceShown } from '../target/local-target.js'

type Asked = Pick<OperationRequest, 'operation'> & {
  readonly constants: Input
  readonly choices?: Pick<RunChoices, 'refresh' | 'reusableMs'>
}

/** Returns what so many lookups may cost at the user's data vendors; `undefined` where none is asked. */
export async function quoteProviders(
  context: Context,
  { operation: { id }, constants }: Asked,
  { lookups }: Pick<BatchQuote, 'lookups'>,
): Promise<readonly ProviderQuote[] | undefined> {
  const types = [constants.enrichment_type].flat() as ProviderKind[]
  const kind = { 'leads.enrich': 'person', 'accounts.enrich': 'company' } as const
  const kinds = id.startsWith('contacts.enrich') ? types : id in kind ? [kind[id as keyof typeof kind]] : []
  if (kinds.length === 0 || !(await context.hasVendors())) return undefined
  return (await openRegistry(context)).quote(kinds, lookups, context.globals.maxCost)
}

async function withSources(context: Context, asked: Asked, quote: BatchQuote): Promise<ShownQuote> {
  const providers = await quoteProviders(context, asked, quote)
  return withoutUndefined({ ...quote, providers, source: await context.source(owners.get(context.streams)) })
}

/** Prints a quote. Returns 0 where its maximum is covered, else the exit code of the refusal to expect. */
export async function showQuote(
  context: Context,
  asked: Asked,
  quote: BatchQuote | TargetRefusal,
  mapping: Fields,
) {
  // The options of output are about the rows, except a format that a quote has too.
  const { format } = context.globals
  const kept = format === 'table' || format === 'json' ? format : undefined
  const shown = context.withGlobals({ output: undefined, fields: undefined, format: kept })
  if ('reply' in quote) return reportRefusal(shown, quote.operation, quote.reply)
  const body = { ...(await withSources(context, asked, quote)), mapping }
  await print(shown, body, { layout: (body, look) => quoteView(body, look, asked) })
  return quote.shortage === null ? exitCodes.ok : reportShortage(shown, quote, quote.shortage)
}

/** Shows a quote and asks whether to start. Throws Stop where the answer is no. */
export async function confirmQuote(
  context: Context,
  asked: Asked,
  makeQuote: () => Promise<BatchQuote | TargetRefusal>,
): Promise<void> {
  if (!canAsk(context)) return context.notifySource()
  const quote = await makeQuote()
  // The first lookup reports the refusal, before anything is done, and the run that its budget is used up.
  if ('reply' in quote || quote.lookups === 0 || quote.budget === 0) return
  const shown = await withSources(context, asked, quote)
  showAbove(context, (look) => quoteView(shown, look, asked))
  noteSourceShown(context)
  if (quote.shortage !== null) context.notify(`${shortageText(quote, quote.shortage)}.`)
  const isLarge = isLargePrice(context, quote.credits.max, quote.balance)
  await confirm(context, 'Start?', isLarge ? 'no' : 'yes')
}

function reportShortage(context: Context, quote: BatchQuote, shortage: Shortage): Promise<number> {
  const left = Number((shortage === 'credits' ? quote.balance : quote.weekly_allowance) ?? 0)
  const within =
    shortage === 'quota' || left < 1 ? '' : `Give --max-credits ${left} to look up what that pays for. `
  return reportShort(context, shortage, shortageText(quote, shortage), within)
}

function shortageText(quote: BatchQuote, shortage: Shortage): string {
  const { credits, balance, weekly_allowance: allowance, lookups, profiles_max: profiles } = quote
  if (shortage === 'quota') {
    const units =
      profiles === null ? `${formatNumber(lookups)} lookups` : `${formatNumber(profiles)} profiles`
    return `The quota does not cover ${units}`
  }
  const most = `which can cost ${formatCredits(credits.max)}`
  return shortage === 'credits'
    ? `The balance of ${formatCredits(balance ?? 0)} does not cover this batch, ${most}`
    : `The ${formatCredits(allowance ?? 0)} left of this week do not cover this batch, ${most}`
}

const quoteView = (body: unknown, look: Look, asked: Asked): string =>
  record(facts(body as ShownQuote, look, asked), look)

type ShownQuote = BatchQuote & {
  readonly source?: AnswerSource
  readonly providers?: readonly ProviderQuote[]
}

function facts(
  quote: ShownQuote,
  { now }: Pick<Look, 'now'>,
  { choices }: Pick<Asked, 'choices'>,
): Readonly<Record<string, string>> {
  const { rows, credits, balance, weekly_allowance: allowance, budget, unknown } = quote
  const { email_only: emailOnly, expected_range: range, oldest_in_store: oldest } = quote
  const isFree = credits.max === 0
  const age = oldest === null ? undefined : now - Date.parse(oldest)
  const reused = formatReused(quote.in_store, quote.unique, age, '')
  // From nothing to everything says less than one number.
  const isTelling = range && (range[0] > 0 || range[1] < credits.max)
  const likely = isTelling ? range.map(formatNumber).join(' to ') : formatNumber(credits.expected)
  // A lookup that finds nothing is free, so that the least is always nothing.
  const about = likely === formatNumber(credits.max) ? '' : `about ${likely}, `
  const isUnknown = (name: string) => unknown.includes(name)
  return {
    'Answers from': quote.source?.text ?? '',
    Rows: formatNumber(rows),
    Lookups: lookupsText(quote),
    Invalid: formatReasons(quote.invalid_reasons).join(' · '),
    'Not understood': formatLeftOut(quote.not_understood).join(' · '),
    Reused: reused && `${reused}; --refresh asks again`,
    Stored: storedText(quote, choices),
    'Email only':
      emailOnly === 0
        ? ''
        : `${countOf(emailOnly, 'row has', 'rows have')} no profile URL: looked up for the email only`,
    Credits: isFree ? 'none' : `${about}at most ${formatNumber(credits.max)}`,
    'Whole file': wholeFileText(quote),
    Providers: (quote.providers ?? []).map(providerText).join(' · '),
    Profiles:
      quote.profiles_max === null ? '' : `at most ${formatNumber(quote.profiles_max)} of the daily quota`,
    Expected: isFree ? '' : basisText(quote.basis),
    Balance: balance === null ? notSaid : isUnlimited(balance) ? '' : formatCredits(balance),
    'This week': isUnknown('weekly_allowance') ? notSaid : allowance === null ? '' : leftText(allowance),
    'Quotas left': quotasText(quote.quotas),
    Budget: budget === null ? '' : `${leftText(budget)}${spentText(quote)}`,
    Affordable: isFree && !quote.least_needed ? '' : affordableText(quote),
    Time: isUnknown('seconds') ? 'not known: the target does not say its plan' : timeText(quote),
  }
}

function storedText(
  { paid_again: stored, lookups, credits }: BatchQuote,
  choices: Asked['choices'] = {},
): string {
  if (stored === 0) return ''
  const paid = `${formatNumber(stored)} of ${formatNumber(lookups)} lookups are paid for already`
  if (!choices.refresh) return `${paid}: --max-age 90d uses the stored answers`
  const most = stored === lookups && credits.max > 0 ? `, up to ${formatCredits(credits.max)}` : ''
  const without =
    choices.reusableMs === undefined
      ? 'with --max-age 90d in its place, the stored answers are used'
      : 'without it, the stored answers are used'
  return `${paid}: --refresh pays for them again${most}; ${without}`
}

/** Says what all rows of the file can cost, where fewer rows or a budget keep the price below that. */
const wholeFileText = ({ file_max: most, credits, spent_before: spent }: BatchQuote): string =>
  most === null || most <= credits.max ? '' : `at most ${formatCredits(most)}${spent > 0 ? ' more' : ''}`

const notSaid = 'not known: the target does not say'

/** Says what counts in the budget of a run that goes on. */
const spentText = ({ spent_before: spent }: BatchQuote): string =>
  spent === 0 ? '' : `; --max-credits counts the ${formatCredits(spent)} that this run has spent`

const leftText = (credits: number): string => `${formatCredits(credits)} left`

/** Returns the number of lookups and of the rows that need none, without zeros. */
function lookupsText(quote: BatchQuote): string {
  const duplicates =
    quote.rows - quote.unique - quote.invalid - quote.skipped - quote.known - quote.suppressed
  const others = [
    [quote.done, 'answered before'],
    [quote.in_store, 'stored'],
    [duplicates, duplicates === 1 ? 'duplicate' : 'duplicates'],
    [quote.skipped, 'skipped'],
    [quote.known, 'known'],
    [quote.suppressed, 'suppressed'],
    [quote.invalid, 'invalid'],
  ] as const
  const parts = others.filter(([count]) => count > 0).map(([count, text]) => `${formatNumber(count)} ${text}`)
  return [formatNumber(quote.lookups), ...parts].join(', ')
}

export const providerText = ({ provider, kind, expected, max }: ProviderQuote): string => {
  const about = expected === null ? '' : `about ${formatNumber(expected)}, `
  return `${provider} ${about}at most ${formatNumber(max)} of its credits for ${kind.replace('_', ' ')}`
}

const shareText = (share: number): string =>
  share === 0.5 ? 'half the rows are found' : `${formatNumber(share * 100)} % of the maximum`

function basisText(basis: Basis): string {
  if (basis.kind === 'own') return `${lookupsOf(basis)}: ${formatCredits(basis.credits_per_lookup)} each`
  if (basis.kind === 'default')
    return basis.answers === 0
      ? `no history of such files; assuming ${shareText(basis.share)}`
      : `${lookupsOf(basis)}; mostly assuming ${shareText(basis.share)}`
  return ''
}

/** Says how much is known: the newest files count, as many as have enough lookups. */
const lookupsOf = ({ answers, files }: { readonly answers: number; readonly files: number }): string =>
  `${formatNumber(answers)} lookups of ${files === 1 ? 'the newest such file' : 'such files'}`

/** Says how far it goes what this may spend: by the least of the balance, the week and the budget. */
function affordableText(quote: BatchQuote): string {
  const { rows, rows_affordable: affordable, balance, weekly_allowance: week, budget } = quote
  const funds = [
    ['your balance', balance],
    ['what is left of your week', week],
    ['your budget', budget],
  ] as const
  const least = Math.min(...funds.map(([, credits]) => credits ?? Number.POSITIVE_INFINITY))
  const what = (funds.find(([, credits]) => credits === least) ?? funds[0])[0]
  if (quote.least_needed && budget)
    return `${what} covers no lookup: one can cost ${formatCredits(quote.least_needed)}`
  if (affordable === rows) return `${what} covers all rows`
  return affordable === 0
    ? `${what} does not cover the first row, should it cost its maximum`
    : `${what} covers at least the first ${formatNumber(affordable)} of ${formatNumber(rows)} rows`
}

const timeText = ({ seconds }: BatchQuote): string =>
  seconds ? `at least ${duration(seconds)}, because of rate limits` : 'no rate limit applies'
