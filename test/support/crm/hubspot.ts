import { type Fields, type Held, Records, seededCompany, seededPerson } from './records.js'
import { type Answer, type Asked, movableClock, serveCrm, windowed } from './server.js'

type Type = 'contacts' | 'companies'

/** A property of the account. */
interface Property {
  readonly name: string
  readonly label: string
  readonly type: 'string' | 'number' | 'bool' | 'enumeration' | 'datetime'
  readonly options?: readonly { readonly value: string; readonly label: string }[]
  readonly isUnique?: boolean
  readonly isReadOnly?: boolean
}

/** How an account is. */
export interface HubspotAccount {
  readonly contacts?: number
  readonly companies?: number
  readonly accountType?: 'STANDARD' | 'DEVELOPER_TEST' | 'SANDBOX'
  readonly scopes?: readonly string[]
  /** Requests in a window of so many milliseconds, and in a day. */
  readonly limit?: number
  readonly window?: number
  readonly daily?: number
  /** Searches in a second. */
  readonly searches?: number
  /** For how many milliseconds a search does not see what was written. */
  readonly lag?: number
  /** Whether a bad record refuses its whole batch even where each has an `objectWriteTraceId`. A conflict always does. */
  readonly refusesBatches?: boolean
  /** Addresses that were deleted for good. */
  readonly erased?: readonly string[]
  /** More properties of contacts and companies. */
  readonly properties?: Partial<Record<Type, readonly Property[]>>
}

/** The key that a fake HubSpot takes. */
export const hubspotKey = 'pat-eu1-0123-hubspot-secret-key'

const allScopes = ['contacts', 'companies'].flatMap((type) => [
  `crm.objects.${type}.read`,
  `crm.objects.${type}.write`,
  `crm.schemas.${type}.read`,
  `crm.schemas.${type}.write`,
])

/** The scopes of a service key that may do everything that is asked here. */
export const hubspotScopes: readonly string[] = [...allScopes, 'crm.objects.owners.read']

const options = (...values: readonly string[]) =>
  values.map((value) => ({
    value,
    label: value
      .toLowerCase()
      .split('_')
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join(' '),
  }))

const text = (name: string, label: string): Property => ({ name, label, type: 'string' })

const readOnly = (name: string, label: string, type: Property['type'] = 'datetime'): Property => ({
  name,
  label,
  type,
  isReadOnly: true,
})

const stages = options('subscriber', 'lead', 'marketingqualifiedlead', 'opportunity', 'customer')
const owners = [
  { id: '501', email: 'jane@us.example', firstName: 'Jane', lastName: 'Doe' },
  { id: '502', email: 'john@us.example', firstName: 'John', lastName: 'Roe' },
]
const ownerOptions = owners.map(({ id, firstName, lastName }) => ({
  value: id,
  label: `${firstName} ${lastName}`,
}))

const both: readonly Property[] = [
  { name: 'lifecyclestage', label: 'Lifecycle Stage', type: 'enumeration', options: stages },
  { name: 'hubspot_owner_id', label: 'Owner', type: 'enumeration', options: ownerOptions },
  text('phone', 'Phone Number'),
  text('city', 'City'),
  text('state', 'State/Region'),
  text('country', 'Country/Region'),
  text('website', 'Website URL'),
  readOnly('createdate', 'Create Date'),
  readOnly('hs_object_id', 'Record ID', 'number'),
]

