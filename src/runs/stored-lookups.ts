import { createHash } from 'node:crypto'
import { type Shape, shapeOf } from '../api/areas/shapes.js'
import {
  type Caller,
  type CallOptions,
  ConnectionLost,
  headersOfItem,
  type Input,
  isFromStore,
  isOk,
  type Layer,
  lostCall,
  partIn,
  partlyStored,
  type Reply,
  replayedHeaders,
  type StoredItem,
  storedHeaders,
  storedItems,
} from '../api/calls/caller.js'
import { ApiError, isRefusal, toRefusal } from '../api/calls/errors.js'
import { callItems } from '../api/calls/items.js'
import { isInProgress } from '../api/calls/retry.js'
import { renameIn, type WireNames } from '../api/calls/wire-names.js'
import { inputsOfItems, isPriced, startsSeveral } from '../api/operations/facts.js'
import {
  itemOperation,
  notFoundCode,
  type Operation,
  type OperationId,
  operation,
  rowOperation,
} from '../api/operations/table.js'
import type { Clock, Ids } from '../api/ports/ports.js'
import { checkNames, isWellFormed, withoutBlanks } from '../api/validation/validate.js'
import { parseExact, toCanonicalJson, toJson } from '../api/values/json.js'
import { type Fields, getOrMake, isObject, once, resultOr } from '../api/values/objects.js'
import { hashNumber, hashOf } from '../csv/identity-filter.js'
import { AskedAbout, questionOf } from '../identity/asked-about.js'
import { isHidden, isUnknown, judge, longestInProgressMs, type RowOutcome } from '../lookups/answer.js'
import type { RunLocks } from '../lookups/leases.js'
import {
  type Ask,
  blockSize,
  claimScope,
  type LookupOptions,
  type LookupRow,
  type Lookups,
  leavesOpen,
  lookupsMark,
  openLookups,
  workOf,
} from '../lookups/store.js'
import type { Driver } from '../storage/driver/connection.js'
import { identityOf, otherHashesOf, statingIn } from './plan/lookup.js'
import { createSharedWork, isShared, readsShared, type SharedWorkPorts } from './shared-work.js'
import { isServerName } from './target-name.js'

/** How long to wait before an equal lookup is looked for again that is under way elsewhere, in milliseconds: at first, and later. */
const [busyMs, longestMs] = [50, 500]
const pollsBeforeNotice = 20

/** How many items of a request for several are stored, where the others are asked for. */
export interface StoredPart {
  readonly stored: number
  readonly items: number
}

export interface SingleLookupPorts {
  readonly open: () => Promise<{
    readonly database: Driver
    readonly target: string
    readonly workspace: string
    readonly profile: string
    readonly notBefore: number
    readonly locks: Pick<RunLocks, 'isHeld' | 'fenceOf'>
    /** Holds a lock until the process ends; returns its name. */
    readonly holdLock: () => Promise<string>
  }>
  /** How old an answer may be that is taken, in milliseconds, unless the call wants a younger one; 0 takes none. */
  readonly maxAgeMs: number
  /** Whether calls with an idempotency key of their own are answered, too. They are sent under that key. */
  readonly answersKeys: boolean
  /** Whether work that is accepted first and answered later is shared by all that ask for the same. */
  readonly sharesWork?: boolean
  /** Real time, by the clock of the database. */
  readonly clock: Pick<Clock, 'now'>
  readonly ids: Ids
  /** The words of the target for `network` and `premium`. */
  readonly names?: WireNames | undefined
  /** Whether the outcome of a call is known, and with `again` that of an earlier attempt under its key. */
  readonly isKnown: (ended: Reply | ConnectionLost, again: boolean) => boolean
  readonly sleep: (ms: number) => Promise<void>
  /** Called when a lookup is sent again under the key of an attempt without a known outcome. */
  readonly onAgain?: (() => void) | undefined
  /** Called when an equal lookup has been under way elsewhere for a second. */
  readonly onWait?: () => void
  /** Returns what was stored as the target answers now, such as without people who were suppressed meanwhile. */
  readonly clean?: ((id: OperationId, reply: Reply) => Promise<Reply>) | undefined
  /** Returns which contacts are about somebody suppressed: of a shared request for several, they are not asked for. */
  readonly areSuppressed?: ((contacts: readonly Fields[]) => Promise<readonly boolean[]>) | undefined
  /** Called with when an answer was got; of several, the oldest of those that are stored. */
  readonly onStored?: (answeredAt: number, part?: StoredPart) => void
  /** Called when a paid answer could not be stored. */
  readonly onFault: (error: unknown) => Promise<void> | void
}

/** Of a key of a request for several: a digest of that, and the positions of the items that are sent under the key. */
interface KeyNote {
  /** Absent where that was refused, so that the key is free. */
  readonly of?: string
  readonly sent: readonly number[]
}

/** The operation beside whose answers notes of keys are stored: a key is for one request of any operation. */
const notesOf = 'contacts.get'

const noteLifeMs = 30 * 86_400_000

export type SingleLookups = ReturnType<typeof createSingleLookups>

const addSql = `INSERT INTO runs (id, known_by, operation, target, workspace, profile, file, file_hash, request, status, total,
  forgotten, indexed, requests, started_at, fence) VALUES (?, ?, ?, ?, ?, ?, '', '', '{}', 'running', 0, 1, 1, 1, ?, ?)
  RETURNING number, id, requests`
const againSql = `UPDATE runs SET status = 'running', requests = requests + 1, ended_at = ?
  WHERE known_by = ? AND operation = ? AND target = ? AND workspace = ? AND profile = ? RETURNING number, id, requests`
