import type { Node, Pair } from 'yaml'
import * as z from 'zod'
import { Refusal } from '../api/calls/errors.js'
import { explainIssue } from '../api/validation/explain-issue.js'
import { durationPattern, unitMs } from '../api/values/duration.js'
import { nearest } from '../api/values/nearest.js'
import { isObject, pickFields, resultOr } from '../api/values/objects.js'

export const providerKinds = ['email', 'personal_email', 'phone', 'person', 'company', 'verify'] as const
export type ProviderKind = (typeof providerKinds)[number]

/** What identifies a person or a company in a request, and what `needs` may name. */
export const subjectFields = [
  'first_name',
  'last_name',
  'full_name',
  'domain',
  'company_name',
  'network_url',
  'network_handle',
  'email',
  'country',
] as const
export type SubjectField = (typeof subjectFields)[number]
/** A column of the file whose row is asked about, by its name there. */
export type ColumnField = `input.${string}`
export type Subject = Partial<Readonly<Record<SubjectField | ColumnField, string>>>

const columnPattern = /^input\.[^{}.\s][^{}]*$/
export const isColumnField = (name: string): name is ColumnField => columnPattern.test(name)

const outcomeWords = [
  ...(['found', 'not_found', 'again', 'rate_limited', 'out_of_credits', 'invalid_key'] as const),
  ...(['failed', 'unknown'] as const),
]
export type OutcomeWord = (typeof outcomeWords)[number]

const resultFields: Readonly<Record<ProviderKind, readonly string[]>> = {
  email: ['email', 'email_status'],
  personal_email: ['personal_email', 'personal_email_status'],
  phone: ['phone'],
  verify: ['email_status'],
  person: `first_name last_name full_name title headline summary seniority function location city country
    network_profile_url email email_status phone company_name company_domain`.split(/\s+/),
  company: `name domain website description industry company_type headcount headquarters location city country
    founded_year phone network_url`.split(/\s+/),
}

/** The value that a kind is asked for; a person or company may have any. */
export const mainField: Partial<Record<ProviderKind, string>> = {
  email: 'email',
  personal_email: 'personal_email',
  phone: 'phone',
  verify: 'email_status',
}

const say = <T extends z.ZodType>(schema: T, description: string): T => schema.describe(description) as T

const duration = (description: string) =>
  say(z.string().regex(durationPattern, 'write a duration such as 30s or 10m'), description)

const ratePattern = /^(\d+(?:\.\d+)?)\/(s|sec|second|min|m|minute|h|hour|d|day)$/

/** Returns the milliseconds between the requests of a rate such as `500/min`. */
export function toIntervalMs(rate: string): number {
  const [, count, unit = 's'] = ratePattern.exec(rate) ?? []
  return unitMs[unit.charAt(0) as 's' | 'm' | 'h' | 'd'] / Number(count)
}

const condition = (description: string) =>
  say(z.string().min(1), `${description}: CEL over status, headers, body and item`)
const pathStart = /^(?:status|headers|body|item)(?![\w-])/
const isPath = (text: string): boolean => pathStart.test(text)
const path = (description: string) =>
  say(
    z.string().regex(pathStart, 'begin with status, headers, body or item, such as body.data.email'),
    `${description}: a path such as body.data.email`,
  )
const template: z.ZodType<unknown> = z.any()

const requestMethods = ['get', 'post', 'put', 'patch'] as const

const requestFields = {
  get: say(z.string(), 'the path of a GET request; {field} stands for a value of the row').optional(),
  post: say(z.string(), 'the path of a POST request').optional(),
  put: say(z.string(), 'the path of a PUT request').optional(),
  patch: say(z.string(), 'the path of a PATCH request').optional(),
  query: say(z.record(z.string(), template), 'the query; what has no value is left out').optional(),
  headers: say(z.record(z.string(), z.string()), 'headers of this request').optional(),
  body: say(template, 'the body, sent as JSON; what has no value is left out').optional(),
  form: say(
    z.record(z.string(), template),
    'the body, sent as a form; what has no value is left out',
  ).optional(),
}

