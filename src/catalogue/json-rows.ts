import { fieldOf } from './columns.js'
import type { ImportOptions } from './import-options.js'
import type { Given, Kind } from './kind.js'
import { ImportError } from './report.js'
import { portion, type Row, type Rows } from './row.js'

/** Characters of one record. */
const longestRecord = 16 * 1_048_576

/** Reads one JSON object per line, or one array of objects. */
export function jsonRows(
  kind: Kind,
  head: string,
  texts: AsyncIterable<string>,
  { map }: ImportOptions,
): Rows {
  const values = /^\s*\[/.test(head) ? elements(texts) : lines(texts)
  const mapping: Record<string, string> = {}
  const ignored: string[] = []
  const named = new Map<string, string | undefined>(
    Object.entries(map ?? {}).map(([field, key]) => [key, field]),
  )
  const nameOf = (key: string): string | undefined => {
    if (!named.has(key)) named.set(key, fieldOf(kind, key))
    const field = named.get(key)
    if (field === undefined) ignored.push(key)
    else mapping[field] ??= key
    return field
  }
  return { mapping, ignored, portions: rowsOf(values, remembered(nameOf)) }
}

function remembered(name: (key: string) => string | undefined): (key: string) => string | undefined {
  const seen = new Map<string, string | undefined>()
  return (key) => {
    if (!seen.has(key)) seen.set(key, name(key))
    return seen.get(key)
  }
}

interface Piece {
  readonly line: number
  readonly json: string
}

async function* rowsOf(
  values: AsyncIterable<Piece>,
  nameOf: (key: string) => string | undefined,
): AsyncGenerator<Row[]> {
  let rows: Row[] = []
  for await (const { line, json } of values) {
    const given = parsed(json)
    rows.push(given ? { line, given: renamed(given, nameOf) } : { line, reason: 'is not a JSON object' })
    if (rows.length < portion) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}

function parsed(json: string): Given | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Given) : undefined
  } catch {
    return undefined
  }
}

function renamed(given: Given, nameOf: (key: string) => string | undefined): Given {
  const record: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(given)) {
    const field = nameOf(key)
    if (field !== undefined && (record[field] === undefined || field === key)) record[field] = value
  }
  return record
}

async function* lines(texts: AsyncIterable<string>): AsyncGenerator<Piece> {
  let rest = ''
  let line = 0
  for await (const text of texts) {
    const pieces = (rest + text).split('\n')
    rest = pieces.pop() ?? ''
    if (rest.length > longestRecord) throw tooLong(line + 1)
    for (const json of pieces) {
      line += 1
      if (json.trim() !== '') yield { line, json }
    }
  }
  if (rest.trim() !== '') yield { line: line + 1, json: rest }
}

/** The elements of one array, found by counting brackets outside strings. */
async function* elements(texts: AsyncIterable<string>): AsyncGenerator<Piece> {
  let [depth, line, start, inText, escaped] = [0, 1, 1, false, false]
  let json = ''
  for await (const text of texts) {
    let from = 0
    for (let at = 0; at < text.length; at++) {
      const sign = text[at]
      if (sign === '\n') line += 1
      if (inText) {
        inText = escaped || sign !== '"'
        escaped = !escaped && sign === '\\'
      } else if (sign === '"') inText = true
      else if (sign === '{' || sign === '[') {
        depth += 1
        if (depth === 2) [from, start, json] = [at, line, '']
      } else if (sign === '}' || sign === ']') {
        depth -= 1
        if (depth === 1) yield { line: start, json: json + text.slice(from, at + 1) }
      }
    }
    if (depth > 1) json += text.slice(from)
    if (json.length > longestRecord) throw tooLong(start)
  }
  if (depth > 0) throw new ImportError('the array ends here without its closing bracket', line)
}

const tooLong = (line: number) => new ImportError('the record that begins here is longer than 16 MiB', line)
