import { randomUUID } from 'node:crypto'
import type { Forward, Inbox, Outbox, Passed, ReceivedDelivery } from '../../api/webhooks/events.js'
import { type Connection, type Driver, joinGiven, perDialect, type Value } from '../driver/connection.js'
import { freeIn, lanesOf, leasesOf } from '../queue.js'

/** How long a deleted delivery is remembered: longer than our own sender retries (28 hours). */
const rememberedMs = 80 * 3_600_000

/** Name of a recorded event that no server sent: an unusable reply to a call that may have been paid. */
export const unusableReply = 'reply.unusable'

/** A kept delivery in a list, without headers and body. */
export interface ListedEvent extends Omit<ReceivedDelivery, 'path' | 'headers' | 'body'> {
  /** Its number in the order of arrival. */
  readonly seq: number
  /** Size of the body. */
  readonly bytes: number
  /** State of its forwarding, the worst where it went to several addresses; null where it is not forwarded. */
  readonly forwarded: Forwarding['state'] | null
}

export interface KeptEvent extends ReceivedDelivery {
  readonly seq: number
  readonly forwards: readonly Forwarding[]
}

/** Selects deliveries; all of them without a field. */
export interface EventFilter {
  /** A whole name, or one of its halves: `lead_search`, `completed`. */
  readonly event?: string
  /** Id of the search that it belongs to. */
  readonly search?: string
  /** Received at or after. */
  readonly since?: number
  /** Received before. */
  readonly until?: number
}

/** Returns a delivery without whom it must not name. */
export type CleanDelivery = <T extends Pick<ReceivedDelivery, 'headers' | 'body'>>(delivery: T) => Promise<T>

const unchanged: CleanDelivery = async (delivery) => delivery

export type Events = ReturnType<typeof eventsOver>

/** Returns the received events in a state database; `close` closes it. */
export function eventsOver(driver: Driver, clean: CleanDelivery = unchanged) {
  const findOne = async (condition: string, value: Value) => {
    const event = await driver.read((connection) => findEvent(connection, condition, value))
    return event && clean(event)
  }
  return {
    clean,
    /** Keeps a clean delivery as `Inbox` says; with `forwardTo` a new one also waits to be forwarded. */
    keep: (delivery: ReceivedDelivery, forwardTo?: string) =>
      driver.transaction((connection) => keep(connection, delivery, forwardTo)),
    /** Keeps a reply that cannot be used as an event. */
    keepUnusable: (reply: Pick<ReceivedDelivery, 'id' | 'receivedAt' | 'headers' | 'body'>) =>
      driver.transaction((connection) =>
        keep(connection, { ...reply, path: 'reply', event: unusableReply, search: null, verified: false }),
      ),
    /** Returns events behind the one with the number `after`, at most `limit`. */
    list: async (
      { event, search, since, until }: EventFilter,
      order: 'newest' | 'oldest',
      limit: number,
      after?: number,
    ): Promise<ListedEvent[]> => {
      const [behind, direction] = order === 'newest' ? ['<', 'DESC'] : ['>', 'ASC']
      const { where, values } = joinGiven([
        ['search = ?', search],
        ['received_at >= ?', since],
        ['received_at < ?', until],
        [`seq ${behind} ?`, after],
      ])
      const sql = `SELECT seq, id, received_at AS receivedAt, event, search, verified, octet_length(body) AS bytes, (
          SELECT state FROM forwards WHERE forwards.seq = events.seq
          ORDER BY state = 'failed' DESC, state = 'waiting' DESC LIMIT 1) AS forwarded
        FROM events WHERE ${event === undefined ? 'TRUE' : isNamed}${where} ORDER BY seq ${direction} LIMIT ?`
      const names: Value[] = event === undefined ? [] : Array(5).fill(event)
      const rows = await driver.read((reads) =>
        reads.all<Omit<ListedEvent, 'verified'> & { verified: number }>(sql, ...names, ...values, limit),
      )
      return rows.map((row) => ({ ...row, verified: row.verified === 1 }))
    },
    /** Returns an event by its id; the newest where several addresses got one with the same id. */
    find: (id: string) => findOne('id = ? ORDER BY seq DESC LIMIT 1', id),
    at: (seq: number) => findOne('seq = ?', seq),
    /** Returns the ids that begin so, those of the newest events first. */
    idsStartingWith: async (prefix: string, limit: number) => {
      const sql = `SELECT id, max(seq) AS seq FROM events WHERE substr(id, 1, length(?)) = ?
        GROUP BY id ORDER BY seq DESC LIMIT ?`
      const rows = await driver.read((reads) => reads.all<{ id: string }>(sql, prefix, prefix, limit))
      return rows.map(({ id }) => id)
    },
    /** Returns deliveries to a path behind the number `after`, in the order of arrival, at most `limit`. */
    arrived: async (path: string, after: number, limit: number) => {
      const sql = 'SELECT seq, event, body FROM events WHERE path = ? AND seq > ? ORDER BY seq LIMIT ?'
      const found = await driver.read((reads) =>
        reads.all<Pick<KeptEvent, 'seq' | 'event' | 'body'>>(sql, path, after, limit),
      )
      return Promise.all(found.map((one) => clean({ ...one, headers: {} })))
    },
    outbox: (target: string) => outboxOver(driver, target, clean),
    /** Returns the targets with waiting deliveries whose names begin with `prefix`. */
    waitingTargets: async (prefix: string): Promise<string[]> => {
      const sql = `SELECT DISTINCT target FROM forwards WHERE state = 'waiting' AND substr(target, 1, length(?)) = ?`
      const rows = await driver.read((reads) => reads.all<{ target: string }>(sql, prefix, prefix))
      return rows.map(({ target }) => target)
    },
    /** Records a delivery that was forwarded by hand. A failure does not change its state. */
    noteForward: (
      { seq, search }: Pick<KeptEvent, 'seq' | 'search'>,
      target: string,
      { ok, answer }: Passed,
      now: number,
    ) =>
      driver.transaction(async (connection) => {
        const lane = laneOf(search, seq)
        const sql = `INSERT INTO forwards (target, seq, lane, state, attempts, answer, changed_at)
          VALUES (?, ?, ?, ?, 1, ?, ?)
          ON CONFLICT (target, seq) DO UPDATE SET attempts = attempts + 1, answer = excluded.answer,
            changed_at = excluded.changed_at,
            next_at = CASE WHEN excluded.state = 'delivered' THEN NULL ELSE next_at END,
            state = CASE WHEN excluded.state = 'delivered' THEN 'delivered' ELSE state END`
        await connection.run(sql, target, seq, lane, ok ? 'delivered' : 'failed', answer, now)
        await lanes.next(connection, now, target, lane)
      }),
    /** Returns the path of this machine's receiver, the same at every start; `fresh` where there is none yet. */
    token: (fresh: string) =>
      driver.transaction(async (connection) => {
        const sql = 'INSERT INTO receiver_path (id, token) VALUES (1, ?) ON CONFLICT DO NOTHING'
        await connection.run(sql, fresh)
        return (await connection.get<{ token: string }>('SELECT token FROM receiver_path'))?.token ?? fresh
      }),
    /** Deletes events received before a time. Returns how many. Their ids are remembered for 80 hours after arrival. */
    purge: (before: number, now: number) =>
      driver.transaction(async (connection) => {
        await rememberIds(connection, now, 'received_at < ?', before)
        const count = await connection.run('DELETE FROM events WHERE received_at < ?', before)
        await promoteAll(connection, now)
        return count
      }),
    close: () => driver.close(),
  } satisfies Inbox & Record<string, unknown>
}

