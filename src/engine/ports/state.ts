export type { Awaitable } from '../../storage/driver/connection.js'

/** The engine's clock as stored: real time plus an offset, or frozen at a moment. */
export interface StoredClock {
  readonly offsetMs: number
  /** Milliseconds since 1970, when the clock is frozen. */
  readonly frozenAt: number | null
}

/** Ceilings set by hand; null for the plan's ceiling. */
export interface QuotaCeilings {
  readonly dailyProfiles: number | null
  readonly dailyCompanies: number | null
  readonly monthlyCompanies: number | null
}

export interface Workspace extends QuotaCeilings {
  readonly id: string
  readonly name: string
  readonly plan: string
  readonly createdAt: number
  /** Engine time of the next monthly grant. */
  readonly nextAllocationAt: number
  readonly networkSession: boolean
  readonly premiumSession: boolean
}

export interface Member {
  readonly id: string
  readonly workspaceId: string
  readonly email: string
  readonly name: string | null
  /** Credits per week, Monday to Sunday in UTC; null without a limit. */
  readonly weeklyLimit: number | null
  readonly consentPersonalEmail: boolean
  readonly createdAt: number
}

export interface Key {
  readonly id: string
  readonly memberId: string
  /** Lower-case hex SHA-256 of the key; the key itself is not stored. */
  readonly hash: string
  /** Its first characters, such as `pk_AbCd`, to recognise it by. */
  readonly hint: string
  /** Areas it may use; null for all. */
  readonly scopes: readonly string[] | null
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** Who is asking: a key with its member, workspace and the engine's clock, from one read. */
export interface Principal {
  readonly key: Key
  readonly member: Member
  readonly workspace: Workspace
  readonly clock: StoredClock
}

/** The accounts of a workspace's ledger. Credits come from `issued`, the only one below zero. */
export type LedgerAccount = 'issued' | 'credits' | 'held' | 'spent'

/** Why credits move. */
export type MovementKind = 'top_up' | 'allocation' | 'adjustment' | 'charge' | 'hold' | 'settle' | 'release'

/** Balances after a movement; all zero before the first one (`seq` 0). */
export interface Balances {
  readonly seq: number
  readonly credits: number
  readonly held: number
  readonly spent: number
}

/** One movement: `amount` credits from `debit` to `credit`. It is written once and never changed. */
export interface Movement extends Balances {
  readonly workspaceId: string
  readonly kind: MovementKind
  readonly debit: LedgerAccount
  readonly credit: LedgerAccount
  readonly amount: number
  readonly memberId: string | null
  readonly operation: string | null
  /** Id of the request, job or command behind it. */
  readonly reference: string | null
  /** Engine time. */
  readonly createdAt: number
}

/** Consumption of a range by one key, such as a day or an operation. */
export interface Consumption {
  readonly by: string
  readonly credits: number
  readonly movements: number
}

/** A counted window, day, week or month of an owner. */
export interface Counter {
  /** Start of the window: engine time. */
  readonly startedAt: number
  readonly count: number
}

/** A stored reply, or the claim to make one. */
export interface StoredReply {
  readonly fingerprint: string
  /** null while the request is still running. */
  readonly status: number | null
  readonly body: string | null
  /** Fencing token of the claim. */
  readonly token: string
  /** Real time until which an open claim counts as alive. */
  readonly leaseUntil: number
  /** Engine time. */
  readonly createdAt: number
}

/** The reply to a row of a run on this machine. It has no lease and does not expire: its run discards it. */
export interface RunReply {
  readonly status: number
  /** Credits charged with it. */
  readonly credits: number
  readonly body: string
}

/** A saved description of the people a workspace looks for. */
export interface Persona {
  readonly id: string
  readonly workspaceId: string
  readonly name: string
  readonly jobTitles: readonly string[]
  readonly excludedJobTitles: readonly string[]
  /** Ids of functions. */
  readonly functions: readonly string[]
  /** Ids of seniority levels. */
  readonly seniorityLevels: readonly string[]
  /** Engine time. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** The position of a row among rows listed newest first. */
export interface ListPosition {
  /** Engine time. */
  readonly createdAt: number
  readonly id: string
}

/** A slice of rows, newest first: after a position if given, without the first `skip`, at most `limit`. */
export interface Slice {
  readonly after?: ListPosition
  readonly skip: number
  readonly limit: number
}
