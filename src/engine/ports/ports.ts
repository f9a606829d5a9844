import type { RunRow } from '../../api/calls/caller.js'
import type { ChunkReads, ChunkWrites } from './chunk-store.js'
import type { JobReads, JobWrites } from './job-store.js'
import type {
  Awaitable,
  Balances,
  Consumption,
  Counter,
  Key,
  Member,
  Movement,
  Persona,
  Principal,
  RunReply,
  Slice,
  StoredClock,
  StoredReply,
  Workspace,
} from './state.js'

// Adapters import every port from here.
export type * from './chunk-store.js'
export type * from './job.js'
export type * from './job-store.js'
export type * from './sender.js'
export type * from './source.js'
export type * from './state.js'

/** Real time in milliseconds since 1970; the engine adds its own adjustable clock. */
export interface Clock {
  now(): number
}

/** Source of ids and secrets. */
export interface Ids {
  uuid(): string
  /** Random bytes. */
  bytes(size: number): Uint8Array
}

/** Reads of the store, from one consistent snapshot. */
export interface Reads extends JobReads, ChunkReads {
  principal(keyHash: string): Awaitable<Principal | undefined>
  /** Finds the principal by the id of a key, which is not secret. */
  principalOfKey(id: string): Awaitable<Principal | undefined>
  clock(): Awaitable<StoredClock>
  /** A workspace by id, or the one in use. */
  workspace(id?: string): Awaitable<Workspace | undefined>
  workspaces(): Awaitable<readonly Workspace[]>
  members(workspaceId: string): Awaitable<readonly Member[]>
  keys(workspaceId: string): Awaitable<readonly Key[]>
  position(workspaceId: string): Awaitable<Balances>
  /** Movements of a workspace after `afterSeq`, oldest first, at most `limit`. */
  movements(workspaceId: string, afterSeq: number, limit: number): Awaitable<readonly Movement[]>
  /** Credits consumed in `[from, to)` engine time. */
  consumed(workspaceId: string, from: number, to: number, memberId?: string): Awaitable<number>
  /** Sums the credits consumed in `[from, to)` engine time: of all movements, or of those in `(after, last]`. */
  consumption(
    workspaceId: string,
    from: number,
    to: number,
    by: 'day' | 'operation' | 'member',
    movements?: { readonly after: number; readonly last: number },
  ): Awaitable<readonly Consumption[]>
  counter(owner: string, name: string): Awaitable<Counter | undefined>
  /** Returns whether a counter began after a moment of engine time. */
  hasCounterAfter(now: number): Awaitable<boolean>
  reply(workspaceId: string, key: string): Awaitable<StoredReply | undefined>
  /** Returns the stored reply to a row of a run. */
  runReply(workspaceId: string, run: string, ordinal: number): Awaitable<RunReply | undefined>
  persona(workspaceId: string, id: string): Awaitable<Persona | undefined>
  personas(workspaceId: string, slice: Slice): Awaitable<readonly Persona[]>
  countPersonas(workspaceId: string): Awaitable<number>
  /** The secret that signs a workspace's cursors, in hexadecimal; `undefined` before its first cursor. */
  cursorSecret(workspaceId: string): Awaitable<string | undefined>
  schemaVersion(): Awaitable<number>
}

/** Writes to the store, atomic. */
export interface Transaction extends Reads, JobWrites, ChunkWrites {
  setClock(clock: StoredClock): Awaitable<void>
  addWorkspace(workspace: Workspace, used: boolean): Awaitable<void>
  useWorkspace(id: string): Awaitable<void>
  /** Changes the given fields only. */
  changeWorkspace(id: string, change: Partial<Omit<Workspace, 'id' | 'createdAt'>>): Awaitable<void>
  addMember(member: Member): Awaitable<void>
  changeMember(
    id: string,
    change: Partial<Pick<Member, 'weeklyLimit' | 'consentPersonalEmail' | 'name'>>,
  ): Awaitable<void>
  addKey(key: Key): Awaitable<void>
  revokeKey(id: string, at: number): Awaitable<boolean>
  /** Locks this workspace's balances until the transaction ends. Returns the position. */
  lockPosition(workspaceId: string): Awaitable<Balances>
  append(movement: Movement): Awaitable<void>
  /** A member's weekly limit as it is now, which may differ from when the request began. */
  weeklyLimit(memberId: string): Awaitable<number | null>
  /** Locks the counter until the transaction ends. */
  lockCounter(owner: string, name: string): Awaitable<Counter | undefined>
  setCounter(owner: string, name: string, counter: Counter): Awaitable<void>
  dropCounter(owner: string, name: string): Awaitable<void>
  /** Lets the counters that began after a moment begin at it; their counts stay. */
  restartCounters(now: number): Awaitable<void>
  /** Stores a claim unless the key has one. Returns whether it did. */
  claim(workspaceId: string, key: string, claim: StoredReply): Awaitable<boolean>
  /** Replaces an expired claim. Returns whether it was still that claim. */
  reclaim(workspaceId: string, key: string, oldToken: string, claim: StoredReply): Awaitable<boolean>
  /** Stores the reply of a claim. Returns whether this token still had the claim. */
  keepReply(workspaceId: string, key: string, token: string, status: number, body: string): Awaitable<boolean>
  renewClaim(workspaceId: string, key: string, token: string, leaseUntil: number): Awaitable<boolean>
  dropClaim(workspaceId: string, key: string, token: string): Awaitable<void>
  /** Deletes the oldest replies created at or before a moment of engine time, at most `limit`; no open claims. */
  dropReplies(before: number, limit: number): Awaitable<number>
  /**
   * Stores the reply to a row of a run unless it has one. Returns whether it did. When a `fresh` row has one, the
   * transaction fails.
   */
  keepRunReply(workspaceId: string, row: RunRow, reply: RunReply): Awaitable<boolean>
  /** Deletes the replies to the rows of a run below an ordinal. */
  dropRunReplies(workspaceId: string, run: string, before: number): Awaitable<number>
  addPersona(persona: Persona): Awaitable<void>
  /** Returns whether the workspace had it. */
  dropPersona(workspaceId: string, id: string): Awaitable<boolean>
  /** Stores a workspace's cursor secret unless it has one. Returns the stored one. */
  keepCursorSecret(workspaceId: string, secret: string): Awaitable<string>
}

/** The engine's state. Several processes may have the same store open. */
export interface Store {
  read<T>(work: (reads: Reads) => Awaitable<T>): Promise<T>
  /** Like `read`; requests with the same name at the same time share the answer. */
  readShared<T>(name: string, work: (reads: Reads) => Awaitable<T>): Promise<T>
  /**
   * Runs `work` in a transaction: durable when the promise resolves, undone when it rejects. It uses `tx` and never
   * the store, which would wait for it. It changes nothing else, since it may run more than once. `scope` names what
   * it is about: a workspace by its id, something in it that no other work touches, or `dueWork`. Work of other
   * scopes may run meanwhile; without a scope it has the whole store to itself.
   */
  transaction<T>(work: (tx: Transaction) => Awaitable<T>, scope?: string): Promise<T>
  /** Throws while the database can be read but not written. */
  requireWritable(): Promise<void>
  /** Milliseconds by which the shared clock of the store is ahead of this machine's. */
  aheadMs(): number
  /**
   * Calls `wake` when another process may have added work, or work of a topic. Returns a function that ends it. It
   * may miss some, so callers also poll.
   */
  onWork(wake: () => void, topic?: 'chunks' | 'answers'): () => void
  close(): Promise<void>
}
