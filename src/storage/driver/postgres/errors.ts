import { ApiError } from '../../../api/calls/errors.js'
import { isStorageFault, movedError, StorageFault } from '../connection.js'
import reasons from './reasons.json' with { type: 'json' }

interface Coded extends Readonly<Partial<Record<'code' | 'message' | 'severity' | 'syscall', unknown>>> {
  readonly errors?: readonly unknown[]
}

/** What the server, or the way to it, says of itself: by SQLSTATE, its class, or the system's name of the error. */
const unreachable: Readonly<Record<string, string>> = reasons.unreachable

const unusable: Readonly<Record<string, string>> = reasons.unusable

/** Words of the driver, which gives some errors no code. */
const lost =
  /^Connection terminated|^timeout ex|^Query read timeout|^Received unexpected|not queryable|ended by the other party/i

const codeOf = (error: unknown): string => {
  const { code, errors } = (error ?? {}) as Coded
  // A name with several addresses fails with all of their errors in one.
  return typeof code === 'string' ? code : errors?.[0] ? codeOf(errors[0]) : ''
}

/**
 * Classes of errors that a statement or its values are to blame for, on any server: not those of a server that has forgotten a
 * prepared statement, or of another session.
 */
const isOurs = (code: string): boolean => /^(?:0A|2[123]|42|44|P0)/.test(code) && code !== '42P05'

/** Whether it is about a file that is not the server's socket, like that of a certificate. */
const isOfFile = (error: unknown): boolean =>
  /^(?:ENOENT|EACCES)$/.test(codeOf(error)) && (error as Coded).syscall !== 'connect'

/** Whether the server said it; the system's and the driver's own errors have no severity. */
export const isSaid = (error: unknown): boolean => typeof (error as Coded | null)?.severity === 'string'

/** The SQLSTATE with which tables refuse changes after their database has moved; its message is the place. */
export const movedState = 'PR001'

/** None of several servers can be used; each has its own error. */
export class NoHost extends AggregateError {
  override readonly name = 'NoHost'
}

/** The errors of a server that is not, or no longer, the one that is wanted: another one may be in a moment. */
const hostError = (code: string): Error => Object.assign(new Error(code), { code })
export const leftBehind = (): Error => hostError('LEFT_BEHIND')
export const otherHost = (): Error => hostError('OTHER_HOST')

/** Whether the connection was lost or never made, so that a statement has no answer. */
export function isLost(error: unknown): boolean {
  if (error instanceof NoHost) return error.errors.some(isLost)
  const code = codeOf(error)
  if (isSaid(error)) return /^(?:08|57P|53300|25P0[34])/.test(code)
  if (code === '') return error instanceof Error && lost.test(error.message)
  return code in unreachable && code !== 'ERR_INVALID_URL' && !isOfFile(error)
}

/** Whether the driver kept a statement back, so that the server never saw it. */
export const isUnsent = (error: unknown): boolean =>
  codeOf(error) === '' && error instanceof Error && error.message.endsWith('not queryable')

/**
 * Whether the server answered a COMMIT with an error before which it undid the transaction. Of any other error the outcome
 * is open: a full disk or a crash may come after the commit is recorded.
 */
export const isUndone = (error: unknown): boolean =>
  /^(?:22|23|25|40|55|P0)[0-9A-Z]{3}$|^57014$/.test(codeOf(error)) &&
  codeOf(error) !== statementCompletionUnknown &&
  !isLost(error)

const statementCompletionUnknown = '40003'

/** Whether transactions got into each other's way, so that one of them was undone. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(codeOf(error))

/** Returns the `ApiError` for an error of PostgreSQL or its connection; any other error unchanged. */
export function fromPostgresError(error: unknown): unknown {
  if (isStorageFault(error, 'commit_unknown')) return new ApiError('outcome_unknown')
  if (error instanceof NoHost) return noHostError(error)
  const code = codeOf(error)
  if (code === movedState) return movedError((error as Error).message)
  if (code === '23505') return new StorageFault('already_there')
  if (isConflict(error) || code === '55P03' || code === '57014') return new ApiError('busy')
  const away = isOfFile(error) ? undefined : (unreachable[code] ?? describeError(error, code))
  if (away) return new ApiError('database_unreachable', { reason: away })
  if (code === '25006') return readOnlyError('either')
  const reason = unusable[code] ?? tablesReason(code)
  if (reason) return new ApiError('storage_failed', { reason })
  if (/^(?:FATAL|PANIC)$/.test(String((error as Coded | null)?.severity)))
    return new ApiError('database_unreachable', { reason: `it ends the connection (${code})` })
  if (/^5[38]/.test(code))
    return new ApiError('storage_failed', { reason: `its system refuses it (${code})` })
  if (code.startsWith('XX'))
    return new ApiError('storage_failed', { reason: 'it is damaged; restore a backup' })
  if (code === '22021' || code === '22P05')
    return new ApiError('invalid', { reason: 'Texts cannot hold the character U+0000' })
  if (!isSaid(error)) return error
  if (!isOurs(code)) return new ApiError('storage_failed', { reason: `it refuses a statement (${code})` })
  // Its message may repeat values, so it is only the cause.
  return new Error(`PostgreSQL refused a statement (${code})`, { cause: error })
}

/** One sentence where all servers fail alike; the reasons of all otherwise. Which one has which is for the doctor. */
function noHostError({ errors }: NoHost): unknown {
  const translated = errors.map(fromPostgresError)
  const said = translated.filter((error) => error instanceof ApiError)
  const reasonsOfAll = [...new Set(said.map(({ details }) => String(details.reason ?? '')))]
  if (reasonsOfAll.length < 2 || said.length < errors.length) return translated[0]
  return new ApiError('database_unreachable', {
    reason: `none of its servers can be used: ${reasonsOfAll.join('; ')}`,
  })
}

