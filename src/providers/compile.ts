import { Refusal } from '../api/calls/errors.js'
import { toMs } from '../api/values/duration.js'
import { toCanonicalJson } from '../api/values/json.js'
import { type Fields, isObject } from '../api/values/objects.js'
import type { StoredProvider } from '../engine/tables/providers.js'
import { type Expression, parseExpression } from '../lists/expressions.js'
import {
  isColumnField,
  type KindFile,
  type Mapped,
  mainField,
  type OutcomeWord,
  type ProviderFile,
  type ProviderKind,
  placeholder,
  placeholdersIn,
  type ReadProvider,
  type RequestFile,
  requestOf,
  type SearchFile,
  type Subject,
  subjectFields,
  targetOf,
  toIntervalMs,
} from './definition.js'
import { isNothing, isValueOf } from './subject.js'

export const micros = 1_000_000

/** An answer of a vendor, and the item of it that is about one row. */
export interface VendorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly item?: unknown
}

/** A request to a vendor without its key. */
export interface VendorRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** Whether the body is sent as a form. */
  readonly isForm?: boolean
}

/** What is read: an answer, and below `asked` what was asked about and what was found in it. */
type Read = (value: (VendorAnswer | Fields) & { readonly asked?: Fields }) => unknown
type Place = readonly PropertyKey[]

export type CompiledProvider = Awaited<ReturnType<typeof compileProvider>>

/** Compiles a provider; its conditions and paths are checked. Throws a Refusal with the place of what is wrong. */
export async function compileProvider({ file, refuse }: ReadProvider) {
  const readers = readersFor(refuse)
  const kinds: Partial<Record<ProviderKind, CompiledKind>> = {}
  for (const [name, kind] of Object.entries(file.kinds))
    kinds[name as ProviderKind] = await compileKind(kind, ['kinds', name], readers)
  const { balance, limits = {}, timeout, max_age, patience } = file
  const search = file.search && (await compileSearch(file.search, readers))
  const credits = balance && (await readers.path(balance.credits, ['balance', 'credits']))
  const names = Object.keys(kinds) as ProviderKind[]
  const sentFor = (name: ProviderKind) => {
    const { request, submit, poll, webhook, batch } = file.kinds[name] ?? {}
    return toCanonicalJson({ request, submit, poll, webhook, batch })
  }
  return {
    file,
    kinds,
    search,
    /** By kind, the others whose request is written alike: one that is filled alike serves them all. */
    sharing: Object.fromEntries(
      names.map((name) => [
        name,
        names.filter((other) => other !== name && sentFor(other) === sentFor(name)),
      ]),
    ) as Partial<Record<ProviderKind, readonly ProviderKind[]>>,
    // A little slower than allowed: requests do not arrive as evenly as they leave.
    intervalUs: Math.ceil(Math.max(0, ...(limits.rates ?? []).map(toIntervalMs)) * 1_000 * 1.02),
    timeoutMs: timeout === undefined ? 30_000 : toMs(timeout),
    patienceMs: toMs(patience ?? '2m'),
    maxAgeMs: max_age === undefined ? 90 * 86_400_000 : toMs(max_age),
    balance: balance && credits && { request: fillRequest(balance as RequestFile, {}), credits },
  }
}

/** Returns what reads conditions and paths, and refuses those that are wrong at their places. */
function readersFor(refuse: ReadProvider['refuse']) {
  const condition = async (text: string, at: Place): Promise<Expression> => {
    try {
      return await parseExpression(text, readScope, 'where')
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return refuse('condition', at, { refused: error.code, inner: error.details })
    }
  }
  const path = (text: string, at: Place) =>
    readPath(
      text,
      (inner) => condition(inner, at),
      () => refuse('path', at, { text }),
    ) as Promise<Read & { readonly isOfItem?: boolean }>
  return { condition, path, refuse }
}

