import { Refusal } from '../api/calls/errors.js'
import { type Fields, isObject, resultOr, withoutUndefined } from '../api/values/objects.js'
import { limitsIn, listOf, timeOf, wholeIn } from './answers.js'
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

export const hubspotUrl = 'https://api.hubapi.com'

/** Paths are dated: https://developers.hubspot.com/docs/api-reference, read in November 2026. */
const version = '2026-09'
const types: Readonly<Record<CrmKind, string>> = { companies: 'companies', people: 'contacts' }
const changeDates: Readonly<Record<CrmKind, string>> = {
  companies: 'hs_lastmodifieddate',
  people: 'lastmodifieddate',
}
const atOnce = 100
const foundAtOnce = 200
/** A query of the search returns no more than these. */
const mostFound = 10_000
/** Searches are limited to five a second, beside the limit of all requests. */
const searchPauseMs = 200
const defaultIntervalMs = 10_000
const ownKey = 'prospect_key'

const fields = {
  companies: {
    name: 'name',
    domain: 'domain',
    website: 'website',
    network_url: 'linkedin_company_page',
    phone: 'phone',
    industry: 'industry',
    headcount: 'numberofemployees',
    revenue: 'annualrevenue',
    city: 'city',
    country: 'country',
    description: 'description',
  },
  people: {
    first_name: 'firstname',
    last_name: 'lastname',
    email: 'email',
    // Before the phone: a number of that name is one, too.
    mobile: 'mobilephone',
    phone: 'phone',
    title: 'jobtitle',
    company_name: 'company',
    network_profile_url: 'hs_linkedin_url',
    city: 'city',
    country: 'country',
  },
} as const

const alsoRead = {
  companies: ['hs_additional_domains', 'hubspot_owner_id', 'lifecyclestage'],
  people: [
    'hs_additional_emails',
    'hs_email_optout',
    'associatedcompanyid',
    'hubspot_owner_id',
    'lifecyclestage',
  ],
} as const

const scopes: Readonly<Record<CrmKind, Readonly<Record<'read' | 'write' | 'schema', string>>>> = {
  companies: {
    read: 'crm.objects.companies.read',
    write: 'crm.objects.companies.write',
    schema: 'crm.schemas.companies.read',
  },
  people: {
    read: 'crm.objects.contacts.read',
    write: 'crm.objects.contacts.write',
    schema: 'crm.schemas.contacts.read',
  },
}

const dailyHeaders = {
  limit: 'x-hubspot-ratelimit-daily',
  remaining: 'x-hubspot-ratelimit-daily-remaining',
} as const

