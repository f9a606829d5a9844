import type { Technology, TechnologyUse } from '../../engine/ports/ports.js'
import { type Connection, send } from '../../storage/driver/connection.js'
import type { RawRecord } from '../kinds/kind.js'
import { decimal, InvalidRecordError, text, wholeNumber } from '../normalize/readers.js'
import { awaitResult, type Steps } from '../write/sync-steps.js'
import type { StoredTechnology, WriteContext } from '../write/write-context.js'
import type { StoredAccount } from './company-row.js'
import type { CompanyMatch } from './match-company.js'

/** A technology that a company uses; unknown facts are missing. */
export interface TechnologyDetails {
  readonly slug: string
  readonly name?: string | undefined
  readonly category?: string | undefined
  /** From 0 to 1. */
  readonly confidence?: number | undefined
  readonly mentions?: number | undefined
}

/** Reads the technologies of a company, by slug or with details; `undefined` when there are neither. */
export function readUses(
  slugs: readonly string[] | undefined,
  details: readonly RawRecord[] | undefined,
): TechnologyDetails[] | undefined {
  if (!slugs && !details) return undefined
  const uses = new Map<string, TechnologyDetails>()
  for (const slug of slugs ?? []) uses.set(toSlug(slug), { slug: toSlug(slug) })
  for (const detail of details ?? []) {
    const use = readUse(detail)
    uses.set(use.slug, use)
  }
  return [...uses.values()]
}

const levels: Readonly<Record<string, number>> = { low: 0.3, medium: 0.6, high: 1 }

function readUse(detail: RawRecord): TechnologyDetails {
  const name = text(detail.name)
  const slug = text(detail.slug) ?? name
  if (slug === undefined) throw new InvalidRecordError('each needs a slug')
  const level = typeof detail.confidence === 'string' ? levels[detail.confidence.toLowerCase()] : undefined
  const confidence = level ?? decimal(detail.confidence)
  if (confidence !== undefined && (confidence < 0 || confidence > 1))
    throw new InvalidRecordError('confidence must be from 0 to 1')
  return {
    slug: toSlug(slug),
    name,
    category: text(detail.category),
    confidence,
    mentions: wholeNumber(detail.job_mentions),
  }
}

