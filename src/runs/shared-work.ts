import { createHash } from 'node:crypto'
import {
  type Caller,
  type CallOptions,
  type Input,
  isFromStore,
  isOk,
  partlyStored,
  type Reply,
  replayedHeaders,
  storedHeaders,
} from '../api/calls/caller.js'
import { ApiError, toRefusal } from '../api/calls/errors.js'
import { hiddenNote, immediateOperation, type OperationId, operation } from '../api/operations/table.js'
import { ownWebhook } from '../api/validation/own-webhook.js'
import { parseJson, toCanonicalJson } from '../api/values/json.js'
import { type Fields, isObject } from '../api/values/objects.js'
import { longestInProgressMs, type RowOutcome } from '../lookups/answer.js'
import type { LookupRow, Lookups, StartedLookup } from '../lookups/store.js'

/** What has its own id at a proxy, and stands for work or an answer that the team has paid for. */
interface SharedJob {
  /** The work at the server. */
  readonly work?: string
  readonly result?: Fields
  readonly custom?: unknown
  readonly answeredAt?: number
  /** Email of the member who paid. */
  readonly payer?: string | null
  readonly bulk?: SharedBulk
}

export interface SharedWorkPorts {
  readonly now: () => number
  readonly uuid: () => string
  /** Returns the row of a lookup; `undefined` where it is none. */
  readonly rowOf: (id: OperationId, input: Input, options?: CallOptions) => Promise<LookupRow | undefined>
  readonly find: (id: OperationId, row: LookupRow) => Promise<RowOutcome | undefined>
  readonly open: (id: OperationId) => Promise<{ readonly lookups: Lookups }>
  /** Returns which contacts are about somebody suppressed. */
  readonly areSuppressed: (contacts: readonly Fields[]) => Promise<readonly boolean[]>
  /** Stores a note of ours beside the answers of an operation, and finds it. */
  readonly keepNote: (id: OperationId, identity: string, body: object) => Promise<void>
  readonly findNote: (id: OperationId, identity: string) => Promise<unknown>
  /**
   * Claims lookups that are sent together; `undefined` while others ask for some of them, and a refusal where that cannot be
   * known. `accept` records the work that was accepted for them, by their identity; `giveUp` forgets them.
   */
  readonly claimRows: (
    caller: Caller,
    id: OperationId,
    rows: readonly LookupRow[],
    options: CallOptions,
  ) => Promise<ClaimedRows | Reply | undefined>
  /** Returns which items of a request are sent under its key, or all that are missing; a refusal where it was for others. */
  readonly itemsOfKey: (
    id: OperationId,
    input: Input,
    missing: readonly number[],
    options: CallOptions,
  ) => Promise<ItemsOfKey | Reply>
  readonly sleep: (ms: number) => Promise<void>
  /** What the key of a call is known by. */
  readonly keyDigest: (options: CallOptions) => string
  /** Returns a body in our words. */
  readonly bodyOf: (reply: Reply) => unknown
  /**
   * Starts the work of a lookup that nobody else is starting, under the key and with the request of an attempt that a killed
   * proxy left: where that was another one, `work` is what it has started.
   */
  readonly start: (
    caller: Caller,
    row: LookupRow,
    ...call: Parameters<Caller['call']>
  ) => Promise<{ readonly reply: Reply; readonly work?: string }>
  /** Stores a result as the answer to a lookup, with who paid, and what the key is known by that it was asked for under. */
  readonly keep: (
    id: OperationId,
    row: LookupRow,
    body: Fields,
    of: Pick<StartedLookup, 'key' | 'payer'>,
  ) => Promise<void>
}

interface ItemsOfKey {
  /** Positions of the items. */
  readonly sent: readonly number[]
  /** Whether the request was made before under its key. */
  readonly isReplay: boolean
  /** Frees the key where a request that was not made before is refused. */
  readonly settle: (reply: Reply) => Promise<void>
}

/** Whether a webhook has to hear of the result of a request. */
const isHeard = ({ webhook_url: url }: Input): boolean => url !== undefined && url !== ownWebhook

interface ClaimedRows {
  readonly giveUp: () => Promise<void>
  readonly accept: (works: ReadonlyMap<string | undefined, string>) => Promise<void>
}

interface SharedPart {
  readonly id: string
  readonly custom?: unknown
  readonly isOwn: boolean
  /** Whether it was not asked for because it is about somebody suppressed. */
  readonly isHidden?: boolean
}

