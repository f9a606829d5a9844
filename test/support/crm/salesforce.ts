import { type Fields, type Held, Records, seededCompany, seededPerson } from './records.js'
import { type Answer, type Asked, movableClock, serveCrm } from './server.js'
import { parseSoql, type Soql, valueOfPath } from './soql.js'

type Type = 'Contact' | 'Account'

/** A field of an object. */
interface Field {
  readonly name: string
  readonly label: string
  readonly type: string
  readonly isReadOnly?: boolean
  readonly isUnique?: boolean
  readonly values?: readonly string[]
  readonly length?: number
}

/** How an organisation is. */
export interface SalesforceAccount {
  readonly contacts?: number
  readonly companies?: number
  readonly isSandbox?: boolean
  readonly edition?: string
  /** Requests in a day. */
  readonly daily?: number
  /** Rows in a page, at most 2,000. */
  readonly page?: number
  /** Whether a rule refuses a contact whose address another has. */
  readonly hasDuplicateRule?: boolean
  /** Objects that the user may not write, or not even see. */
  readonly readOnlyTypes?: readonly Type[]
  readonly hiddenTypes?: readonly Type[]
  readonly fields?: Partial<Record<Type, readonly Field[]>>
  /** Whether fields that are created over the API can be seen before an administrator permits it. */
  readonly showsNewFields?: boolean
}

/** What a fake Salesforce takes for a key: the consumer key and secret of an app, divided by a colon. */
export const salesforceKey = '3MVG9.consumer.key:0123456789SALESFORCESECRET'

const text = (name: string, label: string, length = 255): Field => ({ name, label, type: 'string', length })

const both: readonly Field[] = [
  { name: 'Id', label: 'Record ID', type: 'id', isReadOnly: true },
  { name: 'OwnerId', label: 'Owner ID', type: 'reference' },
  { name: 'CreatedDate', label: 'Created Date', type: 'datetime', isReadOnly: true },
  { name: 'SystemModstamp', label: 'System Modstamp', type: 'datetime', isReadOnly: true },
  { name: 'Phone', label: 'Phone', type: 'phone' },
  { name: 'Description', label: 'Description', type: 'textarea', length: 32_000 },
]

const standard: Record<Type, readonly Field[]> = {
  Contact: [
    ...both,
    text('FirstName', 'First Name', 40),
    text('LastName', 'Last Name', 80),
    { name: 'Email', label: 'Email', type: 'email', length: 80 },
    text('Title', 'Title', 128),
    { name: 'MobilePhone', label: 'Mobile Phone', type: 'phone' },
    { name: 'AccountId', label: 'Account ID', type: 'reference' },
    { name: 'HasOptedOutOfEmail', label: 'Email Opt Out', type: 'boolean' },
    { name: 'DoNotCall', label: 'Do Not Call', type: 'boolean' },
    { name: 'LeadSource', label: 'Lead Source', type: 'picklist', values: ['Web', 'Phone Inquiry', 'Other'] },
    text('MailingCity', 'Mailing City', 40),
    text('MailingCountry', 'Mailing Country', 80),
  ],
  Account: [
    ...both,
    text('Name', 'Account Name'),
    { name: 'Website', label: 'Website', type: 'url', length: 255 },
    { name: 'Industry', label: 'Industry', type: 'picklist', values: ['Retail', 'Technology', 'Machinery'] },
    { name: 'NumberOfEmployees', label: 'Employees', type: 'int' },
    { name: 'AnnualRevenue', label: 'Annual Revenue', type: 'currency' },
    text('BillingCity', 'Billing City', 40),
    text('BillingCountry', 'Billing Country', 80),
  ],
}

const users = [
  { Id: '005000000000001AAA', Name: 'Jane Doe', Email: 'jane@us.example', IsActive: true },
  { Id: '005000000000002AAA', Name: 'John Roe', Email: 'john@us.example', IsActive: true },
]

