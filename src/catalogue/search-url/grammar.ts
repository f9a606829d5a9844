import { bounds } from '../../api/schemas/fields.js'

/** A value of the nested notation `(key:value,list:List(…))`; texts are as written, still percent-encoded. */
export type Nested = string | readonly Nested[] | NestedObject
/** An object of the nested notation; a map, since its keys come from outside. */
export interface NestedObject extends ReadonlyMap<string, Nested> {}

/** A text that is not in the nested notation: cut off, out of balance, or too deep. */
export class BrokenQuery extends Error {}

interface Cursor {
  readonly text: string
  at: number
}

/** Reads an object in the nested notation; whatever follows it must begin with `&`. Throws `BrokenQuery`. */
export function parseNested(text: string): NestedObject {
  const cursor = { text, at: 0 }
  const root = parseObject(cursor, 0)
  if (!/^\s*(?:&|$)/.test(text.slice(cursor.at))) throw new BrokenQuery()
  return root
}

/** Whether a value is an object. */
export const isObject = (value: Nested | undefined): value is NestedObject => value instanceof Map

/** Whether a value is a list. */
export const isList = (value: Nested | undefined): value is readonly Nested[] => Array.isArray(value)

const opening = /\s*\(\s*/y
const listOpening = /\s*List\(\s*/y
const comma = /\s*,\s*/y
const closing = /\s*\)/y
const key = /\s*([A-Za-z_][\w.$-]*)\s*:/y
const word = /[^,()]*/y

/** Values of these keys are words of people, in which anything can stand that was not percent-encoded. */
const freeTexts = new Set(['text', 'keywords'])

function parseObject(cursor: Cursor, depth: number): NestedObject {
  const entries = new Map<string, Nested>()
  if (depth > bounds.depth || !take(cursor, opening)) throw new BrokenQuery()
  if (take(cursor, closing)) return entries
  do {
    const name = take(cursor, key)?.[1]
    if (name === undefined || entries.has(name)) throw new BrokenQuery()
    entries.set(name, freeTexts.has(name) ? parseFreeText(cursor) : parseValue(cursor, depth + 1))
  } while (take(cursor, comma))
  if (!take(cursor, closing)) throw new BrokenQuery()
  return entries
}

function parseValue(cursor: Cursor, depth: number): Nested {
  if (take(cursor, listOpening)) return parseList(cursor, depth)
  if (isAt(cursor, opening)) return parseObject(cursor, depth)
  return take(cursor, word)?.[0] ?? ''
}

function parseList(cursor: Cursor, depth: number): Nested[] {
  const items: Nested[] = []
  if (depth > bounds.depth) throw new BrokenQuery()
  if (take(cursor, closing)) return items
  do items.push(parseValue(cursor, depth + 1))
  while (take(cursor, comma))
  if (!take(cursor, closing)) throw new BrokenQuery()
  return items
}

function take(cursor: Cursor, pattern: RegExp): RegExpExecArray | undefined {
  pattern.lastIndex = cursor.at
  const found = pattern.exec(cursor.text)
  if (found) cursor.at += found[0].length
  return found ?? undefined
}

const keysAfterText =
  'id|text|selectionType|parent|children|icon|headline|filters|keywords|recentSearchParam|doLogHistory|' +
  'spellCorrectionEnabled|sessionId|savedSearchId|viewAllFilters|trackingParam|doFetch\\w*'
const nextKey = new RegExp(`,\\s*(?:${keysAfterText})\\s*:`, 'y')
const nextSelection = /,\s*selectionType\s*:/y
const lastClosing = /\)\s*(?:\)|,\s*\(|&|$)/y

/** Words up to the next key that is known, or up to the parenthesis that closes their object. */
function parseFreeText(cursor: Cursor): string {
  const { text, at: from } = cursor
  let depth = 0
  for (; cursor.at < text.length; cursor.at++) {
    const char = text[cursor.at]
    if (char === ',' && isAt(cursor, depth === 0 ? nextKey : nextSelection)) break
    if (char === ')' && depth === 0 && isAt(cursor, lastClosing)) break
    if (char === '(') depth++
    if (char === ')') depth = Math.max(0, depth - 1)
  }
  return text.slice(from, cursor.at)
}

function isAt({ text, at }: Cursor, pattern: RegExp): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}

/** A parameter of a url's query; the value is as written, still percent-encoded. */
export interface Parameter {
  readonly name: string
  readonly value: string
}

/** The parameters of a query as people paste it; an `&` that no `name=` follows belongs to the value before it. */
export const parseParameters = (query: string): Parameter[] =>
  query
    .replace(/[\t\r\n]/g, '')
    .split(/&(?=&|[\w.$%~;-]+=|$)/)
    .filter((part) => part !== '')
    .map((part) => {
      const cut = part.includes('=') ? part.indexOf('=') : part.length
      // Urls copied out of a document may have kept its entities.
      return { name: decodeText(part.slice(0, cut)).replace(/^amp;/, ''), value: part.slice(cut + 1) }
    })

/** A text without its percent-encoding; what is none stays as it is. */
export function decodeText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
      try {
        return decodeURIComponent(run)
      } catch {
        return run
      }
    })
  }
}

/** The value of a plain parameter, where `+` is a space, encoded once or twice. */
export function decodeValue(value: string): string {
  const once = decodeText(value.replaceAll('+', ' '))
  return (/%[0-9a-f]{2}/i.test(once) ? decodeText(once) : once).trim()
}

/** The items of a plain parameter: of a JSON array, or the one value it is. */
export function decodeItems(value: string): string[] {
  const text = decodeValue(value)
  if (!text.startsWith('[')) return text === '' ? [] : [text]
  return [...text.matchAll(/"([^"]*)"|[^\s,"[\]]+/g)].map(([whole, quoted]) => (quoted ?? whole).trim())
}

/** A query in the nested notation, decoded until its structure shows; its texts keep the encoding of their own. */
export function decodeNested(value: string): string {
  // Where even the parentheses are encoded, a form did it, and wrote spaces as `+`.
  let text = decodeText(value.includes('(') ? value : value.replaceAll('+', ' '))
  for (let more = 0; more < 2 && !/^\s*\(\s*(?:\w+\s*:|\))/.test(text); more++) text = decodeText(text)
  return text
}
