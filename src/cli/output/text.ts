import { type Facts, isPriced, type Rate, type Unit } from '../../api/operations/facts.js'
import { escapeControls } from '../../api/values/controls.js'
import type { Streams } from '../context/context.js'

type Stream = { readonly isTTY?: boolean; readonly columns?: number }

/** How text is displayed on a stream. */
export interface Look {
  readonly isTerminal: boolean
  /** Width in characters. */
  readonly width: number
  bold(text: string): string
  dim(text: string): string
}

/** Returns the look of a stream. It has colours only on a terminal that supports them. */
export function lookOf(stream: Stream, env: Streams['env'], color = true): Look {
  const isTerminal = stream.isTTY === true
  const colorful = isTerminal && color && !env.NO_COLOR && env.TERM !== 'dumb'
  const style = (on: number, off: number) => (text: string) =>
    colorful && text !== '' ? `\u001b[${on}m${text}\u001b[${off}m` : text
  return { isTerminal, width: stream.columns || 80, bold: style(1, 22), dim: style(2, 22) }
}

/** Returns text on one line, with control characters escaped. */
export const oneLine = (text: string): string => escapeControls(text.replace(/\s*[\r\n\t]+\s*/g, ' ')).trim()

/** Returns the width of a text in columns: two for wide scripts and emoji, none for combining marks. */
export function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += /\p{Mark}/u.test(character) ? 0 : wide.test(character) ? 2 : 1
  return width
}

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u

/** Returns a number with commas between its thousands, in every locale. */
export const formatNumber = (value: number): string => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',')

const units: Readonly<Record<Unit, string>> = {
  company: 'company found',
  person: 'person found',
  job: 'job returned',
  email: 'e-mail address found',
  personal_email: 'personal e-mail address found',
  phone: 'contact with a phone found',
  number: 'reachable number',
}

/** Returns what an operation costs, as a sentence. */
export function priceText(facts: Facts): string {
  if (!isPriced(facts)) return facts.quota ? 'No credits.' : 'Free.'
  const parts = Object.entries(facts.price).map(
    ([unit, credits]) => `${formatCredits(credits)} per ${units[unit as Unit]}`,
  )
  const counted = facts.needs === 'records' ? 'company imported' : undefined
  const text =
    counted === undefined ? parts.join(', ') : `${formatCredits(facts.price.company ?? 0)} per ${counted}`
  return `${text}; nothing found costs nothing.`
}

/** Returns a number of credits with its noun. */
export const formatCredits = (credits: number): string =>
  `${formatNumber(credits)} ${credits === 1 ? 'credit' : 'credits'}`

/** Returns the rate limits and quotas of an operation, as a sentence. */
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

/** Reasons that are shown to a person; all are in the rejects file. */
const reasonsShown = 5

/** Returns lines such as `12 rows: "Website" is empty`. */
export function formatReasons(
  reasons: readonly { readonly reason: string; readonly rows: number }[],
): string[] {
  const shown = reasons.slice(0, reasonsShown).map(({ reason, rows }) => `${countRows(rows)}: ${reason}`)
  const more = reasons.slice(reasonsShown).reduce((sum, { rows }) => sum + rows, 0)
  return more === 0 ? shown : [...shown, `${countRows(more)} for other reasons`]
}

/** Returns a number of rows with its noun. */
export const countRows = (rows: number): string => `${formatNumber(rows)} ${rows === 1 ? 'row' : 'rows'}`

/** Returns the line about a file with invalid rows. */
export const formatToFix = (rows: number, file: string, when = ''): string =>
  `${formatNumber(rows)} ${rows === 1 ? 'row needs' : 'rows need'} fixing${when}: ${file}`
