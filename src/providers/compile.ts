import { Refusal } from '../api/calls/errors.js'
import { toMs } from '../api/values/duration.js'
import { toCanonicalJson } from '../api/values/json.js'
import { type Fields, isObject } from '../api/values/objects.js'
import type { StoredProvider } from '../engine/tables/providers.js'
import { type Expression, parseExpression } from '../lists/expressions.js'
import {
  type KindFile,
  type Mapped,
  type OutcomeWord,
  type ProviderFile,
  type ProviderKind,
  placeholdersIn,
  type ReadProvider,
  type RequestFile,
  type SubjectField,
  toIntervalMs,
} from './definition.js'

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
  readonly method: 'GET' | 'POST'
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** Whether the body is sent as a form. */
  readonly isForm?: boolean
}

export type Subject = Partial<Readonly<Record<SubjectField, string>>>

type Read = (value: VendorAnswer | Fields) => unknown
type Place = readonly PropertyKey[]

export type CompiledProvider = Awaited<ReturnType<typeof compileProvider>>

/** Compiles a provider; its conditions and paths are checked. Throws a Refusal with the place of what is wrong. */
export async function compileProvider({ file, refuse }: ReadProvider) {
  const readers = readersFor(refuse)
  const kinds: Partial<Record<ProviderKind, CompiledKind>> = {}
  for (const [name, kind] of Object.entries(file.kinds))
    kinds[name as ProviderKind] = await compileKind(kind, ['kinds', name], readers)
  const { balance, limits = {}, timeout, max_age } = file
  const credits = balance && (await readers.path(balance.credits, ['balance', 'credits']))
  const names = Object.keys(kinds) as ProviderKind[]
  const sentFor = (name: ProviderKind) => {
    const { request, submit, poll, batch } = file.kinds[name] ?? {}
    return toCanonicalJson({ request, submit, poll, batch })
  }
  return {
    file,
    kinds,
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
    maxAgeMs: max_age === undefined ? 90 * 86_400_000 : toMs(max_age),
    balance: balance && credits && { request: fillRequest(balance as RequestFile, {}), credits },
  }
}

