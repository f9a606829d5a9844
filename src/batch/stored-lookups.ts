import { shapeOf } from '../api/areas/shapes.js'
import type { Caller, Input, Reply } from '../api/calls/caller.js'
import type { Layer } from '../api/calls/compose.js'
import { renameIn, type WireNames } from '../api/calls/wire-names.js'
import { isPriced } from '../api/operations/facts.js'
import { type Operation, type OperationId, operation, operations } from '../api/operations/table.js'
import { parseExact, toJson } from '../api/values/json.js'
import { isObject } from '../api/values/objects.js'
import { hashNumber, hashOf } from '../csv/identity-filter.js'
import type { Clock, Ids } from '../engine/ports/ports.js'
import type { Lookup } from '../storage/state/runs/answers.js'
import type { LookupStore } from '../storage/state/runs/single-lookups.js'
import { judge } from './journal/answer.js'
import { identityOf } from './plan/lookup.js'

/** What answering single lookups from the stored answers needs. */
export interface StoredLookupPorts {
  /** Opens the stored answers, with the name of the target that they are of. */
  readonly open: () => Promise<{ readonly store: LookupStore; readonly target: string }>
  /** How old an answer may be; none is taken when absent. */
  readonly maxAgeMs: number | undefined
  readonly clock: Clock
  readonly ids: Ids
  /** The words of the target for `network` and `premium`. */
  readonly names?: WireNames | undefined
  /** Gives each call an idempotency key, which is kept until its answer is stored. */
  readonly keyed: Layer
  /** Waits until no other process makes a lookup with this hash. Returns what lets others make it. */
  readonly takeTurn: (hash: number) => Promise<() => void>
  /** Called when a stored answer was taken. */
  readonly onStored?: (answeredAt: number) => void
  /** Called when a paid answer could not be stored. */
  readonly onFault: (error: unknown) => void
}

/** Single lookups that use the stored answers of runs, and add theirs. */
export type StoredLookups = ReturnType<typeof createStoredLookups>

/** A reply from the store. It costs nothing. */
export interface StoredReply {
  readonly reply: Reply
  /** Real time. */
  readonly answeredAt: number
}

/** Creates what lets equal lookups be paid for once. Calls with an idempotency key of their own are always sent. */
export function createStoredLookups(ports: StoredLookupPorts) {
  const { clock, ids, maxAgeMs, names, onFault, onStored } = ports
  const turns = new Map<string, Promise<unknown>>()
  const findFor = async (lookup: Lookup | undefined): Promise<StoredReply | undefined> => {
    if (!lookup || maxAgeMs === undefined) return undefined
    const { store } = await ports.open()
    const stored = await store.find(lookup, clock.now() - maxAgeMs)
    if (!stored) return undefined
    const { answer, answeredAt } = stored
    const age = Math.max(0, Math.floor((clock.now() - answeredAt) / 1_000))
    const headers = { age: String(age), 'cache-status': 'prospect; hit' }
    return { reply: { status: 200, body: answer.body, headers, credits: 0 }, answeredAt }
  }
  const recallReply = async (lookup: Lookup): Promise<Reply | undefined> => {
    const stored = await findFor(lookup)
    if (stored) onStored?.(stored.answeredAt)
    return stored?.reply
  }
  const lookupOf = async (id: OperationId, input: Input): Promise<Lookup | undefined> => {
    const row = asRow(operation(id))
    if (!row || !(await shapeOf(id)).input.safeParse(input).success) return undefined
    const identity = identityOf(row)(input)
    if (identity === undefined) return undefined
    const { target } = await ports.open()
    return { operation: id, target, identity, hash: hashNumber(hashOf(identity)) }
  }
  /** Runs work after the earlier work with the same key. */
  const inTurn = <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const turn = (turns.get(key) ?? Promise.resolve()).then(work)
    const over = turn.then(
      () => {},
      () => {},
    )
    turns.set(key, over)
    void over.then(() => turns.get(key) === over && turns.delete(key))
    return turn
  }
  const keepAnswer = async (id: OperationId, input: Input, reply: Reply): Promise<void> => {
    const row = asRow(operation(id))
    const verdict = row && judge(reply, row, clock.now())
    if (verdict?.kind !== 'answer' || verdict.answer.status !== 'found') return
    const lookup = await lookupOf(id, input)
    if (!lookup) return
    const { store } = await ports.open()
    const isCut = isObject(reply.body) && reply.body.truncated === true
    const answer = { ...verdict.answer, isCut, ...(reply.wire ? { text: textOf(reply.wire, names) } : {}) }
    await store.keep(lookup, answer, clock.now(), ids.uuid())
  }
  /** Answers lookups from the store. Of equal ones at the same time, the first is sent and the others take its answer. */
  const recall: Layer = (caller) => {
    const { refusedNow } = caller
    return {
      ...caller,
      // A stored answer is given whatever the rate limits of the target.
      ...(refusedNow && {
        refusedNow: async (id, ...rest) => (asRow(operation(id)) ? undefined : refusedNow(id, ...rest)),
      }),
      call: async (id, input, options = {}) => {
        const isAsked = maxAgeMs !== undefined && options.idempotencyKey === undefined
        const lookup = isAsked ? await lookupOf(id, input) : undefined
        if (!lookup) return caller.call(id, input, options)
        const reply = await recallReply(lookup)
        if (reply) return reply
        return inTurn(`${id} ${lookup.identity}`, async () => {
          const end = await ports.takeTurn(lookup.hash)
          try {
            return (await recallReply(lookup)) ?? (await caller.call(id, input, options))
          } finally {
            end()
          }
        })
      },
    }
  }
  /** Stores the answers of the target. */
  const keep: Layer = (caller) => {
    const storing = (takesReplays: boolean): Caller => ({
      ...caller,
      call: async (id, input, options) => {
        const reply = await caller.call(id, input, options)
        const isReplay = reply.headers['idempotent-replayed'] !== undefined
        // The paid answer matters more than its copy.
        if (takesReplays || !isReplay) await keepAnswer(id, input, reply).catch(onFault)
        return reply
      },
    })
    // The reply to a key of the user's own may be of any age.
    const [keyed, own] = [ports.keyed(storing(true)), storing(false)]
    return {
      ...caller,
      call: (id, input, options = {}) => {
        const storer = options.idempotencyKey === undefined ? keyed : own
        return (asRow(operation(id)) ? storer : caller).call(id, input, options)
      },
    }
  }
  return {
    /** Returns the stored reply to a lookup, and when the target gave it; `undefined` where it would be sent. */
    find: async (id: OperationId, input: Input) => findFor(await lookupOf(id, input)),
    recall,
    keep,
  }
}

/** Returns a priced operation as a batch calls it for a row; `undefined` where no batch does. */
function asRow(row: Operation): Operation | undefined {
  if (row.starts !== undefined || !isPriced(row)) return undefined
  const batch =
    row.batch ??
    operations().find(
      ({ command, batch: other }) =>
        command === row.command && other?.through !== undefined && other.through === row.flag,
    )?.batch
  return batch && { ...row, batch }
}

/** Returns a body that is passed on as it came, as text in our words. */
function textOf(wire: Uint8Array, names: WireNames | undefined): string {
  const text = new TextDecoder().decode(wire)
  return names ? toJson(renameIn(parseExact(text), names)) : text
}
