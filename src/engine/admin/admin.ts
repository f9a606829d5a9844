import { Refusal } from '../../api/calls/errors.js'
import { planOf, reportedCredits, windowsOn } from '../../api/operations/plans.js'
import { areaOf, operations } from '../../api/operations/table.js'
import { parseExact } from '../../api/values/json.js'
import type { Connection } from '../../storage/driver/connection.js'
import { countedAt, engineTime, settleCounters } from '../clock.js'
import { holdCredits } from '../credits/charge.js'
import { addMovement, grantDue, lockPosition, readBalances } from '../credits/ledger.js'
import { readQuotas } from '../credits/quotas.js'
import {
  forgetSpending,
  readSpentAtServers,
  readSpentThisWeek,
  readWeekLeft,
} from '../credits/weekly-limit.js'
import { personaTable } from '../handlers/personas.js'
import { buildBody } from '../jobs/payloads.js'
import { createAccess, hashKey } from '../request/access.js'
import { readCounter } from '../tables/counters.js'
import {
  type Delivery,
  type DeliveryFilter,
  findDelivery,
  listDeliveries,
  replayDeliveries,
} from '../tables/deliveries.js'
import {
  type AsyncJob,
  findJob,
  insertJob,
  type JobFilter,
  type JobRecord,
  type JobState,
  listEnrichments,
  listJobs,
  listRecords,
  notBegun,
  readFirstHold,
} from '../tables/jobs.js'
import { type ListedCompany, listCompanies } from '../tables/lists.js'
import {
  findPrincipal,
  findWorkspace,
  insertMember,
  listAllMembers,
  listKeys,
  listMembers,
  type Member,
  openSuppressor,
  revokeKey,
  revokeKeysOf,
  updateMember,
  type Workspace,
} from '../tables/members.js'
import { clockAdmin } from './clock.js'
import { faultAdmin } from './faults.js'
import { reportAdmin } from './report.js'
import {
  type AdminPorts,
  addKey,
  checkWhole,
  emailsOf,
  inCurrent,
  memberOf,
  webhookSecretAdmin,
  workspaceAdmin,
} from './workspaces.js'

/** What the owner of an engine can do besides the API. */
export type Admin = ReturnType<typeof createAdmin>

/** Creates the administration over a store. Every change applies to the next request of every process. */
export const createAdmin = (ports: AdminPorts) => ({
  ...workspaceAdmin(ports),
  ...creditAdmin(ports),
  ...memberAdmin(ports),
  ...keyAdmin(ports),
  ...clockAdmin(ports),
  ...faultAdmin(ports),
  ...reportAdmin(ports),
  ...jobAdmin(ports),
  ...webhookSecretAdmin(ports),
  ...limitsAdmin(ports),
  /** Throws while the database can be read but not written. */
  requireWritable: () => ports.store.requireWritable(),
})

/** Changes the balance of the workspace in use; every change is a movement of its ledger. */
function creditAdmin(ports: AdminPorts) {
  return {
    addCredits: async (amount: number) => {
      checkWhole(amount, 'amount', 1)
      return await adjust(ports, 'top_up', () => amount)
    },
    setCredits: async (amount: number) => {
      checkWhole(amount, 'balance')
      return await adjust(ports, 'adjustment', (credits) => amount - credits)
    },
  }
}

async function adjust(
  ports: AdminPorts,
  kind: 'top_up' | 'adjustment',
  difference: (credits: number) => number,
): Promise<{ credits: number }> {
  const { store } = ports
  const { workspace, now } = await inCurrent(ports).reading((_, workspace, now) => ({ workspace, now }))
  await grantDue(store, workspace, now)
  return await store.transaction(async (tx) => {
    const balance = await lockPosition(tx, workspace.id)
    const amount = difference(balance.credits)
    if (amount === 0) return { credits: balance.credits }
    const [debit, credit] = amount > 0 ? (['issued', 'credits'] as const) : (['credits', 'issued'] as const)
    const step = { workspace_id: workspace.id, kind, debit, credit, amount: Math.abs(amount), at: now }
    const { credits } = await addMovement(tx, step, balance)
    return { credits }
  })
}

