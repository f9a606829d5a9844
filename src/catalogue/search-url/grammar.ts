import { isUtf8 } from 'node:buffer'
import { Refusal } from '../../api/calls/errors.js'
import {
  companySizes,
  companyTypes,
  functions,
  industries,
  seniorities,
  years,
} from '../../api/schemas/enumerations.js'
import { bounds } from '../../api/schemas/fields.js'
import { foldText } from '../../identity/name.js'
import { parseCompanySize } from '../../identity/readers.js'
import { findPlace } from '../places/place.js'

/** A value in the nested notation `(key:value,list:List(…))`. Texts are still percent-encoded. */
export type Nested = string | readonly Nested[] | NestedObject
/** An object in the nested notation. It is a map, because its keys come from outside. */
export interface NestedObject extends ReadonlyMap<string, Nested> {}

/** Returns the refusal of a text that is not in the nested notation: cut off, unbalanced or nested too deep. */
export const brokenQuery = (): Refusal => new Refusal('field.broken_query')

interface Scanner {
  readonly text: string
  at: number
}

/** Parses an object in the nested notation. Throws a Refusal, also when it is followed by anything but `&`. */
export function parseNested(text: string): NestedObject {
  const cursor = { text, at: 0 }
  const root = parseObject(cursor, 0)
  if (!/^\s*(?:&|$)/.test(text.slice(cursor.at))) throw brokenQuery()
  return root
}

export const isObject = (value: Nested | undefined): value is NestedObject => value instanceof Map

export const isList = (value: Nested | undefined): value is readonly Nested[] => Array.isArray(value)

const opening = /\s*\(\s*/y
const listOpening = /\s*List\(\s*/y
const comma = /\s*,\s*/y
const closing = /\s*\)/y
const key = /\s*([A-Za-z_][\w.$-]*)\s*:/y
const word = /[^,()]*/y

/** Keys whose values people typed: they may contain any character without percent-encoding. */
const freeTexts = new Set(['text', 'keywords'])

function parseObject(cursor: Scanner, depth: number): NestedObject {
  const entries = new Map<string, Nested>()
  if (depth > bounds.depth || !take(cursor, opening)) throw brokenQuery()
  if (take(cursor, closing)) return entries
  do {
    const name = take(cursor, key)?.[1]
    if (name === undefined || entries.has(name)) throw brokenQuery()
    entries.set(name, freeTexts.has(name) ? parseFreeText(cursor) : parseValue(cursor, depth + 1))
  } while (take(cursor, comma))
  if (!take(cursor, closing)) throw brokenQuery()
  return entries
}

function parseValue(cursor: Scanner, depth: number): Nested {
  if (take(cursor, listOpening)) return parseList(cursor, depth)
  if (isAt(cursor, opening)) return parseObject(cursor, depth)
  return take(cursor, word)?.[0] ?? ''
}

function parseList(cursor: Scanner, depth: number): Nested[] {
  const items: Nested[] = []
  if (depth > bounds.depth) throw brokenQuery()
  if (take(cursor, closing)) return items
  do items.push(parseValue(cursor, depth + 1))
  while (take(cursor, comma))
  if (!take(cursor, closing)) throw brokenQuery()
  return items
}

function take(cursor: Scanner, pattern: RegExp): RegExpExecArray | undefined {
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

/** Parses text up to the next known key, or up to the parenthesis that closes its object. */
function parseFreeText(cursor: Scanner): string {
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

function isAt({ text, at }: Scanner, pattern: RegExp): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}

/** A parameter of a url's query. The value is still percent-encoded. */
export interface Parameter {
  readonly name: string
  readonly value: string
}

/** Returns the parameters of a query as people paste it. An `&` that no `name=` follows belongs to the value before it. */
export const parseParameters = (query: string): Parameter[] =>
  query
    .replace(/[\t\r\n]/g, '')
    .split(/&(?=&|[\w.$%~;-]+=|$)/)
    .filter((part) => part !== '')
    .map((part) => {
      const cut = part.includes('=') ? part.indexOf('=') : part.length
      // Urls copied from an HTML document may contain its entities.
      return { name: decodeText(part.slice(0, cut)).replace(/^amp;/, ''), value: part.slice(cut + 1) }
    })

/** Returns a text without percent-encoding. Invalid sequences stay as they are. */
export const decodeText = (text: string): string => text.replace(/(?:%[0-9a-f]{2})+/gi, decodeRun)

/** Checks before it decodes: thousands of exceptions for the broken runs of one url would hold up all other requests. */
function decodeRun(run: string): string {
  const bytes = Buffer.from(run.replaceAll('%', ''), 'hex')
  return isUtf8(bytes) ? bytes.toString() : run
}

/** Returns the value of a plain parameter. It is encoded once or twice, and `+` is a space. */
export function decodeValue(value: string): string {
  const once = decodeText(value.replaceAll('+', ' '))
  return (/%[0-9a-f]{2}/i.test(once) ? decodeText(once) : once).trim()
}

/** Returns the items of a plain parameter: those of a JSON array, or its only value. */
export function decodeItems(value: string): string[] {
  const text = decodeValue(value)
  if (!text.startsWith('[')) return text === '' ? [] : [text]
  return [...text.matchAll(/"([^"]*)"|[^\s,"[\]]+/g)].map(([whole, quoted]) => (quoted ?? whole).trim())
}

