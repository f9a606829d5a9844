import { isAbsolute, relative } from 'node:path'
import { styleText } from 'node:util'
import { type Facts, isPriced, type Rate, type Unit } from '../../api/operations/facts.js'
import { isUnlimited } from '../../api/operations/plans.js'
import { dayMs } from '../../api/values/dates.js'
import { formatAge } from '../../api/values/duration.js'
import { escapeControls } from '../../api/values/json.js'
import type { LeftOutValues } from '../../csv/names.js'
import type { Context, Streams } from '../context/context.js'
import { widthOf } from './width.js'

type Stream = { readonly isTTY?: boolean; readonly columns?: number }
type Env = Streams['env']

export interface Look {
  readonly isTerminal: boolean
  readonly width: number
  /** Whether only ASCII can be displayed. */
  readonly isAscii: boolean
  /** The time that relative times count from, in milliseconds. */
  readonly now: number
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
}

/** Returns the look of a stream. It has colours only on a terminal that supports them, or with FORCE_COLOR. */
export function lookOf(stream: Stream, env: Env, color = true, now = Date.now()): Look {
  const isTerminal = stream.isTTY === true
  const isColorful = color && wantsColor(isTerminal, env)
  const style = (name: 'bold' | 'dim' | 'red' | 'green') => (text: string) =>
    isColorful && text !== '' ? styleText(name, text, { validateStream: false }) : text
  return {
    isTerminal,
    width: stream.columns || 80,
    isAscii: isAscii(env),
    now,
    bold: style('bold'),
    dim: style('dim'),
    red: style('red'),
    green: style('green'),
  }
}

/** Returns the look of a stream of a command; `now` is the time of what is shown, where it is not that of this machine. */
export const lookOn = (
  { globals, streams, clock }: Pick<Context, 'globals' | 'streams' | 'clock'>,
  stream: Stream,
  now = clock.now(),
): Look => lookOf(stream, streams.env, globals.color !== false, now)

// As Node does it: FORCE_COLOR is stronger than NO_COLOR.
function wantsColor(isTerminal: boolean, { FORCE_COLOR: force, NO_COLOR, TERM }: Env): boolean {
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false'
  return isTerminal && !NO_COLOR && TERM !== 'dumb'
}

/** Whether the locale, as the environment names it, cannot display more than ASCII. */
export function isAscii({ LC_ALL, LC_CTYPE, LANG, TERM }: Env): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG
  return TERM === 'linux' || (locale !== undefined && locale !== '' && !/utf-?8/i.test(locale))
}

const inAscii: Readonly<Record<string, string>> = {
  '…': '...',
  '·': '-',
  '–': '-',
  '—': '-',
  '→': '->',
  '’': "'",
  '“': '"',
  '”': '"',
  '█': '#',
  '░': '.',
}

/** Returns a text of this program in ASCII, where only that can be displayed. */
export const drawable = (text: string, { isAscii }: Pick<Look, 'isAscii'>): string =>
  isAscii ? text.replace(/[…·–—→’“”█░]/g, (sign) => inAscii[sign] ?? sign) : text

export const oneLine = (text: string): string => escapeControls(text.replace(/\s*[\r\n\t]+\s*/g, ' ')).trim()

/** Returns a text in lines of at most `width` columns, broken between words; a longer word is broken anywhere. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (widthOf(longer) <= width) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    const pieces = breakWord(word, width)
    line = pieces.pop() ?? ''
    lines.push(...pieces)
  }
  return [...lines, line]
}

/** A command that a message ends with, such as `Resume with: prospect runs resume 7f6f2d0e`. */
const endingCommand = /(?<=: )prospect (?:(?!\. |[;)]).)*$/

/** Returns a message wrapped at a width, with a command at its end on a line of its own where that keeps it whole. */
export function wrapMessage(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text]
  const command = endingCommand.exec(text)?.[0]
  if (command === undefined || widthOf(command) + 2 > width) return wrapText(text, width)
  return [...wrapText(text.slice(0, -command.length - 1), width), `  ${command}`]
}