/** Returns what reads conditions and paths, and refuses those that are wrong at their places. */
function readersFor(refuse: ReadProvider['refuse']) {
  const condition = async (text: string, at: Place): Promise<Expression> => {
    try {
      return await parseExpression(text, answerScope, 'where')
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
    )
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
    return (answer: VendorAnswer) => found.test({ ...answer })
  }
  const outcomes = await Promise.all(
    file.outcomes.map(async ({ when, is, wait }, n) => ({
      expression: await condition(when, [...at, 'outcomes', n, 'when']),
      outcome: { is, waitMs: wait === undefined ? undefined : toMs(wait) },
    })),
  )
  const result = await Promise.all(
    Object.entries(file.result).map(async ([field, mapped]) => ({
      field,
      read: await readMapped(mapped, (text) => path(text, [...at, 'result', field])),
    })),
  )
  const { cost = {}, batch, needs, submit, poll, request = submit } = file
  const sent = placeholdersIn(request)
  if (batch && cost.header !== undefined) refuse('batch_cost', [...at, 'cost', 'header'])
  const costFrom = cost.from === undefined ? undefined : await path(cost.from, [...at, 'cost', 'from'])
  const items = batch && (await path(batch.items, [...at, 'batch', 'items']))
  const rowOf = batch && batch.by !== 'order' ? await path(batch.by, [...at, 'batch', 'by']) : undefined
  const id = submit && (await path(submit.id, [...at, 'submit', 'id']))
  const says = cost.header !== undefined || costFrom !== undefined
  return {
    file,
    /** Returns what is sent of a row; `undefined` where it lacks what is needed. */
    fieldsOf: (subject: Subject) => fieldsFor(needs, sent, subject),
    /** Returns the first request about some rows, each with its {row}. */
    request: (rows: readonly (Subject & { readonly row: string })[]) =>
      fillRequest(request as RequestFile, rows[0] ?? {}, batch && rows),
    poll: (id: string) => fillRequest(poll as RequestFile, { id }),
    outcomeOf: (answer: VendorAnswer) =>
      outcomes.find(({ expression }) => expression.test({ item: null, ...answer }))?.outcome,
    resultOf: (answer: VendorAnswer): Fields => {
      const values = result.map(({ field, read }) => [field, read(answer)] as const)
      return Object.fromEntries(values.filter(([, value]) => value !== undefined))
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

/** Compiles a provider whose file was checked when it was added. */
export const compileStored = ({ name, definition }: StoredProvider): Promise<CompiledProvider> =>
  compileProvider({
    file: definition as ProviderFile,
    refuse: () => {
      throw new Error(`the stored file of ${name} is not valid`)
    },
  })

const answerScope = { status: true, headers: true, body: true, item: true } as const

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

/** Returns what a value of an answer is for us; digits of long numbers stay. */
async function readMapped(mapped: Mapped, path: (text: string) => Promise<Read>): Promise<Read> {
  const { from, map, else: other } = typeof mapped === 'string' ? { from: mapped } : mapped
  const read = await path(from)
  return (answer) => {
    const value = plain(read(answer))
    if (!map) return value ?? (other === undefined ? value : other)
    return Object.hasOwn(map, String(value)) ? map[String(value)] : other
  }
}

/** Long integers are read exactly, and are texts here. */
const plain = (value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

const step = /^(?:\.?([A-Za-z_$][\w$-]*)|\[(\d+)\]|\["([^"\]]*)"\])/

/** Reads a path such as `body.emails[0].email`; in brackets also a condition, which the first such item meets. */
async function readPath(
  text: string,
  condition: (text: string) => Promise<Expression>,
  refuse: () => never,
): Promise<Read & { readonly isOfItem?: boolean }> {
  const steps: ((value: unknown) => unknown)[] = []
  for (let rest = text; rest !== ''; ) {
    const match = step.exec(rest)
    if (match) {
      const key = match[1] ?? match[2] ?? match[3] ?? ''
      steps.push((value) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, key)
          ? (value as Fields)[key]
          : undefined,
      )
      rest = rest.slice(match[0].length)
      continue
    }
    const end = rest.startsWith('[') ? closingOf(rest) : -1
    if (end < 0 || steps.length === 0) refuse()
    const fits = await condition(rest.slice(1, end))
    steps.push((value) =>
      Array.isArray(value)
        ? value.find((item) => fits.test({ status: null, headers: null, body: null, item }))
        : undefined,
    )
    rest = rest.slice(end + 1)
  }
  const read: Read = (value) => steps.reduce<unknown>((at, next) => next(at), value)
  return Object.assign(read, { isOfItem: /^item\b/.test(text) })
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

type Words = Readonly<Record<string, string | undefined>>

/** Fills the placeholders of a request. Where it is about several rows, the array with one template has one for each. */
function fillRequest(
  { get, post, query = {}, headers = {}, body, form }: RequestFile,
  words: Words,
  rows?: readonly Words[],
): VendorRequest {
  const path = (get ?? post ?? '').replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(words[name] ?? ''),
  )
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    const filled = fillValue(value, words)
    if (filled !== undefined) parameters.append(name, String(filled))
  }
  const search = parameters.size === 0 ? '' : `${path.includes('?') ? '&' : '?'}${parameters}`
  const method = get === undefined ? 'POST' : 'GET'
  const sent = {
    method,
    path: path + search,
    headers: fillValue(headers, words) as VendorRequest['headers'],
  } as const
  return form
    ? { ...sent, body: fillValue(form, words), isForm: true }
    : { ...sent, body: fillValue(body, words, rows) }
}

/** Fills a template; a text that is a placeholder alone and has no value is left out. */
function fillValue(template: unknown, words: Words, rows?: readonly Words[]): unknown {
  if (typeof template === 'string') {
    const whole = /^\{(\w+)\}$/.exec(template)?.[1]
    if (whole !== undefined) return words[whole]
    return template.replace(/\{(\w+)\}/g, (_, name: string) => words[name] ?? '')
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