type Paths = Partial<Record<(typeof requestMethods)[number], unknown>>
const oneMethod = (paths: Paths) => requestMethods.filter((one) => paths[one] !== undefined).length === 1
const oneBody = ({ body, form }: { body?: unknown; form?: unknown }) =>
  body === undefined || form === undefined
/** A request, with what else is said of it. */
const requestWith = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z
    .strictObject({ ...requestFields, ...fields })
    .refine(oneMethod, { error: `give one of ${requestMethods.join(', ')}` })
    .refine(oneBody, { error: 'give body or form' })

const requestSchema = requestWith({})

const outcomeSchema = z.strictObject({
  when: condition('when it fits'),
  is: say(z.enum(outcomeWords), 'what the answer means'),
  wait: duration('how long to wait before the request is repeated, for again and rate_limited').optional(),
})

const caseSchema = z.strictObject({
  when: condition('when it fits'),
  is: say(z.union([z.string(), z.number(), z.boolean()]), 'the value'),
})

const mappedSchema = z
  .strictObject({
    from: path('where the value is').optional(),
    first: say(z.array(path('where a value may be')).min(1), 'paths; the first that has one').optional(),
    text: say(z.string(), 'a text with paths in braces, such as {body.first} {body.last}').optional(),
    cases: say(z.array(caseSchema).min(1), 'values; that of the first condition that fits').optional(),
    map: say(z.record(z.string(), z.any()), "the vendor's words and what they become").optional(),
    else: say(z.any(), 'what any other word becomes').optional(),
  })
  .refine(
    ({ from, first, text, cases }) =>
      [from, first, text, cases].filter((one) => one !== undefined).length === 1,
    { error: 'give one of from, first, text, cases' },
  )

const credits = (description: string) => say(z.number().nonnegative(), description).optional()

const costSchema = z.strictObject({
  found: credits('credits of the provider for what is found, where the answer does not say it'),
  not_found: credits('credits for what is not found, where the answer does not say it'),
  from: say(
    z.union([path('where the answer says its cost'), mappedSchema]),
    'what the answer says that it cost',
  ).optional(),
  header: say(z.string(), 'the header that says its cost').optional(),
  most: say(
    z.number().positive(),
    'the most that an answer costs, where the vendor says it afterwards',
  ).optional(),
})

/** What a search of a vendor finds, and the kind whose fields its items have. */
export const searchKinds = { people: 'person', companies: 'company' } as const

const searchSchema = requestWith({
  of: say(z.enum(['people', 'companies']), 'what it finds'),
  items: path('where a page has its items'),
  next: z
    .strictObject({
      cursor: path('where a page says which comes next').optional(),
      page: say(z.int().nonnegative(), 'the number of the first page, where pages have numbers').optional(),
      into: say(
        z
          .string()
          .regex(
            /^(?:query|body|form)(?:\.[\w-]+)+$/,
            'begin with query, body or form, such as query.cursor',
          ),
        'where the request has it: query.cursor',
      ),
    })
    .refine(({ cursor, page }) => (cursor === undefined) !== (page === undefined), {
      error: 'give cursor or page',
    }),
  size: say(z.int().min(1).max(10_000), 'the most items of a page').optional(),
  outcomes: say(z.array(outcomeSchema).min(1), 'what a page means: the first that fits decides'),
  result: say(
    z.record(z.string(), z.union([path('where the value is'), mappedSchema])),
    'which values an item has: paths that begin with item',
  ),
  cost: costSchema.extend({ row: credits('credits for each item of a page') }).optional(),
})

/** What a signature may be over. */
const signedWords = ['timestamp', 'timestamp_ms', 'method', 'path', 'body'] as const

/** What a signature of a delivery may be over. */
const deliveredWords = ['timestamp', 'body'] as const

const signatureFields = (words: readonly string[], whose: string) => ({
  header: say(z.string(), `the header that has the signature${whose}`),
  hmac: say(z.enum(['sha1', 'sha256', 'sha512']), 'the hash of the HMAC'),
  over: say(z.string(), `what is signed: a text with ${words.map((one) => `{${one}}`).join(', ')}`),
  encoding: say(z.enum(['hex', 'base64']), 'how the signature is written (default: hex)').optional(),
  prefix: say(z.string(), 'what stands before the signature, such as sha256=').optional(),
  timestamp: say(z.string(), 'the header that has the timestamp').optional(),
})

