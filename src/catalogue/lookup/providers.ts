import type { Contact, FoundEmail, Provider } from '../../api/ports/ports.js'
import { foldText } from '../../identity/name.js'
import { describePhone } from '../../identity/phone.js'
import { isFreeMailbox } from '../../identity/value-kinds.js'
import { spellUmlauts } from '../../identity/written-name.js'
import type { Connection, Driver } from '../../storage/driver/connection.js'
import { matchCompany } from '../records/match-company.js'
import { type StoredPerson, toPerson } from '../records/person.js'
import { matchPerson } from './lookups.js'

/** Creates the providers of a waterfall over the catalogue in order: known data first, then guesses. */
export const createProviders = (driver: Driver): readonly Provider[] => [
  createCatalogueProvider(driver),
  {
    name: 'pattern',
    isGuess: true,
    email: (contact) => driver.read((connection) => guessEmail(connection, contact)),
  },
]

/** Creates the provider of stored contact data. */
function createCatalogueProvider(driver: Driver): Provider {
  const findPerson = (contact: Contact) => driver.read((connection) => matchPerson(connection, contact))
  const readPerson = async (contact: Contact): Promise<Partial<StoredPerson>> => {
    const person = await findPerson(contact)
    return person ? (JSON.parse(person.record) as StoredPerson) : {}
  }
  return {
    name: 'catalogue',
    person: async (contact) => {
      const person = await findPerson(contact)
      if (!person) return undefined
      const known = toPerson(person)
      return {
        url: known.network_profile_url ?? known.premium_profile_url ?? undefined,
        firstName: known.first_name ?? undefined,
        lastName: known.last_name ?? undefined,
        companyName: known.company_name ?? undefined,
        domain: known.company_domain ?? undefined,
      }
    },
    email: async (contact) => {
      const { email, email_status } = await readPerson(contact)
      return toFoundEmail(email, email_status)
    },
    personalEmail: async (contact) => {
      const { personal_email, personal_email_status } = await readPerson(contact)
      return toFoundEmail(personal_email, personal_email_status)
    },
    phones: async (contact) => (await readPerson(contact)).phones?.map(describePhone) ?? [],
  }
}

/** An address without a status counts as checked. */
const toFoundEmail = (
  email: string | undefined,
  status: FoundEmail['status'] = 'valid',
): FoundEmail | undefined => (email === undefined ? undefined : { email, status })

/** Maximum numbers of addresses used to learn a pattern, and of colleagues read to find them. */
const maxExamples = 50
const maxColleagues = 1_000

const colleagues = `SELECT email, json_extract(record, '$.first_name') AS first, json_extract(record, '$.last_name') AS last
  FROM (SELECT email, record FROM people WHERE company = ? ORDER BY name, key LIMIT ${maxColleagues}) AS colleagues
  WHERE email IS NOT NULL AND coalesce(json_extract(record, '$.email_status'), 'valid') = 'valid' LIMIT ${maxExamples}`
const owner = 'SELECT key FROM people WHERE email = ? OR personal_email = ? LIMIT 1'

interface Colleague {
  readonly email: string
  readonly first: string | null
  readonly last: string | null
}

/** Guesses an address from the pattern of the colleagues' addresses; its status is always `risky`. */
async function guessEmail(connection: Connection, contact: Contact): Promise<FoundEmail | undefined> {
  const { firstName: first, lastName: last } = contact
  if (!first || !last) return undefined
  const company = await matchCompany(connection, { domain: contact.domain, name: contact.companyName })
  if (!company) return undefined
  const habit = learnHabit(await connection.all<Colleague>(colleagues, company.key), company.domain)
  const local = habit?.pattern.localPart({ first, last })
  if (habit === undefined || local === undefined) return undefined
  const email = `${local}@${habit.domain}`
  // A known address belongs to another person, or is known to be wrong.
  return (await connection.get(owner, email, email)) ? undefined : { email, status: 'risky' }
}

/** Learns the pattern of the domain that most colleagues write from; of several, that of the company's website. */
function learnHabit(people: readonly Colleague[], own: string | null) {
  const all = people.flatMap(({ email, first, last }) => {
    const [local = '', domain = ''] = email.split('@')
    return !first || !last || isFreeMailbox(domain) ? [] : [{ first, last, local, domain }]
  })
  const examples = Map.groupBy(all, ({ domain }) => domain)
  const most = Math.max(0, ...[...examples.values()].map(({ length }) => length))
  const domains = [...examples.keys()].filter((domain) => examples.get(domain)?.length === most)
  const domain = domains.length === 1 ? domains[0] : domains.find((one) => one === own)
  const pattern = domain === undefined ? undefined : learnPattern(examples.get(domain) ?? [])
  return domain !== undefined && pattern ? { domain, pattern } : undefined
}