/** What a provider does for a kind, ready to be used. */
export type CompiledKind = Awaited<ReturnType<typeof compileKind>>

async function compileKind(
  file: KindFile,
  at: Place,
  { condition, path, refuse }: ReturnType<typeof readersFor>,
) {
  const test = async (text: string | undefined, where: Place, other: (answer: VendorAnswer) => boolean) => {
    if (text === undefined) return other
    const found = await condition(text, [...at, ...where])
    return (answer: VendorAnswer) => found.test({ ...nobody, ...answer })
  }
  const outcomes = await Promise.all(
    file.outcomes.map(async ({ when, is, wait }, n) => ({
      expression: await condition(when, [...at, 'outcomes', n, 'when']),
      outcome: { is, waitMs: wait === undefined ? undefined : toMs(wait) },
    })),
  )
  const main = mainField[at.at(-1) as ProviderKind]
  const fields = Object.entries(file.result)
  // What the others are read by comes first.
  const inOrder = [
    ...fields.filter(([field]) => field === main),
    ...fields.filter(([field]) => field !== main),
  ]
  const result = await Promise.all(
    inOrder.map(async ([field, mapped]) => ({
      field,
      read: await readMapped(field, mapped, {
        path: (text) => path(text, [...at, 'result', field]),
        condition: (text, n) => condition(text, [...at, 'result', field, 'cases', n, 'when']),
      }),
    })),
  )
  const { cost = {}, batch, needs, submit, poll, webhook, request = submit } = file
  const sent = placeholdersIn(request)
  const columns = [...new Set([...sent, ...needs.flat()])].filter(isColumnField)
  if (batch && cost.header !== undefined) refuse('batch_cost', [...at, 'cost', 'header'])
  const costAt = [...at, 'cost', 'from']
  const costFrom =
    cost.from === undefined
      ? undefined
      : await readMapped('cost', cost.from, {
          path: (text) => path(text, costAt),
          condition: (text, n) => condition(text, [...costAt, 'cases', n, 'when']),
        })
  const items = batch && (await path(batch.items, [...at, 'batch', 'items']))
  const rowOf = batch && batch.by !== 'order' ? await path(batch.by, [...at, 'batch', 'by']) : undefined
  const id = submit && (await path(submit.id, [...at, 'submit', 'id']))
  const inDelivery = async (text: string | undefined, part: string) =>
    text === undefined ? undefined : path(text, [...at, 'webhook', part])
  const deliveredId = await inDelivery(webhook?.id, 'id')
  const delivered = await inDelivery(webhook?.result, 'result')
  const says = cost.header !== undefined || costFrom !== undefined
  return {
    file,
    /** The columns of the file of a row that it is asked with. */
    columns,
    /** Returns what is sent of a row; `undefined` where it lacks what is needed. */
    fieldsOf: (subject: Subject) => fieldsFor(needs, sent, subject),
    /** Returns the first request about some rows, each with its {row}; `address` is where its webhook leads, if any. */
    request: (rows: readonly (Subject & { readonly row: string })[], address?: string) =>
      fillRequest(
        withFields(request as RequestFile, address ? { [webhook?.field ?? '']: address } : webhook?.without),
        rows[0] ?? {},
        batch && rows,
      ),
    /** Returns what a delivery has in the place of an answer. */
    deliveryOf: (body: unknown): VendorAnswer => {
      const answer = { status: 200, headers: {}, body }
      return delivered ? { ...answer, body: delivered(answer) ?? null } : answer
    },
    /** Returns the id of the work that a delivery says that it is about; `undefined` where it is not told by one. */
    idOfDelivery: (body: unknown) =>
      deliveredId && String(deliveredId({ status: 200, headers: {}, body }) ?? ''),
    isDelivered: await test(webhook?.done ?? poll?.done, ['webhook', 'done'], () => true),
    poll: (id: string) => fillRequest(poll as RequestFile, { id }),
    outcomeOf: (answer: VendorAnswer, asked: Subject = {}) =>
      outcomes.find(({ expression }) => expression.test({ ...nobody, ...asked, item: null, ...answer }))
        ?.outcome,
    /** Returns the values of an answer about somebody, in the order of the file. */
    resultOf: (answer: VendorAnswer, asked: Subject): Fields => {
      const found: Record<string, unknown> = {}
      for (const { field, read } of result) {
        const own = main !== undefined && found[main] !== undefined ? { [main]: found[main] } : {}
        const value = read({ ...answer, asked: { ...asked, ...own } })
        if (value !== undefined) found[field] = value
      }
      return Object.fromEntries(fields.flatMap(([name]) => (name in found ? [[name, found[name]]] : [])))
    },
    /** Returns the cost of what came of a row, in millionths; `undefined` where the answer should say it and does not. */
    costOf: (answer: VendorAnswer, is: OutcomeWord) => {
      const said = cost.header === undefined ? costFrom?.(answer) : answer.headers[cost.header.toLowerCase()]
      const usual = is === 'found' || is === 'not_found' ? cost[is] : 0
      return toMicros(said) ?? (says && usual === undefined ? undefined : Math.round((usual ?? 0) * micros))
    },
    most: Math.round((cost.most ?? Math.max(cost.found ?? 0, cost.not_found ?? 0, Number(says))) * micros),
    /** Returns the item of the answer about one of several rows: by its row, or by its place among so many. */
    itemOf: (answer: VendorAnswer, row: string, place: number, rows: number): unknown => {
      const list = items?.(answer)
      if (!Array.isArray(list)) return undefined
      // One that is missing would move those behind it to the wrong rows.
      if (!rowOf) return list.length === rows ? list[place] : undefined
      return list.find((item) => String(rowOf(rowOf.isOfItem ? { item } : item)) === row)
    },
    idOf: (answer: VendorAnswer) => {
      const found = id?.(answer)
      const isId = typeof found === 'string' || typeof found === 'number' || typeof found === 'bigint'
      // Without one, the address of a poll would be that of something else.
      return isId && String(found).trim() !== '' ? String(found) : undefined
    },
    isAccepted: await test(submit?.accepted, ['submit', 'accepted'], () => true),
    isDone: await test(poll?.done, ['poll', 'done'], () => true),
    isLost: await test(poll?.lost, ['poll', 'lost'], ({ status }) => status === 404 || status === 410),
  }
}

