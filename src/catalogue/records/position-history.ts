import { foldName } from '../normalize/name.js'

/** A post somebody held before, as it was given. */
type PastPost = Readonly<Record<string, unknown>>

// Characters for private use are letters to the tokenizer, and nobody writes them.
const barrier = '\u{e000}'
const joint = '\u{e001}'
const byName = '\u{e002}'
const byId = '\u{e003}'

/** The titles of past posts as one text in which no phrase reaches from one title into the next. */
export const pastTitles = (posts: readonly PastPost[]): string =>
  posts.flatMap(({ title }) => wordsOf(title)).join(` ${barrier} `)

/** The companies of past posts as one text with one word for each name and each id of the network. */
export const pastEmployers = (posts: readonly PastPost[]): string =>
  posts
    .flatMap(({ company_name, company_network_id }) => [
      ...wordsOf(company_name).map(nameWord),
      ...wordsOf(company_network_id).map(idWord),
    ])
    .join(' ')

/** The words by which a past company of this name, or of this id, is found in that text. */
export const employerWords = (nameOrId: string): readonly string[] => [nameWord(nameOrId), idWord(nameOrId)]

const nameWord = (name: string): string => byName + oneWord(foldName(name))
const idWord = (id: string): string => byId + oneWord(id)
const oneWord = (words: string): string => words.replace(/[^\p{L}\p{M}\p{N}]/gu, joint)

/** What was given is kept as it came: only text and numbers say something. */
function wordsOf(value: unknown): string[] {
  const words = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
  return words === '' ? [] : [words]
}
