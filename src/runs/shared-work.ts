import { createHash } from 'node:crypto'
import {
  type Caller,
  type CallOptions,
  type Input,
  isOk,
  type Reply,
  storedHeaders,
} from '../api/calls/caller.js'
import { immediateOperation, type OperationId, operation } from '../api/operations/table.js'
import { ownWebhook } from '../api/validation/own-webhook.js'
import { parseJson } from '../api/values/json.js'
import { type Fields, isObject } from '../api/values/objects.js'
import type { RowOutcome } from '../lookups/answer.js'
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
}

interface SharedWorkPorts {
  readonly now: () => number
  readonly uuid: () => string
  /** Returns the row of a lookup; `undefined` where it is none. */
  readonly rowOf: (id: OperationId, input: Input, options?: CallOptions) => Promise<LookupRow | undefined>
  readonly find: (id: OperationId, row: LookupRow) => Promise<RowOutcome | undefined>
  readonly open: (id: OperationId) => Promise<{ readonly lookups: Lookups }>
  /** Stores a note of ours beside the answers of an operation, and finds it. */
  readonly keepNote: (id: OperationId, identity: string, body: object) => Promise<void>
  readonly findNote: (id: OperationId, identity: string) => Promise<unknown>
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
  const { now, uuid, rowOf, find, open, keepNote, findNote, keyDigest, bodyOf, start, keep } = ports
  const identityOf = (id: string) => `job ${id}`

  /** Returns the lookup that work answers. */
  const lookupOf = async (id: OperationId, input: Input, options?: CallOptions) => {
    const { webhook_url: _, custom: __, ...fields } = input
    return rowOf(immediateOperation(operation(id)).id, fields, options)
  }
  /** Answers with a job of the proxy. It is the same for the same key. */
  const answerJob = async (id: OperationId, input: Input, options: CallOptions, job: SharedJob) => {
    const own = options.idempotencyKey === undefined ? uuid() : uuidOf(keyDigest(options))
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
  return {
    lookupOf,
    /** Starts work, or answers with a job for what the team has paid for. */
    begin: async (
      caller: Caller,
      asked: LookupRow,
      ...[id, input, options = {}]: Parameters<Caller['call']>
    ): Promise<Reply> => {
      const { webhook_url: url } = input
      const isHeard = url !== undefined && url !== ownWebhook
      const { idempotencyKey: key } = options
      const stored = await find(immediateOperation(operation(id)).id, asked)
      // The same request again gets its reply from the server.
      const isAgain = stored?.key && key !== undefined && stored.key === keyOfWork(key)
      if (stored && (isHeard || isAgain)) return caller.call(id, input, options)
      if (stored) {
        const { credits_used: _, phones: __, phone_status: ___, ...result } = stored.answer.body as Fields
        const { storedAt: answeredAt = now(), payer } = stored
        return answerJob(id, input, options, { result, answeredAt, ...(payer ? { payer } : {}) })
      }
      const going = await (await open(id)).lookups.acceptedFor(asked)
      if (going && !isHeard && going.key !== key)
        return answerJob(id, input, options, { work: going.id, payer: going.payer })
      if (going) return caller.call(id, input, options)
      const { reply, work } = await start(caller, asked, id, input, options)
      if (work === undefined) return reply
      return isHeard ? caller.call(id, input, options) : answerJob(id, input, options, { work })
    },
    /** Returns the work that goes on for a lookup that is answered at once; `undefined` where there is none. */
    goingOn: async (row: LookupRow) => (await open('contacts.enrich')).lookups.acceptedFor(row),
    /** Reads work: that of a job of the proxy from what it stands for. */
    read: async (
      caller: Caller,
      ...[id, input, options = {}]: Parameters<Caller['call']>
    ): Promise<Reply> => {
      const job = await findJob(input.id)
      if (!job) return caller.call(id, input, options)
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
    },
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