/** The kind that the pages of a search are recorded as. */
export const pageKind = 'search'

/** A search that is ready to be used: what asks for a page, and the page to begin with. */
export type CompiledSearch = Awaited<ReturnType<typeof compileSearch>>

async function compileSearch(file: SearchFile, readers: ReturnType<typeof readersFor>) {
  const { of, items, next, size, result, outcomes, cost: { row = 0, ...ofPage } = {} } = file
  const [place = 'query', ...name] = next.into.split('.')
  const request = requestOf(file)
  const placed = withValue(request[place as 'query' | 'body' | 'form'], name, '{next}')
  const own = { needs: [[]], request: { ...request, [place]: placed }, outcomes, result: {}, cost: ofPage }
  const kind = await compileKind(own as unknown as KindFile, ['search'], readers)
  const list = await readers.path(items, ['search', 'items'])
  const cursor = next.cursor === undefined ? undefined : await readers.path(next.cursor, ['search', 'next'])
  const reads = await Promise.all(
    Object.entries(result).map(async ([field, mapped]) => {
      const at = ['search', 'result', field]
      const read = await readMapped(field, mapped, {
        path: (text) => readers.path(text, at),
        condition: (text, n) => readers.condition(text, [...at, 'cases', n, 'when']),
      })
      return [field, read] as const
    }),
  )
  const itemsIn = (answer: VendorAnswer) => {
    const found = list(answer)
    return Array.isArray(found) ? found : undefined
  }
  const nextOf = (answer: VendorAnswer, { next: asked = next.page }: Fields, count: number) => {
    if (!cursor) return size !== undefined && count < size ? null : String(Number(asked) + 1)
    const said = plain(cursor(answer))
    return typeof said === 'string' || typeof said === 'number' ? String(said) : null
  }
  const paged = {
    ...kind,
    resultOf: (answer: VendorAnswer, asked: Fields): Fields => {
      const found = itemsIn(answer) ?? []
      const values = found.map((item) =>
        Object.fromEntries(reads.map(([field, read]) => [field, read({ ...answer, item })])),
      )
      return { items: values, next: nextOf(answer, asked, found.length) }
    },
    costOf: (answer: VendorAnswer, is: OutcomeWord) => {
      const cost = kind.costOf(answer, is)
      return cost === undefined ? undefined : cost + Math.round(row * micros) * (itemsIn(answer)?.length ?? 0)
    },
    most: Math.max(kind.most, Math.round(((ofPage.found ?? 0) + row * (size ?? 0)) * micros)),
  }
  return {
    of,
    size,
    kind: paged as CompiledKind,
    /** What the first page is asked for with; absent where it is the one without a cursor. */
    first: next.page === undefined ? undefined : String(next.page),
    /** What a flow may give. */
    query: [...placeholdersIn(Object.values(request))],
    fields: Object.keys(result),
  }
}

