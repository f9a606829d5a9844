import { dayMs, isoDay } from '../../api/values/dates.js'
import {
  type Connection,
  type Driver,
  insertInto,
  perDialect,
  readNumber,
} from '../../storage/driver/connection.js'
import { endIn, freeIn, leasesOf } from '../../storage/queue.js'
import { column, type RecordOf, RecordTable } from './record-table.js'

/** A data vendor of a workspace. Its key is not stored here. */
const providerTable = new RecordTable('providers', {
  workspaceId: column.text,
  name: column.text,
  createdAt: column.number,
  /** When the next call may begin, in microseconds of real time. */
  nextAt: column.number,
  /** Until when it is not asked, such as without credits. */
  pausedUntil: column.number,
  pausedBy: column.maybeText,
  /** Its file. */
  definition: column.json<unknown>(),
  /** Networks (CIDR) that its address may be in, over http too. */
  allow: column.json<readonly string[]>(),
  enabled: column.boolean,
})
export type StoredProvider = RecordOf<typeof providerTable>

/** In which order the providers of a kind are asked: of all, or of those that a condition is true of. */
const orderTable = new RecordTable('provider_orders', {
  workspaceId: column.text,
  kind: column.text,
  /** Empty where the order is for all. */
  condition: column.text,
  createdAt: column.number,
  names: column.json<readonly string[]>(),
})
export type ProviderOrder = RecordOf<typeof orderTable>

/** The state of a call: under way, accepted by the vendor, or ended. */
type ProviderCallState = 'asked' | 'submitted' | 'found' | 'not_found' | 'unknown' | 'failed'

/** What a provider was asked about someone, and what came of it. */
const callTable = new RecordTable('provider_calls', {
  workspaceId: column.text,
  provider: column.text,
  kind: column.text,
  /** Hash of what it was asked. */
  identity: column.text,
  attempt: column.number,
  state: column.word<ProviderCallState>(),
  /** The vendor's id of accepted work. */
  vendorId: column.maybeText,
  /** Where it stands among the rows of one request, and how many these are. */
  place: column.number,
  ofRows: column.number,
  error: column.maybeText,
  /** The unguessable end of the address that its answer is sent to; null where it is polled only. */
  webhook: column.maybeText,
  /** The kind whose request served it, too; null for a request of its own. */
  sentAs: column.maybeText,
  /** Millionths of the provider's credits, as of all amounts here. */
  cost: column.number,
  /** The most that it may cost, while that is not known. */
  reserved: column.number,
  memberId: column.text,
  run: column.text,
  askedAt: column.number,
  answeredAt: column.maybeNumber,
  leaseUntil: column.number,
  /** What it was asked. */
  subject: column.json<unknown>(),
  answer: column.json<unknown>(),
  /** What arrived by its webhook, until it is read. */
  delivery: column.json<unknown>(),
})
export type ProviderCall = RecordOf<typeof callTable>

/** The providers of a workspace, in the order of their addition. */
export const listProviders = (tx: Connection, workspaceId: string) =>
  providerTable.all(tx, 'WHERE workspace_id = ? ORDER BY created_at, name', workspaceId)

const enabledSql = 'SELECT name FROM providers WHERE workspace_id = ? AND enabled = 1 LIMIT 1'

/** Whether a workspace has providers that may be asked. Every lookup that nobody has found asks it. */
export const hasProviders = async (store: Pick<Driver, 'find'>, workspaceId: string): Promise<boolean> =>
  (await store.find(enabledSql, workspaceId)) !== undefined

const ofName = 'workspace_id = ? AND name = ?'

/** Adds a provider; one of that name gets the new file. */
export async function putProvider(tx: Connection, provider: StoredProvider): Promise<void> {
  const { definition, allow, enabled, pausedUntil, pausedBy, workspaceId, name } = provider
  const change = { definition, allow, enabled, pausedUntil, pausedBy }
  if ((await providerTable.update(tx, change, ofName, workspaceId, name)) === 0)
    await providerTable.insert(tx, provider)
}

/** Changes a provider; returns whether there is one. */
export const updateProvider = async (
  tx: Connection,
  workspaceId: string,
  name: string,
  change: Partial<Pick<StoredProvider, 'enabled' | 'pausedUntil' | 'pausedBy'>>,
): Promise<boolean> => (await providerTable.update(tx, change, ofName, workspaceId, name)) > 0

/** Removes a provider; what it was asked stays. Returns whether there was one. */
export const dropProvider = async (tx: Connection, workspaceId: string, name: string): Promise<boolean> =>
  (await tx.run(`DELETE FROM providers WHERE ${ofName}`, workspaceId, name)) > 0

const ordersSql = `WHERE workspace_id = ?
  ORDER BY kind, CASE WHEN condition = '' THEN 1 ELSE 0 END, created_at, condition`

