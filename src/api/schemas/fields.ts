import * as z from 'zod'
import { isCountry } from '../values/dates.js'
import { toJson } from '../values/json.js'
import { type Fields, markField, markFields, once } from '../values/objects.js'
import { parseUrl, type SearchPage, searchPageOf } from '../values/url.js'
import {
  functions as functionLabels,
  seniorities as seniorityLabels,
  companySizes as sizes,
} from './enumerations.js'

/** Bounds of request fields; the body as a whole is bounded by its size. */
export const bounds = {
  text: 500,
  keyword: 5_000,
  url: 2_048,
  searchUrl: 32_768,
  items: 1_000,
  custom: 65_536,
  depth: 20,
} as const

/** Describes a schema in place and returns it, because `.describe()` would build every schema twice. */
export function describe<S extends z.ZodType>(schema: S, description: string, more: z.GlobalMeta = {}): S {
  z.globalRegistry.add(schema, { description, ...more })
  return schema
}

/** The row of the error table that a refused field stands for. */
export interface FieldRefusal {
  readonly error: 'bad_request' | 'invalid' | 'missing_keys' | 'not_found'
  /** Whether the message is a whole sentence; others follow the name of a field. */
  readonly isSentence?: true
  /** Fields of which one is needed. */
  readonly anyOf?: readonly string[]
}

/** How an operation is declared in its area: by its fields, or another schema of its answers. */
interface Declaration {
  readonly input: z.ZodRawShape
  readonly checks?: readonly z.core.$ZodCheck<Fields>[]
  readonly output: () => z.ZodRawShape | z.ZodType
}

export interface Schemas<Input, Output> {
  readonly input: Input
  readonly output: Output
}

type Answer<T> = T extends z.ZodType ? T : T extends z.ZodRawShape ? z.ZodObject<T> : never

/** Returns what builds the schemas of operations; those of answers, which few commands need, when they are asked for. */
export const declare = <T extends Readonly<Record<string, () => Declaration>>>(operations: T) =>
  Object.fromEntries(
    Object.entries(operations).map(([id, make]) => [id, () => build(make())]),
  ) as unknown as {
    readonly [Id in keyof T]: () => Schemas<
      z.ZodObject<ReturnType<T[Id]>['input']>,
      Answer<ReturnType<ReturnType<T[Id]>['output']>>
    >
  }

function build({ input, checks = [], output }: Declaration): Schemas<z.ZodObject, z.ZodType> {
  const answer = once(() => {
    const declared = output()
    return declared instanceof z.ZodType ? declared : z.object(declared)
  })
  return {
    input: z.object(input).check(...checks),
    get output() {
      return answer()
    },
  }
}

const wrongKind = (error: string) => ({ error, params: { error: 'bad_request' } satisfies FieldRefusal })
/** Characters that no database stores: NUL and half a surrogate pair. */
const unclean = /[\0\ud800-\udfff]/u
const trimmed = z.trim()
const filled = z.minLength(1, { error: 'must not be empty', abort: true })
/** Returns whether a database stores a text unchanged. */
export const isClean = (text: string): boolean => !unclean.test(text)
const clean = z.refine<string>(isClean, 'must not contain NUL or broken characters')
const atMost = (max: number) => z.maxLength(max, `must be at most ${max} characters`)
const string = (...checks: z.core.$ZodCheck<string>[]) => new z.ZodString({ type: 'string', checks })

const cleanText = (max: number, ...checks: z.core.$ZodCheck<string>[]) =>
  string(trimmed, filled, atMost(max), clean, ...checks)
const uriFormat = { format: 'uri' }

/** Text in any language, trimmed. */
export const text = (description: string, max: number = bounds.text) => describe(cleanText(max), description)

/** Words, "phrases", AND, OR, NOT and parentheses. */
export const keyword = () => text('Words, "phrases", AND, OR, NOT and parentheses', bounds.keyword)

const isIdLike = (id: string): boolean => /\S/.test(id) && id.length <= 200 && !unclean.test(id)
const notFound = { error: 'Not found', params: { error: 'not_found' } satisfies FieldRefusal }

/** The id of a resource in a path; a text that cannot be an id is 404. */
export const pathId = (description: string): z.ZodString =>
  describe(string(z.refine<string>(isIdLike, notFound)), description)

/** An id or a slug: no white space and no comma. */
export const id = (description: string, more: z.GlobalMeta = {}): z.ZodString =>
  describe(cleanText(200, idPattern), description, more)