export function createHubspot({ key, baseUrl, http }: ConnectorGiven): CrmConnector {
  let limits: CrmLimits = { unit: 'requests' }
  const pacing: CrmPacing = {
    pauseAfter: (answer) =>
      wholeIn(answer.headers['x-hubspot-ratelimit-remaining']) === 0 ? intervalOf(answer) : 0,
    limitOf: (answer) => {
      if (answer.status !== 429) return undefined
      const { policyName } = isObject(answer.body) ? answer.body : {}
      if (policyName === 'DAILY') return 'day'
      const asked = wholeIn(answer.headers['retry-after'])
      if (asked !== undefined) return asked * 1_000
      return policyName === 'SECONDLY' ? 1_000 : intervalOf(answer)
    },
  }
  const searchPacing: CrmPacing = {
    ...pacing,
    pauseAfter: (answer, now) => Math.max(searchPauseMs, pacing.pauseAfter(answer, now)),
  }

  async function ask(
    request: Pick<CrmRequest, 'method' | 'body' | 'isRepeatable'> & { readonly path: string },
    pace: CrmPacing = pacing,
  ): Promise<CrmAnswer> {
    const { path, ...rest } = request
    const url = baseUrl + path
    const answer = await http.send({ ...rest, url, headers: { authorization: `Bearer ${key}` } }, pace)
    if (answer === 'day') throw spentToday('hubspot', { ...limits, leftToday: 0 })
    limits = limitsIn(answer, limits, dailyHeaders)
    const { status } = answer
    if (status === 401 || status === 403)
      throw denied('hubspot', status, sentenceOf(answer), scopesIn(answer.body))
    return answer
  }
  const read = async (path: string, query: Readonly<Record<string, string | undefined>> = {}) => {
    const search = new URLSearchParams(withoutUndefined(query) as Record<string, string>).toString()
    return expect(await ask({ method: 'GET', path: search ? `${path}?${search}` : path, isRepeatable: true }))
  }
  const post = (path: string, body: unknown, isRepeatable: boolean, pace?: CrmPacing) =>
    ask({ method: 'POST', path, body, isRepeatable }, pace)

  /** Writes a batch. What the CRM did not say of a record of it is not known. */
  async function write(
    kind: CrmKind,
    action: 'create' | 'update',
    writes: readonly CrmWrite[],
  ): Promise<readonly CrmWritten[]> {
    if (writes.length === 0) return []
    const inputs = writes.map(({ ref, id, values }) =>
      withoutUndefined({ id, properties: values, objectWriteTraceId: ref }),
    )
    const path = `/crm/objects/${version}/${types[kind]}/batch/${action}`
    // Values that are set twice are the same.
    const answer = await post(path, { inputs }, action === 'update')
    const { status, body } = answer
    if (status >= 400) throw new BatchRefused(sentenceOf(answer), existingIn(sentenceOf(answer)))
    const { results, errors } = (isObject(body) ? body : {}) as { results?: unknown; errors?: unknown }
    const records = listOf(results)
    const failures = listOf(errors)
    return writes.flatMap((one): CrmWritten[] => {
      const failed = failures.find((each) => isAbout(each, one))
      if (failed) {
        const error = sentenceIn(failed) ?? 'It was refused.'
        return [{ ref: one.ref, error, existing: existingIn(error) }]
      }
      const found =
        records.find((each) => each.objectWriteTraceId === one.ref) ??
        records.find((each) => (one.id === undefined ? isOf(each, one.values) : each.id === one.id))
      return found ? [{ ref: one.ref, record: toRecord(found) }] : []
    })
  }

  async function missingScopes(): Promise<readonly string[]> {
    const missing = new Set<string>()
    const attempt = async (scope: string, work: () => Promise<unknown>) => {
      try {
        await work()
      } catch (error) {
        if (!isDenied(error)) throw error
        missing.add(scope)
      }
    }
    for (const kind of ['companies', 'people'] as const) {
      const own = scopes[kind]
      const objects = `/crm/objects/${version}/${types[kind]}`
      await attempt(own.read, () => read(objects, { limit: '1' }))
      // A batch of none writes nothing: it is refused as invalid, or for the lack of the permission.
      await attempt(own.write, () => post(`${objects}/batch/update`, { inputs: [] }, true))
      await attempt(own.schema, () => read(`/crm/properties/${version}/${types[kind]}`))
    }
    await attempt('crm.objects.owners.read', () => read(`/crm/owners/${version}`, { limit: '1' }))
    return [...missing]
  }

  const associations = `/crm/associations/${version}/contacts/companies`
  const pairInputs = (pairs: readonly { readonly person: string; readonly company: string }[]) =>
    pairs.map(({ person, company }) => ({ from: { id: person }, to: { id: company } }))

  return {
    crm: 'hubspot',
    fields,
    alsoRead,
    onCreation: ['hubspot_owner_id', 'lifecyclestage', 'hs_lead_status'],
    required: { companies: [], people: [] },
    derived: ['website'],
    changesLag: true,
    company: 'associatedcompanyid',
    owner: 'hubspot_owner_id',
    costs: {
      list: { records: atOnce, counts: 1 },
      read: { records: atOnce, counts: 1 },
      write: { records: atOnce, counts: 1 },
    },
    unique: { companies: [], people: ['email'] },
    isOptedOut: ({ hs_email_optout }) => hs_email_optout === 'true',
    identities: (kind, values) => (kind === 'companies' ? companyFields(values) : personFields(values)),
    async account() {
      const details = await read(`/account-info/${version}/details`)
      const { portalId, accountType, uiDomain } = details
      const id = String(portalId ?? '')
      return {
        id,
        name: uiDomain === undefined ? id : `${id} (${String(uiDomain)})`,
        // What kind it is of decides, not what it is called: everything that is not known as a test account is real.
        isLive: !/SANDBOX|DEVELOPER|TEST/i.test(String(accountType ?? '')),
        missing: await missingScopes(),
      }
    },
    async schema(kind) {
      const { results } = await read(`/crm/properties/${version}/${types[kind]}`)
      return listOf(results).map(toProperty)
    },
    async createKey(kind) {
      const path = `/crm/properties/${version}/${types[kind]}`
      const { results } = await read(path)
      if (listOf(results).some(({ name }) => name === ownKey)) return ownKey
      const group = kind === 'companies' ? 'companyinformation' : 'contactinformation'
      const property = {
        name: ownKey,
        label: 'Prospect key',
        type: 'string',
        fieldType: 'text',
        groupName: group,
        hasUniqueValue: true,
        description: 'Set by prospect, so that no record is created twice.',
      }
      const answer = await post(path, property, false)
      // Somebody may have added it a moment ago.
      if (answer.status !== 409) expect(answer)
      return ownKey
    },
    async owners() {
      const owners: { readonly id: string; readonly email: string }[] = []
      let after: string | undefined
      do {
        const page = await read(`/crm/owners/${version}`, { limit: String(atOnce), after })
        for (const { id, email } of listOf(page.results))
          owners.push({ id: String(id), email: String(email ?? '').toLowerCase() })
        after = nextOf(page)
      } while (after !== undefined)
      return owners
    },
    async list(kind, properties, after): Promise<CrmPage> {
      const page = await read(`/crm/objects/${version}/${types[kind]}`, {
        limit: String(atOnce),
        after,
        properties: properties.join(','),
      })
      return { records: listOf(page.results).map(toRecord), next: nextOf(page) }
    },
    async changed(kind, properties, since, cursor): Promise<CrmPage> {
      const [from = String(since), after = ''] = cursor?.split(' ') ?? []
      const propertyName = changeDates[kind]
      const body = {
        filterGroups: [{ filters: [{ propertyName, operator: 'GTE', value: from }] }],
        sorts: [{ propertyName, direction: 'ASCENDING' }],
        properties: [...properties],
        limit: foundAtOnce,
        ...(after === '' ? {} : { after }),
      }
      const path = `/crm/objects/${version}/${types[kind]}/search`
      const page = expect(await post(path, body, true, searchPacing))
      const records = listOf(page.results).map(toRecord)
      const next = nextOf(page)
      if (next === undefined) return { records }
      if (Number(next) + foundAtOnce <= mostFound) return { records, next: `${from} ${next}` }
      // A query ends there: the next one begins with the last change that was seen.
      const last = records.at(-1)?.changedAt ?? 0
      return last > Number(from) ? { records, next: `${last} ` } : { records, isCut: true }
    },
    async read(kind, by, values, properties) {
      if (values.length === 0) return []
      const body = {
        ...(by === 'id' ? {} : { idProperty: by }),
        inputs: values.map((id) => ({ id })),
        properties: [...properties],
      }
      const answer = await post(`/crm/objects/${version}/${types[kind]}/batch/read`, body, true)
      // Where none is there, it may be 404.
      if (answer.status === 404) return []
      return listOf(expect(answer).results).map(toRecord)
    },
    create: (kind, writes) => write(kind, 'create', writes),
    update: (kind, writes) => write(kind, 'update', writes),
    async archive(kind, ids) {
      const path = `/crm/objects/${version}/${types[kind]}/batch/archive`
      expect(await post(path, { inputs: ids.map((id) => ({ id })) }, true))
    },
    async associate(pairs) {
      expect(await post(`${associations}/batch/associate/default`, { inputs: pairInputs(pairs) }, true))
    },
    async dissociate(pairs) {
      const inputs = pairs.map(({ person, company }) => ({ from: { id: person }, to: [{ id: company }] }))
      expect(await post(`${associations}/batch/archive`, { inputs }, true))
    },
    async companiesOf(people) {
      if (people.length === 0) return new Map()
      const answer = await post(`${associations}/batch/read`, { inputs: people.map((id) => ({ id })) }, true)
      const found = answer.status === 404 ? [] : listOf(expect(answer).results)
      return new Map(
        found.flatMap(({ from, to }): [string, string][] => {
          const person = isObject(from) ? from.id : undefined
          const company = listOf(to)[0]?.toObjectId
          return person === undefined || company === undefined ? [] : [[String(person), String(company)]]
        }),
      )
    },
    limits: () => limits,
    close: () => http.close(),
  }
}