const webhookSchema = z.strictObject({
  field: say(
    z.string().regex(/^[\w-]+(?:\.[\w-]+)*$/, 'give the name of a field, such as callback_url'),
    'where submit gets the address that the answer is sent to: a field of its body or form, or of its query without one',
  ),
  id: path('where a delivery has the id of the work').optional(),
  result: path('where a delivery has the answer (default: body)').optional(),
  done: condition('when a delivery has the answer (default: done of poll)').optional(),
  sign: say(
    z.union([z.literal('standard'), z.strictObject(signatureFields(deliveredWords, ''))]),
    'how deliveries are signed: standard (Standard Webhooks), or a signature of its own; others are refused',
  ).optional(),
  wait: duration('how long nothing may arrive before it is polled, too (default: 30s)').optional(),
  without: say(
    z.record(z.string(), template),
    'fields that submit gets instead where no address is known, and the answer is polled',
  ).optional(),
  give_up: duration('how long to wait where there is no poll (default: 10m)').optional(),
})

const neededField = z.union([
  z.enum(subjectFields),
  z.string().regex(columnPattern, { error: 'name a field, or a column such as input.Region', abort: true }),
]) as z.ZodType<SubjectField | ColumnField>

const kindSchema = z
  .strictObject({
    needs: say(
      z.array(z.array(neededField).min(1)).min(1),
      'sets of fields; the first that the row has is sent',
    ),
    request: say(
      z.union([z.string(), requestSchema]),
      'the request that is answered at once, or its name in requests',
    ).optional(),
    submit: requestWith({
      id: path('where the answer has the id of the work'),
      accepted: condition('when the work was accepted'),
    }).optional(),
    poll: requestWith({
      every: duration('how often to ask'),
      done: condition('when the answer is there'),
      lost: condition('when the vendor does not know the work (default: status 404 or 410)').optional(),
      give_up: duration('how long to ask'),
    }).optional(),
    webhook: say(webhookSchema, 'how the answer to submitted work is sent to this machine').optional(),
    batch: z
      .strictObject({
        size: say(z.int().min(1).max(1_000), 'rows in one request'),
        items: path('where the answer has its items'),
        by: say(z.string(), 'order, or where an item has the {row} that was sent, such as id'),
      })
      .optional(),
    outcomes: say(z.array(outcomeSchema).min(1), 'what an answer means: the first that fits decides'),
    result: say(
      z.record(z.string(), z.union([path('where the value is'), mappedSchema])),
      'which values the answer has',
    ),
    cost: costSchema.optional(),
  })
  .refine(({ request, submit }) => (request === undefined) !== (submit === undefined), {
    error: 'give request, or submit with poll',
  })
  .refine(({ submit, poll }) => submit !== undefined || poll === undefined, {
    error: 'poll is for work that was submitted: give submit',
  })
  .refine(({ submit, webhook }) => submit !== undefined || webhook === undefined, {
    error: 'webhook is for work that was submitted: give submit',
  })
  .refine(
    ({ submit, poll, webhook }) => submit === undefined || poll !== undefined || webhook !== undefined,
    {
      error: 'give poll or webhook, which says how the answer comes',
    },
  )
  .refine(({ poll, webhook }) => poll === undefined || webhook?.give_up === undefined, {
    error: 'give_up of webhook is that of poll, where there is one',
  })
  .refine(
    ({ poll, webhook }) =>
      poll !== undefined || (webhook?.wait === undefined && webhook?.without === undefined),
    { error: 'wait and without of webhook are for a kind with poll' },
  )