function jobAdmin(ports: AdminPorts) {
  const { store } = ports
  const { reading, writing } = inCurrent(ports)
  return {
    /** Jobs of the workspace in use, newest first. */
    jobs: (limit: number, state?: JobState): Promise<readonly AsyncJob[]> =>
      reading((tx, { id }) => listJobs(tx, id, state ? { state } : {}, { skip: 0, limit })),
    /** Returns the ids of jobs that begin so, the newest first. */
    jobsStartingWith: (prefix: string, limit: number, filter: JobFilter = {}): Promise<readonly string[]> =>
      reading(async (tx, { id }) => idsOf(await listJobs(tx, id, { ...filter, prefix }, { skip: 0, limit }))),
    /** Returns the ids of all personas, the newest first. */
    personaIds: (): Promise<readonly string[]> =>
      reading(async (tx, { id }) =>
        idsOf(await personaTable.all(tx, 'WHERE workspace_id = ? ORDER BY created_at DESC, id DESC', id)),
      ),
    job: (id: string): Promise<AsyncJob> => reading((tx, workspace) => readJob(tx, workspace.id, id)),
    /** Records of a job after an ordinal, without whom the workspace suppresses. */
    jobRecords: async (id: string, after: number, limit: number): Promise<readonly JobRecord[]> => {
      const { workspaceId } = await reading((tx, workspace) => readJob(tx, workspace.id, id))
      const suppressor = await openSuppressor(store, workspaceId)
      const found: JobRecord[] = []
      for (let last = after; ; ) {
        const page = await store.read((tx) => listRecords(tx, id, { after: last }, limit))
        for (const each of page) {
          const record = suppressor ? await suppressor.delivery(each.record) : each.record
          if (record !== undefined) found.push({ ...each, record })
        }
        if (page.length < limit || found.length >= limit) return found.slice(0, limit)
        last = page.at(-1)?.ordinal ?? last
      }
    },
    /** Companies of a list after an ordinal, with the accounts they were matched to. */
    listed: (id: string, after: number, limit: number): Promise<readonly ListedCompany[]> =>
      reading(async (tx, workspace) => {
        await readJob(tx, workspace.id, id)
        return listCompanies(tx, id, after, limit)
      }),
    /** Queues the work of a failed job again. Returns the new job. */
    retryJob: (id: string) => writing((tx, workspace, now) => retry(ports, tx, workspace, id, now)),
    /** Deliveries of the workspace in use, newest first. */
    deliveries: (filter: DeliveryFilter, limit: number): Promise<readonly Delivery[]> =>
      reading((tx, { id }) => listDeliveries(tx, id, filter, limit)),
    /** Returns the ids of deliveries that begin so, the newest first. */
    deliveriesStartingWith: (prefix: string, limit: number): Promise<readonly string[]> =>
      reading(async (tx, { id }) => idsOf(await listDeliveries(tx, id, { prefix }, limit))),
    /** A delivery with its body, as it would be sent now: null where nothing is left of it. */
    delivery: async (id: string): Promise<Delivery & { readonly body: unknown }> => {
      const [delivery, body] = await reading(async (tx, workspace) => {
        const found = await findDelivery(tx, workspace.id, id)
        if (!found) throw new Refusal('engine.no_delivery', { id })
        return [found, await buildBody(tx, found)]
      })
      const suppressor = await openSuppressor(store, delivery.workspaceId)
      return {
        ...delivery,
        body: parseExact((suppressor ? await suppressor.delivery(body) : body) ?? 'null'),
      }
    },
    /** Makes ended deliveries due again, starting with their first attempt. Returns how many. */
    retryDeliveries: (deliveryIds: readonly string[]): Promise<number> =>
      writing((tx, { id }, now) => replayDeliveries(tx, id, deliveryIds, now)),
  }
}

const idsOf = (all: readonly { readonly id: string }[]): string[] => all.map(({ id }) => id)

async function readJob(tx: Connection, workspaceId: string, id: string): Promise<AsyncJob> {
  const job = await findJob(tx, workspaceId, id)
  if (!job) throw new Refusal('engine.no_job', { id })
  return job
}

