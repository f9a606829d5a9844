import { foldText } from '../normalize/name.js'
import { type GazetteerEntry, gazetteer } from './gazetteer.js'

/** Longer texts are no places, even with their region and country. */
const maxLength = 200

/**
 * Returns the places that a text names, best first: alone (`Lyon`), with context (`Lyon, France`, `paris texas`), or as
 * the middle of an area (`Greater Paris Metropolitan Region`).
 */
export function parsePlace(text: string): readonly GazetteerEntry[] {
  if (text.length > maxLength) return []
  const parts = splitParts(text)
  const found = [...gazetteer().named(parts.join(' ')), ...findWithin(parts)]
  if (found.length > 0) return [...new Map(found.map((entry) => [entry.key, entry])).values()]
  const center = toCenter(parts)
  return center === undefined ? [] : parsePlace(center)
}

/** Returns the first of `parsePlace`, without reading the others: hundreds of towns may have one name. */
export function parseFirstPlace(text: string): GazetteerEntry | undefined {
  if (text.length > maxLength) return undefined
  const parts = splitParts(text)
  const found = gazetteer().firstNamed(parts.join(' ')) ?? findWithin(parts)[0]
  const center = found ? undefined : toCenter(parts)
  return center === undefined ? found : parseFirstPlace(center)
}

/** Returns the parts of a text between its commas, folded. */
export const splitParts = (text: string): string[] =>
  text
    .split(/[,;|]/)
    .map(foldText)
    .filter((part) => part !== '')

/** Keeps the places within the regions and countries that the other parts name; unknown parts are ignored. */
export function keepWithin(
  entries: readonly GazetteerEntry[],
  contexts: readonly string[],
): readonly GazetteerEntry[] {
  const known = contexts.map(findScopes).filter((scopes) => scopes.length > 0)
  return known.length === 0
    ? []
    : entries.filter((entry) => known.every((scopes) => scopes.some((scope) => isWithin(entry, scope))))
}

function findWithin([name = '', ...contexts]: readonly string[]): readonly GazetteerEntry[] {
  if (contexts.length > 0) return keepWithin(gazetteer().named(name), contexts)
  for (const [head, tail] of splitWords(name)) {
    const entries = gazetteer().named(head)
    const found = entries.length > 0 ? keepWithin(entries, [tail]) : []
    if (found.length > 0) return found
  }
  return []
}

/** Returns the countries and regions that a text names, also one within another: `illinois united states`. */
function findScopes(text: string): readonly GazetteerEntry[] {
  const scopes = gazetteer().named(text).filter(isScope)
  if (scopes.length > 0) return scopes
  for (const [head, tail] of splitWords(text)) {
    const outer = gazetteer().named(tail).filter(isScope)
    const inner = outer.length === 0 ? [] : gazetteer().named(head).filter(isScope)
    const found = inner.filter((entry) => outer.some((scope) => isWithin(entry, scope)))
    if (found.length > 0) return found
  }
  return []
}

const isScope = ({ code }: GazetteerEntry): boolean => typeof code === 'string'

const isWithin = (entry: GazetteerEntry, { code, country }: GazetteerEntry): boolean =>
  entry.code !== code && (code === country ? entry.country === country : entry.region === code)

/** Returns each way to split a text into two, the longest beginning first. */
function splitWords(text: string): [head: string, tail: string][] {
  const words = text.split(' ')
  return words
    .slice(1, 12)
    .map((_, at): [string, string] => [words.slice(0, at + 1).join(' '), words.slice(at + 1).join(' ')])
    .reverse()
}

const before = /^(?:greater|grand|area of|ville de|region de|metropole de) /
const behind = /(?: (?:metropolitan|metro|bay))? (?:area|region)$| et (?:sa )?(?:peripherie|environs)$/

/** Returns the name of the city that an area is named after; `undefined` when it is no such area. */
function toCenter(parts: readonly string[]): string | undefined {
  const bare = parts.map((part) => part.replace(before, '').replace(behind, '')).join()
  return bare === parts.join() ? undefined : bare
}
