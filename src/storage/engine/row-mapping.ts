import { parseExact, toJson } from '../../api/values/json.js'
import type {
  AsyncJob,
  CompanyList,
  Delivery,
  Enrichment,
  Key,
  ListPosition,
  Member,
  Movement,
  Persona,
  Slice,
  Workspace,
} from '../../engine/ports/ports.js'
import type { Value } from '../driver/connection.js'

/** A row as the database gives it. */
export type Row = Record<string, string | number | null>

/** A table's columns for one record: property, column and kind, so that reading and writing cannot disagree. */
export interface Column<T> {
  readonly property: keyof T & string
  readonly column: string
  readonly kind?: 'boolean' | 'json'
}

const column = <T>(property: keyof T & string, kind?: 'boolean' | 'json'): Column<T> => ({
  property,
  column: property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  ...(kind ? { kind } : {}),
})

export const workspaceColumns: readonly Column<Workspace>[] = [
  column<Workspace>('id'),
  column<Workspace>('name'),
  column<Workspace>('plan'),
  column<Workspace>('dailyProfiles'),
  column<Workspace>('dailyCompanies'),
  column<Workspace>('monthlyCompanies'),
  column<Workspace>('createdAt'),
  column<Workspace>('nextAllocationAt'),
  column<Workspace>('networkSession', 'boolean'),
  column<Workspace>('premiumSession', 'boolean'),
]

export const memberColumns: readonly Column<Member>[] = [
  column<Member>('id'),
  column<Member>('workspaceId'),
  column<Member>('email'),
  column<Member>('name'),
  column<Member>('weeklyLimit'),
  column<Member>('consentPersonalEmail', 'boolean'),
  column<Member>('createdAt'),
]

export const keyColumns: readonly Column<Key>[] = [
  column<Key>('id'),
  column<Key>('memberId'),
  column<Key>('hash'),
  column<Key>('hint'),
  column<Key>('scopes', 'json'),
  column<Key>('createdAt'),
  column<Key>('expiresAt'),
  column<Key>('revokedAt'),
]

export const movementColumns: readonly Column<Movement>[] = [
  column<Movement>('workspaceId'),
  column<Movement>('seq'),
  column<Movement>('kind'),
  column<Movement>('debit'),
  column<Movement>('credit'),
  column<Movement>('amount'),
  column<Movement>('credits'),
  column<Movement>('held'),
  column<Movement>('spent'),
  column<Movement>('memberId'),
  column<Movement>('operation'),
  column<Movement>('reference'),
  column<Movement>('createdAt'),
]

export const personaColumns: readonly Column<Persona>[] = [
  column<Persona>('id'),
  column<Persona>('workspaceId'),
  column<Persona>('name'),
  column<Persona>('jobTitles', 'json'),
  column<Persona>('excludedJobTitles', 'json'),
  column<Persona>('functions', 'json'),
  column<Persona>('seniorityLevels', 'json'),
  column<Persona>('createdAt'),
  column<Persona>('updatedAt'),
]

export const jobColumns: readonly Column<AsyncJob>[] = [
  column<AsyncJob>('id'),
  column<AsyncJob>('workspaceId'),
  column<AsyncJob>('memberId'),
  column<AsyncJob>('operation'),
  column<AsyncJob>('kind'),
  column<AsyncJob>('name'),
  column<AsyncJob>('plan', 'json'),
  column<AsyncJob>('webhookUrl'),
  column<AsyncJob>('streaming', 'boolean'),
  column<AsyncJob>('custom', 'json'),
  column<AsyncJob>('most'),
  column<AsyncJob>('expected'),
  column<AsyncJob>('state'),
  column<AsyncJob>('done'),
  column<AsyncJob>('place'),
  column<AsyncJob>('truncated', 'boolean'),
  column<AsyncJob>('parts', 'json'),
  column<AsyncJob>('partBytes'),
  column<AsyncJob>('enriched', 'boolean'),
  column<AsyncJob>('held'),
  column<AsyncJob>('spent'),
  column<AsyncJob>('error'),
  column<AsyncJob>('createdAt'),
  column<AsyncJob>('finishedAt'),
  column<AsyncJob>('token'),
  column<AsyncJob>('leaseUntil'),
  column<AsyncJob>('attempts'),
]

