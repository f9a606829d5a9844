import type { Command } from 'commander'
import type { Member } from '../../../engine/ports/ports.js'
import { UsageError } from '../../context/errors.js'
import { asGroup, type CommandEnvironment, guide } from '../../options/command-environment.js'
import { isoTime, whole } from '../../options/values.js'
import { adminAction } from './admin-action.js'

/** `prospect engine members`: who spends the credits of the workspace, and how much a week. */
export function membersCommand(environment: CommandEnvironment): Command {
  const members = asGroup(
    environment.command('members', 'Members of the workspace, their weekly limits and consent'),
  )
  return members
    .addCommand(addMember(environment))
    .addCommand(setMember(environment))
    .addCommand(listMembers(environment))
}

const columns = ['email', 'weekly_limit', 'spent_this_week', 'consent_personal_email', 'created_at']
const consent = '--consent-personal-email'

function addMember(environment: CommandEnvironment): Command {
  const command = environment
    .command('add', 'Add a member')
    .argument('<email>', 'e-mail address of the member')
    .option('--weekly-limit <credits>', 'credits the member may spend a week (Monday to Sunday, UTC)', whole)
    .option(consent, 'the member has consented to look up personal e-mail addresses')
  guide(
    command,
    ['engine members add ann@example.com --weekly-limit 100'],
    'Next: prospect engine keys create --member EMAIL',
  )
  return adminAction(environment, command, async (admin, { args: [email = ''], options }) => {
    const { weeklyLimit, consentPersonalEmail } = options as Partial<Change>
    return shown(
      await admin.addMember({
        email,
        ...(weeklyLimit === undefined ? {} : { weeklyLimit: Number(weeklyLimit) }),
        ...(consentPersonalEmail === undefined ? {} : { consentPersonalEmail }),
      }),
    )
  })
}

interface Change {
  readonly weeklyLimit: number | 'none'
  readonly consentPersonalEmail: boolean
}

function setMember(environment: CommandEnvironment): Command {
  const command = environment
    .command('set', 'Change the weekly limit or the consent of a member')
    .argument('<email>', 'e-mail address of the member')
    .option('--weekly-limit <credits>', 'credits a week, or none to lift the limit', limit)
    .option(consent, 'the member has consented to look up personal e-mail addresses')
    .option(consent.replace('--', '--no-'), 'the member has withdrawn that consent')
  guide(command, [
    'engine members set ann@example.com --weekly-limit 20',
    'engine members set ann@example.com --weekly-limit none',
  ])
  return adminAction(environment, command, async (admin, { args: [email = ''], options }) => {
    const { weeklyLimit, consentPersonalEmail } = options as Partial<Change>
    if (weeklyLimit === undefined && consentPersonalEmail === undefined)
      throw new UsageError('Nothing to change was given.', `Add --weekly-limit or ${consent}.`)
    return shown(
      await admin.changeMember(email, {
        ...(weeklyLimit === undefined ? {} : { weeklyLimit: weeklyLimit === 'none' ? null : weeklyLimit }),
        ...(consentPersonalEmail === undefined ? {} : { consentPersonalEmail }),
      }),
    )
  })
}

const limit = (text: string): Change['weeklyLimit'] => (text === 'none' ? text : whole(text))

function listMembers(environment: CommandEnvironment): Command {
  const command = environment.command('list', 'List the members, with what each has spent this week')
  guide(command, ['engine members list', 'engine members list --format csv'])
  return adminAction(
    environment,
    command,
    async (admin) =>
      (await admin.members()).map((member) => ({ ...shown(member), spent_this_week: member.spentThisWeek })),
    { columns },
  )
}

const shown = ({ id, email, name, weeklyLimit, consentPersonalEmail, createdAt }: Member) => ({
  id,
  email,
  name,
  weekly_limit: weeklyLimit,
  consent_personal_email: consentPersonalEmail,
  created_at: isoTime(createdAt),
})
