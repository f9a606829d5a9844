import type { Size } from './few-or-many.js'
import type { Condition } from './phrases.js'

/**
 * Texts that are asked for: those that a query of FTS5 finds, or (`negated`) all others. FTS5 cannot say "all others"
 * by itself, so that it is carried beside the query until somebody can.
 */
export interface TextQuery {
  readonly match: string
  readonly negated: boolean
}

/** Texts with these words next to each other, accents and case aside. */
export const phrase = (words: string): TextQuery => ({
  match: `"${words.replaceAll('"', '""')}"`,
  negated: false,
})

/** All other texts. */
export const inverse = ({ match, negated }: TextQuery): TextQuery => ({ match, negated: !negated })

/** Texts that fulfil all of some queries; there must be one at least. */
export function allOf(queries: readonly TextQuery[]): TextQuery {
  const wanted = queries.filter(({ negated }) => !negated).map(({ match }) => match)
  const unwanted = queries.filter(({ negated }) => negated).map(({ match }) => match)
  if (wanted.length === 0) return { match: joined(unwanted, 'OR'), negated: true }
  if (unwanted.length === 0) return { match: joined(wanted, 'AND'), negated: false }
  return { match: `(${joined(wanted, 'AND')} NOT ${joined(unwanted, 'OR')})`, negated: false }
}

/** Texts that fulfil at least one of some queries; there must be one. */
export const anyOf = (queries: readonly TextQuery[]): TextQuery => inverse(allOf(queries.map(inverse)))

/** The same, looked for in some columns only. */
export const within = (columns: readonly string[], { match, negated }: TextQuery): TextQuery => ({
  match: `({${columns.join(' ')}} : ${match})`,
  negated,
})

/** Records whose texts fulfil a query, among few or many. */
export const inTexts = (
  table: 'companies' | 'people' | 'jobs',
  { match, negated }: TextQuery,
  of: Size,
): Condition => {
  const found = `FROM ${table}_text WHERE ${table}_text MATCH ?`
  const sql = of === 'few' ? `EXISTS (SELECT 1 ${found} AND rowid = key)` : `key IN (SELECT rowid ${found})`
  return [negated ? `NOT ${sql}` : sql, match]
}

/** What is asked twice is looked for once. */
function joined(matches: readonly string[], operator: 'AND' | 'OR'): string {
  const [first = '', ...others] = new Set(matches)
  return others.length === 0 ? first : `(${[first, ...others].join(` ${operator} `)})`
}
