import { columnNamed, normaliseName, synonymsOf } from '../../csv/names.js'
import type { RecordKind } from '../kinds/kind.js'
import { fitsColumn, kindsOfField, toColumnKind } from '../normalize/value-kinds.js'
import { fields } from '../records/fields.js'
import { ImportError } from './report.js'

/** Fields that identify a record of each kind: a file needs at least one of each group. */
const requiredFields: Readonly<Record<RecordKind, readonly (readonly string[])[]>> = {
  companies: [['domain', 'website', 'network_url', 'network_id']],
  people: [
    'network_profile_url premium_profile_url network_id email full_name last_name first_name'.split(' '),
  ],
  jobs: [
    ['job_title'],
    ['company_domain', 'company_network_url', 'company_network_id', 'company_name', 'company'],
  ],
  posts: [['post_url']],
}

/** Which column is read as which field. */
interface MappedColumns {
  /** The field of each column, in order. */
  readonly fields: readonly (string | undefined)[]
  /** Column by field. */
  readonly mapping: Readonly<Record<string, string>>
  readonly ignored: readonly string[]
}

/**
 * Maps the columns of a header to the fields of a kind: explicitly, else by field name, else by a common synonym, where their
 * first cells are of the field's kind; else by profiles in them. Throws when no column identifies a record.
 */
export function mapColumns(
  kind: RecordKind,
  header: readonly string[],
  explicit: Readonly<Record<string, string>> = {},
  samples: readonly (readonly string[])[] = [],
): MappedColumns {
  const columnOf = new Map<string, number>()
  for (const [field, column] of Object.entries(explicit))
    columnOf.set(checkField(kind, field), findColumn(header, column))
  const guesses = header.map((column, at) => guessField(kind, column, samples[at]))
  for (const rank of ['name', 'sure', 'likely'] as const)
    for (const [at, guess] of guesses.entries())
      if (guess?.rank === rank && !columnOf.has(guess.field) && ![...columnOf.values()].includes(at))
        columnOf.set(guess.field, at)
  checkRequired(kind, header, columnOf)
  const byColumn = new Map([...columnOf].map(([field, at]) => [at, field]))
  return {
    fields: header.map((_, at) => byColumn.get(at)),
    mapping: Object.fromEntries([...columnOf].map(([field, at]) => [field, header[at] ?? ''])),
    ignored: header.filter((_, at) => !byColumn.has(at)),
  }
}

/** Returns the field of a column by its name, or, where its cells are of another kind, the field that is made for them. */
function guessField(kind: RecordKind, column: string, cells: readonly string[] | undefined) {
  const named = matchField(kind, column)
  const held = toColumnKind(cells)
  if (named === undefined || held === undefined || fitsColumn(kind, named.field, held)) return named
  if (held.endsWith('name')) return undefined
  const field = Object.keys(fields[kind]).find((one) => kindsOfField(kind, one)?.includes(held))
  return field === undefined ? undefined : { field, rank: 'likely' as const }
}

/** Returns the field that a key or column stands for; `undefined` when none. */
export const findField = (kind: RecordKind, column: string): string | undefined =>
  matchField(kind, column)?.field

function matchField(
  kind: RecordKind,
  column: string,
): { field: string; rank: 'name' | 'sure' | 'likely' } | undefined {
  const wanted = normaliseName(column)
  const names = [...Object.keys(fields[kind]), ...(kind === 'people' ? ['phone'] : [])]
  const named = names.find((name) => normaliseName(name) === wanted)
  if (named !== undefined) return { field: named, rank: 'name' }
  for (const rank of ['sure', 'likely'] as const) {
    const field = names.find((name) =>
      synonymsOf(kind, name)[rank]?.some((word) => normaliseName(word) === wanted),
    )
    if (field !== undefined) return { field, rank }
  }
  return undefined
}

/** Returns the field. Throws when records of the kind do not have it. */
export function checkField(kind: RecordKind, field: string): string {
  if (Object.hasOwn(fields[kind], field) || (kind === 'people' && field === 'phone')) return field
  throw new ImportError(
    `There is no field '${field}' of ${kind}; choose one of ${Object.keys(fields[kind]).join(', ')}`,
  )
}

function findColumn(header: readonly string[], column: string): number {
  const at = columnNamed(header, column)
  if (at < 0) throw new ImportError(`There is no column '${column}'; choose one of ${header.join(', ')}`, 1)
  return at
}

function checkRequired(
  kind: RecordKind,
  header: readonly string[],
  columnOf: ReadonlyMap<string, number>,
): void {
  for (const oneOf of requiredFields[kind]) {
    if (oneOf.some((field) => columnOf.has(field))) continue
    throw new ImportError(
      `No column identifies the ${kind}: one must be ${oneOf.join(', ')}. ` +
        `Choose it with --map ${oneOf[0]}=COLUMN, from ${header.join(', ')}`,
      1,
    )
  }
}
