import type { Inbox, Outbox, Passed, ReceivedDelivery } from '../../api/webhooks/events.js'
import { type Connection, type Driver, joinGiven, type Value } from '../driver/connection.js'

/** How long a deleted delivery is remembered: longer than our own sender retries (28 hours). */
export const rememberedMs = 80 * 3_600_000

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

/** A kept delivery as it is read by the command that it came for. */
export interface Arrived extends Pick<ReceivedDelivery, 'event' | 'body'> {
  readonly seq: number
}

/** Selects deliveries; all of them without a field. */
export interface EventFilter {
  /** A whole name, or one of its halves: `lead_search`, `completed`. */
  readonly event?: string
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
  const cleanOne = async (event: KeptEvent | undefined) => event && clean(event)
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
    list: (filter: EventFilter, order: 'newest' | 'oldest', limit: number, after?: number) =>
      driver.read((connection) => list(connection, filter, order, limit, after)),
    /** Returns an event by its id; the newest where several addresses got one with the same id. */
    find: (id: string) =>
      driver.read((connection) => one(connection, 'id = ? ORDER BY seq DESC LIMIT 1', id)).then(cleanOne),
    /** Returns ids that begin so, those of the newest events first. */
    idsStartingWith: (prefix: string, limit: number) => startingWith(driver, 'id', prefix, limit),
    /** Returns the ids of searches, imports, lists and enrichments that begin so, those of the newest events first. */
    searchesStartingWith: (prefix: string, limit: number) => startingWith(driver, 'search', prefix, limit),
    at: (seq: number) => driver.read((connection) => one(connection, 'seq = ?', seq)).then(cleanOne),
    /** Returns deliveries to a path behind the number `after`, in the order of arrival, at most `limit`. */
    arrived: async (path: string, after: number, limit: number): Promise<readonly Arrived[]> => {
      const sql = 'SELECT seq, event, body FROM events WHERE path = ? AND seq > ? ORDER BY seq LIMIT ?'
      const found = await driver.read((connection) => connection.all<Arrived>(sql, path, after, limit))
      return Promise.all(found.map((one) => clean({ ...one, headers: {} })))
    },
    outbox: (target: string): Outbox => {
      const outbox = outboxOver(driver, target)
      return {
        ...outbox,
        take: async (...given) =>
          Promise.all(
            (await outbox.take(...given)).map(async (forward) => ({
              ...forward,
              delivery: await clean(forward.delivery),
            })),
          ),
      }
    },
    /** Returns the targets with waiting deliveries whose names begin with `prefix`. */
    waitingTargets: async (prefix: string): Promise<string[]> => {
      const sql = `SELECT DISTINCT target FROM forwards WHERE state = 'waiting' AND substr(target, 1, length(?)) = ?`
      const rows = await driver.read((connection) => connection.all<{ target: string }>(sql, prefix, prefix))
      return rows.map(({ target }) => target)
    },
    noteForward: (event: Pick<KeptEvent, 'seq' | 'search'>, target: string, passed: Passed, now: number) =>
      driver.transaction((connection) =>
        recordForward(connection, target, event.seq, laneOf(event.search, event.seq), passed, now),
      ),
    /** Returns the path of this machine's receiver, the same at every start; `fresh` where there is none yet. */
    token: (fresh: string) =>
      driver.transaction(async (connection) => {
        await connection.run(
          'INSERT INTO receiver_path (id, token) VALUES (1, ?) ON CONFLICT DO NOTHING',
          fresh,
        )
        return (await connection.get<{ token: string }>('SELECT token FROM receiver_path'))?.token ?? fresh
      }),
    /** Deletes events received before a time. Returns how many. Their ids are remembered for 80 hours after arrival. */
    purge: (before: number, now: number) =>
      driver.transaction(async (connection) => {
        await connection.run(
          `INSERT INTO gone_events (id, path, received_at) SELECT id, path, received_at FROM events
           WHERE received_at < ? AND received_at >= ? ON CONFLICT DO NOTHING`,
          before,
          now - rememberedMs,
        )
        const count = await connection.run('DELETE FROM events WHERE received_at < ?', before)
        await promoteAll(connection, now)
        return count
      }),
    close: () => driver.close(),
  } satisfies Inbox & Record<string, unknown>
}

/** Events of one search are forwarded in order; one without a search waits for no other. */
const laneOf = (search: string | null, seq: number): string => search ?? `#${seq}`

