import { type Command, InvalidArgumentError, Option } from 'commander'
import { plans } from '../../../api/operations/plans.js'
import type { QuotaReport } from '../../../engine/credits/quotas.js'
import { UsageError } from '../../context/errors.js'
import { asGroup, type CommandEnvironment, guide } from '../../options/command-environment.js'
import { isoTime, whole } from '../../options/values.js'
import { quotaTable, statusView } from '../limits/status-view.js'
import { adminAction } from './admin-action.js'
import { backupCommand, restoreCommand } from './backup.js'
import { clockCommand } from './clock.js'
import { deliveriesCommand } from './deliveries.js'
import { jobsCommand } from './jobs.js'
import { keysCommand } from './keys.js'
import { ledgerCommand } from './ledger.js'
import { membersCommand } from './members.js'
import { resetCommand } from './reset.js'
import { exportCommand, importCommand } from './transfer.js'
import { workspacesCommand } from './workspaces.js'

const parts = [
  statusCommand,
  planCommand,
  creditsCommand,
  quotasCommand,
  membersCommand,
  keysCommand,
  sessionCommand,
  clockCommand,
  ledgerCommand,
  jobsCommand,
  deliveriesCommand,
  webhooksCommand,
  workspacesCommand,
  backupCommand,
  restoreCommand,
  exportCommand,
  importCommand,
  resetCommand,
] as const

/** `prospect engine`: the local workspace in the hands of its owner. A change holds for the next request. */
export function engineCommand(environment: CommandEnvironment): Command {
  const engine = asGroup(
    environment.command(
      'engine',
      'The local workspace: plan, credits, quotas, members, keys, clock, ledger, jobs',
    ),
  )
  for (const part of parts) engine.addCommand(part(environment))
  return guide(engine, ['engine status', 'engine credits set 0', 'engine clock advance 1d'])
}

/** `prospect engine status`: everything about the workspace in use, in one look. */
export function statusCommand(environment: CommandEnvironment): Command {
  const command = environment.command(
    'status',
    'Plan, credits, quotas, members, jobs, deliveries, sessions, clock and catalogue',
  )
  guide(command, ['engine status', 'engine status --json --fields credits.enrichment'])
  return adminAction(
    environment,
    command,
    async (admin) => ({
      ...(await admin.status()),
      catalogue: await (await environment.context.catalogue()).stats(),
    }),
    { layout: statusView },
  )
}

/** `prospect engine plan`: the plan decides requests per minute, quotas and the monthly credits. */
export function planCommand(environment: CommandEnvironment): Command {
  const plan = asGroup(environment.command('plan', 'The plan of the workspace'))
  return plan.addCommand(setPlan(environment))
}

function setPlan(environment: CommandEnvironment): Command {
  const command = environment
    .command('set', 'Set the plan. It grants no credits, and what was used of a quota stays used.')
    .argument('<name>', `one of ${Object.keys(plans).join(', ')}; another name has the limits of free`, plain)
  guide(
    command,
    ['engine plan set free', 'engine plan set scale'],
    'See what it allows: prospect engine status',
  )
  return adminAction(environment, command, async (admin, { args: [name = ''], globals }) => {
    const result = await admin.setPlan(name)
    if (!result.listed)
      environment.context.notify(
        `The plan ${name} is not listed: it has the limits of the plan Free.`,
        globals,
      )
    return result
  })
}

function plain(name: string): string {
  if (name.trim() === '') throw new InvalidArgumentError('Give the name of a plan.')
  return name.trim()
}

/** `prospect engine credits`: the balance; each change is a movement of the ledger. */
export function creditsCommand(environment: CommandEnvironment): Command {
  const credits = asGroup(environment.command('credits', 'The credit balance of the workspace'))
  return credits.addCommand(addCredits(environment)).addCommand(setCredits(environment))
}

function addCredits(environment: CommandEnvironment): Command {
  const command = environment
    .command('add', 'Add credits to the balance, as a top-up does')
    .argument('<credits>', 'how many', whole)
  guide(command, ['engine credits add 500'], 'See the movement: prospect engine ledger')
  return adminAction(environment, command, (admin, { args }) => admin.addCredits(Number(args[0])))
}

