import type { Clock } from '../api/ports/ports.js'
import { type Fields, isObject } from '../api/values/objects.js'
import { keysOfMentions, type Mentions, mentionsIn } from '../identity/mentions.js'
import { foldName, foldText } from '../identity/name.js'
import { spelledOut } from '../identity/written-name.js'
import type { Subject } from './compile.js'

/** Whom a request is about: of several rows, all of them. */
interface RecentQuestion {
  /** Keys of people, also those of mailboxes that are usual for their names. */
  readonly person: ReadonlySet<string>
  readonly company: ReadonlySet<string>
  readonly firstNames: ReadonlySet<string>
  readonly lastNames: ReadonlySet<string>
  /** Names of companies, and those in their domains. */
  readonly companyNames: ReadonlySet<string>
  /** Companies, as they stand in keys of names. */
  readonly places: ReadonlySet<string>
  endedAt: number | undefined
}

/** How long after its answer a request is compared with the answers of others. */
const recentMs = 10_000

/** Requests that are remembered at most. */
const maxAsked = 16_384

/** Items of a list in an answer that are read at most. */
const maxItems = 1_000

/**
 * Whom a vendor was asked about in the last 10 s. An answer that is about one of them, and says nothing of whom its own request
 * is about, is that to another question (decision 16).
 */
export class AskedAbout {
  readonly #byKey = new Map<string, Set<RecentQuestion>>()
  readonly #all = new Set<RecentQuestion>()

  constructor(private readonly clock: Clock) {}

  /** Remembers a request that is about to be sent. */
  begin(subjects: readonly Subject[]): RecentQuestion {
    const found = subjects.map(readSubject)
    const all = (name: keyof (typeof found)[number]) => new Set(found.flatMap((one) => [...one[name]]))
    const asked: RecentQuestion = {
      person: all('person'),
      company: all('company'),
      firstNames: all('firstNames'),
      lastNames: all('lastNames'),
      companyNames: all('companyNames'),
      places: all('places'),
      endedAt: undefined,
    }
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

  /** Whether an answer is about another one of them. What fits its own request as well is its own. */
  isOfAnother(asked: RecentQuestion, answer: unknown): boolean {
    const said = recordsIn(answer).map((record) => readMentions(mentionsIn(record), asked.places))
    const all = (name: keyof (typeof said)[number]) => said.flatMap((one) => one[name])
    const [person, company, words] = [all('person'), all('company'), all('words')]
    if (person.some((key) => asked.person.has(key)) || isNamed(words, asked.lastNames)) return false
    if (person.some((key) => this.#isOfOther(key, asked))) return true
    if (company.some((key) => asked.company.has(key)) || isNamed(words, asked.firstNames)) return false
    if (isNamed(all('companyNames'), asked.companyNames)) return false
    return company.some((key) => this.#isOfOther(key, asked))
  }

  #isOfOther(key: string, asked: RecentQuestion): boolean {
    const others = this.#byKey.get(key)
    return others !== undefined && [...others].some((other) => other !== asked && this.#isRecent(other))
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

const keysOf = ({ person, company }: RecentQuestion): Iterable<string> => [...person, ...company]

/** Whether one of the words has a name in it, as the mailbox `aking` has one. */
const isNamed = (words: readonly string[], names: ReadonlySet<string>): boolean =>
  words.some((word) => names.has(word) || [...names].some((name) => name.length > 2 && word.includes(name)))

function readSubject(subject: Subject) {
  const { first_name = '', last_name = '', full_name = '', company_name = '', domain } = subject
  const mentions = mentionsIn(subject)
  const { person, company } = keysIn(mentions)
  const boxes = mailboxesOf(first_name, last_name).flatMap((box) => (domain ? [`box ${box}@${domain}`] : []))
  const names = full_name.trim().split(/\s+/)
  return {
    person: [...person, ...boxes],
    company,
    firstNames: wordsOf(`${first_name} ${names[0]}`),
    lastNames: wordsOf(`${last_name} ${names.at(-1)}`),
    companyNames: [foldName(company_name), labelOf(domain)].filter((name) => name !== ''),
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
    words: [...wordsOf([...mentions.names].join(' ')), ...boxes.map(({ box }) => box)],
    companyNames: [
      ...[...mentions.names].map(foldName),
      ...company.flatMap((key) => labelOf(/^company:domain:(.*)$/.exec(key)?.[1]) || []),
    ],
  }
}

function keysIn(mentions: Mentions, around: Iterable<string> = []) {
  const all = [...keysOfMentions(mentions, around)]
  const isOfCompany = (key: string) => key.startsWith('company:')
  return { person: all.filter((key) => !isOfCompany(key)), company: all.filter(isOfCompany) }
}

const labelOf = (domain = ''): string => domain.split('.', 1)[0] ?? ''

const wordsOf = (text: string): readonly string[] =>
  [text, ...spelledOut(text)].flatMap((one) =>
    foldText(one)
      .split(' ')
      .filter((word) => word.length > 1),
  )

const letters = (text: string): string => foldText(text).replace(/[^\p{L}\p{N}]/gu, '')

/** The mailboxes that are usual for a name, without marks between their parts. */
function mailboxesOf(firstName: string, lastName: string): readonly string[] {
  const [first, last] = [letters(firstName), letters(lastName)]
  if (first === '' || last === '') return []
  const [f, l] = [first.charAt(0), last.charAt(0)]
  return [first, last, first + last, f + last, first + l, last + first, last + f, l + first]
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
