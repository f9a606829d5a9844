import { once, withoutUndefined } from '../api/values/objects.js'
import words from './title-words.json' with { type: 'json' }

/** What the title of a person says of their position, in the words of the filters; absent where it says nothing. */
export interface TitleFacts {
  readonly seniority?: string
  readonly function?: string
}

/** Enough for the titles of a large import, which are few and repeat. */
const remembered = 10_000
const known = new Map<string, TitleFacts>()

/** Reads titles in English, German, French, Spanish, Italian and Dutch. What somebody was says nothing of what they are. */
export function readTitle(title: string | undefined): TitleFacts {
  if (title === undefined) return {}
  const found = known.get(title)
  if (found) return found
  const facts = factsOf(fold(title))
  if (known.size >= remembered) known.clear()
  known.set(title, facts)
  return facts
}

function factsOf(text: string): TitleFacts {
  const { past, seniority, functions } = rules()
  if (past(text)) return {}
  const area = functions.find(({ any }) => any(text))?.is
  const rank = seniority.find(({ any, unless }) => any(text) && !unless?.(text))?.is
  // Who does the work of an area and has no sign of rank is what most people there are.
  return withoutUndefined({ seniority: rank ?? (area && 'Senior'), function: area })
}

const rules = once(() => ({
  past: matcherOf(words.past),
  seniority: words.seniority.map(({ is, any, unless }) => ({
    is,
    any: matcherOf(any),
    unless: unless && matcherOf(unless),
  })),
  functions: words.functions.map(({ is, any }) => ({ is, any: matcherOf(any) })),
}))

/** Returns whether a folded text has a phrase of some lines; `*` stands for letters of a word, and alone for a word. */
function matcherOf(lines: readonly string[]): (text: string) => boolean {
  const phrases = lines.flatMap((line) => line.split(', '))
  const parts = phrases.map((phrase) =>
    phrase
      .split(' ')
      .map((word) => (word === '*' ? '[^ ]+' : fold(word, '*').trim().replaceAll('*', '[^ ]*')))
      .join(' '),
  )
  const pattern = new RegExp(` (?:${parts.join('|')})(?= )`)
  return (text) => pattern.test(text)
}

/**
 * Returns the words of a text with a space around each: in lower case, without marks, and with one spelling of umlauts, which
 * many programs write as ae, oe and ue. `keeps` is a sign that stays.
 */
const fold = (text: string, keeps = ''): string =>
  ` ${text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replace(/([aou])e/g, '$1')
    .replace(keeps === '' ? /[^\p{L}\p{N}]+/gu : /[^\p{L}\p{N}*]+/gu, ' ')
    .trim()} `
