import type { Meant } from '../../../catalogue/erasure/identifiers.js'
import { UsageError } from '../../context/errors.js'

const address = /^[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@.,;<>]+$/

/** Who is meant by an e-mail address or the url of a profile; only one of the two ways to give them may be used. */
export async function meantBy(person: string | undefined, profileUrl: string | undefined): Promise<Meant> {
  const text = person ?? profileUrl
  if (text === undefined)
    throw new UsageError('Nobody is named.', 'Give an e-mail address or the url of a profile.')
  if (person !== undefined && profileUrl !== undefined)
    throw new UsageError('Two are named.', 'Give an e-mail address or --profile-url, one at a time.')
  const { parseProfile } = await import('../../../catalogue/normalize/profile.js')
  const profile = parseProfile(text)
  if (profile?.kind === 'person') return { profile }
  const email = text.trim().toLowerCase()
  if (person !== undefined && address.test(email)) return { email }
  throw new UsageError(
    person === undefined
      ? `--profile-url: "${text}" is not the url of a person's profile.`
      : `"${text}" is neither an e-mail address nor the url of a person's profile.`,
    'Write it like jane.doe@example.com or https://www.network.example/in/jane-doe.',
  )
}
