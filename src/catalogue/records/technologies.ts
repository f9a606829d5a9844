import type { Technology, TechnologyUse } from '../../api/ports/ports.js'
import type { Fields } from '../../api/values/objects.js'
import { decimal, invalid, text, wholeNumber } from '../../identity/readers.js'
import { type Connection, send } from '../../storage/driver/connection.js'
import type { CompanyMatch, StoredAccount } from './match-company.js'

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
export function readUses(slugs: readonly string[] | undefined, details: readonly Fields[] | undefined) {
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

function readUse(detail: Fields): TechnologyDetails {
  const name = text(detail.name)
  const slug = text(detail.slug) ?? name
  if (slug === undefined) throw invalid('each needs a slug')
  const level = typeof detail.confidence === 'string' ? levels[detail.confidence.toLowerCase()] : undefined
  const confidence = level ?? decimal(detail.confidence)
  if (confidence !== undefined && (confidence < 0 || confidence > 1))
    throw invalid('confidence must be from 0 to 1')
  return {
    slug: toSlug(slug),
    name,
    category: text(detail.category),
    confidence,
    mentions: wholeNumber(detail.job_mentions),
  }
}

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

/** The technologies of a company before and after a change; without `uses` they stay. */
interface UseChange {
  readonly row: { readonly key: number }
  readonly earlierUses: readonly string[]
  readonly uses: readonly TechnologyDetails[] | undefined
}

/** Replaces the technologies of companies. One that was used before keeps its confidence and mentions unless given again. */
export async function writeUses(connection: Connection, changes: readonly UseChange[]): Promise<void> {
  const written = changes.flatMap(({ row, earlierUses, uses }) => {
    if (!uses) return []
    const earlier = new Set(earlierUses)
    const dropped = earlierUses.filter((slug) => !uses.some((use) => use.slug === slug))
    const given = uses.filter((use) => !earlier.has(use.slug) || hasDetails(use))
    return [{ company: row.key, earlier, dropped, given }]
  })
  const keys = await writeTechnologies(
    connection,
    written.flatMap(({ dropped, given }) => [...dropped.map((slug) => ({ slug })), ...given]),
  )
  for (const { company, earlier, dropped, given } of written) {
    for (const slug of dropped) send(connection, deleteUse, keys.get(slug) ?? null, company)
    for (const { slug, confidence, mentions } of given) {
      const key = keys.get(slug) ?? null
      if (earlier.has(slug)) send(connection, updateUse, confidence ?? null, mentions ?? null, key, company)
      // A new one without details is certain.
      else send(connection, insertUse, key, company, confidence ?? 1, mentions ?? 0)
    }
  }
}

export const hasDetails = ({ slug: _, ...more }: TechnologyDetails): boolean =>
  Object.values(more).some((value) => value !== undefined)

const selectTechnologies =
  'SELECT slug, key, name, category FROM technologies WHERE slug IN (SELECT value FROM json_each(?))'
const insertTechnology = 'INSERT INTO technologies (slug, name, category) VALUES (?, ?, ?)'
const updateTechnology = 'UPDATE technologies SET name = ?, category = ? WHERE key = ?'

/** Adds the technologies that are not stored, and what is said about others; returns the keys of all by slug. */
async function writeTechnologies(connection: Connection, uses: readonly TechnologyDetails[]) {
  if (uses.length === 0) return new Map<string, number>()
  const read = async (slugs: Iterable<string>) => {
    type Stored = Technology & { readonly key: number }
    const rows = await connection.all<Stored>(selectTechnologies, JSON.stringify([...slugs]))
    return new Map(rows.map((row) => [row.slug, row]))
  }
  const stored = await read(new Set(uses.map(({ slug }) => slug)))
  const named = new Map<string, Technology>(stored)
  for (const { slug, name, category } of uses) {
    const known = named.get(slug)
    if (!known || (name ?? known.name) !== known.name || (category ?? known.category) !== known.category)
      named.set(slug, {
        slug,
        name: name ?? known?.name ?? toTitle(slug),
        category: category ?? known?.category ?? null,
      })
  }
  // Only changes are written, with plain statements. A statement that needs a savepoint (such as an upsert) makes SQLite flush
  // the full-text index, and the number of its segments is limited.
  const added: string[] = []
  for (const technology of named.values()) {
    const { slug, name, category } = technology
    const before = stored.get(slug)
    if (!before) {
      added.push(slug)
      send(connection, insertTechnology, slug, name, category)
    } else if (before !== technology) send(connection, updateTechnology, name, category, before.key)
  }
  const all = added.length === 0 ? stored : new Map([...stored, ...(await read(added))])
  return new Map([...all.values()].map(({ slug, key }) => [slug, key]))
}

const toTitle = (slug: string): string =>
  slug.replace(/^\p{L}|-\p{L}/gu, (start) => start.replace('-', ' ').toUpperCase())

/** Returns technologies whose slug or name contains the query, best first: equal, then a prefix, then that of a word. */
export async function findTechnologies(connection: Connection, query: string, limit: number) {
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
export const findTechnologyUses = async (connection: Connection, { key, record }: CompanyMatch) =>
  await connection.all<TechnologyUse>(
    uses,
    JSON.stringify((JSON.parse(record) as StoredAccount).technologies ?? []),
    key,
  )
