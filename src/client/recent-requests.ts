import type { Input } from '../api/calls/caller.js'
import { itemsOf, pathParameters } from '../api/operations/facts.js'
import { areaOf, type Operation, type OperationId } from '../api/operations/table.js'
import { type Fields, isObject } from '../api/values/objects.js'
import { type AskedSubjects, isName, type Kind, keysOf, mayBeOwn, type Subject } from './subject-keys.js'

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
  readonly row: Operation
  /** Connections that it was sent over. */
  connections: readonly object[]
  /** Whom an earlier answer was about, where that was another request. */
  contradiction: string | undefined
}

/** How long after its answer another request is compared with a request. */
const recentMs = 10_000

/** Keys of requests that are remembered at most, as many as a fast proxy makes in that time. A bulk request has many. */
const maxKeys = 65_536

/** Items of a bulk request that are compared at most; servers take a hundred. */
const maxItems = 1_000

const none: readonly object[] = []

function getOrAdd(sets: Map<string, Set<RecentRequest>>, key: string): Set<RecentRequest> {
  const set = sets.get(key) ?? new Set()
  sets.set(key, set)
  return set
}

/** The requests of one server that are under way or were answered in the last 10 s: see decision 16. */
export class RecentRequests {
  readonly #byKey = new Map<string, Set<RecentRequest>>()
  /** In the order of their beginnings. */
  readonly #underWay = new Set<RecentRequest>()
  /** The times of their ends, in that order. */
  readonly #ended = new Map<RecentRequest, number>()
  #keys = 0

  /** `clock` returns real time. */
  constructor(private readonly clock: () => number) {}

  /** Remembers a request that is about to be sent; `undefined` where its answer identifies nobody. */
  begin(row: Operation, input: Input): RecentRequest | undefined {
    const kind = kinds[row.id] ?? (pathParameters(row).length > 0 ? 'record' : undefined)
    if (kind === undefined) return undefined
    const subjects = subjectsOfRequest(kind, row, input)
    if (subjects.length === 0) return undefined
    const keys = keysOf(kind, subjects)
    const request: RecentRequest = { kind, row, subjects, keys, connections: none, contradiction: undefined }
    for (const key of keys) getOrAdd(this.#byKey, key).add(request)
    this.#underWay.add(request)
    this.#keys += keys.length
    this.#forget()
    return request
  }

  /** Notes that a request was answered, or given up. */
  end(request: RecentRequest): void {
    if (this.#underWay.delete(request)) this.#ended.set(request, this.clock())
  }

  /** Whether a request is under way or ended in the last 10 s, also where the clock was set back since. */
  #isRecent(request: RecentRequest, now: number): boolean {
    return Math.abs(now - (this.#ended.get(request) ?? now)) <= recentMs
  }

  /** Forgets what ended earlier. Of too many, those go that ended first, then those that have been under way for longest. */
  #forget(): void {
    const now = this.clock()
    for (const request of this.#ended.keys()) {
      if (this.#keys <= maxKeys && this.#isRecent(request, now)) break
      this.#drop(request)
    }
    for (const request of this.#underWay) {
      if (this.#keys <= maxKeys) break
      this.#drop(request)
    }
  }

  #drop(request: RecentRequest): void {
    this.#ended.delete(request)
    this.#underWay.delete(request)
    this.#keys -= request.keys.length
    for (const key of request.keys) {
      const same = this.#byKey.get(key)
      same?.delete(request)
      if (same?.size === 0) this.#byKey.delete(key)
    }
  }

  /** Whether an answer has what its request asks for as it was written, as most have, or identifies nobody. */
  fits({ kind, row, subjects }: RecentRequest, body: unknown): boolean {
    const answers = subjectsOfAnswer(kind, row, body)
    return answers.length === 0 || subjects.some((one) => answers.some((answer) => isSame(one, answer)))
  }

  /**
   * Returns whether an answer that does not fit its request belongs to another one, which it identifies. When the request is
   * repeated over a connection that the other one did not use, and the answer is the same, it is its own: two names of
   * one company.
   */
  isOfAnother(request: RecentRequest, body: unknown, connection: object | undefined): boolean {
    const answers = subjectsOfAnswer(request.kind, request.row, body)
    const keys = keysOf(request.kind, answers)
    // A name alone is shared by many.
    if (keys.some((key) => !isName(key) && request.keys.includes(key))) return false
    const now = this.clock()
    const contradicting = keys
      .flatMap((key) => [...(this.#byKey.get(key) ?? [])])
      .filter(
        (other) => other !== request && this.#isRecent(other, now) && !mayBeOwn(request, answers, other),
      )
    if (contradicting.length === 0) return false
    const contradiction = keys.join(' ')
    const isElsewhere =
      connection !== undefined && contradicting.every(({ connections }) => !connections.includes(connection))
    if (isElsewhere && request.contradiction === contradiction) return false
    request.contradiction = contradiction
    return true
  }
}

/** Whether an answer repeats what identifies a request, as it was written, or as the host of an address. */
const isSame = (asked: Subject, answer: Subject): boolean =>
  asked.marks.some((mark) => answer.marks.includes(mark) || answer.marks.includes(withoutRest(mark))) ||
  (!!asked.name && !!asked.company && asked.name === answer.name && asked.company === answer.company)

const withoutRest = (mark: string): string =>
  mark.replace(/^d (?:https?:\/\/)?(?:www\.)?([^/?#:@]+).*/s, 'd $1')

function subjectsOfRequest(kind: Kind, row: Operation, input: Input): Subject[] {
  if (kind === 'record') return pathParameters(row).flatMap((name) => toRecord(row, input[name]))
  if (kind === 'number') return [input.phone_number, input.phone_numbers].flat().flatMap(toNumber)
  if (row.needs !== 'items') return toSubjects(kind, [input])
  return toSubjects(kind, toFields(itemsOf(input)).slice(0, maxItems))
}

function subjectsOfAnswer(kind: Kind, row: Operation, body: unknown): Subject[] {
  if (!isObject(body)) return []
  const { results, jobs } = body
  if (kind === 'record')
    return [body, ...Object.values(body)]
      .filter(isObject)
      .flatMap(({ id, uuid, enrichment_id }) => [id, uuid, enrichment_id])
      .flatMap((id) => toRecord(row, id))
  if (kind === 'number') return toFields(results).flatMap((result) => toNumber(result.phone_number))
  const companies = row.id === 'accounts.hiring' ? toFields(jobs).map((job) => job.company) : undefined
  return toSubjects(kind, companies ?? results ?? [body])
}

const toFields = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isObject) : [])

function toRecord(row: Operation, id: unknown): Subject[] {
  const text = toText(id)
  return text === undefined ? [] : [{ marks: [`r ${areaOf(row.id)} ${text}`] }]
}

const toNumber = (number: unknown): Subject[] => {
  const marks = markOf('t', number)
  return marks.length === 0 ? [] : [{ marks }]
}

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

const markOf = (letter: 'd' | 'u' | 'e' | 'i' | 't', value: unknown): string[] => {
  const text = toText(value)
  return text === undefined ? [] : [`${letter} ${text}`]
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' ? undefined : text
}