/** Compiles a provider whose file was checked when it was added. */
export const compileStored = ({ name, definition }: StoredProvider): Promise<CompiledProvider> =>
  compileProvider({
    file: definition as ProviderFile,
    refuse: () => {
      throw new Error(`the stored file of ${name} is not valid`)
    },
  })

/** What an answer is read by beside itself: what was asked about, and what was found. */
const askedNames = [...subjectFields, 'personal_email', 'phone'] as const
const namesScope = Object.fromEntries(askedNames.map((name) => [name, true] as const))
const readScope = { status: true, headers: true, body: true, item: true, ...namesScope } as const
const nobody = Object.fromEntries(askedNames.map((name) => [name, null]))

function toMicros(said: unknown): number | undefined {
  const amount = said === undefined || said === null || said === '' ? Number.NaN : Number(String(said))
  return Number.isFinite(amount) && amount >= 0 && amount < 1e9 ? Math.round(amount * micros) : undefined
}

/** Returns the fields of the first set that a row has whole, and those that the request has beside all sets. */
function fieldsFor(
  needs: KindFile['needs'],
  sent: ReadonlySet<string>,
  subject: Subject,
): Subject | undefined {
  const set: readonly string[] | undefined = needs.find((names) => names.every((name) => subject[name]))
  if (!set) return undefined
  const others = new Set<string>(needs.flat())
  const isWanted = (name: string) => set.includes(name) || (sent.has(name) && !others.has(name))
  return Object.fromEntries(Object.entries(subject).filter(([name, value]) => value && isWanted(name)))
}

/** What reads the parts of a value. */
interface ValueReaders {
  readonly path: (text: string) => Promise<Read>
  readonly condition: (text: string, at: number) => Promise<Expression>
}

/** Returns what a value of an answer is for us; digits of long numbers stay. */
async function readMapped(field: string, mapped: Mapped, readers: ValueReaders): Promise<Read> {
  const {
    from,
    first = [],
    text,
    cases,
    map,
    else: other,
  } = typeof mapped === 'string' ? { from: mapped } : mapped
  if (cases) return readCases(cases, other, readers)
  if (text !== undefined) return readText(text, readers)
  const reads = await Promise.all([...(from === undefined ? first : [from])].map(readers.path))
  return (answer) => {
    const values = reads.map((read) => plain(read(answer)))
    const value = values.find((one) => isValueOf(field, one)) ?? values.find((one) => one !== undefined)
    if (!map) return value ?? (other === undefined ? value : other)
    return Object.hasOwn(map, String(value)) ? map[String(value)] : other
  }
}