const idPattern = z.regex(/^[^\s,]+$/, 'must be an id, without spaces or commas')

/** What a schema says of an item in a list of ids: a whole number stands for its digits. */
const orNumber: z.GlobalMeta = { type: ['string', 'integer'] }

/** Returns whether a schema is that of an item for which whole numbers stand for their digits. */
export const takesNumbers = (schema: z.core.$ZodType) => z.globalRegistry.get(schema)?.type === orNumber.type

/** An industry in a list: its id, or its name. */
export const industry = (description: string): z.ZodString =>
  describe(cleanText(bounds.text, idOrName), description, orNumber)
// A letter is spelled as what is none: many tools read patterns without the flag that \p{L} needs.
const idOrName = z.regex(/^\d+$|[^\s!-@[-`{-¿]/, 'must be the id or the name of an industry')

const webAddress = (url: string) => (/^https?:\/\/[^\s/?#]/i.test(url) ? parseUrl(url) : undefined)
const isWebAddress = (url: string): boolean => webAddress(url) !== undefined
const isProfileUrl = (url: string): boolean =>
  /^(https?:\/\/)?[^\s/?#@:]+\.[^\s/?#@:]+(:\d+)?\/\S/i.test(url) &&
  parseUrl(/^https?:/i.test(url) ? url : `https://${url}`) !== undefined

export const uri = (description: string): z.ZodString =>
  describe(
    cleanText(bounds.url, z.refine<string>(isWebAddress, 'must be a web address (https://…)')),
    description,
    uriFormat,
  )

/** The URL of a company's or a person's profile, as people paste it: the scheme may be missing. */
export const profileUrl = (description: string): z.ZodString =>
  describe(
    cleanText(bounds.url, z.refine<string>(isProfileUrl, 'must be the address of a profile (https://…)')),
    description,
    { format: 'iri-reference' },
  )

/** Returns the refusal of a search URL of another kind, without the name of its field. */
export const wrongSearchUrl = (of: SearchPage['of']): string =>
  `must be a valid ${of === 'companies' ? 'company' : 'people'} search URL`

/** The URL of a search result page on the network; anything else is a bad request. */
export const searchUrl = (of: SearchPage['of'], description: string, { premium = false } = {}) => {
  const isPage = (url: string): boolean => {
    const page = isWebAddress(url) ? searchPageOf(url) : undefined
    return page?.of === of && (page.premium || !premium)
  }
  return describe(
    string(trimmed, atMost(bounds.searchUrl), z.refine<string>(isPage, wrongKind(wrongSearchUrl(of)))),
    description,
    uriFormat,
  )
}

function isWebhookTarget(url: string): boolean {
  const target = webAddress(url)
  return target?.username === '' && target.password === '' && target.hash === ''
}

export const webhookUrl = (description = 'Address that receives the results'): z.ZodString =>
  describe(
    string(trimmed, atMost(bounds.url), z.refine<string>(isWebhookTarget, wrongKind(wrongWebhook))),
    description,
    uriFormat,
  )
const wrongWebhook = 'must be an http or https address without user information and fragment'

/** A website domain; a URL or an email address of that domain is accepted too. */
export const domain = (description = 'Website domain, such as example.com') => text(description, bounds.url)

const codePattern = z.regex(/^[A-Za-z]{2}$/, { error: 'must be an ISO 3166-1 alpha-2 code', abort: true })
const knownCode = z.refine<string>(isCountry, 'must be an ISO 3166-1 alpha-2 code')

/** A country as two letters, converted to upper case. */
export const country = (description = 'ISO 3166-1 alpha-2 code of the country'): z.ZodString =>
  describe(string(trimmed, z.toUpperCase(), codePattern, knownCode), description)

export const takesCountry = (schema: z.core.$ZodType): boolean =>
  schema instanceof z.ZodString && schema.def.checks?.includes(knownCode) === true

/** A currency as three letters, converted to upper case. */
export const currency = (description: string): z.ZodString =>
  describe(
    string(trimmed, z.toUpperCase(), z.regex(/^[A-Za-z]{3}$/, 'must be an ISO 4217 code, such as EUR')),
    description,
  )

/** A phone number in E.164. */
export const phone = (description: string): z.ZodString =>
  describe(
    string(trimmed, z.regex(/^\+[1-9]\d{6,14}$/, 'must be a phone number in E.164, such as +33612345678')),
    description,
  )

export const email = (description: string): z.ZodEmail =>
  describe(
    z.email('must be an email address').check(z.maxLength(320, 'must be at most 320 characters')),
    description,
  )

/** A day, `YYYY-MM-DD`. */
export const date = (description: string): z.ZodISODate =>
  describe(z.iso.date('must be a date written YYYY-MM-DD'), description)

export function whole(description: string, min = 0, max?: number): z.ZodInt {
  const error = `must be a whole number ${max === undefined ? `of ${min} or more` : `from ${min} to ${max}`}`
  const checks = [z.gte(min, error), ...(max === undefined ? [] : [z.lte(max, error)])]
  return describe(z.int(error).check(...checks), description)
}

export function number(description: string, min?: number): z.ZodNumber {
  const schema = z.number('must be a number')
  return describe(
    min === undefined ? schema : schema.check(z.gte(min, `must be a number of ${min} or more`)),
    description,
  )
}

export const limit = (of: string): z.ZodInt => whole(`Maximum number of ${of} (default: all)`, 1)

/** A switch that is off by default. */
export const flag = (description: string) => describe(z.boolean(), description).default(false)

/** Whether results come from the network in real time or from the service's own database. */
export const live = () =>
  describe(
    z.boolean(),
    'true: from the network in real time; false: from the database of the service',
  ).default(true)

export const oneOf = <const T extends readonly [string, ...string[]]>(values: T, description: string) =>
  describe(z.enum(values), description)

/** Returns whether a JSON value nests no deeper than `levels`; it stops at the first level beyond. */
function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((one) => isShallow(one, levels - 1))
}

const shallow = z.refine<Record<string, unknown>>(
  (value) => isShallow(value, bounds.depth),
  `must not be nested deeper than ${bounds.depth} levels`,
)

const short = z.refine<Record<string, unknown>>(
  (value) => !isShallow(value, bounds.depth) || toJson(value).length <= bounds.custom,
  `must have at most ${bounds.custom} characters of JSON`,
)

/** The caller's own values, given back with the results. */
export const custom = (description = 'Your own values, given back with the results') =>
  describe(z.record(z.string(), z.unknown()).check(shallow, short), description)

const rowsPerPage = 500

/** The query of a paginated operation. */
export const pages = () => ({
  cursor: describe(
    string(
      z.refine<string>(
        (cursor) => cursor.length <= bounds.url,
        wrongKind('must be a next_cursor, unchanged'),
      ),
    ),
    'The next_cursor of the previous page, unchanged; omitted for the first page',
  ).optional(),
  per_page: describe(
    whole('Rows per page', 1).check(z.overwrite((rows) => Math.min(rows, rowsPerPage))),
    `Rows per page, ${rowsPerPage} at most`,
  ).default(100),
  page: describe(
    whole('Page', 1),
    'Number of the page; a cursor is better, since pages shift when rows are added',
    {
      default: 1,
    },
  ).optional(),
})

/** Returns whether a field was given; an empty list does not count. */
export const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)

/** What a rule objects to: the row of the error table, and a sentence with marked fields (for `missing_keys`: the keys). */
export interface Objection extends FieldRefusal {
  readonly reason: string
}

/** Creates a check of several fields of an object. Unless it is `always` made, all fields are valid by themselves. */
export function rule(object: (fields: Fields) => Objection | undefined, { always = false } = {}) {
  const check = z.check<Fields>(({ value, issues }) => {
    const objection = object(value)
    if (!objection) return
    const { reason, ...params } = objection
    issues.push({ code: 'custom', input: value, message: reason, params: { ...params, isSentence: true } })
  })
  if (always) check._zod.def.when = () => true
  return check
}

export const badRequest = (reason: string): Objection => ({ error: 'bad_request', reason })
export const invalid = (reason: string): Objection => ({ error: 'invalid', reason })
/** Returns the sentence on a person who is identified by the profile, or by name and company. */
export const identified = (...[first, last, company, other]: readonly [string, string, string, string]) =>
  `Provide ${markField('network_url')}, or ${markField(first)} and ${markField(last)} with ${markField(company)} or ${markField(other)}`

/** Fields that the given ones require: 400. */
export const missing = (...keys: string[]): Objection => ({ error: 'missing_keys', reason: keys.join(', ') })

/** At least one of these fields is required: 400. */
export const atLeastOne = (...keys: string[]) =>
  rule((fields) =>
    keys.some((key) => isGiven(fields[key]))
      ? undefined
      : { ...badRequest(`Provide at least one of: ${markFields(keys)}`), anyOf: keys },
  )

/** Exactly one of these fields: none is 400, more than one 422. */
export const exactlyOne = (...keys: string[]) =>
  rule((fields) => {
    const count = keys.filter((key) => isGiven(fields[key])).length
    if (count === 1) return undefined
    return count === 0
      ? { ...badRequest(`Provide one of: ${markFields(keys)}`), anyOf: keys }
      : invalid(`Provide only one of: ${markFields(keys)}`)
  })

/** Two fields that exclude each other: 422. */
export const notTogether = (key: string, ...others: string[]) =>
  rule((fields) => {
    const clash = others.filter((other) => isGiven(fields[other]))
    return isGiven(fields[key]) && clash.length > 0
      ? invalid(`${markField(key)} cannot be combined with ${markFields(clash)}`)
      : undefined
  })

/** Only dates are compared; another text is refused by its own field. */
const isNoDate = (end: unknown): boolean => typeof end === 'string' && Number.isNaN(Date.parse(end))

/** The ends of a range, in order: 422. */
export const inOrder = (from: string, to: string) =>
  rule((fields) => {
    const [low, high] = [fields[from], fields[to]]
    const comparable = isGiven(low) && typeof low === typeof high && ![low, high].some(isNoDate)
    const ordered = !comparable || (low as number | string) <= (high as number | string)
    return ordered
      ? undefined
      : invalid(
          `${markField(from)} must not be ${typeof low === 'string' ? 'after' : 'above'} ${markField(to)}`,
        )
  })

/** A cursor defines the page, so a page number beside it is a contradiction: 400. */
export const cursorOrPage = () =>
  rule(({ cursor, page }) =>
    cursor !== undefined && page !== undefined
      ? badRequest(`Use ${markField('cursor')} or ${markField('page')}, not both`)
      : undefined,
  )

/** Several items, in the order given. */
export const of = <S extends z.ZodType>(item: S, description: string, max: number = bounds.items) =>
  describe(z.array(item).check(z.maxLength(max, `must have at most ${max} items`)), description)

/** At least so many items, and at most a hundred. */
export const bulk = <S extends z.ZodType>(item: S, description: string, min = 2): z.ZodArray<S> => {
  const error = { error: `must have ${min} to 100 items`, abort: true }
  return describe(z.array(item).check(z.minLength(min, error), z.maxLength(100, error)), description)
}

export const some = <S extends z.ZodType>(item: S, description: string, max: number = bounds.items) =>
  describe(
    z
      .array(item)
      .check(
        z.minLength(1, { error: 'must have at least one item', abort: true }),
        z.maxLength(max, `must have at most ${max} items`),
      ),
    description,
  )

export const texts = (description: string) => of(text('One of them'), description)
export const ids = (description: string) => of(id('Id', orNumber), description)
/** Several words that each stand for an id, or are one. */
export const idWords = (words: readonly string[], description: string) =>
  of(describe(z.enum(words), 'Id', orNumber), description)
const companyText = 'Name, network id, domain or profile URL'
export const companies = (description: string) =>
  of(describe(text(companyText), companyText, orNumber), description)
export const industries = (
  description = 'Industries, by id, name or a part that only one name has, such as Software Development',
) => of(industry('Id or name'), description)
export const places = (description = 'Countries, regions or cities, by name or id') =>
  of(describe(cleanText(200, placePattern), 'Name or id', orNumber), description)
const placePattern = z.regex(
  /^[^\s,](?:[^,]*[^\s,])?$/,
  'must be the name or the id of a place, without commas',
)
export const countries = (description: string) => of(country('Country code'), description)

export const companySizes = () => of(z.enum(sizes), 'Company sizes by number of employees')

const known = (labels: Readonly<Record<string, string>>, what: string) =>
  z.check<string[]>(({ value, issues }) => {
    const unknown = value.filter((one) => !Object.hasOwn(labels, one))
    if (unknown.length === 0) return
    const all = Object.entries(labels).map(([key, label]) => `${key} ${label}`)
    const message = `has unknown ids: ${unknown.slice(0, 10).join(', ')}. Known ${what}: ${all.join(', ')}`
    issues.push({
      code: 'custom',
      input: value,
      message,
      params: { error: 'invalid' } satisfies FieldRefusal,
    })
  })

export const functions = () => ids('Functions, by id').check(known(functionLabels, 'functions'))
export const seniorities = () =>
  ids('Seniority levels, by id').check(known(seniorityLabels, 'seniority levels'))
