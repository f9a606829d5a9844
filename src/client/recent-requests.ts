import type { Input } from '../api/calls/caller.js'
import { pathParameters } from '../api/operations/facts.js'
import { areaOf, type Operation, type OperationId } from '../api/operations/table.js'
import { type Fields, isObject } from '../api/values/objects.js'
import type { AskedSubjects, Kind, Subject } from './subject-keys.js'

/** Operations whose answers identify a company, a person or a number. Operations on an id are about a record. */
const kinds: Partial<Record<OperationId, Kind>> = {
  'accounts.enrich': 'company',
  'accounts.bulk_enrich': 'company',
  'accounts.hiring': 'company',
  'leads.enrich': 'person',
  'leads.bulk_enrich': 'person',
  'contacts.enrich': 'person',
  'contacts.enrich_sync': 'person',
  'contacts.reverse_lookup': 'person',
  'messenger.validate': 'number',
}

/** A request, until 10 s after its answer. */
export interface RecentRequest extends AskedSubjects {
  /** Connections that it was sent over. */
  readonly connections: Set<object>
  endedAt: number
  /** Whom an earlier answer was about, where that was another request. */
  contradiction?: string
}

/** How long after its answer another request is compared with a request. */
const recentMs = 10_000

/** Requests that are remembered at most, as many as a fast proxy makes in that time. A bulk request counts as its items. */
const mostRecent = 32_768

/** The requests of one server that are under way or were answered in the last 10 s. */
export class RecentRequests {
  readonly #open = new Set<RecentRequest>()
  /** In the order in which they ended. */
  readonly #ended = new Set<RecentRequest>()
  readonly #byKey = new Map<string, Set<RecentRequest>>()
  readonly #unread = new Set<RecentRequest>()
  #subjects = 0

  /** `now` returns real time. */
  constructor(private readonly now: () => number) {}

  /** Remembers a request that is about to be sent; `undefined` where its answer identifies nobody. */
  begin(row: Operation, input: Input): RecentRequest | undefined {
    const kind = kinds[row.id] ?? (pathParameters(row).length > 0 ? 'record' : undefined)
    const subjects = kind ? subjectsOfRequest(kind, row, input) : []
    if (kind === undefined || subjects.length === 0) return undefined
    const request: RecentRequest = { kind, subjects, connections: new Set(), endedAt: 0 }
    this.#open.add(request)
    this.#unread.add(request)
    this.#subjects += subjects.length
    return request
  }

