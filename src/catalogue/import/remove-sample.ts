import type { Ids } from '../../api/ports/ports.js'
import type { Fields } from '../../api/values/objects.js'
import { isInvalid } from '../../identity/readers.js'
import { type Connection, type Driver, send } from '../../storage/driver/connection.js'
import { dialectOf } from '../dialect/dialects.js'
import type { TextTable } from '../full-text/keyword.js'
import { kinds, type RecordKind } from '../kinds/kind.js'
import { prepareCompany } from '../records/headcount.js'
import { prepareJob, toJobRow } from '../records/jobs.js'
import { type CompanyKeys, type StoredAccount, toCompanyRow } from '../records/match-company.js'
import { countRemoval } from '../records/origins.js'
import { preparePerson, type StoredPerson } from '../records/person.js'
import { importPosts, preparePost } from '../records/posts.js'
import { importEmployers, writeCompanies } from '../records/write-company.js'
import { addPerson, writePeople } from '../records/write-person.js'
import {
  createImportContext,
  type ImportContext,
  toImportTarget,
  writeRows,
} from '../write/import-context.js'

/** How many records of each kind were removed, and how many stay because own data is about them. */
export interface SampleRemoval {
  readonly removed: Readonly<Record<RecordKind, number>>
  readonly kept: Readonly<Record<RecordKind, number>>
}

/** A record that the sample wrote, and of which own data says something. */
interface Kept {
  readonly key: number
  readonly record: string
  readonly own: Fields
}

const noLeaveOut = () => {}

/**
 * Removes the records of the sample, all or none. One that own data is about stays, with what own data says of it; a company
 * that only own people or jobs name stays with its name, domain and profile.
 */
export async function removeSample(
  driver: Driver,
  ids: Pick<Ids, 'uuid'>,
  now: number,
): Promise<SampleRemoval> {
  return await driver.transaction(async (connection) => {
    const total = await countNoted(connection)
    const kept = { companies: 0, people: 0, jobs: 0, posts: 0 }
    if (kinds.every((kind) => total[kind] === 0)) return { removed: kept, kept }
    const target = toImportTarget(connection, async () => {})
    // Those who name a company come before it. Each begins with the keys that the last one left.
    for (const kind of ['posts', 'jobs', 'people', 'companies'] as const)
      kept[kind] = await removers[kind](await createImportContext(kind, target, ids), connection)
    await connection.run(unusedTechnologies)
    await connection.run('DELETE FROM sample_records')
    await countRemoval(connection, now)
    const removed = { ...total }
    for (const kind of kinds) removed[kind] -= kept[kind]
    return { removed, kept }
  })
}

async function countNoted(connection: Connection): Promise<Record<RecordKind, number>> {
  const counts = { companies: 0, people: 0, jobs: 0, posts: 0 }
  const sql = 'SELECT kind, count(*) AS count FROM sample_records GROUP BY kind'
  for (const { kind, count } of await connection.all<{ kind: RecordKind; count: number }>(sql))
    counts[kind] = count
  return counts
}

const noted = (kind: RecordKind): string => `SELECT key FROM sample_records WHERE kind = '${kind}'`

async function readKept(connection: Connection, kind: RecordKind): Promise<readonly Kept[]> {
  const rows = await connection.all<{ key: number; record: string; own: string }>(
    `SELECT s.key, o.record, s.own FROM sample_records s JOIN ${kind} o ON o.key = s.key
      WHERE s.kind = ? AND s.own IS NOT NULL ORDER BY s.key`,
    kind,
  )
  return rows.map(({ key, record, own }) => ({ key, record, own: JSON.parse(own) as Fields }))
}

/** Deletes rows with the texts that they are found by. */
async function deleteRows(connection: Connection, table: TextTable, keys: string): Promise<void> {
  const gone = await connection.all<{ key: number }>(`SELECT key FROM ${table} WHERE key IN (${keys})`)
  await dialectOf(connection).texts.deleteTexts(
    connection,
    table,
    gone.map(({ key }) => key),
  )
  await connection.run(`DELETE FROM ${table} WHERE key IN (${keys})`)
}

async function removePosts(context: ImportContext, connection: Connection): Promise<number> {
  const kept = await readKept(connection, 'posts')
  await connection.run(`DELETE FROM engagers WHERE post IN (${noted('posts')})`)
  await connection.run(`DELETE FROM posts WHERE key IN (${noted('posts')})`)
  await importPosts(
    context,
    kept.map(({ own }) => preparePost(own, noLeaveOut)),
  )
  return kept.length
}

