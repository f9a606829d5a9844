import { Refusal } from '../api/calls/errors.js'
import { type Fields, isObject, once, withoutUndefined } from '../api/values/objects.js'
import { limitsIn, listOf, timeOf, wholeIn } from './answers.js'
import {
  type ConnectorGiven,
  type CrmAnswer,
  type CrmAssociation,
  type CrmConnector,
  type CrmKind,
  type CrmLimits,
  type CrmPacing,
  type CrmPage,
  type CrmProperty,
  type CrmRecord,
  type CrmRequest,
  type CrmValues,
  type CrmWrite,
  type CrmWritten,
  denied,
  spentToday,
} from './connector.js'

export const pipedriveUrl = 'https://api.pipedrive.com'

/** What calls cost of the tokens of a day: https://pipedrive.readme.io/docs/core-api-concepts-rate-limiting, November 2026. */
const tokens = { list: 20, write: 10 } as const
const listedAtOnce = 500
const idsAtOnce = 100
/** A request can name no more fields of the account's own. */
const mostCustom = 15
const defaultWaitMs = 2_000

const paths: Readonly<Record<CrmKind, string>> = { companies: 'organizations', people: 'persons' }
const fieldPaths: Readonly<Record<CrmKind, string>> = {
  companies: 'organizationFields',
  people: 'personFields',
}

/** A number of the phone that its label says is one; it is no field of Pipedrive's own. */
const mobile = 'phones.mobile'

const fields = {
  companies: {
    name: 'name',
    website: 'website',
    domain: 'website',
    network_url: 'linkedin',
    industry: 'industry',
    headcount: 'employee_count',
    revenue: 'annual_revenue',
    location: 'address',
  },
  people: {
    full_name: 'name',
    first_name: 'first_name',
    last_name: 'last_name',
    email: 'emails',
    // Before the phone: a number of that name is one, too.
    mobile,
    phone: 'phones',
    title: 'job_title',
  },
} as const

const alsoRead = {
  companies: ['owner_id'],
  people: ['emails.others', 'org_id', 'owner_id', 'marketing_status'],
} as const

/** Parts of a field: Pipedrive has lists of addresses and numbers, and a name in one. */
const parts: Readonly<Record<CrmKind, readonly CrmProperty[]>> = {
  companies: [],
  people: [
    { name: 'first_name', label: 'First name', type: 'text', isReadOnly: false, options: [] },
    { name: 'last_name', label: 'Last name', type: 'text', isReadOnly: false, options: [] },
    { name: mobile, label: 'Phone - Mobile', type: 'text', isReadOnly: false, options: [] },
    { name: 'emails.others', label: 'Further email addresses', type: 'text', isReadOnly: true, options: [] },
  ],
}

const readOnly = new Set(['id', 'add_time', 'update_time', 'creator_user_id', 'org_id', 'marketing_status'])

interface Entry {
  readonly value: string
  readonly label?: string | undefined
  readonly primary?: boolean | undefined
}

const dailyHeaders = {
  limit: 'x-daily-ratelimit-token-limit',
  remaining: 'x-daily-ratelimit-token-remaining',
} as const