const standard: Record<Type, readonly Property[]> = {
  contacts: [
    ...both,
    { ...text('email', 'Email'), isUnique: true },
    text('firstname', 'First Name'),
    text('lastname', 'Last Name'),
    text('jobtitle', 'Job Title'),
    text('company', 'Company Name'),
    text('industry', 'Industry'),
    text('mobilephone', 'Mobile Phone Number'),
    text('hs_linkedin_url', 'LinkedIn URL'),
    text('hs_additional_emails', 'Additional email addresses'),
    {
      name: 'hs_seniority',
      label: 'Seniority',
      type: 'enumeration',
      options: options('entry', 'senior', 'manager', 'director', 'vp', 'executive', 'owner'),
    },
    { name: 'hs_email_optout', label: 'Unsubscribed from all email', type: 'bool', isReadOnly: true },
    readOnly('lastmodifieddate', 'Last Modified Date'),
    readOnly('associatedcompanyid', 'Primary Associated Company ID', 'number'),
  ],
  companies: [
    ...both,
    text('domain', 'Company Domain Name'),
    { ...text('hs_additional_domains', 'Additional Domains'), isReadOnly: true },
    text('name', 'Company name'),
    {
      name: 'industry',
      label: 'Industry',
      type: 'enumeration',
      options: options('COMPUTER_SOFTWARE', 'MARKETING_AND_ADVERTISING', 'RETAIL', 'MACHINERY', 'INTERNET'),
    },
    { name: 'numberofemployees', label: 'Number of Employees', type: 'number' },
    { name: 'annualrevenue', label: 'Annual Revenue', type: 'number' },
    text('founded_year', 'Year Founded'),
    text('description', 'Description'),
    text('linkedin_company_page', 'LinkedIn Company Page'),
    text('address', 'Street Address'),
    text('zip', 'Postal Code'),
    readOnly('hs_lastmodifieddate', 'Last Modified Date'),
  ],
}

const modifiedName = { contacts: 'lastmodifieddate', companies: 'hs_lastmodifieddate' } as const
const singular = { contacts: 'Contact', companies: 'Company' } as const
const version = '2026-09'

interface Input {
  readonly id?: string
  readonly idProperty?: string
  readonly properties?: Record<string, unknown>
  readonly associations?: readonly { readonly to: { readonly id: string } }[]
  readonly objectWriteTraceId?: string
}

interface Problem {
  readonly status: number
  readonly category: string
  readonly message: string
}

interface Filter {
  readonly propertyName: string
  readonly operator: string
  readonly value?: string
  readonly values?: readonly string[]
}

const refusal = (status: number, category: string, message: string, more: object = {}): Answer => ({
  status,
  body: {
    status: 'error',
    message,
    correlationId: '9a3fc5a8-0000-4000-8000-000000000000',
    category,
    ...more,
  },
})

const isType = (name: string | undefined): name is Type => name === 'contacts' || name === 'companies'

/** A HubSpot account on this machine. */
export type FakeHubspot = Awaited<ReturnType<typeof fakeHubspot>>

/**
 * Starts a HubSpot with the paths of its version 2026-09: objects, properties, associations, owners and account details.
 * It refuses what HubSpot refuses, and in a whole batch where HubSpot does.
 */