/** The orders of a workspace; those with a condition come first, the oldest before the others. */
export const listOrders = (tx: Connection, workspaceId: string) => orderTable.all(tx, ordersSql, workspaceId)

/** Sets an order in place of the one with the same condition; without names there is none. */
export async function putOrder(tx: Connection, order: ProviderOrder): Promise<void> {
  const { workspaceId, kind, condition, names } = order
  const sql = 'DELETE FROM provider_orders WHERE workspace_id = ? AND kind = ? AND condition = ?'
  await tx.run(sql, workspaceId, kind, condition)
  if (names.length > 0) await orderTable.insert(tx, order)
}

export type CallKey = Pick<ProviderCall, 'workspaceId' | 'provider' | 'kind' | 'identity'>

const ofCall = 'workspace_id = ? AND provider = ? AND kind = ? AND identity = ?'
const keyOf = ({ workspaceId, provider, kind, identity }: CallKey) =>
  [workspaceId, provider, kind, identity] as const

/** Returns the last time that a question was asked. */
export const findCall = (tx: Connection, key: CallKey) =>
  callTable.get(tx, `WHERE ${ofCall} ORDER BY attempt DESC LIMIT 1`, ...keyOf(key))

/**
 * Returns what the providers of a workspace were asked until a moment (real time), the oldest first; where words are given,
 * at least what was sent with one of them. Letters beyond ASCII have several spellings, and choose nothing.
 */
export function listCalls(
  tx: Connection,
  workspaceId: string,
  until: number,
  words: readonly string[],
): Promise<ProviderCall[]> {
  const found = words.every((word) => /^[\w.@:/ -]+$/.test(word)) ? words : []
  const like = found.map(() => 'lower(subject) LIKE ?').join(' OR ')
  const sql = `WHERE workspace_id = ? AND asked_at <= ?${like && ` AND (${like})`} ORDER BY asked_at, answered_at, provider, kind`
  const patterns = found.map((word) => `%${word.toLowerCase()}%`)
  return callTable.all(tx, sql, workspaceId, until, ...patterns)
}

/** Records a question before it is sent. It fails where another process has done so. */
export const insertCall = (tx: Connection, call: ProviderCall): Promise<void> => callTable.insert(tx, call)

const ofOpen = `${ofCall} AND attempt = ? AND state IN ('asked', 'submitted', 'unknown')`

/** Changes a call without an answer; one that comes after it was given up counts too. Returns whether there was one. */
export const updateCall = async (
  tx: Connection,
  call: ProviderCall,
  change: Partial<ProviderCall>,
): Promise<boolean> => (await callTable.update(tx, change, ofOpen, ...keyOf(call), call.attempt)) > 0

/** Returns a call that is about to be made: the first about what it asks, and alone in its request, where nothing else is given. */
export const newCall = (
  given: Pick<
    ProviderCall,
    keyof CallKey | 'subject' | 'reserved' | 'memberId' | 'run' | 'askedAt' | 'leaseUntil'
  > &
    Partial<ProviderCall>,
): ProviderCall => ({
  attempt: 1,
  state: 'asked',
  vendorId: null,
  place: 0,
  ofRows: 1,
  answer: null,
  error: null,
  webhook: null,
  delivery: null,
  sentAs: null,
  cost: 0,
  answeredAt: null,
  ...given,
})

const endSql = perDialect(({ now }) => `SELECT ${now} + CAST(? AS BIGINT)`)

/** Returns when a lease that begins now and is so long ends, by the clock of the database. */
export const leaseEnd = (tx: Connection, ms: number): Promise<number> => readNumber(tx, endSql(tx), ms)

const heldSql = perDialect(
  ({ now }) => `${ofCall} AND attempt = ? AND state = 'asked' AND lease_until > ${now} + CAST(? AS BIGINT)`,
)

/** Whether whoever asks a question has its lease, for so long at least. */
export const isHeld = async (tx: Connection, call: ProviderCall, ms = 0): Promise<boolean> =>
  (await callTable.count(tx, heldSql(tx), ...keyOf(call), call.attempt, ms)) > 0

/** Forgets a question that the vendor did not take. */
export const dropCall = (tx: Connection, call: ProviderCall) =>
  tx.run(`DELETE FROM provider_calls WHERE ${ofOpen}`, ...keyOf(call), call.attempt)

/** Returns the calls of the request whose answer is sent to an address with this end; the one that it is kept with comes first. */
export const listCallsOf = (tx: Connection, webhook: string) =>
  callTable.all(tx, 'WHERE webhook = ? ORDER BY sent_as IS NOT NULL, place, kind, attempt', webhook)