async function keep(connection: Connection, delivery: ReceivedDelivery, forwardTo?: string) {
  const { id, path, receivedAt, event, search, verified, headers, body } = delivery
  await connection.run('DELETE FROM gone_events WHERE received_at < ?', receivedAt - rememberedMs)
  const row = await connection.get<{ seq: number }>(
    `INSERT INTO events (path, id, received_at, event, search, verified, headers, body)
     SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM gone_events WHERE id = ? AND path = ?)
     ON CONFLICT DO NOTHING RETURNING seq`,
    path,
    id,
    receivedAt,
    event,
    search,
    verified ? 1 : 0,
    JSON.stringify(headers),
    body,
    id,
    path,
  )
  if (row && forwardTo !== undefined)
    await enqueue(connection, forwardTo, row.seq, laneOf(search, row.seq), receivedAt)
  return row !== undefined
}

async function list(
  connection: Connection,
  { event, search, since, until }: EventFilter,
  order: 'newest' | 'oldest',
  limit: number,
  after: number | undefined,
): Promise<ListedEvent[]> {
  const [behind, direction] = order === 'newest' ? ['<', 'DESC'] : ['>', 'ASC']
  const names: Value[] = event === undefined ? [] : Array(5).fill(event)
  const { where, values } = joinGiven([
    ['search = ?', search],
    ['received_at >= ?', since],
    ['received_at < ?', until],
    [`seq ${behind} ?`, after],
  ])
  const rows = await connection.all<Omit<ListedEvent, 'verified'> & { verified: number }>(
    `SELECT seq, id, received_at AS receivedAt, event, search, verified, octet_length(body) AS bytes, (
       SELECT state FROM forwards WHERE forwards.seq = events.seq
       ORDER BY state = 'failed' DESC, state = 'waiting' DESC LIMIT 1) AS forwarded
     FROM events WHERE ${event === undefined ? 'TRUE' : isNamed}${where} ORDER BY seq ${direction} LIMIT ?`,
    ...names,
    ...values,
    limit,
  )
  return rows.map((row) => ({ ...row, verified: row.verified === 1 }))
}

/** Whether an event has a name, or one of the halves of its name; takes the name five times. */
const isNamed = `(event = ? OR substr(event, 1, length(?) + 1) = ? || '.' OR substr(event, -length(?) - 1) = '.' || ?)`

interface KeptRow extends Omit<ReceivedDelivery, 'verified' | 'headers'> {
  readonly seq: number
  readonly verified: number
  readonly headers: string
}

async function one(connection: Connection, condition: string, value: Value): Promise<KeptEvent | undefined> {
  const row = await connection.get<KeptRow>(
    `SELECT seq, path, id, received_at AS receivedAt, event, search, verified, headers, body
     FROM events WHERE ${condition}`,
    value,
  )
  if (!row) return undefined
  return {
    ...row,
    verified: row.verified === 1,
    headers: JSON.parse(row.headers) as Record<string, string>,
    forwards: await forwardingsOf(connection, row.seq),
  }
}