export async function fakeHubspot(account: HubspotAccount = {}) {
  const { contacts = 30, companies = 10, accountType = 'STANDARD', scopes = hubspotScopes } = account
  const { limit = 190, window = 10_000, daily = 250_000, searches = 5, lag = 20_000 } = account
  const clock = movableClock()
  const { now } = clock
  const keeping = { now, lag }
  const records = {
    contacts: new Records({
      ...keeping,
      idOf: (position) => String(700_000_000_001 + position),
      unique: ['email'],
    }),
    companies: new Records({ ...keeping, idOf: (position) => String(40_000_001 + position), unique: [] }),
  }
  const properties: Record<Type, Property[]> = {
    contacts: [...standard.contacts, ...(account.properties?.contacts ?? [])],
    companies: [...standard.companies, ...(account.properties?.companies ?? [])],
  }
  for (const type of ['contacts', 'companies'] as const)
    for (const { name, isUnique } of properties[type]) if (isUnique) records[type].keepUnique(name)
  /** The companies of a contact. */
  const associations = new Map<string, Set<string>>()
  const associate = (contact: string, company: string) =>
    associations.set(contact, (associations.get(contact) ?? new Set()).add(company))

  for (let at = 0; at < companies; at++) {
    const { domain, name, hasIndustry, employees } = seededCompany(at)
    const fields = { domain, name, numberofemployees: employees?.toString() }
    records.companies.add({ ...fields, industry: hasIndustry ? 'RETAIL' : undefined }, 'seed')
  }
  for (let at = 0; at < contacts; at++) {
    const { email, first, last, title, company, isOptedOut } = seededPerson(at, companies)
    const fields: Fields = { email, firstname: first, lastname: last, jobtitle: title }
    const held = records.contacts.add({ ...fields, hs_email_optout: isOptedOut ? 'true' : undefined }, 'seed')
    const at_ = records.companies.page(company, 1)[0]
    if (at_) associate(held.id, at_.id)
  }

  const short = windowed(limit, window, now)
  const day = windowed(daily, 86_400_000, now)
  const second = windowed(searches, 1_000, now)

  const requiredScope = ({ method, path }: Asked): string | undefined => {
    const [, area, kind, , name] = path.split('/')
    if (kind === 'owners') return 'crm.objects.owners.read'
    if (area !== 'crm') return undefined
    if (kind === 'properties') return `crm.schemas.${name}.${method === 'GET' ? 'read' : 'write'}`
    if (kind === 'associations') return `crm.objects.contacts.${path.endsWith('/read') ? 'read' : 'write'}`
    const isRead = method === 'GET' || /\/(search|batch\/read)$/.test(path)
    return `crm.objects.${name}.${isRead ? 'read' : 'write'}`
  }

  const admit = (asked: Asked): Answer | undefined => {
    if (asked.headers.authorization !== `Bearer ${hubspotKey}`)
      return refusal(401, 'INVALID_AUTHENTICATION', 'Authentication credentials not found.')
    const limited = (policyName: string, message: string) =>
      refusal(429, 'RATE_LIMITS', message, { errorType: 'RATE_LIMIT', policyName })
    if (day.left() < 1) return limited('DAILY', 'You have reached your daily limit.')
    if (asked.path.endsWith('/search') && !second.take())
      return limited('SECONDLY', 'You have reached your secondly limit.')
    if (!short.take())
      return limited('TEN_SECONDLY_ROLLING', 'You have reached your ten_secondly_rolling limit.')
    day.take()
    const scope = requiredScope(asked)
    if (!scope || scopes.includes(scope)) return undefined
    const message = "This app hasn't been granted all required scopes to make this call."
    const errors = [
      {
        message: 'One or more of the following scopes are required.',
        context: { requiredGranularScopes: [scope] },
      },
    ]
    return refusal(403, 'MISSING_SCOPES', message, { errors })
  }

  const shown = (type: Type, held: Held, names?: readonly string[]) => {
    const all: Fields = {
      ...held.fields,
      hs_object_id: held.id,
      createdate: new Date(held.created).toISOString(),
      [modifiedName[type]]: new Date(held.modified).toISOString(),
    }
    if (type === 'contacts') all.associatedcompanyid = [...(associations.get(held.id) ?? [])][0]
    const asked = [...(names ?? Object.keys(all)), 'hs_object_id', 'createdate', modifiedName[type]]
    return {
      id: held.id,
      properties: Object.fromEntries([...new Set(asked)].map((name) => [name, all[name] ?? null])),
      createdAt: new Date(held.created).toISOString(),
      updatedAt: new Date(held.modified).toISOString(),
      archived: held.isArchived,
    }
  }

  const problemOf = (type: Type, values: Record<string, unknown>): Problem | undefined => {
    for (const [name, value] of Object.entries(values)) {
      const said = (error: string, message: string): Problem => ({
        status: 400,
        category: 'VALIDATION_ERROR',
        message: `Property values were not valid: ${JSON.stringify([{ isValid: false, message, error, name }])}`,
      })
      const property = properties[type].find((one) => one.name === name)
      if (!property) return said('PROPERTY_DOESNT_EXIST', `Property "${name}" does not exist`)
      if (property.isReadOnly) return said('READ_ONLY_VALUE', `"${name}" is a read only property`)
      if (value === '' || value === null) continue
      const known = property.options?.map((option) => option.value)
      if (known && !known.includes(String(value)))
        return said('INVALID_OPTION', `${value} was not one of the allowed options: [${known.join(', ')}]`)
      if (property.type === 'number' && !Number.isFinite(Number(value)))
        return said('INVALID_LONG', `${value} was not a valid number`)
      if (name === 'email' && !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(String(value)))
        return said('INVALID_EMAIL', `Email address ${value} is invalid`)
      if (name === 'email' && account.erased?.includes(String(value)))
        return said('GDPR_BLACKLISTED', `Email address ${value} was permanently deleted and cannot be added`)
    }
    return undefined
  }

  const conflictOf = (type: Type, values: Record<string, unknown>, own?: string): Problem | undefined => {
    for (const [name, value] of Object.entries(values)) {
      const owner = records[type].isUnique(name) ? records[type].owner(name, value) : undefined
      if (!owner || owner.id === own || value === '' || value === null) continue
      return {
        status: 409,
        category: 'CONFLICT',
        message: `${singular[type]} already exists. Existing ID: ${owner.id}`,
      }
    }
    return undefined
  }

  /** Answers a batch that writes: all of it, what can be done of it, or nothing. */
  const written = (
    type: Type,
    inputs: readonly Input[],
    find: (input: Input) => Problem | undefined,
    write: (input: Input) => object,
    status: number,
  ): Answer => {
    if (inputs.length === 0 || inputs.length > 100)
      return refusal(400, 'VALIDATION_ERROR', `The limit of inputs is 100, and there are ${inputs.length}.`)
    const isTraced = inputs.every((input) => input.objectWriteTraceId)
    const taken = new Set<string>()
    const isTaken = ({ properties: values = {} }: Input): boolean =>
      Object.entries(values).some(([name, value]) => {
        if (!records[type].isUnique(name) || value === '' || value === null) return false
        const key = `${name} ${String(value).toLowerCase()}`
        return taken.size === taken.add(key).size
      })
    const again: Problem = { status: 409, category: 'CONFLICT', message: `${singular[type]} already exists.` }
    const problems = inputs.map((input) => find(input) ?? (isTaken(input) ? again : undefined))
    const whole = problems.find(
      (problem) => problem && (problem.status === 409 || !isTraced || account.refusesBatches),
    )
    if (whole) return refusal(whole.status, whole.category, whole.message)
    const errors: object[] = []
    const results: object[] = []
    for (const [at, input] of inputs.entries()) {
      const problem = problems[at]
      const trace = input.objectWriteTraceId
      if (!problem) results.push({ ...write(input), ...(trace ? { objectWriteTraceId: trace } : {}) })
      else
        errors.push({
          status: 'error',
          category: problem.category,
          message: problem.message,
          context: { objectWriteTraceId: [trace] },
        })
    }
    const times = { startedAt: new Date(now()).toISOString(), completedAt: new Date(now()).toISOString() }
    const body = { status: 'COMPLETE', results, ...times }
    return errors.length > 0
      ? { status: 207, body: { ...body, numErrors: errors.length, errors } }
      : { status, body }
  }

  const missing = (id: string | undefined): Problem => ({
    status: 404,
    category: 'OBJECT_NOT_FOUND',
    message: `Object not found. objectId: ${id}`,
  })

  const found = (type: Type, { id = '', idProperty }: Input): Held | undefined =>
    idProperty ? records[type].owner(idProperty, id) : records[type].get(id)

  const batch = (type: Type, what: string | undefined, asked: Asked): Answer => {
    const body = (asked.json ?? {}) as {
      inputs?: readonly Input[]
      idProperty?: string
      properties?: readonly string[]
    }
    const { inputs = [], idProperty } = body
    const table = records[type]
    const idProperties = [idProperty, ...inputs.map((input) => input.idProperty)].filter((name) => name)
    const bad = idProperties.find((name) => name && !table.isUnique(name))
    if (bad) return refusal(400, 'VALIDATION_ERROR', `Property ${bad} is not a unique property`)
    const ids = inputs.map(({ id }) => id).filter((id) => id)
    if (new Set(ids).size < ids.length)
      return refusal(400, 'VALIDATION_ERROR', `Duplicate IDs found in batch input: [${ids.join(', ')}]`)
    const change = (id: string, input: Input) =>
      shown(type, table.change(id, input.properties ?? {}, 'caller'), Object.keys(input.properties ?? {}))
    const create = (input: Input) => {
      const held = table.add(input.properties ?? {}, 'caller')
      for (const { to } of input.associations ?? []) if (type === 'contacts') associate(held.id, to.id)
      return shown(type, held, Object.keys(input.properties ?? {}))
    }
    const values = (input: Input) => input.properties ?? {}
    switch (what) {
      case 'read': {
        if (inputs.length > 100) return refusal(400, 'VALIDATION_ERROR', 'The limit of inputs is 100.')
        const there = inputs.map((input) => found(type, { ...input, ...(idProperty ? { idProperty } : {}) }))
        const results = there.flatMap((held) => (held ? [shown(type, held, body.properties ?? [])] : []))
        const gone = inputs.filter((_, at) => !there[at]).map(({ id }) => id)
        if (gone.length === 0) return { status: 200, body: { status: 'COMPLETE', results } }
        const message = `Could not get some ${type.toUpperCase()} objects, they may be deleted or not exist.`
        const errors = [{ status: 'error', category: 'OBJECT_NOT_FOUND', message, context: { ids: gone } }]
        return { status: 207, body: { status: 'COMPLETE', results, numErrors: gone.length, errors } }
      }
      case 'create':
        return written(
          type,
          inputs,
          (input) => problemOf(type, values(input)) ?? conflictOf(type, values(input)),
          create,
          201,
        )
      case 'update':
        return written(
          type,
          inputs,
          (input) => {
            const held = found(type, input)
            if (!held) return missing(input.id)
            return problemOf(type, values(input)) ?? conflictOf(type, values(input), held.id)
          },
          (input) => change(found(type, input)?.id ?? '', input),
          200,
        )
      case 'upsert':
        if (inputs.some((input) => input.idProperty === 'email'))
          return refusal(
            400,
            'VALIDATION_ERROR',
            'Partial upserts are not supported when using email as the idProperty.',
          )
        return written(
          type,
          inputs,
          (input) =>
            problemOf(type, values(input)) ?? conflictOf(type, values(input), found(type, input)?.id),
          (input) => {
            const held = found(type, input)
            const key = input.idProperty ? { [input.idProperty]: input.id } : {}
            if (held) return { ...change(held.id, input), new: false }
            return { ...create({ ...input, properties: { ...input.properties, ...key } }), new: true }
          },
          200,
        )
      case 'archive':
        for (const { id = '' } of inputs) if (table.get(id)) table.archive(id, 'caller')
        return { status: 204 }
      default:
        return refusal(404, 'NOT_FOUND', 'No such path.')
    }
  }

  const search = (type: Type, asked: Asked): Answer => {
    const body = (asked.json ?? {}) as {
      filterGroups?: readonly { readonly filters: readonly Filter[] }[]
      sorts?: readonly (string | { readonly propertyName: string; readonly direction?: string })[]
      properties?: readonly string[]
      limit?: number
      after?: string | number
    }
    const { limit: size = 10, filterGroups = [], sorts = [] } = body
    const from = Number(body.after ?? 0)
    if (size > 200) return refusal(400, 'VALIDATION_ERROR', 'The limit of a page is 200.')
    if (from + size > 10_000)
      return refusal(400, 'VALIDATION_ERROR', 'Paging beyond 10000 results is not supported.')
    const valueIn = (held: Held, name: string): unknown => {
      if (name === 'hs_object_id') return Number(held.id)
      if (name === 'createdate') return held.created
      return name === modifiedName[type] ? held.modified : held.fields[name]
    }
    const comparable = (name: string, value: unknown) => {
      if (value === undefined) return value
      if (/date$/.test(name) && !/^\d+$/.test(String(value))) return Date.parse(String(value))
      return Number.isFinite(Number(value)) ? Number(value) : String(value).toLowerCase()
    }
    const passes = (held: Held, { propertyName, operator, value, values = [] }: Filter): boolean => {
      const own = comparable(propertyName, valueIn(held, propertyName))
      const other = comparable(propertyName, value)
      if (operator === 'HAS_PROPERTY') return own !== undefined
      if (operator === 'NOT_HAS_PROPERTY') return own === undefined
      if (own === undefined) return false
      if (operator === 'IN') return values.some((one) => comparable(propertyName, one) === own)
      if (other === undefined) return false
      if (operator === 'EQ') return own === other
      if (operator === 'GT') return own > other
      if (operator === 'GTE') return own >= other
      if (operator === 'LT') return own < other
      if (operator === 'LTE') return own <= other
      throw new Error(`This fake knows no operator ${operator}.`)
    }
    const all = records[type]
      .seen()
      .filter(
        (held) =>
          filterGroups.length === 0 ||
          filterGroups.some(({ filters }) => filters.every((one) => passes(held, one))),
      )
    const [sort] = sorts
    const name = typeof sort === 'string' ? sort : sort?.propertyName
    const turn = typeof sort === 'object' && sort.direction === 'DESCENDING' ? -1 : 1
    const rank = (held: Held) => Number(comparable(name ?? '', valueIn(held, name ?? 'hs_object_id')) ?? 0)
    all.sort((one, other) => turn * (rank(one) - rank(other)) || Number(one.id) - Number(other.id))
    const results = all.slice(from, from + size).map((held) => shown(type, held, body.properties ?? []))
    const next = from + size
    const paging = next < all.length ? { paging: { next: { after: String(next) } } } : {}
    return { status: 200, body: { total: all.length, results, ...paging } }
  }

  const list = (type: Type, { query }: Asked): Answer => {
    const size = Number(query.get('limit') ?? 10)
    if (size > 100) return refusal(400, 'VALIDATION_ERROR', 'The limit of a page is 100.')
    const names = query.getAll('properties').flatMap((value) => value.split(','))
    const isArchived = query.get('archived') === 'true'
    const results: object[] = []
    let from = Number(query.get('after') ?? 0)
    for (; from < records[type].size && results.length < size; from++) {
      const held = records[type].page(from, 1)[0]
      if (held?.isArchived === isArchived) results.push(shown(type, held, names))
    }
    const paging = from < records[type].size ? { paging: { next: { after: String(from) } } } : {}
    return { status: 200, body: { results, ...paging } }
  }

  const schema = (type: Type, asked: Asked): Answer => {
    if (asked.method === 'POST') {
      const made = asked.json as {
        name: string
        label: string
        type: Property['type']
        hasUniqueValue?: boolean
      }
      if (properties[type].some(({ name }) => name === made.name))
        return refusal(409, 'OBJECT_ALREADY_EXISTS', `A property named '${made.name}' already exists.`)
      const isUnique = made.hasUniqueValue === true
      properties[type].push({ name: made.name, label: made.label, type: made.type, isUnique })
      if (isUnique) records[type].keepUnique(made.name)
      return { status: 201, body: made }
    }
    const results = properties[type].map((property) => ({
      name: property.name,
      label: property.label,
      type: property.type,
      fieldType: property.options ? 'select' : 'text',
      groupName: type === 'contacts' ? 'contactinformation' : 'companyinformation',
      options: (property.options ?? []).map((option, at) => ({ ...option, displayOrder: at, hidden: false })),
      ...(property.name === 'hubspot_owner_id'
        ? { externalOptions: true, referencedObjectType: 'OWNER' }
        : {}),
      hasUniqueValue: property.isUnique ?? false,
      calculated: false,
      hidden: false,
      modificationMetadata: { readOnlyValue: property.isReadOnly ?? false, readOnlyDefinition: true },
    }))
    return { status: 200, body: { results } }
  }

  const associated = (asked: Asked): Answer => {
    interface Pair {
      readonly id?: string
      readonly from?: { readonly id: string }
      readonly to?: { readonly id: string } | readonly { readonly id: string }[]
    }
    const { inputs = [] } = (asked.json ?? {}) as { inputs?: readonly Pair[] }
    const [, , , , from, , , what] = asked.path.split('/')
    const limitOf = what === 'read' ? 1_000 : 2_000
    if (inputs.length > limitOf) return refusal(400, 'VALIDATION_ERROR', `The limit of inputs is ${limitOf}.`)
    if (what === 'read') {
      const results = inputs.map(({ id = '' }) => ({
        from: { id },
        to: [...(associations.get(id) ?? [])].map((toObjectId) => ({ toObjectId, associationTypes: [] })),
      }))
      return { status: 200, body: { status: 'COMPLETE', results } }
    }
    const isArchive = what === 'archive'
    for (const input of inputs)
      for (const to of [input.to ?? []].flat()) {
        const [contact = '', company = ''] =
          from === 'contacts' ? [input.from?.id, to.id] : [to.id, input.from?.id]
        if (isArchive) associations.get(contact)?.delete(company)
        else if (records.contacts.get(contact) && records.companies.get(company)) associate(contact, company)
        else return refusal(404, 'OBJECT_NOT_FOUND', `No association of ${contact} and ${company}.`)
      }
    if (isArchive) return { status: 204 }
    return { status: 200, body: { status: 'COMPLETE', results: inputs } }
  }

  const answer = (asked: Asked): Answer => {
    const { path, method } = asked
    const [, area, kind, dated, type, ...rest] = path.split('/')
    if (path === `/account-info/${version}/details`)
      return {
        status: 200,
        body: { portalId: 2_468_013, accountType, timeZone: 'Europe/Paris', uiDomain: 'app.hubspot.com' },
      }
    if (area !== 'crm' || dated !== version) return refusal(404, 'NOT_FOUND', `No such path: ${path}`)
    if (kind === 'owners') {
      const email = asked.query.get('email')
      return { status: 200, body: { results: owners.filter((one) => !email || one.email === email) } }
    }
    if (!isType(type)) return refusal(404, 'NOT_FOUND', `No such path: ${path}`)
    if (kind === 'properties') return schema(type, asked)
    if (kind === 'associations') return associated(asked)
    if (kind !== 'objects') return refusal(404, 'NOT_FOUND', `No such path: ${path}`)
    const [one, what] = rest
    if (one === 'batch') return batch(type, what, asked)
    if (one === 'search') return search(type, asked)
    if (one === undefined && method === 'GET') return list(type, asked)
    if (one === undefined) {
      const made = batch(type, 'create', { ...asked, json: { inputs: [asked.json] } })
      const { results } = (made.body ?? {}) as { results?: readonly object[] }
      return results ? { status: 201, body: results[0] } : made
    }
    const held = records[type].get(one)
    if (!held) return refusal(404, 'OBJECT_NOT_FOUND', `Object not found. objectId: ${one}`)
    if (method === 'DELETE') {
      records[type].archive(one, 'caller')
      return { status: 204 }
    }
    if (method === 'PATCH') {
      const values = (asked.json as Input).properties ?? {}
      const problem = problemOf(type, values) ?? conflictOf(type, values, one)
      if (problem) return refusal(problem.status, problem.category, problem.message)
      records[type].change(one, values, 'caller')
    }
    const names = asked.query.getAll('properties').flatMap((value) => value.split(','))
    return { status: 200, body: shown(type, records[type].here(one), names) }
  }

  const server = await serveCrm({
    // A batch of none asks what the key may do.
    isWrite: ({ method, path, text }) =>
      method !== 'GET' && !/\/(search|batch\/read)$/.test(path) && !/"inputs":\[\]/.test(text),
    admit,
    answer,
    // A search has none of these headers.
    headers: ({ path }) =>
      path.endsWith('/search')
        ? {}
        : {
            'x-hubspot-ratelimit-max': String(limit),
            'x-hubspot-ratelimit-remaining': String(short.left()),
            'x-hubspot-ratelimit-interval-milliseconds': String(window),
            'x-hubspot-ratelimit-daily': String(daily),
            'x-hubspot-ratelimit-daily-remaining': String(day.left()),
          },
  })
  return {
    ...server,
    ...records,
    /** Moves the clock of the account on. */
    pass: clock.pass,
    /** The companies of a contact. */
    companiesOf: (contact: string): readonly string[] => [...(associations.get(contact) ?? [])],
    properties,
  }
}
