import { Refusal } from '../../api/calls/errors.js'
import { isListedPlan, newWorkspace, ownPlan } from '../../api/operations/plans.js'
import type { Connection } from '../../storage/driver/connection.js'
import { nextRenewal, readEngineTime } from '../clock.js'
import { addMovement, readBalances } from '../credits/ledger.js'
import { type QuotaReport, readQuotas } from '../credits/quotas.js'
import { findOrCreateSecrets, readValidSecrets, rotateSecret } from '../jobs/payloads.js'
import type { WorkerPorts } from '../jobs/progress.js'
import { hashKey, hintOf, makeKey } from '../request/access.js'
import {
  findWorkspace,
  insertMember,
  insertWorkspace,
  keyTable,
  listAllMembers,
  listMembers,
  listWorkspaces,
  type Member,
  setUsedWorkspace,
  updateWorkspace,
  type Workspace,
} from '../tables/members.js'

/** Throws a Refusal unless a value is a whole number of at least `min`. */
export function checkWhole(value: number, of: WholeNumber, min = 0): void {
  if (!Number.isSafeInteger(value) || value < min || value > 1_000_000_000)
    throw new Refusal('engine.not_whole', { of, min })
}

type WholeNumber = 'amount' | 'balance' | 'weekly_limit' | 'quota'

export type AdminPorts = Pick<WorkerPorts, 'store' | 'clock' | 'ids'>

/** Work on the workspace in use, which is read with engine time in the same transaction. */
export function inCurrent({ store, clock }: Pick<AdminPorts, 'store' | 'clock'>) {
  type Work<T> = (tx: Connection, workspace: Workspace, now: number) => T | Promise<T>
  const started =
    <T>(work: Work<T>) =>
    async (tx: Connection) => {
      const workspace = await findWorkspace(tx)
      if (!workspace) throw new Refusal('engine.no_workspace_yet')
      return work(tx, workspace, await readEngineTime(tx, clock))
    }
  return {
    reading: <T>(work: Work<T>) => store.read(started(work)),
    writing: <T>(work: Work<T>) => store.transaction(started(work)),
  }
}

/** Returns the member with an email address; throws when there is none. `list` may have removed ones, too. */
export async function memberOf(
  tx: Connection,
  { id }: Pick<Workspace, 'id'>,
  email: string,
  list = listMembers,
): Promise<Member> {
  const member = (await list(tx, id)).find((one) => one.email === email.toLowerCase())
  if (!member) throw new Refusal('engine.no_member', { email })
  return member
}

/** Returns the email addresses of all members by id, also of those who were removed. */
export const emailsOf = async (tx: Connection, { id }: Pick<Workspace, 'id'>) =>
  new Map((await listAllMembers(tx, id)).map((member) => [member.id, member.email]))

export function workspaceAdmin(ports: AdminPorts) {
  const { store, clock } = ports
  const { reading, writing } = inCurrent(ports)
  const change = (fields: Partial<Omit<Workspace, 'id' | 'createdAt'>>) =>
    writing(async (tx, workspace) => {
      await updateWorkspace(tx, workspace.id, fields)
      return { ...workspace, ...fields }
    })
  return {
    /** Creates a workspace, member and key if there are none; otherwise changes nothing. */
    init: (input: { workspace?: string; email?: string; isOwnData?: boolean } = {}) =>
      store.transaction((tx) => initialise(tx, ports, input)),
    setPlan: async (plan: string) => {
      if (!/^[\w .+-]{1,60}$/.test(plan)) throw new Refusal('engine.plan_name')
      await change({ plan })
      return { plan, listed: isListedPlan(plan) }
    },
    /** A missing ceiling stays as it is. */
    setQuotas: async (
      ceilings: Partial<Record<'dailyProfiles' | 'dailyCompanies' | 'monthlyCompanies', number>>,
    ): Promise<QuotaReport> => {
      for (const value of Object.values(ceilings)) checkWhole(value, 'quota')
      await change(ceilings)
      return await reading((tx, workspace, now) => readQuotas(tx, workspace, now))
    },
    setSession: async (sessions: { network?: boolean; premium?: boolean }) => {
      const { networkSession, premiumSession } = await change({
        ...(sessions.network === undefined ? {} : { networkSession: sessions.network }),
        ...(sessions.premium === undefined ? {} : { premiumSession: sessions.premium }),
      })
      return { network: networkSession, premium: premiumSession }
    },
    workspaces: () =>
      store.read(async (tx) => {
        const used = await findWorkspace(tx)
        return (await listWorkspaces(tx)).map((workspace) => ({
          ...workspace,
          used: workspace.id === used?.id,
        }))
      }),
    createWorkspace: (name: string) =>
      store.transaction(async (tx) => {
        if (!/^\S.{0,99}$/.test(name)) throw new Refusal('engine.workspace_name')
        if ((await listWorkspaces(tx)).some((one) => one.name === name))
          throw new Refusal('engine.workspace_exists', { name })
        const now = await readEngineTime(tx, clock)
        return await addWorkspace(tx, ports, name, now, (await findWorkspace(tx)) === undefined)
      }),
    useWorkspace: (name: string) =>
      store.transaction(async (tx) => {
        const workspace = (await listWorkspaces(tx)).find((one) => one.name === name || one.id === name)
        if (!workspace) throw new Refusal('engine.no_workspace', { name })
        await setUsedWorkspace(tx, workspace.id)
        return workspace
      }),
  }
}

