import { type Fields, type Held, Records, seededCompany, seededPerson } from './records.js'
import { type Answer, type Asked, movableClock, serveCrm, windowed } from './server.js'

type Type = 'persons' | 'organizations'

/** A field of the account; one of its own has a hash for a code. */
interface Field {
  readonly field_code: string
  readonly field_name: string
  readonly field_type: string
  readonly options?: readonly { readonly id: number | string; readonly label: string }[]
  readonly is_custom_field?: boolean
  readonly is_optional_response_field?: boolean
}

/** How an account is. */
export interface PipedriveAccount {
  readonly contacts?: number
  readonly companies?: number
  /** Requests in two seconds. */
  readonly limit?: number
  /** What requests may cost in a day. */
  readonly tokens?: number
  readonly window?: number
  /** What the user of the token may not do, by path. */
  readonly forbidden?: RegExp
  /** Whether people have a job title, which takes contact sync. */
  readonly hasTitles?: boolean
  readonly fields?: Partial<Record<Type, readonly Field[]>>
}

/** The key that a fake Pipedrive takes. */
export const pipedriveKey = '0123456789abcdef0123456789abcdef01234567'

/** What a request costs, in tokens. */
const costs = { get: 2, list: 20, write: 10, search: 40 } as const

const userFields = ['owner_id', 'creator_user_id']
const own = (field_code: string, field_name: string, field_type = 'varchar'): Field => ({
  field_code,
  field_name,
  field_type,
})

const industries = [
  { id: 1, label: 'Computer Software' },
  { id: 2, label: 'Retail' },
  { id: 3, label: 'Machinery' },
  { id: 4, label: 'Internet' },
]

const standard: Record<Type, readonly Field[]> = {
  persons: [
    own('name', 'Name'),
    own('emails', 'Email'),
    own('phones', 'Phone', 'phone'),
    own('org_id', 'Organization', 'org'),
    own('owner_id', 'Owner', 'user'),
    own('add_time', 'Person created', 'date'),
    own('update_time', 'Update time', 'date'),
    own('visible_to', 'Visible to', 'visible_to'),
    {
      ...own('marketing_status', 'Marketing status', 'enum'),
      options: ['no_consent', 'subscribed', 'unsubscribed', 'archived'].map((id) => ({ id, label: id })),
      is_optional_response_field: true,
    },
  ],
  organizations: [
    own('name', 'Name'),
    own('website', 'Website'),
    own('linkedin', 'LinkedIn profile'),
    own('address', 'Address', 'address'),
    { ...own('industry', 'Industry', 'enum'), options: industries },
    own('annual_revenue', 'Annual revenue', 'double'),
    own('employee_count', 'Number of employees', 'double'),
    own('owner_id', 'Owner', 'user'),
    own('add_time', 'Organization created', 'date'),
    own('update_time', 'Update time', 'date'),
    own('visible_to', 'Visible to', 'visible_to'),
  ],
}

const users = [
  { id: 11, name: 'Jane Doe', email: 'jane@us.example', active_flag: true, is_you: true },
  { id: 12, name: 'John Roe', email: 'john@us.example', active_flag: true, is_you: false },
]

const readOnly = ['id', 'add_time', 'update_time', 'is_deleted', 'creator_user_id', 'first_name', 'last_name']

const refusal = (status: number, error: string, headers?: Record<string, string>): Answer => ({
  status,
  body: { success: false, error, error_info: 'Please check developers.pipedrive.com', data: null },
  ...(headers ? { headers } : {}),
})