export function createPipedrive({ key, baseUrl, http }: ConnectorGiven): CrmConnector {
  let limits: CrmLimits = { unit: 'tokens' }
  const pacing: CrmPacing = {
    pauseAfter: (answer) => (wholeIn(answer.headers['x-ratelimit-remaining']) === 0 ? resetOf(answer) : 0),
    limitOf: (answer) => {
      if (answer.status !== 429) return undefined
      if (wholeIn(answer.headers[dailyHeaders.remaining]) === 0) return 'day'
      const asked = wholeIn(answer.headers['retry-after'])
      return asked === undefined ? resetOf(answer) : asked * 1_000
    },
  }

  async function ask(
    method: CrmRequest['method'],
    path: string,
    given: { readonly query?: Readonly<Record<string, string | undefined>>; readonly body?: unknown } = {},
  ): Promise<CrmAnswer> {
    const search = new URLSearchParams(withoutUndefined(given.query ?? {}) as Record<string, string>)
    const url = `${baseUrl}/api/${path}${search.size > 0 ? `?${search}` : ''}`
    const headers = { 'x-api-token': key }
    // What is set or deleted twice is the same. A record that is created twice is there twice.
    const isRepeatable = method !== 'POST'
    const { body } = given
    const answer = await http.send({ method, url, headers, body, isRepeatable }, pacing)
    if (answer === 'day') throw spentToday('pipedrive', { ...limits, leftToday: 0 })
    limits = limitsIn(answer, limits, dailyHeaders)
    const { status } = answer
    if (status === 401 || status === 403) throw denied('pipedrive', status, sentenceOf(answer))
    return answer
  }
  const get = async (path: string, query?: Readonly<Record<string, string | undefined>>) =>
    expect(await ask('GET', path, query ? { query } : {}))

  /** The fields of the account, which are asked for once. */
  const fieldsOf = {
    companies: once(() => everyField('companies')),
    people: once(() => everyField('people')),
  } as const
  async function everyField(kind: CrmKind): Promise<readonly Fields[]> {
    const all: Fields[] = []
    let cursor: string | undefined
    do {
      const page = await get(`v2/${fieldPaths[kind]}`, { limit: String(listedAtOnce), cursor })
      all.push(...listOf(page.data))
      cursor = nextOf(page)
    } while (cursor !== undefined)
    return all
  }

  /** Returns what makes an answer contain the properties. */
  const including = (kind: CrmKind, properties: readonly string[]) => {
    const custom = properties.filter(isCustom)
    return {
      ...(kind === 'people' ? { include_fields: 'marketing_status' } : {}),
      // Without it, all of them are answered.
      ...(custom.length > 0 && custom.length <= mostCustom ? { custom_fields: custom.join(',') } : {}),
    }
  }

  async function page(
    kind: CrmKind,
    properties: readonly string[],
    query: Readonly<Record<string, string | undefined>>,
  ): Promise<CrmPage> {
    const limit = String(listedAtOnce)
    const answer = await get(`v2/${paths[kind]}`, { limit, ...query, ...including(kind, properties) })
    return { records: listOf(answer.data).map((one) => toRecord(kind, one)), next: nextOf(answer) }
  }

  const current = async (kind: CrmKind, id: string): Promise<Fields> => {
    const { data } = await get(`v2/${paths[kind]}/${id}`)
    return isObject(data) ? data : {}
  }

  /** Returns a body that sets values. What is a list, or a part, is changed in what the record has. */
  async function bodyOf(kind: CrmKind, values: CrmValues, id: string | undefined): Promise<Fields> {
    const all = await fieldsOf[kind]()
    const set: Record<string, unknown> = {}
    const custom: Record<string, unknown> = {}
    const isOfList = Object.keys(values).some((name) => /^(emails|phones|first_name|last_name)/.test(name))
    const there = isOfList && id !== undefined ? await current(kind, id) : {}
    for (const [name, text] of Object.entries(values)) {
      if (/^(first_name|last_name)$/.test(name)) continue
      if (name === 'emails') set.emails = withFirst(there.emails, text, 'work', () => true)
      else if (name === 'phones')
        set.phones = withFirst(set.phones ?? there.phones, text, 'work', ({ label }) => label !== 'mobile')
      else if (name === mobile)
        set.phones = withFirst(set.phones ?? there.phones, text, 'mobile', ({ label }) => label === 'mobile')
      else {
        const field = all.find((one) => one.field_code === name)
        const into = field?.is_custom_field === true ? custom : set
        into[name] = text === '' ? null : typed(field, text)
      }
    }
    if (
      kind === 'people' &&
      set.name === undefined &&
      (values.first_name ?? values.last_name) !== undefined
    ) {
      const { first_name = there.first_name, last_name = there.last_name } = values
      set.name = [first_name, last_name].filter((part) => part).join(' ')
    }
    return { ...set, ...(Object.keys(custom).length > 0 ? { custom_fields: custom } : {}) }
  }

  async function write(kind: CrmKind, { ref, id, values }: CrmWrite): Promise<CrmWritten> {
    const body = await bodyOf(kind, values, id)
    const answer =
      id === undefined
        ? await ask('POST', `v2/${paths[kind]}`, { body })
        : await ask('PATCH', `v2/${paths[kind]}/${id}`, { body })
    const { data } = isObject(answer.body) ? answer.body : {}
    if (answer.status >= 300 || !isObject(data)) return { ref, error: sentenceOf(answer) }
    return { ref, record: toRecord(kind, data) }
  }

  async function each(kind: CrmKind, writes: readonly CrmWrite[]): Promise<readonly CrmWritten[]> {
    const written: CrmWritten[] = []
    for (const one of writes) written.push(await write(kind, one))
    return written
  }

  async function readByIds(
    kind: CrmKind,
    ids: readonly string[],
    properties: readonly string[],
  ): Promise<readonly CrmRecord[]> {
    const { records } = await page(kind, properties, { ids: ids.join(',') })
    return records
  }

  const setCompany = async (person: string, company: number | null): Promise<void> => {
    expect(await ask('PATCH', `v2/persons/${person}`, { body: { org_id: company } }))
  }

  async function companiesOf(people: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    for (let at = 0; at < people.length; at += idsAtOnce)
      for (const { id, values } of await readByIds('people', people.slice(at, at + idsAtOnce), []))
        if (values.org_id !== undefined) found.set(id, values.org_id)
    return found
  }

  return {
    crm: 'pipedrive',
    fields,
    alsoRead,
    onCreation: ['owner_id', 'visible_to'],
    required: { companies: [['name']], people: [['name', 'first_name', 'last_name']] },
    derived: ['name', 'first_name', 'last_name'],
    changesLag: false,
    company: 'org_id',
    owner: 'owner_id',
    costs: {
      list: { records: listedAtOnce, counts: tokens.list },
      read: { records: idsAtOnce, counts: tokens.list },
      write: { records: 1, counts: tokens.write },
    },
    unique: { companies: [], people: [] },
    isOptedOut: ({ marketing_status }) => marketing_status === 'unsubscribed',
    identities: (kind, values) => (kind === 'companies' ? companyFields(values) : personFields(values)),
    async account() {
      const { data } = await get('v1/users/me')
      const { company_id, company_name, company_domain } = isObject(data) ? data : {}
      const domain = company_domain ? ` (${String(company_domain)}.pipedrive.com)` : ''
      return {
        id: String(company_id ?? ''),
        name: `${String(company_name ?? company_id ?? '')}${domain}`,
        // Nothing in an answer tells a developer's sandbox: each account is taken for a real one.
        isLive: true,
        // A token may do what its user may, which Pipedrive says only when something is refused.
        missing: [],
      }
    },
    async schema(kind) {
      return [...(await fieldsOf[kind]()).map(toProperty), ...parts[kind]]
    },
    async createKey() {
      throw refused('Pipedrive keeps no field unique, so that a key of our own would not be one')
    },
    async owners() {
      const { data } = await get('v1/users')
      return listOf(data).flatMap(({ id, email, active_flag }) =>
        active_flag === false ? [] : [{ id: String(id), email: String(email ?? '').toLowerCase() }],
      )
    },
    list: (kind, properties, after) => page(kind, properties, { cursor: after, sort_by: 'id' }),
    changed(kind, properties, since, after) {
      const updated_since = `${new Date(since).toISOString().slice(0, 19)}Z`
      return page(kind, properties, { updated_since, sort_by: 'update_time', cursor: after })
    },
    async read(kind, by, values, properties) {
      if (values.length === 0) return []
      if (by !== 'id') throw new Error(`Pipedrive has no unique field: ${by}`)
      return readByIds(kind, values, properties)
    },
    create: each,
    update: each,
    async archive(kind, ids) {
      for (const id of ids) {
        const answer = await ask('DELETE', `v2/${paths[kind]}/${id}`)
        if (answer.status !== 404) expect(answer)
      }
    },
    async associate(pairs) {
      for (const { person, company } of pairs) await setCompany(person, Number(company))
    },
    companiesOf,
    async dissociate(pairs: readonly CrmAssociation[]) {
      const now = await companiesOf(pairs.map(({ person }) => person))
      for (const { person, company } of pairs) if (now.get(person) === company) await setCompany(person, null)
    },
    limits: () => limits,
    close: () => http.close(),
  }
}