/** A person's name and the part of their address before the `@`. */
export interface EmailExample extends PersonName {
  readonly local: string
}

interface AddressShape {
  readonly parts: readonly (keyof NameForms)[]
  readonly separator: string
}

const twoParts: readonly AddressShape['parts'][] = [
  ['first', 'last'],
  ['f', 'last'],
  ['first', 'l'],
  ['last', 'first'],
  ['last', 'f'],
  ['l', 'first'],
]
const oneForm: readonly AddressShape['parts'][] = [['first'], ['last'], ['f', 'l']]

const shapes: readonly AddressShape[] = [
  ...twoParts.flatMap((parts) => ['.', '', '_', '-'].map((separator) => ({ parts, separator }))),
  ...oneForm.map((parts) => ({ parts, separator: '' })),
]

interface ReadExample {
  readonly local: string
  readonly forms: readonly NameForms[]
}

/**
 * Returns the pattern that most examples follow: at least two different ones, more than half of all, and more than
 * any other pattern. Names of several words are spelt as in most examples that have one.
 */
export function learnPattern(examples: readonly EmailExample[]) {
  const locals = new Map(examples.map((example) => [example.local, example]))
  const all = [...locals.values()].map((example) => ({ local: example.local, forms: listNameForms(example) }))
  const ballots = new Map(shapes.map((shape): [AddressShape, ReadExample[]] => [shape, []]))
  for (const read of all) for (const shape of findShapes(read)) ballots.get(shape)?.push(read)
  const [winner, second] = [...ballots].sort(([, a], [, b]) => b.length - a.length)
  if (!winner) return undefined
  const [shape, { length: votes }] = winner
  if (votes < 2 || votes * 2 <= all.length || votes === second?.[1].length) return undefined
  return createPattern(shape, findSpelling(...winner))
}

function findShapes({ local, forms }: ReadExample): readonly AddressShape[] {
  const different =
    forms.length === 1 ? forms : new Map(forms.map((one) => [Object.values(one).join(' '), one])).values()
  const spelt = [...different]
  return shapes.filter((shape) => spelt.some((form) => isWrittenAs(local, shape, form)))
}

/** Returns the index of the form that explains most of the addresses; of several, the most common one. */
function findSpelling(shape: AddressShape, agreeing: readonly ReadExample[]): number {
  const explained: number[] = []
  for (const { local, forms } of agreeing)
    if (forms.length > 1)
      for (const [at, form] of forms.entries())
        explained[at] = (explained[at] ?? 0) + (isWrittenAs(local, shape, form) ? 1 : 0)
  return explained.length === 0 ? 0 : explained.indexOf(Math.max(...explained))
}

/** Returns how an organisation forms addresses from names. */
const createPattern = (shape: AddressShape, spelling: number) => ({
  /** Such as `{first}.{last}` or `{f}{last}`. */
  template: shape.parts.map((part) => `{${part}}`).join(shape.separator),
  /** Returns the address of a name before the `@`; `undefined` when the name lacks a part. */
  localPart: (name: PersonName) => {
    const forms = listNameForms(name)
    const form = forms[forms.length === 1 ? 0 : spelling]
    const local = form && formatLocal(shape, form)
    return local !== undefined && isWritable(local) ? local : undefined
  },
})

/** Returns whether the address is valid; names in other scripts are not transcribed. */
const isWritable = (local: string): boolean => /^(?=.{1,64}$)[a-z0-9]+(?:[._-][a-z0-9]+)*$/.test(local)

/** Returns whether a name in a shape is this text. Comparing lengths first rejects most shapes quickly. */
function isWrittenAs(local: string, shape: AddressShape, forms: NameForms): boolean {
  let length = shape.separator.length * (shape.parts.length - 1)
  for (const part of shape.parts) length += forms[part].length
  return length === local.length && formatLocal(shape, forms) === local
}

/** Returns a name in a shape; `undefined` for a name of one letter, which is only an initial. */
function formatLocal({ parts, separator }: AddressShape, forms: NameForms): string | undefined {
  const isShort = (part: keyof NameForms) => forms[part].length < (part === 'f' || part === 'l' ? 1 : 2)
  return parts.some(isShort) ? undefined : parts.map((part) => forms[part]).join(separator)
}

