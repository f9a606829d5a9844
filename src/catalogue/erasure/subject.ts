import type { Driver } from '../../storage/driver/connection.js'
import type { SubjectMatcher } from '../../storage/erasure/traversal.js'
import { parseProfile } from '../normalize/profile.js'
import { findIdentifiers, type Subject, searchWords, toIdentifiers } from './identifiers.js'
import { createMatcher } from './matcher.js'
import { type ErasedRecords, eraseFromCatalogue, noneErased } from './tables.js'

const address = /^[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@.,;<>]+$/

/** Returns the person with an email address or the URL of a profile; `undefined` when the text is neither. */
export function parseSubject(text: string): Subject | undefined {
  const profile = parseProfile(text)
  if (profile?.kind === 'person') return { profile }
  const email = text.trim().toLowerCase()
  return address.test(email) ? { email } : undefined
}

/** A person as the catalogue knows them. */
export interface FoundSubject {
  readonly matcher: SubjectMatcher
  /** Words in lower case. Every file that holds an identifier of the person contains one. */
  readonly words: readonly string[]
  /** Erases the person from the catalogue; with `dryRun` it only counts. */
  eraseCatalogue(dryRun: boolean): Promise<ErasedRecords>
}

/** Finds a person in the catalogue. Where there is none, they are recognised by what was given only. */
export async function findSubject(catalogue: Driver | undefined, subject: Subject): Promise<FoundSubject> {
  const identifiers = catalogue
    ? await catalogue.read((connection) => findIdentifiers(connection, subject))
    : toIdentifiers(subject)
  const matcher = createMatcher(identifiers)
  return {
    matcher,
    words: searchWords(identifiers),
    eraseCatalogue: async (dryRun) =>
      catalogue ? eraseFromCatalogue(catalogue, identifiers, matcher, dryRun) : noneErased,
  }
}
