import type {
  CompanyQuery,
  Contact,
  PhoneDetail,
  Provider,
  RecordOf,
  ResultPage,
  Search,
  Source,
  Vendors,
} from '../../api/ports/ports.js'
import { type Fields, isObject } from '../../api/values/objects.js'
import { mentionedKeys } from '../../identity/mentions.js'
import { firstText } from '../../identity/value-kinds.js'
import type { FindSuppressed } from './suppressions.js'

/** Records of a search that are read at once to find out who is suppressed. */
const scanned = 1_000

/** Returns a source that knows nobody who is suppressed. Nothing is asked about them, and no provider of a waterfall is. */
export function suppressing(source: Source, find: FindSuppressed): Source {
  const { isSuppressed, isContact } = checksOf(source, find)
  const unless = async <T extends object>(found: T | undefined, asked: Contact = {}) =>
    found && !(await isSuppressed({ ...toFields(asked), found })) ? found : undefined
  const isCompany = async (query: CompanyQuery) =>
    !(await isSuppressed(toFields(query), await source.company(query)))
  const keysOfSearches = new Map<string, Promise<readonly number[]>>()
  /** Where a search is limited to so many people at each company, has others take the places of suppressed ones. */
  const replacing = async <S extends Search>(search: S, now: number): Promise<S> => {
    if (search.kind !== 'people' || search.filters.max_per_company === undefined) return search
    const { max_per_company: _, ...filters } = search.filters
    const name = JSON.stringify(filters)
    const keys = keysOfSearches.get(name) ?? suppressedKeys({ kind: 'people', filters }, now)
    keysOfSearches.set(name, keys)
    return { ...search, filters: { ...search.filters, except: await keys } }
  }
  /** Reads all that a search finds: only their records say who is suppressed. */
  const suppressedKeys = async (search: Search<'people'>, now: number): Promise<readonly number[]> => {
    const keys: number[] = []
    let after: string | undefined
    do {
      const found: ResultPage<RecordOf<'people'>> = await source.find(search, { limit: scanned, after, now })
      const suppressed = await areSuppressed(find, found.records)
      keys.push(...(found.keys ?? []).filter((_, at) => suppressed[at]))
      after = found.next
    } while (after !== undefined)
    return keys
  }
  return {
    company: async (query) =>
      (await isSuppressed(toFields(query))) ? undefined : unless(await source.company(query)),
    person: async (query) =>
      (await isSuppressed(toFields(query))) ? undefined : unless(await source.person(query)),
    personByEmail: async (email) =>
      (await isSuppressed({ email })) ? undefined : unless(await source.personByEmail(email)),
    reachable: async (numbers) => {
      const phones = numbers.map((phone) => ({ phone }))
      return source.reachable((await withoutSuppressed(phones, find)).map(({ phone }) => phone))
    },
    stack: async (query) => ((await isCompany(query)) ? source.stack(query) : undefined),
    headcount: async (query, departments) =>
      (await isCompany(query)) ? source.headcount(query, departments) : undefined,
    countProfiles: async (query, filters) =>
      (await isCompany(query)) ? source.countProfiles(query, filters) : undefined,
    jobs: async (query, ...rest) => ((await isCompany(query)) ? source.jobs(query, ...rest) : undefined),
    find: async (search, page) => {
      const found = await source.find(await replacing(search, page.now), page)
      return { ...found, records: await withoutSuppressed(found.records, find) }
    },
    providers: async () =>
      (await source.providers()).map((provider) => guarded(provider, isContact, unless, find)),
    technologies: (...given) => source.technologies(...given),
    count: async (search, now) => source.count(await replacing(search, now), now),
    unknownCompanies: (...given) => source.unknownCompanies(...given),
    searchAt: (...given) => source.searchAt(...given),
    urlOf: (...given) => source.urlOf(...given),
    locations: (...given) => source.locations(...given),
    titlesLike: (...given) => source.titlesLike(...given),
  }
}

/** Returns what finds out who is suppressed, with what a source knows of them. */
function checksOf(source: Source, find: FindSuppressed) {
  const isSuppressed = async (...records: readonly (object | undefined)[]) =>
    (await find(records.flatMap((record) => (record ? [...mentionedKeys({ ...record })] : [])))).size > 0
  const companyOf = async ({ domain, companyName: name }: Contact) =>
    domain || name ? source.company({ domain, name }) : undefined
  const isContact = async (contact: Contact) =>
    isSuppressed({
      ...toFields(contact),
      person: await source.person(contact),
      account: await companyOf(contact),
    })
  return { isSuppressed, isContact }
}