const intervalOf = ({ headers }: CrmAnswer): number =>
  wholeIn(headers['x-hubspot-ratelimit-interval-milliseconds']) ?? defaultIntervalMs

const sentenceOf = ({ status, body }: CrmAnswer): string =>
  sentenceIn(isObject(body) ? body : {}) ?? `status ${status}`

function sentenceIn({ message, errors, category }: Fields): string | undefined {
  const details = listOf(errors).flatMap((each) => (typeof each.message === 'string' ? [each.message] : []))
  if (typeof message !== 'string' || message === '')
    return details[0] ?? (category === undefined ? undefined : String(category))
  const [, list] = /^Property values were not valid: (\[.*\])$/s.exec(message) ?? []
  const inner = list === undefined ? undefined : resultOr(undefined, () => JSON.parse(list) as unknown)
  const said = listOf(inner).flatMap((each) => (typeof each.message === 'string' ? [each.message] : []))
  return said.length > 0 ? said.join('; ') : message
}

/** Returns the body of a success. Of anything else the CRM's sentence is a refusal of all of it. */
function expect(answer: CrmAnswer): Fields {
  if (answer.status >= 300) throw new Refusal('crm.refused', { crm: 'hubspot', sentence: sentenceOf(answer) })
  return isObject(answer.body) ? answer.body : {}
}

