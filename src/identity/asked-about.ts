import type { Clock } from '../api/ports/ports.js'
import { type Fields, isObject } from '../api/values/objects.js'
import type { Sort } from './keys.js'
import { keysOfMentions, type Mentions, mentionsIn, profileKey } from './mentions.js'
import { foldName, foldPersonName, foldText } from './name.js'
import { toE164 } from './phone.js'
import { parseProfile } from './profile.js'
import { firstText, toCompanyDomain, toDomain, toEmail } from './value-kinds.js'
import { spelledOut } from './written-name.js'

/** Whom a request is about: of several rows, all of them. */
export interface Question {
  /** Keys of people, also those of mailboxes that are usual for their names. */
  readonly person: ReadonlySet<string>
  readonly company: ReadonlySet<string>
  readonly firstNames: ReadonlySet<string>
  readonly lastNames: ReadonlySet<string>
  /** Names of companies, and those in their domains. */
  readonly companyNames: ReadonlySet<string>
  /** Keys of the domains of companies, without those of email addresses. */
  readonly sites: ReadonlySet<string>
  /** Companies, as they stand in keys of names. */
  readonly places: ReadonlySet<string>
  /** What it sends that an answer may repeat: by the name of the field, its values. Empty where answers repeat nothing. */
  readonly sent: ReadonlyMap<string, ReadonlySet<string>>
  /** All its keys, as one text. */
  readonly allKeys: string
}

interface RecentQuestion extends Question {
  endedAt: number | undefined
}

/** How long after its answer a request is compared with the answers of others. */
const recentMs = 10_000

/** Requests that are remembered at most. */
const maxAsked = 16_384

/** Items of a list in an answer that are read at most. */
const maxItems = 1_000

/**
 * Whom a server was asked about in the last 10 s, or will be. An answer that is about one of them, and says nothing of whom its
 * own request is about, is that to another question (decision 16).
 */
export class AskedAbout {
  readonly #byKey = new Map<string, Set<RecentQuestion>>()
  readonly #all = new Set<RecentQuestion>()
  #strayAt: number | undefined

  constructor(private readonly clock: Clock) {}

  /** Remembers a request that is about to be sent. */
  begin(question: Question): RecentQuestion {
    const asked: RecentQuestion = { ...question, endedAt: undefined }
    this.#forget()
    this.#all.add(asked)
    for (const key of keysOf(asked)) {
      const same = this.#byKey.get(key)
      if (same) same.add(asked)
      else this.#byKey.set(key, new Set([asked]))
    }
    return asked
  }

  /** Notes that a request was answered, or given up. */
  end(asked: RecentQuestion): void {
    asked.endedAt = this.clock.now()
  }

  /**
   * Whether an answer is about another one of them. What fits its own request as well is its own. Of a server that has just
   * answered so, an answer that repeats something else than it was sent is another's, too.
   */
  isOfAnother(asked: Question, answer: unknown): boolean {
    const repeated = this.#repeatedOf(asked, answer)
    const isStray = this.#isAboutOther(asked, answer, repeated) || (this.#hasStrayed && repeated === 'others')
    if (isStray) this.#strayAt = this.clock.now()
    return isStray
  }