/** Returns the slug of a technology, from its slug or name. */
export const toSlug = (words: string): string =>
  words
    .toLowerCase()
    .replace(/[^\p{L}\p{N}.+#_-]+/gu, '-')
    .replace(/^-+|-+$/g, '')

const deleteUse = 'DELETE FROM company_technologies WHERE technology = ? AND company = ?'
const insertUse =
  'INSERT INTO company_technologies (technology, company, confidence, mentions) VALUES (?, ?, ?, ?)'
const updateUse = `UPDATE company_technologies
  SET confidence = coalesce(CAST(? AS DOUBLE PRECISION), confidence), mentions = coalesce(CAST(? AS BIGINT), mentions)
  WHERE technology = ? AND company = ?`

/**
 * Replaces the technologies of a company. A technology that it used before keeps its confidence and mentions unless they are
 * given again. A new one without details has confidence 1.
 */
export function* writeUses(
  context: WriteContext,
  company: number,
  before: readonly string[],
  uses: readonly TechnologyDetails[],
): Steps<void> {
  const kept = new Set(uses.map(({ slug }) => slug))
  for (const slug of before) {
    if (kept.has(slug)) continue
    const technology = yield* findOrCreateTechnology(context, { slug })
    send(context.connection, deleteUse, technology, company)
  }
  for (const use of uses) {
    if (before.includes(use.slug) && !hasDetails(use)) continue
    const technology = yield* findOrCreateTechnology(context, use)
    const { confidence, mentions } = use
    if (before.includes(use.slug))
      send(context.connection, updateUse, confidence ?? null, mentions ?? null, technology, company)
    else send(context.connection, insertUse, technology, company, confidence ?? 1, mentions ?? 0)
  }
}

/** Returns whether a use has more than its slug. */
const hasDetails = ({ slug: _, ...more }: TechnologyDetails): boolean =>
  Object.values(more).some((value) => value !== undefined)

const selectTechnology = 'SELECT key, name, category FROM technologies WHERE slug = ?'
const selectTechnologies =
  'SELECT slug, key, name, category FROM technologies WHERE slug IN (SELECT value FROM json_each(?))'
const insertTechnology = 'INSERT INTO technologies (slug, name, category) VALUES (?, ?, ?)'
const updateTechnology = 'UPDATE technologies SET name = ?, category = ? WHERE key = ?'

/** Reads technologies by their slugs with one statement; `undefined` for those that are not stored. */
export async function readTechnologies(
  connection: Connection,
  slugs: ReadonlySet<string>,
): Promise<Map<string, StoredTechnology | undefined>> {
  const found = new Map<string, StoredTechnology | undefined>([...slugs].map((slug) => [slug, undefined]))
  if (slugs.size === 0) return found
  const rows = await connection.all<StoredTechnology & { slug: string }>(
    selectTechnologies,
    JSON.stringify([...slugs]),
  )
  for (const { slug, ...stored } of rows) found.set(slug, stored)
  return found
}

// Only changes are written, with plain statements. A statement that needs a savepoint (such as an upsert) makes SQLite flush
// the full-text index for each company, and the number of its segments is limited.
function* findOrCreateTechnology(
  { connection, technologies }: WriteContext,
  use: TechnologyDetails,
): Steps<number> {
  const { slug } = use
  const ask = () => connection.get<StoredTechnology>(selectTechnology, slug)
  const there = technologies.has(slug) ? technologies.get(slug) : yield* awaitResult(ask())
  const name = use.name ?? there?.name ?? toTitle(slug)
  const category = use.category ?? there?.category ?? null
  if (!there) send(connection, insertTechnology, slug, name, category)
  else if (there.name !== name || there.category !== category)
    send(connection, updateTechnology, name, category, there.key)
  const key = there?.key ?? (yield* awaitResult(ask()))?.key
  if (key === undefined) throw new Error('a technology was not written')
  technologies.set(slug, { key, name, category })
  return key
}

const toTitle = (slug: string): string =>
  slug.replace(
    /(^|-)(\p{L})/gu,
    (_, dash: string, letter: string) => (dash ? ' ' : '') + letter.toUpperCase(),
  )

/**
 * Returns technologies whose slug or name contains the query, ignoring accents, case and separators. Best first: equal, then
 * a prefix, then a prefix of a word. An empty query returns all, in slug order.
 */
export async function findTechnologies(
  connection: Connection,
  query: string,
  limit: number,
): Promise<Technology[]> {
  const all = await connection.all<Technology>('SELECT slug, name, category FROM technologies ORDER BY slug')
  const wanted = toSearchKey(query)
  if (query.trim() === '') return all.slice(0, limit)
  if (wanted === '') return []
  return all
    .map((technology) => ({ technology, rank: rankTechnology(technology, wanted) }))
    .filter(({ rank }) => rank < 4)
    .sort((a, b) => a.rank - b.rank || a.technology.name.length - b.technology.name.length)
    .slice(0, limit)
    .map(({ technology }) => technology)
}

function rankTechnology({ slug, name }: Technology, wanted: string): number {
  const keys = [toSearchKey(slug), toSearchKey(name)]
  if (keys.includes(wanted)) return 0
  if (keys.some((key) => key.startsWith(wanted))) return 1
  if (name.split(/[\s./_-]+/).some((word) => toSearchKey(word).startsWith(wanted))) return 2
  return keys.some((key) => key.includes(wanted)) ? 3 : 4
}

/** Keeps letters, digits, and the signs that distinguish `C++` and `C#` from `C`. */
const toSearchKey = (words: string): string =>
  words
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}+#]/gu, '')

// Uses are kept by technology; a company's own are found through the slugs in its record.
const uses = `SELECT t.name, t.slug, u.confidence
  FROM (SELECT value AS slug FROM json_each(?)) AS s
  JOIN technologies AS t ON t.slug = s.slug
  JOIN company_technologies AS u ON u.technology = t.key AND u.company = ?
  ORDER BY u.confidence DESC, t.slug`

/** Returns the technologies a company uses, the most certain first. */
export const findTechnologyUses = async (
  connection: Connection,
  { key, record }: CompanyMatch,
): Promise<TechnologyUse[]> =>
  await connection.all<TechnologyUse>(
    uses,
    JSON.stringify((JSON.parse(record) as StoredAccount).technologies ?? []),
    key,
  )
