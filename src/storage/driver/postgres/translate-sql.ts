/** A translated statement and the name it is prepared under on each connection. */
export interface Prepared {
  readonly name: string | undefined
  readonly text: string
  /** Whether it writes, or may. */
  readonly writes: boolean
  /** Which of its values are lists. */
  readonly lists: readonly number[]
}

/** Statements that are kept by name; no connection may keep all mixes of filters there are. */
const mostNames = 1_000

/**
 * What a statement has besides SQL that PostgreSQL takes unchanged. Strings, quoted names and comments are tokens too,
 * so that nothing in them is taken for a placeholder.
 */
const token =
  /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\b(NOT )?IN \(SELECT (value|atom) FROM json_each\(\?\)\)|\bSELECT (value|atom)(?: AS (\w+))? FROM json_each\(\?\)|\bjson_each\(\?\)|\bINDEXED BY \w+|\bCROSS JOIN\b|\?/g

/** Returns a function that translates statements of the shared subset for PostgreSQL, each text once. */
export function createStatementCache(asArrays = false): (sql: string) => Prepared {
  const known = new Map<string, Prepared>()
  return (sql) => {
    const found = known.get(sql)
    if (found) return found
    const name = known.size < mostNames ? `prospect_${known.size}` : undefined
    const made = { name, ...translate(sql, asArrays), writes: !/^\s*SELECT\b/i.test(sql) }
    if (name) known.set(sql, made)
    return made
  }
}

/**
 * Numbers the placeholders of a statement, spells lists as PostgreSQL does and drops what only SQLite's planner needs.
 * With `asArrays`, a list that a column is compared with is an array, whose values the planner knows.
 */
export function translate(sql: string, asArrays = false): Pick<Prepared, 'text' | 'lists'> {
  let places = 0
  const lists: number[] = []
  const list = (): string => {
    lists.push(places)
    return `$${++places}`
  }
  const select = (kind: string, name: string): string => {
    const values = `jsonb_array_elements_text(CAST(${list()} AS JSONB))`
    return `SELECT ${kind === 'atom' ? `CAST(${values} AS BIGINT)` : values} AS ${name}`
  }
  const text = sql.replace(token, (found, not = '', among, kind, name = kind) => {
    if (found === '?') return `$${++places}`
    if (found.startsWith('INDEXED')) return ''
    if (found === 'CROSS JOIN') return 'JOIN'
    if (found.startsWith('json_each'))
      return `jsonb_array_elements(CAST(${list()} AS JSONB)) AS json_each (value)`
    if (kind !== undefined) return select(kind, name)
    if (among === undefined) return found
    if (!asArrays) return `${not}IN (${select(among, among)})`
    return `${not ? '<> ALL' : '= ANY'} (${among === 'atom' ? 'numbers_in' : 'texts_in'}(${list()}))`
  })
  return { text, lists }
}

/**
 * Values as PostgreSQL takes them. Half of a character in a text goes out as the sign that stands for it; in a list it is
 * written out, and would be refused. What is asked for may have U+0000, which no text there has: a sign that none has
 * either stands for it, so that nothing is found.
 */
export function bindValues<V>(
  values: readonly V[],
  { lists, writes }: Pick<Prepared, 'lists' | 'writes'>,
): readonly V[] {
  const held = !writes && values.some(hasNul) ? values.map(withoutNul) : values
  if (lists.length === 0) return held
  return held.map((value, place) =>
    typeof value === 'string' && value.includes('\\ud') && lists.includes(place)
      ? (value.replace(escaped, (found, half) => (half ? '\ufffd' : found)) as V)
      : value,
  )
}

const hasNul = (value: unknown): value is string => typeof value === 'string' && value.includes('\0')
const withoutNul = <V>(value: V): V => (hasNul(value) ? (value.replaceAll('\0', '\uffff') as V) : value)

/** Only halves of characters are written out so: whole ones stand for themselves in what JSON.stringify answers. */
const escaped = /\\(?:(ud[89a-f][0-9a-f]{2})|.)/g
