import type { Forgotten } from '../../engine/ports/ports.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { dialectOf, type RowTarget } from '../dialect/dialect.js'
import { createTokenizer } from '../full-text/tokenizer.js'
import { type StoredAccount, wordsOf } from '../records/company-row.js'
import { jobTexts, type StoredJob } from '../records/jobs.js'
import type { StoredPost } from '../records/posts.js'
import type { Traces } from './identifiers.js'

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
  const tokenize = createTokenizer()
  const step: Step = dryRun
    ? (work) => driver.read((connection) => work({ connection, tokenize }, false))
    : (work) => driver.transaction((connection) => work({ connection, tokenize }, true))
  const jobs = await sweep(step, 'jobs', (rows, row, acts) => forgetInJob(rows, row, who, acts))
  const posts = await sweep(step, 'posts', (rows, row, acts) => forgetInPost(rows, row, who, acts))
  const companies = await sweep(step, 'companies', (rows, row, acts) => forgetInCompany(rows, row, who, acts))
  const themselves = await step(({ connection }, acts) => forgetPeople(connection, traces, acts))
  if (!dryRun)
    await dialectOf(driver).load.forgetDeletedRows(driver, [
      'companies',
      'people',
      'phones',
      'jobs',
      'posts',
      'engagers',
    ])
  return { ...themselves, posts, jobs, companies }
}

/** Does a step in a transaction of its own; `acts` says whether it changes anything. */
type Step = <T>(work: (rows: RowTarget, acts: boolean) => Promise<T>) => Promise<T>

interface Row {
  readonly key: number
  readonly record: string
}

const rowsAtOnce = 500

/** Goes through a table, each portion in a step of its own; answers how many rows told of them. */
async function sweep(
  step: Step,
  table: 'jobs' | 'posts' | 'companies',
  forget: (rows: RowTarget, row: Row, acts: boolean) => Promise<boolean>,
): Promise<number> {
  const sql = `SELECT key, record FROM ${table} WHERE key > ? ORDER BY key LIMIT ?`
  let told = 0
  for (let after: number | undefined = 0; after !== undefined; ) {
    const from: number = after
    const portion = await step(async (to, acts) => {
      const rows = await to.connection.all<Row>(sql, from, rowsAtOnce)
      let theirs = 0
      for (const row of rows) if (await forget(to, row, acts)) theirs += 1
      return { theirs, last: rows.at(-1)?.key }
    })
    told += portion.theirs
    after = portion.last
  }
  return told
}

/** A job loses them among those who hire, and in its description. */
async function forgetInJob(
  to: RowTarget,
  { key, record }: Row,
  who: Forgotten,
  acts: boolean,
): Promise<boolean> {
  const job = JSON.parse(record) as StoredJob
  const rest = who.without(job)
  if (rest === job) return false
  if (!acts) return true
  await to.connection.run('UPDATE jobs SET record = ? WHERE key = ?', JSON.stringify(rest), key)
  dialectOf(to.connection).texts.replaceTexts(to, 'jobs', key, jobTexts(rest))
  return true
}

/** A post of theirs loses its author and its words; one whose url names them goes with its engagers. */
async function forgetInPost(
  { connection }: RowTarget,
  { key, record }: Row,
  who: Forgotten,
  acts: boolean,
): Promise<boolean> {
  const post = JSON.parse(record) as StoredPost
  if (!who.isIn(post)) return false
  if (!acts) return true
  if (who.isIn(post.post_url)) {
    await connection.run('DELETE FROM engagers WHERE post = ?', key)
    await connection.run('DELETE FROM posts WHERE key = ?', key)
    return true
  }
  const { author_profile_url, text, ...other } = post
  const rest = who.isIn(author_profile_url) ? who.without(other) : who.without(post)
  const author = who.isIn(author_profile_url) ? 'NULL' : 'author'
  await connection.run(
    `UPDATE posts SET record = ?, author = ${author} WHERE key = ?`,
    JSON.stringify(rest),
    key,
  )
  return true
}

/** A company loses them in its description. */
async function forgetInCompany(
  to: RowTarget,
  { key, record }: Row,
  who: Forgotten,
  acts: boolean,
): Promise<boolean> {
  const account = JSON.parse(record) as StoredAccount
  const rest = who.without(account)
  if (rest === account) return false
  if (!acts) return true
  await to.connection.run('UPDATE companies SET record = ? WHERE key = ?', JSON.stringify(rest), key)
  dialectOf(to.connection).texts.replaceTexts(to, 'companies', key, wordsOf(rest))
  return true
}

/** The people themselves, with their phones and texts, and what they reacted to. */
async function forgetPeople(connection: Connection, { keys, slugs, ids }: Traces, acts: boolean) {
  const drop = async (table: string, where: string, kind: 'value' | 'atom', list: readonly unknown[]) => {
    const rows = `FROM ${table} WHERE ${where} IN (SELECT ${kind} FROM json_each(?))`
    const values = JSON.stringify(list)
    if (acts) return await connection.run(`DELETE ${rows}`, values)
    return (await connection.get<{ total: number }>(`SELECT count(*) AS total ${rows}`, values))?.total ?? 0
  }
  const engagements = await drop('engagers', 'profile', 'value', [...slugs, ...ids])
  const phones = await drop('phones', 'person', 'atom', keys)
  if (acts) await dialectOf(connection).texts.deleteTexts(connection, 'people', keys)
  return { people: await drop('people', 'key', 'atom', keys), phones, engagements }
}
