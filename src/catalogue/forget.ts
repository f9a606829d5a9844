import type { Forgotten } from '../engine/ports.js'
import type { Driver } from '../storage/driver.js'
import type { StoredAccount } from './account.js'
import { wordsOf } from './company-row.js'
import type { StoredJob } from './jobs.js'
import type { StoredPost } from './posts.js'
import { atOnce, type Statements } from './statements.js'
import { mergeTexts } from './text-merging.js'
import type { Traces } from './traces.js'

/** What of the catalogue told of somebody and is gone. */
export interface ForgottenRecords {
  readonly people: number
  readonly phones: number
  readonly engagements: number
  readonly posts: number
  readonly jobs: number
  readonly companies: number
}

/**
 * Takes somebody out of the catalogue: their record, what they reacted to, and whatever names them among posts, jobs
 * and companies, which stay. With `dryRun` it only counts. They themselves go last, so that what was cut short can be
 * done again.
 */
export async function forgetInCatalogue(
  driver: Driver,
  traces: Traces,
  who: Forgotten,
  dryRun: boolean,
): Promise<ForgottenRecords> {
  const step: Step = dryRun
    ? (work) => driver.read((connection) => work(atOnce(connection), false))
    : (work) => driver.transaction((connection) => work(atOnce(connection), true))
  const jobs = await sweep(step, 'jobs', (statements, row, acts) => forgetInJob(statements, row, who, acts))
  const posts = await sweep(step, 'posts', (statements, row, acts) =>
    forgetInPost(statements, row, who, acts),
  )
  const companies = await sweep(step, 'companies', (statements, row, acts) =>
    forgetInCompany(statements, row, who, acts),
  )
  const themselves = await step((statements, acts) => forgetPeople(statements, traces, acts))
  // Words of deleted texts stay in the index until its parts are merged.
  if (!dryRun) await mergeTexts(driver, true)
  return { ...themselves, posts, jobs, companies }
}

/** Does a step in a transaction of its own; `acts` says whether it changes anything. */
type Step = <T>(work: (statements: Statements, acts: boolean) => T) => Promise<T>

interface Row {
  readonly key: number
  readonly record: string
}

const rowsAtOnce = 500

/** Goes through a table, each portion in a step of its own; answers how many rows told of them. */
async function sweep(
  step: Step,
  table: 'jobs' | 'posts' | 'companies',
  forget: (statements: Statements, row: Row, acts: boolean) => boolean,
): Promise<number> {
  const sql = `SELECT key, record FROM ${table} WHERE key > ? ORDER BY key LIMIT ?`
  let told = 0
  for (let after: number | undefined = 0; after !== undefined; ) {
    const from: number = after
    const portion = await step((statements, acts) => {
      const rows = statements.all<Row>(sql, from, rowsAtOnce)
      return { theirs: rows.filter((row) => forget(statements, row, acts)).length, last: rows.at(-1)?.key }
    })
    told += portion.theirs
    after = portion.last
  }
  return told
}

/** A job loses them among those who hire, and in its description. */
function forgetInJob(statements: Statements, { key, record }: Row, who: Forgotten, acts: boolean): boolean {
  const job = JSON.parse(record) as StoredJob
  const rest = who.without(job)
  if (rest === job) return false
  if (!acts) return true
  statements.run('UPDATE jobs SET record = ? WHERE key = ?', JSON.stringify(rest), key)
  statements.run(
    'INSERT OR REPLACE INTO jobs_text (rowid, title, description) VALUES (?, ?, ?)',
    ...[key, rest.job_title ?? '', rest.description ?? ''],
  )
  return true
}

/** A post of theirs loses its author and its words; one whose url names them goes with its engagers. */
function forgetInPost(statements: Statements, { key, record }: Row, who: Forgotten, acts: boolean): boolean {
  const post = JSON.parse(record) as StoredPost
  if (!who.isIn(post)) return false
  if (!acts) return true
  if (who.isIn(post.post_url)) {
    statements.run('DELETE FROM engagers WHERE post = ?', key)
    statements.run('DELETE FROM posts WHERE key = ?', key)
    return true
  }
  const { author_profile_url, text, ...other } = post
  const rest = who.isIn(author_profile_url) ? who.without(other) : who.without(post)
  const author = who.isIn(author_profile_url) ? 'NULL' : 'author'
  statements.run(`UPDATE posts SET record = ?, author = ${author} WHERE key = ?`, JSON.stringify(rest), key)
  return true
}

/** A company loses them in its description. */
function forgetInCompany(
  statements: Statements,
  { key, record }: Row,
  who: Forgotten,
  acts: boolean,
): boolean {
  const account = JSON.parse(record) as StoredAccount
  const rest = who.without(account)
  if (rest === account) return false
  if (!acts) return true
  statements.run('UPDATE companies SET record = ? WHERE key = ?', JSON.stringify(rest), key)
  statements.run(
    'INSERT OR REPLACE INTO companies_text (rowid, name, about) VALUES (?, ?, ?)',
    ...[key, ...wordsOf(rest)],
  )
  return true
}

/** The people themselves, with their phones and texts, and what they reacted to. */
function forgetPeople(statements: Statements, { keys, slugs, ids }: Traces, acts: boolean) {
  const [theirs, profiles] = [JSON.stringify(keys), JSON.stringify([...slugs, ...ids])]
  const drop = (table: string, where: string, values: string): number => {
    const rows = `FROM ${table} WHERE ${where} IN (SELECT value FROM json_each(?))`
    if (acts) return statements.run(`DELETE ${rows}`, values)
    return statements.get<{ total: number }>(`SELECT count(*) AS total ${rows}`, values)?.total ?? 0
  }
  const engagements = drop('engagers', 'profile', profiles)
  const phones = drop('phones', 'person', theirs)
  if (acts) for (const key of keys) statements.run('DELETE FROM people_text WHERE rowid = ?', key)
  return { people: drop('people', 'key', theirs), phones, engagements }
}