/** Returns a message in the lines in which a stream shows it: wrapped on a terminal, one line elsewhere. */
export function messageLines(message: string, { stderr, env }: Pick<Streams, 'stderr' | 'env'>): string[] {
  const text = drawable(oneLine(message), { isAscii: isAscii(env) })
  const width = stderr.isTTY ? stderr.columns : undefined
  return width ? wrapMessage(text, width) : [text]
}

function breakWord(word: string, width: number): string[] {
  if (widthOf(word) <= width) return [word]
  const pieces = ['']
  for (const character of word) {
    const last = pieces.length - 1
    if (widthOf(pieces[last] + character) <= width) pieces[last] += character
    else pieces.push(character)
  }
  return pieces
}

export function cutEnd(text: string, width: number, look: Pick<Look, 'isAscii'>): string {
  if (widthOf(text) <= width) return text
  const sign = drawable('…', look)
  return `${breakWord(text, Math.max(1, width - sign.length))[0]}${sign}`
}

/** Returns a path cut at its front, where possible before the name of a folder: `…/exports/crm.csv`. */
export function cutPath(path: string, width: number, look: Pick<Look, 'isAscii'>): string {
  if (widthOf(path) <= width) return path
  const sign = drawable('…', look)
  const ends = [...path.matchAll(/[/\\]/g)].map(({ index }) => path.slice(index))
  const fitting = ends.find((end) => widthOf(end) <= width - sign.length)
  if (fitting !== undefined && fitting.length > 1) return sign + fitting
  const name = [...path].reverse().join('')
  return sign + [...(breakWord(name, Math.max(1, width - sign.length))[0] ?? '')].reverse().join('')
}

const shortIdLength = 8

/** Returns the beginning of an id of this machine, long enough to differ from those beside it. */
export function shortenId(id: string, others: readonly string[] = []): string {
  const prefix = /^[a-z]+_(?=.)/.exec(id)?.[0].length ?? 0
  const isUnique = (length: number) =>
    others.every((one) => one === id || !one.startsWith(id.slice(0, length)))
  let length = prefix + shortIdLength
  while (length < id.length && (!isUnique(length) || /[-_]/.test(id[length - 1] ?? ''))) length++
  return id.slice(0, length)
}

/** Returns an id of this machine as a message shows it: short on a terminal, where a person types it. */
export const formatId = (id: string, { stderr }: Pick<Streams, 'stderr'>): string =>
  stderr.isTTY ? shortenId(id) : id

/** Returns a path as a message shows it: on a terminal from the current folder on, where the file is in it. */
export function formatPath(path: string, { stderr, cwd }: Pick<Streams, 'stderr' | 'cwd'>): string {
  const inside = relative(cwd, path)
  return stderr.isTTY && inside !== '' && !inside.startsWith('..') && !isAbsolute(inside) ? inside : path
}

