import { createPersonMatcher, type PersonMatcher } from '../../identity/person-matcher.js'
import { parseProfile } from '../../identity/profile.js'
import { toEmail } from '../../identity/value-kinds.js'
import type { Driver } from '../../storage/driver/connection.js'
import type { DryRun } from '../../storage/erasure/traversal.js'
import {
  eraseFromCatalogue,
  findIdentifiers,
  noneErased,
  type Subject,
  searchWords,
  toIdentifiers,
} from './tables.js'

/** Returns the person with an email address or the URL of a profile; `undefined` when the text is neither. */
export function parseSubject(text: string): Subject | undefined {
  const profile = parseProfile(text)
  if (profile?.kind === 'person') return { profile }
  const email = toEmail(text)
  return email === undefined ? undefined : { email }
}

/** Finds a person in the catalogue. Where there is none, they are recognised by what was given only. */
export async function findSubject(catalogue: Driver | undefined, subject: Subject) {
  const identifiers = catalogue
    ? await catalogue.read((connection) => findIdentifiers(connection, subject))
    : toIdentifiers(subject)
  const matcher: PersonMatcher = createPersonMatcher(identifiers)
  return {
    matcher,
    identifiers,
    /** Words in lower case. Every file that holds an identifier of the person contains one. */
    words: searchWords(identifiers),
    /** Notes whom an erasure is about, for whoever goes on where it was killed. Returns what forgets that again. */
    begin: async (): Promise<() => Promise<void>> => {
      const note = 'INSERT INTO erasures (person) VALUES (?)'
      // The key of a row that is gone may become somebody else's.
      const person = JSON.stringify({ ...identifiers, rows: [] })
      await catalogue?.transaction((connection) => connection.run(note, person))
      return async () => {
        await catalogue?.transaction(async (connection) => {
          const noted = await connection.all<{ key: number; person: string }>(
            'SELECT key, person FROM erasures',
          )
          for (const { key, person } of noted)
            if (matcher.mentions(JSON.parse(person)))
              await connection.run('DELETE FROM erasures WHERE key = ?', key)
        })
      }
    },
    /** Erases the person from the catalogue; with `dryRun` it only counts. */
    eraseCatalogue: async (dryRun: DryRun) =>
      catalogue ? eraseFromCatalogue(catalogue, identifiers, matcher, dryRun) : noneErased,
  }
}
