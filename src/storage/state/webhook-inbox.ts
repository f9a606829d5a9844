import type { Inbox, Outbox, Passed, ReceivedDelivery } from '../../http/inbox.js'
import { type Connection, type Driver, joinGiven, type Value } from '../driver/connection.js'
import {
  enqueue,
  type Forwarding,
  forwardingsOf,
  outboxOver,
  promoteAll,
  recordForward,
  waitingTargets,
} from './forwarding.js'

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

/** The received events of this machine. */
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
    waitingTargets: (prefix: string) => driver.read((connection) => waitingTargets(connection, prefix)),
    /** Records an event that was forwarded by hand. */
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
          ...[before, now - rememberedMs],
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

async function keep(
  connection: Connection,
  delivery: ReceivedDelivery,
  forwardTo?: string,
): Promise<boolean> {
  const { id, path, receivedAt, event, search, verified, headers, body } = delivery
  await connection.run('DELETE FROM gone_events WHERE received_at < ?', receivedAt - rememberedMs)
  const row = await connection.get<{ seq: number }>(
    `INSERT INTO events (path, id, received_at, event, search, verified, headers, body)
     SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM gone_events WHERE id = ? AND path = ?)
     ON CONFLICT DO NOTHING RETURNING seq`,
    ...[path, id, receivedAt, event, search, verified ? 1 : 0, JSON.stringify(headers), body, id, path],
  )
  if (row && forwardTo !== undefined)
    await enqueue(connection, forwardTo, row.seq, laneOf(search, row.seq), receivedAt)
  return row !== undefined
}

interface ListedRow extends Omit<ListedEvent, 'verified'> {
  readonly verified: number
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
  const rows = await connection.all<ListedRow>(
    `SELECT seq, id, received_at AS receivedAt, event, search, verified, octet_length(body) AS bytes, (
       SELECT state FROM forwards WHERE forwards.seq = events.seq
       ORDER BY state = 'failed' DESC, state = 'waiting' DESC LIMIT 1) AS forwarded
     FROM events WHERE ${event === undefined ? 'TRUE' : isNamed}${where} ORDER BY seq ${direction} LIMIT ?`,
    ...[...names, ...values, limit],
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