export function duration(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds))
  if (whole < 60) return `${whole} s`
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`
}

/** Returns a moment for a person: on a terminal as `3 min ago` or `in 42 s`, beyond a week as its day; else in ISO. */
export function formatTime(iso: string, { isTerminal, now }: Pick<Look, 'isTerminal' | 'now'>): string {
  const ms = Date.parse(iso) - now
  if (!isTerminal || Number.isNaN(ms)) return iso
  const size = Math.abs(ms)
  if (size > 7 * dayMs) return iso.slice(0, 10)
  if (Math.round(size / 1_000) === 0) return 'now'
  const text = formatAge(size)
  return ms < 0 ? `${text} ago` : `in ${text}`
}

/** Returns how many answers are reused and how old the oldest is, as a part of a line; empty without any. */
export function formatReused(
  reused: number,
  of: number | undefined,
  oldestMs: number | undefined,
  word = ' reused',
): string {
  if (reused === 0) return ''
  const share = of === undefined ? '' : ` of ${formatNumber(of)}`
  const age = oldestMs === undefined ? '' : `, the oldest ${formatAge(oldestMs)} old`
  return `${formatNumber(reused)}${share}${word}${age}`
}

const acronyms: Readonly<Record<string, string>> = {
  id: 'ID',
  ids: 'IDs',
  url: 'URL',
  uuid: 'UUID',
  sha256: 'SHA-256',
}
/** Objects whose name says nothing beside that of their fields. */
const silent = new Set(['lead', 'message', 'account'])

/** Returns the name of a field for people: `First name`, `Company name`, `Started`. */
export function labelOf(name: string): string {
  if (!/^_?[a-z][\w.]*$/.test(name)) return oneLine(name)
  const parts = name.split('.').filter((part, at, all) => at === all.length - 1 || !silent.has(part))
  const words = parts
    .join('_')
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/(?<=.)_at$/, '')
    .split('_')
    .filter((word) => word !== '')
  const text = (words[0] === 'operation' ? ['command'] : words)
    .map((word) => acronyms[word] ?? word)
    .join(' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Returns a number with commas between its thousands, in every locale. */
export const formatNumber = (value: number): string =>
  String(value).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+(?!\d))/g, ','))

/** Returns a balance, or what is left of a quota, as a cell of a table: a number, unless it has no limit. */
export const cellOfLeft = (value: unknown): unknown =>
  typeof value === 'number' && isUnlimited(value) ? 'no limit' : value

/** Formats a balance, or what is left of a quota. */
export const formatLeft = (value: number): string => (isUnlimited(value) ? 'no limit' : formatNumber(value))

const units: Readonly<Record<Unit, string>> = {
  company: 'company found',
  person: 'person found',
  job: 'job returned',
  email: 'email address found',
  personal_email: 'personal email address found',
  phone: 'contact with a phone found',
  number: 'reachable number',
}

export function priceText(facts: Facts): string {
  if (!isPriced(facts)) return facts.quota ? `Free; uses ${quotas[facts.quota]}.` : 'Free.'
  const parts = Object.entries(facts.price).map(
    ([unit, credits]) => `${formatCredits(credits)} per ${units[unit as Unit]}`,
  )
  const perImport = `${formatCredits(facts.price.company ?? 0)} per company imported`
  const text = facts.needs === 'records' ? perImport : parts.join(', ')
  return `${text}; nothing found costs nothing.`
}

export const formatCredits = (credits: number): string => countOf(credits, 'credit')

const quotas = {
  profiles: '1 daily profile per person',
  companies: '1 daily and 1 monthly company per company',
} as const

export function limitsText({ rate }: Facts): string {
  const text =
    'live' in rate
      ? `${rateText(rate.live) || 'none'}; with --no-live ${rateText(rate.database) || 'none'}`
      : rateText(rate)
  return text === '' ? 'None.' : `${text[0]?.toUpperCase()}${text.slice(1)}.`
}

function rateText(rate: Rate): string {
  const own = rate.own && `${countOf(rate.own[0], 'request')} per ${rate.own[1]}`
  return [own, rate.plan && "your plan's requests per minute"].filter(Boolean).join(', and ')
}

/** Reasons that are shown to a person; all are in the rejects file. */
const reasonsShown = 5

/** Returns lines such as `12 rows: "Website" is empty`. */
export function formatReasons(reasons: readonly { readonly reason: string; readonly rows: number }[]) {
  const shown = reasons.slice(0, reasonsShown).map(({ reason, rows }) => `${countRows(rows)}: ${reason}`)
  const more = reasons.slice(reasonsShown).reduce((sum, { rows }) => sum + rows, 0)
  return more === 0 ? shown : [...shown, `${countRows(more)} for other reasons`]
}

/** Returns a number with its noun, such as `1 job` or `1,200 deliveries`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

/** Returns what is there of each kind, such as `2 jobs, 1 search`; an empty text where nothing is. */
export const listCounts = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${formatNumber(count)} ${kind}`)
    .join(', ')

export const countRows = (rows: number): string => countOf(rows, 'row')

export const formatToFix = (rows: number, file: string, when = ''): string =>
  `${formatNumber(rows)} ${rows === 1 ? 'row needs' : 'rows need'} fixing${when}: ${file}`

/** Returns a line for each field: `email_status: 5 values, such as "Extrapolated"`. */
export const formatLeftOut = (counts: readonly LeftOutValues[]): string[] =>
  counts.map(({ field, values, sample }) => `${field}: ${countOf(values, 'value')}, such as "${sample}"`)