const seconds = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`
const cursorOf = (position: number): string => Buffer.from(String(position)).toString('base64url')
const positionOf = (cursor: string | null): number =>
  cursor ? Number(Buffer.from(cursor, 'base64url').toString()) : 0

/** A Pipedrive account on this machine. */
export type FakePipedrive = Awaited<ReturnType<typeof fakePipedrive>>

/** Starts a Pipedrive with the paths of its API v2 that are used, and users of v1. It keeps nothing unique. */
export async function fakePipedrive(account: PipedriveAccount = {}) {
  const { contacts = 30, companies = 10, limit = 40, tokens = 900_000, window = 2_000 } = account
  const { forbidden, hasTitles = false } = account
  const clock = movableClock()
  const { now } = clock
  const records = {
    persons: new Records({ now, lag: 20_000, unique: [], idOf: (position) => String(5_001 + position) }),
    organizations: new Records({ now, lag: 20_000, unique: [], idOf: (position) => String(301 + position) }),
  }
  const fields: Record<Type, Field[]> = {
    persons: [
      ...standard.persons,
      ...(hasTitles ? [own('job_title', 'Job title')] : []),
      ...(account.fields?.persons ?? []),
    ],
    organizations: [...standard.organizations, ...(account.fields?.organizations ?? [])],
  }
  for (let at = 0; at < companies; at++) {
    const { domain, name, hasIndustry, employees } = seededCompany(at)
    const values = { name, website: `https://www.${domain}`, employee_count: employees, owner_id: 11 }
    records.organizations.add({ ...values, industry: hasIndustry ? 2 : undefined }, 'seed')
  }
  for (let at = 0; at < contacts; at++) {
    const { email, first, last, title, company, isOptedOut } = seededPerson(at, companies)
    const values: Fields = {
      name: `${first} ${last}`,
      emails: [{ value: email, primary: true, label: 'work' }],
      marketing_status: isOptedOut ? 'unsubscribed' : 'no_consent',
      owner_id: 11,
    }
    const orgId = Number(records.organizations.page(company, 1)[0]?.id) || undefined
    records.persons.add({ ...values, job_title: hasTitles ? title : undefined, org_id: orgId }, 'seed')
  }

  const burst = windowed(limit, window, now)
  const day = windowed(tokens, 86_400_000, now)

  const costOf = ({ method, path }: Asked): number => {
    if (method !== 'GET') return costs.write
    if (path.endsWith('/search')) return costs.search
    return /\/(\d+|me)$/.test(path) ? costs.get : costs.list
  }

  const admit = (asked: Asked): Answer | undefined => {
    if (asked.headers['x-api-token'] !== pipedriveKey) return refusal(401, 'unauthorized access')
    if (!burst.take()) {
      const reset = String(Math.ceil(burst.remaining() / 1_000))
      return refusal(429, 'Rate limit exceeded', { 'retry-after': reset })
    }
    if (!day.take(costOf(asked)))
      return refusal(429, 'Daily API token budget exceeded', { 'x-daily-ratelimit-token-remaining': '0' })
    if (forbidden?.test(`${asked.method} ${asked.path}`))
      return refusal(403, 'The user does not have permission to do this.')
    return undefined
  }

  const isCustom = (type: Type, name: string) =>
    fields[type].some((one) => one.is_custom_field === true && one.field_code === name)

  const shown = (type: Type, held: Held, query: URLSearchParams) => {
    const custom = fields[type].filter((one) => one.is_custom_field).map((one) => one.field_code)
    const wanted = query.get('custom_fields')?.split(',') ?? custom
    const extra = query.get('include_fields')?.split(',') ?? []
    const name = String(held.fields.name ?? '')
    const none = (code: string) => (code === 'emails' || code === 'phones' ? [] : null)
    const shownFields = fields[type]
      .filter(
        (one) => !one.is_custom_field && (!one.is_optional_response_field || extra.includes(one.field_code)),
      )
      .map(({ field_code: code }) => [code, held.fields[code] ?? none(code)])
    const parts = { first_name: name.split(' ')[0], last_name: name.split(' ').slice(1).join(' ') || null }
    return {
      id: Number(held.id),
      ...Object.fromEntries(shownFields),
      ...(type === 'persons' ? parts : {}),
      add_time: seconds(held.created),
      update_time: seconds(held.modified),
      is_deleted: held.isArchived,
      custom_fields: Object.fromEntries(
        custom.filter((code) => wanted.includes(code)).map((code) => [code, held.fields[code] ?? null]),
      ),
    }
  }

  /** Returns what a body writes, or what is wrong with it. */
  const writtenIn = (type: Type, body: Fields): Fields | string => {
    const { custom_fields: custom = {}, ...rest } = body
    for (const [name, value] of Object.entries({ ...rest, ...(custom as Fields) })) {
      const isOwn = name in (custom as Fields)
      const field = fields[type].find((one) => one.field_code === name)
      if (!field || isCustom(type, name) !== isOwn || readOnly.includes(name))
        return `Validation failed: ${name}: unknown field`
      if (value === null) continue
      if (field.options && !field.options.some(({ id }) => id === value))
        return `Validation failed: ${name}: ${JSON.stringify(value)} is not one of the options`
      if (field.field_type === 'double' && typeof value !== 'number')
        return `Validation failed: ${name}: Expected number`
      if (/^(emails|phones)$/.test(name) && !(Array.isArray(value) && value.every((one) => one?.value)))
        return `Validation failed: ${name}: Expected an array of objects with value`
      if (name === 'org_id' && !records.organizations.get(String(value)))
        return `Validation failed: org_id: no organization ${value}`
      if (userFields.includes(name) && !users.some(({ id }) => id === value))
        return `Validation failed: ${name}: no user ${value}`
      if (field.field_type === 'varchar' && name !== 'emails' && typeof value !== 'string')
        return `Validation failed: ${name}: Expected string`
      if (field.field_type === 'varchar' && name !== 'emails' && String(value).length > 255)
        return `Validation failed: ${name}: String must contain at most 255 characters`
      if (field.field_type === 'address' && typeof (value as Fields).value !== 'string')
        return `Validation failed: ${name}: Expected an object with value`
    }
    return { ...rest, ...(custom as Fields) }
  }

  const list = (type: Type, { query }: Asked): Answer => {
    const size = Number(query.get('limit') ?? 100)
    if (size > 500) return refusal(400, 'Validation failed: limit: Number must be less than or equal to 500')
    if ((query.get('custom_fields')?.split(',').length ?? 0) > 15)
      return refusal(400, 'Validation failed: custom_fields: at most 15')
    const ids = query.get('ids')?.split(',')
    if (ids && ids.length > 100) return refusal(400, 'Validation failed: ids: at most 100')
    const since = Date.parse(query.get('updated_since') ?? '') || undefined
    const sort = query.get('sort_by') ?? 'id'
    const passing = (held: Held) =>
      !held.isArchived &&
      (!ids || ids.includes(held.id)) &&
      // Times of change are told in whole seconds.
      (since === undefined || Math.floor(held.modified / 1_000) * 1_000 >= since)
    const results: object[] = []
    const all = records[type]
    if (sort === 'id' && !ids) {
      let from = positionOf(query.get('cursor'))
      for (; from < all.size && results.length < size; from++) {
        const held = all.page(from, 1)[0]
        if (held && passing(held)) results.push(shown(type, held, query))
      }
      const next = from < all.size ? cursorOf(from) : null
      return { status: 200, body: { success: true, data: results, additional_data: { next_cursor: next } } }
    }
    const found = all.live().filter(passing)
    if (sort === 'update_time') found.sort((one, other) => one.modified - other.modified)
    const from = positionOf(query.get('cursor'))
    const data = found.slice(from, from + size).map((held) => shown(type, held, query))
    const next = from + size < found.length ? cursorOf(from + size) : null
    return { status: 200, body: { success: true, data, additional_data: { next_cursor: next } } }
  }

  const schema = (type: Type, asked: Asked): Answer => {
    if (asked.method === 'POST') {
      const { field_name, field_type } = asked.json as { field_name: string; field_type: string }
      const code = Buffer.from(field_name.padEnd(20, '-')).toString('hex').slice(0, 40)
      const made = { field_code: code, field_name, field_type, is_custom_field: true }
      fields[type].push(made)
      return { status: 200, body: { success: true, data: made } }
    }
    const data = fields[type].map((one) => ({
      options: null,
      subfields: null,
      is_custom_field: false,
      is_optional_response_field: false,
      ...one,
    }))
    return { status: 200, body: { success: true, data, additional_data: { next_cursor: null } } }
  }

  const answer = (asked: Asked): Answer => {
    const { method, path } = asked
    const [, api, version, name = '', id] = path.split('/')
    const success = (data: unknown, status = 200): Answer => ({ status, body: { success: true, data } })
    if (api !== 'api') return refusal(404, 'Unknown method .')
    if (version === 'v1' && name === 'users') {
      const me = { company_id: 7_654, company_name: 'Us', company_domain: 'us' }
      return success(id === 'me' ? { ...users[0], ...me } : users)
    }
    if (version !== 'v2') return refusal(404, 'Unknown method .')
    if (name === 'personFields') return schema('persons', asked)
    if (name === 'organizationFields') return schema('organizations', asked)
    if (name !== 'persons' && name !== 'organizations') return refusal(404, 'Unknown method .')
    const table = records[name]
    if (id === undefined && method === 'GET') return list(name, asked)
    if (id === 'search') {
      const term = asked.query.get('term')?.toLowerCase() ?? ''
      const found = table.seen().filter((held) => JSON.stringify(held.fields).toLowerCase().includes(term))
      return success({
        items: found.slice(0, 100).map((held) => ({ item: { id: Number(held.id), ...held.fields } })),
      })
    }
    if (id === undefined) {
      const values = writtenIn(name, (asked.json ?? {}) as Fields)
      if (typeof values === 'string') return refusal(400, values)
      if (!values.name) return refusal(400, 'Validation failed: name: Required')
      return success(shown(name, table.add(values, 'caller'), new URLSearchParams()), 201)
    }
    if (!table.get(id)) return refusal(404, `${name === 'persons' ? 'Person' : 'Organization'} not found.`)
    if (method === 'DELETE') {
      table.archive(id, 'caller')
      return success({ id: Number(id) })
    }
    if (method === 'PATCH') {
      const values = writtenIn(name, (asked.json ?? {}) as Fields)
      if (typeof values === 'string') return refusal(400, values)
      table.change(id, values, 'caller')
    }
    return success(shown(name, table.here(id), asked.query))
  }

  const server = await serveCrm({
    isWrite: ({ method }) => method !== 'GET',
    admit,
    answer,
    headers: () => ({
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(burst.left()),
      'x-ratelimit-reset': String(Math.ceil(burst.remaining() / 1_000)),
      'x-daily-ratelimit-token-limit': String(tokens),
      'x-daily-ratelimit-token-remaining': String(day.left()),
    }),
  })
  return {
    ...server,
    ...records,
    /** Moves the clock of the account on. */
    pass: clock.pass,
    fields,
    /** Tokens that were used up today. */
    spent: () => tokens - day.left(),
  }
}
