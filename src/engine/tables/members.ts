import type { Awaitable } from '../../api/values/objects.js'
import type { Suppressor } from '../../catalogue/suppression/suppressor.js'
import {
  boundText,
  type Connection,
  type Driver,
  findRow,
  mapResult,
  type StoredRow,
} from '../../storage/driver/connection.js'
import { findEnrichment, findJob } from './jobs.js'
import { column, type RecordOf, RecordTable } from './record-table.js'

/** The engine's clock as stored: real time plus an offset, or frozen at a moment. */
export interface StoredClock {
  readonly offsetMs: number
  /** Milliseconds since 1970, when the clock is frozen. */
  readonly frozenAt: number | null
}

const workspaceTable = new RecordTable('workspaces', {
  id: column.text,
  name: column.text,
  plan: column.text,
  /** Ceilings set by hand; null for the plan's ceiling. */
  dailyProfiles: column.maybeNumber,
  dailyCompanies: column.maybeNumber,
  monthlyCompanies: column.maybeNumber,
  createdAt: column.number,
  /** Engine time of the next monthly grant. */
  nextAllocationAt: column.number,
  networkSession: column.boolean,
  premiumSession: column.boolean,
})
export type Workspace = RecordOf<typeof workspaceTable>

const memberTable = new RecordTable('members', {
  id: column.text,
  workspaceId: column.text,
  email: column.text,
  name: column.maybeText,
  /** Credits per week, Monday to Sunday in UTC; null without a limit. */
  weeklyLimit: column.maybeNumber,
  createdAt: column.number,
  /** When they were removed; what they spent stays. */
  removedAt: column.maybeNumber,
  consentPersonalEmail: column.boolean,
})
export type Member = RecordOf<typeof memberTable>

export const keyTable = new RecordTable('keys', {
  id: column.text,
  memberId: column.text,
  /** Lower-case hex SHA-256 of the key; the key itself is not stored. */
  hash: column.text,
  /** Its first characters, such as `pk_AbCd`, to recognise it by. */
  hint: column.text,
  createdAt: column.number,
  expiresAt: column.maybeNumber,
  revokedAt: column.maybeNumber,
  /** What its owner calls it. */
  name: column.maybeText,
  /** Engine time of its last use, recorded at most once an hour. */
  usedAt: column.maybeNumber,
  /** Areas it may use; null for all. */
  scopes: column.json<readonly string[] | null>(),
})
export type Key = RecordOf<typeof keyTable>

/** Who is asking: a key with its member, workspace and the engine's clock, from one read. */
export interface Principal {
  readonly key: Key
  readonly member: Member
  readonly workspace: Workspace
  readonly clock: StoredClock
  /** Whether the workspace suppresses somebody. */
  readonly suppresses: boolean
  /** Number of faults on demand that the workspace has. */
  readonly faults: number
}

const principalsSql = `
SELECT ${keyTable.list('k')}, ${memberTable.list('m')}, ${workspaceTable.list('w')}, clock.offset_ms, clock.frozen_at,
  (SELECT 1 FROM suppression_keys s WHERE s.owner = w.id) AS suppresses,
  (SELECT count(*) FROM faults f WHERE f.workspace_id = m.workspace_id) AS faults
FROM keys k
JOIN members m ON m.id = k.member_id
JOIN workspaces w ON w.id = m.workspace_id
JOIN clock ON clock.id = 1`
const principalSql = `${principalsSql} WHERE k.hash = ${boundText}`

const toClock = (row: StoredRow): StoredClock => ({
  offsetMs: Number(row.offset_ms),
  frozenAt: row.frozen_at === null ? null : Number(row.frozen_at),
})

/** Principals by their rows: requests that arrive together share one, and most are of one key. */
const principals = new WeakMap<StoredRow, ReturnType<typeof toPrincipal>>()

function principalOf(row: StoredRow | undefined) {
  if (row && !principals.has(row)) principals.set(row, toPrincipal(row))
  return row && principals.get(row)
}

const toPrincipal = (row: StoredRow) => ({
  key: keyTable.toRecord(row, 'k'),
  member: memberTable.toRecord(row, 'm'),
  workspace: workspaceTable.toRecord(row, 'w'),
  clock: toClock(row),
  suppresses: row.suppresses !== null,
  faults: Number(row.faults),
})

export const findPrincipal = (store: Pick<Driver, 'find'>, keyHash: string) =>
  store.find<StoredRow>(principalSql, keyHash).then(principalOf)

export const readClock = async (tx: Connection): Promise<StoredClock> =>
  toClock((await tx.get<StoredRow>('SELECT offset_ms, frozen_at FROM clock WHERE id = 1')) ?? {})

