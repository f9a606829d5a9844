import type { Awaitable } from './awaitable.js'

// The source has a file of its own; adapters find every port here.
export type { Awaitable } from './awaitable.js'
export type * from './source.js'

/** Real time in milliseconds since 1970; the engine adds its own movable clock. */
export interface Clock {
  now(): number
}

/** Where ids and secrets come from. */
export interface Ids {
  uuid(): string
  /** Random bytes. */
  bytes(size: number): Uint8Array
}

/** The engine's clock as stored: real time plus an offset, or frozen at a moment. */
export interface StoredClock {
  readonly offsetMs: number
  /** Milliseconds since 1970, when the clock stands still. */
  readonly frozenAt: number | null
}

/** Ceilings set by hand; null where the plan's own ceiling holds. */
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
  /** Credits per week, Monday to Sunday in UTC; null when not capped. */
  readonly weeklyLimit: number | null
  readonly consentPersonalEmail: boolean
  readonly createdAt: number
}

export interface Key {
  readonly id: string
  readonly memberId: string
  /** Lower-case hex SHA-256 of the key; the key itself is nowhere. */
  readonly hash: string
  /** Its recognisable beginning, such as `pk_AbCd`. */
  readonly hint: string
  /** Areas it may use; null for all. */
  readonly scopes: readonly string[] | null
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** Who is asking: a key with its member, workspace and the engine's clock, read in one go. */
export interface Principal {
  readonly key: Key
  readonly member: Member
  readonly workspace: Workspace
  readonly clock: StoredClock
}

/** The accounts of a workspace's ledger. `issued` is where credits come from, and is the only one below zero. */
export type LedgerAccount = 'issued' | 'credits' | 'held' | 'spent'

/** Why credits move. */
export type MovementKind = 'top_up' | 'allocation' | 'adjustment' | 'charge' | 'hold' | 'settle' | 'release'

/** Balances after a movement; all zero before the first (`seq` 0). */
export interface Position {
  readonly seq: number
  readonly credits: number
  readonly held: number
  readonly spent: number
}

/** One movement: `amount` credits from `debit` to `credit`. It is written once and never changed. */
export interface Movement extends Position {
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
  /** When it began: engine time. */
  readonly startedAt: number
  readonly count: number
}

/** A stored reply or the claim to make one. */
export interface StoredReply {
  readonly fingerprint: string
  /** null while the request is still running. */
  readonly status: number | null
  readonly body: string | null
  /** Fencing token of the claim. */
  readonly token: string
  /** Real time until which a running claim is believed alive. */
  readonly leaseUntil: number
  /** Engine time. */
  readonly createdAt: number
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

/** Where a row stands among rows listed newest first. */
export interface Place {
  /** Engine time. */
  readonly createdAt: number
  readonly id: string
}

/** A run of rows, newest first: behind a place when one is given, without the first `skip`, at most `limit`. */
export interface Slice {
  readonly after?: Place
  readonly skip: number
  readonly limit: number
}

/** Questions to the store, answered from one consistent snapshot. */
export interface Reads {
  principal(keyHash: string): Awaitable<Principal | undefined>
  clock(): Awaitable<StoredClock>
  /** A workspace by id, or the one in use. */
  workspace(id?: string): Awaitable<Workspace | undefined>
  workspaces(): Awaitable<readonly Workspace[]>
  members(workspaceId: string): Awaitable<readonly Member[]>
  keys(workspaceId: string): Awaitable<readonly Key[]>
  position(workspaceId: string): Awaitable<Position>
  /** Movements of a workspace after `afterSeq`, oldest first, at most `limit`. */
  movements(workspaceId: string, afterSeq: number, limit: number): Awaitable<readonly Movement[]>
  /** Credits consumed in `[from, to)` engine time. */
  consumed(workspaceId: string, from: number, to: number, memberId?: string): Awaitable<number>
  consumption(
    workspaceId: string,
    from: number,
    to: number,
    by: 'day' | 'operation' | 'member',
  ): Awaitable<readonly Consumption[]>
  counter(owner: string, name: string): Awaitable<Counter | undefined>
  reply(workspaceId: string, key: string): Awaitable<StoredReply | undefined>
  persona(workspaceId: string, id: string): Awaitable<Persona | undefined>
  personas(workspaceId: string, slice: Slice): Awaitable<readonly Persona[]>
  countPersonas(workspaceId: string): Awaitable<number>
  /** What a workspace's cursors are signed with, in hexadecimal; nothing before its first cursor. */
  cursorSecret(workspaceId: string): Awaitable<string | undefined>
  schemaVersion(): Awaitable<number>
}

/** Changes to the store, all or none of them kept. */
export interface Transaction extends Reads {
  setClock(clock: StoredClock): Awaitable<void>
  addWorkspace(workspace: Workspace, used: boolean): Awaitable<void>
  useWorkspace(id: string): Awaitable<void>
  /** Changes what is given and leaves the rest. */
  changeWorkspace(id: string, change: Partial<Omit<Workspace, 'id' | 'createdAt'>>): Awaitable<void>
  addMember(member: Member): Awaitable<void>
  changeMember(
    id: string,
    change: Partial<Pick<Member, 'weeklyLimit' | 'consentPersonalEmail' | 'name'>>,
  ): Awaitable<void>
  addKey(key: Key): Awaitable<void>
  revokeKey(id: string, at: number): Awaitable<boolean>
  /** Keeps others from changing this workspace's balances until the transaction ends; answers the position. */
  lockPosition(workspaceId: string): Awaitable<Position>
  append(movement: Movement): Awaitable<void>
  /** A member's weekly limit as it is now, which is not always what it was when the request began. */
  weeklyLimit(memberId: string): Awaitable<number | null>
  /** The counter, kept from others until the transaction ends. */
  lockCounter(owner: string, name: string): Awaitable<Counter | undefined>
  setCounter(owner: string, name: string, counter: Counter): Awaitable<void>
  dropCounter(owner: string, name: string): Awaitable<void>
  /** Writes a claim unless the key has one; answers whether it was written. */
  claim(workspaceId: string, key: string, claim: StoredReply): Awaitable<boolean>
  /** Takes over a claim whose lease has run out; answers whether it was still that claim. */
  reclaim(workspaceId: string, key: string, oldToken: string, claim: StoredReply): Awaitable<boolean>
  /** Keeps the reply of a claim; answers whether the claim was still held by this token. */
  keepReply(workspaceId: string, key: string, token: string, status: number, body: string): Awaitable<boolean>
  renewClaim(workspaceId: string, key: string, token: string, leaseUntil: number): Awaitable<boolean>
  dropClaim(workspaceId: string, key: string, token: string): Awaitable<void>
  /** Forgets the oldest replies created at or before a moment of engine time, at most `limit`; no running claim. */
  dropReplies(before: number, limit: number): Awaitable<number>
  addPersona(persona: Persona): Awaitable<void>
  /** Answers whether the workspace had it. */
  dropPersona(workspaceId: string, id: string): Awaitable<boolean>
  /** Keeps a workspace's cursor secret unless it has one; answers the one it has. */
  keepCursorSecret(workspaceId: string, secret: string): Awaitable<string>
}

/** The engine's state. Several processes may have the same one open. */
export interface Store {
  read<T>(work: (reads: Reads) => Awaitable<T>): Promise<T>
  /** Like `read`; requests that ask for the same name at the same time share the answer. */
  readShared<T>(name: string, work: (reads: Reads) => Awaitable<T>): Promise<T>
  /**
   * Runs `work` alone; what it did is durable when the promise resolves, and undone when it rejects. It asks `tx` and
   * never the store, which would wait for it.
   */
  transaction<T>(work: (tx: Transaction) => Awaitable<T>): Promise<T>
  close(): Promise<void>
}