  #isAboutOther(asked: Question, answer: unknown, repeated: Repeated): boolean {
    if (repeated === 'own id') return false
    const about = withoutRelations(answer, asked.sent)
    const records = recordsIn(about)
    const said = records.map((record) => readMentions(mentionsIn(record), asked.places))
    const all = (name: keyof (typeof said)[number]) => said.flatMap((one) => one[name])
    const [person, company, words] = [all('person'), all('company'), all('words')]
    const fit = fitOf(words, asked)
    const isOfOther = (key: string) =>
      isSureKey.test(key) && !asked.person.has(key) && !asked.company.has(key) && this.#hasOther(key, asked)
    const isUnsure = [...person, ...company].some(isOfOther)
    if (isUnsure && this.#isSurelyAboutOther(asked, about, fit > 0)) return true
    const own = person.filter((key) => asked.person.has(key))
    if (repeated === 'own' || own.some((key) => !isNameKey(key))) return false
    const people = person.flatMap((key) => this.#othersWith(key, asked))
    const isElsewhere = (other: Question) =>
      company.some((key) => other.sites.has(key)) && asked.sites.size > 0 && !isAmong(company, asked.sites)
    const fitsBetter = (other: Question) => {
      const theirs = fitOf(words, other)
      return (
        theirs > fit || (theirs === fit && fit > 0 && (isElsewhere(other) || isNamesake(words, asked, other)))
      )
    }
    const isBetterFit = people.some(fitsBetter)
    if (own.length > 0 || isBetterFit) return isBetterFit
    if (isNamed(words, asked.lastNames)) return false
    if (people.length > 0) return true
    if (company.some((key) => asked.company.has(key)) || isNamed(words, asked.firstNames)) return false
    if (repeated === 'others' && this.#isSentByOther(asked, answer)) return true
    const names = all('companyNames')
    if (names.some((name) => asked.companyNames.has(name))) return false
    // A name may be a part of that of another company.
    if (asked.company.size === 0 && isNamed(names, asked.companyNames)) return false
    return company.some((key) => this.#othersWith(key, asked).length > 0)
  }

  /**
   * Whether the surest of what an answer and a question both say is another question's: names count only where nothing
   * surer differs. People change companies: whose answer has the name of a person is not told by the company.
   */
  #isSurelyAboutOther(asked: Question, about: unknown, isPersonNamed: boolean): boolean {
    const records = apartIn(about).map((record) => {
      const { companyNames, words, sites, company } = readMentions(mentionsIn(record), asked.places)
      const isNamed =
        fitOf(words, asked) > 0 || companyNames.some((name) => name !== '' && asked.companyNames.has(name))
      const { person } = readMentions(mentionsIn(withoutEmployer(record)), asked.places)
      return { isNamed, person, company, sites }
    })
    const differs = (
      own: Iterable<string>,
      keysOf: (record: (typeof records)[number]) => readonly string[],
      isOf: (other: Question, key: string) => boolean,
    ): boolean | undefined => {
      const ours = new Set(own)
      const theirs = records.map((record) => ({ ...record, keys: keysOf(record) }))
      if (ours.size === 0 || theirs.every(({ keys }) => keys.length === 0)) return undefined
      if (theirs.some(({ keys }) => isAmong(keys, ours))) return false
      // An answer may have others in its lists, beside whom it is about.
      const isOwnList = theirs.some(({ keys, isNamed }) => isNamed && keys.length === 0)
      const isOther = theirs.some(
        ({ keys, isNamed }) =>
          (isNamed || !isOwnList) &&
          keys.some((key) => this.#othersWith(key, asked).some((other) => isOf(other, key))),
      )
      return isOther ? true : undefined
    }
    const bySort = (kind: 'person' | 'company', sort: Sort) => {
      const isOfSort = (key: string) => key.startsWith(`${kind}:${sort}:`)
      const own = [...asked[kind]].filter(isOfSort)
      return differs(
        own,
        (record) => record[kind].filter(isOfSort),
        () => true,
      )
    }
    const ofPerson = bySort('person', 'slug') ?? bySort('person', 'email')
    if (ofPerson !== undefined || isPersonNamed) return ofPerson ?? false
    const isOfSameName = (other: Question) => isAmong(other.companyNames, asked.companyNames)
    const isDomain = (key: string) => key.startsWith('company:domain:')
    return (
      bySort('company', 'slug') ??
      differs(
        asked.sites,
        (record) => record.company.filter((key) => record.sites.includes(key) || asked.sites.has(key)),
        (other, key) => other.sites.has(key),
      ) ??
      // The domain of an address says less.
      differs(
        asked.sites,
        (record) => record.company.filter(isDomain),
        (other, key) => other.sites.has(key) && isOfSameName(other),
      ) ??
      false
    )
  }

  /** Whether an answer repeats what another request has sent in the same field. */
  #isSentByOther(asked: Question, answer: unknown): boolean {
    return [...sentIn(answer, (field) => !asked.sent.has(field))].some(([field, values]) =>
      [...values].some((value) => this.#othersWith(sentKey(field, value), asked).length > 0),
    )
  }

  #othersWith(key: string, asked: Question): readonly Question[] {
    return [...(this.#byKey.get(key) ?? [])].filter((other) => this.#isOther(other, asked))
  }

  #hasOther(key: string, asked: Question): boolean {
    for (const other of this.#byKey.get(key) ?? []) if (this.#isOther(other, asked)) return true
    return false
  }

  /** Whether a question is a recent one about somebody else: a row may be asked about twice. */
  #isOther(other: RecentQuestion, asked: Question): boolean {
    return other.allKeys !== asked.allKeys && this.#isRecent(other)
  }

  /** What an answer repeats of what its request has sent. What others have sent as well says nothing of whose it is. */
  #repeatedOf(asked: Question, answer: unknown): Repeated {
    if (asked.sent.size === 0) return 'nothing'
    const said = [...sentIn(answer, (field) => !asked.sent.has(field))].flatMap(([field, values]) =>
      [...values].map((value) => {
        const isOwn = asked.sent.get(field)?.has(value) ?? false
        const isShared = isOwn && this.#hasOther(sentKey(field, value), asked)
        return { isOwn, isShared, isId: sentFields.id.test(field) }
      }),
    )
    if (said.length === 0) return 'nothing'
    const own = said.filter(({ isOwn }) => isOwn)
    const surely = own.filter(({ isShared }) => !isShared)
    if (surely.some(({ isId }) => isId)) return 'own id'
    if (surely.length > 0) return 'own'
    if (own.some(({ isId }) => !isId) || own.length === said.length) return 'shared'
    return 'others'
  }

  get #hasStrayed(): boolean {
    return this.#strayAt !== undefined && Math.abs(this.clock.now() - this.#strayAt) <= recentMs
  }

  #isRecent({ endedAt }: RecentQuestion): boolean {
    return endedAt === undefined || Math.abs(this.clock.now() - endedAt) <= recentMs
  }