const refusal = (status: number, errorCode: string, message: string): Answer => ({
  status,
  body: [{ message, errorCode }],
})

const isType = (name: unknown): name is Type => name === 'Contact' || name === 'Account'

interface Written extends Fields {
  readonly attributes?: { readonly type?: string }
}

const failed = (statusCode: string, message: string, fields: readonly string[] = []) => ({
  success: false,
  errors: [{ statusCode, message, fields }],
})

/** A Salesforce organisation on this machine. */
export type FakeSalesforce = Awaited<ReturnType<typeof fakeSalesforce>>

/**
 * Starts a Salesforce: the token of an app, queries, the description of objects, and collections of 200 of which each record
 * fails for itself. It keeps nothing unique but external ids.
 */
export async function fakeSalesforce(account: SalesforceAccount = {}) {
  const { contacts = 30, companies = 10, isSandbox = false, daily = 100_000, page = 2_000 } = account
  const { edition = 'Enterprise Edition', hasDuplicateRule = false, showsNewFields = true } = account
  const clock = movableClock()
  const { now } = clock
  const idOf = (prefix: string) => (position: number) =>
    `${prefix}${String(position + 1).padStart(12, '0')}AAA`
  const records: Record<Type, Records> = {
    Contact: new Records({ now, lag: 0, unique: ['Email'], idOf: idOf('003') }),
    Account: new Records({ now, lag: 0, unique: [], idOf: idOf('001') }),
  }
  const fields: Record<Type, Field[]> = {
    Contact: [...standard.Contact, ...(account.fields?.Contact ?? [])],
    Account: [...standard.Account, ...(account.fields?.Account ?? [])],
  }
  for (const type of ['Contact', 'Account'] as const)
    for (const { name, isUnique } of fields[type]) if (isUnique) records[type].keepUnique(name)
  const OwnerId = users[0]?.Id
  for (let at = 0; at < companies; at++) {
    const { domain, name, hasIndustry, employees } = seededCompany(at)
    const values = { Name: name, Website: `https://${domain}`, NumberOfEmployees: employees, OwnerId }
    records.Account.add({ ...values, Industry: hasIndustry ? 'Retail' : undefined }, 'seed')
  }
  for (let at = 0; at < contacts; at++) {
    const { email, first, last, title, company, isOptedOut } = seededPerson(at, companies)
    const AccountId = records.Account.page(company, 1)[0]?.id
    const values = { Email: email, FirstName: first, LastName: last, Title: title, AccountId, OwnerId }
    records.Contact.add({ ...values, HasOptedOutOfEmail: isOptedOut, DoNotCall: false }, 'seed')
  }

  const tokens = new Set<string>()
  let used = 0
  const [consumerKey, consumerSecret] = salesforceKey.split(':')

  const admit = ({ path, headers }: Asked): Answer | undefined => {
    if (path === '/services/oauth2/token') return undefined
    if (!tokens.has(headers.authorization ?? ''))
      return refusal(401, 'INVALID_SESSION_ID', 'Session expired or invalid')
    if (used >= daily) return refusal(403, 'REQUEST_LIMIT_EXCEEDED', 'TotalRequests Limit exceeded.')
    used++
    return undefined
  }

  const token = ({ text: body }: Asked): Answer => {
    const given = new URLSearchParams(body)
    if (given.get('grant_type') !== 'client_credentials')
      return {
        status: 400,
        body: { error: 'unsupported_grant_type', error_description: 'grant type not supported' },
      }
    if (given.get('client_id') !== consumerKey || given.get('client_secret') !== consumerSecret)
      return {
        status: 400,
        body: { error: 'invalid_client', error_description: 'invalid client credentials' },
      }
    const made = `00D000000000001!token.${tokens.size}`
    tokens.add(`Bearer ${made}`)
    return { status: 200, body: { access_token: made, token_type: 'Bearer', instance_url: server.origin } }
  }

  const shownNames = (type: Type): readonly string[] =>
    fields[type].filter((one) => showsNewFields || !made.has(one.name)).map(({ name }) => name)
  const made = new Set<string>()

  const whole = (type: Type, held: Held): Fields => ({
    ...held.fields,
    Id: held.id,
    CreatedDate: new Date(held.created).toISOString().replace('Z', '+0000'),
    SystemModstamp: new Date(held.modified).toISOString().replace('Z', '+0000'),
    ...(type === 'Contact'
      ? { Account: records.Account.get(String(held.fields.AccountId))?.fields ?? null }
      : {}),
  })

  const results = new Map<string, readonly object[]>()
  const paged = (key: string, from: number): Answer => {
    const all = results.get(key) ?? []
    const done = from + page >= all.length
    const next = done ? {} : { nextRecordsUrl: `/services/data/v66.0/query/${key}-${from + page}` }
    return {
      status: 200,
      body: { totalSize: all.length, done, ...next, records: all.slice(from, from + page) },
    }
  }

  const rowsOf = ({ from }: Soql): readonly Fields[] | undefined => {
    if (from === 'User') return users
    if (from === 'Organization')
      return [
        {
          Id: '00D000000000001EAA',
          Name: 'Us',
          IsSandbox: isSandbox,
          OrganizationType: edition,
          InstanceName: 'EU1',
        },
      ]
    if (!isType(from) || account.hiddenTypes?.includes(from)) return undefined
    return records[from].live().map((held) => whole(from, held))
  }

  const query = (asked: Asked): Answer => {
    let soql: Soql
    try {
      soql = parseSoql(asked.query.get('q') ?? '')
    } catch (error) {
      return refusal(400, 'MALFORMED_QUERY', (error as Error).message)
    }
    const rows = rowsOf(soql)
    if (!rows) return refusal(400, 'INVALID_TYPE', `sObject type '${soql.from}' is not supported.`)
    const { from } = soql
    const unknown = isType(from)
      ? soql.fields.find((name) => !name.includes('.') && !shownNames(from).includes(name))
      : undefined
    if (unknown) return refusal(400, 'INVALID_FIELD', `No such column '${unknown}' on entity '${from}'.`)
    const found = rows.filter((row) => soql.passes(row))
    if (soql.order.length > 0)
      found.sort((one, other) => {
        for (const { field, turn } of soql.order) {
          const [a, b] = [String(valueOfPath(one, field) ?? ''), String(valueOfPath(other, field) ?? '')]
          if (a !== b) return a < b ? -turn : turn
        }
        return 0
      })
    const shown = found.slice(0, soql.limit).map((row) => ({
      attributes: { type: from, url: `/services/data/v66.0/sobjects/${from}/${row.Id}` },
      ...nested(soql.fields, row),
    }))
    const key = `01g${String(results.size).padStart(12, '0')}`
    results.set(key, shown)
    const answer = paged(key, 0)
    if (shown.length <= page) results.delete(key)
    return answer
  }

  const describe = (type: Type): Answer => {
    const canWrite = !account.readOnlyTypes?.includes(type)
    const all = fields[type]
      .filter(({ name }) => shownNames(type).includes(name))
      .map((field) => ({
        name: field.name,
        label: field.label,
        type: field.type,
        length: field.length ?? 0,
        createable: !field.isReadOnly && canWrite,
        updateable: !field.isReadOnly && canWrite,
        externalId: field.isUnique ?? false,
        unique: field.isUnique ?? false,
        idLookup: field.isUnique ?? field.type === 'email',
        calculated: false,
        custom: field.name.endsWith('__c'),
        restrictedPicklist: field.values !== undefined,
        picklistValues: (field.values ?? []).map((value) => ({ active: true, value, label: value })),
      }))
    return { status: 200, body: { name: type, createable: canWrite, updateable: canWrite, fields: all } }
  }

  /** Writes a record for itself. */
  const write = (type: Type, values: Fields, id?: string): object => {
    const table = records[type]
    if (account.readOnlyTypes?.includes(type))
      return failed('INSUFFICIENT_ACCESS_OR_READONLY', 'insufficient access rights on object id')
    if (id !== undefined && !table.get(id)) return failed('ENTITY_IS_DELETED', 'entity is deleted')
    for (const [name, value] of Object.entries(values)) {
      const field = fields[type].find((one) => one.name === name && shownNames(type).includes(name))
      if (!field)
        return failed('INVALID_FIELD', `No such column '${name}' on sobject of type ${type}`, [name])
      if (field.isReadOnly)
        return failed('INVALID_FIELD_FOR_INSERT_UPDATE', `Unable to create/update fields: ${name}.`, [name])
      if (value === null) continue
      if (field.values && !field.values.includes(String(value)))
        return failed('INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST', `${name}: bad value: ${value}`, [name])
      if (/^(int|currency|double)$/.test(field.type) && typeof value !== 'number')
        return failed('JSON_PARSER_ERROR', `Cannot deserialize instance of ${field.type} from ${value}`, [
          name,
        ])
      if (field.type === 'boolean' && typeof value !== 'boolean')
        return failed('JSON_PARSER_ERROR', `Cannot deserialize instance of boolean from ${value}`, [name])
      if (field.type === 'email' && !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(String(value)))
        return failed('INVALID_EMAIL_ADDRESS', `${name}: invalid email address: ${value}`, [name])
      if (field.length && String(value).length > field.length)
        return failed(
          'STRING_TOO_LONG',
          `${field.label}: data value too large: ${value} (max length=${field.length})`,
          [name],
        )
      if (name === 'AccountId' && !records.Account.get(String(value)))
        return failed('INVALID_CROSS_REFERENCE_KEY', 'invalid cross reference id', [name])
      const owner = field.isUnique ? table.owner(name, value) : undefined
      if (owner && owner.id !== id)
        return failed(
          'DUPLICATE_VALUE',
          `duplicate value found: ${name} duplicates value on record with id: ${owner.id}`,
        )
    }
    const required = type === 'Contact' ? 'LastName' : 'Name'
    if (id === undefined && !values[required])
      return failed('REQUIRED_FIELD_MISSING', `Required fields are missing: [${required}]`, [required])
    const twin = type === 'Contact' && values.Email ? table.owner('Email', values.Email) : undefined
    if (hasDuplicateRule && twin && twin.id !== id)
      return failed('DUPLICATES_DETECTED', 'Use one of these records?')
    const held = id === undefined ? table.add(values, 'caller') : table.change(id, values, 'caller')
    return { id: held.id, success: true, errors: [] }
  }

  const collection = (asked: Asked, rest: readonly string[]): Answer => {
    const { method } = asked
    if (method === 'DELETE') {
      const ids = asked.query.get('ids')?.split(',') ?? []
      if (ids.length > 200) return refusal(400, 'LIMIT_EXCEEDED', 'record limit reached')
      const body = ids.map((id) => {
        const type = id.startsWith('003') ? 'Contact' : 'Account'
        if (!records[type].get(id)) return { id, ...failed('ENTITY_IS_DELETED', 'entity is deleted') }
        records[type].archive(id, 'caller')
        return { id, success: true, errors: [] }
      })
      return { status: 200, body }
    }
    const [type, external] = rest
    const body = asked.json as { readonly records?: readonly Written[]; ids?: string[]; fields?: string[] }
    if (method === 'POST' && isType(type)) {
      const held = (body.ids ?? []).map((id) => records[type].get(id))
      const names = body.fields ?? []
      return {
        status: 200,
        body: held
          .map((one) => one && { attributes: { type }, ...nested(names, whole(type, one)) })
          .map((one) => one ?? null),
      }
    }
    const all = body?.records ?? []
    if (all.length === 0 || all.length > 200) return refusal(400, 'LIMIT_EXCEEDED', 'record limit reached')
    return {
      status: 200,
      body: all.map(({ attributes, id, ...values }) => {
        const own = attributes?.type
        if (!isType(own)) return failed('INVALID_TYPE', `sObject type '${own}' is not supported.`)
        if (method === 'POST') return write(own, values)
        if (!external) return { id, ...write(own, values, String(id)) }
        if (!fields[own].some(({ name, isUnique }) => name === external && isUnique))
          return failed('INVALID_FIELD', `Provided external ID field does not exist: ${external}`)
        const there = records[own].owner(external, values[external])
        return { ...write(own, values, there?.id), created: !there }
      }),
    }
  }

  const answer = (asked: Asked): Answer => {
    const { path, method } = asked
    if (path === '/services/oauth2/token') return token(asked)
    const [, services, data, version = '', area, ...rest] = path.split('/')
    if (services !== 'services' || data !== 'data' || !/^v\d\d\.0$/.test(version))
      return refusal(404, 'NOT_FOUND', 'The requested resource does not exist')
    if (area === 'query' && rest[0]) {
      const [key = '', from] = rest[0].split('-')
      return results.has(key)
        ? paged(key, Number(from))
        : refusal(400, 'INVALID_QUERY_LOCATOR', 'invalid query locator')
    }
    if (area === 'query') return query(asked)
    if (area === 'limits')
      return { status: 200, body: { DailyApiRequests: { Max: daily, Remaining: daily - used } } }
    if (
      area === 'sobjects' &&
      isType(rest[0]) &&
      rest[1] === 'describe' &&
      !account.hiddenTypes?.includes(rest[0])
    )
      return describe(rest[0])
    if (area === 'composite' && rest[0] === 'sobjects') return collection(asked, rest.slice(1))
    if (area === 'tooling' && method === 'POST' && rest.join('/') === 'sobjects/CustomField') {
      const { FullName, Metadata } = asked.json as {
        FullName: string
        Metadata: { label: string; unique?: boolean }
      }
      const [type, name = ''] = FullName.split('.')
      if (!isType(type)) return refusal(400, 'INVALID_TYPE', `No such object: ${type}`)
      if (fields[type].some((one) => one.name === name))
        return refusal(400, 'DUPLICATE_DEVELOPER_NAME', `There is already a field named ${name} on ${type}.`)
      const isUnique = Metadata.unique === true
      fields[type].push({ name, label: Metadata.label, type: 'string', length: 255, isUnique })
      made.add(name)
      if (isUnique) records[type].keepUnique(name)
      return { status: 201, body: { id: `00N${'0'.repeat(12)}${made.size}AAA`, success: true, errors: [] } }
    }
    return refusal(404, 'NOT_FOUND', 'The requested resource does not exist')
  }

  const server = await serveCrm({
    isWrite: ({ method, path }) =>
      path.includes('/composite/sobjects') &&
      !(method === 'POST' && /\/composite\/sobjects\/\w+$/.test(path)),
    admit,
    answer,
    headers: ({ path }): Record<string, string> =>
      path.startsWith('/services/data') ? { 'sforce-limit-info': `api-usage=${used}/${daily}` } : {},
  })
  return {
    ...server,
    contacts: records.Contact,
    accounts: records.Account,
    /** Moves the clock of the organisation on. */
    pass: clock.pass,
    fields,
    /** Ends every session. */
    expire: () => tokens.clear(),
    /** Another day begins. */
    renew: () => {
      used = 0
    },
  }
}

/** Returns the fields that were asked for, those of a relationship in an object of their own. */
function nested(names: readonly string[], row: Fields): Fields {
  const shown: Record<string, unknown> = {}
  for (const name of names) {
    const [first = '', ...rest] = name.split('.')
    const value = valueOfPath(row, name) ?? null
    if (rest.length === 0) shown[first] = value
    else shown[first] = row[first] ? { ...(shown[first] as object), [rest.join('.')]: value } : null
  }
  return shown
}