async function removeJobs(context: ImportContext, connection: Connection): Promise<number> {
  const kept = await readKept(connection, 'jobs')
  const jobs = kept.map(({ own }) => prepareJob(own, noLeaveOut))
  const employers = await importEmployers(context, jobs)
  const companies = await connection.all<{ key: number; company: number }>(
    `SELECT key, company FROM jobs WHERE key IN (${noted('jobs')})`,
  )
  const before = new Map(companies.map(({ key, company }) => [key, company]))
  await deleteRows(connection, 'jobs', noted('jobs'))
  const changes = kept.map(({ key, own }, at) => {
    const employer = employers[at]
    // A name may have become that of several companies.
    const company = typeof employer === 'number' ? employer : (before.get(key) ?? 0)
    const row = toJobRow(key, company, jobs[at]?.job ?? {})
    return { row, before: undefined, hasNewTexts: true, said: () => own }
  })
  writeRows(connection, 'jobs', changes)
  return kept.length
}

async function removePeople(context: ImportContext, connection: Connection): Promise<number> {
  const { ids } = context
  const kept = await readKept(connection, 'people')
  const people = kept.map(({ record, own }) => {
    const { id, network_id } = JSON.parse(record) as StoredPerson
    return preparePerson({ network_id, ...own, id }, ids, () => network_id, noLeaveOut)
  })
  const employers = await importEmployers(context, people)
  // Without it, every person who goes is looked for among all numbers.
  await connection.exec('CREATE INDEX phones_by_person ON phones (person)')
  await connection.run(`DELETE FROM phones WHERE person IN (${noted('people')})`)
  await deleteRows(connection, 'people', noted('people'))
  await connection.exec('DROP INDEX phones_by_person')
  const changes = people.map((person, at) => {
    const employer = employers[at]
    return addPerson(kept[at]?.key ?? 0, person, isInvalid(employer) ? null : (employer ?? null))
  })
  await writePeople(connection, changes)
  return kept.length
}

const columns = 'key, domain, network_id, slug, name, country, source, record'
/** Where own people work, and what own jobs are at. */
const named = `SELECT company FROM people UNION SELECT company FROM jobs`
/** Those that own companies use keep the names that the sample gave them, which are no invention. */
const unusedTechnologies = `DELETE FROM technologies
  WHERE NOT EXISTS (SELECT 1 FROM company_technologies AS used WHERE used.technology = technologies.key)`

type CompanyRow = Kept & CompanyKeys & { readonly country: string | null; readonly source: number | null }

async function removeCompanies(context: ImportContext, connection: Connection): Promise<number> {
  const rows = await connection.all<Omit<CompanyRow, 'own'> & { own: string | null }>(
    `SELECT ${columns}, own FROM companies JOIN (SELECT key AS at, own FROM sample_records WHERE kind = 'companies') AS s
      ON s.at = companies.key WHERE own IS NOT NULL OR key IN (${named}) ORDER BY key`,
  )
  for (const table of ['company_technologies', 'headcount_history', 'headcount_growth', 'company_statements'])
    await connection.run(`DELETE FROM ${table} WHERE company IN (${noted('companies')})`)
  const changes = rows.map(({ own, ...before }) => {
    const account = JSON.parse(before.record) as StoredAccount
    if (own === null)
      return { ...restored(before, toBareRow(before, account)), uses: undefined, history: undefined }
    const company = prepareCompany(
      { ...(JSON.parse(own) as Fields), id: account.id },
      context.ids,
      noLeaveOut,
    )
    return { ...restored(before, company.row), uses: company.uses, history: company.history }
  })
  await writeCompanies(connection, changes)
  const kept = JSON.stringify(rows.map(({ key }) => key))
  await send(
    connection,
    `DELETE FROM sample_records WHERE kind = 'companies' AND key IN (SELECT atom FROM json_each(?))`,
    kept,
  )
  await deleteRows(connection, 'companies', noted('companies'))
  return rows.length
}

const removers = {
  companies: removeCompanies,
  people: removePeople,
  jobs: removeJobs,
  posts: removePosts,
} as const satisfies Record<RecordKind, (context: ImportContext, connection: Connection) => Promise<number>>

/** Returns what becomes of a company: it is written anew over its row, with its key. */
const restored = <B extends Omit<CompanyRow, 'own'>>(before: B, row: ReturnType<typeof toCompanyRow>) => ({
  row: { ...row, key: before.key, source: before.source },
  before,
  hasNewTexts: true,
  isNewRow: true,
  earlierUses: [],
  said: () => ({}),
})

const identifying = ['id', 'name', 'cleaned_name', 'domain', 'network_id', 'network_url']

function toBareRow({ domain, network_id, slug, name }: CompanyKeys, account: StoredAccount) {
  const said = Object.entries(account).filter(([field]) => identifying.includes(field))
  return toCompanyRow(Object.fromEntries(said) as unknown as StoredAccount, {
    domain,
    network_id,
    slug,
    name,
  })
}
