import type { RunRow } from '../../api/calls/caller.js'
import type { Awaitable } from './awaitable.js'
import type { ChunkReads, ChunkWrites } from './chunk-store.js'
import type { ErasureReads, ErasureWrites } from './erasure-store.js'
import type { JobReads, JobWrites } from './job-store.js'
import type {
  Consumption,
  Counter,
  Key,
  Member,
  Movement,
  Persona,
  Position,
  Principal,
  RunReply,
  Slice,
  StoredClock,
  StoredReply,
  Workspace,
} from './state.js'

// Source, state and jobs have files of their own; adapters find every port here.
export type { Awaitable } from './awaitable.js'
export type * from './chunk-store.js'
export type * from './erasure-store.js'
export type * from './erasure-store.js'
export type * from './job.js'
export type * from './job-store.js'
export type * from './sender.js'
export type * from './source.js'
export type * from './state.js'

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

/** Questions to the store, answered from one consistent snapshot. */
export interface Reads extends JobReads, ErasureReads, ChunkReads {
  principal(keyHash: string): Awaitable<Principal | undefined>
  /** By the id of a key, which is no secret. */
  principalOfKey(id: string): Awaitable<Principal | undefined>
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
  /** The reply that a row of a run had. */
  runReply(workspaceId: string, run: string, ordinal: number): Awaitable<RunReply | undefined>
  persona(workspaceId: string, id: string): Awaitable<Persona | undefined>
  personas(workspaceId: string, slice: Slice): Awaitable<readonly Persona[]>
  countPersonas(workspaceId: string): Awaitable<number>
  /** What a workspace's cursors are signed with, in hexadecimal; nothing before its first cursor. */
  cursorSecret(workspaceId: string): Awaitable<string | undefined>
  schemaVersion(): Awaitable<number>
}

/** Changes to the store, all or none of them kept. */
export interface Transaction extends Reads, JobWrites, ErasureWrites, ChunkWrites {
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
  /**
   * Keeps the reply to a row of a run unless it has one; answers whether it had none. Where a `fresh` row has one, the
   * transaction fails.
   */
  keepRunReply(workspaceId: string, row: RunRow, reply: RunReply): Awaitable<boolean>
  /** Forgets the replies to the rows of a run below an ordinal. */
  dropRunReplies(workspaceId: string, run: string, before: number): Awaitable<number>
  addPersona(persona: Persona): Awaitable<void>
  /** Answers whether the workspace had it. */
  dropPersona(workspaceId: string, id: string): Awaitable<boolean>
  /** Keeps a workspace's cursor secret unless it has one; answers the one it has. */
  keepCursorSecret(workspaceId: string, secret: string): Awaitable<string>
}

/** What a transaction failed of that adds something which is there already: somebody else was at the same. */
export class AlreadyThere extends Error {
  override readonly name = 'AlreadyThere'

  constructor() {
    super('it is there already')
  }
}

/** Scope of a transaction that only takes up due work. */
export const dueWork = 'due work'

/** The engine's state. Several processes may have the same one open. */
export interface Store {
  read<T>(work: (reads: Reads) => Awaitable<T>): Promise<T>
  /** Like `read`; requests that ask for the same name at the same time share the answer. */
  readShared<T>(name: string, work: (reads: Reads) => Awaitable<T>): Promise<T>
  /**
   * Runs `work` alone; what it did is durable when the promise resolves, and undone when it rejects. It asks `tx` and
   * never the store, which would wait for it, and changes nothing else: it may be run more than once. `scope` names what
   * all of it is about: a workspace by its id, something in it that no other work touches, or `dueWork`. Works of other
   * scopes may go on meanwhile; one without a scope has the whole store to itself.
   */
  transaction<T>(work: (tx: Transaction) => Awaitable<T>, scope?: string): Promise<T>
  /** Milliseconds by which the clock of all who share the store is ahead of this machine's. */
  aheadMs(): number
  /**
   * Calls `wake` when work may have come from another process, or where that is the topic `chunks` or `answers`; answers
   * what ends that. It may miss some: whoever waits looks now and then all the same.
   */
  onWork(wake: () => void, topic?: 'chunks' | 'answers'): () => void
  close(): Promise<void>
}
