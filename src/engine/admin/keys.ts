import { areaOf, operations } from '../../api/operations/table.js'
import { engineTime } from '../clock.js'
import { memberOf } from './members.js'
import { AdminError, type AdminPorts, addKey, current } from './workspaces.js'

/** API keys of the members of the workspace in use. */
export function keyAdmin(ports: AdminPorts) {
  const { store, clock } = ports
  return {
    createKey: (input: { member: string; scopes?: readonly string[]; expiresAt?: number }) =>
      store.transaction(async (tx) => {
        const { workspace, now } = await current(tx, clock)
        const member = await memberOf(tx, workspace, input.member)
        const scopes = input.scopes && input.scopes.length > 0 ? checkScopes(input.scopes) : null
        const made = await addKey(tx, ports, member, { scopes, expiresAt: input.expiresAt ?? null }, now)
        return { ...made, member: member.email }
      }),
    keys: () =>
      store.read(async (reads) => {
        const { workspace } = await current(reads, clock)
        const emails = new Map((await reads.members(workspace.id)).map(({ id, email }) => [id, email]))
        return (await reads.keys(workspace.id)).map((key) => ({
          ...key,
          member: emails.get(key.memberId) ?? '',
        }))
      }),
    revokeKey: (id: string): Promise<void> =>
      store.transaction(async (tx) => {
        const { workspace } = await current(tx, clock)
        const known = (await tx.keys(workspace.id)).some((key) => key.id === id && key.revokedAt === null)
        if (!known) throw new AdminError(`There is no valid key ${id}; see: prospect engine keys list`)
        await tx.revokeKey(id, engineTime(await tx.clock(), clock.now()))
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