/** Returns what arrived for a request; null where nothing has. */
export const findDelivery = async (tx: Connection, webhook: string): Promise<unknown> =>
  (await callTable.get(tx, 'WHERE webhook = ? AND delivery IS NOT NULL LIMIT 1', webhook))?.delivery ?? null

const readSql = `UPDATE provider_calls SET delivery = NULL WHERE webhook = ? AND delivery IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM provider_calls AS others WHERE others.webhook = ? AND others.state IN ('asked', 'submitted', 'unknown'))`

/** Forgets what arrived for a request when it was read for each of its rows. */
export const dropDelivery = (tx: Connection, webhook: string) => tx.run(readSql, webhook, webhook)

const listenersLease = leasesOf({ table: 'provider_listeners', key: ['address'] })

const listenSql = perDialect(
  (dialect) => `INSERT INTO provider_listeners (address, token, lease_until) VALUES (?, ?, ${endIn(dialect)})
    ON CONFLICT (address) DO UPDATE SET token = excluded.token, lease_until = excluded.lease_until`,
)

/** Records for so long that vendors reach a program at an address; whoever was there before it is gone. */
export const putListener = (tx: Connection, address: string, token: string, ms: number) =>
  tx.run(listenSql(tx), address, token, ms)

/** Extends that, and returns whether it is still there. */
export const extendListener = (tx: Connection, address: string, token: string, ms: number) =>
  listenersLease.extend(tx, token, ms, address)

/** Records that vendors reach nobody there any more. */
export const dropListener = (tx: Connection, address: string, token: string) =>
  listenersLease.settle(tx, token, '', [], address)

const addressSql = perDialect(
  (dialect) => `SELECT address FROM provider_listeners WHERE NOT ${freeIn(dialect)}
    ORDER BY lease_until DESC, address LIMIT 1`,
)

/** Returns where vendors reach a program now; `undefined` where they reach none. */
export const listenerAddress = async (tx: Connection, leaseMs: number): Promise<string | undefined> =>
  (await tx.get<{ address: string }>(addressSql(tx), leaseMs))?.address

const inFlight = perDialect(
  ({ now }) => `workspace_id = ? AND provider = ? AND state = 'asked' AND lease_until > ${now} AND place = 0
  AND sent_as IS NULL`,
)

/** How many requests to a provider are in flight in all processes. */
export const countInFlight = async (tx: Connection, workspaceId: string, provider: string) =>
  callTable.count(tx, inFlight(tx), workspaceId, provider)

/** Takes the next moment at which a call may begin, in microseconds; those that follow begin `intervalUs` later. */
export async function takeSlot(
  tx: Connection,
  workspaceId: string,
  name: string,
  nowUs: number,
  intervalUs: number,
): Promise<number> {
  const set = 'UPDATE providers SET next_at = CASE WHEN next_at > ? THEN next_at ELSE ? END + ?'
  await tx.run(`${set} WHERE ${ofName}`, nowUs, nowUs, intervalUs, workspaceId, name)
  const sql = `SELECT next_at FROM providers WHERE ${ofName}`
  return (await readNumber(tx, sql, workspaceId, name)) - intervalUs
}

const postponeSql = `UPDATE providers SET next_at = ? WHERE ${ofName} AND next_at < ?`

/** Lets the next call begin no earlier than a moment in microseconds. */
export const postpone = async (tx: Connection, workspaceId: string, name: string, untilUs: number) =>
  tx.run(postponeSql, untilUs, workspaceId, name, untilUs)

const budgetInsert = insertInto(
  'provider_budgets',
  ['workspace_id', 'run', 'provider', 'spent'],
  'ON CONFLICT DO NOTHING',
)

const spentSql = `SELECT coalesce(sum(spent), 0) FROM provider_budgets
  WHERE workspace_id = ? AND provider = ? AND run >= ? AND run <= ?`
const latestSql = `SELECT max(run) AS run FROM provider_budgets
  WHERE workspace_id = ? AND provider = ? AND run >= ? AND run <= ?`

/** The budget of a day has those of the days to come in it: when the clock has gone back, what was spent on them is spent. */
const lastOf = (run: string): string => (run.startsWith('day ') ? 'day 9999' : run)

/** Returns what a run, or a day, costs at a provider so far. */
export const readSpent = (
  tx: Connection,
  { workspaceId, run, provider }: Pick<ProviderCall, 'workspaceId' | 'run' | 'provider'>,
): Promise<number> => readNumber(tx, spentSql, workspaceId, provider, run, lastOf(run))