export async function writeClock(tx: Connection, { offsetMs, frozenAt }: StoredClock): Promise<void> {
  await tx.run('UPDATE clock SET offset_ms = ?, frozen_at = ?', offsetMs, frozenAt)
}

export const findWorkspace = (tx: Connection, id?: string) =>
  id === undefined ? workspaceTable.get(tx, 'WHERE used = 1') : workspaceTable.get(tx, 'WHERE id = ?', id)

export const listWorkspaces = (tx: Connection) => workspaceTable.all(tx, 'ORDER BY created_at, name')

/** Puts a workspace into use, in place of another. */
export async function setUsedWorkspace(tx: Connection, id: string): Promise<void> {
  await tx.run('UPDATE workspaces SET used = CASE WHEN id = ? THEN 1 ELSE 0 END', id)
}

export async function insertWorkspace(tx: Connection, workspace: Workspace, used: boolean): Promise<void> {
  await workspaceTable.insert(tx, workspace)
  if (used) await setUsedWorkspace(tx, workspace.id)
}

export const updateWorkspace = (tx: Connection, id: string, change: Partial<Workspace>) =>
  workspaceTable.update(tx, change, 'id = ?', id)

/** The members of a workspace, also those who were removed. */
export const listAllMembers = (tx: Connection, workspaceId: string) =>
  memberTable.all(tx, 'WHERE workspace_id = ? ORDER BY created_at, email', workspaceId)

export const listMembers = async (tx: Connection, workspaceId: string) =>
  (await listAllMembers(tx, workspaceId)).filter(({ removedAt }) => removedAt === null)

export const insertMember = (tx: Connection, member: Member) => memberTable.insert(tx, member)

const limitOf = (memberId: string) => `weekly limit ${memberId}`
const limitSql = 'SELECT weekly_limit AS "weeklyLimit" FROM members WHERE id = ?'

export function updateMember(tx: Connection, id: string, change: Partial<Member>) {
  tx.known.delete(limitOf(id))
  return memberTable.update(tx, change, 'id = ?', id)
}

/** Returns a member's weekly limit as it is now, which may differ from when the request began. */
export function readWeeklyLimit(tx: Connection, memberId: string): Awaitable<number | null> {
  const known = tx.known.get(limitOf(memberId)) as number | null | undefined
  if (known !== undefined) return known
  return mapResult(findRow<{ weeklyLimit: number | null }>(tx, limitSql, memberId), (found) => {
    tx.known.set(limitOf(memberId), found?.weeklyLimit ?? null)
    return found?.weeklyLimit ?? null
  })
}

export const listKeys = (tx: Connection, workspaceId: string) =>
  keyTable.all(
    tx,
    'WHERE member_id IN (SELECT id FROM members WHERE workspace_id = ?) ORDER BY created_at, id',
    workspaceId,
  )

export const revokeKey = (tx: Connection, id: string, at: number) =>
  tx.run('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', at, id)

/** Returns how many valid keys a member had until now. */
export const revokeKeysOf = (tx: Connection, memberId: string, at: number) =>
  tx.run('UPDATE keys SET revoked_at = ? WHERE member_id = ? AND revoked_at IS NULL', at, memberId)

const suppressesSql = `SELECT 1 FROM suppression_keys WHERE owner = ${boundText}`

/** Returns what keeps out whom some owners suppress; nothing for one who suppresses nobody. */
export async function openSuppressors(
  owners: readonly { readonly driver: Driver; readonly owner: string }[],
): Promise<Suppressor[]> {
  const opened: Suppressor[] = []
  for (const { driver, owner } of owners) {
    if (!(await driver.find(suppressesSql, owner))) continue
    const { createSuppressor } = await import('../../catalogue/suppression/suppressor.js')
    const findContact = (id: string) =>
      driver.read(async (tx) => {
        const enrichment = await findEnrichment(tx, id)
        const plan = enrichment && (await findJob(tx, owner, enrichment.jobId))?.plan
        return enrichment && plan?.does === 'waterfall' ? plan.contacts[enrichment.ordinal - 1] : undefined
      })
    // Only a workspace has an id, and waterfalls.
    opened.push(createSuppressor(driver, owner, owner === '' ? undefined : findContact))
  }
  return opened
}

/** Returns what keeps out whom a workspace suppresses; `undefined` where it suppresses nobody. */
export const openSuppressor = async (driver: Driver, owner: string): Promise<Suppressor | undefined> =>
  (await openSuppressors([{ driver, owner }]))[0]
