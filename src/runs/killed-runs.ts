import { type Input, isOk, type Reply } from '../api/calls/caller.js'
import { ApiError } from '../api/calls/errors.js'
import { type Operation, operations, rowOperation } from '../api/operations/table.js'
import { parseExact, parseJson } from '../api/values/json.js'
import { cutAt, judge, type RowAnswer } from '../lookups/answer.js'
import type { Hold } from '../lookups/leases.js'
import {
  type Ask,
  isTogether,
  type Lookups,
  openLookups,
  rowOfKey,
  type Settled,
  type Work,
} from '../lookups/store.js'
import { acceptedIn, answersIn, isWorkOver } from './bulk.js'
import { mayHaveUnsettled, type Run, stopKilled } from './journal/runs.js'
import { statingIn } from './plan/lookup.js'
import type { OpenOwnEngine, OwnEngine } from './ports.js'
import { lockOfDead, type RunRecords } from './records.js'
import { countResults, type RecordedRequest } from './request.js'

/**
 * Settles what killed runs had under way as far as the engine of this machine knows how it ended, and records them as stopped.
 * `own` is the lock that this command holds.
 */
export async function stopKilledRuns(
  records: Pick<RunRecords, 'database' | 'locks' | 'now'>,
  own: string | undefined,
  openEngine: OpenOwnEngine,
): Promise<void> {
  const { database, locks } = records
  const hold: Hold = ({ identityKey }) =>
    identityKey === own ? { release: () => {} } : lockOfDead(locks, identityKey)
  if (!(await mayHaveUnsettled(database))) return
  const engine = await openEngine()
  const target = engine?.name ?? ''
  await stopKilled(database, hold, {
    target,
    settle: async (run) => {
      if (!engine || run.target !== target || run.workspace !== engine.workspace) return
      try {
        await settleRun(records, run, engine)
      } catch (error) {
        // No command fails because of another run: the next one tries again.
        if (!(error instanceof ApiError)) throw error
      }
    },
  })
}

interface OpenRow {
  readonly row: number
  readonly state: 'asked' | 'accepted'
  readonly key: string | null
  readonly input: string
  readonly work: string | null
  readonly held: number
  readonly asked_at: number
}

const openSql = `SELECT row, state, key, input, work, held, asked_at FROM lookups
  WHERE run = ? AND state IN ('asked', 'accepted') AND input IS NOT NULL ORDER BY row`

/** Settles the rows of a run, whose lock is held. The reply to each is stored under its key, and without one it had no effect. */
async function settleRun(
  { database, locks, now }: Pick<RunRecords, 'database' | 'locks' | 'now'>,
  run: Run,
  engine: OwnEngine,
): Promise<void> {
  const found = operations().find(({ id }) => id === run.operation)
  const openRows = () => database.read((reads) => reads.all<OpenRow>(openSql, run.number))
  const open = found ? await openRows() : []
  if (!found || open.length === 0) return
  const operation = rowOperation(found)
  // Single lookups have no choices.
  const { choices, member } = parseJson(run.request) as Partial<RecordedRequest>
  // The engine was not asked, and does not know whether somebody else was.
  if (choices?.isOutward) return
  const hasQuota = operation.quota !== undefined && choices?.maxProfiles !== undefined
  const lookups = await openLookups(database, run, {
    now,
    budgets: hasQuota ? { quota: { most: 0, count: countResults(operation) } } : {},
    mayRepeat: true,
    retryUnknown: false,
    stating: statingIn(operation),
    fence: locks.fenceOf(run.identityKey),
    member,
  })
  const settling = { lookups, operation, engine, now, hasQuota }
  const asked = open.filter(({ state }) => state === 'asked')
  await settleAsked(settling, asked)
  await settleAccepted(settling, asked.length === 0 ? open : await openRows())
}

interface Settling {
  readonly lookups: Lookups
  readonly operation: Operation
  readonly engine: OwnEngine
  readonly now: () => number
  readonly hasQuota: boolean
}