const refused = (sentence: string) => new Refusal('crm.refused', { crm: 'pipedrive', sentence })

const resetOf = ({ headers }: CrmAnswer): number => {
  const seconds = wholeIn(headers['x-ratelimit-reset'])
  return seconds === undefined ? defaultWaitMs : seconds * 1_000
}

/** Fields of the account's own have a hash for a code. */
const isCustom = (name: string): boolean => /^[0-9a-f]{40}$/.test(name)

function sentenceOf({ status, body }: CrmAnswer): string {
  const { error } = isObject(body) ? body : {}
  return typeof error === 'string' && error !== '' ? error : `status ${status}`
}

/** Returns the body of a success. Of anything else the CRM's sentence is a refusal. */
function expect(answer: CrmAnswer): Fields {
  if (answer.status >= 300) throw refused(sentenceOf(answer))
  return isObject(answer.body) ? answer.body : {}
}

const nextOf = ({ additional_data }: Fields): string | undefined => {
  const next = isObject(additional_data) ? additional_data.next_cursor : undefined
  return typeof next === 'string' && next !== '' ? next : undefined
}

const entriesOf = (value: unknown): readonly Entry[] =>
  listOf(value).flatMap((one) => (typeof one.value === 'string' && one.value ? [one as never as Entry] : []))

