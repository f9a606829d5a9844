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
import { isObject, once } from '../api/values/objects.js'
import { hashNumber, hashOf } from '../csv/identity-filter.js'
import { judge, type RowAnswer } from '../lookups/answer.js'
import { type Ask, type LookupOptions, type LookupRow, type Lookups, openLookups } from '../lookups/store.js'
import type { Driver } from '../storage/driver/connection.js'
import { identityOf } from './plan/lookup.js'

/** How often an equal lookup is looked for that is under way, in milliseconds, and how often before that is said. */
const busyMs = 50
const pollsBeforeNotice = 20

interface SingleLookupPorts {
  readonly open: () => Promise<{
    readonly database: Driver
    readonly target: string
    readonly workspace: string
    readonly profile: string
    readonly notBefore: number
    readonly isAlive: NonNullable<LookupOptions['isAlive']>
    /** Holds a lock until the process ends; returns its name. */
    readonly holdLock: () => Promise<string>
  }>
  /** Returns the real time from when on answers are taken; none is taken when absent. */
  readonly since: (() => number) | undefined
  readonly clock: Clock
  readonly ids: Ids
  /** Whether the target remembers the keys of calls without a known outcome, so that those go before the keys of lookups. */
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

export type SingleLookups = ReturnType<typeof createSingleLookups>

/** A process numbers its lookups in a block of its own, since keys derive from the numbers. */
const blockSize = 1_000_000_000
const addSql = `INSERT INTO runs (id, known_by, operation, target, workspace, profile, file, file_hash, request, status, total,
  forgotten, indexed, requests, started_at) VALUES (?, ?, ?, ?, ?, ?, '', '', '{}', 'running', 0, 1, 1, 1, ?)
  RETURNING number, id, requests`
const againSql = `UPDATE runs SET status = 'running', requests = requests + 1, ended_at = ?
  WHERE known_by = ? AND operation = ? AND target = ? AND workspace = ? AND profile = ? RETURNING number, id, requests`
const overSql = `UPDATE runs SET status = 'stopped' WHERE known_by = ? AND status = 'running'`
const leftSql = `UPDATE lookups SET state = 'unknown' WHERE run = ? AND state = 'asked'`
const runningSql = `SELECT DISTINCT known_by AS holder FROM runs WHERE status = 'running' AND operation = ? AND target = ?`
const openSql = `SELECT 1 AS one FROM runs r JOIN lookups l ON l.run = r.number
  WHERE r.operation = ? AND r.target = ? AND l.state IN ('asked', 'accepted') LIMIT 1`

/** Whether an equal lookup may be under way, or was left by a process that was killed. */
export const mayBeUnderWay = (
  driver: Driver,
  id: string,
  target: string,
  isAlive: NonNullable<LookupOptions['isAlive']>,
): Promise<boolean> =>
  driver.read(async (reads) => {
    for (const { holder } of await reads.all<{ holder: string }>(runningSql, id, target))
      if (await isAlive(holder, reads)) return true
    return (await reads.get(openSql, id, target)) !== undefined
  })

/** The run of single lookups of one operation by one process at a time. */
interface SinglesRun {
  readonly number: number
  readonly id: string
  /** How many processes it has had. */
  readonly requests: number
}

interface OwnRun {
  readonly lookups: Lookups
  /** Lookups that this process has under way. */
  readonly underWay: Set<number>
  /** The number of the next one. */
  next: number
}

interface Sent {
  readonly lookups: Lookups
  readonly ask: Ask
  readonly row: LookupRow
  /** Whether it was sent, whether the outcome of that is known, and whether its answer is recorded. */
  isSent: boolean
  isKnown: boolean
  isKept: boolean
}

/** Creates what lets equal lookups be paid for once. Calls with an idempotency key of their own are always sent. */
export function createSingleLookups(ports: SingleLookupPorts) {
  const { clock, ids, since, names, onFault, onStored } = ports
  const sent = new Map<string, Sent>()
  const runs = new Map<string, Promise<OwnRun>>()
  const lock = once(async () => {
    const { database, holdLock } = await ports.open()
    const name = await holdLock()
    // What another process with this lock had under way is nobody's now.
    await database.transaction((connection) => connection.run(overSql, name), 'lookups')
    return name
  })
  const optionsOf = (id: OperationId, open: Awaited<ReturnType<SingleLookupPorts['open']>>) => {
    const { target, workspace, profile, notBefore, isAlive } = open
    const options = {
      now: () => clock.now(),
      budgets: {},
      mayRepeat: true,
      retryUnknown: true,
      notBefore,
      isAlive,
      takesKeys: true,
      get maxAgeMs() {
        return since ? Math.max(0, clock.now() - since()) : undefined
      },
    }
    return { of: { operation: id, target, workspace, profile }, options }
  }
  /** Opens what only reads. */
  const readerOf = async (id: OperationId): Promise<Lookups> => {
    const open = await ports.open()
    const { of, options } = optionsOf(id, open)
    return openLookups(open.database, { ...of, number: 0, id: '', identityKey: '' }, options)
  }
  /** Opens the run of this process for an operation. */
  const openOwn = async (id: OperationId): Promise<OwnRun> => {
    const open = await ports.open()
    const { of, options } = optionsOf(id, open)
    const identityKey = await lock()
    const own = [identityKey, id, of.target, of.workspace, of.profile]
    const run = await open.database.transaction(async (connection) => {
      const again = await connection.get<SinglesRun>(againSql, clock.now(), ...own)
      // What the process before this one was killed over is left to whoever asks for it next.
      if (again) await connection.run(leftSql, again.number)
      return again ?? connection.get<SinglesRun>(addSql, ids.uuid(), ...own, clock.now())
    }, 'lookups')
    if (!run) throw new Error('the run of single lookups was not recorded')
    const lookups = await openLookups(open.database, { ...of, ...run, identityKey }, options)
    return { lookups, underWay: new Set(), next: run.requests * blockSize }
  }
  const ownRun = (id: OperationId): Promise<OwnRun> => {
    const found = runs.get(id) ?? openOwn(id)
    runs.set(id, found)
    found.catch(() => runs.delete(id))
    return found
  }
  const rowOf = async (id: OperationId, input: Input): Promise<LookupRow | undefined> => {
    const row = asRow(operation(id))
    if (!row || !(await shapeOf(id)).input.safeParse(input).success) return undefined
    const identity = identityOf(row)(input)
    if (identity === undefined) return undefined
    return { ordinal: -1, identity, hash: hashNumber(hashOf(identity)), most: 0, input }
  }
  const replyOf = ({ body }: RowAnswer, answeredAt: number) => {
    const age = Math.max(0, Math.floor((clock.now() - answeredAt) / 1_000))
    const headers = { age: String(age), 'cache-status': 'prospect; hit' }
    return { reply: { status: 200, body, headers, credits: 0 } satisfies Reply, answeredAt }
  }
  const find = async (id: OperationId, row: LookupRow | undefined) => {
    if (!row || !since) return undefined
    const lookups = (await runs.get(id))?.lookups ?? (await readerOf(id))
    const [outcome] = await lookups.peek([row])
    if (outcome?.answer.status !== 'found') return undefined
    return replyOf(outcome.answer, outcome.storedAt ?? clock.now())
  }
  /** Claims a lookup, or returns the answer that an equal one brought meanwhile. */
  const claim = async ({ lookups, underWay }: OwnRun, row: LookupRow): Promise<Sent | Reply> => {
    for (let polls = 1; ; polls++) {
      const [one] = await lookups.claim([row], (ordinal) => underWay.has(ordinal))
      if (one?.is === 'ask')
        return { lookups, ask: one.ask, row, isSent: false, isKnown: true, isKept: false }
      if (one?.is === 'answered' && one.outcome.answer.status === 'found') {
        const stored = replyOf(one.outcome.answer, one.outcome.storedAt ?? clock.now())
        onStored?.(stored.answeredAt)
        return stored.reply
      }
      if (polls === pollsBeforeNotice) ports.onWait?.()
      await ports.sleep(busyMs)
    }
  }
  const sendAsked = async (
    caller: Caller,
    one: Sent,
    ...[id, input, options]: Parameters<Caller['call']>
  ) => {
    const { key, row, input: before } = one.ask
    const isAgain = before !== undefined
    const own = row?.fresh === false ? row : undefined
    const keyed = own || !ports.keepsKeys ? { idempotencyKey: key } : { freshKey: () => key }
    one.isSent = true
    one.isKnown = false
    const reply = await caller.call(id, before ?? input, { ...options, ...keyed, row: own }).catch(lostCall)
    one.isKnown = ports.isKnown(reply, isAgain)
    if (reply instanceof ConnectionLost) throw reply
    return reply
  }
  const keepAnswer = async (
    id: OperationId,
    input: Input,
    reply: Reply,
    one: Sent | undefined,
  ): Promise<void> => {
    const of = asRow(operation(id))
    const verdict = of && judge(reply, of, clock.now())
    if (verdict?.kind !== 'answer' || verdict.answer.status !== 'found') return
    const isCut = isObject(reply.body) && reply.body.truncated === true
    const answer = { ...verdict.answer, isCut, ...(reply.wire ? { text: textOf(reply.wire, names) } : {}) }
    if (one) {
      one.isKept = true
      return one.lookups.keepSingle(one.row, answer)
    }
    const row = await rowOf(id, input)
    if (!row) return
    const own = await ownRun(id)
    await own.lookups.keepSingle({ ...row, ordinal: own.next++ }, answer)
  }
  const end = async ({ lookups, ask, row, isSent, isKnown, isKept }: Sent): Promise<void> => {
    if (isKept) return
    // What an earlier call has sent, and a request without a known outcome, stay on record, so that the key is used again.
    if (isKnown && (isSent || ask.isNew)) await lookups.forget([ask])
    else await lookups.release(row.ordinal)
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
        const asked = isAsked ? await rowOf(id, input) : undefined
        if (!asked) return caller.call(id, input, options)
        const stored = await find(id, asked)
        if (stored) onStored?.(stored.answeredAt)
        if (stored) return stored.reply
        const own = await ownRun(id)
        const row = { ...asked, ordinal: own.next++ }
        own.underWay.add(row.ordinal)
        try {
          const claimed = await claim(own, row)
          if ('status' in claimed) return claimed
          const line = `${id} ${row.identity}`
          sent.set(line, claimed)
          try {
            return await caller.call(id, input, options)
          } finally {
            sent.delete(line)
            await end(claimed).catch(onFault)
          }
        } finally {
          own.underWay.delete(row.ordinal)
        }
      },
    }
  }
  const keep: Layer = (caller) => ({
    ...caller,
    call: async (id, input, options = {}) => {
      if (!asRow(operation(id))) return caller.call(id, input, options)
      const isOwnKey = options.idempotencyKey !== undefined
      const row = isOwnKey || sent.size === 0 ? undefined : await rowOf(id, input)
      const one = row && sent.get(`${id} ${row.identity}`)
      const reply = await (one ? sendAsked(caller, one, id, input, options) : caller.call(id, input, options))
      // The reply to a key of the user's own may be of any age.
      const isOld = isOwnKey && reply.headers['idempotent-replayed'] !== undefined
      // The paid answer matters more than its copy.
      if (!isOld) await keepAnswer(id, input, reply, one).catch(onFault)
      return reply
    },
  })
  return {
    /** Returns the stored reply to a lookup, and when the target gave it; `undefined` where it would be sent. */
    find: async (id: OperationId, input: Input) => find(id, await rowOf(id, input)),
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
