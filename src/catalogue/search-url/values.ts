import {
  companySizes,
  companyTypes,
  functions,
  industries,
  seniorities,
  years,
} from '../../api/schemas/enumerations.js'
import { foldText } from '../normalize/name.js'
import { parseCompanySize } from '../normalize/readers.js'
import { findPlace } from '../places/place.js'

/** The value of a filter in a url: an id of the network, a text, or both. */
export interface UrlValue {
  readonly id?: string
  readonly text?: string
}

/** Reads and writes the values of a kind of filter. */
interface ValueReader {
  /** What is expected, for the error message. */
  readonly expected: string
  /** Returns the values for our filters; none when the value is unknown. */
  read(value: UrlValue): readonly string[]
  /** Returns the value in a url. */
  write(value: string): UrlValue
}

const present = (value: string | undefined): string[] => (value ? [value] : [])
const number = /^\d+$/
const withoutUrn = (id = ''): string => (id.startsWith('urn:') ? id.slice(id.lastIndexOf(':') + 1) : id)

/** Plain text. */
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

/** Creates the reader of values that are given by id or by label. */
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

/** The readers of the kinds of values that filters have. */
export const valueReaders = {
  ...{ title, name, place, industry, company, list, size },
  function: createLabelReader('a known function', functions),
  seniority: createLabelReader('a known seniority level', seniorities),
  years: createLabelReader('a known number of years', yearLabels),
  // The network's texts are longer than the labels: Privately Held, Public Company.
  type: createLabelReader('a known company type', companyTypes, (text, label) => text.startsWith(label)),
}

/** What the values of a filter type are. */
export type FilterValueKind = keyof typeof valueReaders