const firstOf = (entries: readonly Entry[]): Entry | undefined =>
  entries.find(({ primary }) => primary === true) ?? entries[0]

/** Returns a list in which the first entry of a kind has a value, or is gone where there is none; all others stay. */
function withFirst(
  list: unknown,
  value: string,
  label: string,
  isOfKind: (entry: Entry) => boolean,
): readonly Entry[] {
  const entries = entriesOf(list)
  const first = firstOf(entries.filter(isOfKind))
  if (value === '') return entries.filter((one) => one !== first)
  if (first) return entries.map((one) => (one === first ? { ...one, value } : one))
  return [...entries, { value, label, primary: entries.length === 0 }]
}

/** Returns a value as a field has it. */
function typed(field: Fields | undefined, text: string): unknown {
  const type = String(field?.field_type ?? '')
  if (type === 'address') return { value: text }
  if (type === 'monetary') return { value: Number(text) }
  if (type === 'set')
    return text.split(';').flatMap((part) => (part.trim() ? [optionOf(field, part.trim())] : []))
  if (type === 'enum') return optionOf(field, text)
  const isNumber = /^(double|int|user|org|people|visible_to)$/.test(type)
  return isNumber && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}

/** Options are named by their ids, which are numbers for most. */
const optionOf = (field: Fields | undefined, text: string): unknown =>
  listOf(field?.options).find(({ id }) => String(id) === text)?.id ?? text

/** Returns a value as text; undefined where it is empty. */
function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined || value === '') return undefined
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.map((one) => textOf(one) ?? '').join(';')
  // Addresses, amounts, and who or what it leads to.
  if (isObject(value)) return textOf(value.value ?? value.id)
  return String(value)
}

function toRecord(kind: CrmKind, given: Fields): CrmRecord {
  const { id, add_time, update_time, custom_fields, emails, phones, ...rest } = given
  const mails = entriesOf(emails)
  const numbers = entriesOf(phones)
  const first = firstOf(mails)
  const values = {
    ...rest,
    ...(isObject(custom_fields) ? custom_fields : {}),
    ...(kind === 'people'
      ? {
          emails: first?.value,
          'emails.others': mails.flatMap((one) => (one === first ? [] : [one.value])).join(';'),
          phones: firstOf(numbers.filter(({ label }) => label !== 'mobile'))?.value,
          [mobile]: numbers.find(({ label }) => label === 'mobile')?.value,
        }
      : {}),
  }
  return {
    id: String(id),
    values: Object.fromEntries(
      Object.entries(values).flatMap(([name, value]) => {
        const text = textOf(value)
        return text === undefined ? [] : [[name, text]]
      }),
    ),
    createdAt: timeOf(add_time),
    changedAt: timeOf(update_time),
  }
}

const propertyTypes: Readonly<Record<string, CrmProperty['type']>> = {
  double: 'number',
  int: 'number',
  monetary: 'number',
  date: 'date',
  boolean: 'boolean',
  enum: 'choice',
  set: 'choices',
}

function toProperty({ field_code, field_name, field_type, options }: Fields): CrmProperty {
  const name = String(field_code)
  return {
    name,
    label: String(field_name ?? name),
    type: propertyTypes[String(field_type)] ?? 'text',
    isReadOnly: readOnly.has(name),
    options: listOf(options).map(({ id, label }) => ({ value: String(id), label: String(label ?? id) })),
  }
}

function companyFields({ name, website, linkedin }: CrmValues): readonly Fields[] {
  return [withoutUndefined({ name, domain: website, network_url: linkedin })]
}

function personFields(values: CrmValues): readonly Fields[] {
  const { first_name, last_name, emails, 'emails.others': others = '' } = values
  const own = withoutUndefined({ first_name, last_name })
  const all = [emails, ...others.split(';')].filter((email) => email)
  return all.length === 0 ? [own] : all.map((email) => ({ ...own, email }))
}
