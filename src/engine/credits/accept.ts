import { operationOn } from '../../api/operations/plans.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import { type EventKind, eventOf } from '../../api/webhooks/events.js'
import type { Connection } from '../../storage/driver/connection.js'
import { type AsyncJob, type Enrichment, insertJob, notBegun } from '../tables/jobs.js'
import { insertList, type NewList } from '../tables/lists.js'
import type { Principal } from '../tables/members.js'
import { type Bill, holdCredits } from './charge.js'
import { costOf, type Used } from './cost.js'

/** Work to accept, as a handler describes it. */
export interface NewJob
  extends Pick<AsyncJob, 'id' | 'name' | 'plan' | 'expected'>,
    Partial<Pick<AsyncJob, 'streaming'>> {
  /** The most units that it can find and has to pay for. */
  readonly reserve?: Used
  readonly most?: number | undefined
  readonly webhookUrl?: string | undefined
  readonly custom?: AsyncJob['custom'] | undefined
  readonly enrichments?: readonly Enrichment[]
  readonly list?: NewList
}

/** Queues work and holds its highest cost, in the transaction that stores the reply. */
export async function acceptJob(tx: Connection, bill: Bill, work: NewJob, now: number): Promise<void> {
  const row = operationOn(operation(bill.operation as OperationId), bill.workspace.plan)
  const kind = eventOf(row.id)
  if (!kind) throw new Error(`${row.id} starts no work`)
  const held = costOf(row, work.reserve ?? {})
  await holdCredits(tx, { ...bill, credits: held }, work.id, now)
  await insertJob(tx, { ...toJob(bill, row.id, kind, work, now), held }, work.enrichments)
  if (work.list) await insertList(tx, work.list)
}

/** Returns a waterfall that ended while its request waited, as a job to store. */
export const createFinishedJob = (who: Who, operation: OperationId, work: NewJob, now: number): AsyncJob => ({
  ...toJob(who, operation, 'contact_enrichment', work, now),
  state: 'finished',
  finishedAt: now,
  done: work.expected,
  webhookUrl: null,
})

type Who = Pick<Principal, 'workspace' | 'member'>

const toJob = (
  { workspace, member }: Who,
  operation: OperationId,
  kind: EventKind,
  { id, name, plan, expected, streaming = false, custom = null, most, webhookUrl }: NewJob,
  createdAt: number,
): AsyncJob => ({
  ...notBegun,
  id,
  workspaceId: workspace.id,
  memberId: member.id,
  operation,
  kind,
  name,
  plan,
  expected,
  webhookUrl: webhookUrl ?? null,
  streaming,
  custom,
  most: most ?? null,
  createdAt,
})