const authSchema = z
  .strictObject({
    header: say(z.string(), 'the header that has the key').optional(),
    query: say(z.string(), 'the query parameter that has the key').optional(),
    body: say(z.string(), 'the field of the body or form that has the key').optional(),
    path: say(z.string(), 'what comes before each path; {key} stands for the key').optional(),
    bearer: say(z.literal(true), 'the key as a bearer token').optional(),
    headers: say(
      z.record(z.string(), z.string()),
      'headers; {key} stands for the key, {key_base64} for its Base64',
    ).optional(),
    oauth: z
      .strictObject({
        token_url: say(z.string(), 'where client_id:client_secret, the key, becomes a token'),
        client_id: say(z.string().min(1), 'the client id; the key is then the secret alone').optional(),
        scope: z.string().optional(),
        in: say(
          z.enum(['header', 'body']),
          'where client_id and client_secret are sent (default: header)',
        ).optional(),
      })
      .optional(),
    sign: z.strictObject(signatureFields(signedWords, ', whose secret is the key')).optional(),
  })
  .refine((auth) => Object.values(auth).filter((one) => one !== undefined).length === 1, {
    error: 'give one of header, query, body, path, bearer, headers, oauth, sign',
  })

export const providerSchema = z.strictObject({
  name: say(
    z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, 'use lower-case letters, digits, - and _'),
    'what it is called here',
  ),
  base_url: say(
    z
      .string()
      .regex(
        /^https?:\/\/[^\s{}@/?#]+(?:[/?#][^\s{}]*)?$/,
        'give an address that begins with https://, without a user name',
      ),
    'the address that paths are added to',
  ),
  auth: authSchema,
  limits: z
    .strictObject({
      rates: say(
        z.array(z.string().regex(ratePattern, 'write a rate such as 15/s or 500/min')),
        'rates that all hold',
      ).optional(),
      concurrent: say(z.int().min(1), 'requests at the same time').optional(),
    })
    .optional(),
  timeout: duration('how long an answer may take (default: 30s)').optional(),
  patience: duration(
    'how long it may only refuse for its rate before it is passed over for the rest of a run (default: 2m)',
  ).optional(),
  max_age: duration('how old an answer may be that is used again (default: 90d)').optional(),
  max_cost_per_day: credits('the most of its credits in a day (UTC)'),
  balance: requestWith({ credits: path('where the answer has what is left') }).optional(),
  test: z
    .strictObject({
      key: say(z.string(), "the vendor's free test key").optional(),
      row: say(z.partialRecord(z.enum(subjectFields), z.string()), 'whom providers test asks about'),
    })
    .optional(),
  requests: say(
    z.record(z.string(), requestSchema),
    'requests by name; one that several kinds name is asked once for a row',
  ).optional(),
  kinds: say(z.partialRecord(z.enum(providerKinds), kindSchema), 'what it can be asked for').default({}),
  search: say(
    searchSchema,
    'how it finds people or companies, page by page, as the input of flows',
  ).optional(),
})

export type RequestFile = z.output<typeof requestSchema>
export type KindFile = Omit<z.output<typeof kindSchema>, 'request'> & { readonly request?: RequestFile }
/** A file whose named requests stand in its kinds. */
export type ProviderFile = Omit<z.output<typeof providerSchema>, 'kinds' | 'requests'> & {
  readonly kinds: Partial<Record<ProviderKind, KindFile>>
}
export type Signature = Exclude<NonNullable<NonNullable<KindFile['webhook']>['sign']>, string>
export type SearchFile = z.output<typeof searchSchema>
export type Mapped = string | z.output<typeof mappedSchema>

/** Returns an address with a path added to it. */
export const addressOf = (base: string, path: string): string =>
  path === '' ? base : base.replace(/\/+$/, '') + (path.startsWith('/') ? path : `/${path}`)

/** Returns where a token is asked for: a path is one of the vendor's address. */
export const tokenUrlOf = ({
  auth: { oauth },
  base_url,
}: Pick<ProviderFile, 'auth' | 'base_url'>): string | undefined =>
  oauth && (oauth.token_url.startsWith('/') ? addressOf(base_url, oauth.token_url) : oauth.token_url)

/** The published schema of the file, for editors. */
export const providerJsonSchema = () => ({
  ...z.toJSONSchema(providerSchema, { io: 'input' }),
  title: 'A data provider of prospect',
})