async function readCases(
  cases: readonly { readonly when: string; readonly is: unknown }[],
  other: unknown,
  { condition }: ValueReaders,
): Promise<Read> {
  const known = await Promise.all(
    cases.map(async ({ when, is }, at) => ({ is, expression: await condition(when, at) })),
  )
  return ({ asked = {}, ...answer }) => {
    const fits = known.find(({ expression }) =>
      expression.test({ ...nobody, ...asked, item: null, ...answer }),
    )
    return fits ? fits.is : other
  }
}

/** Returns a text of several values; without one of them there is none. */
async function readText(text: string, { path }: ValueReaders): Promise<Read> {
  const written = [...text.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name)
  const reads = new Map(await Promise.all(written.map(async (one) => [one, await path(one)] as const)))
  return (answer) => {
    const values = new Map([...reads].map(([name, read]) => [name, plain(read(answer))]))
    if ([...values.values()].some(isNothing)) return undefined
    return text.replace(/\{([^{}]*)\}/g, (_, name: string) => String(values.get(name)))
  }
}

/** Long integers are read exactly, and are texts here. */
const plain = (value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

const step = /^(?:\.?([A-Za-z_$][\w$-]*)|\[(\d+)\]|\["([^"\]]*)"\])/
const keyStep = new RegExp(`^\\[(${askedNames.join('|')})\\]`)
const greatest = /^max\s+(item(?:[.[].*?)?)(?:\s+where\s+(.+))?$/s

type ReadStep = (value: unknown, asked: Fields) => unknown

/**
 * Reads a path such as `body.emails[0].email`. In brackets also a name of what was asked about, whose value is the key there;
 * a condition, which the first such item meets; and `max item.score`, the item of a list with the greatest, `where` one fits.
 */
async function readPath(
  text: string,
  condition: (text: string) => Promise<Expression>,
  refuse: () => never,
): Promise<Read & { readonly isOfItem?: boolean }> {
  const steps: ReadStep[] = []
  const firstOf = async (inner: string): Promise<ReadStep> => {
    const fits = await condition(inner)
    return (value, asked) =>
      itemsOf(value).find((item) => fits.test({ ...nobody, ...asked, ...noAnswer, item }))
  }
  for (let rest = text; rest !== ''; ) {
    const match = step.exec(rest)
    if (match) {
      const key = match[1] ?? match[2] ?? match[3] ?? ''
      steps.push((value) => valueAt(value, key))
      rest = rest.slice(match[0].length)
      continue
    }
    const named = keyStep.exec(rest)
    if (named) {
      const [whole, name = ''] = named
      steps.push((value, asked) => valueUnder(value, asked[name]))
      rest = rest.slice(whole.length)
      continue
    }
    const end = rest.startsWith('[') ? closingOf(rest) : -1
    if (end < 0 || steps.length === 0) refuse()
    const inner = rest.slice(1, end)
    const best = greatest.exec(inner)
    if (!best && /^max\s/.test(inner)) refuse()
    steps.push(await (best ? greatestOf(best, condition, refuse) : firstOf(inner)))
    rest = rest.slice(end + 1)
  }
  const read: Read = (value) => steps.reduce<unknown>((at, next) => next(at, value.asked ?? {}), value)
  return Object.assign(read, { isOfItem: /^item\b/.test(text) })
}

const noAnswer = { status: null, headers: null, body: null }
const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const valueAt = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Fields)[key]
    : undefined

/** Returns what stands under a value as its name, in whatever case. */
function valueUnder(value: unknown, key: unknown): unknown {
  if (typeof key !== 'string' || !isObject(value)) return undefined
  const name = Object.hasOwn(value, key)
    ? key
    : Object.keys(value).find((one) => one.toLowerCase() === key.toLowerCase())
  return name === undefined ? undefined : value[name]
}

