import { Refusal } from '../../api/calls/errors.js'
import { parseJson, toJson } from '../../api/values/json.js'
import { isObject, resultOr } from '../../api/values/objects.js'
import { isOwnColumn } from '../../csv/names.js'
import type { ImportOptions, InputRow, InputRows, RawRecord, RecordKind } from '../kinds/kind.js'
import { checkField, findField } from './map-columns.js'

/** Maximum length of a record, in characters. */
const maxRecordLength = 16 * 1_048_576

/** Reads one JSON object per line, or one array of objects. `head` is the beginning of the file. */
export function readJsonRows(
  kind: RecordKind,
  head: string,
  texts: AsyncIterable<string>,
  { map = {} }: ImportOptions,
): InputRows {
  const pieces = /^\s*\[/.test(head) ? splitElements(texts) : splitLines(texts)
  const keys = new Map(Object.entries(map).map(([field, key]) => [key, checkField(kind, field)]))
  const fieldByKey = new Map<string, string | undefined>()
  const mapping: Record<string, string> = {}
  const ignored: string[] = []
  const samples: Record<string, string> = {}
  const toField = (key: string): string | undefined => {
    if (fieldByKey.has(key)) return fieldByKey.get(key)
    const guess = keys.has(key) ? undefined : findField(kind, key)
    const field = guess !== undefined && Object.hasOwn(map, guess) ? undefined : (keys.get(key) ?? guess)
    if (field === undefined && !isOwnColumn(key)) ignored.push(key)
    else if (field !== undefined) mapping[field] ??= key
    fieldByKey.set(key, field)
    return field
  }
  const addSample = (field: string, value: unknown) => {
    if (Object.hasOwn(samples, field) || value === null || value === '') return
    samples[field] = (typeof value === 'string' ? value : toJson(value)).slice(0, sampleCharacters)
  }
  return { mapping, ignored, samples, batches: toInputRows(pieces, toField, addSample) }
}

/** Maximum length of a value that is shown. */
const sampleCharacters = 500

interface JsonText {
  readonly line: number
  readonly json: string
}

async function* toInputRows(
  batches: AsyncIterable<readonly JsonText[]>,
  toField: (key: string) => string | undefined,
  addSample: (field: string, value: unknown) => void,
): AsyncGenerator<InputRow[]> {
  for await (const pieces of batches) {
    yield pieces.map(({ line, json }) => {
      const raw = parseRecord(json)
      return raw
        ? { line, cells: [json], raw: renameFields(raw, toField, addSample) }
        : { line, cells: [json], reason: 'is not a JSON object' }
    })
  }
}

function parseRecord(json: string): RawRecord | undefined {
  const value = resultOr(undefined, () => parseJson(json))
  return isObject(value) ? value : undefined
}

function renameFields(
  raw: RawRecord,
  toField: (key: string) => string | undefined,
  addSample: (field: string, value: unknown) => void,
): RawRecord {
  const record: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(raw)) {
    const field = toField(key)
    if (field === undefined) continue
    addSample(field, value)
    if (record[field] === undefined || field === key) record[field] = value
  }
  return record
}

async function* splitLines(texts: AsyncIterable<string>): AsyncGenerator<readonly JsonText[]> {
  let rest = ''
  let line = 0
  for await (const text of texts) {
    const whole = (rest + text).split('\n')
    rest = whole.pop() ?? ''
    if (rest.length > maxRecordLength) throw tooLongError(line + whole.length + 1)
    yield whole.map((json) => ({ line: ++line, json })).filter(({ json }) => json.trim() !== '')
  }
  if (rest.trim() !== '') yield [{ line: line + 1, json: rest }]
}

/** Splits one array into its elements, by counting brackets outside strings. */
async function* splitElements(texts: AsyncIterable<string>): AsyncGenerator<readonly JsonText[]> {
  const scan = createScan()
  for await (const text of texts) {
    yield scanText(scan, text)
    if (scan.json.length > maxRecordLength) throw tooLongError(scan.start)
  }
  if (scan.depth > 0) throw new Refusal('import.array_open', { line: scan.line })
}

/**
 * Creates the state of the scan of an array. `json` is the beginning of an element that continues; `inScalar` says that the
 * element is neither an object nor an array.
 */
const createScan = () => ({
  depth: 0,
  line: 1,
  start: 1,
  inText: false,
  escaped: false,
  inScalar: false,
  json: '',
})

/** Scans the next text; returns the elements that end in it. */
function scanText(scan: ReturnType<typeof createScan>, text: string): JsonText[] {
  const pieces: JsonText[] = []
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '\n') scan.line += 1
    if (scan.depth === 1 && startsScalar(scan, char)) pieces.push({ line: scan.line, json: '' })
    if (scan.inText) {
      scan.inText = scan.escaped || char !== '"'
      scan.escaped = !scan.escaped && char === '\\'
    } else if (char === '"') scan.inText = true
    else if (char === '{' || char === '[') {
      scan.depth += 1
      if (scan.depth !== 2) continue
      from = at
      scan.start = scan.line
    } else if (char === '}' || char === ']') {
      scan.depth -= 1
      if (scan.depth !== 1) continue
      pieces.push({ line: scan.start, json: scan.json + text.slice(from, at + 1) })
      scan.json = ''
    }
  }
  if (scan.depth > 1) scan.json += text.slice(from)
  return pieces
}

/** Returns whether an element begins that is not a record, so that it can be rejected. */
function startsScalar(scan: ReturnType<typeof createScan>, char = ''): boolean {
  const inside = scan.inScalar
  scan.inScalar = scan.inText || !/[\s,[\]{}]/.test(char)
  return scan.inScalar && !inside
}

const tooLongError = (line: number) => new Refusal('import.record_too_long', { line })