/** Names that stand for what is built in. */
const builtIn = ['catalogue', 'pattern', 'mx']

const maxBytes = 256 * 1_024

/** What is wrong, and where: below a place of the file. */
type Refuse = (problem: string, at: Path, details?: Readonly<Record<string, unknown>>) => never
type Path = readonly PropertyKey[]

/** A file that was read, and what refuses a place in it. */
export interface ReadProvider {
  readonly file: ProviderFile
  readonly refuse: Refuse
}

/** Returns a provider file as YAML, for a person to change. */
export async function writeDefinition(file: object): Promise<string> {
  return (await import('yaml')).stringify(file)
}

/** Reads a provider file, YAML or JSON. Throws a Refusal with the line and column of what is wrong. */
export async function readProvider(text: string, name: string): Promise<ReadProvider> {
  if (Buffer.byteLength(text) > maxBytes)
    throw new Refusal('provider.file', { path: name, problem: 'too_long', max: maxBytes })
  const { LineCounter, parseDocument } = await import('yaml')
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const placeOf = (offset: number) => {
    const { line, col: column } = lines.linePos(offset)
    return { row: line, column }
  }
  const [fault] = document.errors
  if (fault) {
    const details = { ...placeOf(fault.pos[0]), problem: 'syntax', cause: fault.message }
    throw new Refusal('provider.file', { path: name, ...details })
  }
  const refuse: Refuse = (problem, at, details) => {
    const place = placeOf(nodeAt(document.contents, at)?.range?.[0] ?? 0)
    throw new Refusal('provider.file', { path: name, ...place, at: writePath(at), problem, ...details })
  }
  const value: unknown = resultOr(undefined, () => {
    const found: unknown = document.toJS({ maxAliasCount: 20 })
    // An alias within what it stands for has no end.
    JSON.stringify(found)
    return found
  })
  if (value === undefined) refuse('aliases', [])
  if (!isObject(value)) refuse('no_provider', [])
  const { data: written, error } = providerSchema.safeParse(value, { reportInput: true })
  if (error) refuseIssue(error.issues, refuse)
  if (!written) throw new Error('a file is valid or not')
  const file = resolveNames(written, refuse)
  if (builtIn.includes(file.name)) refuse('reserved', ['name'])
  if (Object.keys(file.kinds).length === 0 && !file.search) refuse('no_kinds', ['kinds'])
  if (file.search) checkSearch(file.search, refuse)
  checkKeyPlace(file.search, ['search'])
  for (const [name, kind] of Object.entries(file.kinds)) {
    const at = ['kinds', name]
    const known = resultFields[name as ProviderKind]
    const fields = Object.keys(kind.result)
    for (const field of fields) if (!known.includes(field)) refuseKey(refuse, [...at, 'result'], field, known)
    const wanted = mainField[name as ProviderKind]
    for (const [field, mapped] of Object.entries(kind.result))
      if (pathsOf(mapped).some((one) => !isPath(one))) refuse('path_start', [...at, 'result', field])
    if (kind.cost?.from !== undefined && pathsOf(kind.cost.from).some((one) => !isPath(one)))
      refuse('path_start', [...at, 'cost', 'from'])
    if (wanted === undefined ? fields.length === 0 : !fields.includes(wanted))
      refuse('no_result', [...at, 'result'], { wanted: wanted ?? known[0] })
    if (!kind.outcomes.some(({ is }) => is === 'found')) refuse('no_found', [...at, 'outcomes'])
    checkKind(kind, at, refuse)
    for (const part of ['request', 'submit', 'poll'] as const) checkKeyPlace(kind[part], [...at, part])
  }
  checkAuth(file.auth, refuse)
  if (file.balance) checkRequest(file.balance, ['balance'], [], refuse)
  checkKeyPlace(file.balance, ['balance'])
  return { file, refuse }

  /** A key in the body needs a body. */
  function checkKeyPlace(request: RequestFile | undefined, at: Path) {
    if (file.auth.body === undefined || !request || request.form) return
    if (!isObject(request.body)) refuse('key_in_body', at, { field: file.auth.body })
  }
}

