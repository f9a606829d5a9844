import type { ErrorCode } from '../../api/calls/errors.js'
import { digestOf } from '../../api/values/digest.js'
import type { Connection } from '../../storage/driver/connection.js'
import { column, type RecordOf, RecordTable } from './record-table.js'

/** What goes wrong, and when: durations in milliseconds of engine time, except the delay of an answer. */
export interface FaultRules {
  /** Refuses the call with a status of the error table, and an error of it that is not the usual one. */
  readonly status?: number | undefined
  readonly code?: ErrorCode | undefined
  /** Seconds. */
  readonly retryAfter?: number | undefined
  /** Refuses as the network behind the service does. */
  readonly network?: boolean | undefined
  readonly invalidSession?: boolean | undefined
  /** Answers late, in real time: the client waits in real time, too. */
  readonly delay?: number | undefined
  /** Loses the request before the work, or the answer after it. */
  readonly drop?: 'before' | 'after' | undefined
  /** Does the work and never answers; answers with half of the body, or with something that is not JSON. */
  readonly timeout?: boolean | undefined
  readonly truncate?: boolean | undefined
  readonly garble?: boolean | undefined
  /** Of deliveries. */
  readonly lose?: boolean | undefined
  readonly late?: number | undefined
  readonly double?: boolean | undefined
  readonly reorder?: boolean | undefined
  readonly badSignature?: boolean | undefined
  /** The share of the matching calls, every how manieth, how often at most, and for how long. */
  readonly rate?: number | undefined
  readonly nth?: number | undefined
  readonly count?: number | undefined
  readonly for?: number | undefined
}

/** A fault on demand, and how often it has fired. */
const faultTable = new RecordTable('faults', {
  workspaceId: column.text,
  /** Part of its id; the first fault of a workspace is 1. */
  number: column.number,
  /** An operation, a group of operations, `all` or `deliveries`. */
  place: column.text,
  /** Null for the calls of every member. */
  memberId: column.maybeText,
  seed: column.number,
  /** Calls that matched since the fault was added, and those that it changed. */
  matched: column.number,
  fired: column.number,
  /** Engine time. */
  createdAt: column.number,
  rules: column.json<FaultRules>(),
})
export type Fault = RecordOf<typeof faultTable>

/** A call or delivery that faults may change. */
interface FaultTarget {
  readonly workspaceId: string
  readonly memberId: string
  readonly places: readonly string[]
  /** Whether a fault could change it: a session is needed, another delivery follows. */
  readonly permits: (rules: FaultRules) => boolean
}

/** Returns the id of a fault, as commands and the header of a changed response name it. */
export const faultId = ({ number }: Pick<Fault, 'number'>): string => `f${number}`

/** Says which faults are set, for somebody who wonders why calls fail. */
export const describeFaults = (faults: readonly Pick<Fault, 'number' | 'place'>[]): string =>
  `Faults are set, so that calls or deliveries fail: ${faults.map((fault) => `${faultId(fault)} (${fault.place})`).join(', ')}.`

export const listFaults = (tx: Connection, workspaceId: string) =>
  faultTable.all(tx, 'WHERE workspace_id = ? ORDER BY number', workspaceId)

export const countFaults = (tx: Connection, workspaceId: string): Promise<number> =>
  faultTable.count(tx, 'workspace_id = ?', workspaceId)

/** Adds a fault behind the others of its workspace. */
export async function insertFault(
  tx: Connection,
  given: Pick<Fault, 'workspaceId' | 'place' | 'memberId' | 'rules' | 'seed' | 'createdAt'>,
): Promise<Fault> {
  const last = (await listFaults(tx, given.workspaceId)).at(-1)
  const fault = { ...given, number: (last?.number ?? 0) + 1, matched: 0, fired: 0 }
  await faultTable.insert(tx, fault)
  return fault
}

/** Removes the fault with a number, or all faults of a workspace. Returns how many there were. */
export const deleteFaults = async (tx: Connection, workspaceId: string, number?: number): Promise<number> =>
  number === undefined
    ? tx.run('DELETE FROM faults WHERE workspace_id = ?', workspaceId)
    : tx.run('DELETE FROM faults WHERE workspace_id = ? AND number = ?', workspaceId, number)

/**
 * Counts a call for every fault that matches it, and returns those that change it: the delays, and the first of the others.
 * Which call a fault changes depends on the seed and on how many have matched, and on nothing else.
 */
export async function takeFaults(tx: Connection, target: FaultTarget, now: number): Promise<Fault[]> {
  const { workspaceId, memberId, places, permits } = target
  const taken: Fault[] = []
  let isChanged = false
  for (const fault of await listFaults(tx, workspaceId)) {
    const { rules, number, createdAt } = fault
    const isOver = now >= createdAt + (rules.for ?? Number.POSITIVE_INFINITY) || fault.fired === rules.count
    if (isOver || !places.includes(fault.place) || !permits(rules)) continue
    if (fault.memberId !== null && fault.memberId !== memberId) continue
    const matched = fault.matched + 1
    const isDelay = rules.delay !== undefined
    const fires = isDue({ ...fault, matched }) && (isDelay || !isChanged)
    const change = { matched, fired: fault.fired + (fires ? 1 : 0) }
    await faultTable.update(tx, change, 'workspace_id = ? AND number = ?', workspaceId, number)
    if (!fires) continue
    taken.push(fault)
    isChanged ||= !isDelay
  }
  return taken
}

function isDue({ number, rules: { rate = 1, nth = 1 }, seed, matched }: Fault): boolean {
  if (matched % nth > 0 || rate >= 1) return matched % nth === 0
  const digest = digestOf(`${seed} ${number} ${matched}`)
  return digest.readUInt32BE() < rate * 2 ** 32
}