/** Returns what was found or created; `key` is the plain key, present only when it was created. */
async function initialise(
  tx: Connection,
  ports: AdminPorts,
  {
    workspace: name = 'Local',
    email = 'me@localhost',
    isOwnData = false,
  }: { workspace?: string; email?: string; isOwnData?: boolean },
) {
  const found = await findWorkspace(tx)
  if (found) {
    const [member] = await listMembers(tx, found.id)
    if (!member) throw new Refusal('engine.no_member_yet')
    return { workspace: found, member, credits: (await readBalances(tx, found.id)).credits, created: false }
  }
  const now = await readEngineTime(tx, ports.clock)
  const begin = isOwnData ? { plan: ownPlan, credits: 0 } : newWorkspace
  const workspace = await addWorkspace(tx, ports, name, now, true, begin)
  const member: Member = {
    id: ports.ids.uuid(),
    workspaceId: workspace.id,
    email,
    name: null,
    weeklyLimit: null,
    consentPersonalEmail: false,
    createdAt: now,
    removedAt: null,
  }
  await insertMember(tx, member)
  const { key } = await addKey(tx, ports, member, { scopes: null, expiresAt: null }, now)
  return { workspace, member, key, credits: begin.credits, created: true }
}

async function addWorkspace(
  tx: Connection,
  { ids }: AdminPorts,
  name: string,
  now: number,
  used: boolean,
  { plan, credits }: { readonly plan: string; readonly credits: number } = newWorkspace,
) {
  const workspace: Workspace = {
    id: ids.uuid(),
    name,
    plan,
    dailyProfiles: null,
    dailyCompanies: null,
    monthlyCompanies: null,
    createdAt: now,
    nextAllocationAt: nextRenewal(now, now),
    networkSession: true,
    premiumSession: true,
  }
  await insertWorkspace(tx, workspace, used)
  const grant = { kind: 'top_up', debit: 'issued', credit: 'credits', amount: credits } as const
  if (credits > 0) await addMovement(tx, { ...grant, workspace_id: workspace.id, at: now })
  return workspace
}

/** Creates a key for a member. The plain key is returned and not stored. */
export async function addKey(
  tx: Connection,
  { ids }: AdminPorts,
  member: Member,
  {
    name = null,
    ...limits
  }: { scopes: readonly string[] | null; expiresAt: number | null; name?: string | null },
  now: number,
): Promise<{ id: string; key: string }> {
  const key = makeKey(ids)
  const id = ids.uuid()
  await keyTable.insert(tx, {
    id,
    memberId: member.id,
    hash: hashKey(key),
    hint: hintOf(key),
    ...limits,
    createdAt: now,
    revokedAt: null,
    name,
    usedAt: null,
  })
  return { id, key }
}

export function webhookSecretAdmin(ports: AdminPorts) {
  const { reading, writing } = inCurrent(ports)
  const { ids } = ports
  return {
    /** Returns the current signing secret; after a rotation the previous one stays valid for a day. */
    webhookSecret: (rotate: boolean): Promise<string> =>
      writing(async (tx, workspace, now) => {
        if (rotate) return rotateSecret(tx, ids, workspace.id, now)
        const [secret = ''] = await findOrCreateSecrets(tx, ids, workspace.id, now)
        return secret
      }),
    /** Returns all secrets that sign now, newest first; none before the first use. */
    webhookSecrets: () => reading((tx, workspace, now) => readValidSecrets(tx, workspace.id, now)),
  }
}
