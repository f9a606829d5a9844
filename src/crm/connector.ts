import { Refusal } from '../api/calls/errors.js'
import type { Fields } from '../api/values/objects.js'

// What a push needs of a CRM. Each CRM is one file that says how it reads, writes and fails.

/** What a record is about; the words of lists. */
export type CrmKind = 'companies' | 'people'

export const crmKinds: readonly CrmKind[] = ['companies', 'people']

/** The column with the id of a record, in lists and files. */
export const idColumn = '_crm_id'

/** What a push does with records that are there: fills what is empty, nothing, or changes what is named. */
export const pushModes = ['fill', 'create', 'overwrite'] as const
export type PushMode = (typeof pushModes)[number]

export interface CrmAccount {
  readonly id: string
  /** What its people call it, such as its domain. */
  readonly name: string
  readonly isLive: boolean
  /** Permissions that the key lacks, as the CRM names them. */
  readonly missing: readonly string[]
}

/** A property, as the schema of the account has it. */
export interface CrmProperty {
  readonly name: string
  readonly label: string
  readonly type: 'text' | 'number' | 'boolean' | 'date' | 'datetime' | 'choice' | 'choices'
  readonly isReadOnly: boolean
  readonly options: readonly { readonly value: string; readonly label: string }[]
}

/** The properties of a record; one that is empty is absent. */
export type CrmValues = Readonly<Record<string, string>>

export interface CrmRecord {
  readonly id: string
  readonly values: CrmValues
  readonly createdAt: number
  readonly changedAt: number
}

export interface CrmPage {
  readonly records: readonly CrmRecord[]
  /** What the next page is asked for with; absent after the last one. */
  readonly next?: string | undefined
  /** Whether there are more that cannot be asked for: only the whole list has them. */
  readonly isCut?: boolean
}

/** What is written: a record that is created, or, with its id, changed. `ref` names it among others of its batch. */
export interface CrmWrite {
  readonly ref: string
  readonly id?: string | undefined
  readonly values: CrmValues
}

/** What became of a write. A refusal is told in the CRM's own words, with the id of a record that stands in its way. */
export type CrmWritten =
  | { readonly ref: string; readonly record: CrmRecord }
  | { readonly ref: string; readonly error: string; readonly existing?: string | undefined }

export interface CrmAssociation {
  readonly ref: string
  readonly person: string
  readonly company: string
}

/** What is left of the limit of a day, as the last answer said it; absent where it did not. */
export interface CrmLimits {
  /** What is counted, such as `requests` or `tokens`. */
  readonly unit: string
  readonly perDay?: number | undefined
  readonly leftToday?: number | undefined
}

/** What a call counts in the limit of a day, and how many records it takes. */
export interface CrmCost {
  readonly records: number
  readonly counts: number
}

/**
 * A CRM, as one account and its key see it. Every method rejects with a Refusal where the account cannot be used any further
 * (`crm.denied`, `crm.spent`, `crm.unreachable`), and a write with `BatchRefused` where all of it was refused, or `WriteLost`
 * where it is not known whether it was done. What a method reads by ids, by a unique property or from the list is what was
 * written last; what has changed since may lag behind.
 */