/** Returns a query in the nested notation, decoded until its structure is visible. Its texts remain encoded. */
export function decodeNested(value: string): string {
  // A form encodes even the parentheses, and writes spaces as `+`.
  let text = decodeText(value.includes('(') ? value : value.replaceAll('+', ' '))
  for (let more = 0; more < 2 && !/^\s*\(\s*(?:\w+\s*:|\))/.test(text); more++) text = decodeText(text)
  return text
}

/** The value of a filter in a url: an id of the network, a text, or both. */
export interface UrlValue {
  readonly id?: string
  readonly text?: string
}

interface ValueReader {
  /** What is expected, for the error message. */
  readonly expected: string
  /** Returns the values for our filters; none when the value is unknown. */
  read(value: UrlValue): readonly string[]
  write(value: string): UrlValue
}

const present = (value: string | undefined): string[] => (value ? [value] : [])
const number = /^\d+$/
const withoutUrn = (id = ''): string => (id.startsWith('urn:') ? id.slice(id.lastIndexOf(':') + 1) : id)

const name: ValueReader = {
  expected: 'a text',
  read: ({ text }) => present(text),
  write: (text) => ({ text }),
}

const title: ValueReader = {
  expected: 'a job title in words, or several with OR between them',
  read: ({ text }) => (text ? splitTitles(text) : []),
  write: (text) => ({ text }),
}

/** Returns the titles that an expression joins with OR; none when it contains other operators. */
function splitTitles(text: string): string[] {
  const words = text.match(/"[^"]*"|\S+/g) ?? []
  if (!words.some((word) => /^(?:AND|OR|NOT)$/.test(word))) return [text]
  if (words.some((word) => /^(?:AND|NOT)$|^\(|^[^"].*\)$/.test(word))) return []
  const titles: string[][] = [[]]
  for (const word of words) {
    if (word === 'OR') titles.push([])
    else titles.at(-1)?.push(word)
  }
  const joined = titles.map((parts) =>
    parts
      .join(' ')
      .replace(/^"([^"]*)"$/, '$1')
      .trim(),
  )
  return joined.filter((words) => words !== '')
}

const place: ValueReader = {
  expected: 'a known place',
  read: ({ id, text = '' }) => present([withoutUrn(id), text].find((one) => one !== '' && findPlace(one))),
  write(place) {
    // An id contains a colon or digits; the name is added for people.
    if (!/[\d:]/.test(place)) return { text: place }
    const name = findPlace(place)?.name
    return { id: place, ...(name === undefined ? {} : { text: name }) }
  },
}

/** When id and text name different industries, the text counts. */
const industry: ValueReader = {
  expected: 'an industry',
  read({ id = '', text }) {
    const known = Object.hasOwn(industries, id) ? foldText(industries[id] ?? '') : undefined
    if (text && foldText(text) !== known && !number.test(text)) return [text]
    return number.test(id) ? [id] : present(text)
  },
  write: (industry) => (number.test(industry) ? { id: industry } : { text: industry }),
}

const company: ValueReader = {
  expected: 'a company by its number or name',
  read: ({ id, text }) => (number.test(withoutUrn(id)) ? [withoutUrn(id)] : present(text)),
  write: (company) => (number.test(company) ? { id: `urn:li:organization:${company}` } : { text: company }),
}

const list: ValueReader = {
  expected: 'a list by its id',
  read: ({ id }) => present(id),
  write: (id) => ({ id }),
}

function createLabelReader(
  expected: string,
  labels: Readonly<Record<string, string>>,
  isNamed = (foldedText: string, foldedLabel: string): boolean => foldedText === foldedLabel,
): ValueReader {
  return {
    expected,
    read({ id = '', text = '' }) {
      if (Object.hasOwn(labels, id)) return [id]
      const folded = foldText(text)
      return present(Object.keys(labels).find((id) => isNamed(folded, foldText(labels[id] ?? ''))))
    },
    write: (id) => ({ id, ...(Object.hasOwn(labels, id) ? { text: labels[id] ?? '' } : {}) }),
  }
}

const letters = 'ABCDEFGHI'
const size: ValueReader = {
  expected: 'a company size',
  read: ({ id = '', text = '' }) =>
    present((id.length === 1 ? companySizes[letters.indexOf(id)] : undefined) ?? parseCompanySize(text)),
  write(text) {
    const known = parseCompanySize(text)
    return known === undefined ? { text } : { id: letters.charAt(companySizes.indexOf(known)), text }
  },
}

const yearLabels = Object.fromEntries(
  Object.entries(years).map(([id, [from, to]]) => [
    id,
    to === 0 ? 'Less than 1 year' : to === null ? `More than ${from - 1} years` : `${from} to ${to} years`,
  ]),
)

export const valueReaders = {
  title,
  name,
  place,
  industry,
  company,
  list,
  size,
  function: createLabelReader('a known function', functions),
  seniority: createLabelReader('a known seniority level', seniorities),
  years: createLabelReader('a known number of years', yearLabels),
  // The network's texts are longer than the labels: Privately Held, Public Company.
  type: createLabelReader('a known company type', companyTypes, (text, label) => text.startsWith(label)),
}

export type FilterValueKind = keyof typeof valueReaders
