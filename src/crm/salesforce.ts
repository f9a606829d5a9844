import { Refusal } from '../api/calls/errors.js'
import { type Fields, isObject, once, withoutUndefined } from '../api/values/objects.js'
import { listOf, timeOf, wholeIn } from './answers.js'
import {
  BatchRefused,
  type ConnectorGiven,
  type CrmAnswer,
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

/** Of spring 2026: https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta, read in November 2026. */
const version = 'v66.0'
const types: Readonly<Record<CrmKind, string>> = { companies: 'Account', people: 'Contact' }
const writtenAtOnce = 200
/** A query is part of an address, which has a limit. */
const readAtOnce = 100
const listedAtOnce = 2_000
const ownKey = 'Prospect_Key__c'
/** Too many requests at the same time end by themselves. */
const crowdedMs = 5_000

const fields = {
  companies: {
    name: 'Name',
    website: 'Website',
    domain: 'Website',
    phone: 'Phone',
    industry: 'Industry',
    headcount: 'NumberOfEmployees',
    revenue: 'AnnualRevenue',
    city: 'BillingCity',
    country: 'BillingCountry',
    description: 'Description',
  },
  people: {
    first_name: 'FirstName',
    last_name: 'LastName',
    email: 'Email',
    // Before the phone: a number of that name is one, too.
    mobile: 'MobilePhone',
    phone: 'Phone',
    title: 'Title',
    city: 'MailingCity',
    country: 'MailingCountry',
  },
} as const

const optOuts = ['HasOptedOutOfEmail', 'DoNotCall'] as const

const alsoRead = {
  companies: ['OwnerId'],
  people: [...optOuts, 'AccountId', 'Account.Name', 'OwnerId'],
} as const

export function createSalesforce({ key, baseUrl, http }: ConnectorGiven): CrmConnector {
  let limits: CrmLimits = { unit: 'requests' }
  const learn = ({ headers }: CrmAnswer) => {
    const [, used, perDay] = /api-usage=(\d+)\/(\d+)/.exec(headers['sforce-limit-info'] ?? '') ?? []
    if (used === undefined) return
    const most = Number(perDay)
    limits = { unit: 'requests', perDay: most, leftToday: Math.max(0, most - Number(used)) }
  }
  const pacing: CrmPacing = {
    pauseAfter: () => 0,
    limitOf: (answer) => {
      if (answer.status === 429) return (wholeIn(answer.headers['retry-after']) ?? crowdedMs / 1_000) * 1_000
      if (errorOf(answer).code !== 'REQUEST_LIMIT_EXCEEDED') return undefined
      return /concurrent/i.test(errorOf(answer).sentence) ? crowdedMs : 'day'
    },
  }

  /** Returns a token: the one that was given, or one that the app's key and secret are exchanged for. */
  const tokenOf = async (): Promise<string> => {
    const session = sessionIn(key)
    if (session !== undefined) return session
    const [id, secret] = halvesOf(key)
    const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
    const url = `${baseUrl}/services/oauth2/token`
    const sent = { method: 'POST', url, headers: {}, body: form, isForm: true, isRepeatable: true } as const
    const answer = await http.send(sent, pacing)
    if (answer === 'day') throw spentToday('salesforce', { ...limits, leftToday: 0 })
    const { access_token } = isObject(answer.body) ? answer.body : {}
    if (typeof access_token === 'string' && access_token !== '') return access_token
    throw denied('salesforce', 401, errorOf(answer).sentence)
  }
  let token = once(tokenOf)

  async function ask(
    method: CrmRequest['method'],
    path: string,
    { body, isRepeatable }: { readonly body?: unknown; readonly isRepeatable: boolean },
  ): Promise<CrmAnswer> {
    const url = `${baseUrl}${path}`
    const send = async () => {
      const headers = { authorization: `Bearer ${await token()}` }
      const answer = await http.send({ method, url, headers, body, isRepeatable }, pacing)
      if (answer === 'day') throw spentToday('salesforce', { ...limits, leftToday: 0 })
      return answer
    }
    let answer = await send()
    if (answer.status === 401 && sessionIn(key) === undefined) {
      // A session ends after some time without use: nothing was done for it.
      token = once(tokenOf)
      answer = await send()
    }
    learn(answer)
    if (answer.status === 401 || answer.status === 403)
      throw denied('salesforce', answer.status, errorOf(answer).sentence)
    return answer
  }
  const data = `/services/data/${version}`
  const query = async (soql: string): Promise<Fields> =>
    expect(await ask('GET', `${data}/query?${new URLSearchParams({ q: soql })}`, { isRepeatable: true }))

  /** The fields of an object that this user sees; none where it may not see the object. */
  const describe = async (kind: CrmKind): Promise<Fields> => {
    const answer = await ask('GET', `${data}/sobjects/${types[kind]}/describe`, { isRepeatable: true })
    return answer.status === 404 ? {} : expect(answer)
  }
  const described = { companies: once(() => describe('companies')), people: once(() => describe('people')) }
  const fieldsOf = async (kind: CrmKind): Promise<readonly Fields[]> =>
    listOf((await described[kind]()).fields)

  /** Returns what a query may select of the properties: one that this user does not see refuses all of it. */
  async function selected(kind: CrmKind, properties: readonly string[]): Promise<string> {
    const seen = new Set((await fieldsOf(kind)).map(({ name }) => name))
    const own = properties.filter(
      (name) => seen.has(name) || (name === 'Account.Name' && seen.has('AccountId')),
    )
    return [...new Set(['Id', 'CreatedDate', 'SystemModstamp', ...own])].join(', ')
  }

  /** Returns a page in an order in which each record comes once, so that it can be asked for again on another day. */
  async function page(
    kind: CrmKind,
    properties: readonly string[],
    where: string,
    order: string,
  ): Promise<{ readonly records: readonly CrmRecord[]; readonly isLast: boolean }> {
    const soql = `SELECT ${await selected(kind, properties)} FROM ${types[kind]}${where} ORDER BY ${order} LIMIT ${listedAtOnce}`
    const records: CrmRecord[] = []
    let answer = await query(soql)
    records.push(...listOf(answer.records).map(toRecord))
    // Pages of wide records are shorter.
    while (answer.done === false && typeof answer.nextRecordsUrl === 'string') {
      answer = expect(await ask('GET', answer.nextRecordsUrl, { isRepeatable: true }))
      records.push(...listOf(answer.records).map(toRecord))
    }
    return { records, isLast: records.length < listedAtOnce }
  }

  /** Returns values as the fields of an object have them. */
  async function typedOf(kind: CrmKind, values: CrmValues): Promise<Fields> {
    const all = await fieldsOf(kind)
    return Object.fromEntries(
      Object.entries(values).map(([name, text]) => [
        name,
        typed(String(all.find((one) => one.name === name)?.type ?? ''), text),
      ]),
    )
  }

  /** Writes a collection, of which each record fails for itself. */
  async function write(
    kind: CrmKind,
    method: 'POST' | 'PATCH',
    path: string,
    writes: readonly CrmWrite[],
    isRepeatable: boolean,
  ): Promise<readonly CrmWritten[]> {
    if (writes.length === 0) return []
    const records = await Promise.all(
      writes.map(async ({ id, values }) => ({
        attributes: { type: types[kind] },
        ...(id === undefined ? {} : { id }),
        ...(await typedOf(kind, values)),
      })),
    )
    const answer = await ask(method, `${data}/composite/sobjects${path}`, {
      body: { allOrNone: false, records },
      isRepeatable,
    })
    if (answer.status >= 300) throw new BatchRefused(errorOf(answer).sentence)
    const results = listOf(answer.body)
    return writes.flatMap(({ ref, id, values }, at): CrmWritten[] => {
      const result = results[at]
      if (!result) return []
      if (result.success === true) {
        const own = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
        return [{ ref, record: { id: String(result.id ?? id), values: own, createdAt: 0, changedAt: 0 } }]
      }
      const [error] = listOf(result.errors)
      const sentence = `${String(error?.statusCode ?? 'FAILED')}: ${String(error?.message ?? 'it was refused')}`
      return [withoutUndefined({ ref, error: sentence, existing: existingIn(sentence) }) as CrmWritten]
    })
  }

  async function read(
    kind: CrmKind,
    by: string,
    values: readonly string[],
    properties: readonly string[],
  ): Promise<readonly CrmRecord[]> {
    if (values.length === 0) return []
    const field = by === 'id' ? 'Id' : by
    const list = values.map((value) => `'${escaped(value)}'`).join(', ')
    const wanted = by === 'id' ? properties : [...properties, by]
    const { records } = await page(kind, wanted, ` WHERE ${field} IN (${list})`, 'Id')
    return records
  }

  async function missing(): Promise<readonly string[]> {
    const lacking: string[] = []
    for (const kind of ['companies', 'people'] as const) {
      const { fields: all, createable, updateable } = await described[kind]()
      const type = types[kind]
      if (all === undefined) lacking.push(`${type}: Read`)
      else {
        if (createable !== true) lacking.push(`${type}: Create`)
        if (updateable !== true) lacking.push(`${type}: Edit`)
        const seen = new Set(listOf(all).map(({ name }) => name))
        // Without it nobody knows who must not be written to.
        if (kind === 'people' && !seen.has(optOuts[0])) lacking.push(`${type}.${optOuts[0]}: Read`)
      }
    }
    return lacking
  }

  return {
    crm: 'salesforce',
    fields,
    alsoRead,
    onCreation: ['OwnerId', 'LeadSource'],
    required: { companies: [['Name']], people: [['LastName']] },
    derived: [],
    changesLag: false,
    company: 'AccountId',
    owner: 'OwnerId',
    costs: {
      list: { records: listedAtOnce, counts: 1 },
      read: { records: readAtOnce, counts: 1 },
      write: { records: writtenAtOnce, counts: 1 },
    },
    unique: { companies: [], people: [] },
    isOptedOut: ({ HasOptedOutOfEmail }) => HasOptedOutOfEmail === 'true',
    identities: (kind, values) => (kind === 'companies' ? companyFields(values) : personFields(values)),
    async account() {
      const soql = 'SELECT Id, Name, IsSandbox, OrganizationType FROM Organization LIMIT 1'
      const [organization = {}] = listOf((await query(soql)).records)
      const { Id, Name, IsSandbox, OrganizationType } = organization
      return {
        id: String(Id ?? ''),
        name: String(Name ?? Id ?? ''),
        isLive: IsSandbox !== true && OrganizationType !== 'Developer Edition',
        missing: await missing(),
      }
    },
    async schema(kind) {
      return (await fieldsOf(kind)).map(toProperty)
    },
    async createKey(kind) {
      if ((await fieldsOf(kind)).some(({ name }) => name === ownKey)) return ownKey
      const type = types[kind]
      const metadata = { label: 'Prospect Key', type: 'Text', length: 64, externalId: true, unique: true }
      const body = { FullName: `${type}.${ownKey}`, Metadata: metadata }
      const answer = await ask('POST', `${data}/tooling/sobjects/CustomField`, { body, isRepeatable: false })
      if (errorOf(answer).code !== 'DUPLICATE_DEVELOPER_NAME') expect(answer)
      // Who may see a new field is decided apart.
      const seen = listOf((await describe(kind)).fields).some(({ name }) => name === ownKey)
      if (seen) return ownKey
      throw refused(
        `the field ${type}.${ownKey} is there, and the user of the key may not edit it: an administrator permits it in its field-level security`,
      )
    },
    async owners() {
      const { records } = await query('SELECT Id, Email FROM User WHERE IsActive = true LIMIT 2000')
      return listOf(records).map(({ Id, Email }) => ({
        id: String(Id),
        email: String(Email ?? '').toLowerCase(),
      }))
    },
    async list(kind, properties, after): Promise<CrmPage> {
      const where = after === undefined ? '' : ` WHERE Id > '${escaped(after)}'`
      const { records, isLast } = await page(kind, properties, where, 'Id')
      return { records, next: isLast ? undefined : records.at(-1)?.id }
    },
    async changed(kind, properties, since, cursor): Promise<CrmPage> {
      const [time, id = ''] = cursor?.split(' ') ?? []
      const where =
        time === undefined
          ? ` WHERE SystemModstamp >= ${new Date(since).toISOString()}`
          : ` WHERE (SystemModstamp > ${time} OR (SystemModstamp = ${time} AND Id > '${escaped(id)}'))`
      const { records, isLast } = await page(kind, properties, where, 'SystemModstamp, Id')
      const last = records.at(-1)
      if (isLast || !last) return { records }
      return { records, next: `${new Date(last.changedAt).toISOString()} ${last.id}` }
    },
    read,
    create(kind, writes) {
      // By an external id, a record that is there already is only set once more.
      return writes.every(({ values }) => values[ownKey])
        ? write(kind, 'PATCH', `/${types[kind]}/${ownKey}`, writes, true)
        : write(kind, 'POST', '', writes, false)
    },
    update: (kind, writes) => write(kind, 'PATCH', '', writes, true),
    async archive(_, ids) {
      const search = new URLSearchParams({ ids: ids.join(','), allOrNone: 'false' })
      const answer = await ask('DELETE', `${data}/composite/sobjects?${search}`, { isRepeatable: true })
      if (answer.status >= 300) throw refused(errorOf(answer).sentence)
      const failure = listOf(answer.body)
        .flatMap(({ errors }) => listOf(errors))
        .find(({ statusCode }) => statusCode !== 'ENTITY_IS_DELETED')
      if (failure) throw refused(`${String(failure.statusCode)}: ${String(failure.message)}`)
    },
    associate: (pairs) => setCompanies(pairs.map(({ ref, person, company }) => ({ ref, person, company }))),
    async companiesOf(people) {
      const found = new Map<string, string>()
      for (let at = 0; at < people.length; at += readAtOnce)
        for (const { id, values } of await read('people', 'id', people.slice(at, at + readAtOnce), [
          'AccountId',
        ]))
          if (values.AccountId !== undefined) found.set(id, values.AccountId)
      return found
    },
    async dissociate(pairs) {
      const now = await read(
        'people',
        'id',
        pairs.map(({ person }) => person),
        ['AccountId'],
      )
      const own = new Map(now.map(({ id, values }) => [id, values.AccountId]))
      const still = pairs.filter(({ person, company }) => own.get(person) === company)
      await setCompanies(still.map(({ ref, person }) => ({ ref, person, company: '' })))
    },
    limits: () => limits,
    close: () => http.close(),
  }

  async function setCompanies(
    pairs: readonly { readonly ref: string; readonly person: string; readonly company: string }[],
  ): Promise<void> {
    for (let at = 0; at < pairs.length; at += writtenAtOnce) {
      const some = pairs.slice(at, at + writtenAtOnce)
      const writes = some.map(({ ref, person, company }) => ({
        ref,
        id: person,
        values: { AccountId: company },
      }))
      for (const one of await write('people', 'PATCH', '', writes, true))
        if ('error' in one) throw refused(one.error)
    }
  }
}

const refused = (sentence: string) => new Refusal('crm.refused', { crm: 'salesforce', sentence })

/** Returns the session that was given for a key, such as the access token that `sf org display` prints. */
const sessionIn = (key: string): string | undefined => (/^00D\w{12,15}!/.test(key) ? key : undefined)

/** The key and the secret of an app are divided by a colon. */
function halvesOf(key: string): readonly [string, string] {
  const at = key.indexOf(':')
  return at < 0 ? [key, ''] : [key.slice(0, at).trim(), key.slice(at + 1).trim()]
}

/** Returns what a refusal says: the API lists errors, and what gives out tokens has one. */
function errorOf({ status, body }: CrmAnswer): { readonly code: string; readonly sentence: string } {
  const [first] = listOf(body)
  if (first)
    return { code: String(first.errorCode ?? ''), sentence: String(first.message ?? `status ${status}`) }
  const { error, error_description } = isObject(body) ? body : {}
  return { code: String(error ?? ''), sentence: String(error_description ?? error ?? `status ${status}`) }
}

function expect(answer: CrmAnswer): Fields {
  if (answer.status >= 300) throw refused(errorOf(answer).sentence)
  return isObject(answer.body) ? answer.body : {}
}

const escaped = (text: string): string => text.replace(/[\\']/g, '\\$&')

/** Returns the record that a refusal names as the one that is there already. */
const existingIn = (text: string): string | undefined => /record with id: (\w{15,18})/.exec(text)?.[1]

function typed(type: string, text: string): unknown {
  if (text === '') return null
  if (type === 'boolean') return text === 'true'
  const isNumber = /^(int|double|currency|percent|long)$/.test(type)
  return isNumber && Number.isFinite(Number(text)) ? Number(text) : text
}

function toRecord(given: Fields): CrmRecord {
  const { attributes: _, Id, CreatedDate, SystemModstamp, Account, ...rest } = given
  const values = { ...rest, 'Account.Name': isObject(Account) ? Account.Name : undefined }
  return {
    id: String(Id),
    values: Object.fromEntries(
      Object.entries(values).flatMap(([name, value]) =>
        value === null || value === undefined || value === '' ? [] : [[name, String(value)]],
      ),
    ),
    createdAt: timeOf(CreatedDate),
    changedAt: timeOf(SystemModstamp),
  }
}

const propertyTypes: Readonly<Record<string, CrmProperty['type']>> = {
  int: 'number',
  long: 'number',
  double: 'number',
  currency: 'number',
  percent: 'number',
  boolean: 'boolean',
  date: 'date',
  datetime: 'datetime',
  picklist: 'choice',
  multipicklist: 'choices',
}

function toProperty(given: Fields): CrmProperty {
  const { name, label, type, createable, updateable, picklistValues, restrictedPicklist } = given
  const own = propertyTypes[String(type)] ?? 'text'
  // Where a list is open, any text is a value of it.
  const isOpen = own === 'choice' && restrictedPicklist === false
  return {
    name: String(name),
    label: String(label ?? name),
    type: isOpen ? 'text' : own,
    isReadOnly: createable !== true && updateable !== true,
    options: listOf(picklistValues).flatMap(({ active, value, label: shown }) =>
      active === false ? [] : [{ value: String(value), label: String(shown ?? value) }],
    ),
  }
}

function companyFields({ Name, Website, BillingCountry }: CrmValues): readonly Fields[] {
  return [withoutUndefined({ name: Name, domain: Website, country: BillingCountry })]
}

function personFields(values: CrmValues): readonly Fields[] {
  const { FirstName, LastName, Email, 'Account.Name': company } = values
  return [
    withoutUndefined({ first_name: FirstName, last_name: LastName, email: Email, company_name: company }),
  ]
}
