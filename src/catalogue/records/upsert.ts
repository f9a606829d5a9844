import { type Connection, send, type Value } from '../../storage/driver/connection.js'
import type { RowInserter, RowTarget } from '../dialect/dialect.js'
import { dialectOf, inEachDialect } from '../dialect/dialects.js'
import type { TextTable } from '../full-text/text-query.js'
import type { StoredRecord } from '../kinds/kind.js'
import { foldText } from '../normalize/name.js'
import { InvalidRecordError, shorten } from '../normalize/readers.js'
import { awaitResult, type Steps } from '../write/sync-steps.js'
import type { WriteContext } from '../write/write-context.js'

/**
 * Creates the writer of a table, with the texts of keyword searches, from its columns without the key, which values follow in order. An UPDATE rewrites the indexes
 * of all columns that it names, even when they do not change. So it names `keyColumns`, whose indexes are expensive to write,
 * only when one of them changes.
 */
export function createRowWriter(table: TextTable, columns: readonly string[], keyColumns: readonly string[]) {
  const facts = columns.flatMap((column, at) => (keyColumns.includes(column) ? [] : [at]))
  const updating = (some: readonly string[]) =>
    `UPDATE ${table} SET ${some.map((column) => `${column} = ?`).join(', ')} WHERE key = ?`
  const insert = inEachDialect(({ texts }) => texts.createRowInserter(table, columns))
  const [updateAll, updateFacts] = [updating(columns), updating(facts.map((at) => columns[at] ?? ''))]
  return {
    add: (...[to, ...row]: Parameters<RowInserter>) => insert(to.connection)(to, ...row),
    /** `hasSameKeys` means that no key column changed; `texts` is `undefined` when they did not change. */
    change(
      to: RowTarget,
      key: number,
      values: readonly Value[],
      hasSameKeys: boolean,
      texts: readonly string[] | undefined,
    ) {
      if (hasSameKeys) send(to.connection, updateFacts, ...facts.map((at) => values[at] ?? null), key)
      else send(to.connection, updateAll, ...values, key)
      if (texts) dialectOf(to.connection).texts.replaceTexts(to, table, key, texts)
    },
  }
}

/** Returns the stored job or post with an identity. */
export function* findByIdentity(
  { connection, mayExist }: WriteContext,
  table: 'jobs' | 'posts',
  identity: string,
): Steps<StoredRecord | undefined> {
  if (!mayExist(table, 'identity', identity)) return undefined
  const sql = `SELECT key, record FROM ${table} WHERE identity = ?`
  return yield* awaitResult(connection.get<StoredRecord>(sql, identity))
}

// PostgreSQL refuses an index entry that is too long, and rolls back the transaction. So such texts are rejected first.

type Database = Pick<Connection, 'dialect'>

const maxBytesOf = (database: Database): number | undefined => dialectOf(database).load.maxIndexedBytes

/** Throws when one of some texts would not fit into an index; `message` says which. */
function checkLength(database: Database, texts: () => readonly string[], message: () => string): void {
  const maxBytes = maxBytesOf(database)
  if (maxBytes !== undefined && texts().some((text) => Buffer.byteLength(text) > maxBytes))
    throw new InvalidRecordError(message())
}

/** Throws when a company's row would not fit into an index. */
export function checkCompany(
  database: Database,
  { domain, facts }: { readonly domain: string | null; readonly facts: readonly Value[] },
): void {
  const texts = () => [domain, ...facts].filter((value) => typeof value === 'string')
  checkLength(
    database,
    () => [texts().join('')],
    () => 'its domain, industry, place or id is too long',
  )
}

/** Throws when a department, as given or as compared, would not fit into one. */
export function checkHistory(database: Database, history: readonly { readonly department: string }[]): void {
  for (const { department } of history)
    checkLength(
      database,
      () => [department, foldText(department)],
      () => `headcount_history: the department '${shorten(department)}' is too long`,
    )
}

/** Throws when the profile of an engager would not fit into one. */
export function checkEngagers(
  database: Database,
  engagers: readonly { readonly profile: string; readonly url: string }[],
): void {
  for (const { profile, url } of engagers)
    checkLength(
      database,
      () => [profile],
      () => `engagers: the profile url '${shorten(url)}' is too long`,
    )
}

const factsInIndexes =
  'domain id country region city industry industry_name company_type revenue_currency'.split(' ')
const isLong = (text: string, maxBytes: number): string => `octet_length(${text}) > ${maxBytes}`
const longDepartment = (table: string, maxBytes: number): string =>
  `SELECT coalesce(domain, name, id) AS name FROM ${table} JOIN companies ON companies.key = ${table}.company
    WHERE ${isLong('department', maxBytes)} LIMIT 1`

const createLengthQueries = (maxBytes: number): Readonly<Record<string, string>> => ({
  'The facts of the company': `SELECT coalesce(domain, name, id) AS name FROM companies
    WHERE ${isLong(factsInIndexes.map((column) => `coalesce(${column}, '')`).join(' || '), maxBytes)} LIMIT 1`,
  'A department of the company': longDepartment('headcount_history', maxBytes),
  'A department as compared, of the company': longDepartment('headcount_growth', maxBytes),
  'The profile of an engager of the post': `SELECT identity AS name FROM engagers JOIN posts ON posts.key = engagers.post
    WHERE ${isLong('profile', maxBytes)} LIMIT 1`,
})

/** Returns, in words, what of a catalogue another database would refuse; `undefined` when it takes everything. */
export async function findTooLong(connection: Connection, target: Database): Promise<string | undefined> {
  const maxBytes = maxBytesOf(target)
  if (maxBytes === undefined) return undefined
  for (const [what, sql] of Object.entries(createLengthQueries(maxBytes))) {
    const found = await connection.get<{ name: string }>(sql)
    if (found) return `${what} '${shorten(found.name)}'`
  }
  return undefined
}