export interface CrmConnector {
  readonly crm: string
  /** Properties by our fields: those of `crm-layouts.json`, and those that identify. */
  readonly fields: Readonly<Record<CrmKind, Readonly<Record<string, string>>>>
  /** Properties that are also read, beside those of fields. */
  readonly alsoRead: Readonly<Record<CrmKind, readonly string[]>>
  /** Properties that are written to new records only. */
  readonly onCreation: readonly string[]
  /** What a new record has to have: one of each of these. */
  readonly required: Readonly<Record<CrmKind, readonly (readonly string[])[]>>
  /** Properties that the CRM fills by itself from others. */
  readonly derived: readonly string[]
  /** Whether what has changed may be told later than it was written. */
  readonly changesLag: boolean
  /** The property of a person with the id of their company. */
  readonly company: string
  /** The property with the owner's id. */
  readonly owner: string
  readonly costs: Readonly<Record<'list' | 'read' | 'write', CrmCost>>
  /** Properties that no two records of a kind can share, beside the one that `createKey` adds. */
  readonly unique: Readonly<Record<CrmKind, readonly string[]>>
  /** Whether a person must not be contacted any more. */
  isOptedOut(values: CrmValues): boolean
  /** Returns what identifies a record, with our names: a set of fields for each of its addresses or domains. */
  identities(kind: CrmKind, values: CrmValues): readonly Fields[]
  account(): Promise<CrmAccount>
  schema(kind: CrmKind): Promise<readonly CrmProperty[]>
  /** Adds our own unique property to a kind, where it is not there yet; returns its name. */
  createKey(kind: CrmKind): Promise<string>
  owners(): Promise<readonly { readonly id: string; readonly email: string }[]>
  /** Returns a page of all records; what was created meanwhile comes in a later page. */
  list(kind: CrmKind, properties: readonly string[], after?: string): Promise<CrmPage>
  /** Returns a page of the records that have changed since, the earliest change first. */
  changed(kind: CrmKind, properties: readonly string[], since: number, after?: string): Promise<CrmPage>
  /** Returns the records that are there, by their ids or by a unique property. At most `costs.read.records` values. */
  read(
    kind: CrmKind,
    by: 'id' | (string & {}),
    values: readonly string[],
    properties: readonly string[],
  ): Promise<readonly CrmRecord[]>
  /** At most `costs.write.records` of them. */
  create(kind: CrmKind, writes: readonly CrmWrite[]): Promise<readonly CrmWritten[]>
  update(kind: CrmKind, writes: readonly CrmWrite[]): Promise<readonly CrmWritten[]>
  archive(kind: CrmKind, ids: readonly string[]): Promise<void>
  associate(pairs: readonly CrmAssociation[]): Promise<void>
  /** Returns the company that each of these people has, by the id of the person; those without one are absent. */
  companiesOf(people: readonly string[]): Promise<ReadonlyMap<string, string>>
  dissociate(pairs: readonly CrmAssociation[]): Promise<void>
  limits(): CrmLimits
  close(): void
}

/** A batch of which nothing was written, because of one of its records. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused'

  constructor(
    /** Why, in the CRM's words. */
    readonly sentence: string,
    /** The record that is there already, where the CRM names it. */
    readonly existing?: string,
  ) {
    super(sentence)
  }
}

/** A write whose answer did not come: it may have been done. */
export class WriteLost extends Error {
  override readonly name = 'WriteLost'
}

/** The key was refused, or lacks a permission: `scopes` names it. */
export const denied = (crm: string, status: number, sentence: string, scopes: readonly string[] = []) =>
  new Refusal('crm.denied', { crm, status, sentence, scopes })

/** The limit of the day is used up. */
export const spentToday = (crm: string, limits: CrmLimits) => new Refusal('crm.spent', { crm, ...limits })

/** Creates the connector of an account. A token that a key is exchanged for is its own matter. */
export type CreateConnector = (given: ConnectorGiven) => CrmConnector

export interface ConnectorGiven {
  readonly key: string
  /** By default the CRM's own address; without a slash at its end. */
  readonly baseUrl: string
  readonly http: CrmHttp
}

/** A request to a CRM. `isRepeatable`: sent twice, it does the same as once. */
export interface CrmRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly isForm?: boolean
  readonly isRepeatable: boolean
}

export interface CrmAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON; null where there is none. */
  readonly body: unknown
}

/** How a CRM limits its callers, in its own headers. */
export interface CrmPacing {
  /** How long the next request has to wait after an answer, in milliseconds. */
  pauseAfter(answer: CrmAnswer, now: number): number
  /** How long a refused request has to wait; `day` where nothing more goes today, `undefined` where it was no limit. */
  limitOf(answer: CrmAnswer, now: number): number | 'day' | undefined
}

/** Sends requests to a CRM one after the other, at the pace that it permits. */
export interface CrmHttp {
  /** Rejects with a Refusal where it cannot be reached, and with `WriteLost` where it may have been done. */
  send(request: CrmRequest, pacing: CrmPacing): Promise<CrmAnswer | 'day'>
  close(): void
}
