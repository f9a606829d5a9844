import type { Connection, Driver } from '../../storage/driver/connection.js'
import { eraseFromTables, type PersonalTable, type SubjectMatcher } from '../../storage/erasure/traversal.js'
import { dialectOf } from '../dialect/dialects.js'
import type { TextTable } from '../full-text/text-query.js'
import { createTokenizer } from '../full-text/tokenizer.js'
import type { StoredRecord } from '../kinds/kind.js'
import { type StoredAccount, toCompanyTexts } from '../records/company-row.js'
import { type StoredJob, toJobTexts } from '../records/jobs.js'
import type { StoredPost } from '../records/posts.js'
import { primaryKeys, type TableName } from '../schema/tables.js'
import type { SubjectIdentifiers } from './identifiers.js'

/** What is erased of the catalogue where nothing is found. */
export const noneErased = { people: 0, phones: 0, engagements: 0, posts: 0, jobs: 0, companies: 0 }

/** How many rows of the catalogue were erased, or lost a mention of the person. */
export type ErasedRecords = Readonly<typeof noneErased>

/** Erases a person from the catalogue; with `dryRun` it only counts. */
export async function eraseFromCatalogue(
  driver: Driver,
  identifiers: SubjectIdentifiers,
  subject: SubjectMatcher,
  dryRun: boolean,
): Promise<ErasedRecords> {
  const tables = catalogueTables(identifiers, subject)
  const counts = await eraseFromTables(driver, tables, dryRun)
  if (!dryRun) {
    const names = ['companies', ...tables.map(({ table }) => table)]
    await dialectOf(driver).load.forgetDeletedRows(driver, [...new Set(names)])
  }
  return { ...noneErased, ...counts }
}

/** The tables with personal data. People come last: only their records tell what else is theirs after an interruption. */
function catalogueTables({ keys, slugs, ids }: SubjectIdentifiers, subject: SubjectMatcher): PersonalTable[] {
  const jobs = redactedTable('jobs', subject, (job: StoredJob) => toJobTexts(job))
  const companies = redactedTable('companies', subject, (account: StoredAccount) => toCompanyTexts(account))
  return [
    jobs,
    postTable(subject),
    companies,
    ownTable('engagers', 'engagements', 'profile', 'value', [...slugs, ...ids]),
    ownTable('phones', 'phones', 'person', 'atom', keys),
    {
      ...ownTable('people', 'people', 'key', 'atom', keys),
      erase: ({ key }: { readonly key: number }) => ({
        change: 'delete',
        also: (connection: Connection) =>
          dialectOf(connection).texts.deleteTexts(connection, 'people', [key]),
      }),
    },
  ]
}

/** A table whose rows are deleted where a column has one of some values: texts (`value`) or integers (`atom`). */
const ownTable = (
  table: TableName,
  counted: string,
  column: string,
  type: 'value' | 'atom',
  values: readonly (string | number)[],
): PersonalTable => ({
  table,
  counted,
  key: primaryKeys[table],
  columns: [],
  where: () => [`${column} IN (SELECT ${type} FROM json_each(?))`, JSON.stringify(values)],
  erase: () => ({ change: 'delete' }),
})

/** Records of others that mention the person: they stay, without the mention. */
function redactedTable<T>(
  table: TextTable,
  subject: SubjectMatcher,
  textsOf: (record: T) => readonly string[],
): PersonalTable<StoredRecord> {
  const tokenize = createTokenizer()
  return {
    table,
    counted: table,
    key: ['key'],
    columns: ['record'],
    erase({ key, record }) {
      const before = JSON.parse(record) as T
      const after = subject.redact(before)
      if (after === before) return undefined
      return {
        change: { record: JSON.stringify(after) },
        also: async (connection) =>
          dialectOf(connection).texts.replaceTexts({ connection, tokenize }, table, key, textsOf(after)),
      }
    },
  }
}

/** A post of the person loses its author and its text; one whose url names them goes with its engagers. */
const postTable = (subject: SubjectMatcher): PersonalTable<StoredRecord> => ({
  table: 'posts',
  counted: 'posts',
  key: ['key'],
  columns: ['record'],
  erase({ key, record }) {
    const post = JSON.parse(record) as StoredPost
    if (!subject.mentions(post)) return undefined
    if (subject.mentions(post.post_url))
      return {
        change: 'delete',
        also: async (connection) => connection.run('DELETE FROM engagers WHERE post = ?', key),
      }
    const { author_profile_url, text, ...other } = post
    if (!subject.mentions(author_profile_url))
      return { change: { record: JSON.stringify(subject.redact(post)) } }
    return { change: { record: JSON.stringify(subject.redact(other)), author: null } }
  },
})