async function settleAsked(settling: Settling, asked: readonly OpenRow[]): Promise<void> {
  const { lookups, operation, engine } = settling
  const { caller, apiKey } = engine
  const sent = [...Map.groupBy(asked, ({ row, key }) => key ?? lookups.keyOf(row))].flatMap(([key, rows]) => {
    const row = rowOfKey(key, false)
    return row ? [{ key, row, rows }] : []
  })
  const keys = sent.map(({ row }) => row)
  const replies = await caller.concludeRows?.(operation.id, keys, { apiKey })
  if (!replies) return
  const settled: Settled[] = []
  const unsent: Ask[] = []
  for (const [at, { key, rows }] of sent.entries()) {
    const reply = replies[at]
    if (!reply) unsent.push(...rows.map((one) => askOf(one, settling)))
    else if (isTogether(key)) await accept(settling, rows, reply)
    // What an import costs shows when it is over.
    else if (operation.starts === undefined)
      for (const one of rows) settled.push(...settledBy(settling, one, judgeRow(settling, one, reply)))
  }
  if (settled.length > 0) await lookups.settle(settled)
  await lookups.forget(unsent)
}

/** Records that a request for several rows was accepted. */
async function accept({ lookups, operation }: Settling, rows: readonly OpenRow[], { body }: Reply) {
  const accepted = acceptedIn(
    body,
    rows.map(({ row }) => row),
    operation.batch?.bulkRequests?.into ?? '',
  )
  if (!accepted) return
  const { id, parts } = accepted
  await lookups.accept(rows.map(({ row }, at) => [row, { id, part: parts[at] ?? null, at }]))
}

/** Settles rows whose accepted work is over. Other work is paid for when it is done, whoever has it done. */
async function settleAccepted(settling: Settling, open: readonly OpenRow[]): Promise<void> {
  const { lookups, operation, engine, now } = settling
  const { caller, apiKey } = engine
  const { bulkRequests } = operation.batch ?? {}
  if (!bulkRequests) return
  const { into, reader } = bulkRequests
  const accepted = open.flatMap((one) =>
    one.work === null ? [] : [{ one, work: parseJson(one.work) as Work }],
  )
  for (const [id, rows] of Map.groupBy(accepted, ({ work }) => work.id)) {
    const reply = await caller.call(reader, { id }, { apiKey })
    if (!isOk(reply) || !isWorkOver(reply.body)) continue
    const parts = rows.map(({ work }) => work.part)
    const isTaken = rows.some(({ work }) => work.isTaken)
    const places = rows.map(({ one, work }) => ({ ordinal: one.row, at: work.at }))
    const answers = answersIn(
      reply.body,
      places,
      { id, parts, ...(isTaken ? { isTaken } : {}) },
      { into, operation, now: now() },
    )
    await lookups.settle(rows.flatMap(({ one }, at) => settledBy(settling, one, answers[at])))
  }
}

function judgeRow({ operation, now }: Settling, { input }: OpenRow, reply: Reply): RowAnswer | undefined {
  const verdict = judge(reply, operation, now())
  if (verdict.kind !== 'answer') return undefined
  const { limit } = parseExact(input) as Input
  // Whether a budget had lowered it is not known here.
  return typeof limit === 'number' ? cutAt(limit, verdict.answer, operation) : verdict.answer
}

function settledBy(settling: Settling, row: OpenRow, answer: RowAnswer | undefined): readonly Settled[] {
  if (!answer) return []
  const ask = askOf(row, settling)
  const ageMs = Math.max(0, settling.now() - row.asked_at)
  const of = { ordinal: row.row, identity: undefined, hash: undefined, most: row.held, input: {} }
  return [{ ...of, answer: { ...answer, ageMs }, source: 'live', ask }]
}

function askOf({ row, key, held, input }: OpenRow, { lookups, hasQuota }: Settling): Ask {
  const { limit } = parseExact(input) as Input
  const sent = { key: key ?? lookups.keyOf(row), row: undefined, input: undefined, isNew: false }
  return { ...sent, ordinal: row, held, units: hasQuota ? Number(limit ?? 0) : 0 }
}