async function retry({ ids }: AdminPorts, tx: Connection, workspace: Workspace, id: string, now: number) {
  const failed = await readJob(tx, workspace.id, id)
  if (failed.state !== 'failed') throw new Refusal('engine.job_not_failed', { id, state: failed.state })
  if (failed.plan.does === 'list') throw new Refusal('engine.list_retry')
  const member = (await listMembers(tx, workspace.id)).find((one) => one.id === failed.memberId)
  if (!member) throw new Refusal('engine.requester_gone')
  // The hold of the first time.
  const held = (await readFirstHold(tx, workspace.id, failed.id)) ?? 0
  const job: AsyncJob = { ...failed, ...notBegun, id: ids.uuid(), held, createdAt: now }
  const bill = { workspace, member, operation: failed.operation, credits: held, topUpUrl: '' }
  await holdCredits(tx, bill, job.id, now)
  const before = await listEnrichments(tx, failed.id)
  const enrichments = before.map((one) => ({ ...one, id: ids.uuid(), jobId: job.id }))
  await insertJob(tx, job, enrichments)
  return job
}

/** Changes a member. What they spent counts in a new weekly limit, also from before it. */
async function setMember(tx: Connection, member: Member, change: Parameters<typeof updateMember>[2]) {
  await updateMember(tx, member.id, change)
  if (change.weeklyLimit !== undefined) await forgetSpending(tx, member)
  return { ...member, ...change }
}

function memberAdmin(ports: AdminPorts) {
  const { store, clock, ids } = ports
  const { reading, writing } = inCurrent(ports)
  return {
    addMember: (input: {
      email: string
      weeklyLimit?: number
      consentPersonalEmail?: boolean
    }): Promise<Member> =>
      writing(async (tx, workspace, now) => {
        if (!/^[^\s@]+@[^\s@]+$/.test(input.email) || input.email.length > 254)
          throw new Refusal('engine.not_email', { text: input.email })
        const email = input.email.toLowerCase()
        const known = (await listAllMembers(tx, workspace.id)).find((one) => one.email === email)
        if (known?.removedAt === null) throw new Refusal('engine.member_exists', { email })
        if (input.weeklyLimit !== undefined) checkWhole(input.weeklyLimit, 'weekly_limit')
        const change = {
          weeklyLimit: input.weeklyLimit ?? null,
          consentPersonalEmail: input.consentPersonalEmail ?? false,
          createdAt: now,
          removedAt: null,
        }
        if (known) return setMember(tx, known, change)
        const member: Member = { id: ids.uuid(), workspaceId: workspace.id, email, name: null, ...change }
        await insertMember(tx, member)
        return member
      }),
    /** `weeklyLimit: null` removes the limit. */
    changeMember: (email: string, change: { weeklyLimit?: number | null; consentPersonalEmail?: boolean }) =>
      writing(async (tx, workspace) => {
        const member = await memberOf(tx, workspace, email)
        if (typeof change.weeklyLimit === 'number') checkWhole(change.weeklyLimit, 'weekly_limit')
        return setMember(tx, member, change)
      }),
    /** Removes a member and revokes their keys; what they spent stays. Returns how many keys were valid. */
    removeMember: (email: string): Promise<{ readonly keysRevoked: number }> =>
      writing(async (tx, workspace, now) => {
        const member = await memberOf(tx, workspace, email)
        if ((await listMembers(tx, workspace.id)).length === 1)
          throw new Refusal('engine.last_member', { email: member.email })
        await updateMember(tx, member.id, { removedAt: now })
        return { keysRevoked: await revokeKeysOf(tx, member.id, now) }
      }),
    /** Returns the member with a key and their workspace; `undefined` where no member has it. */
    principalOf: (apiKey: string) => findPrincipal(store, hashKey(apiKey)),
    /** Returns the members, with the credits that each has spent this week, here and at servers. */
    members: () =>
      reading(async (tx, workspace, now) => {
        const members = []
        for (const member of await listMembers(tx, workspace.id))
          members.push({
            ...member,
            spentThisWeek: await readSpentThisWeek(tx, member, now),
            spentAtServers: await readSpentAtServers(tx, member, clock.now()),
          })
        return members
      }),
  }
}