export const readOnlyError = (why: keyof typeof reasons.readOnly): ApiError =>
  new ApiError('database_read_only', { reason: reasons.readOnly[why] })

/** What tables are like that our statements do not fit: one is missing or other than it was made, or there already. */
function tablesReason(code: string): string | undefined {
  if (/^42(?:P01|P10|703|804|883)$/.test(code)) return reasons.tables.incomplete
  return /^42(?:P07|701|710|723)$/.test(code) ? reasons.tables.unversioned : undefined
}

function describeError(error: unknown, code: string): string | undefined {
  if (/^08/.test(code)) return 'the connection was cut'
  if (/^(?:ERR_(?:SSL|TLS)|CERT|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO)_/.test(code))
    return 'the encrypted connection is refused'
  if (code !== '' || !(error instanceof Error)) return undefined
  if (/^Connection terminated due to connection timeout|^timeout ex|^Query read/.test(error.message))
    return 'it does not answer in time'
  if (lost.test(error.message)) return 'the connection was cut'
  if (/SSL|TLS|certificate|self.signed/i.test(error.message)) return 'the encrypted connection is refused'
  return /password|SASL|SCRAM/.test(error.message) ? unreachable['28P01'] : undefined
}

/** Waits for a task; throws errors of the database as an `ApiError` where one fits. */
export async function translateErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw fromPostgresError(error)
  }
}

/** A translated statement and the name it is prepared under on each connection. */
export interface Prepared {
  readonly name: string | undefined
  readonly text: string
  readonly writes: boolean
  readonly lists: readonly number[]
}

/** Statements that are kept by name; no connection may keep all mixes of filters there are. */
const maxNames = 1_000

/**
 * What a statement has besides SQL that PostgreSQL takes unchanged. Strings, quoted names and comments are tokens too,
 * so that nothing in them is taken for a placeholder.
 */
const token =
  /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\b(NOT )?IN \(SELECT (value|atom) FROM json_each\(\?\)\)|\bSELECT (value|atom)(?: AS (\w+))? FROM json_each\(\?\)|\bjson_each\(\?\)|\bINDEXED BY \w+|\bCROSS JOIN\b|\?/g

/** Returns a function that translates statements of the shared subset for PostgreSQL, each text once. */
export function createStatementCache(asArrays = false, areNamed = true): (sql: string) => Prepared {
  const known = new Map<string, Prepared>()
  return (sql) => {
    const found = known.get(sql)
    if (found) return found
    const isKept = known.size < maxNames
    const name = isKept && areNamed ? `prospect_${known.size}` : undefined
    const made = { name, ...translate(sql, asArrays), writes: !/^\s*SELECT\b/i.test(sql) }
    if (isKept) known.set(sql, made)
    return made
  }
}

/**
 * Numbers the placeholders of a statement, spells lists as PostgreSQL does and drops what only SQLite's planner needs.
 * With `asArrays`, a list that a column is compared with is an array, whose values the planner knows.
 */
export function translate(sql: string, asArrays = false): Pick<Prepared, 'text' | 'lists'> {
  let places = 0
  const lists: number[] = []
  const list = (): string => {
    lists.push(places)
    return `$${++places}`
  }
  const select = (kind: string, name: string): string => {
    const values = `jsonb_array_elements_text(CAST(${list()} AS JSONB))`
    return `SELECT ${kind === 'atom' ? `CAST(${values} AS BIGINT)` : values} AS ${name}`
  }
  const text = sql.replace(token, (found, not = '', among, kind, name = kind) => {
    if (found === '?') return `$${++places}`
    if (found.startsWith('INDEXED')) return ''
    if (found === 'CROSS JOIN') return 'JOIN'
    if (found.startsWith('json_each'))
      return `jsonb_array_elements(CAST(${list()} AS JSONB)) AS json_each (value)`
    if (kind !== undefined) return select(kind, name)
    if (among === undefined) return found
    if (!asArrays) return `${not}IN (${select(among, among)})`
    return `${not ? '<> ALL' : '= ANY'} (${among === 'atom' ? 'numbers_in' : 'texts_in'}(${list()}))`
  })
  return { text, lists }
}

/**
 * Values as PostgreSQL takes them. Half of a character in a text goes out as the sign that stands for it; in a list it is
 * written out, and would be refused. What is asked for may have U+0000, which no text there has: a sign that none has
 * either stands for it, so that nothing is found.
 */
export function bindValues<V>(values: readonly V[], { lists, writes }: Pick<Prepared, 'lists' | 'writes'>) {
  const held = !writes && values.some(hasNul) ? values.map(withoutNul) : values
  if (lists.length === 0) return held
  return held.map((value, place) =>
    typeof value === 'string' && value.includes('\\ud') && lists.includes(place)
      ? (value.replace(escaped, (found, half) => (half ? '\ufffd' : found)) as V)
      : value,
  )
}

const hasNul = (value: unknown): value is string => typeof value === 'string' && value.includes('\0')
const withoutNul = <V>(value: V): V => (hasNul(value) ? (value.replaceAll('\0', '\uffff') as V) : value)

/** Only halves of characters are written out so: whole ones stand for themselves in what JSON.stringify answers. */
const escaped = /\\(?:(ud[89a-f][0-9a-f]{2})|.)/g
