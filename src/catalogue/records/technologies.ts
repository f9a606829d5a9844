import type { Technology } from '../../engine/ports/ports.js'
import { type Connection, send } from '../../storage/driver/connection.js'
import type { RawRecord } from '../kinds/kind.js'
import { decimal, text, Unreadable, wholeNumber } from '../normalize/readers.js'
import { answered, type Steps } from '../write/sync-steps.js'
import type { Writing } from '../write/write-context.js'

/** A technology that a company uses; what is not known is missing. */
export interface TechnologyUse {
  readonly slug: string
  readonly name?: string | undefined
  readonly category?: string | undefined
  /** From 0 to 1. */
  readonly confidence?: number | undefined
  readonly mentions?: number | undefined
}

/** Reads the technologies given for a company, by slug or with details; undefined when neither is given. */
export function readUses(
  slugs: readonly string[] | undefined,
  details: readonly RawRecord[] | undefined,
): TechnologyUse[] | undefined {
  if (!slugs && !details) return undefined
  const uses = new Map<string, TechnologyUse>()
  for (const slug of slugs ?? []) uses.set(slugOf(slug), { slug: slugOf(slug) })
  for (const detail of details ?? []) {
    const use = readUse(detail)
    uses.set(use.slug, use)
  }
  return [...uses.values()]
}

const levels: Readonly<Record<string, number>> = { low: 0.3, medium: 0.6, high: 1 }

function readUse(detail: RawRecord): TechnologyUse {
  const name = text(detail.name)
  const slug = text(detail.slug) ?? name
  if (slug === undefined) throw new Unreadable('technology_details: each needs a slug')
  const level = typeof detail.confidence === 'string' ? levels[detail.confidence.toLowerCase()] : undefined
  const confidence = level ?? decimal(detail.confidence)
  if (confidence !== undefined && (confidence < 0 || confidence > 1))
    throw new Unreadable('technology_details: confidence must be from 0 to 1')
  return {
    slug: slugOf(slug),
    name,
    category: text(detail.category),
    confidence,
    mentions: wholeNumber(detail.job_mentions),
  }
}

/** The slug of a technology that is given by slug or name. */
export const slugOf = (words: string): string =>
  words
    .toLowerCase()
    .replace(/[^\p{L}\p{N}.+#_-]+/gu, '-')
    .replace(/^-+|-+$/g, '')

/**
 * Makes these the technologies of a company. One that it used before keeps the confidence and mentions that are
 * not given anew; one that is known only by its slug has confidence 1.
 */
export function* writeUses(
  writing: Writing,
  company: number,
  before: readonly string[],
  uses: readonly TechnologyUse[],
): Steps<void> {
  const kept = new Set(uses.map(({ slug }) => slug))
  for (const slug of before) {
    if (kept.has(slug)) continue
    const technology = yield* technologyKey(writing, { slug })
    send(
      writing.connection,
      'DELETE FROM company_technologies WHERE technology = ? AND company = ?',
      technology,
      company,
    )
  }
  for (const use of uses) {
    if (before.includes(use.slug) && !saysMore(use)) continue
    const technology = knownKey(writing, use) ?? (yield* technologyKey(writing, use))
    if (before.includes(use.slug)) changeUse(writing, company, technology, use)
    else addUse(writing, company, technology, use)
  }
}

/** Whether more is said of a technology than that it is used. */
const saysMore = ({ slug: _, ...more }: TechnologyUse): boolean =>
  Object.values(more).some((value) => value !== undefined)

function addUse({ connection }: Writing, company: number, technology: number, use: TechnologyUse): void {
  send(
    connection,
    'INSERT INTO company_technologies (technology, company, confidence, mentions) VALUES (?, ?, ?, ?)',
    technology,
    company,
    use.confidence ?? 1,
    use.mentions ?? 0,
  )
}

function changeUse({ connection }: Writing, company: number, technology: number, use: TechnologyUse): void {
  send(
    connection,
    `UPDATE company_technologies SET confidence = coalesce(CAST(? AS DOUBLE PRECISION), confidence), mentions = coalesce(CAST(? AS BIGINT), mentions)
      WHERE technology = ? AND company = ?`,
    use.confidence ?? null,
    use.mentions ?? null,
    technology,
    company,
  )
}

const technology = 'SELECT key, name, category FROM technologies WHERE slug = ?'

// Only what changes is written, by the plainest statements: one that has to remember how to undo itself makes SQLite
// write down the words of each company by themselves, and there may be only so many of such pieces.
function* technologyKey(writing: Writing, use: TechnologyUse): Steps<number> {
  const known = knownKey(writing, use)
  if (known !== undefined) return known
  const { connection } = writing
  const ask = () => connection.get<Omit<Technology, 'slug'> & { key: number }>(technology, use.slug)
  const there = yield* answered(ask())
  const name = use.name ?? there?.name ?? titled(use.slug)
  const category = use.category ?? there?.category ?? null
  if (!there)
    send(
      connection,
      'INSERT INTO technologies (slug, name, category) VALUES (?, ?, ?)',
      use.slug,
      name,
      category,
    )
  else if (there.name !== name || there.category !== category)
    send(
      connection,
      'UPDATE technologies SET name = ?, category = ? WHERE key = ?',
      name,
      category,
      there.key,
    )
  const key = there?.key ?? (yield* answered(ask()))?.key
  if (key === undefined) throw new Error('a technology was not written')
  writing.technologies.set(use.slug, key)
  return key
}

const knownKey = ({ technologies }: Writing, { slug, name, category }: TechnologyUse): number | undefined =>
  name === undefined && category === undefined ? technologies.get(slug) : undefined

const titled = (slug: string): string =>
  slug.replace(
    /(^|-)(\p{L})/gu,
    (_, dash: string, letter: string) => (dash ? ' ' : '') + letter.toUpperCase(),
  )

/**
 * Technologies whose slug or name holds the query (accents, case and separators aside), best first: the same,
 * then beginning with it, then a word beginning with it. All in slug order when the query is empty.
 */
export async function findTechnologies(
  connection: Connection,
  query: string,
  limit: number,
): Promise<Technology[]> {
  const all = await connection.all<Technology>('SELECT slug, name, category FROM technologies ORDER BY slug')
  const wanted = squeezed(query)
  if (query.trim() === '') return all.slice(0, limit)
  if (wanted === '') return []
  return all
    .map((technology) => ({ technology, rank: rankOf(technology, wanted) }))
    .filter(({ rank }) => rank < 4)
    .sort((a, b) => a.rank - b.rank || a.technology.name.length - b.technology.name.length)
    .slice(0, limit)
    .map(({ technology }) => technology)
}

function rankOf({ slug, name }: Technology, wanted: string): number {
  const keys = [squeezed(slug), squeezed(name)]
  if (keys.includes(wanted)) return 0
  if (keys.some((key) => key.startsWith(wanted))) return 1
  if (name.split(/[\s./_-]+/).some((word) => squeezed(word).startsWith(wanted))) return 2
  return keys.some((key) => key.includes(wanted)) ? 3 : 4
}

/** Letters, digits and the signs that tell `C++` and `C#` from `C`. */
const squeezed = (words: string): string =>
  words
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}+#]/gu, '')
