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

const token =
  /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\bSELECT (?:value|atom)(?: AS \w+)? FROM json_each\(\?\)|\bjson_each\(\?\)|\bINDEXED BY \w+|\bCROSS JOIN\b|\?/g
const list = /^SELECT (value|atom)(?: AS (\w+))? FROM/

/** Returns a function that translates statements of the shared subset for PostgreSQL, each text once. */
export function createStatementCache(asArrays = false): (sql: string) => Prepared {
  const known = new Map<string, Prepared>()
  return (sql) => {
    const found = known.get(sql)
    if (found) return found
    const name = known.size < mostNames ? `prospect_${known.size}` : undefined
    const made = {
      name,
      text: translate(asArrays ? sql.replace(among, isAmong) : sql),
      writes: !/^\s*SELECT\b/i.test(sql),
      lists: listsIn(sql),
    }
    if (name) known.set(sql, made)
    return made
  }
}

function listsIn(sql: string): number[] {
  const places = (sql.match(token) ?? []).filter((found) => found === '?' || found.includes('json_each('))
  return places.flatMap((found, place) => (found === '?' ? [] : [place]))
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

/** What a row is asked to be one of. As an array that functions of the schema make, its values are known to the planner. */
const among = /\b(NOT )?IN \(SELECT (value|atom) FROM json_each\(\?\)\)/g
const isAmong = (_: string, not: string | undefined, kind: string): string =>
  `${not ? '<> ALL' : '= ANY'} (${kind === 'atom' ? 'numbers_in' : 'texts_in'}(?))`

/**
 * `?` places as `$1`, `$2` and so on, and a list in one place as rows; without the words that only SQLite is told. Texts and
 * names in quotes stay as they are.
 */
export function translate(sql: string): string {
  let places = 0
  return sql.replace(token, (found) => {
    if (found === '?') return `$${++places}`
    if (found.startsWith('INDEXED')) return ''
    if (found === 'CROSS JOIN') return 'JOIN'
    if (found.startsWith('json_each'))
      return `jsonb_array_elements(CAST($${++places} AS JSONB)) AS json_each (value)`
    const [, kind = '', name = kind] = list.exec(found) ?? []
    if (kind === '') return found
    const values = `jsonb_array_elements_text(CAST($${++places} AS JSONB))`
    return `SELECT ${kind === 'atom' ? `CAST(${values} AS BIGINT)` : values} AS ${name}`
  })
}
