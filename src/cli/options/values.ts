import { InvalidArgumentError, Option } from 'commander'
import { Refusal } from '../../api/calls/errors.js'
import { dayMs, dayOf } from '../../api/values/dates.js'
import { unitMs } from '../../api/values/duration.js'
import { nearest } from '../../api/values/nearest.js'
import { withoutUndefined } from '../../api/values/objects.js'
import { type Period, periodEnd, periodStart } from '../../engine/clock.js'
import type { RunsLocation } from '../../runs/records.js'
import { isPostgres, locationProblem, withoutPassword } from '../../storage/driver/connection.js'
import type { Context } from '../context/context.js'
import { toFlag } from '../context/errors.js'
import { quoteForShell } from '../context/home.js'

export const optionRows = <const Rows extends OptionRows>(rows: Rows): Rows => rows

export function word(text: string): string {
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(text))
    throw new InvalidArgumentError('Give a word of lower-case letters, digits and _.')
  return text
}

/** Returns a number in decimal digits; NaN for any other text, such as `0x10`, `1e3` or an empty one. */
export const parseDecimal = (text: string): number =>
  /^[+-]?\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN

/** Returns what reads a number in decimal digits. It refuses one that is not valid, with a sentence. */
export const numberWhere =
  (read: (text: string) => number, isValid: (value: number) => boolean, sentence: string) =>
  (text: string): number => {
    const value = read(text)
    if (Number.isFinite(value) && isValid(value)) return value
    throw new InvalidArgumentError(sentence)
  }

export const positive = numberWhere(parseDecimal, (value) => value > 0, 'Give a number above 0.')

export const notNegative = numberWhere(parseDecimal, (value) => value >= 0, 'Give 0 or a number above.')

export const whole = numberWhere(notNegative, Number.isSafeInteger, 'Give a whole number.')

export const positiveWhole = numberWhere(
  parseDecimal,
  (value) => Number.isSafeInteger(value) && value > 0,
  'Give a whole number above 0.',
)

/** Reads a port; 0 stands for any free one. */
export const port = numberWhere(
  parseDecimal,
  (value) => Number.isSafeInteger(value) && value >= 0 && value <= 65_535,
  'Give a port from 0 to 65535.',
)

export const seconds = numberWhere(
  parseDecimal,
  (value) => value >= 0,
  'Give a number of seconds, or none to wait until the end.',
)

/** Returns what reads a list of some names, such as `member,day`, also from an option that is repeated. */
export function listOf<const Name extends string>(names: readonly Name[]) {
  const nameOf = (typed: string): Name => {
    const found = names.find((name) => name === typed)
    if (found !== undefined) return found
    const near = nearest(typed, names)
    throw new InvalidArgumentError(
      near === undefined ? `It takes: ${names.join(', ')}.` : `Did you mean ${near}?`,
    )
  }
  const read = (text: string, before: readonly Name[] | undefined): readonly Name[] => [
    ...new Set([...(before ?? []), ...text.split(',').map((name) => nameOf(name.trim()))]),
  ]
  return Object.assign(read, { words: names })
}

export function costs(text: string, before: Readonly<Record<string, number>> = {}): Record<string, number> {
  const [, name, amount] = /^([a-z][\w-]*)=(\d+(?:\.\d+)?)$/.exec(text) ?? []
  if (name === undefined)
    throw new InvalidArgumentError('Give a provider and an amount, such as acmemail=100.')
  return { ...before, [name]: Number(amount) }
}

export const repeated = (text: string, before: readonly string[] = []): string[] => [...before, text]

/** Reads a duration such as `90s`, `15m`, `2h`, `1d` or `1d12h`; returns milliseconds. */
export function durationMs(text: string): number {
  if (!/^(?:0|(?:\d+(?:\.\d+)?[smhd])+)$/.test(text))
    throw new InvalidArgumentError('Write a duration like 90s, 15m, 2h or 1d.')
  const parts = [...text.matchAll(/([\d.]+)([smhd])/g)]
  const ms = parts.reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * unitMs[unit as keyof typeof unitMs],
    0,
  )
  if (ms > 100 * 366 * dayMs) throw new InvalidArgumentError('Give at most 100 years.')
  return Math.round(ms)
}