/** Whether an event has a name, or one of the halves of its name; takes the name five times. */
const isNamed = `(event = ? OR substr(event, 1, length(?) + 1) = ? || '.' OR substr(event, -length(?) - 1) = '.' || ?)`

/** Keeps the ids of events that are about to be deleted. */
export const rememberIds = async (connection: Connection, now: number, condition: string, value: Value) =>
  connection.run(
    `INSERT INTO gone_events (id, path, received_at) SELECT id, path, received_at FROM events
     WHERE ${condition} AND received_at >= ? ON CONFLICT DO NOTHING`,
    value,
    now - rememberedMs,
  )

/** Events of one search are forwarded in order; one without a search waits for no other. */
const laneOf = (search: string | null, seq: number): string => search ?? `#${seq}`

const addSql = `INSERT INTO events (path, id, received_at, event, search, verified, headers, body)
  SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM gone_events WHERE id = ? AND path = ?)
  ON CONFLICT DO NOTHING RETURNING seq`

/** Keeps a delivery, and queues it for forwarding behind the untried ones of its search. Returns whether it is new. */
async function keep(connection: Connection, delivery: ReceivedDelivery, forwardTo?: string) {
  const { id, path, receivedAt, event, search, verified, headers, body } = delivery
  await connection.run('DELETE FROM gone_events WHERE received_at < ?', receivedAt - rememberedMs)
  const values = [path, id, receivedAt, event, search, verified ? 1 : 0, JSON.stringify(headers), body]
  const row = await connection.get<{ seq: number }>(addSql, ...values, id, path)
  if (row && forwardTo !== undefined) {
    const lane = laneOf(search, row.seq)
    const sql = `INSERT INTO forwards (target, seq, lane, state, attempts, changed_at) VALUES (?, ?, ?, 'waiting', 0, ?)`
    await connection.run(sql, forwardTo, row.seq, lane, receivedAt)
    await lanes.next(connection, receivedAt, forwardTo, lane)
  }
  return row !== undefined
}

