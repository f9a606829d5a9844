import type { Fields } from '../../api/values/objects.js'
import { createPersonMatcher, identifiersIn, type PersonMatcher } from '../../identity/person-matcher.js'
import { parseProfile } from '../../identity/profile.js'
import { toEmail } from '../../identity/value-kinds.js'
import type { Driver } from '../../storage/driver/connection.js'
import type { DryRun } from '../../storage/erasure/traversal.js'
import {
  eraseFromCatalogue,
  findIdentifiers,
  joinIdentifiers,
  noneErased,
  type Subject,
  type SubjectIdentifiers,
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
  return personOver(catalogue, identifiers)
}

/** A person with what is known of them, and what the catalogue does about it. */
export type PersonToErase = ReturnType<typeof personOver>

function personOver(catalogue: Driver | undefined, identifiers: SubjectIdentifiers) {
  const matcher: PersonMatcher = createPersonMatcher(identifiers)
  return {
    /** Returns the same person with what records that are stored elsewhere say of them. */
    knownBy: (records: readonly Fields[]) =>
      personOver(
        catalogue,
        joinIdentifiers(identifiers, { rows: [], ...identifiersIn(records, identifiers) }),
      ),
    matcher,
    identifiers,
    /** Words in lower case. Every file that holds an identifier of the person contains one. */
    words: searchWords(identifiers),
    /** Stores the identifiers until the erasure is done, so that a killed one can resume. Returns what deletes them. */
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