const time = /^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/i

/** Reads a day or time such as `2026-03-01T08:30:00Z`, by default in UTC; returns milliseconds since 1970. */
export function momentMs(text: string): number {
  const day = time.exec(text)?.[1]
  const zoned = /(?:Z|[+-]\d{2}:\d{2})$/i.test(text.slice(10)) || text.length === 10 ? text : `${text}Z`
  const at = Date.parse(zoned.replace(' ', 'T'))
  if (day === undefined || dayOf(day) === undefined || Number.isNaN(at))
    throw new InvalidArgumentError('Write a day or time like 2026-03-01 or 2026-03-01T08:30:00Z.')
  return at
}

/** Reads a day such as 2026-03-01. */
export function day(text: string): string {
  if (dayOf(text) === undefined) throw new InvalidArgumentError('Write a day like 2026-03-01.')
  return text
}

export const endMs = (text: string): number => momentMs(text) + (text.length === 10 ? dayMs : 0)

/** A moment that was typed, in milliseconds since 1970; `now` is that of the clock it is about. */
type Moment = (now: number) => number

const dayWords: Readonly<Record<string, string>> = { today: 'this-day', yesterday: 'last-day' }

/** Returns what reads a day, a time, how long ago, or a word such as `last-week`, of which it takes one end. */
const momentWhere =
  (readTime: (text: string) => number, endOf: (period: Period, at: number) => number) =>
  (text: string): Moment => {
    const [, which, period] = /^(this|last)-(day|week|month)$/.exec(dayWords[text] ?? text) ?? []
    if (period !== undefined) {
      const of = period as Period
      return (now) => endOf(of, which === 'this' ? now : periodStart(of, now) - 1)
    }
    if (/^\d[\d.smhd]*[smhd]$/.test(text)) {
      const agoMs = durationMs(text)
      return (now) => now - agoMs
    }
    if (!/^\d{4}/.test(text))
      throw new InvalidArgumentError(
        'Write today, yesterday, this-week, last-week, this-month, last-month, 7d or 2026-03-01.',
      )
    const at = readTime(text)
    return () => at
  }

/** The options that select a time. Days, weeks from Monday on, and months are those of UTC. */
export const timeOptions = optionRows({
  since: [
    '<when>',
    'from then on (UTC): 2026-03-01, today, this-week, last-week, last-month, or 7d for 7 days ago',
    momentWhere(momentMs, periodStart),
  ],
  until: ['<when>', 'until the end of that day, week or month', momentWhere(endMs, periodEnd)],
})

/** Returns the time that options select, in milliseconds: `since` included, `until` not. Throws a Refusal for none. */
export function readTimes({ since, until }: OptionsOf<typeof timeOptions>, now: number) {
  const times = withoutUndefined({ since: since?.(now), until: until?.(now) })
  if (times.since !== undefined && times.until !== undefined && times.since >= times.until)
    throw new Refusal('usage.since_after_until')
  return times
}

/** Returns the ISO time of milliseconds since 1970; null for null. */
export const isoTime = <T extends number | null>(at: T) =>
  (at === null ? null : new Date(at).toISOString()) as T extends null ? null : string

/** What the value may be, or what reads its text and, where it is repeated, the value so far; completion offers `words`. */
type Reader =
  | readonly string[]
  | (((text: string, before: never) => unknown) & { readonly words?: readonly string[] })

/** An option: its value as help names it, empty where it takes none, what help says of it, and how the value is read. */
type OptionRow = readonly [value: string, text: string, read?: Reader]

/** Options under the names by which commands read them: `dryRun` is typed as `--dry-run`. */
export type OptionRows = Readonly<Record<string, OptionRow>>