const overSql = `UPDATE runs SET status = 'stopped' WHERE known_by = ? AND status = 'running' AND ${leavesOpen}`
const leftSql = `UPDATE lookups SET state = 'unknown' WHERE run = ? AND state = 'asked'`

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

/** A lookup whose work this process starts, or follows where a killed one has started it. */
export interface ClaimedWork {
  /** The key that the work is started under. */
  readonly key: string
  /** The work that the target has accepted already. */
  readonly work: string | undefined
  /** Whether it may have been sent before, with an unknown outcome. */
  readonly isAgain: boolean
  accept(work: string): Promise<void>
  /** Called where the work was refused or has failed. */
  forget(): Promise<void>
  /** Records the result as the reply to the lookup. */
  keep(reply: Reply): Promise<void>
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

/** Creates what lets equal lookups be paid for once, also while they are under way (decision 7). */
export function createSingleLookups(ports: SingleLookupPorts) {
  const { clock, ids, maxAgeMs, answersKeys, names, onFault, onStored } = ports
  const sent = new Map<string, Sent>()
  /** By operation and identity, what this process has under way. */
  const underWay = new Map<string, Promise<void>>()
  let runs = new Map<string, Promise<OwnRun>>()
  const takeLock = async () => {
    const { database, holdLock } = await ports.open()
    const name = await holdLock()
    // What another process with this lock had under way is nobody's now.
    await database.transaction((connection) => connection.run(overSql, name), `lock ${name}`)
    return name
  }
  let lock = once(takeLock)
  /** Begins anew where another process has taken over what this one was silent about for long. */
  const startOver = (error: unknown): boolean => {
    if (!isRefusal(error, 'run.taken_over')) return false
    runs = new Map()
    lock = once(takeLock)
    return true
  }
  /** Does something once more where another process has taken over: it was refused before anything was sent. */
  const orStartOver = <T>(work: () => Promise<T>): Promise<T> =>
    work().catch((error: unknown) => {
      if (!startOver(error)) throw error
      return work()
    })
  const optionsOf = (id: OperationId, open: Awaited<ReturnType<SingleLookupPorts['open']>>) => {
    const { target, workspace, profile, notBefore, locks } = open
    const row = asRow(operation(id))
    const options: Omit<LookupOptions, 'fence'> = {
      now: () => clock.now(),
      budgets: {},
      mayRepeat: true,
      retryUnknown: true,
      chargesOnce: !isServerName(target),
      notBefore,
      isAlive: (holder, connection) => locks.isHeld(holder, connection),
      stating: row && statingIn(row),
      // Notes and jobs are found also where no answer is taken.
      maxAgeMs: maxAgeMs === 0 ? noteLifeMs : maxAgeMs,
    }
    return { of: { operation: id, target, workspace, profile }, options }
  }
  /** Opens what only reads. */
  const readerOf = async (id: OperationId): Promise<Lookups> => {
    const open = await ports.open()
    const { of, options } = optionsOf(id, open)
    return openLookups(open.database, { ...of, number: 0, id: '', identityKey: lookupsMark }, options)
  }
  /** Opens the run of this process for an operation. */
  const openOwn = async (id: OperationId): Promise<OwnRun> => {
    const open = await ports.open()
    const { of, options } = optionsOf(id, open)
    const identityKey = await lock()
    const fence = open.locks.fenceOf(identityKey)
    const own = [identityKey, id, of.target, of.workspace, of.profile]
    const run = await open.database.transaction(async (connection) => {
      const again = await connection.get<SinglesRun>(againSql, clock.now(), ...own)
      // What the process before this one was killed over is left to whoever asks for it next.
      if (again) await connection.run(leftSql, again.number)
      return again ?? connection.get<SinglesRun>(addSql, ids.uuid(), ...own, clock.now(), fence)
    }, claimScope(of))
    if (!run) throw new Error('the run of single lookups was not recorded')
    const lookups = await openLookups(open.database, { ...of, ...run, identityKey }, { ...options, fence })
    return { lookups, underWay: new Set(), next: run.requests * blockSize }
  }
  const ownRun = (id: OperationId): Promise<OwnRun> => {
    const found = runs.get(id) ?? openOwn(id)
    runs.set(id, found)
    found.catch(() => runs.delete(id))
    return found
  }
  const rowOf = async (
    id: OperationId,
    input: Input,
    { maxAgeMs, idempotencyKey }: CallOptions = {},
  ): Promise<LookupRow | undefined> => {
    const row = asRow(operation(id))
    const shape = row && (await shapeOf(id))
    const read = shape && readFields(id, shape, input)
    if (!read) return undefined
    const identity = identityOf(row, shape)(read)
    if (identity === undefined) return undefined
    const hash = hashNumber(hashOf(identity))
    const otherHashes = otherHashesOf(row)(read, identity)
    return { ordinal: -1, identity, hash, otherHashes, most: 0, input, maxAgeMs, key: idempotencyKey }
  }
  const replyOf = (
    id: OperationId,
    { answer, storedAt = clock.now(), key, payer }: RowOutcome,
    options: CallOptions,
  ): Reply => {
    const age = Math.max(0, Math.floor((clock.now() - storedAt) / 1_000))
    // To whoever sent the request that was paid for, this is its reply.
    const isReplay = options.idempotencyKey !== undefined && key === keyDigest(options)
    const headers = {
      age: String(age),
      ...storedHeaders(payer),
      ...(isReplay ? replayedHeaders : {}),
    }
    if (isHidden(answer)) {
      const row = operation(id)
      const { status, body } = toRefusal(new ApiError(notFoundCode(row)), row)
      return { status, body, headers, credits: 0, isSuppressed: true }
    }
    const { body, text } = answer
    return { status: 200, body, headers, credits: 0, ...(text === undefined ? {} : { text }) }
  }
  const find = async (id: OperationId, row: LookupRow | undefined): Promise<RowOutcome | undefined> => {
    if (!row || maxAgeMs === 0) return undefined
    const lookups = (await runs.get(id))?.lookups ?? (await readerOf(id))
    const [outcome] = await lookups.peek([row])
    return outcome && isPaid(outcome) ? outcome : undefined
  }
  const noteRow = (ordinal: number, identity: string): LookupRow => {
    return { ordinal, identity, hash: hashNumber(hashOf(identity)), most: 0, input: {} }
  }
  /** Stores a note of our own beside the answers of an operation. */
  const keepNote = async (id: OperationId, identity: string, body: object): Promise<void> => {
    const own = await ownRun(id)
    const answer = { status: 'found', error: null, body, credits: 0 } as const
    await own.lookups.keepSingle(noteRow(own.next++, identity), answer)
  }
  const findNote = async (id: OperationId, identity: string): Promise<unknown> => {
    const { lookups } = await ownRun(id)
    const [outcome] = await lookups.peek([noteRow(-1, identity)])
    return outcome?.answer.body
  }
  /** Claims a lookup, or returns the answer that an equal one brought meanwhile; a refusal where one is under way for too long. */
  const claim = async (
    { lookups, underWay: own }: OwnRun,
    row: LookupRow,
    readWork?: () => Promise<boolean>,
  ): Promise<Sent | RowOutcome | ApiError> => {
    const until = clock.now() + longestInProgressMs
    for (let polls = 1; polls === 1 || clock.now() < until; polls++) {
      const isGoingOn = (await readWork?.()) === true
      const [one] = isGoingOn ? [] : await lookups.claim([row], (ordinal) => own.has(ordinal))
      if (one?.is === 'ask')
        return { lookups, ask: one.ask, row, isSent: false, isKnown: true, isKept: false }
      if (one?.is === 'answered' && isPaid(one.outcome)) return one.outcome
      if (one?.is === 'answered' && isUnknown(one.outcome.answer)) return new ApiError('lookup_in_doubt')
      if (polls === pollsBeforeNotice) ports.onWait?.()
      await ports.sleep(polls < pollsBeforeNotice ? busyMs : longestMs)
    }
    return new ApiError('lookup_in_progress', {}, { 'retry-after': '5' })
  }
  const sendAsked = async (
    caller: Caller,
    one: Sent,
    ...[id, input, options]: Parameters<Caller['call']>
  ) => {
    const { key, row, input: before } = one.ask
    const isAgain = before !== undefined
    const own = row?.fresh === false ? row : undefined
    if (isAgain) ports.onAgain?.()
    one.isSent = true
    one.isKnown = false
    const ask = () =>
      caller
        .call(id, before ?? input, { ...options, idempotencyKey: key, row: own })
        .catch((error: unknown) => {
          // A refusal is thrown before anything is sent, such as that of a budget.
          if (error instanceof ApiError) [one.isSent, one.isKnown] = [false, true]
          return lostCall(error)
        })
    const until = clock.now() + longestInProgressMs
    let reply = await ask()
    // What a killed process began is over soon.
    while (isAgain && 'status' in reply && isInProgress(reply) && clock.now() < until) {
      await ports.sleep(longestMs)
      reply = await ask()
    }
    one.isKnown = ports.isKnown(reply, isAgain)
    if (reply instanceof ConnectionLost) throw reply
    return reply
  }
  const keepAnswer = async (
    id: OperationId,
    input: Input,
    options: CallOptions,
    reply: Reply,
    one: Sent | undefined,
  ): Promise<void> => {
    const of = asRow(operation(id))
    const verdict = of && judge(reply, of, clock.now())
    if (verdict?.kind !== 'answer') return
    const isCharged = reply.credits + (reply.replayed ?? 0) > 0
    const isNothing = isHidden(verdict.answer) && isCharged
    if (verdict.answer.status !== 'found' && !isNothing) return
    // Of somebody who is suppressed, nothing is kept but that it was paid.
    const isCut = isNothing || (isObject(reply.body) && reply.body.truncated === true)
    const payer = verdict.answer.payer || options.member?.email
    const answer = {
      ...verdict.answer,
      ...(payer === undefined ? {} : { payer }),
      isCut,
      ...(reply.wire && !isNothing ? { text: textOf(reply.wire, names) } : {}),
    }
    const key = options.idempotencyKey === undefined ? null : keyDigest(options)
    if (one) {
      await one.lookups.keepSingle(one.row, answer, key)
      one.isKept = true
      return
    }
    const row = await rowOf(id, input)
    if (!row) return
    const own = await ownRun(id)
    await own.lookups.keepSingle({ ...row, ordinal: own.next++ }, answer, key)
  }
  /** Stores what a request for several has found, each as the reply to a lookup. */
  const keepItems = async (
    id: OperationId,
    input: Input,
    options: CallOptions,
    reply: Reply,
  ): Promise<void> => {
    const inputs = inputsOfItems(input)
    const results = isOk(reply) ? resultsOf(bodyOf(reply, names)) : []
    if (results.length !== inputs.length) return
    // A server may answer in another order: what is about another item is not stored for this one.
    const about = new AskedAbout(clock)
    const asked = inputs.map((one) => about.begin(questionOf([one], one)))
    for (const [at, body] of results.entries()) {
      if (reply.hiddenItems?.includes(at)) {
        const hidden = toRefusal(new ApiError(notFoundCode(operation(id))), operation(id))
        const was = {
          headers: headersOfItem(reply, at),
          credits: reply.credits,
          replayed: reply.replayed ?? 0,
        }
        const one = { ...hidden, ...was, isSuppressed: true as const }
        await keepAnswer(id, inputs[at] ?? {}, options, one, undefined)
        continue
      }
      const one = { status: operation(id).ok, body, headers: headersOfItem(reply, at), credits: 0 }
      const question = asked[at]
      if (!isObject(body) || (question && about.isOfAnother(question, body))) continue
      await keepAnswer(id, inputs[at] ?? {}, options, one, undefined)
    }
  }
  const end = async ({ lookups, ask, row, isSent, isKnown, isKept }: Sent): Promise<void> => {
    if (isKept) return
    // What an earlier call has sent, and a request without a known outcome, stay on record, so that the key is used again.
    if (isKnown && (isSent || ask.isNew)) await lookups.forget([ask])
    else await lookups.release(row.ordinal)
  }
  /** Sends a lookup that nobody else has under way, and waits for one that somebody has. */
  const send = async (
    caller: Caller,
    line: string,
    asked: LookupRow,
    ...[id, input, options = {}]: Parameters<Caller['call']>
  ): Promise<Reply> => {
    const own = await ownRun(id)
    const row = { ...asked, ordinal: own.next++ }
    own.underWay.add(row.ordinal)
    try {
      const readWork = async () => {
        const work = await shared?.goingOn(asked)
        if (work) await caller.call('contacts.get', { id: work.id }, readOptions(options))
        return work !== undefined
      }
      const isContact = id === 'contacts.enrich_sync' && shared !== undefined
      const claimed = await claim(own, row, isContact ? readWork : undefined)
      if (claimed instanceof ApiError) return toRefusal(claimed, operation(id))
      if ('answer' in claimed) {
        onStored?.(claimed.storedAt ?? clock.now())
        return replyOf(id, claimed, options)
      }
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
  }
  const readOptions = ({ apiKey, member, signal }: CallOptions): CallOptions => ({ apiKey, member, signal })
  /** Starts work for a lookup, and records what was accepted. */
  const startWork: Parameters<typeof createSharedWork>[0]['start'] = async (
    caller,
    asked,
    ...[id, input, options = {}]
  ) => {
    const own = await ownRun(id)
    const row = { ...asked, input, ordinal: own.next++ }
    own.underWay.add(row.ordinal)
    try {
      const claimed = await claim(own, row)
      if (claimed instanceof ApiError) return { reply: toRefusal(claimed, operation(id)) }
      if ('answer' in claimed) return { reply: await caller.call(id, input, options) }
      const reply = await sendAsked(caller, claimed, id, input, options).catch(async (error: unknown) => {
        await end(claimed).catch(onFault)
        throw error
      })
      const accepted = isOk(reply) ? bodyOf(reply, names) : undefined
      const work = isObject(accepted) ? accepted.enrichment_id : undefined
      if (typeof work !== 'string') {
        await end(claimed).catch(onFault)
        return { reply }
      }
      await own.lookups.accept([[row.ordinal, workOf(work)]], options.member?.email).catch(onFault)
      const { input: before } = claimed.ask
      const isOther = before !== undefined && toCanonicalJson(before) !== toCanonicalJson(input)
      return isOther ? { reply, work } : { reply }
    } finally {
      own.underWay.delete(row.ordinal)
    }
  }
  /** Starts work whatever is stored, and records what was accepted, so that its result is stored for others. */
  const startAnew = async (
    caller: Caller,
    ...[id, input, options = {}]: Parameters<Caller['call']>
  ): Promise<Reply> => {
    const reply = await caller.call(id, input, options)
    const record = async () => {
      const started = await shared?.startedIn(input, bodyOf(reply, names))
      const own = await ownRun('contacts.enrich')
      const key = id === 'contacts.enrich' ? (options.idempotencyKey ?? null) : null
      for (const [work, row] of started ?? [])
        await own.lookups.keepAccepted({ ...row, ordinal: own.next++ }, workOf(work), {
          key,
          payer: options.member?.email ?? null,
        })
    }
    if (isOk(reply) && maxAgeMs > 0) await record().catch(onFault)
    return reply
  }
  const shared = ports.sharesWork
    ? createSharedWork({
        now: () => clock.now(),
        uuid: () => ids.uuid(),
        rowOf: (id, input, options) => rowOf(id, input, options),
        find: (id, row) => find(id, row),
        open: (id) => ownRun(id),
        keepNote,
        findNote,
        areSuppressed: async (contacts) => (await ports.areSuppressed?.(contacts)) ?? [],
        claimRows: (...rows) => claimRows(...rows),
        itemsOfKey: (...items) => itemsOfKey(...items),
        sleep: ports.sleep,
        keyDigest,
        bodyOf: (reply) => bodyOf(reply, names),
        start: startWork,
        keep: async (id, row, body, { key, payer }) => {
          const verdict = judge({ status: 200, body, headers: {}, credits: 0 }, operation(id), clock.now())
          if (verdict.kind !== 'answer' || verdict.answer.status !== 'found') return
          const own = await ownRun(id)
          const answer = { ...verdict.answer, ...(payer === null ? {} : { payer }) }
          await own.lookups.keepSingle({ ...row, ordinal: own.next++ }, answer, key)
        },
      })
    : undefined
  /** Returns when the oldest of some stored answers was got. */
  const oldestOf = (outcomes: readonly RowOutcome[]): number =>
    Math.min(...outcomes.map(({ storedAt = clock.now() }) => storedAt))
  /** Returns the stored answer to each item of a request for several, in their order. */
  const findItems = async (
    id: OperationId,
    inputs: readonly Input[],
    options?: CallOptions,
  ): Promise<readonly (RowOutcome | undefined)[]> => {
    const found: (RowOutcome | undefined)[] = []
    for (const input of inputs) found.push(await find(id, await rowOf(id, input, options)))
    return found
  }
  /** Returns the reply to a request for several whose answers are all stored. */
  const replyOfItems = (id: OperationId, outcomes: readonly RowOutcome[], options: CallOptions): Reply => {
    const [first] = outcomes
    const isOfKey = outcomes.every(({ key }) => key === first?.key)
    const isOfPayer = outcomes.every(({ payer }) => payer === first?.payer)
    const body = { results: outcomes.map(({ answer }) => answer.body ?? null), credits_used: 0 }
    const answer = { status: 'found', error: null, body, credits: 0 } as const
    const key = isOfKey ? (first?.key ?? null) : null
    const payer = isOfPayer ? (first?.payer ?? null) : null
    const outcome = { answer, source: 'store', credits: 0, storedAt: oldestOf(outcomes), key, payer } as const
    const reply = replyOf(id, outcome, options)
    return { ...reply, headers: { ...reply.headers, ...storedItems(itemsStored(outcomes)) } }
  }
  /** Returns what is said of the items that are stored, at their positions. */
  const itemsStored = (outcomes: readonly (RowOutcome | undefined)[]): readonly StoredItem[] =>
    outcomes.flatMap((one, at) => {
      if (one === undefined) return []
      const { storedAt = clock.now(), payer } = one
      return [{ at, ageMs: clock.now() - storedAt, payer }]
    })
  /** Claims rows that are sent together; `undefined` while others ask for some of them. */
  const claimRows: SharedWorkPorts['claimRows'] = async (caller, of, rows, options) => {
    const own = await ownRun(of)
    const distinct = new Map(rows.map((row) => [row.identity, row]))
    const { maxAgeMs } = options
    const claimed = [...distinct.values()].map((row) => {
      const { key: _, ...rest } = row
      return { ...rest, maxAgeMs, ordinal: own.next++, isItem: true }
    })
    for (const { ordinal } of claimed) own.underWay.add(ordinal)
    const claims = await own.lookups.claim(claimed, (ordinal) => own.underWay.has(ordinal))
    const asks = claims.flatMap((one) => (one.is === 'ask' ? [one.ask] : []))
    // What a killed process has sent alone is asked for alone, under its key; work that it has started is only read.
    const isLeft = ({ input, work }: Ask) => input !== undefined || work !== undefined
    const left = asks.find(isLeft)
    const end = () => claimed.forEach(({ ordinal }) => void own.underWay.delete(ordinal))
    const giveUp = async () => {
      await own.lookups.forget(asks.filter((ask) => !isLeft(ask))).catch(onFault)
      end()
    }
    if (asks.length === claimed.length && !left) {
      const accept = async (workOfRow: ReadonlyMap<string | undefined, string>) => {
        const works = claimed.flatMap(({ ordinal, identity }) => {
          const id = workOfRow.get(identity)
          return id === undefined ? [] : [[ordinal, workOf(id)] as const]
        })
        await own.lookups.accept(works, options.member?.email).catch(onFault)
        end()
      }
      return { giveUp, accept }
    }
    await giveUp()
    for (const { input, ordinal, work } of asks)
      if (input !== undefined && work === undefined) await own.lookups.release(ordinal)
    if (claims.some((one) => one.is === 'answered' && isUnknown(one.outcome.answer)))
      return toRefusal(new ApiError('lookup_in_doubt'), operation(of))
    if (!left?.input || left.work) return undefined
    const row = claimed.find(({ ordinal }) => ordinal === left.ordinal)
    // Its line is that of the request for several.
    const reply = await (shared && isShared(of) && row
      ? shared.begin(caller, row, of, left.input, withoutKey(options))
      : recall(caller).call(of, left.input, withoutKey(options)))
    return isOk(reply) || reply.status === 404 ? undefined : reply
  }
  /**
   * Claims the items of a request for several that are not stored; `undefined` while others ask for some of them. Returns what
   * ends that.
   */
  const claimItems = async (
    caller: Caller,
    of: OperationId,
    inputs: readonly Input[],
    options: CallOptions,
  ): Promise<(() => Promise<void>) | Reply | undefined> => {
    const rows: LookupRow[] = []
    for (const input of inputs) rows.push(...[(await rowOf(of, input, options)) ?? []].flat())
    const claimed = await claimRows(caller, of, rows, options)
    return claimed && 'giveUp' in claimed ? claimed.giveUp : claimed
  }
  /** Answers a request for several, once nobody else has an equal item of it under way. */
  const recallItems = async (
    caller: Caller,
    of: OperationId,
    ...[id, input, options = {}]: Parameters<Caller['call']>
  ): Promise<Reply> => {
    const inputs = inputsOfItems(input)
    const until = clock.now() + longestInProgressMs
    for (let polls = 1; polls === 1 || clock.now() < until; polls++) {
      const outcomes = await findItems(of, inputs, options)
      const asked = inputs.filter((_, at) => outcomes[at] === undefined)
      const isAlone = asked.length === 1 && options.idempotencyKey === undefined
      const send = () => sendItems(caller, outcomes, id, input, options)
      if (asked.length === 0 || isAlone) return send()
      const claimed = await claimItems(caller, of, asked, options)
      if (typeof claimed === 'function') return send().finally(claimed)
      if (claimed) return claimed
      if (polls === pollsBeforeNotice) ports.onWait?.()
      await ports.sleep(polls < pollsBeforeNotice ? busyMs : longestMs)
    }
    return toRefusal(new ApiError('lookup_in_progress', {}, { 'retry-after': '5' }), operation(id))
  }
  /**
   * Returns which items of a request are sent under its key, the same however often it is made: a server refuses a key with
   * another request. So does this, because the server has not seen the items that were stored.
   */
  const itemsOfKey: SharedWorkPorts['itemsOfKey'] = async (id, input, missing, options) => {
    if (options.idempotencyKey === undefined)
      return { sent: missing, isReplay: false, settle: async () => {} }
    const identity = `request ${keyDigest(options)}`
    const of = createHash('sha256')
      .update(`${id} ${toCanonicalJson(input)}`)
      .digest('hex')
    const before = (await findNote(notesOf, identity)) as KeyNote | undefined
    const isReplay = before?.of !== undefined
    if (isReplay && before.of !== of) return toRefusal(new ApiError('idempotency_key_reused'), operation(id))
    const sent = isReplay ? before.sent : missing
    if (!isReplay) await keepNote(notesOf, identity, { of, sent })
    return {
      sent,
      isReplay,
      settle: async ({ status, unknown }) => {
        const isRefused = status >= 400 && status < 500 && status !== 409 && !unknown
        if (isRefused && !isReplay) await keepNote(notesOf, identity, { sent: [] })
      },
    }
  }
  /** Makes a request for several anew, under another key where only some of its items went under its own. */
  const sendAnew = async (
    id: OperationId,
    input: Input,
    options: CallOptions,
    send: (options: CallOptions) => Promise<Reply>,
  ): Promise<Reply> => {
    const { idempotencyKey: key } = options
    if (!answersKeys || key === undefined) return send(options)
    const items = Array.isArray(input.contacts) ? input.contacts : inputsOfItems(input)
    const ofKey = await itemsOfKey(id, input, [...items.keys()], options)
    if ('status' in ofKey) return ofKey
    const isWhole = ofKey.sent.length === items.length
    const reply = await send(isWhole ? options : { ...options, idempotencyKey: `${key.slice(0, 200)}-whole` })
    await ofKey.settle(reply).catch(onFault)
    return reply
  }
  /** Answers a request for several from the store, item by item, and sends the others. */
  const sendItems = async (
    caller: Caller,
    outcomes: readonly (RowOutcome | undefined)[],
    ...[id, input, options = {}]: Parameters<Caller['call']>
  ): Promise<Reply> => {
    const inputs = inputsOfItems(input)
    const stored = outcomes.filter((one) => one !== undefined)
    const isKeyed = options.idempotencyKey !== undefined
    const missing = [...outcomes.keys()].filter((at) => outcomes[at] === undefined)
    // Of equal items, however they are spelled, the first is sent and the others have its answer.
    const firstOf = new Map<unknown, number>()
    const equalOf = new Map<number, number>()
    for (const at of missing) {
      const identity = (await rowOf(itemOperation(id) ?? id, inputs[at] ?? {}, options))?.identity ?? at
      const first = getOrMake(firstOf, identity, () => at)
      if (first !== at) equalOf.set(at, first)
    }
    const asked = missing.filter((at) => !equalOf.has(at))
    const ofKey = await itemsOfKey(id, input, asked, options)
    if ('status' in ofKey) return ofKey
    const { sent, settle } = ofKey
    if (stored.length === inputs.length) {
      onStored?.(oldestOf(stored))
      const whole = replyOfItems(id, stored, options)
      return ofKey.isReplay ? { ...whole, headers: { ...whole.headers, ...replayedHeaders } } : whole
    }
    const of = missing.length === 1 && !isKeyed ? recall(caller) : caller
    const read = (one: Reply) => bodyOf(one, names)
    const isWhole = sent.length === inputs.length
    const rest = withItems(input, (_, at) => sent.includes(at))
    const reply =
      sent.length === 0
        ? { status: operation(id).ok, body: { results: [] }, headers: {}, credits: 0 }
        : await (isWhole ? caller.call(id, input, options) : callItems(of, read, id, rest, options))
    await settle(reply)
    if (isWhole) return reply
    const answers = isOk(reply) ? resultsOf(read(reply)) : []
    if (answers.length !== sent.length) return reply
    const results: unknown[] = outcomes.map((outcome) => outcome?.answer.body ?? null)
    for (const [index, at] of sent.entries()) results[at] = answers[index]
    // What was stored when the key was first used, and is so no more.
    for (const at of asked.filter((one) => !sent.includes(one))) {
      const one = await recall(caller).call(itemOperation(id) ?? id, inputs[at] ?? {}, withoutKey(options))
      results[at] = isOk(one) ? read(one) : null
    }
    for (const [at, first] of equalOf) if (!sent.includes(at)) results[at] = results[first]
    if (stored.length > 0) onStored?.(oldestOf(stored), { stored: stored.length, items: inputs.length })
    const { credits, replayed } = reply
    const headers =
      stored.length === 0
        ? {}
        : {
            ...partlyStored(stored.length, clock.now() - oldestOf(stored)),
            ...storedItems(itemsStored(outcomes)),
          }
    const isReplay = reply.headers['idempotent-replayed'] ?? (sent.length === 0 ? 'true' : undefined)
    return {
      status: operation(id).ok,
      body: { results, credits_used: credits },
      headers: { ...headers, ...(isReplay === undefined ? {} : { 'idempotent-replayed': isReplay }) },
      credits,
      ...(replayed === undefined ? {} : { replayed }),
    }
  }
  const isAnswered = ({ idempotencyKey, maxAgeMs: most = maxAgeMs }: CallOptions): boolean =>
    Math.min(most, maxAgeMs) > 0 && (answersKeys || idempotencyKey === undefined)
  /** Does work when none of some lines is under way in this process. */
  const inLine = async (lines: readonly string[], work: () => Promise<Reply>): Promise<Reply> => {
    for (;;) {
      const others = lines.flatMap((line) => underWay.get(line) ?? [])
      if (others.length === 0) break
      await Promise.all(others)
    }
    const done = Promise.withResolvers<void>()
    for (const line of lines) underWay.set(line, done.promise)
    return work().finally(() => {
      for (const line of lines) underWay.delete(line)
      done.resolve()
    })
  }
  /** Answers lookups from the store. Of equal ones at the same time, the first is sent and the others take its answer. */
  const recall: Layer = (sender) => {
    const caller = recallAny(sender)
    return { ...caller, call: async (id, ...call) => cleaned(id, await caller.call(id, ...call)) }
  }
  /** Returns a reply as the target answers now where it, or a part of it, was or may have been stored. */
  const cleaned = async (id: OperationId, reply: Reply): Promise<Reply> => {
    const isStored = isFromStore(reply) || partIn(reply) !== undefined || (shared && readsShared(id))
    return ports.clean && isStored ? ports.clean(id, reply) : reply
  }
  /** Answers a lookup from the store, or sends it. Of equal ones, this process sends one at a time. */
  const answerOne = async (
    caller: Caller,
    asked: LookupRow,
    isWork: boolean,
    ...[id, input, options = {}]: Parameters<Caller['call']>
  ): Promise<Reply> => {
    // Of one contact, work and a lookup that is answered at once are not sent at the same time.
    const line = `${isWork ? 'contacts.enrich_sync' : id} ${asked.identity}`
    for (;;) {
      const stored = isWork ? undefined : await find(id, asked)
      if (stored) {
        onStored?.(stored.storedAt ?? clock.now())
        return replyOf(id, stored, options)
      }
      const other = underWay.get(line)
      if (!other) break
      await other
    }
    const done = Promise.withResolvers<void>()
    underWay.set(line, done.promise)
    try {
      return await orStartOver(() =>
        shared && isWork
          ? shared.begin(caller, asked, id, input, options)
          : send(caller, line, asked, id, input, options),
      )
    } finally {
      underWay.delete(line)
      done.resolve()
    }
  }
  /** Answers a lookup under a key that is for this request only, whatever of it is stored. */
  const askUnderKey = async (
    ask: () => Promise<Reply>,
    id: OperationId,
    /** Equal of equal lookups, however they are spelled. */
    identity: string | undefined,
    options: CallOptions,
  ): Promise<Reply> => {
    const ofKey = await orStartOver(() => itemsOfKey(id, { identity }, [0], options))
    if ('status' in ofKey) return ofKey
    const reply = await ask()
    await ofKey.settle(reply).catch(onFault)
    return reply
  }
  const recallAny: Layer = (caller) => {
    const { refusedNow } = caller
    return {
      ...caller,
      // A stored answer is given whatever the rate limits of the target.
      ...(refusedNow && {
        refusedNow: async (id, options = {}, ...rest) =>
          asRow(operation(id)) && isAnswered(options) ? undefined : refusedNow(id, options, ...rest),
      }),
      call: async (id, input, options = {}) => {
        const item = itemOperation(id)
        const isWork = shared !== undefined && isShared(id)
        const isSeveral = shared !== undefined && startsSeveral(operation(id))
        // What the target refuses as it stands is refused by the target, whatever of it is stored.
        if ((item || isWork || isSeveral) && !isWellFormed(await shapeOf(id), input))
          return isWork || isSeveral ? startAnew(caller, id, input, options) : caller.call(id, input, options)
        if (item && !isAnswered(options))
          return sendAnew(id, input, options, (anew) => caller.call(id, input, anew))
        if (item) return orStartOver(() => recallItems(caller, item, id, input, options))
        if (shared && readsShared(id)) return shared.read(caller, id, input, options)
        if (isSeveral) {
          if (isAnswered(options) && !shared.isHeard(input))
            return inLine(await shared.linesOf(input, options), () =>
              shared.beginBulk(caller, id, input, options),
            )
          return sendAnew(id, input, options, (anew) =>
            shared.beginAnew((rest) => startAnew(caller, id, rest, anew), input, anew),
          )
        }
        if (isWork && !isAnswered(options)) return startAnew(caller, id, input, options)
        const asked = !isAnswered(options)
          ? undefined
          : isWork
            ? await shared.lookupOf(id, input, options)
            : await rowOf(id, input, options)
        if (!asked) return caller.call(id, input, options)
        const ask = () => answerOne(caller, asked, isWork, id, input, options)
        const { idempotencyKey: key } = options
        // Work has a note of its own of what its key is for.
        if (isWork || !answersKeys || key === undefined) return ask()
        return inLine([keyDigest(options)], () => askUnderKey(ask, id, asked.identity, options))
      },
    }
  }
  const keep: Layer = (caller) => ({
    ...caller,
    call: async (id, input, options = {}) => {
      const item = itemOperation(id)
      if (shared && readsShared(id)) {
        const reply = await caller.call(id, input, options)
        await shared.settle(reply, input.id).catch(onFault)
        return reply
      }
      if (!item && !asRow(operation(id))) return caller.call(id, input, options)
      const row = sent.size === 0 || !isAnswered(options) ? undefined : await rowOf(id, input)
      const one = row && sent.get(`${id} ${row.identity}`)
      const reply = await (one ? sendAsked(caller, one, id, input, options) : caller.call(id, input, options))
      // The reply that a key of the user's own brings back may be of any age, unless it was sent from here.
      const isOld = options.idempotencyKey !== undefined && reply.replayed !== undefined
      // The paid answer matters more than its copy.
      if (isOld && one?.ask.input === undefined) return reply
      const keeping = item
        ? keepItems(item, input, options, reply)
        : keepAnswer(id, input, options, reply, one)
      await keeping.catch((error: unknown) => {
        startOver(error)
        return onFault(error)
      })
      return reply
    },
  })
  /** Claims a lookup whose work is accepted first and answered later. Only the result ends it, whoever gets that. */
  const claimWork = async (id: OperationId, input: Input): Promise<ClaimedWork | Reply | undefined> => {
    const asked = isAnswered({}) ? await rowOf(id, input) : undefined
    if (!asked) return undefined
    const own = await ownRun(id)
    const row = { ...asked, ordinal: own.next++ }
    own.underWay.add(row.ordinal)
    const claimed = await claim(own, row)
    if (claimed instanceof ApiError) return toRefusal(claimed, operation(id))
    if ('answer' in claimed) {
      onStored?.(claimed.storedAt ?? clock.now())
      return replyOf(id, claimed, {})
    }
    const { lookups, ask } = claimed
    const { key, work, input: before } = ask
    return {
      key,
      work: work?.id,
      isAgain: before !== undefined && !work,
      accept: (work) => lookups.accept([[row.ordinal, workOf(work)]]),
      forget: () => lookups.forget([ask]),
      keep: (reply) =>
        keepAnswer(id, input, {}, reply, claimed).then(() => end({ ...claimed, isSent: true })),
    }
  }
  return {
    claimWork,
    /** Rejects where what was paid for cannot be read. */
    open: async () => void (await ports.open()),
    /** Returns when the target gave the stored reply to a lookup; `undefined` where it would be sent. */
    find: async (id: OperationId, input: Input) => {
      const item = itemOperation(id)
      if (item) {
        const outcomes = await findItems(item, inputsOfItems(input))
        const stored = outcomes.filter((one) => one !== undefined)
        return stored.length > 0 && stored.length === outcomes.length ? oldestOf(stored) : undefined
      }
      const found = await find(id, await rowOf(id, input))
      return found && (found.storedAt ?? clock.now())
    },
    /** Returns the stored reply to a lookup; `undefined` where it would be sent. */
    reply: async (id: OperationId, input: Input) => {
      const found = await find(id, await rowOf(id, input))
      if (!found) return undefined
      onStored?.(found.storedAt ?? clock.now())
      return cleaned(id, replyOf(id, found, {}))
    },
    /** Records what accepted work has brought as the reply to a lookup. */
    add: (id: OperationId, input: Input, reply: Reply) =>
      keepAnswer(id, input, {}, reply, undefined).catch(
        async (error: unknown) => void (await onFault(error)),
      ),
    /** Stores the result of accepted work that a delivery carries. */
    keepResult: (result: Fields) =>
      shared
        ?.settle({ status: 200, body: result, headers: {}, credits: 0 }, result.enrichment_id)
        .catch(async (error: unknown) => void (await onFault(error))),
    recall,
    keep,
  }
}

/** Whether an answer was paid for, and is not paid for again. */
const isPaid = ({ answer }: RowOutcome): boolean => answer.status === 'found' || isHidden(answer)

/** Keys are often made of what they are for, and members are people. */
const keyDigest = ({ idempotencyKey, member }: CallOptions): string =>
  `key ${createHash('sha256')
    .update(JSON.stringify([member?.id ?? '', idempotencyKey]))
    .digest('hex')}`

/** Returns a priced operation as a batch calls it for a row; `undefined` where no batch does. */
function asRow(row: Operation): Operation | undefined {
  if (row.starts !== undefined || !isPriced(row)) return undefined
  const found = rowOperation(row)
  return found.batch && found
}

/** Returns a request with its fields as the API names them, and without blank ones; `undefined` where that cannot be. */
function readFields(id: OperationId, shape: Shape, input: Input): Input | undefined {
  const read = resultOr(undefined, () => checkNames(id, shape, withoutBlanks(id, shape, input)))
  return read && shape.input.safeParse(read).success ? read : undefined
}

const withoutKey = ({ idempotencyKey: _, ...options }: CallOptions): CallOptions => options

const resultsOf = (body: unknown): readonly unknown[] =>
  isObject(body) && Array.isArray(body.results) ? body.results : []

/** Returns the request with some of its items. */
const withItems = (input: Input, isAsked: (item: unknown, at: number) => boolean): Input =>
  Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      const isList = (name === 'accounts' || name === 'leads') && Array.isArray(value)
      return [name, isList ? value.filter(isAsked) : value]
    }),
  )

/** Returns a body in our words, also where it is passed on as it came. */
const bodyOf = ({ body, wire }: Reply, names: WireNames | undefined): unknown =>
  wire ? parseExact(textOf(wire, names)) : body

/** Returns a body that is passed on as it came, as text in our words. */
function textOf(wire: Uint8Array, names: WireNames | undefined): string {
  const text = new TextDecoder().decode(wire)
  return names ? toJson(renameIn(parseExact(text), names)) : text
}