/** Puts named requests into the kinds that name them. */
function resolveNames(written: z.output<typeof providerSchema>, refuse: Refuse): ProviderFile {
  const { kinds, requests = {}, ...file } = written
  const known = Object.keys(requests)
  for (const [name, request] of Object.entries(requests))
    checkRequest(request, ['requests', name], [...subjectFields, 'row'], refuse)
  const used = new Set<string>()
  const resolved = Object.entries(kinds).map(([name, { request, ...kind }]) => {
    if (typeof request !== 'string') return [name, request ? { ...kind, request } : kind]
    const named = Object.hasOwn(requests, request) ? requests[request] : undefined
    used.add(request)
    if (!named)
      return refuse('no_request', ['kinds', name, 'request'], {
        word: request,
        meant: nearest(request, known),
        known,
      })
    return [name, { ...kind, request: named }]
  })
  const idle = known.find((name) => !used.has(name))
  if (idle !== undefined) refuse('idle_request', ['requests', idle], { word: idle })
  return { ...file, kinds: Object.fromEntries(resolved) }
}

/** Returns the method of a request and its path, which is still a template. */
export function targetOf(request: RequestFile) {
  const method = requestMethods.find((one) => request[one] !== undefined) ?? 'get'
  return { method, path: request[method] ?? '' }
}

/** Refuses requests of a kind that could not be sent as they are meant. */
function checkKind(
  { needs, request, submit, poll, webhook, batch, result }: KindFile,
  at: Path,
  refuse: Refuse,
): void {
  const first = request ?? submit
  const part = request ? 'request' : 'submit'
  if (!first) return
  checkRequest(first, [...at, part], [...subjectFields, 'row'], refuse)
  for (const field of placeholdersIn(targetOf(first).path))
    if (!needs.every((set) => set.some((one) => one === field)))
      refuse('path_field', [...at, part], { field })
  if (poll) {
    checkRequest(poll, [...at, 'poll'], ['id'], refuse)
    const { query, headers, body, form } = poll
    if (!placeholdersIn([targetOf(poll).path, query, headers, body, form]).has('id'))
      refuse('no_id', [...at, 'poll'])
  }
  if (webhook?.sign && webhook.sign !== 'standard')
    checkSignature(webhook.sign, [...at, 'webhook', 'sign'], deliveredWords, refuse)
  if (!batch) {
    for (const [field, mapped] of Object.entries(result))
      if (pathsOf(mapped).some((one) => /^item\b/.test(one))) refuse('no_items', [...at, 'result', field])
    return
  }
  const row = listOfRows(first.body)
  if (row === undefined) refuse('no_list', [...at, part])
  if (batch.by !== 'order' && !placeholdersIn(row).has('row')) refuse('no_row', [...at, 'batch', 'by'])
}

function checkSearch(search: SearchFile, refuse: Refuse): void {
  const { result, outcomes, cost = {}, size } = search
  const at = ['search']
  const known = resultFields[searchKinds[search.of]]
  for (const [field, mapped] of Object.entries(result)) {
    if (!known.includes(field)) refuseKey(refuse, [...at, 'result'], field, known)
    if (pathsOf(mapped).some((one) => !isPath(one))) refuse('path_start', [...at, 'result', field])
  }
  if (Object.keys(result).length === 0) refuse('no_result', [...at, 'result'], { wanted: known[0] })
  if (!outcomes.some(({ is }) => is === 'found')) refuse('no_found', [...at, 'outcomes'])
  if (cost.row !== undefined && size === undefined) refuse('no_size', [...at, 'cost', 'row'])
  // Any name may stand for what a flow gives.
  const given = [...placeholdersIn(Object.values(requestOf(search)))]
  checkRequest(
    search,
    at,
    given.filter((one) => one !== 'row' && !isColumnField(one)),
    refuse,
  )
}

/** Returns the parts of a search that its request is made of. */
export const requestOf = (search: SearchFile): RequestFile =>
  pickFields(search, Object.keys(requestFields) as (keyof RequestFile)[])