  /** Forgets what ended earlier, the oldest first. */
  #forget(): void {
    for (const asked of this.#all) {
      if (this.#all.size <= maxAsked && this.#isRecent(asked)) return
      this.#all.delete(asked)
      for (const key of keysOf(asked)) {
        const same = this.#byKey.get(key)
        same?.delete(asked)
        if (same?.size === 0) this.#byKey.delete(key)
      }
    }
  }
}

/** Returns whom a request is about, by what its rows say of people and companies, and by what it sends that may be repeated. */
export function questionOf(rows: readonly Fields[], sent: unknown = {}): Question {
  const found = rows.map(readSubject)
  const all = (name: Exclude<keyof (typeof found)[number], 'isOfPerson'>) =>
    new Set(found.flatMap((one) => [...one[name]]))
  const keyed = {
    person: all('person'),
    company: all('company'),
    sent: sentIn(sent, found.some(({ isOfPerson }) => isOfPerson) ? isOfCompany : undefined),
  }
  return {
    ...keyed,
    allKeys: [...keysOf(keyed)].join('\n'),
    firstNames: all('firstNames'),
    lastNames: all('lastNames'),
    companyNames: all('companyNames'),
    sites: all('sites'),
    places: all('places'),
  }
}

/** Fields that colleagues share. */
const isOfCompany = (field: string): boolean =>
  ofEmployer.test(field) || sentFields.domain.test(field) || field === 'organization_name'

const sentKey = (field: string, value: string): string => `sent ${field} ${value}`

const keysOf = ({
  person,
  company,
  sent,
}: Pick<Question, 'person' | 'company' | 'sent'>): Iterable<string> => [
  ...person,
  ...company,
  ...[...sent].flatMap(([field, values]) => [...values].map((value) => sentKey(field, value))),
]

/** Whether one of the words has a name in it, as the mailbox `aking` has one. */
const isNamed = (words: readonly string[], names: ReadonlySet<string>): boolean =>
  words.some((word) => names.has(word) || [...names].some((name) => name.length > 2 && hasPart(word, name)))

/** Whether a word has a part that does not cut a number in two: `company 1` is none of `company 17`. */
function hasPart(word: string, part: string): boolean {
  const at = word.indexOf(part)
  if (at < 0) return false
  const end = at + part.length
  const cuts = (before: string, after: string) => /\d/.test(before) && /\d/.test(after)
  return !cuts(word.charAt(at - 1), part.charAt(0)) && !cuts(part.slice(-1), word.charAt(end))
}

/** How many of the names of a person are among words. */
const fitOf = (words: readonly string[], { firstNames, lastNames }: Question): number =>
  [firstNames, lastNames].filter((names) => isNamed(words, names)).length

/**
 * Whether words have all family names of another one, and not all of the one who was asked about: an answer about Ana García
 * Ruiz is none about Ana García López. A shorter spelling of the same name is nobody else.
 */
function isNamesake(words: readonly string[], asked: Question, other: Question): boolean {
  const said = new Set(words)
  const isWhole = ({ lastNames }: Question) => [...lastNames].every((name) => said.has(name))
  return !isWhole(asked) && isWhole(other) && [...other.lastNames].some((name) => !asked.lastNames.has(name))
}

