import { Refusal } from '../../../api/calls/errors.js'
import { localOrigin } from '../../../api/values/key-names.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import type { Admin } from '../../../engine/admin/admin.js'
import type { readSpentAtServers } from '../../../engine/credits/weekly-limit.js'
import { hashKey } from '../../../engine/request/access.js'
import type { Key, Member } from '../../../engine/tables/members.js'
import type { Context } from '../../context/context.js'
import { forgetKey, storedKey } from '../../context/credentials.js'
import { among, type CommandFactory, expandId } from '../../options/command-environment.js'
import { momentMs, repeated, whole } from '../../options/values.js'
import { toView } from '../../output/records.js'

export const membersCommand: CommandFactory = ({ command, group }) =>
  group('members', 'Members of the workspace, their weekly limits and consent', [
    command('add', 'Add a member')
      .argument('<email>', 'email address of the member')
      .withOptions({
        weeklyLimit: ['<credits>', 'credits the member may spend a week (Monday to Sunday, UTC)', whole],
        consentPersonalEmail: ['', consented],
      })
      .printAdmin(async (admin, { args: [email = ''], options: { weeklyLimit, consentPersonalEmail } }) =>
        toMemberView(await admin.addMember(withoutUndefined({ email, weeklyLimit, consentPersonalEmail }))),
      ),
    command('set', 'Change the weekly limit or the consent of a member')
      .argument('<member>', 'email address of the member, or the id that members list shows')
      .withOptions({
        weeklyLimit: [
          '<credits>',
          'credits a week, or none to lift the limit',
          (text) => (text === 'none' ? text : whole(text)),
        ],
        consentPersonalEmail: ['', consented],
      })
      .option('--no-consent-personal-email', 'the member has withdrawn that consent')
      .printAdmin(async (admin, { args: [given = ''], options: { weeklyLimit, consentPersonalEmail } }) => {
        if (weeklyLimit === undefined && consentPersonalEmail === undefined)
          throw new Refusal('usage.no_change')
        const limit = weeklyLimit === 'none' ? null : weeklyLimit
        const change = withoutUndefined({ weeklyLimit: limit, consentPersonalEmail })
        return toMemberView(await admin.changeMember(await memberNamed(admin, given), change))
      }),
    command('list', 'List the members, with what each has spent this week')
      .reads('engine')
      .printAdmin(
        async (admin) => {
          const members = await admin.members()
          const isProxied = members.some(({ spentAtServers }) => spentAtServers.length > 0)
          return members.map((member) => ({
            ...toMemberView(member),
            spent_this_week: member.spentThisWeek,
            ...(isProxied && toServerView(member.spentAtServers)),
          }))
        },
        { columns: memberColumns, ids: ['id'] },
      ),
    command('remove', 'Remove a member and revoke their keys; what they spent stays in the ledger')
      .argument('<member>', 'email address of the member, or the id that members list shows')
      .printAdmin(async (admin, { args: [given = ''] }, context) => {
        const email = await memberNamed(admin, given)
        const { keysRevoked } = await admin.removeMember(email)
        await forgetDeadKey(context, admin)
        return { email, removed: true, keys_revoked: keysRevoked }
      }),
  ])

const spentColumns = ['spent_this_week', 'spent_at_servers']
const memberColumns = ['id', 'email', 'weekly_limit', ...spentColumns, 'consent_personal_email', 'created_at']
const consented = 'the member has consented to look up personal email addresses'

/** Returns the email of the member that an email, an id or its beginning names; others as given, for the engine to refuse. */
export async function memberNamed(admin: Admin, given: string): Promise<string> {
  const members = await admin.members()
  const id = await expandId(given, 'member', among(members.map(({ id }) => id)))
  return members.find((member) => member.id === id)?.email ?? given
}

/** The credits that governed proxies have spent for a member this week, in all and at each server. */
const toServerView = (servers: Awaited<ReturnType<typeof readSpentAtServers>>) => ({
  spent_at_servers: servers.reduce((sum, { spent }) => sum + spent, 0),
  servers,
})

const toMemberView = (member: Member) =>
  toView(member, ['id', 'email', 'name', 'weeklyLimit', 'consentPersonalEmail', 'createdAt'])

export const keysCommand: CommandFactory = ({ command, group }) =>
  group('keys', 'API keys of the members', [
    command('create', 'Create a key for a member and show it, this once')
      .requiredOption('--member <member>', 'whose key it is: an email address, or an id of members list')
      .withOptions({
        name: ['<text>', 'what it is for, as keys list shows it'],
        scope: ['<area>', 'an area the key may use (repeatable; default: all)', repeated],
        expires: ['<time>', 'day or time after which it is refused (UTC)', momentMs],
      })
      .printAdmin(
        async (admin, { options: { member, name, scope, expires: expiresAt } }) => {
          const scopes = scope?.flatMap((each) => each.split(',')).map((each) => each.trim())
          const email = await memberNamed(admin, String(member))
          return admin.createKey(withoutUndefined({ member: email, name, scopes, expiresAt }))
        },
        { isOnce: true },
      ),
    command('list', 'List the keys by their first letters; full keys are never stored')
      .reads('engine')
      .printAdmin(async (admin) => (await admin.keys()).map(toKeyView), {
        columns: [...keyColumns, 'created_at', 'last_used_at', 'expires_at', 'revoked_at'],
        optional: ['name'],
        ids: ['id'],
      }),
    command('revoke', 'Revoke a key; the next request with it is refused')
      .argument('<id>', 'id of the key, or its beginning, as keys list shows it')
      .printAdmin(async (admin, { args: [given = ''] }, context) => {
        const valid = (await admin.keys()).filter(({ revokedAt }) => revokedAt === null)
        const id = (await expandId(given, 'valid key', among(valid.map(({ id }) => id)))) ?? given
        await admin.revokeKey(id)
        await forgetDeadKey(context, admin)
        return { id, revoked: true }
      }),
  ])

const keyColumns = ['id', 'hint', 'name', 'member', 'scopes'] as const

const toKeyView = ({ usedAt: lastUsedAt, ...key }: Key & { readonly member: string }) => ({
  ...toView(key, [...keyColumns, 'createdAt']),
  ...toView({ ...key, lastUsedAt }, ['lastUsedAt', 'expiresAt', 'revokedAt']),
})

/** Without a key that the engine accepts, the next command creates a new one instead of being refused. */
export async function forgetDeadKey(context: Context, admin: Admin): Promise<void> {
  const used = (await admin.workspaces()).find((workspace) => workspace.used)
  const own = used && storedKey(context.home, localOrigin(used.id))
  if (used === undefined || own === undefined) return
  const hash = hashKey(own)
  if ((await admin.keys()).some((key) => key.hash === hash && key.revokedAt === null)) return
  forgetKey(context, localOrigin(used.id))
  context.notify('The key of this machine is no longer valid. The next command creates a new one.')
}