interface KeptRow extends Omit<ReceivedDelivery, 'verified' | 'headers'> {
  readonly seq: number
  readonly verified: number
  readonly headers: string
}

const headersIn = ({ headers }: Pick<KeptRow, 'headers'>) => JSON.parse(headers) as Record<string, string>

const forwardsSql = `SELECT target, state, attempts, answer, changed_at AS at, next_at AS nextAt FROM forwards
  WHERE seq = ? ORDER BY target`

async function findEvent(connection: Connection, condition: string, value: Value) {
  const sql = `SELECT seq, path, id, received_at AS receivedAt, event, search, verified, headers, body
    FROM events WHERE ${condition}`
  const row = await connection.get<KeptRow>(sql, value)
  if (!row) return undefined
  const forwards = await connection.all<Forwarding>(forwardsSql, row.seq)
  return { ...row, verified: row.verified === 1, headers: headersIn(row), forwards }
}

export interface Forwarding {
  readonly target: string
  readonly state: 'waiting' | 'delivered' | 'failed'
  readonly attempts: number
  /** The last answer, or why there was none; null before the first. */
  readonly answer: string | null
  /** When it changed last. */
  readonly at: number
  /** When it is tried next; null when it is not, or while an earlier untried one of the same search waits. */
  readonly nextAt: number | null
}

const queue = {
  table: 'forwards',
  key: ['target', 'seq'],
  open: "state = 'waiting'",
  lane: ['target', 'lane'],
  place: 'seq',
  due: 'next_at',
} as const
const leases = leasesOf(queue)
const lanes = lanesOf(queue)
const takeSql = leases.takeSql(
  'seq, attempts',
  leases.first('{free} AND target = ? AND next_at <= ?', 'next_at, seq'),
)
const dueSql = perDialect(
  (dialect) => `SELECT 1 AS one FROM forwards WHERE state = 'waiting' AND ${freeIn(dialect)}
    AND target = ? AND next_at <= ? LIMIT 1`,
)

/** Returns the deliveries that wait to be forwarded to a target. */
function outboxOver(driver: Driver, target: string, clean: CleanDelivery): Outbox {
  return {
    take: async (now, limit, leaseMs) => {
      // Asked first: a transaction would keep other processes from writing, many times a minute.
      if (!(await driver.read((reads) => reads.get(dueSql(reads), leaseMs, target, now)))) return []
      const taken = await driver.transaction(async (connection) => {
        const rows: (KeptRow & Pick<Forward, 'attempts' | 'token'>)[] = []
        while (rows.length < limit) {
          const own = randomUUID()
          const values = [own, leaseMs, leaseMs, target, now]
          const row = await connection.get<Pick<Forward, 'seq' | 'attempts'>>(takeSql(connection), ...values)
          if (!row) break
          const event = await connection.get<KeptRow>(
            'SELECT seq, headers, body FROM events WHERE seq = ?',
            row.seq,
          )
          if (event) rows.push({ ...event, attempts: row.attempts, token: own })
        }
        return rows
      })
      return Promise.all(
        taken.map(async ({ seq, attempts, token: own, body, ...row }) => ({
          seq,
          attempts,
          token: own,
          delivery: await clean({ headers: headersIn(row), body }),
        })),
      )
    },
    settle: ({ seq, token: own }, { ok, answer }, now, retryAt) =>
      driver.transaction(async (connection) => {
        const state = ok ? 'delivered' : retryAt === undefined ? 'failed' : 'waiting'
        const nextAt = state === 'waiting' ? (retryAt ?? now) : null
        const set = 'state = ?, attempts = attempts + 1, answer = ?, next_at = ?, changed_at = ?'
        if (!(await leases.settle(connection, own, set, [state, answer, nextAt, now], target, seq))) return
        const laneSql = 'SELECT lane FROM forwards WHERE target = ? AND seq = ?'
        const { lane = '' } = (await connection.get<{ lane: string }>(laneSql, target, seq)) ?? {}
        await lanes.next(connection, now, target, lane)
      }),
    release: async ({ seq, token: own }) => {
      await driver.transaction((connection) => leases.settle(connection, own, '', [], target, seq))
    },
  }
}

/** Makes the first untried delivery of each lane due, where the one before it was deleted. */
export async function promoteAll(connection: Connection, now: number): Promise<void> {
  const sql = `UPDATE forwards SET next_at = ? WHERE state = 'waiting' AND next_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM forwards AS before WHERE before.target = forwards.target AND before.lane = forwards.lane
      AND before.state = 'waiting' AND before.attempts = 0 AND before.seq < forwards.seq)`
  await connection.run(sql, now)
}
