import type { Fields } from './records.js'

/** A query of the part of SOQL that is used. */
export interface Soql {
  readonly fields: readonly string[]
  readonly from: string
  readonly passes: (fields: Fields) => boolean
  readonly order: readonly { readonly field: string; readonly turn: 1 | -1 }[]
  readonly limit: number
}

/** Reads a query. Throws what Salesforce says of one that is malformed. */
export function parseSoql(text: string): Soql {
  const parts =
    /^\s*SELECT\s+(.+?)\s+FROM\s+(\w+)(?:\s+WHERE\s+(.+?))?(?:\s+ORDER\s+BY\s+(.+?))?(?:\s+LIMIT\s+(\d+))?\s*$/is
  const [, select, from, where, order, limit] = parts.exec(text) ?? []
  if (!select || !from) throw new Error(`unexpected token: ${text.slice(0, 40)}`)
  return {
    fields: select.split(',').map((field) => field.trim()),
    from,
    passes: where ? condition(where) : () => true,
    order: (order?.split(',') ?? []).map((one) => {
      const [field = '', turn = 'ASC'] = one.trim().split(/\s+/)
      return { field, turn: turn.toUpperCase() === 'DESC' ? -1 : 1 }
    }),
    limit: limit ? Number(limit) : Number.POSITIVE_INFINITY,
  }
}

type Test = (fields: Fields) => boolean

/** Returns the value of a field, through a relationship too. */
export function valueOfPath(fields: Fields, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (from, name) => (from && typeof from === 'object' ? (from as Fields)[name] : undefined),
      fields,
    )
}

function condition(text: string): Test {
  const tokens =
    text.match(/'(?:\\.|[^'\\])*'|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)|[\w.]+|<=|>=|!=|[=<>(),]/g) ??
    []
  let at = 0
  const next = () => tokens[at++] ?? ''
  const isNext = (word: string) => tokens[at]?.toUpperCase() === word
  const either = (): Test => {
    let test = both()
    while (isNext('OR')) {
      next()
      const [one, other] = [test, both()]
      test = (fields) => one(fields) || other(fields)
    }
    return test
  }
  const both = (): Test => {
    let test = single()
    while (isNext('AND')) {
      next()
      const [one, other] = [test, single()]
      test = (fields) => one(fields) && other(fields)
    }
    return test
  }
  const single = (): Test => {
    if (isNext('(')) {
      next()
      const test = either()
      if (next() !== ')') throw new Error("expecting a right parenthesis, found 'EOF'")
      return test
    }
    const field = next()
    const operator = next().toUpperCase()
    if (operator === 'IN') {
      const values = new Set<unknown>()
      next()
      while (at < tokens.length && !isNext(')')) {
        const token = next()
        if (token !== ',') values.add(comparable(literal(token)))
      }
      next()
      return (fields) => values.has(comparable(valueOfPath(fields, field) ?? undefined))
    }
    const value = literal(next())
    return (fields) => compare(operator, valueOfPath(fields, field), value)
  }
  const test = either()
  if (at < tokens.length) throw new Error(`unexpected token: '${tokens[at]}'`)
  return test
}

function literal(token: string): unknown {
  if (token.startsWith("'")) return token.slice(1, -1).replace(/\\(.)/g, '$1')
  if (/^null$/i.test(token)) return undefined
  if (/^(true|false)$/i.test(token)) return token.toLowerCase() === 'true'
  if (/^\d{4}-/.test(token)) return Date.parse(token)
  if (Number.isFinite(Number(token))) return Number(token)
  throw new Error(`unexpected token: '${token}'`)
}

const comparable = (value: unknown): unknown => (typeof value === 'string' ? value.toLowerCase() : value)

const same = (one: unknown, other: unknown): boolean => comparable(one ?? undefined) === comparable(other)

function compare(operator: string, own: unknown, value: unknown): boolean {
  // Times are held as they are told; ids are told apart by case.
  const one = typeof value === 'number' && typeof own === 'string' ? Date.parse(own) : own
  if (operator === '=') return same(one, value)
  if (operator === '!=') return !same(one, value)
  if (one === undefined || one === null || value === undefined) return false
  const isLess = (one as string) < (value as string)
  const isMore = (one as string) > (value as string)
  if (operator === '<') return isLess
  if (operator === '>') return isMore
  if (operator === '<=') return !isMore
  if (operator === '>=') return !isLess
  throw new Error(`unexpected token: '${operator}'`)
}
