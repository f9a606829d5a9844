import { ApiError } from '../../api/calls/errors.js'
import { type Connection, readNumber, type Value } from '../../storage/driver/connection.js'

/** Maximum nesting: the query must fit into the stack of FTS5's parser. */
const maxDepth = 10

const operators = new Set(['AND', 'OR', 'NOT'])
const quotes = /["“”„«»]/
const token = /["“”„«»]([^"“”„«»]*)["“”„«»]|([()])|([^\s()"“”„«»]+)/g

interface Token {
  readonly kind: 'words' | 'operator' | 'bracket'
  readonly text: string
}

/** Parses a keyword: words, "phrases", AND (the default), OR, NOT, which binds closest, and parentheses. 422 if malformed. */
export function parseKeyword(keyword: string): TextQuery {
  const tokens = tokenize(keyword)
  if (tokens.length === 0) throw invalidKeyword('must hold at least one word')
  const reader = new KeywordParser(tokens)
  const query = reader.either(0)
  if (reader.next) throw invalidKeyword('a parenthesis is closed that was not opened')
  return query
}

function tokenize(keyword: string): Token[] {
  if (quotes.test(keyword.replace(token, ''))) throw invalidKeyword('a quotation mark is not closed')
  return [...keyword.matchAll(token)].flatMap(([, quoted, bracket, word]): Token[] => {
    if (bracket !== undefined) return [{ kind: 'bracket', text: bracket }]
    if (word !== undefined && operators.has(word)) return [{ kind: 'operator', text: word }]
    const words = quoted ?? word ?? ''
    // A token without characters of words is ignored.
    return /[\p{L}\p{N}]/u.test(words) ? [{ kind: 'words', text: words }] : []
  })
}

/** A recursive-descent parser; the operator that binds loosest comes first. */
class KeywordParser {
  #at = 0

  constructor(private readonly tokens: readonly Token[]) {}

  get next(): Token | undefined {
    return this.tokens[this.#at]
  }

  either(depth: number): TextQuery {
    const queries = [this.#both(depth)]
    while (this.#took('OR')) queries.push(this.#both(depth))
    return anyOf(queries)
  }

  #both(depth: number): TextQuery {
    const queries = [this.#one(depth)]
    while (this.#took('AND') || (this.next && !this.#isNext('OR') && !this.#isNext(')')))
      queries.push(this.#one(depth))
    return allOf(queries)
  }

  #one(depth: number): TextQuery {
    let negated = false
    while (this.#took('NOT')) negated = !negated
    const query = this.#plain(depth)
    return negated ? negate(query) : query
  }

  #plain(depth: number): TextQuery {
    const { next } = this
    if (next?.kind === 'words') {
      this.#at += 1
      return phrase(next.text)
    }
    if (!this.#took('('))
      throw invalidKeyword(`words are missing ${next ? `before ${next.text}` : 'at the end'}`)
    if (depth === maxDepth) throw invalidKeyword(`parentheses may be nested ${maxDepth} deep`)
    const query = this.either(depth + 1)
    if (!this.#took(')')) throw invalidKeyword('a parenthesis is not closed')
    return query
  }

  /** Returns whether an operator or a parenthesis comes next; a quoted one is a word. */
  #isNext(text: string): boolean {
    return this.next?.text === text && this.next.kind !== 'words'
  }

  #took(text: string): boolean {
    const is = this.#isNext(text)
    if (is) this.#at += 1
    return is
  }
}

const invalidKeyword = (reason: string): ApiError => new ApiError('invalid', { reason: `keyword: ${reason}` })

export type Condition = readonly [sql: string, ...values: Value[]]

/** The opposite of a condition, also true when the condition is unknown. */
export const not = ([sql, ...values]: Condition): Condition => [`(${sql}) IS NOT TRUE`, ...values]

const joinBy =
  (operator: 'AND' | 'OR', withoutAny: 'TRUE' | 'FALSE') =>
  (conditions: readonly Condition[]): Condition => [
    conditions.map(([sql]) => `(${sql})`).join(` ${operator} `) || withoutAny,
    ...conditions.flatMap(([, ...values]) => values),
  ]

/** At least one of the conditions; false when there are none. */
export const some = joinBy('OR', 'FALSE')

/** All of the conditions; true when there are none. */
export const every = joinBy('AND', 'TRUE')

/** A column has one of some values. The SQL is the same for any number of them, so it is prepared once. */
export const isOneOf = (column: string, values: readonly (string | number)[]): Condition => [
  `${column} IN (SELECT ${typeof values[0] === 'number' ? 'atom' : 'value'} FROM json_each(?))`,
  JSON.stringify(values),
]

/** Returns the condition of a list; none when the list is empty or missing. */
export const ifAny = <T>(
  items: readonly T[] | undefined,
  of: (items: readonly T[]) => Condition,
): Condition[] => (items?.length ? [of(items)] : [])

/** Whether few or many records fulfil a condition. Texts of few are cheaper to look up one by one than to search first. */
export type Selectivity = 'few' | 'many'

export interface EstimatedCondition {
  readonly condition: Condition
  readonly selectivity: Selectivity
}

const maxFew = 500

/** Estimates a condition that an index answers: few are at most 500 records. */
export async function estimateSelectivity(
  connection: Connection,
  table: 'people' | 'jobs',
  condition: Condition,
): Promise<EstimatedCondition> {
  const [where, ...values] = condition
  const first = [`SELECT key FROM ${table} WHERE ${where} LIMIT ?`, ...values, maxFew + 1] as const
  return { condition, selectivity: (await countRows(connection, first)) <= maxFew ? 'few' : 'many' }
}

export const countRows = (connection: Connection, [sql, ...values]: Condition): Promise<number> =>
  readNumber(connection, `SELECT count(*) AS total FROM (${sql}) AS found`, ...values)

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

/** A query for matching texts, or (`negated`) for all others, which no full-text index can express. */
export interface TextQuery {
  readonly texts: Texts
  readonly negated: boolean
}

export const phrase = (words: string): TextQuery => ({ texts: { phrase: words }, negated: false })

export const beginning = (words: string): TextQuery => ({ texts: { beginning: words }, negated: false })

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

const distinct = (queries: readonly TextQuery[]): Texts[] => [
  ...new Map(queries.map(({ texts }) => [JSON.stringify(texts), texts])).values(),
]
