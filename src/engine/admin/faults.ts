import { Refusal } from '../../api/calls/errors.js'
import { areaOf, operations } from '../../api/operations/table.js'
import { nearest } from '../../api/values/nearest.js'
import type { Connection } from '../../storage/driver/connection.js'
import { errorOfFault, faultStatuses } from '../request/faults.js'
import { maxPauseMs } from '../tables/deliveries.js'
import {
  deleteFaults,
  type Fault,
  type FaultRules,
  faultId,
  insertFault,
  listFaults,
} from '../tables/faults.js'
import type { Workspace } from '../tables/members.js'
import { type AdminPorts, emailsOf, inCurrent, memberOf } from './workspaces.js'

export interface WantedFault {
  /** An operation, a group of operations, `all` or `deliveries`. */
  readonly where: string
  /** Email address of the member whose calls it changes; all members without one. */
  readonly member?: string | undefined
  readonly rules: FaultRules
  /** The same seed chooses the same calls. */
  readonly seed?: number | undefined
}

export type ListedFault = Fault & { readonly id: string; readonly member: string | null }

const ofDeliveries = ['lose', 'late', 'double', 'reorder', 'badSignature'] as const
const ofCalls = ['status', 'delay', 'timeout', 'drop', 'truncate', 'garble', 'invalidSession'] as const
const ofStatus = ['code', 'retryAfter', 'network'] as const

export function faultAdmin(ports: AdminPorts) {
  const { reading, writing } = inCurrent(ports)
  const add = async (tx: Connection, workspace: Workspace, now: number, wanted: WantedFault) => {
    const { where, member, rules, seed = 0 } = wanted
    checkFault(where, rules)
    const memberId = member === undefined ? null : (await memberOf(tx, workspace, member)).id
    const fault = { workspaceId: workspace.id, place: where, memberId, rules, seed, createdAt: now }
    return toListed(await insertFault(tx, fault), await emailsOf(tx, workspace))
  }
  return {
    faults: (): Promise<ListedFault[]> =>
      reading(async (tx, workspace) => {
        const emails = await emailsOf(tx, workspace)
        return (await listFaults(tx, workspace.id)).map((fault) => toListed(fault, emails))
      }),
    addFault: (fault: WantedFault) => writing((tx, workspace, now) => add(tx, workspace, now, fault)),
    removeFault: (number: number) => writing(async (tx, { id }) => (await deleteFaults(tx, id, number)) > 0),
    /** Returns how many faults there were. */
    clearFaults: (): Promise<number> => writing((tx, { id }) => deleteFaults(tx, id)),
    /** Puts faults in place of those that there are. */
    applyFaults: (faults: readonly WantedFault[]): Promise<ListedFault[]> =>
      writing(async (tx, workspace, now) => {
        await deleteFaults(tx, workspace.id)
        const added: ListedFault[] = []
        for (const fault of faults) added.push(await add(tx, workspace, now, fault))
        return added
      }),
  }
}

const toListed = (fault: Fault, emails: ReadonlyMap<string, string>): ListedFault => ({
  ...fault,
  id: faultId(fault),
  member: fault.memberId === null ? null : (emails.get(fault.memberId) ?? fault.memberId),
})

/** Throws a Refusal for a fault that could never happen, or that is two. */
function checkFault(where: string, rules: FaultRules): void {
  const ids = operations().map(({ id }) => id)
  const places = ['all', 'deliveries', ...new Set(ids.map(areaOf)), ...ids]
  if (!places.includes(where))
    throw new Refusal('engine.fault_where', { where, near: nearest(where, places) })
  const has = (name: keyof FaultRules) => rules[name] !== undefined
  const isDelivery = where === 'deliveries'
  const [misplaced] = (isDelivery ? ofCalls : ofDeliveries).filter(has)
  if (misplaced) throw new Refusal('engine.fault_place', { option: misplaced, isDelivery })
  const [what, other] = [...ofCalls, ...ofDeliveries].filter(has)
  if (!what) throw new Refusal('engine.fault_empty', { isDelivery })
  if (other) throw new Refusal('engine.fault_double', { what, other })
  const [loose] = ofStatus.filter(has)
  if (loose && what !== 'status') throw new Refusal('engine.fault_without_status', { option: loose })
  const { status, code, late = 0 } = rules
  if (what === 'status' && !errorOfFault(rules))
    throw new Refusal('engine.fault_status', {
      status,
      code,
      network: rules.network,
      statuses: faultStatuses,
    })
  if (late > maxPauseMs) throw new Refusal('engine.fault_late')
}
