import { normaliseName } from '../../csv/names.js'
import type { Kind } from '../kinds/kind.js'
import { fields } from '../records/fields.js'
import { needed, spellings } from './column-synonyms.js'
import { ImportError } from './report.js'

/** Which column is which field. */
export interface Columns {
  /** The field of each column, in order. */
  readonly fields: readonly (string | undefined)[]
  /** Field to column. */
  readonly mapping: Readonly<Record<string, string>>
  readonly ignored: readonly string[]
}

/**
 * Matches a header's columns with the fields of a kind: as told, else by the field's name, else by a spelling in
 * common use. Refuses a header in which nothing says which record a row is.
 */
export function mapColumns(
  kind: Kind,
  header: readonly string[],
  told: Readonly<Record<string, string>> = {},
): Columns {
  const taken = new Map<string, number>()
  for (const [field, column] of Object.entries(told))
    taken.set(checkedField(kind, field), columnAt(header, column))
  const guesses = header.map((column) => ranked(kind, column))
  for (const rank of ['name', 'spelling'] as const)
    for (const [at, guess] of guesses.entries())
      if (guess?.rank === rank && !taken.has(guess.field) && ![...taken.values()].includes(at))
        taken.set(guess.field, at)
  checkNeeded(kind, header, taken)
  const byColumn = new Map([...taken].map(([field, at]) => [at, field]))
  return {
    fields: header.map((_, at) => byColumn.get(at)),
    mapping: Object.fromEntries([...taken].map(([field, at]) => [field, header[at] ?? ''])),
    ignored: header.filter((_, at) => !byColumn.has(at)),
  }
}

/** The field that a key or column is called after, if any. */
export const fieldOf = (kind: Kind, column: string): string | undefined => ranked(kind, column)?.field

function ranked(kind: Kind, column: string): { field: string; rank: 'name' | 'spelling' } | undefined {
  const wanted = normaliseName(column)
  const names = [...Object.keys(fields[kind]), ...(kind === 'people' ? ['phone'] : [])]
  const field = names.find((name) => normaliseName(name) === wanted)
  if (field !== undefined) return { field, rank: 'name' }
  const spelt = Object.entries(spellings[kind]).find(([, words]) =>
    words.some((word) => normaliseName(word) === wanted),
  )
  return spelt && { field: spelt[0], rank: 'spelling' }
}

/** The field, if records of the kind have it. */
export function checkedField(kind: Kind, field: string): string {
  if (Object.hasOwn(fields[kind], field) || (kind === 'people' && field === 'phone')) return field
  throw new ImportError(`${kind} have no field '${field}'; they have ${Object.keys(fields[kind]).join(', ')}`)
}

function columnAt(header: readonly string[], column: string): number {
  const exact = header.indexOf(column)
  const at = exact >= 0 ? exact : header.findIndex((name) => normaliseName(name) === normaliseName(column))
  if (at < 0) throw new ImportError(`no column is called '${column}'; there are ${header.join(', ')}`, 1)
  return at
}

function checkNeeded(kind: Kind, header: readonly string[], taken: ReadonlyMap<string, number>): void {
  for (const oneOf of needed[kind]) {
    if (oneOf.some((field) => taken.has(field))) continue
    throw new ImportError(
      `no column is ${oneOf.join(', ')}, so nothing says which of the ${kind} a row is; ` +
        `name one with --map ${oneOf[0]}=COLUMN. There are ${header.join(', ')}`,
      1,
    )
  }
}