/** Returns the values of a column that begin so, those of the newest events first. */
async function startingWith(driver: Driver, column: 'id' | 'search', prefix: string, limit: number) {
  const sql = `SELECT ${column} AS found, max(seq) AS seq FROM events WHERE substr(${column}, 1, length(?)) = ?
    GROUP BY ${column} ORDER BY seq DESC LIMIT ?`
  const rows = await driver.read((connection) =>
    connection.all<{ found: string }>(sql, prefix, prefix, limit),
  )
  return rows.map(({ found }) => found)
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

/** Returns the deliveries that wait to be forwarded to a target. */
function outboxOver(driver: Driver, target: string): Outbox {
  const due = `FROM forwards JOIN events USING (seq) WHERE target = ? AND state = 'waiting' AND next_at <= ?`
  const schedule = (connection: Connection, seq: number, at: number) =>
    connection.run(
      `UPDATE forwards SET next_at = ? WHERE target = ? AND seq = ? AND state = 'waiting'`,
      at,
      target,
      seq,
    )
  return {
    take: async (now, limit, leaseMs) => {
      // Asked first: a transaction would keep other processes from writing, many times a minute.
      const isDue = await driver.read((reads) => reads.get(`SELECT 1 ${due} LIMIT 1`, target, now))
      if (!isDue) return []
      return driver.transaction(async (connection) => {
        const sql = `SELECT seq, attempts, headers, body ${due} ORDER BY next_at, seq LIMIT ?`
        const rows = await connection.all<Pick<KeptRow, 'seq' | 'headers' | 'body'> & { attempts: number }>(
          sql,
          target,
          now,
          limit,
        )
        for (const { seq } of rows) await schedule(connection, seq, now + leaseMs)
        return rows.map(({ seq, attempts, headers, body }) => ({
          seq,
          attempts,
          delivery: { headers: JSON.parse(headers) as Record<string, string>, body },
        }))
      })
    },
    settle: ({ seq }, { ok, answer }, now, retryAt) =>
      driver.transaction(async (connection) => {
        const state = ok ? 'delivered' : retryAt === undefined ? 'failed' : 'waiting'
        const row = await connection.get<{ lane: string }>(
          `UPDATE forwards SET state = ?, attempts = attempts + 1, answer = ?, next_at = ?, changed_at = ?
           WHERE target = ? AND seq = ? AND state = 'waiting' RETURNING lane`,
          state,
          answer,
          state === 'waiting' ? (retryAt ?? now) : null,
          now,
          target,
          seq,
        )
        if (row) await promote(connection, target, row.lane, now)
      }),
    release: async ({ seq }, now) => {
      await driver.transaction((connection) => schedule(connection, seq, now))
    },
  }
}

/** Queues a delivery for forwarding, behind the untried ones of its search. */
async function enqueue(
  connection: Connection,
  target: string,
  seq: number,
  lane: string,
  now: number,
): Promise<void> {
  await connection.run(
    `INSERT INTO forwards (target, seq, lane, state, attempts, next_at, changed_at)
     VALUES (?, ?, ?, 'waiting', 0,
       CASE WHEN EXISTS (SELECT 1 FROM forwards
         WHERE target = ? AND lane = ? AND state = 'waiting' AND attempts = 0) THEN NULL ELSE ? END, ?)`,
    target,
    seq,
    lane,
    target,
    lane,
    now,
    now,
  )
}

/** Records a delivery that was forwarded by hand. A failure does not change its state. */
async function recordForward(
  connection: Connection,
  target: string,
  seq: number,
  lane: string,
  passed: Passed,
  now: number,
): Promise<void> {
  await connection.run(
    `INSERT INTO forwards (target, seq, lane, state, attempts, answer, changed_at) VALUES (?, ?, ?, ?, 1, ?, ?)
     ON CONFLICT (target, seq) DO UPDATE SET attempts = attempts + 1, answer = excluded.answer,
       changed_at = excluded.changed_at,
       next_at = CASE WHEN excluded.state = 'delivered' THEN NULL ELSE next_at END,
       state = CASE WHEN excluded.state = 'delivered' THEN 'delivered' ELSE state END`,
    target,
    seq,
    lane,
    passed.ok ? 'delivered' : 'failed',
    passed.answer,
    now,
  )
  await promote(connection, target, lane, now)
}

/** Returns the forwardings of a delivery, one for each address. */
const forwardingsOf = (connection: Connection, seq: number) =>
  connection.all<Forwarding>(
    `SELECT target, state, attempts, answer, changed_at AS at, next_at AS nextAt FROM forwards
     WHERE seq = ? ORDER BY target`,
    seq,
  )

/** Makes the first untried delivery of each lane due, where the one before it was deleted. */
export async function promoteAll(connection: Connection, now: number): Promise<void> {
  await connection.run(
    `UPDATE forwards SET next_at = ? WHERE state = 'waiting' AND next_at IS NULL AND NOT EXISTS (
       SELECT 1 FROM forwards AS before WHERE before.target = forwards.target AND before.lane = forwards.lane
         AND before.state = 'waiting' AND before.attempts = 0 AND before.seq < forwards.seq)`,
    now,
  )
}

/**
 * Makes the first untried delivery of a lane due, unless it is: first attempts are made in order, and a failed one does not
 * delay others.
 */
const promote = (connection: Connection, target: string, lane: string, now: number) =>
  connection.run(
    `UPDATE forwards SET next_at = ? WHERE target = ? AND next_at IS NULL AND seq = (
       SELECT seq FROM forwards WHERE target = ? AND lane = ? AND state = 'waiting' AND attempts = 0
       ORDER BY seq LIMIT 1)`,
    now,
    target,
    target,
    lane,
  )
