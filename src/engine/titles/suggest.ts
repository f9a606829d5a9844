import type { OutputOf } from '../../api/areas/shapes.js'
import vocabulary from './families.json' with { type: 'json' }

type Suggestion = OutputOf<'titles.suggest'>['suggestions'][number]

/** Titles of one role in English and French, most common first, and keywords of titles that sound alike but differ. */
interface TitleFamily {
  readonly titles: readonly string[]
  readonly excluded: readonly string[]
}

/** The curated vocabulary of roles. */
export const titleFamilies: readonly TitleFamily[] = vocabulary.families

/** Keywords to exclude for any role: assistants, trainees and people who have left. */
const usualExclusions: readonly string[] = vocabulary.usualExclusions

/**
 * Returns titles to include and keywords to exclude: English and French titles of the roles asked for, and matching
 * ones of `held`, the titles that people have. Empty when neither adds anything.
 */
export function suggestTitles(asked: readonly string[], held: readonly string[] = []): Suggestion[] {
  const families = [...new Set(asked.map(familyOf).filter((family) => family !== undefined))]
  const known = distinct(families.flatMap(({ titles }) => titles))
  const keywords = distinct([...families.flatMap(({ excluded }) => excluded), ...usualExclusions])
  const wanted = [...asked, ...known]
  // A keyword that is part of a wanted title would exclude the very people to find.
  const excluded = keywords.filter((keyword) => !wanted.some((title) => hasWords(title, keyword)))
  const included = distinct([...known, ...selectOthers(held, asked, excluded)])
  if (included.length === 0) return []
  return [
    ...included.map((jobTitle): Suggestion => ({ jobTitle, selectionType: 'INCLUDED' })),
    ...excluded.map((jobTitle): Suggestion => ({ jobTitle, selectionType: 'EXCLUDED' })),
  ]
}

/** Returns titles that people hold besides the ones asked for, without the excluded ones. */
function selectOthers(
  held: readonly string[],
  asked: readonly string[],
  excluded: readonly string[],
): string[] {
  const said = new Set(asked.map(padWords))
  const unwanted = excluded.map(padWords)
  return held.filter((title) => {
    const words = padWords(title)
    return !said.has(words) && !unwanted.some((keyword) => words.includes(keyword))
  })
}

/** Returns the role with this title, else the one with the longest title inside it: "Senior Data Engineer, EMEA". */
function familyOf(title: string): TitleFamily | undefined {
  const named = titleFamilies.find(({ titles }) =>
    titles.some((known) => foldWords(known) === foldWords(title)),
  )
  if (named || usualExclusions.some((keyword) => hasWords(title, keyword))) return named
  let best: { family: TitleFamily; length: number } | undefined
  for (const family of titleFamilies) {
    if (family.excluded.some((keyword) => hasWords(title, keyword))) continue
    for (const known of family.titles) {
      const { length } = foldWords(known)
      if (length > (best?.length ?? 0) && hasWords(title, known)) best = { family, length }
    }
  }
  return best?.family
}

/** Returns whether a text contains the words of another in sequence; case, accents and punctuation do not matter. */
export const hasWords = (text: string, words: string): boolean => padWords(text).includes(padWords(words))

const padWords = (text: string): string => ` ${foldWords(text)} `

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

function distinct(texts: readonly string[]): string[] {
  const seen = new Map<string, string>()
  for (const text of texts) if (!seen.has(foldWords(text))) seen.set(foldWords(text), text)
  return [...seen.values()]
}
