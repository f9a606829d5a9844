import { areaOf, operations } from '../../api/operations/table.js'
import type { Connection } from '../../storage/driver/connection.js'
import { engineTime } from '../clock.js'
import { forgetSpending, readSpentThisWeek } from '../credits/weekly-limit.js'
import { hashKey } from '../request/keys.js'
import {
  findPrincipal,
  insertMember,
  listKeys,
  listMembers,
  type Member,
  readClock,
  revokeKey,
  updateMember,
  type Workspace,
} from '../tables/members.js'
import { AdminError, type AdminPorts, addKey, checkWhole, readCurrent } from './workspaces.js'

/** Members of the workspace in use. */
export function memberAdmin(ports: AdminPorts) {
  const { store, clock, ids } = ports
  return {
    addMember: (input: {
      email: string
      weeklyLimit?: number
      consentPersonalEmail?: boolean
    }): Promise<Member> =>
      store.transaction(async (tx) => {
        const { workspace, now } = await readCurrent(tx, clock)
        const email = checkEmail(input.email)
        if (await find(tx, workspace, email))
          throw new AdminError(`${email} is already a member; see: prospect engine members list`)
        if (input.weeklyLimit !== undefined) checkWhole(input.weeklyLimit, 'A weekly limit')
        const member: Member = {
          id: ids.uuid(),
          workspaceId: workspace.id,
          email,
          name: null,
          weeklyLimit: input.weeklyLimit ?? null,
          consentPersonalEmail: input.consentPersonalEmail ?? false,
          createdAt: now,
        }
        await insertMember(tx, member)
        return member
      }),
    /** `weeklyLimit: null` removes the limit. */
    changeMember: (
      email: string,
      change: { weeklyLimit?: number | null; consentPersonalEmail?: boolean },
    ): Promise<Member> =>
      store.transaction(async (tx) => {
        const { workspace } = await readCurrent(tx, clock)
        const member = await memberOf(tx, workspace, email)
        if (typeof change.weeklyLimit === 'number') checkWhole(change.weeklyLimit, 'A weekly limit')
        await updateMember(tx, member.id, change)
        if (change.weeklyLimit !== undefined) await forgetSpending(tx, member)
        return { ...member, ...change }
      }),
    /** Returns the email of the member with a key; `undefined` where no member has it. */
    emailOf: (apiKey: string): Promise<string | undefined> =>
      store.read(async (tx) => (await findPrincipal(tx, hashKey(apiKey)))?.member.email),
    /** Returns the id of the workspace that a key spends from; `undefined` where no member has it. */
    workspaceOf: (apiKey: string): Promise<string | undefined> =>
      store.read(async (tx) => (await findPrincipal(tx, hashKey(apiKey)))?.workspace.id),
    /** Returns the members, with the credits that each has spent this week. */
    members: (readSpent = readSpentThisWeek) =>
      store.read(async (tx) => {
        const { workspace, now } = await readCurrent(tx, clock)
        const members = []
        for (const member of await listMembers(tx, workspace.id))
          members.push({ ...member, spentThisWeek: await readSpent(tx, member, now) })
        return members
      }),
  }
}

const find = async (tx: Connection, workspace: Workspace, email: string) =>
  (await listMembers(tx, workspace.id)).find((member) => member.email === email.toLowerCase())

/** Returns the member with an email address; throws when there is none. */
async function memberOf(tx: Connection, workspace: Workspace, email: string): Promise<Member> {
  const member = await find(tx, workspace, email)
  if (!member) throw new AdminError(`There is no member ${email}; add one with: prospect engine members add`)
  return member
}

function checkEmail(text: string): string {
  if (!/^[^\s@]+@[^\s@]+$/.test(text) || text.length > 254)
    throw new AdminError(`"${text}" is not an email address; give one such as ada@example.com`)
  return text.toLowerCase()
}

/** API keys of the members of the workspace in use. */
export function keyAdmin(ports: AdminPorts) {
  const { store, clock } = ports
  return {
    createKey: (input: { member: string; scopes?: readonly string[]; expiresAt?: number }) =>
      store.transaction(async (tx) => {
        const { workspace, now } = await readCurrent(tx, clock)
        const member = await memberOf(tx, workspace, input.member)
        if (input.expiresAt !== undefined && !(input.expiresAt > now))
          throw new AdminError(
            `The expiry is in the past; the engine's clock says ${new Date(now).toISOString()}`,
          )
        const scopes = input.scopes && input.scopes.length > 0 ? checkScopes(input.scopes) : null
        const made = await addKey(tx, ports, member, { scopes, expiresAt: input.expiresAt ?? null }, now)
        return { ...made, member: member.email }
      }),
    keys: () =>
      store.read(async (tx) => {
        const { workspace } = await readCurrent(tx, clock)
        const emails = new Map((await listMembers(tx, workspace.id)).map(({ id, email }) => [id, email]))
        return (await listKeys(tx, workspace.id)).map((key) => ({
          ...key,
          member: emails.get(key.memberId) ?? '',
        }))
      }),
    revokeKey: (id: string): Promise<void> =>
      store.transaction(async (tx) => {
        const { workspace } = await readCurrent(tx, clock)
        const known = (await listKeys(tx, workspace.id)).some(
          (key) => key.id === id && key.revokedAt === null,
        )
        if (!known) throw new AdminError(`There is no valid key ${id}; see: prospect engine keys list`)
        await revokeKey(tx, id, engineTime(await readClock(tx), clock.now()))
      }),
  }
}

function checkScopes(scopes: readonly string[]): readonly string[] {
  const areas = new Set(operations().map(({ id }) => areaOf(id)))
  const wrong = scopes.filter((scope) => !areas.has(scope))
  if (wrong.length > 0)
    throw new AdminError(`There is no area ${wrong.join(', ')}; areas are ${[...areas].join(', ')}`)
  return [...new Set(scopes)]
}