/** Takes the item of a list whose number is the greatest; the first of several. */
async function greatestOf(
  [, by = '', where]: RegExpExecArray,
  condition: (text: string) => Promise<Expression>,
  refuse: () => never,
): Promise<ReadStep> {
  const numberAt = await readPath(by, condition, refuse)
  const fits = where === undefined ? undefined : await condition(where)
  return (value, asked) => {
    let best: { readonly item: unknown; readonly number: number } | undefined
    for (const item of itemsOf(value)) {
      const said = numberAt({ item })
      const number = isNothing(said) ? Number.NaN : Number(said)
      const isFit = fits?.test({ ...nobody, ...asked, ...noAnswer, item }) ?? true
      if (isFit && number > (best?.number ?? Number.NEGATIVE_INFINITY)) best = { item, number }
    }
    return best?.item
  }
}

/** Returns where the bracket that begins a text is closed; -1 where it is not. */
function closingOf(text: string): number {
  let depth = 0
  let quote = ''
  for (const [at, character] of [...text].entries()) {
    if (quote !== '') quote = character === quote ? '' : quote
    else if (character === '"' || character === "'") quote = character
    else if (character === '[') depth++
    else if (character === ']') {
      depth -= 1
      if (depth === 0) return at
    }
  }
  return -1
}

/** Returns a request with further fields: in its body or form, or in its query without one. A dot leads into an object. */
function withFields(request: RequestFile, fields: Readonly<Record<string, unknown>> = {}): RequestFile {
  const added = Object.entries(fields)
  if (added.length === 0) return request
  const place = request.form ? 'form' : request.body === undefined ? 'query' : 'body'
  let template: unknown = request[place]
  for (const [name, value] of added) template = withValue(template, name.split('.'), value)
  return { ...request, [place]: template }
}

function withValue(template: unknown, [name = '', ...rest]: readonly string[], value: unknown): Fields {
  const fields = isObject(template) ? template : {}
  return { ...fields, [name]: rest.length === 0 ? value : withValue(fields[name], rest, value) }
}

type Words = Readonly<Record<string, string | undefined>>

/** Fills the placeholders of a request. Where it is about several rows, the array with one template has one for each. */
function fillRequest(request: RequestFile, words: Words, rows?: readonly Words[]): VendorRequest {
  const { query = {}, headers = {}, body, form } = request
  const target = targetOf(request)
  const path = target.path.replace(placeholder, (_, name: string) => encodeURIComponent(words[name] ?? ''))
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    const filled = fillValue(value, words)
    if (filled !== undefined) parameters.append(name, String(filled))
  }
  const search = parameters.size === 0 ? '' : `${path.includes('?') ? '&' : '?'}${parameters}`
  const method = target.method.toUpperCase() as VendorRequest['method']
  const sent = {
    method,
    path: path + search,
    headers: fillValue(headers, words) as VendorRequest['headers'],
  } as const
  return form
    ? { ...sent, body: fillValue(form, words), isForm: true }
    : { ...sent, body: fillValue(body, words, rows) }
}

const wholePlaceholder = new RegExp(`^${placeholder.source}$`)

/** Fills a template; a text that is a placeholder alone and has no value is left out. */
function fillValue(template: unknown, words: Words, rows?: readonly Words[]): unknown {
  if (typeof template === 'string') {
    const whole = wholePlaceholder.exec(template)?.[1]
    if (whole !== undefined) return words[whole]
    return template.replace(placeholder, (_, name: string) => words[name] ?? '')
  }
  if (rows && Array.isArray(template) && template.length === 1 && placeholdersIn(template).size > 0)
    return rows.map((row) => fillValue(template[0], row))
  if (Array.isArray(template))
    return template.map((one) => fillValue(one, words, rows)).filter((one) => one !== undefined)
  if (!isObject(template)) return template
  const fields = Object.entries(template).map(
    ([name, value]) => [name, fillValue(value, words, rows)] as const,
  )
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}