export type OptionsOf<Rows extends OptionRows> = {
  readonly [Name in keyof Rows as Attribute<Name>]?: ValueOf<Rows[Name]>
}

/** `noWorker` is typed as `--no-worker`, and makes `worker` false. */
type Attribute<Name> = Name extends `no${infer Rest}`
  ? Rest extends Capitalize<Rest>
    ? Uncapitalize<Rest>
    : Name
  : Name

type ValueOf<Row extends OptionRow> = Row extends readonly [string, string, infer Read]
  ? Read extends readonly (infer Text)[]
    ? Text
    : Read extends (...given: never[]) => infer Value
      ? Value
      : never
  : Row[0] extends `${string}<${string}`
    ? string
    : boolean

/** Creates the options of some rows. A value that begins with a letter, as in `-L <n>`, also has that short form. */
export const toOptions = (rows: OptionRows): Option[] =>
  Object.entries(rows).map(([name, [value, text, read]]) => {
    const [, short = '', rest = ''] = /^(-\w)? ?(.*)$/.exec(value) ?? []
    const option = new Option(`${short}${short && ', '}${toFlag(name)} ${rest}`.trim(), text)
    const words = typeof read === 'function' ? read.words : read
    if (words) option.choices(words)
    if (typeof read === 'function') option.argParser(read as (text: string, before: unknown) => unknown)
    return option
  })

/** Returns what reads the place of a database. It throws for an address with a password, because other users could see it. */
export const refusePassword =
  (option: string) =>
  (location: string): string => {
    if (withoutPassword(location) !== location) throw new Refusal('usage.database_password', { option })
    return location
  }

export const engineOption = optionRows({
  database: [
    '<place>',
    "the engine's database: a file, or postgres://… (default: the one of this machine)",
    refusePassword('--database'),
  ],
})

export const catalogueOption = optionRows({
  database: [
    '<url>',
    "the engine's database with its catalogue, postgres://… (default: that of PROSPECT_DATABASE_URL, else this machine's)",
    serverAddress,
  ],
})

/** Returns the address of a PostgreSQL database. Throws a Refusal for anything else and for a password. */
export function serverAddress(location: string): string {
  const address = refusePassword('--database')(location)
  if (isPostgres(address)) return address
  const problem = locationProblem(address) ?? 'is not the address of a PostgreSQL database'
  throw new Refusal('usage.database_address', { problem })
}

/** Returns the context of the database that `--database` names, or the same one without that option. */
export function withCatalogueOption(context: Context, { database }: OptionsOf<typeof catalogueOption>) {
  return database ? context.withDatabase(database) : context
}

/** The options that choose whose runs a command is about: by default those of this machine. */
export const sharedOptions = optionRows({
  database: [
    '<place>',
    'the runs that several machines share: the postgres://… address of their database',
    refusePassword('--database'),
  ],
  shared: ['', 'the runs in the database that PROSPECT_DATABASE_URL names'],
})

type SharedOptions = OptionsOf<typeof sharedOptions>

export function runsLocationOf({ home }: Context, { database, shared }: SharedOptions): RunsLocation {
  if (database !== undefined) return { database: requirePostgres(database, '--database') }
  return shared ? { database: requirePostgres(home.engine, 'PROSPECT_DATABASE_URL') } : {}
}

/** Returns the option that names a database in a shell command. The address of the environment may have a password. */
export function databaseOptionOf({ home }: Context, { database }: RunsLocation): string {
  if (database === undefined) return ''
  return database === home.engine ? ' --shared' : ` --database ${quoteForShell(database)}`
}

/** Returns where the runs of a command are stored, and the context of that database. */
export function contextOfRuns(context: Context, options: SharedOptions) {
  const location = runsLocationOf(context, options)
  return { context: context.withDatabase(location.database ?? context.home.engine), location }
}

function requirePostgres(database: string, name: string): string {
  if (isPostgres(database)) return database
  throw new Refusal('usage.shared_database', { name })
}