/** A person's name in two parts. */
type PersonName = Readonly<Record<'first' | 'last', string>>

/** The parts of a name as they occur in addresses, whole and as initials; blank when a part is unknown. */
type NameForms = Readonly<Record<'first' | 'f' | 'last' | 'l', string>>

/** One part of a name, in lower case and without accents. */
interface NamePart {
  readonly words: readonly string[]
  /** As written: with hyphens, without spaces. */
  readonly written: string
}

// biome-ignore format: words
const particles = new Set(['af', 'al', 'av', 'bin', 'da', 'das', 'de', 'del', 'della', 'den', 'der', 'des', 'di', 'do', 'dos', 'du', 'e', 'el', 'het', 'la', 'las', 'le', 'les', 'los', 'op', 't', 'te', 'ten', 'ter', 'van', 'vom', 'von', 'y', 'zu', 'zum', 'zur'])

/** Titles around a name. */
const titles = new Set(['dr', 'ing', 'jr', 'md', 'mba', 'mme', 'mr', 'mrs', 'ms', 'phd', 'prof', 'sir', 'sr'])

const isParticle = (word: string): boolean => particles.has(word)
const initialsOf = (words: readonly string[]): string => words.map((word) => word.slice(0, 1)).join('')

function withoutParticles(words: readonly string[]): readonly string[] {
  const core = words.filter((word) => !isParticle(word))
  return core.length > 0 ? core : words
}

type Style = (part: NamePart) => string
const asWritten: Style = ({ written }) => written
const joined: Style = ({ words }) => words.join('')
const hyphenated: Style = ({ words }) => words.join('-')
const dotted: Style = ({ words }) => words.join('.')
const leading: Style = ({ words }) => withoutParticles(words)[0] ?? ''
const trailing: Style = ({ words }) => words.at(-1) ?? ''
const core: Style = ({ words }) => withoutParticles(words).join('')
const abbreviated: Style = (part) => initialsOf(part.words.filter(isParticle)) + core(part)

// The most common style comes first.
const firstStyles = [asWritten, joined, hyphenated, dotted, leading]
const lastStyles = [asWritten, joined, hyphenated, dotted, core, leading, trailing, abbreviated]

/** Returns the forms in which addresses spell a name, the most common first, in the same order for all names. */
function listNameForms({ first, last }: PersonName): readonly NameForms[] {
  if (/^[a-z]{2,} [a-z]{2,}$/i.test(`${first} ${last}`)) {
    const [given, family] = [first.toLowerCase(), last.toLowerCase()]
    return [{ first: given, f: given.slice(0, 1), last: family, l: family.slice(0, 1) }]
  }
  const plain = spellName({ first, last })
  const paired = { first: spellUmlauts(first), last: spellUmlauts(last) }
  const isPlain = paired.first === first && paired.last === last
  return [...plain, ...(isPlain ? plain : spellName(paired))]
}

function spellName({ first, last }: PersonName): readonly NameForms[] {
  const [names, name] = [toPart(dropUnusedInitials(first)), toPart(last)]
  const spell = (part: NamePart, styles: readonly Style[]) =>
    styles.map((style) => style(part)).map((whole) => ({ whole, initials: whole.slice(0, 1) }))
  const given = [...spell(names, firstStyles), { whole: names.written, initials: initialsOf(names.words) }]
  const families = spell(name, lastStyles)
  return given.flatMap(({ whole, initials }) =>
    families.map((family) => ({ first: whole, f: initials, last: family.whole, l: family.initials })),
  )
}

/** Removes the initials of further first names. */
const dropUnusedInitials = (names: string): string =>
  names.replace(/(?<=[^\s.][^\s.])(?:\s+\p{L}\.?)+\s*$/u, '')

function toPart(name: string): NamePart {
  const chunks = name
    .replace(/\([^)]*\)?|,.*$/gs, ' ')
    .split(/\s+/)
    .map((chunk) =>
      chunk
        .split(/[-‐‑–]/)
        .map(foldWord)
        .filter(Boolean),
    )
    .filter((words) => words.length > 0)
  const core = chunks.filter(([word = '', ...more]) => more.length > 0 || !titles.has(word))
  const kept = core.length > 0 ? core : chunks
  return { words: kept.flat(), written: kept.map((words) => words.join('-')).join('') }
}

const foldWord = (word: string): string => foldText(word).replaceAll(' ', '')