export const enrichmentColumns: readonly Column<Enrichment>[] = [
  column<Enrichment>('id'),
  column<Enrichment>('jobId'),
  column<Enrichment>('ordinal'),
  column<Enrichment>('firstName'),
  column<Enrichment>('lastName'),
  column<Enrichment>('custom', 'json'),
]

export const listColumns: readonly Column<CompanyList>[] = [
  column<CompanyList>('id'),
  column<CompanyList>('workspaceId'),
  column<CompanyList>('name'),
  column<CompanyList>('networkListId'),
  column<CompanyList>('status'),
  column<CompanyList>('createdAt'),
  column<CompanyList>('updatedAt'),
]

export const deliveryColumns: readonly Column<Delivery>[] = [
  column<Delivery>('id'),
  column<Delivery>('workspaceId'),
  column<Delivery>('jobId'),
  column<Delivery>('seq'),
  column<Delivery>('event'),
  column<Delivery>('url'),
  column<Delivery>('first'),
  column<Delivery>('last'),
  column<Delivery>('part'),
  column<Delivery>('parts'),
  column<Delivery>('state'),
  column<Delivery>('attempts'),
  column<Delivery>('dueAt'),
  column<Delivery>('status'),
  column<Delivery>('error'),
  column<Delivery>('createdAt'),
  column<Delivery>('finishedAt'),
  column<Delivery>('token'),
  column<Delivery>('leaseUntil'),
]

/** `prefix.column AS "prefixColumn"` for a select; without a prefix the plain names. */
export const selectList = <T>(columns: readonly Column<T>[], prefix = ''): string =>
  columns.map(({ column: name }) => (prefix ? `${prefix}.${name} AS ${prefix}_${name}` : name)).join(', ')

/** Makes the record of a row. */
export function fromRow<T>(columns: readonly Column<T>[], row: Row, prefix = ''): T {
  const record: Record<string, unknown> = {}
  for (const { property, column: name, kind } of columns)
    record[property] = read(row[prefix ? `${prefix}_${name}` : name] ?? null, kind)
  return record as T
}

function read(value: string | number | null, kind: Column<unknown>['kind']): unknown {
  if (kind === 'boolean') return value === 1
  if (kind === 'json') return value === null ? null : parseExact(String(value))
  return value
}

/** The value of a property as the database takes it. */
function toValue(value: unknown, kind: Column<unknown>['kind']): string | number | null {
  if (value === null || value === undefined) return null
  if (kind === 'boolean') return value ? 1 : 0
  if (kind === 'json') return toJson(value)
  return value as string | number
}

/** `INSERT` of one whole record, and the values in its order. */
export function insertOf<T>(table: string, columns: readonly Column<T>[]) {
  const sql = `INSERT INTO ${table} (${selectList(columns)}) VALUES (${columns.map(() => '?').join(', ')})`
  const properties = columns.map(({ property }) => property)
  const plain = columns.every(({ kind }) => kind === undefined)
  const values = plain
    ? (record: T) => properties.map((property) => record[property] as string | number | null)
    : (record: T) => columns.map(({ property, kind }) => toValue(record[property], kind))
  return { sql, values }
}

/** `SET` of the properties that a change names, and their values; undefined when it names none. */
export function changeOf<T>(columns: readonly Column<T>[], change: Partial<T>) {
  const named = columns.filter(({ property }) => change[property] !== undefined)
  if (named.length === 0) return undefined
  return {
    set: named.map(({ column: name }) => `${name} = ?`).join(', '),
    values: named.map(({ property, kind }) => toValue(change[property], kind)),
  }
}

/** A select's rows, newest first, from a place on; equal moments are told apart by id. */
export function newestFirst(select: string, { after, skip, limit }: Slice): { sql: string; values: Value[] } {
  const where = after ? ' AND (created_at, id) < (?, ?)' : ''
  const from = (place: ListPosition): Value[] => [place.createdAt, place.id]
  return {
    sql: `${select}${where} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`,
    values: [...(after ? from(after) : []), limit, skip],
  }
}