/** Adds to what a run, or a day, costs at a provider, unless that would be more than `most`. Returns whether it was added. */
export async function spendBudget(
  tx: Connection,
  { workspaceId, run, provider }: Pick<ProviderCall, 'workspaceId' | 'run' | 'provider'>,
  amount: number,
  most = Number.MAX_SAFE_INTEGER,
): Promise<boolean> {
  if ((await readSpent(tx, { workspaceId, run, provider })) + amount > most) return false
  // What is given back goes to its own day.
  const latest =
    amount > 0
      ? await tx.get<{ run: string | null }>(latestSql, workspaceId, provider, run, lastOf(run))
      : undefined
  const booked = latest?.run ?? run
  await tx.run(budgetInsert.sql, workspaceId, booked, provider, 0)
  const sql =
    'UPDATE provider_budgets SET spent = spent + ? WHERE workspace_id = ? AND run = ? AND provider = ?'
  await tx.run(sql, amount, workspaceId, booked, provider)
  return true
}

const carrySql = `INSERT INTO provider_budgets (workspace_id, run, provider, spent)
  SELECT workspace_id, ?, provider, spent FROM provider_budgets WHERE workspace_id = ? AND run = ? ON CONFLICT DO NOTHING`

/** Has a run begin with what another one has spent. */
export const carryBudget = async (
  tx: Connection,
  workspaceId: string,
  from: string,
  to: string,
): Promise<void> => void (await tx.run(carrySql, to, workspaceId, from))

const newestCalls = `(SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY provider, kind ORDER BY asked_at DESC) AS age
      FROM provider_calls WHERE workspace_id = ?) AS calls WHERE age <= ?) AS newest`

const groupings = {
  provider: "''",
  day: `asked_at / ${dayMs}`,
  member: "coalesce((SELECT email FROM members WHERE id = member_id), '')",
  run: 'run',
} as const

const toDay = (day: string | number) => isoDay(Number(day) * dayMs)

export interface CallSums
  extends Record<'provider' | 'kind' | 'by', string>,
    Record<
      'asked' | 'found' | 'notFound' | 'unknown' | 'failed' | 'cost' | 'atRisk' | 'costFound' | 'ms',
      number
    > {}

const sumOf = (what: string, ...states: ProviderCallState[]) =>
  `sum(CASE WHEN state IN (${states.map((state) => `'${state}'`).join(', ')}) THEN ${what} ELSE 0 END)`

/**
 * Sums what the providers of a workspace were asked in `[from, to)` real time, or the newest of it, so many of each kind at
 * each provider; `atRisk` is what the unknown ones may have cost.
 */
export async function sumCalls(
  tx: Connection,
  workspaceId: string,
  {
    from = 0,
    to = Number.MAX_SAFE_INTEGER,
    by = 'provider' as keyof typeof groupings,
    newest = Number.MAX_SAFE_INTEGER,
  } = {},
) {
  const sql = `SELECT provider, kind, ${groupings[by]} AS "by", count(*) AS asked, ${sumOf('1', 'found')} AS found,
      ${sumOf('1', 'not_found')} AS "notFound", ${sumOf('1', 'unknown')} AS unknown, ${sumOf('1', 'failed')} AS failed,
      sum(cost) AS cost, ${sumOf('reserved', 'unknown', 'asked', 'submitted')} AS "atRisk",
      ${sumOf('cost', 'found')} AS "costFound",
      coalesce(${sumOf('answered_at - asked_at', 'found', 'not_found')}, 0) AS ms
    FROM ${newest === Number.MAX_SAFE_INTEGER ? 'provider_calls' : newestCalls} WHERE workspace_id = ? AND asked_at >= ? AND asked_at < ?
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
  const limit = newest === Number.MAX_SAFE_INTEGER ? [] : [workspaceId, newest]
  const rows = await tx.all<CallSums>(sql, ...limit, workspaceId, from, to)
  return by === 'day' ? rows.map((row) => ({ ...row, by: toDay(row.by) })) : rows
}

interface CallCosts
  extends Record<'provider' | 'operation' | 'run' | 'member', string>,
    Record<'day' | 'calls' | 'cost' | 'at_risk', number> {}

/** What a provider was asked by a member in a run on a day (UTC), and what that cost in its credits, the oldest day first. */
export async function listCosts(tx: Connection, workspaceId: string) {
  const sql = `SELECT ${groupings.day} AS day, provider, kind AS operation, run, ${groupings.member} AS member,
      sum(CASE WHEN sent_as IS NULL THEN 1 ELSE 0 END) AS calls, sum(cost) AS cost,
      ${sumOf('reserved', 'unknown', 'asked', 'submitted')} AS at_risk
    FROM provider_calls WHERE workspace_id = ? GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`
  const rows = await tx.all<CallCosts>(sql, workspaceId)
  return rows.map(({ day, member, cost, at_risk, ...row }) => ({
    day: toDay(day),
    ...row,
    member: member || null,
    cost: cost / 1_000_000,
    at_risk: at_risk / 1_000_000,
  }))
}
