import { parseJson } from '../../api/values/json.js'
import { isObject } from '../../api/values/objects.js'
import type { Given, ImportOptions, Kind, Row, Rows } from '../kinds/kind.js'
import { checkedField, fieldOf } from './map-columns.js'
import { ImportError } from './report.js'

/** Characters of one record. */
const longestRecord = 16 * 1_048_576

/** Reads one JSON object per line, or one array of objects. */
export function jsonRows(
  kind: Kind,
  head: string,
  texts: AsyncIterable<string>,
  { map = {} }: ImportOptions,
): Rows {
  const pieces = /^\s*\[/.test(head) ? elements(texts) : lines(texts)
  const keys = new Map(Object.entries(map).map(([field, key]) => [key, checkedField(kind, field)]))
  const named = new Map<string, string | undefined>()
  const mapping: Record<string, string> = {}
  const ignored: string[] = []
  const nameOf = (key: string): string | undefined => {
    if (named.has(key)) return named.get(key)
    const guess = keys.has(key) ? undefined : fieldOf(kind, key)
    const field = guess !== undefined && Object.hasOwn(map, guess) ? undefined : (keys.get(key) ?? guess)
    if (field === undefined) ignored.push(key)
    else mapping[field] ??= key
    named.set(key, field)
    return field
  }
  return { mapping, ignored, batches: rowsOf(pieces, nameOf) }
}

interface Piece {
  readonly line: number
  readonly json: string
}

async function* rowsOf(
  batches: AsyncIterable<readonly Piece[]>,
  nameOf: (key: string) => string | undefined,
): AsyncGenerator<Row[]> {
  for await (const pieces of batches) {
    yield pieces.map(({ line, json }) => {
      const given = parsed(json)
      return given ? { line, given: renamed(given, nameOf) } : { line, reason: 'is not a JSON object' }
    })
  }
}

function parsed(json: string): Given | undefined {
  try {
    const value: unknown = parseJson(json)
    return isObject(value) ? value : undefined
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

async function* lines(texts: AsyncIterable<string>): AsyncGenerator<readonly Piece[]> {
  let rest = ''
  let line = 0
  for await (const text of texts) {
    const whole = (rest + text).split('\n')
    rest = whole.pop() ?? ''
    if (rest.length > longestRecord) throw tooLong(line + whole.length + 1)
    yield whole.map((json) => ({ line: ++line, json })).filter(({ json }) => json.trim() !== '')
  }
  if (rest.trim() !== '') yield [{ line: line + 1, json: rest }]
}

/** The elements of one array, found by counting brackets outside strings. */
async function* elements(texts: AsyncIterable<string>): AsyncGenerator<readonly Piece[]> {
  const scan = { depth: 0, line: 1, start: 1, inText: false, escaped: false, inScalar: false, json: '' }
  for await (const text of texts) {
    yield completed(scan, text)
    if (scan.json.length > longestRecord) throw tooLong(scan.start)
  }
  if (scan.depth > 0) throw new ImportError('the array ends here without its closing bracket', scan.line)
}

/** Where a scan of an array stands: `json` is the beginning of an element that has not ended. */
interface Scan {
  depth: number
  line: number
  start: number
  inText: boolean
  escaped: boolean
  /** Within an element that is neither object nor array. */
  inScalar: boolean
  json: string
}

/** Reads on; answers the elements that end in this text. */
function completed(scan: Scan, text: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]
    if (sign === '\n') scan.line += 1
    if (scan.depth === 1 && beginsScalar(scan, sign)) pieces.push({ line: scan.line, json: '' })
    if (scan.inText) {
      scan.inText = scan.escaped || sign !== '"'
      scan.escaped = !scan.escaped && sign === '\\'
    } else if (sign === '"') scan.inText = true
    else if (sign === '{' || sign === '[') {
      scan.depth += 1
      if (scan.depth !== 2) continue
      from = at
      scan.start = scan.line
    } else if (sign === '}' || sign === ']') {
      scan.depth -= 1
      if (scan.depth !== 1) continue
      pieces.push({ line: scan.start, json: scan.json + text.slice(from, at + 1) })
      scan.json = ''
    }
  }
  if (scan.depth > 1) scan.json += text.slice(from)
  return pieces
}

/** Whether an element begins that is no record; it is told, not passed over. */
function beginsScalar(scan: Scan, sign = ''): boolean {
  const inside = scan.inScalar
  scan.inScalar = scan.inText || !/[\s,[\]{}]/.test(sign)
  return scan.inScalar && !inside
}

const tooLong = (line: number) => new ImportError('the record that begins here is longer than 16 MiB', line)