/** Returns the element of the list that has one for each row; `undefined` where a template has none. */
export function listOfRows(template: unknown): unknown {
  if (Array.isArray(template) && template.length === 1 && placeholdersIn(template).size > 0)
    return template[0]
  if (!isObject(template) && !Array.isArray(template)) return undefined
  for (const inner of Object.values(template)) {
    const found = listOfRows(inner)
    if (found !== undefined) return found
  }
  return undefined
}

/** Refuses a request with fields that there are not, or whose address or headers could not be sent. */
function checkRequest(request: RequestFile, at: Path, known: readonly string[], refuse: Refuse): void {
  const { method, path } = targetOf(request)
  const { query, headers = {}, body, form } = request
  if (/^(?:[a-z][a-z\d+.-]*:)?\/\//i.test(path)) refuse('whole_address', [...at, method], { written: path })
  if (/[\s#]/.test(path)) refuse('path_letters', [...at, method], { written: path })
  const open = textsIn([path, query, headers, form]).find((text) =>
    /[{}]/.test(text.replace(/\{[^{}]*\}/g, '')),
  )
  if (open !== undefined) refuse('brace', at, { written: open })
  // In a body, braces may mean something else.
  const named = [...bracedIn([path, query, headers, form]), ...placeholdersIn(body)]
  // What is about a row may have columns of its file.
  const isKnown = (one: string) => known.includes(one) || (known.includes('row') && isColumnField(one))
  const word = named.find((one) => !isKnown(one))
  if (word !== undefined) refuse('placeholder', at, { word, meant: nearest(word, known), known })
  checkHeaders(headers, [...at, 'headers'], refuse)
}

function checkHeaders(headers: Readonly<Record<string, string>>, at: Path, refuse: Refuse): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!headerName.test(name)) refuse('header', [...at, name], { name })
    if (!headerValue.test(value)) refuse('header_value', [...at, name])
  }
}

/** RFC 9110: a token, and what undici sends as it is. */
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

function checkAuth({ header, headers, oauth, path, sign }: ProviderFile['auth'], refuse: Refuse): void {
  if (header !== undefined && !headerName.test(header)) refuse('header', ['auth', 'header'], { name: header })
  if (oauth && /[{}\s]/.test(oauth.token_url)) refuse('token_url', ['auth', 'oauth', 'token_url'])
  if (path !== undefined) checkKeyPath(path, refuse)
  if (sign) checkSignature(sign, ['auth', 'sign'], signedWords, refuse)
  if (!headers) return
  const known = ['key', 'key_base64']
  const named = [...bracedIn(headers)]
  const word = named.find((one) => !known.includes(one))
  if (word !== undefined)
    refuse('placeholder', ['auth', 'headers'], { word, meant: nearest(word, known), known })
  if (named.length === 0) refuse('no_key', ['auth', 'headers'])
  checkHeaders(headers, ['auth', 'headers'], refuse)
}

