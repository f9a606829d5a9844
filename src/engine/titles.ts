import type { OutputOf } from '../api/shapes.js'
import { type TitleFamily, titleFamilies, usualExclusions } from './title-families.js'

type Suggestion = OutputOf<'titles.suggest'>['suggestions'][number]

/**
 * Titles to include and keywords to exclude for the roles that some titles name, in English and French; empty when
 * none of them is known.
 */
export function suggestTitles(asked: readonly string[]): Suggestion[] {
  const families = [...new Set(asked.map(familyOf).filter((family) => family !== undefined))]
  const included = distinct(families.flatMap(({ titles }) => titles))
  const keywords = distinct(families.flatMap(({ excluded }) => [...excluded, ...usualExclusions]))
  const wanted = [...asked, ...included]
  // A keyword that is part of a wanted title would exclude the very people who are meant.
  const excluded = keywords.filter((keyword) => !wanted.some((title) => hasWords(title, keyword)))
  return [
    ...included.map((jobTitle): Suggestion => ({ jobTitle, selectionType: 'INCLUDED' })),
    ...excluded.map((jobTitle): Suggestion => ({ jobTitle, selectionType: 'EXCLUDED' })),
  ]
}

/** The family that has the title itself, else the one with the longest title inside it: "Senior Data Engineer, EMEA". */
function familyOf(title: string): TitleFamily | undefined {
  const named = titleFamilies.find(({ titles }) => titles.some((known) => folded(known) === folded(title)))
  if (named || usualExclusions.some((keyword) => hasWords(title, keyword))) return named
  let best: { family: TitleFamily; length: number } | undefined
  for (const family of titleFamilies) {
    if (family.excluded.some((keyword) => hasWords(title, keyword))) continue
    for (const known of family.titles) {
      const { length } = folded(known)
      if (length > (best?.length ?? 0) && hasWords(title, known)) best = { family, length }
    }
  }
  return best?.family
}

/** Whether a text has the words of another, side by side; case, accents and punctuation do not matter. */
export const hasWords = (text: string, words: string): boolean =>
  ` ${folded(text)} `.includes(` ${folded(words)} `)

/** Words without case, accents, punctuation and the "(F/H)" of job advertisements. */
const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/\b(?:h\s*\/\s*f|f\s*\/\s*h|m\s*\/\s*f|f\s*\/\s*m)\b/g, ' ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

function distinct(texts: readonly string[]): string[] {
  const seen = new Map<string, string>()
  for (const text of texts) if (!seen.has(folded(text))) seen.set(folded(text), text)
  return [...seen.values()]
}