/** A request for several contacts of which some were paid for: the contacts as they were answered, and the job of the others. */
interface SharedBulk {
  readonly contacts: readonly SharedPart[]
  readonly rest?: string | undefined
}

const busyMs = 100

/** What is shown of somebody who is suppressed. */
const hidden = { status: 'finished', message: hiddenNote }

/** The operations that start work for one contact and that read it. */
export const isShared = (id: OperationId): boolean => id === 'contacts.enrich'
export const readsShared = (id: OperationId): boolean =>
  id === 'contacts.get' || id === 'contacts.get_enrichment'

/** The operation under which jobs of the proxy are stored. */
const jobsOf = 'contacts.get'

/**
 * Has members of a proxy share work that is accepted first and answered later. Whoever asks the same while it goes on, or after
 * it, gets a job of the proxy, whose result is that of the work: nothing is sent again. What a webhook has to hear of is always
 * sent.
 */
export function createSharedWork(ports: SharedWorkPorts) {
  const {
    now,
    uuid,
    rowOf,
    find,
    open,
    keepNote,
    findNote,
    areSuppressed,
    claimRows,
    itemsOfKey,
    sleep,
    keyDigest,
    bodyOf,
    start,
    keep,
  } = ports
  const identityOf = (id: string) => `job ${id}`

  /** Returns the lookup that work answers. */
  const lookupOf = async (id: OperationId, input: Input, options?: CallOptions) => {
    const { webhook_url: _, custom: __, ...fields } = input
    return rowOf(immediateOperation(operation(id)).id, fields, options)
  }
  /** The id of a job is that of the request, too: one under the same key never gets the job of another request. */
  const ownId = (input: Input, options: CallOptions): string =>
    options.idempotencyKey === undefined ? uuid() : uuidOf(`${keyDigest(options)} ${toCanonicalJson(input)}`)
  /** Answers with a job of the proxy. It is the same for the same key. */
  const answerJob = async (id: OperationId, input: Input, options: CallOptions, job: SharedJob) => {
    const own = ownId(input, options)
    const { custom } = input
    const body = { ...job, ...(custom === undefined ? {} : { custom }) }
    await keepNote(jobsOf, identityOf(own), body)
    const accepted = {
      enrichment_id: own,
      first_name: input.firstname ?? input.first_name ?? null,
      last_name: input.lastname ?? input.last_name ?? null,
      status: 'pending',
      ...(custom === undefined ? {} : { custom }),
    }
    return replyOf(accepted, operation(id).ok, job)
  }
  const replyOf = (body: Fields, status: number, { answeredAt = now(), payer }: SharedJob): Reply => {
    const age = String(Math.max(0, Math.floor((now() - answeredAt) / 1_000)))
    return { status, body, headers: { age, ...storedHeaders(payer) }, credits: 0 }
  }
  const findJob = async (id: unknown): Promise<SharedJob | undefined> => {
    return typeof id === 'string'
      ? ((await findNote(jobsOf, identityOf(id))) as SharedJob | undefined)
      : undefined
  }
  /** Returns the work that goes on for a lookup, however it is asked for; `undefined` where there is none. */
  const goingOn = async (row: LookupRow) => (await open('contacts.enrich')).lookups.acceptedFor(row)
  /** Returns what is stored of a lookup as a job; `undefined` where it is to be started. */
  const jobFor = async (row: LookupRow): Promise<SharedJob | undefined> => {
    const stored = await find('contacts.enrich_sync', row)
    if (stored) return toJob(stored)
    const going = await goingOn(row)
    return going && { work: going.id, payer: going.payer }
  }
  const toJob = ({ answer, storedAt: answeredAt = now(), payer }: RowOutcome): SharedJob => {
    const { credits_used: _, phones: __, phone_status: ___, ...result } = (answer.body ?? hidden) as Fields
    return { result, answeredAt, ...(payer ? { payer } : {}) }
  }
  /** Returns each contact of a request for several as a lookup of its own, as far as it is one. */
  const contactsOf = ({ contacts, ...all }: Input, options?: CallOptions) =>
    Promise.all(
      listOf({ contacts }).map(async (contact) => ({
        row: isObject(contact)
          ? await lookupOf('contacts.enrich', { ...all, ...contact }, options)
          : undefined,
      })),
    )
  const acceptedIn = (body: unknown): readonly string[] => {
    const list = isObject(body) && Array.isArray(body.contacts) ? body.contacts.filter(isObject) : []
    return list.flatMap(({ enrichment_id: id }) => (typeof id === 'string' ? [id] : []))
  }
  /** Starts work, or answers with a job for what the team has paid for. */
  const begin = async (
    caller: Caller,
    asked: LookupRow,
    ...[id, input, options = {}]: Parameters<Caller['call']>
  ): Promise<Reply> => {
    const ofKey = await itemsOfKey(id, input, [0], options)
    if ('status' in ofKey) return ofKey
    const reply = await beginOne(caller, asked, id, input, options)
    await ofKey.settle(reply)
    const isOwnReplay = ofKey.isReplay && isFromStore(reply)
    return isOwnReplay ? { ...reply, headers: { ...reply.headers, ...replayedHeaders } } : reply
  }
  const beginOne = async (
    caller: Caller,
    asked: LookupRow,
    ...[id, input, options = {}]: Parameters<Caller['call']>
  ): Promise<Reply> => {
    const hears = isHeard(input)
    const { idempotencyKey: key } = options
    const stored = await find(immediateOperation(operation(id)).id, asked)
    // The same request again gets its reply from the server.
    const isAgain = stored?.key && key !== undefined && stored.key === keyOfWork(key)
    if (stored && (hears || isAgain)) return caller.call(id, input, options)
    if (stored) return answerJob(id, input, options, toJob(stored))
    const going = await goingOn(asked)
    if (going && !hears && going.key !== key)
      return answerJob(id, input, options, { work: going.id, payer: going.payer })
    if (going) return caller.call(id, input, options)
    const { reply, work } = await start(caller, asked, id, input, options)
    if (work === undefined) return reply
    return hears ? caller.call(id, input, options) : answerJob(id, input, options, { work })
  }
  /** Answers a request for several contacts with a job of the proxy, and sends those that nobody has paid for. */
  const beginBulk = async (
    caller: Caller,
    ...[id, input, options = {}]: Parameters<Caller['call']>
  ): Promise<Reply> => {
    const own = ownId(input, options)
    const { idempotencyKey: _, ...unkeyed } = options
    const items = await contactsOf(input, unkeyed)
    const isHidden = await areSuppressed(listOf(input).map((one) => (isObject(one) ? one : {})))
    // What was stored when the key was first used, and is so no more.
    const startedFor = async (at: number): Promise<SharedJob> => {
      const { contacts, ...all } = input
      const one = { ...all, ...((contacts as readonly Fields[])[at] ?? {}) }
      const row = items[at]?.row
      const reply = row && (await begin(caller, row, 'contacts.enrich', one, unkeyed))
      const body = reply && bodyOf(reply)
      const id = isObject(body) ? body.enrichment_id : undefined
      return typeof id === 'string' ? ((await findJob(id)) ?? { work: id }) : { result: { status: 'failed' } }
    }
    const until = now() + longestInProgressMs
    while (now() < until) {
      const jobs = await Promise.all(
        items.map(({ row }, at) => (isHidden[at] ? { result: hidden } : row && jobFor(row))),
      )
      const missing = [...jobs.keys()].filter((at) => jobs[at] === undefined)
      const ofKey = await itemsOfKey(id, input, missing, options)
      if ('status' in ofKey) return ofKey
      const { sent, isReplay, settle } = ofKey
      const before = isReplay ? await findJob(own) : undefined
      if (before?.bulk) return answerBulk(own, before.bulk, true)
      const isWhole = sent.length === items.length
      // Under a key that was used before, some of them go on already.
      const rows = sent.flatMap((at) => (jobs[at] ? [] : (items[at]?.row ?? [])))
      const claimed =
        rows.length === 0 ? undefined : await claimRows(caller, 'contacts.enrich', rows, unkeyed)
      if (claimed && 'status' in claimed) return claimed
      if (!claimed && rows.length > 0) {
        await sleep(busyMs)
        continue
      }
      const contacts = listOf(input)
      const rest = isWhole ? input : { ...input, contacts: sent.map((at) => contacts[at]) }
      const reply =
        sent.length === 0 && !isWhole
          ? undefined
          : await caller.call(id, rest, options).catch(async (error: unknown) => {
              await claimed?.giveUp()
              throw error
            })
      if (reply) await settle(reply)
      const body = reply && bodyOf(reply)
      const works = reply && isOk(reply) ? acceptedIn(body) : []
      if (reply && works.length !== (isWhole ? items : sent).length) {
        await claimed?.giveUp()
        return reply
      }
      const positions = isWhole ? [...items.keys()] : sent
      await claimed?.accept(
        new Map(positions.map((at, index) => [items[at]?.row?.identity, works[index] ?? ''])),
      )
      if (reply && isWhole) return reply
      return keepBulk(
        own,
        reply,
        isHidden,
        (at) => works[positions.indexOf(at)] ?? jobs[at] ?? startedFor(at),
        input,
      )
    }
    return toRefusal(new ApiError('lookup_in_progress', {}, { 'retry-after': '5' }), operation(id))
  }
  /** Keeps a job of the proxy for several contacts: of each the work that `reply` has accepted, or what stands for it. */
  const keepBulk = async (
    own: string,
    reply: Reply | undefined,
    isHidden: readonly boolean[],
    partAt: (at: number) => string | SharedJob | Promise<SharedJob>,
    input: Input,
  ): Promise<Reply> => {
    const contacts: SharedPart[] = []
    for (const [at, contact] of listOf(input).entries()) {
      const custom = isObject(contact) ? contact.custom : undefined
      const named = custom === undefined ? {} : { custom }
      const part = await partAt(at)
      if (typeof part === 'string') contacts.push({ id: part, isOwn: false, ...named })
      else {
        const id = uuid()
        await keepNote(jobsOf, identityOf(id), { ...part, ...named })
        contacts.push({ id, isOwn: true, isHidden: isHidden[at] === true, ...named })
      }
    }
    const body = reply && bodyOf(reply)
    const bulk = { contacts, rest: isObject(body) ? String(body.enrichment_id) : undefined }
    await keepNote(jobsOf, identityOf(own), { bulk })
    return answerBulk(own, bulk, reply?.headers['idempotent-replayed'] !== undefined)
  }
  /**
   * Starts the work of several contacts whatever is stored. Whoever is suppressed is not asked for, and has a place in the job
   * all the same.
   */
  const beginAnew = async (
    send: (input: Input) => Promise<Reply>,
    input: Input,
    options: CallOptions,
  ): Promise<Reply> => {
    const contacts = listOf(input)
    const isHidden = await areSuppressed(contacts.map((one) => (isObject(one) ? one : {})))
    if (!isHidden.includes(true)) return send(input)
    const own = ownId(input, options)
    const sent = [...contacts.keys()].filter((at) => !isHidden[at])
    const reply =
      sent.length === 0 ? undefined : await send({ ...input, contacts: sent.map((at) => contacts[at]) })
    const works = reply && isOk(reply) ? acceptedIn(bodyOf(reply)) : []
    if (reply && works.length !== sent.length) return reply
    // The same request under the same key has the same job.
    const before = options.idempotencyKey === undefined ? undefined : await findJob(own)
    if (before?.bulk) return answerBulk(own, before.bulk, true)
    return keepBulk(own, reply, isHidden, (at) => works[sent.indexOf(at)] ?? { result: hidden }, input)
  }
  const answerBulk = (own: string, { contacts }: SharedBulk, isReplay: boolean): Reply => {
    const stored = contacts.filter((one) => one.isOwn && !one.isHidden).length
    const list = contacts.map(({ id, custom }) => ({
      enrichment_id: id,
      ...(custom === undefined ? {} : { custom }),
    }))
    const body = { enrichment_id: own, status: 'queued', contacts: list }
    const headers = {
      ...(stored === list.length
        ? { age: '0', ...storedHeaders() }
        : stored > 0
          ? partlyStored(stored, 0)
          : {}),
      ...(isReplay ? replayedHeaders : {}),
    }
    return { status: operation('contacts.bulk_enrich').ok, body, headers, credits: 0 }
  }
  /** Reads a job of the proxy for several contacts. */
  const readBulk = async (
    caller: Caller,
    { contacts, rest }: SharedBulk,
    ...[id, input, options = {}]: Parameters<Caller['call']>
  ): Promise<Reply> => {
    const found = new Map<unknown, Fields>()
    if (rest !== undefined) {
      const reply = await caller.call('contacts.get', { id: rest }, options)
      const body = bodyOf(reply)
      if (!isOk(reply) || !isObject(body)) return reply
      for (const one of Array.isArray(body.contacts) ? body.contacts.filter(isObject) : [])
        found.set(one.enrichment_id, one)
    }
    for (const one of contacts.filter(({ isOwn }) => isOwn)) {
      const reply = await read(caller, 'contacts.get', { id: one.id }, options)
      const body = bodyOf(reply)
      if (!isOk(reply) || !isObject(body)) return reply
      found.set(one.id, body)
    }
    const list = contacts.map(({ id: part }) => found.get(part) ?? { enrichment_id: part, status: 'pending' })
    const finished = list.filter(isOver).length
    const status = finished === list.length ? 'finished' : 'pending'
    const body = { enrichment_id: input.id, status, total: list.length, finished, contacts: list }
    return { status: operation(id).ok, body, headers: {}, credits: 0 }
  }
  /** Reads work: that of a job of the proxy from what it stands for. */
  const read = async (
    caller: Caller,
    ...[id, input, options = {}]: Parameters<Caller['call']>
  ): Promise<Reply> => {
    const job = await findJob(input.id)
    if (!job) return caller.call(id, input, options)
    if (job.bulk) return readBulk(caller, job.bulk, id, input, options)
    const asOwn = (result: Fields): Fields => {
      const { custom: _, ...rest } = result
      const own = { ...rest, enrichment_id: input.id, credits_used: 0 }
      return job.custom === undefined ? own : { ...own, custom: job.custom }
    }
    if (job.result) return replyOf(asOwn(job.result), operation(id).ok, job)
    const reply = await caller.call(id, { ...input, id: job.work }, options)
    const body = bodyOf(reply)
    if (!isOk(reply) || !isObject(body)) return reply
    const headers = { ...reply.headers, ...storedHeaders(job.payer) }
    return { ...replyOf(asOwn(body), reply.status, job), headers }
  }
  return {
    isHeard,
    lookupOf,
    begin,
    beginBulk,
    beginAnew,
    read,
    /** Returns what a request for several contacts is in line for. */
    linesOf: async (input: Input, options: CallOptions): Promise<readonly string[]> => [
      ...(options.idempotencyKey === undefined ? [] : [keyDigest(options)]),
      ...(await contactsOf(input)).flatMap(({ row }) =>
        row ? [`contacts.enrich_sync ${row.identity}`] : [],
      ),
    ],
    /** Returns the work that a reply to a request has accepted, with its lookups. */
    startedIn: async (input: Input, body: unknown): Promise<readonly (readonly [string, LookupRow])[]> => {
      const isBulk = Array.isArray(input.contacts)
      const works = isBulk ? acceptedIn(body) : isObject(body) ? [body.enrichment_id] : []
      const rows = isBulk
        ? (await contactsOf(input)).map(({ row }) => row)
        : [await lookupOf('contacts.enrich', input)]
      if (works.length !== rows.length) return []
      return rows.flatMap((row, at) =>
        row && typeof works[at] === 'string' ? [[works[at], row] as const] : [],
      )
    },
    goingOn,
    /** Stores the results that a reply has of work that was started for lookups. */
    settle: async (reply: Reply, id: unknown): Promise<void> => {
      const { lookups } = await open('contacts.enrich')
      const body = bodyOf(reply)
      if (reply.status === 404 && typeof id === 'string') {
        for (const one of await lookups.startedBy([id])) await lookups.forgetStarted(one)
        return
      }
      if (!isOk(reply) || !isObject(body)) return
      const all = Array.isArray(body.contacts) ? body.contacts.filter(isObject) : [body]
      const over = new Map(all.flatMap((one) => (isOver(one) ? [[String(one.enrichment_id), one]] : [])))
      if (over.size === 0) return
      for (const one of await lookups.startedBy([...over.keys()])) {
        const { custom: _, ...result } = over.get(idOf(one)) ?? {}
        const row = { ordinal: -1, identity: one.identity, hash: Number(one.hash), most: 0, input: {} }
        // Stored first: a kill in between leaves both, and what is stored is found before.
        const key = one.key === null ? null : keyOfWork(one.key)
        await keep('contacts.enrich_sync', row, result, { key, payer: one.payer })
        await lookups.forgetStarted(one)
      }
    },
  }
}

const listOf = ({ contacts }: Input): readonly unknown[] => (Array.isArray(contacts) ? contacts : [])

const keyOfWork = (key: string): string => `work ${createHash('sha256').update(key).digest('hex')}`

const idOf = ({ work }: StartedLookup): string => (parseJson(work) as { readonly id: string }).id

const isOver = ({ status, enrichment_id: id }: Fields): boolean =>
  typeof id === 'string' && (status === 'finished' || status === 'failed')

/** Returns a UUID that is the same for the same text. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`]
  return [...parts, hex.slice(20, 32)].join('-')
}