function checkKeyPath(path: string, refuse: Refuse): void {
  const at = ['auth', 'path']
  if (/[\s#?]|\/\//.test(path)) refuse('path_letters', at, { written: path })
  const known = ['key']
  const word = [...bracedIn(path)].find((one) => !known.includes(one))
  if (word !== undefined) refuse('placeholder', at, { word, meant: nearest(word, known), known })
  if (!path.includes('{key}')) refuse('no_key', at)
}

function checkSignature(
  { header, timestamp, over, prefix = '' }: Signature,
  at: Path,
  words: readonly string[],
  refuse: Refuse,
): void {
  for (const [part, name] of Object.entries({ header, timestamp }))
    if (name !== undefined && !headerName.test(name)) refuse('header', [...at, part], { name })
  if (!headerValue.test(prefix)) refuse('header_value', [...at, 'prefix'])
  const word = [...bracedIn(over)].find((one) => !words.includes(one))
  if (word !== undefined)
    refuse('placeholder', [...at, 'over'], { word, meant: nearest(word, words), known: words })
  // Of a time that the vendor is not told, it could check nothing.
  if (/\{timestamp(_ms)?\}/.test(over) !== (timestamp !== undefined)) refuse('no_timestamp', at)
}

/** Returns the paths that a value is read from. */
export function pathsOf(mapped: Mapped): readonly string[] {
  if (typeof mapped === 'string') return [mapped]
  return [...[mapped.from ?? []].flat(), ...(mapped.first ?? []), ...bracedIn(mapped.text)]
}

function refuseIssue(issues: readonly z.core.$ZodIssue[], refuse: Refuse): never {
  // A mistyped name is also one that is missing.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  if (!issue) throw new Error('an error has issues')
  if (issue.code === 'unrecognized_keys')
    refuseKey(refuse, issue.path, issue.keys[0] ?? '', namesAt(issue.path))
  if (issue.code === 'invalid_union') {
    const errors = issue.errors.find(([first]) => first?.code !== 'invalid_type') ?? issue.errors.at(-1)
    const inner = errors?.map((one) => ({ ...one, path: [...issue.path, ...one.path] }))
    return refuseIssue(inner as z.core.$ZodIssue[], refuse)
  }
  if (issue.code === 'invalid_value') {
    const known = issue.values.map(String)
    const meant = typeof issue.input === 'string' ? nearest(issue.input, known) : undefined
    return refuse('value', issue.path, { known, meant })
  }
  const isMissing = issue.code === 'invalid_type' && issue.input === undefined
  return refuse(isMissing ? 'missing' : 'invalid', issue.path, { cause: explainIssue(issue) })
}

const refuseKey = (refuse: Refuse, at: Path, word: string, known: readonly string[]): never =>
  refuse('unknown', [...at, word], { word, meant: nearest(word, known), known })

/** A node of the published schema, as far as its names go. */
interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode | boolean
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
  readonly propertyNames?: { readonly enum?: readonly string[] }
}

function namesAt(at: Path): string[] {
  let nodes: readonly SchemaNode[] = [providerJsonSchema() as SchemaNode]
  for (const step of at)
    nodes = nodes.flatMap(({ properties, additionalProperties, items, anyOf = [] }) => {
      const inner = typeof additionalProperties === 'object' ? additionalProperties : undefined
      return [properties?.[String(step)] ?? inner ?? items ?? [], ...anyOf].flat()
    })
  return nodes.flatMap(({ properties = {}, anyOf = [], propertyNames }) => [
    ...(propertyNames?.enum ?? Object.keys(properties)),
    ...anyOf.flatMap((one) => Object.keys(one.properties ?? {})),
  ])
}

const writePath = (at: Path): string =>
  at.reduce<string>(
    (text, step) =>
      typeof step === 'number' ? `${text}[${step}]` : text === '' ? String(step) : `${text}.${String(step)}`,
    '',
  )

/** Returns the node at a place: of a name that is not expected, its key; of one that is missing, what it is missing in. */
function nodeAt(root: Node | null, at: Path): Node | null {
  let node = root
  for (const [depth, step] of at.entries()) {
    const items = node && 'items' in node ? (node.items as readonly (Pair<Node, Node | null> | Node)[]) : []
    const found = items.find((one, index) => String('key' in one ? one.key : index) === String(step))
    if (!found) return node
    const isName = 'key' in found && depth === at.length - 1
    node = isName ? found.key : (('key' in found ? found.value : found) ?? node)
  }
  return node
}

/** What stands for a field of the row, or for a column of its file. */
export const placeholder = /\{(\w+|input\.[^{}]+)\}/g

/** Returns the fields of the row that a template names, with columns of its file. */
export const placeholdersIn = (template: unknown): ReadonlySet<string> => bracedIn(template, placeholder)

/** Returns what stands in braces in the texts of a template. */
const bracedIn = (template: unknown, braced = /\{([^{}]*)\}/g): ReadonlySet<string> =>
  new Set(textsIn(template).flatMap((text) => [...text.matchAll(braced)].map(([, name = '']) => name)))

/** Returns the texts of a template. */
function textsIn(template: unknown): readonly string[] {
  if (typeof template === 'string') return [template]
  return typeof template === 'object' && template !== null ? Object.values(template).flatMap(textsIn) : []
}