/** Returns data vendors that are told of nobody who is suppressed, and whose answers name nobody. */
export function guardedVendors(vendors: Vendors, source: Source, find: FindSuppressed): Vendors {
  const { isSuppressed, isContact } = checksOf(source, find)
  return {
    has: (...which) => vendors.has(...which),
    columns: (...which) => vendors.columns(...which),
    ask: async function* (kind, subject, ...rest) {
      const { email, columns } = subject
      if (columns && (await isSuppressed(...mentionedInTexts(Object.values(columns), subject)))) return
      if ((await isContact(subject)) || (email && (await isSuppressed({ email })))) return
      for await (const reply of vendors.ask(kind, subject, ...rest)) {
        const { phone = [], ...fields } = reply.fields ?? {}
        const phones = await withoutSuppressed(phone as readonly PhoneDetail[], find)
        if (reply.fields === undefined) yield reply
        else if (
          !(await isSuppressed({ ...toFields(subject), found: fields })) &&
          (kind !== 'phone' || phones.length > 0)
        )
          yield { ...reply, fields: { ...reply.fields, ...(kind === 'phone' && { phone: phones }) } }
      }
    },
  }
}

/** Returns whom texts may be about: each word may be an address, a profile or a domain, and all of a text a name or a number. */
const mentionedInTexts = (texts: readonly string[], { domain, companyName }: Contact) =>
  texts.flatMap((text) => [
    { full_name: text, company: companyName, domain },
    { phone: text },
    ...text
      .split(/[\s,;<>()"']+/)
      .filter((word) => /[.@]/.test(word))
      .map((word) => (word.includes('@') ? { email: word } : { profile_url: word, domain: word })),
  ])

/** Returns a provider that is asked about nobody who is suppressed, and whose answers name nobody. */
const guarded = (
  provider: Provider,
  isSuppressed: (contact: Contact) => Promise<boolean>,
  unless: <T extends object>(found: T | undefined, asked: Contact) => Promise<T | undefined>,
  find: FindSuppressed,
): Provider => {
  const { name, isGuess = false, person, email, personalEmail, phones } = provider
  const ask =
    <T>(question: (contact: Contact) => T, none: Awaited<T>) =>
    async (contact: Contact): Promise<Awaited<T>> =>
      (await isSuppressed(contact)) ? none : await question.call(provider, contact)
  return {
    name,
    isGuess,
    ...(person && { person: ask(person, undefined) }),
    ...(email && {
      email: async (contact: Contact) => unless(await ask(email, undefined)(contact), contact),
    }),
    ...(personalEmail && {
      personalEmail: async (contact: Contact) =>
        unless(await ask(personalEmail, undefined)(contact), contact),
    }),
    ...(phones && {
      phones: async (contact: Contact) =>
        withoutSuppressed(await ask(phones, [] as readonly PhoneDetail[])(contact), find),
    }),
  }
}

async function withoutSuppressed<T extends object>(
  records: readonly T[],
  find: FindSuppressed,
): Promise<readonly T[]> {
  const suppressed = await areSuppressed(find, records)
  return records.filter((_, at) => !suppressed[at])
}

/** Returns which of some records are about somebody suppressed. */
export async function areSuppressed(find: FindSuppressed, records: readonly unknown[]) {
  const keys = records.map((record) => (isObject(record) ? [...mentionedKeys(record)] : []))
  const suppressed = await find(keys.flat())
  return keys.map((own) => own.some((key) => suppressed.has(key)))
}

/** Returns which of some requests are about somebody suppressed, in their own words or by what `source` knows of them. */
export async function areAskedAbout(find: FindSuppressed, requests: readonly Fields[], source: Source) {
  const said = await areSuppressed(find, requests)
  const known = await Promise.all(
    requests.map(async (request, at) => (said[at] ? undefined : withKnown(request, source))),
  )
  const suppressed = await areSuppressed(find, known)
  return said.map((is, at) => is || suppressed[at] === true)
}

/** Returns a request, whose fields may be those of any operation, with whom it is about. */
async function withKnown(request: Fields, source: Source): Promise<Fields> {
  const text = (...fields: readonly string[]) => firstText(...fields.map((field) => request[field]))
  const [domain, companyName] = [text('domain', 'company_domain'), text('company_name')]
  const [firstName, lastName] = [text('first_name', 'firstname'), text('last_name', 'lastname')]
  const url = text('network_url', 'network_profile_url')
  const email = text('email')
  const account = await source.company({
    url: text('company_network_url') ?? url,
    networkId: text('company_network_id'),
    domain,
    name: companyName ?? text('name'),
    country: text('country'),
  })
  const person =
    (await source.person({ url, firstName, lastName, companyName, domain })) ??
    (email === undefined ? undefined : await source.personByEmail(email))
  return { ...request, account, person }
}

/** Returns the records of a stored preview, which names neither address nor domain, of whom `source` knows nobody suppressed. */
export async function previewWithout(find: FindSuppressed, preview: readonly Fields[], source: Source) {
  const known = await Promise.all(
    preview.map(async (one) => {
      const [person, company] = [firstText(one.profile_url), firstText(one.network_url)]
      return {
        person: person === undefined ? undefined : await source.person({ url: person }),
        company: company === undefined ? undefined : await source.company({ url: company }),
      }
    }),
  )
  const suppressed = await areSuppressed(find, known)
  return preview.filter((_, at) => !suppressed[at])
}

/** Returns what identifies a company or a person as the fields of a record. */
export const toFields = (query: CompanyQuery & Contact) => ({
  network_url: query.url,
  network_id: query.networkId,
  first_name: query.firstName,
  last_name: query.lastName,
  company_name: query.companyName,
  domain: query.domain,
})