function readSubject(subject: Fields) {
  const text = (...fields: readonly string[]) => firstText(...fields.map((field) => subject[field])) ?? ''
  const employer = isObject(subject.company) ? subject.company : {}
  const first_name = text('first_name', 'firstname', 'firstName')
  const last_name = text('last_name', 'lastname', 'lastName')
  const full_name = text('full_name', 'fullName')
  const isOfPerson = `${first_name}${last_name}${full_name}` !== ''
  const company_name =
    text('company_name', 'company') || (firstText(employer.name) ?? (isOfPerson ? '' : text('name')))
  const site = text('domain', 'company_domain', 'website') || (firstText(employer.domain) ?? '')
  const domain = site === '' ? undefined : (toDomain(site) ?? site)
  const mentions = mentionsIn(subject)
  const { person, company } = keysIn(mentions)
  const boxes = mailboxesOf(first_name, last_name).flatMap((box) => (domain ? [`box ${box}@${domain}`] : []))
  const names = full_name.trim().split(/\s+/)
  return {
    isOfPerson,
    person: [...person, ...boxes],
    company,
    firstNames: wordsOf(`${first_name} ${names[0]}`),
    lastNames: wordsOf(`${last_name} ${names.at(-1)}`),
    companyNames: [foldName(foldPersonName(company_name)), labelOf(domain)].filter((name) => name !== ''),
    sites: sitesOf(mentions),
    places: [...mentions.places, ...mentions.mailPlaces],
  }
}

/** What an answer says about people and companies; a name stands at the companies of the request, too. */
function readMentions(mentions: Mentions, around: ReadonlySet<string>) {
  const { person, company } = keysIn(mentions, around)
  const emails = person.flatMap((key) => /^person:email:(.*)$/.exec(key)?.[1] ?? [])
  const boxes = emails.map((email) => {
    const at = email.lastIndexOf('@')
    return { box: letters(email.slice(0, at)), domain: email.slice(at + 1) }
  })
  return {
    person: [...person, ...boxes.map(({ box, domain }) => `box ${box}@${domain}`)],
    company,
    sites: sitesOf(mentions),
    words: [...wordsOf([...mentions.names].join(' ')), ...boxes.map(({ box }) => box)],
    companyNames: [
      ...[...mentions.names].map(foldName),
      ...company.flatMap((key) => labelOf(/^company:domain:(.*)$/.exec(key)?.[1]) || []),
    ],
  }
}

/** Returns the keys of the domains of companies, without those of email addresses. */
const sitesOf = ({ places }: Mentions): readonly string[] =>
  [...places].flatMap((place) => (place.startsWith('domain:') ? [`company:${place}`] : []))

const isAmong = (values: Iterable<string>, set: ReadonlySet<string>): boolean =>
  [...values].some((value) => set.has(value))

/** Keys that tell people and companies apart whose names are equal. An id may be the server's own. */
const isSureKey = /^(?:person:(?:slug|email)|company:(?:slug|domain)):/

const isNameKey = (key: string): boolean => key.startsWith('person:name:')

function keysIn(mentions: Mentions, around: Iterable<string> = []) {
  const all = [...keysOfMentions(mentions, around)]
  const isOfCompany = (key: string) => key.startsWith('company:')
  return { person: all.filter((key) => !isOfCompany(key)), company: all.filter(isOfCompany) }
}

const labelOf = (domain = ''): string => domain.split('.', 1)[0] ?? ''

/** Fields that name a record by itself, and those that hold what identifies, by their names in snake case. */
const sentFields = {
  id: /^(?:id|uuid|guid|ref|reference|row|line)$|_(?:id|uuid|guid|ref)$|^(?:row|record|customer|contact|lead|item|line)_(?:no|nr|number|index)$/,
  name: /^(?:full_|company_|organi[sz]ation_)?name$|^(?:company|organi[sz]ation)$/,
  email: /^(?:e_?mail|(?:work_|business_)?email(?:_address)?)$/,
  domain: /^(?:company_)?(?:domain|website)$/,
  profile: /profile(?:_url)?$|^(?:network|linkedin)_url$/,
  phone: /^(?:phone|mobile)(?:_number)?$/,
} as const

/** Fields of a record of somebody that are about where they work, which others share. */
const ofEmployer = /^(?:company|account|organi[sz]ation|employer)(?:_|$)/

const toSnakeCase = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_')

