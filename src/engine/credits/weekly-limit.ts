import type { Connection } from '../../storage/driver/connection.js'
import { type CounterState, countedAt } from '../clock.js'
import { countersNamed, dropCounter, readCounter, setCounter } from '../tables/counters.js'
import { readHeldBy } from '../tables/jobs.js'
import { type Member, readWeeklyLimit } from '../tables/members.js'
import { readConsumed } from './ledger.js'

/** The part of a member that counting needs; with `server`, the credits of that server are counted, in real time. */
type WeeklySpender = Pick<Member, 'id' | 'workspaceId'> & { readonly server?: string }

/** Returns the owner and the name of a counter. Those of servers are not affected when the engine's clock goes back. */
const counterOf = ({ id, server }: WeeklySpender): readonly [owner: string, name: string] =>
  server === undefined ? [`member:${id}`, 'weekly_credits'] : [serverOwner + server, serverCounter(id)]

const serverOwner = 'server:'
const serverCounter = (id: string): string => `weekly_credits ${id}`

/**
 * Returns the week of a member and the credits spent in it. It begins on Monday, 00:00 UTC. For this engine the counter exists
 * only while the member has a weekly limit; without one the ledger is summed.
 */
export async function readWeek(tx: Connection, member: WeeklySpender, now: number): Promise<CounterState> {
  const counter = await readCounter(tx, ...counterOf(member))
  const week = countedAt(counter, { period: 'week' }, now)
  if (counter || member.server !== undefined) return week
  const spent = await readConsumed(tx, member.workspaceId, week.started_at, week.resetsAt, member.id)
  return { ...week, count: spent }
}

export const readSpentThisWeek = async (
  tx: Connection,
  member: WeeklySpender,
  now: number,
): Promise<number> => (await readWeek(tx, member, now)).count

/** Returns what a member has spent this week at each server; `now` is real time. */
export async function readSpentAtServers(tx: Connection, { id }: Pick<Member, 'id'>, now: number) {
  const counters = await countersNamed(tx, serverCounter(id))
  return counters.flatMap(({ owner, ...counter }) => {
    const { count: spent } = countedAt(counter, { period: 'week' }, now)
    return spent === 0 ? [] : [{ server: owner.slice(serverOwner.length), spent }]
  })
}

/** Returns the credits a member can still spend this week; held credits count as spent, those at servers in their counter. */
export async function readAllowance(tx: Connection, member: WeeklySpender, weeklyLimit: number, now: number) {
  const held = member.server === undefined ? await readHeldBy(tx, member.id) : 0
  const taken = (await readSpentThisWeek(tx, member, now)) + held
  return Math.max(0, weeklyLimit - taken)
}

/** What a member can still spend this week; what is held for accepted work counts as spent. */
export type WeekLeft = Readonly<Record<'limit' | 'spent' | 'held' | 'left' | 'resetsAt', number>>

/** Returns what a member can still spend this week; null without a limit. With `server` it is that of this server, in real time. */
export async function readWeekLeft(
  tx: Connection,
  member: WeeklySpender & Pick<Member, 'weeklyLimit'>,
  now: number,
): Promise<WeekLeft | null> {
  const { weeklyLimit: limit } = member
  if (limit === null) return null
  const { count: spent, resetsAt } = await readWeek(tx, member, now)
  const held = member.server === undefined ? await readHeldBy(tx, member.id) : 0
  return { limit, spent, held, left: Math.max(0, limit - spent - held), resetsAt }
}

/** Returns the week of a member as the API reports it. */
export const reportWeek = (week: WeekLeft | null) => {
  if (!week) return null
  const { resetsAt, ...amounts } = week
  return { ...amounts, resets_at: new Date(resetsAt).toISOString() }
}

/** Returns the allowance by the limit as it is now, which may differ from when the request began; `undefined` without a limit. */
export async function readAllowanceNow(tx: Connection, member: WeeklySpender, now: number) {
  const limit = await readWeeklyLimit(tx, member.id)
  return limit === null ? undefined : await readAllowance(tx, member, limit, now)
}

/** Adds credits to the weekly counter of a member; below 0, they are given back. */
export async function countSpending(tx: Connection, member: WeeklySpender, credits: number, now: number) {
  const { started_at: startedAt, count } = await readWeek(tx, member, now)
  await setCounter(tx, ...counterOf(member), { started_at: startedAt, count: Math.max(0, count + credits) })
}

/** Deletes the weekly counter, as when the limit changes. The next charge sums the ledger again. */
export const forgetSpending = (tx: Connection, member: WeeklySpender) => dropCounter(tx, ...counterOf(member))