function keyAdmin(ports: AdminPorts) {
  const { reading, writing } = inCurrent(ports)
  return {
    createKey: (input: { member: string; scopes?: readonly string[]; expiresAt?: number; name?: string }) =>
      writing(async (tx, workspace, now) => {
        const member = await memberOf(tx, workspace, input.member)
        if (input.expiresAt !== undefined && !(input.expiresAt > now))
          throw new Refusal('engine.expiry_past', { now: new Date(now).toISOString() })
        const scopes = input.scopes && input.scopes.length > 0 ? checkScopes(input.scopes) : null
        const name = input.name?.trim() ?? null
        if (name !== null && !/^[^\p{C}]{1,100}$/u.test(name)) throw new Refusal('engine.key_name')
        const limits = { scopes, expiresAt: input.expiresAt ?? null, name }
        return { ...(await addKey(tx, ports, member, limits, now)), member: member.email }
      }),
    keys: () =>
      reading(async (tx, workspace) => {
        const emails = await emailsOf(tx, workspace)
        return (await listKeys(tx, workspace.id)).map((key) => ({
          ...key,
          member: emails.get(key.memberId) ?? '',
        }))
      }),
    revokeKey: (id: string): Promise<void> =>
      writing(async (tx, workspace, now) => {
        const known = (await listKeys(tx, workspace.id)).some(
          (key) => key.id === id && key.revokedAt === null,
        )
        if (!known) throw new Refusal('engine.no_key', { id })
        await revokeKey(tx, id, now)
      }),
  }
}

function checkScopes(scopes: readonly string[]): readonly string[] {
  const areas = new Set(operations().map(({ id }) => areaOf(id)))
  const wrong = scopes.filter((scope) => !areas.has(scope))
  if (wrong.length > 0) throw new Refusal('engine.no_area', { wrong, areas: [...areas] })
  return [...new Set(scopes)]
}

/** The limits of a key, and when they reset (engine time). */
export type LimitsReport = Awaited<ReturnType<ReturnType<typeof limitsAdmin>['limits']>>

function limitsAdmin({ store, clock }: AdminPorts) {
  const access = createAccess(store, { clock, sleep: async () => {} })
  return {
    /** Reads the limits without counting as a request. Throws `invalid_api_key` as the API does. */
    limits: async (apiKey: string | undefined) => {
      const principal = await access(apiKey)
      const { member } = principal
      const now = engineTime(principal.clock, clock.now())
      await grantDue(store, principal.workspace, now)
      await settleCounters(store, now)
      return await store.read(async (tx) => {
        const workspace = (await findWorkspace(tx, principal.workspace.id)) ?? principal.workspace
        const { credits, held } = await readBalances(tx, workspace.id)
        const { monthlyCredits } = planOf(workspace.plan)
        const nextAllocation = { credits: monthlyCredits, at: workspace.nextAllocationAt }
        return {
          plan: workspace.plan,
          credits: { enrichment: reportedCredits(workspace.plan, credits), held, nextAllocation },
          weekly: await readWeeklyState(tx, member, now, clock.now()),
          quotas: await readQuotas(tx, workspace, now),
          windows: await readWindows(tx, member, workspace.plan, now),
        }
      })
    },
  }
}

/** Returns what a member can still spend this week; null without a limit. What is held for accepted work counts as spent. */
async function readWeeklyState(tx: Connection, member: Member, now: number, realNow: number) {
  const week = await readWeekLeft(tx, member, now)
  if (!week) return null
  // The same limit at each server that a governed proxy calls for the member, in real time.
  const servers = (await readSpentAtServers(tx, member, realNow)).map((one) => ({
    ...one,
    left: Math.max(0, week.limit - one.spent),
  }))
  return { ...week, servers }
}

/** Returns the rate windows of a member. One that is not open is full, and has no time at which it resets. */
async function readWindows(tx: Connection, member: Member, plan: string, now: number) {
  const states = []
  for (const { window, operation, group, live } of windowsOn(plan)) {
    const counter = await readCounter(tx, `user:${member.id}`, window.name)
    const { count: used, resetsAt: endsAt } = countedAt(counter, window, now)
    const { limit, windowMs } = window
    const per: 'second' | 'minute' = windowMs === 1_000 ? 'second' : 'minute'
    const remaining = Math.max(0, limit - used)
    states.push({ operation, group, live, per, limit, used, remaining, resetsAt: used > 0 ? endsAt : null })
  }
  return states
}