function setCredits(environment: CommandEnvironment): Command {
  const command = environment
    .command('set', 'Set the balance, as an adjustment up or down')
    .argument('<credits>', 'the new balance', whole)
  guide(
    command,
    ['engine credits set 0'],
    'With 0 credits every priced call answers 402: try your script against it.',
  )
  return adminAction(environment, command, (admin, { args }) => admin.setCredits(Number(args[0])))
}

/** `prospect engine quotas`: ceilings set by hand, which hold across changes of the plan. */
export function quotasCommand(environment: CommandEnvironment): Command {
  const quotas = asGroup(environment.command('quotas', 'Daily and monthly quotas of the workspace'))
  return quotas.addCommand(setQuotas(environment))
}

const ceilings = ['dailyProfiles', 'dailyCompanies', 'monthlyCompanies'] as const

function setQuotas(environment: CommandEnvironment): Command {
  const command = environment
    .command('set', 'Set ceilings, one or several at once. What was used stays used.')
    .option('--daily-profiles <n>', 'people a day', whole)
    .option('--daily-companies <n>', 'companies a day', whole)
    .option('--monthly-companies <n>', 'companies a month', whole)
  guide(
    command,
    ['engine quotas set --daily-profiles 10'],
    'A ceiling holds until it is set again, whatever the plan.',
  )
  return adminAction(
    environment,
    command,
    async (admin, { options }) => {
      const given = ceilings.filter((name) => options[name] !== undefined)
      if (given.length === 0)
        throw new UsageError(
          'No ceiling was given.',
          'Add --daily-profiles, --daily-companies or --monthly-companies.',
        )
      return reported(
        await admin.setQuotas(Object.fromEntries(given.map((name) => [name, Number(options[name])]))),
      )
    },
    { layout: (body, look) => quotaTable(body as object, look) },
  )
}

const reported = (report: QuotaReport) =>
  Object.fromEntries(
    Object.entries(report).map(([name, { limit, used, remaining, resetsAt }]) => [
      name,
      { limit, used, remaining, resets_at: isoTime(resetsAt) },
    ]),
  )

/** `prospect engine session`: the sessions that live calls need, as `GET /account` reports them. */
export function sessionCommand(environment: CommandEnvironment): Command {
  const session = asGroup(environment.command('session', 'Sessions on the network that live calls need'))
  return session.addCommand(setSession(environment))
}

function setSession(environment: CommandEnvironment): Command {
  const truth = (flags: string, text: string) => new Option(flags, text).choices(['true', 'false'])
  const command = environment
    .command('set', 'Say which sessions are valid')
    .addOption(truth('--network <valid>', 'true | false: the session on the network'))
    .addOption(truth('--premium <valid>', 'true | false: the session of the premium search tool'))
  guide(
    command,
    ['engine session set --network false', 'engine session set --network true --premium true'],
    'Without a valid session live calls answer 422; with --no-live they work.',
  )
  return adminAction(environment, command, async (admin, { options: { network, premium } }) => {
    if (network === undefined && premium === undefined)
      throw new UsageError('No session was given.', 'Add --network true|false or --premium true|false.')
    return admin.setSession({
      ...(network === undefined ? {} : { network: network === 'true' }),
      ...(premium === undefined ? {} : { premium: premium === 'true' }),
    })
  })
}

/** `prospect engine webhooks`: how deliveries are signed. */
export function webhooksCommand(environment: CommandEnvironment): Command {
  return asGroup(environment.command('webhooks', 'How deliveries to webhooks are signed')).addCommand(
    secret(environment),
  )
}

function secret(environment: CommandEnvironment): Command {
  const command = environment
    .command('secret', 'Show the secret that signs the deliveries of the workspace')
    .option('--rotate', 'make a new one; the old one signs along for another day')
  guide(
    command,
    ['engine webhooks secret', 'engine webhooks secret --rotate'],
    'Give it to the receiver, in a file or an environment variable: prospect listen --secret-file webhook.secret',
  )
  return adminAction(environment, command, async (admin, { options }) => ({
    secret: await admin.webhookSecret(options.rotate === true),
  }))
}