  /** Notes that a request was answered, or given up. */
  end(request: RecentRequest): void {
    request.endedAt = this.now()
    this.#open.delete(request)
    this.#ended.add(request)
    for (const oldest of this.#ended) {
      if (oldest.endedAt > request.endedAt - recentMs && this.#subjects <= mostRecent) break
      this.#forget(oldest)
    }
  }

  /**
   * Returns whether an answer belongs to another request: it identifies that one, and not its own. When the request is
   * repeated over a connection that the other one did not use, and the answer is the same, it is its own: two names of
   * one company.
   */
  async isOfAnother(
    request: RecentRequest,
    row: Operation,
    body: unknown,
    connection: object | undefined,
  ): Promise<boolean> {
    const answers = subjectsOfAnswer(request.kind, row, body)
    if (answers.length === 0 || request.subjects.some((asked) => answers.some((one) => isSame(asked, one))))
      return false
    // Most answers repeat what was asked for, and need none of this.
    const { isName, keysOf, mayBeOwn } = await import('./subject-keys.js')
    for (const unread of this.#unread) this.#add(unread, keysOf(unread.kind, unread.subjects))
    const keys = keysOf(request.kind, answers)
    // A name alone is shared by many.
    if (keys.some((key) => !isName(key) && request.keys?.includes(key))) return false
    const others = new Set(keys.flatMap((key) => [...(this.#byKey.get(key) ?? [])]))
    others.delete(request)
    const contradicting = [...others].filter((other) => !mayBeOwn(request, answers, other))
    if (contradicting.length === 0) return false
    const contradiction = keys.join(' ')
    const isElsewhere =
      connection !== undefined && contradicting.every(({ connections }) => !connections.has(connection))
    if (isElsewhere && request.contradiction === contradiction) return false
    request.contradiction = contradiction
    return true
  }

  #add(request: RecentRequest, keys: readonly string[]): void {
    this.#unread.delete(request)
    request.keys = keys
    for (const key of keys) {
      const known = this.#byKey.get(key)
      if (known) known.add(request)
      else this.#byKey.set(key, new Set([request]))
    }
  }

  #forget(request: RecentRequest): void {
    this.#ended.delete(request)
    this.#unread.delete(request)
    this.#subjects -= request.subjects.length
    for (const key of request.keys ?? []) {
      const known = this.#byKey.get(key)
      known?.delete(request)
      if (known?.size === 0) this.#byKey.delete(key)
    }
  }
}

/** Whether an answer repeats what identifies a request, as it was written. */
const isSame = (asked: Subject, answer: Subject): boolean =>
  asked.marks.some((mark) => answer.marks.includes(mark))

function subjectsOfRequest(kind: Kind, row: Operation, input: Input): Subject[] {
  if (kind === 'record')
    return toRecords(
      row,
      pathParameters(row).map((name) => input[name]),
    )
  if (kind === 'number') return toRecords(row, [input.phone_number, input.phone_numbers].flat())
  const items = Object.values(input).find((value) => Array.isArray(value) && value.some(isObject))
  return toSubjects(kind, items ?? [input])
}

function subjectsOfAnswer(kind: Kind, row: Operation, body: unknown): Subject[] {
  if (!isObject(body)) return []
  if (kind === 'record') return toRecords(row, [body, ...Object.values(body)].flatMap(idsIn))
  const { results, jobs } = body
  if (kind === 'number')
    return toRecords(
      row,
      toFields(results).map((result) => result.phone_number),
    )
  if (row.id === 'accounts.hiring')
    return toSubjects(
      kind,
      toFields(jobs).map((job) => job.company),
    )
  return toSubjects(kind, results ?? [body])
}

const toFields = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isObject) : [])

const idsIn = (value: unknown): readonly unknown[] =>
  isObject(value) ? [value.id, value.uuid, value.enrichment_id] : []

const toRecords = (row: Operation, ids: readonly unknown[]): Subject[] =>
  ids.filter((id) => toText(id) !== undefined).map((id) => ({ marks: [`r ${areaOf(row.id)} ${toText(id)}`] }))

const toSubjects = (kind: 'company' | 'person', items: unknown): Subject[] =>
  toFields(items)
    .map(kind === 'company' ? toCompany : toPerson)
    .filter(({ marks, name }) => marks.length > 0 || name !== undefined)

const toCompany = (fields: Fields): Subject => ({
  marks: [
    ...markOf('d', fields.domain ?? fields.company_domain),
    ...markOf('d', fields.website),
    ...markOf('u', fields.company_network_url ?? fields.network_url),
    ...markOf('i', fields.company_network_id ?? fields.network_id),
  ],
  name: toText(fields.name) ?? toText(fields.company_name),
})

function toPerson(fields: Fields): Subject {
  const email = fields.email ?? fields.most_probable_email
  const names = [fields.first_name ?? fields.firstname, fields.last_name ?? fields.lastname].map(toText)
  const company = fields.domain ?? fields.company_domain ?? fields.company_name ?? email
  return {
    marks: [
      ...markOf('u', fields.network_profile_url ?? fields.network_url ?? fields.linkedin_url),
      ...markOf('u', fields.premium_profile_url),
      ...markOf('e', email),
      ...markOf('e', fields.personal_email),
      ...markOf('i', fields.network_id),
    ],
    name: toText(fields.full_name) ?? toText(names.filter((name) => name !== undefined).join(' ')),
    company: toText(company),
  }
}

const markOf = (letter: 'd' | 'u' | 'e' | 'i', value: unknown): string[] => {
  const text = toText(value)
  return text === undefined ? [] : [`${letter} ${text}`]
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' ? undefined : text
}
