import { isListedPlan, type QuotaName } from '../../api/operations/plans.js'
import type { DecodedSearch } from '../../api/ports/ports.js'
import { readVersion } from '../../storage/database/migrate.js'
import { type Connection, portionsOf } from '../../storage/driver/connection.js'
import { settleCounters } from '../clock.js'
import {
  type Consumption,
  type Grouping,
  grantDue,
  listMovements,
  type Movement,
  readBalances,
  readConsumption,
  verifyLedger,
} from '../credits/ledger.js'
import { type QuotaReport, type QuotaState, readQuotas } from '../credits/quotas.js'
import { searchOf } from '../handlers/imports.js'
import { countDeliveries } from '../tables/deliveries.js'
import { countFaults } from '../tables/faults.js'
import { countUnfinishedJobs } from '../tables/jobs.js'
import { listAllMembers, listKeys, listMembers, listWorkspaces } from '../tables/members.js'
import { clockAdmin } from './clock.js'
import { type AdminPorts, emailsOf, inCurrent, memberOf } from './workspaces.js'

/** Selects movements. Times are those of the engine in milliseconds, `from` inclusive and `to` exclusive. */
export interface MovementRange {
  readonly from?: number
  readonly to?: number
  /** Email of the member who caused them. */
  readonly member?: string
  readonly operation?: string
}

const toIso = (at: number) => new Date(at).toISOString()
const pageSize = 1_000

/** A movement as it is printed; `change` is its effect on the balance `credits`. */
export type MovementRecord = ReturnType<typeof toMovementRecord>

/** Returns the id of the member that a range names. Throws a Refusal where there is none. */
const readMemberId = async (tx: Connection, id: string, email: string | undefined) =>
  email === undefined ? undefined : (await memberOf(tx, { id }, email, listAllMembers)).id

function toMovementRecord(movement: Movement, emails: ReadonlyMap<string, string>) {
  const { seq, created_at: createdAt, kind, debit, credit, amount, credits, held, spent } = movement
  const { member_id: memberId, operation, reference } = movement
  return {
    seq,
    created_at: toIso(createdAt),
    kind,
    debit,
    credit,
    amount,
    change: credit === 'credits' ? amount : debit === 'credits' ? -amount : 0,
    credits,
    held,
    spent,
    member: memberId === null ? null : (emails.get(memberId) ?? memberId),
    operation,
    reference,
  }
}

export function reportAdmin(ports: AdminPorts) {
  const { store } = ports
  const { reading } = inCurrent(ports)
  const used = () => reading((_, workspace) => workspace)
  return {
    status: () => readStatus(ports),
    /** Yields the movements of the workspace in use, oldest first. */
    ledger: async function* ({
      from = 0,
      to = Number.MAX_SAFE_INTEGER,
      member: email,
    }: MovementRange = {}): AsyncGenerator<MovementRecord> {
      const workspace = await used()
      const member = await store.read((tx) => readMemberId(tx, workspace.id, email))
      const emails = await store.read((tx) => emailsOf(tx, workspace))
      const read = (last?: Movement) =>
        store.read((tx) => listMovements(tx, workspace.id, last?.seq ?? 0, pageSize))
      for await (const page of portionsOf(pageSize, read))
        for (const movement of page)
          if (
            movement.created_at >= from &&
            movement.created_at < to &&
            (member === undefined || movement.member_id === member)
          )
            yield toMovementRecord(movement, emails)
    },
    /** Returns at most `limit` movements before a number, newest first. Their numbers have no gaps. */
    movementsBefore: (before: number | undefined, limit: number): Promise<readonly MovementRecord[]> =>
      reading(async (tx, workspace) => {
        const last = (await readBalances(tx, workspace.id)).seq
        const end = Math.min(before ?? last + 1, last + 1)
        const start = Math.max(0, end - 1 - limit)
        const emails = await emailsOf(tx, workspace)
        const page = await listMovements(tx, workspace.id, start, Math.max(0, end - 1 - start))
        return page.map((movement) => toMovementRecord(movement, emails)).reverse()
      }),
    consumption: (range: MovementRange, by: readonly Grouping[]): Promise<readonly Consumption[]> =>
      reading(async (tx, { id }) => {
        const member = await readMemberId(tx, id, range.member)
        return readConsumption(tx, id, { ...range, member }, by)
      }),
    /** Returns a search with the companies of its account lists. Throws 422 for a list that is unknown or incomplete. */
    resolveSearch: (search: DecodedSearch) => reading((tx, { id }) => searchOf(tx, id, search)),
    /** Recomputes the ledger of every workspace. */
    verify: async () => {
      const problems: string[] = []
      let movements = 0
      for (const { id, name } of await store.read((tx) => listWorkspaces(tx))) {
        const verdict = await verifyLedger(store, id)
        movements += verdict.movements
        problems.push(...verdict.problems.map((problem) => `${name}: ${problem}`))
      }
      return { ok: problems.length === 0, movements, problems: problems as readonly string[] }
    },
  }
}

async function readStatus(ports: AdminPorts) {
  const { store } = ports
  const { reading } = inCurrent(ports)
  const [found, foundAt] = await reading((_, workspace, now) => [workspace, now] as const)
  await grantDue(store, found, foundAt)
  await settleCounters(store, foundAt)
  const time = await clockAdmin(ports).clock()
  return await reading(async (tx, workspace, now) => {
    const { credits, held } = await readBalances(tx, workspace.id)
    return {
      workspace: { id: workspace.id, name: workspace.name },
      plan: workspace.plan,
      plan_listed: isListedPlan(workspace.plan),
      credits: { enrichment: credits, held },
      next_allocation_at: toIso(workspace.nextAllocationAt),
      quotas: formatQuotas(await readQuotas(tx, workspace, now)),
      members: (await listMembers(tx, workspace.id)).length,
      keys: (await listKeys(tx, workspace.id)).filter(({ revokedAt }) => revokedAt === null).length,
      jobs: await countUnfinishedJobs(tx, workspace.id),
      deliveries: await countDeliveries(tx, workspace.id),
      sessions: { network: workspace.networkSession, premium: workspace.premiumSession },
      faults: await countFaults(tx, workspace.id),
      clock: { now: toIso(time.now), frozen: time.frozen, offset_seconds: Math.round(time.offsetMs / 1_000) },
      schema_version: await readVersion(tx),
    }
  })
}

const formatQuotas = (report: QuotaReport) =>
  Object.fromEntries(
    Object.entries(report).map(([name, { resetsAt, ...quota }]) => [
      name,
      { ...quota, resets_at: toIso(resetsAt) },
    ]),
  ) as Record<QuotaName, Omit<QuotaState, 'resetsAt'> & { readonly resets_at: string }>