/** Returns a value of a field that names a record, in one spelling. */
function toSent(field: string, value: unknown): string | undefined {
  const text = firstText(value)
  if (text === undefined) return undefined
  if (sentFields.id.test(field)) return text.toLowerCase()
  if (sentFields.name.test(field)) return foldName(text) || undefined
  if (sentFields.email.test(field)) return toEmail(text)
  if (sentFields.domain.test(field)) return toCompanyDomain(text)
  if (sentFields.phone.test(field)) return toE164(text)
  const profile = sentFields.profile.test(field) ? parseProfile(text) : undefined
  return profile && profileKey(profile)
}

/** Returns the values in JSON that name a record, by their fields; without those of some. */
function sentIn(
  value: unknown,
  isLeftOut: (field: string) => boolean = () => false,
  found = new Map<string, Set<string>>(),
): ReadonlyMap<string, ReadonlySet<string>> {
  if (Array.isArray(value)) for (const item of value.slice(0, maxItems)) sentIn(item, isLeftOut, found)
  if (!isObject(value)) return found
  for (const [name, held] of Object.entries(value)) {
    const field = toSnakeCase(name)
    if (isObject(held) || Array.isArray(held)) {
      if (!ofEmployer.test(field)) sentIn(held, isLeftOut, found)
      continue
    }
    const text = isLeftOut(field) ? undefined : toSent(field, held)
    if (text === undefined) continue
    const values = found.get(field)
    if (values) values.add(text)
    else found.set(field, new Set([text]))
  }
  return found
}

/** What an answer repeats of what a request has sent: the same, what others have sent too, something else, or nothing. */
type Repeated = 'own id' | 'own' | 'shared' | 'others' | 'nothing'

/** Fields about somebody else than whom a record is about, in snake case. */
const relation =
  /(?:^|_)(?:new|old|previous|prior|past|former|parent|ultimate|subsidiary|subsidiaries|owner|manager|supervisor|boss|reports|referr(?:er|al|ed)|competitors?|similar|related|alternatives?|lookalikes?|partners?|customers?|clients?|investors?|colleagues?|assistant|others?)(?:_|$)/

/** Returns an answer without what it says about others, but for fields that the request has, too. */
function withoutRelations(value: unknown, sent: Question['sent']): unknown {
  if (Array.isArray(value)) return value.slice(0, maxItems).map((one) => withoutRelations(one, sent))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, held]) => {
      const field = toSnakeCase(name)
      return relation.test(field) && !sent.has(field) ? [] : [[name, withoutRelations(held, sent)]]
    }),
  )
}

/** Returns a record without what it says about where somebody works. */
const withoutEmployer = (record: Fields): Fields =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !ofEmployer.test(toSnakeCase(name))))

const wordsOf = (text: string): readonly string[] =>
  [text, ...spelledOut(text)].flatMap((one) =>
    foldText(one)
      .split(' ')
      .filter((word) => word.length > 1),
  )

const letters = (text: string): string => foldText(text).replace(/[^\p{L}\p{N}]/gu, '')

/** The mailboxes that are usual for a name, without marks between their parts. */
function mailboxesOf(firstName: string, lastName: string): readonly string[] {
  const spelt = (name: string) => new Set([name, ...spelledOut(name)].map(letters))
  return [...spelt(firstName)].flatMap((first) =>
    [...spelt(lastName)].flatMap((last) => {
      if (first === '' || last === '') return []
      const [f, l] = [first.charAt(0), last.charAt(0)]
      return [first, last, first + last, f + last, first + l, last + first, last + f, l + first]
    }),
  )
}

/** Returns the objects that an answer is made of, at its top and in lists. */
function recordsIn(value: unknown): readonly Fields[] {
  if (Array.isArray(value)) return value.slice(0, maxItems).flatMap(recordsIn)
  if (!isObject(value)) return []
  const inner = Object.values(value).flatMap((one) =>
    Array.isArray(one) || isObject(one) ? recordsIn(one) : [],
  )
  return [value, ...inner]
}

/** Returns the objects of an answer that are records apart: at its top and in lists, with what is in them. */
function apartIn(value: unknown, isInside = false): readonly Fields[] {
  if (Array.isArray(value)) return value.slice(0, maxItems).flatMap((one) => apartIn(one))
  if (!isObject(value)) return []
  const inner = Object.values(value).flatMap((one) => apartIn(one, true))
  return isInside ? inner : [value, ...inner]
}
