import { shapeOf } from '../api/areas/shapes.js'
import {
  type Caller,
  ConnectionLost,
  type Input,
  type Layer,
  lostCall,
  type Reply,
} from '../api/calls/caller.js'
import { renameIn, type WireNames } from '../api/calls/wire-names.js'
import { isPriced } from '../api/operations/facts.js'
import { type Operation, type OperationId, operation, rowOperation } from '../api/operations/table.js'
import type { Clock, Ids } from '../api/ports/ports.js'
import { parseExact, toJson } from '../api/values/json.js'
import { isObject } from '../api/values/objects.js'
import { hashNumber, hashOf } from '../csv/identity-filter.js'
import { type Lookup, turnPollMs } from './journal/answers.js'
import { judge } from './journal/journal.js'
import type { LookupOptions, LookupStore, LookupTurn } from './journal/single-lookups.js'
import { identityOf } from './plan/lookup.js'

interface OpenAnswers extends Pick<Lookup, 'target' | 'workspace'>, LookupOptions {
  readonly store: LookupStore
  readonly holdLock: () => Promise<string>
}

interface HeldTurn extends LookupTurn {
  /** Whether the outcome of what was sent is known. */
  isKnown: boolean
}

/** How often an equal lookup is looked for before that is said. */
const pollsBeforeNotice = 20

interface StoredLookupPorts {
  readonly open: () => Promise<OpenAnswers>
  /** Returns the real time from when on answers are taken; none is taken when absent. */
  readonly since: (() => number) | undefined
  readonly clock: Clock
  readonly ids: Ids
  /** Whether the target remembers the keys of calls without a known outcome, so that those go before the keys of turns. */
  readonly keepsKeys: boolean
  /** The words of the target for `network` and `premium`. */
  readonly names?: WireNames | undefined
  /** Whether the outcome of a call is known, and with `again` that of an earlier attempt under its key. */
  readonly isKnown: (ended: Reply | ConnectionLost, again: boolean) => boolean
  readonly sleep: (ms: number) => Promise<void>
  /** Called when an equal lookup has been under way elsewhere for a second. */
  readonly onWait?: () => void
  readonly onStored?: (answeredAt: number) => void
  /** Called when a paid answer could not be stored. */
  readonly onFault: (error: unknown) => Promise<void> | void
}

export type StoredLookups = ReturnType<typeof createStoredLookups>

/** Creates what lets equal lookups be paid for once. Calls with an idempotency key of their own are always sent. */
export function createStoredLookups(ports: StoredLookupPorts) {
  const { clock, ids, since, names, onFault, onStored } = ports
  const turns = new Map<string, HeldTurn>()
  const findFor = async (lookup: Lookup | undefined) => {
    if (!lookup || !since) return undefined
    const { store, notBefore } = await ports.open()
    const stored = await store.find(lookup, Math.max(notBefore, since()))
    if (!stored) return undefined
    const { answer, answeredAt } = stored
    const age = Math.max(0, Math.floor((clock.now() - answeredAt) / 1_000))
    const headers = { age: String(age), 'cache-status': 'prospect; hit' }
    const reply: Reply = { status: 200, body: answer.body, headers, credits: 0 }
    return { reply, answeredAt }
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
    const { target, workspace } = await ports.open()
    return { operation: id, target, workspace, identity, hash: hashNumber(hashOf(identity)) }
  }
  /** Takes the turn of a lookup, or returns the answer that an equal one brought meanwhile. */
  const takeTurn = async (lookup: Lookup, input: Input): Promise<LookupTurn | Reply> => {
    const { store, holdLock, isAlive, notBefore } = await ports.open()
    const asked = { ...lookup, input, id: ids.uuid(), identityKey: await holdLock() }
    for (let polls = 1; ; polls++) {
      const turn = await store.takeTurn(asked, { isAlive, notBefore }, clock.now())
      // Not earlier: another one may be answered just before its turn is free.
      const reply = await recallReply(lookup)
      if (reply && turn) await store.endTurn(turn, true, clock.now())
      const result = reply ?? turn
      if (result) return result
      if (polls === pollsBeforeNotice) ports.onWait?.()
      await ports.sleep(turnPollMs)
    }
  }
  const sendInTurn = async (
    caller: Caller,
    turn: HeldTurn,
    ...[id, input, options]: Parameters<Caller['call']>
  ): Promise<Reply> => {
    const { key, row, input: sent } = turn.left ?? { key: turn.key, row: undefined, input }
    const keyed = row || !ports.keepsKeys ? { idempotencyKey: key } : { freshKey: () => key }
    turn.isKnown = false
    const reply = await caller.call(id, sent, { ...options, ...keyed, row }).catch(lostCall)
    turn.isKnown = ports.isKnown(reply, turn.left !== undefined)
    if (reply instanceof ConnectionLost) throw reply
    return reply
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
        const isAsked = since !== undefined && options.idempotencyKey === undefined
        const lookup = isAsked ? await lookupOf(id, input) : undefined
        if (!lookup) return caller.call(id, input, options)
        const reply = await recallReply(lookup)
        if (reply) return reply
        const line = `${id} ${lookup.identity}`
        const taken = await takeTurn(lookup, input)
        if ('status' in taken) return taken
        const turn: HeldTurn = { ...taken, isKnown: true }
        turns.set(line, turn)
        try {
          return await caller.call(id, input, options)
        } finally {
          turns.delete(line)
          const { store } = await ports.open()
          await store.endTurn(turn, turn.isKnown, clock.now()).catch(onFault)
        }
      },
    }
  }
  const keep: Layer = (caller) => ({
    ...caller,
    call: async (id, input, options = {}) => {
      if (!asRow(operation(id))) return caller.call(id, input, options)
      const isOwnKey = options.idempotencyKey !== undefined
      const lookup = isOwnKey || turns.size === 0 ? undefined : await lookupOf(id, input)
      const turn = lookup && turns.get(`${id} ${lookup.identity}`)
      const reply = await (turn
        ? sendInTurn(caller, turn, id, input, options)
        : caller.call(id, input, options))
      // The reply to a key of the user's own may be of any age.
      const isOld = isOwnKey && reply.headers['idempotent-replayed'] !== undefined
      // The paid answer matters more than its copy.
      if (!isOld) await keepAnswer(id, input, reply).catch(onFault)
      return reply
    },
  })
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
  const found = rowOperation(row)
  return found.batch && found
}

/** Returns a body that is passed on as it came, as text in our words. */
function textOf(wire: Uint8Array, names: WireNames | undefined): string {
  const text = new TextDecoder().decode(wire)
  return names ? toJson(renameIn(parseExact(text), names)) : text
}