const isDenied = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'crm.denied' && isForbidden(error)

const isForbidden = (error: object): boolean =>
  (error as { readonly details?: { readonly status?: unknown } }).details?.status === 403

/** Returns the permissions that the answer says are needed. */
function scopesIn(body: unknown): readonly string[] {
  const { errors, context } = isObject(body) ? body : {}
  const contexts = [context, ...listOf(errors).map((each) => each.context)].filter(isObject)
  const named = contexts.flatMap((one) => [one.requiredGranularScopes, one.requiredScopes].flat())
  return [...new Set(named.filter((scope) => typeof scope === 'string'))]
}

/** Whether a failure is about a write: by what names it in its batch, else by the record. */
function isAbout({ context }: Fields, { ref, id }: CrmWrite): boolean {
  if (!isObject(context)) return false
  const ids = [context.id, context.ids].flat()
  return [context.objectWriteTraceId].flat().includes(ref) || (id !== undefined && ids.includes(id))
}

/** Returns the record that a refusal names as the one that is there already. */
const existingIn = (text: string): string | undefined => /Existing ID:\s*(\w+)/i.exec(text)?.[1]

/** Whether a record that was created has what was written. */
function isOf({ properties }: Fields, values: CrmValues): boolean {
  if (!isObject(properties)) return false
  const all = Object.entries(values)
  return all.length > 0 && all.every(([name, value]) => sameText(properties[name], value))
}

const sameText = (one: unknown, other: string): boolean =>
  String(one ?? '').toLowerCase() === other.toLowerCase()

const nextOf = ({ paging }: Fields): string | undefined => {
  const next = isObject(paging) && isObject(paging.next) ? paging.next.after : undefined
  return next === undefined || next === null ? undefined : String(next)
}

function toRecord({ id, properties, createdAt, updatedAt }: Fields): CrmRecord {
  const values = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, value]) =>
    value === null || value === undefined || value === '' ? [] : [[name, String(value)] as const],
  )
  return {
    id: String(id),
    values: Object.fromEntries(values),
    createdAt: timeOf(createdAt),
    changedAt: timeOf(updatedAt),
  }
}

const propertyTypes: Readonly<Record<string, CrmProperty['type']>> = {
  number: 'number',
  bool: 'boolean',
  date: 'date',
  datetime: 'datetime',
  enumeration: 'choice',
}

function toProperty(given: Fields): CrmProperty {
  const { name, label, type, fieldType, modificationMetadata, calculated, options } = given
  const readOnly = isObject(modificationMetadata) && modificationMetadata.readOnlyValue === true
  const own = propertyTypes[String(type)] ?? 'text'
  return {
    name: String(name),
    label: String(label ?? name),
    type: own === 'choice' && fieldType === 'checkbox' ? 'choices' : own,
    isReadOnly: readOnly || calculated === true,
    options: listOf(options).map(({ value, label: shown }) => ({
      value: String(value),
      label: String(shown ?? value),
    })),
  }
}

/** Several values are in one text, with semicolons. */
const partsOf = (text: string | undefined): readonly string[] =>
  (text ?? '').split(';').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]))

function companyFields(values: CrmValues): readonly Fields[] {
  const { name, domain, website, linkedin_company_page, country, hs_additional_domains } = values
  const own = withoutUndefined({ name, network_url: linkedin_company_page, country })
  const domains = [...partsOf(domain ?? website), ...partsOf(hs_additional_domains)]
  return domains.length === 0 ? [own] : domains.map((one) => ({ ...own, domain: one }))
}

function personFields(values: CrmValues): readonly Fields[] {
  const { email, firstname, lastname, company, hs_linkedin_url, hs_additional_emails } = values
  const own = withoutUndefined({
    first_name: firstname,
    last_name: lastname,
    company_name: company,
    network_url: hs_linkedin_url,
  })
  const emails = [...partsOf(email), ...partsOf(hs_additional_emails)]
  return emails.length === 0 ? [own] : emails.map((one) => ({ ...own, email: one }))
}
