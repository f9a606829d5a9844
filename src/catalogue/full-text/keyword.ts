import { ApiError } from '../../api/calls/errors.js'
import { allOf, anyOf, negate, phrase, type TextQuery } from './text-query.js'

/** Maximum nesting: the query must fit into the stack of FTS5's parser. */
const maxDepth = 10

const operators = new Set(['AND', 'OR', 'NOT'])
const quotes = /["“”„«»]/
const token = /["“”„«»]([^"“”„«»]*)["“”„«»]|([()])|([^\s()"“”„«»]+)/g
/** Characters of words; a token without any is ignored. */
const wordy = /[\p{L}\p{N}]/u

interface Token {
  readonly kind: 'words' | 'operator' | 'bracket'
  readonly text: string
}

/**
 * Parses a keyword: words and "phrases", AND (the default), OR, NOT, which binds closest, and parentheses. Operators
 * are in capitals. 422 when it is malformed.
 */
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
    return wordy.test(words) ? [{ kind: 'words', text: words }] : []
  })
}

/** A recursive-descent parser; the operator that binds loosest comes first. */
class KeywordParser {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  get next(): Token | undefined {
    return this.#tokens[this.#at]
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
    if (!this.#took('(')) throw invalidKeyword(missingWords(next))
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

const missingWords = (next: Token | undefined): string =>
  next ? `words are missing before ${next.text}` : 'words are missing at the end'

const invalidKeyword = (reason: string): ApiError => new ApiError('invalid', { reason: `keyword: ${reason}` })
