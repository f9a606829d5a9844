import type { OutputOf } from '../../api/areas/shapes.js'
import { once } from '../../api/values/objects.js'
import vocabulary from './families.json' with { type: 'json' }

type Suggestion = OutputOf<'titles.suggest'>['suggestions'][number]

/** The curated roles: titles in English and French, most common first, and keywords of titles that only sound alike. */
const titleFamilies = vocabulary.families

/** Keywords to exclude for any role: assistants, trainees and people who have left. */
const usualExclusions: readonly string[] = vocabulary.usualExclusions

/**
 * Returns titles to include and keywords to exclude: English and French titles of the roles asked for, and matching
 * ones of `held`, the titles that people have. Empty when neither adds anything.
 */
export function suggestTitles(asked: readonly string[], held: readonly string[] = []): Suggestion[] {
  const { usual, families } = foldVocabulary()
  const said = asked.map(foldTitle)
  const roles = [...new Set(said.map(familyOf).filter((role) => role !== undefined))]
  const known = distinct(roles.flatMap(({ titles }) => titles))
  const keywords = distinct([...roles.flatMap(({ excluded }) => excluded), ...usual])
  // A keyword that is part of a wanted title would exclude the very people to find.
  const wanted = [...said, ...known]
  const excluded = keywords.filter((keyword) => !wanted.some((title) => contains(title, keyword)))
  // Titles that people hold besides the ones asked for.
  const others = held
    .map(foldTitle)
    .filter(({ words }) => !said.some((one) => one.words === words))
    .filter((title) => !excluded.some((keyword) => contains(title, keyword)))
  const included = distinct([...known, ...others])
  if (included.length === 0) return []
  return [
    ...included.map(({ text }): Suggestion => ({ jobTitle: text, selectionType: 'INCLUDED' })),
    ...excluded.map(({ text }): Suggestion => ({ jobTitle: text, selectionType: 'EXCLUDED' })),
  ]

  /** Returns the role with this title, else the one with the longest title inside it: "Senior Data Engineer, EMEA". */
  function familyOf(title: Folded): FoldedFamily | undefined {
    const named = families.find(({ titles }) => titles.some(({ words }) => words === title.words))
    if (named || usual.some((keyword) => contains(title, keyword))) return named
    let best: { family: FoldedFamily; length: number } | undefined
    for (const family of families) {
      if (family.excluded.some((keyword) => contains(title, keyword))) continue
      for (const known of family.titles)
        if (known.words.length > (best?.length ?? 0) && contains(title, known))
          best = { family, length: known.words.length }
    }
    return best?.family
  }
}

/** A text with its words folded once: comparing hundreds of long titles would otherwise take a second. */
interface Folded {
  readonly text: string
  /** The words without case, accents, punctuation and gender marks, with a space before, between and after them. */
  readonly words: string
}

interface FoldedFamily {
  readonly titles: readonly Folded[]
  readonly excluded: readonly Folded[]
}

const foldVocabulary = once(() => ({
  usual: usualExclusions.map(foldTitle),
  families: titleFamilies.map(
    ({ titles, excluded }): FoldedFamily => ({
      titles: titles.map(foldTitle),
      excluded: excluded.map(foldTitle),
    }),
  ),
}))

const foldTitle = (text: string): Folded => ({ text, words: ` ${foldWords(text)} ` })

const contains = (text: Folded, words: Folded): boolean => text.words.includes(words.words)

/** Returns whether a text contains the words of another in sequence; case, accents and punctuation do not matter. */
export const hasWords = (text: string, words: string): boolean => contains(foldTitle(text), foldTitle(words))

/** Returns a title without the "(F/H)" of job advertisements. */
export const cleanTitle = (text: string): string =>
  text.replace(/\(?\b(?:h\s*\/\s*f|f\s*\/\s*h|m\s*\/\s*f|f\s*\/\s*m)\b\)?/gi, ' ').trim()

/** Returns words without case, accents, punctuation and gender marks. */
const foldWords = (text: string): string =>
  cleanTitle(text)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

function distinct(texts: readonly Folded[]): Folded[] {
  const seen = new Map<string, Folded>()
  for (const text of texts) if (!seen.has(text.words)) seen.set(text.words, text)
  return [...seen.values()]
}
