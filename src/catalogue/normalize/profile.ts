import { networkHosts, networkUrl } from '../../api/values/network-url.js'

/** What a profile url points at: a name in the url (lower case), or an id of the network. */
export interface Profile {
  readonly kind: 'company' | 'person'
  readonly slug?: string
  readonly id?: string
}

/**
 * Reads a profile url of a company or person in any of its spellings: regular or premium, with or without
 * scheme, `www`, country, query and trailing slash. Nothing for any other text.
 */
export function profileOf(url: string, hosts: readonly string[] = networkHosts): Profile | undefined {
  const [room, name, third] = networkUrl(url, hosts)?.path.split('/', 3) ?? []
  switch (room?.toLowerCase()) {
    case 'company':
      return company(name)
    case 'in':
      return person(name)
    case 'sales':
      return premium(name, third)
    default:
      return undefined
  }
}

function premium(room: string | undefined, name: string | undefined): Profile | undefined {
  if (room?.toLowerCase() === 'company') return company(name)
  if (room?.toLowerCase() !== 'lead') return undefined
  const id = decoded(name)?.split(',', 1)[0]
  return id ? { kind: 'person', id } : undefined
}

function company(name: string | undefined): Profile | undefined {
  const text = decoded(name)
  if (!text) return undefined
  return /^\d+$/.test(text) ? { kind: 'company', id: text } : { kind: 'company', slug: text.toLowerCase() }
}

/** User ids keep their case; a vanity name has none. */
function person(name: string | undefined): Profile | undefined {
  const text = decoded(name)
  if (!text) return undefined
  return /^AC[a-z]AA/.test(text) ? { kind: 'person', id: text } : { kind: 'person', slug: text.toLowerCase() }
}

function decoded(name: string | undefined): string | undefined {
  try {
    const text = name === undefined ? undefined : decodeURIComponent(name).normalize('NFC').trim()
    // No database keeps it, and no profile has it.
    return text?.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}
