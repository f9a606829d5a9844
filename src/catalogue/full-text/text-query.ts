/** A table whose records are searched by words. */
export type TextTable = 'companies' | 'people' | 'jobs'

/** The text columns of each table, in the order of a record's texts. */
export const textColumns: Readonly<Record<TextTable, readonly string[]>> = {
  companies: ['name', 'about'],
  people: ['name', 'title', 'about', 'past_titles', 'past_employers'],
  jobs: ['title', 'description'],
}

/** A query of texts as a tree, which each dialect writes in its own language. */
export type Texts =
  /** These words next to each other, ignoring accents and case. */
  | { readonly phrase: string }
  /** These words at the beginning of a column. */
  | { readonly beginning: string }
  | { readonly all: readonly Texts[] }
  | { readonly any: readonly Texts[] }
  | { readonly held: Texts; readonly butNot: Texts }
  | { readonly columns: readonly string[]; readonly hold: Texts }

/**
 * A query for matching texts, or (`negated`) for all others. No full-text index can express "all others", so negation
 * is kept beside the query.
 */
export interface TextQuery {
  readonly texts: Texts
  readonly negated: boolean
}

/** Texts with these words next to each other, ignoring accents and case. */
export const phrase = (words: string): TextQuery => ({ texts: { phrase: words }, negated: false })

/** Texts one of whose columns begins with these words. */
export const beginning = (words: string): TextQuery => ({ texts: { beginning: words }, negated: false })

/** All other texts. */
export const negate = ({ texts, negated }: TextQuery): TextQuery => ({ texts, negated: !negated })

/** Texts that fulfil all of at least one query. */
export function allOf(queries: readonly TextQuery[]): TextQuery {
  const wanted = distinct(queries.filter(({ negated }) => !negated))
  const unwanted = distinct(queries.filter(({ negated }) => negated))
  if (wanted.length === 0) return { texts: either(unwanted), negated: true }
  const held = wanted.length === 1 && wanted[0] ? wanted[0] : { all: wanted }
  if (unwanted.length === 0) return { texts: held, negated: false }
  return { texts: { held, butNot: either(unwanted) }, negated: false }
}

/** Texts that fulfil any of at least one query. */
export const anyOf = (queries: readonly TextQuery[]): TextQuery => negate(allOf(queries.map(negate)))

/** The same query, in some columns only. */
export const within = (columns: readonly string[], { texts, negated }: TextQuery): TextQuery => ({
  texts: { columns, hold: texts },
  negated,
})

const either = (texts: readonly Texts[]): Texts =>
  texts.length === 1 && texts[0] ? texts[0] : { any: texts }

/** Drops duplicates. */
const distinct = (queries: readonly TextQuery[]): Texts[] => [
  ...new Map(queries.map(({ texts }) => [JSON.stringify(texts), texts])).values(),
]
