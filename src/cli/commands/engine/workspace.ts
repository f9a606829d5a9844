import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { Refusal } from '../../../api/calls/errors.js'
import { plans } from '../../../api/operations/plans.js'
import { localOrigin } from '../../../api/values/key-names.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import type { Stats } from '../../../catalogue/lookup/lookups.js'
import type { Admin } from '../../../engine/admin/admin.js'
import type { ClockState } from '../../../engine/admin/clock.js'
import { groupings } from '../../../engine/credits/ledger.js'
import { listWorkspaces, type Workspace } from '../../../engine/tables/members.js'
import type { Context, FileUse } from '../../context/context.js'
import { forgetKey } from '../../context/credentials.js'
import { interruptible } from '../../context/io.js'
import { openAdmin } from '../../context/open-databases.js'
import { among, type CommandFactory, expandId } from '../../options/command-environment.js'
import {
  durationMs,
  isoTime,
  listOf,
  momentMs,
  optionRows,
  readTimes,
  timeOptions,
  whole,
} from '../../options/values.js'
import { print, printRecords } from '../../output/print.js'
import { confirmLoss } from '../../output/prompt.js'
import { toPrinted, toView } from '../../output/records.js'
import { record } from '../../output/table.js'
import { formatNumber, formatTime, type Look, listCounts } from '../../output/text.js'
import { formatQuotas } from '../limits/limits.js'
import { faultsCommand } from './faults.js'
import { deliveriesCommand, jobsCommand } from './jobs.js'
import { forgetDeadKey, keysCommand, memberNamed, membersCommand } from './members.js'
import { moveCommand } from './move.js'

function parsePlanName(name: string): string {
  if (name.trim() === '') throw new InvalidArgumentError('Give the name of a plan.')
  return name.trim()
}

const truth = ['true', 'false'] as const

function formatStatus(body: unknown, look: Look): string {
  const { quotas, clock, credits, sessions, ...status } = body as Awaited<ReturnType<Admin['status']>> & {
    readonly catalogue: Stats
  }
  const offset = clock.offset_seconds
  const moved = offset && ` (${formatNumber(Math.abs(offset))} s ${offset > 0 ? 'ahead' : 'behind'})`
  const validity = (isValid: boolean) => (isValid ? 'valid' : 'not valid')
  const facts = {
    Workspace: status.workspace.name,
    Plan: status.plan_listed ? status.plan : `${status.plan} (not listed: limits of free)`,
    Credits: `${formatNumber(credits.enrichment)}${credits.held ? `, ${formatNumber(credits.held)} held` : ''}`,
    'Next grant': formatTime(status.next_allocation_at, look),
    Members: status.members,
    'Valid keys': status.keys,
    Jobs: listCounts(status.jobs) || 'none under way',
    Deliveries: listCounts(status.deliveries) || 'none',
    Sessions: `network ${validity(sessions.network)}, premium ${validity(sessions.premium)}`,
    Faults: status.faults === 0 ? '' : `${status.faults} set (prospect engine faults list)`,
    Clock: `${clock.now.replace('T', ' ').replace(/(?:\.\d+)?Z$/, ' UTC')}${clock.frozen ? ' (frozen)' : moved || ''}`,
    Catalogue: listCounts(status.catalogue) || 'empty',
    Schema: status.schema_version,
  }
  return `${record(facts, look)}\n${formatQuotas(quotas, look)}`
}

const toWorkspaceView = (workspace: Workspace) => toView(workspace, ['id', 'name', 'plan', 'createdAt'])

const toClockView = ({ now, frozen, offsetMs }: ClockState) => ({
  now: isoTime(now),
  frozen,
  offset_seconds: Math.round(offsetMs / 1_000),
})

export const engineCommand: CommandFactory = ({ command, group }) =>
  group('engine', 'The local workspace: plan, credits, quotas, members, keys, clock, ledger, jobs', [
    command('status', 'Plan, credits, quotas, members, jobs, deliveries, sessions, clock and catalogue')
      .reads('engine')
      .printAdmin(
        async (admin, _, context) => ({
          ...(await admin.status()),
          catalogue: await (await context.catalogue()).stats(),
        }),
        { layout: formatStatus },
      ),
    group('plan', 'The plan of the workspace', [
      command('set', 'Set the plan. It grants no credits, and what was used of a quota stays used.')
        .argument(
          '<name>',
          `one of ${Object.keys(plans).join(', ')}; another name has the limits of free`,
          parsePlanName,
        )
        .printAdmin(async (admin, { args: [name = ''] }, context) => {
          const result = await admin.setPlan(name)
          if (!result.listed)
            context.notify(`The plan ${name} is not listed: it has the limits of the plan Free.`)
          return result
        }),
    ]),
    group('credits', 'The credit balance of the workspace', [
      command('add', 'Add credits to the balance, as a top-up does')
        .argument('<credits>', 'how many', whole)
        .printAdmin((admin, { args }) => admin.addCredits(Number(args[0]))),
      command('set', 'Set the balance, as an adjustment up or down')
        .argument('<credits>', 'the new balance', whole)
        .printAdmin((admin, { args }) => admin.setCredits(Number(args[0]))),
    ]),
    group('quotas', 'Daily and monthly quotas of the workspace', [
      command('set', 'Set one or several quotas. What was used stays used.')
        .withOptions({
          dailyProfiles: ['<n>', 'people a day', whole],
          dailyCompanies: ['<n>', 'companies a day', whole],
          monthlyCompanies: ['<n>', 'companies a month', whole],
        })
        .printAdmin(
          async (admin, { options: { dailyProfiles, dailyCompanies, monthlyCompanies } }) => {
            const given = withoutUndefined({ dailyProfiles, dailyCompanies, monthlyCompanies })
            if (Object.keys(given).length === 0) throw new Refusal('usage.no_quota')
            return toPrinted(await admin.setQuotas(given))
          },
          { layout: (body, look) => formatQuotas(body as object, look) },
        ),
    ]),
    membersCommand,
    keysCommand,
    group('session', 'Sessions on the network that live calls need', [
      command('set', 'Set which sessions are valid')
        .withOptions({
          network: ['<valid>', 'true | false: the session on the network', truth],
          premium: ['<valid>', 'true | false: the session of the premium search tool', truth],
        })
        .printAdmin(async (admin, { options: { network, premium } }) => {
          if (network === undefined && premium === undefined) throw new Refusal('usage.no_session')
          return admin.setSession({
            ...(network === undefined ? {} : { network: network === 'true' }),
            ...(premium === undefined ? {} : { premium: premium === 'true' }),
          })
        }),
    ]),
    group('clock', "The engine's clock: move it to see limits reset", [
      command('show', 'Show engine time')
        .reads('engine')
        .printAdmin(async (admin) => toClockView(await admin.clock())),
      command('set', 'Set the engine clock; it runs on from there')
        .argument('<time>', 'day or time such as 2026-03-01T08:30:00Z (UTC unless it says)', momentMs)
        .option('--frozen', 'freeze the clock at that time')
        .printAdmin(async (admin, { args: [time = ''], options }) =>
          toClockView(await admin.setClock(momentMs(time), options.frozen === true)),
        ),
      command('advance', 'Move the engine clock forward; a frozen clock stays frozen')
        .argument('<duration>', 'such as 90s, 15m, 2h, 1d', durationMs)
        .printAdmin(async (admin, { args: [duration = ''] }) =>
          toClockView(await admin.advanceClock(durationMs(duration))),
        ),
      command('reset', 'Go back to real time').printAdmin(async (admin) =>
        toClockView(await admin.resetClock()),
      ),
    ]),
    faultsCommand,
    ledgerCommand,
    jobsCommand,
    deliveriesCommand,
    group('webhooks', 'How deliveries to webhooks are signed', [
      command('secret', 'Show the secret that signs the deliveries of the workspace')
        .option('--rotate', 'create a new one; the old one stays valid for another day')
        .printAdmin(async (admin, { options }) => ({
          secret: await admin.webhookSecret(options.rotate === true),
        })),
    ]),
    group('workspaces', 'Workspaces of this engine, of which one is in use', [
      command('list', 'List the workspaces')
        .reads('engine')
        .printAdmin(
          async (admin) =>
            (await admin.workspaces()).map((one) => ({ ...toWorkspaceView(one), used: one.used })),
          { columns: ['name', 'plan', 'used', 'created_at', 'id'], ids: ['id'] },
        ),
      command('create', 'Create a workspace with its own credits, members and ledger')
        .argument('<name>', 'its name')
        .printAdmin(async (admin, { args: [name = ''] }) =>
          toWorkspaceView(await admin.createWorkspace(name)),
        ),
      command('use', 'Use a workspace from now on, in every command of this machine')
        .argument('<name>', 'its name, or the beginning of its id')
        .printAdmin(async (admin, { args: [name = ''] }, context) => {
          const all = await admin.workspaces()
          const isName = all.some((one) => one.name === name)
          const id = isName ? undefined : await expandId(name, 'workspace', among(all.map((one) => one.id)))
          if (!isName && id === undefined && all.length > 0)
            throw new Refusal('usage.no_workspace', { name, known: all.map((one) => one.name).join(', ') })
          const used = toWorkspaceView(await admin.useWorkspace(id ?? name))
          if ((await admin.members()).length === 0)
            context.notify(`${used.name} has no member yet: prospect engine members add EMAIL`)
          return used
        }),
    ]),
    command('backup', 'Write a consistent copy of the engine, even while it is in use')
      .argument('<file>', 'where to; an existing file is never replaced')
      .option('--catalogue <file>', 'copy the catalogue (companies, people, jobs, posts) too, to this file')
      .printResult(async (context, { args: [file = ''], options }) => {
        const { backup } = await import('../../../storage/database/backup.js')
        const copies = await filesOf(context, file, options.catalogue, 'write')
        for (const { database, at, copy } of copies) {
          if (!existsSync(at)) throw new Refusal('usage.nothing_to_back_up', { database })
          if (existsSync(copy)) throw new Refusal('usage.backup_exists', { copy })
        }
        const done = []
        for (const { database, at, copy } of copies)
          done.push({ database, file: copy, bytes: await backup(at, copy) })
        return done
      }),
    command('restore', 'Replace the engine by a backup')
      .argument('<file>', 'a file that engine backup wrote; it is read, not moved')
      .option('--catalogue <file>', 'replace the catalogue by this backup, too')
      .printResult(async (context, { args: [file = ''], options }) => {
        context.prepareHome()
        const { restore } = await import('../../../storage/database/backup.js')
        const tables = { engine: 'movements', catalogue: 'companies' }
        const copies = await filesOf(context, file, options.catalogue, 'read')
        const existing = copies.map(({ at }) => at).filter((at) => existsSync(at))
        if (existing.length > 0)
          await confirmLoss(context, `This replaces ${existing.join(' and ')} and all that is in it.`)
        const backups = copies.map(({ database, at, copy }) => ({
          file: copy,
          location: at,
          table: tables[database],
        }))
        const versions = await interruptible(context.streams, (signal) => restore(backups, signal))
        const done = copies.map(({ database, at }, index) => ({
          database,
          file: at,
          schema_version: versions[index],
        }))
        await forgetDeadKey(context, await context.admin())
        return done
      }),
    moveCommand,
    command('reset', 'Delete the engine: all workspaces, members, keys and the ledger').printResult(
      async (context) => {
        const { databaseFile, removeDatabase, whileUnused } = await import(
          '../../../storage/database/database-file.js'
        )
        const file = databaseFile(context.home.engine)
        if (existsSync(file))
          await confirmLoss(context, `This deletes ${file}: workspaces, members, keys and the ledger.`)
        const ids = existsSync(file) ? await readWorkspaceIds(file) : []
        const deleted = whileUnused(file, () => removeDatabase(file))
        for (const id of ids) forgetKey(context, localOrigin(id))
        if (deleted.length === 0) context.notify('There was no engine to delete.')
        return { deleted }
      },
    ),
  ])

export const ledgerCommand: CommandFactory = (environment) =>
  environment
    .command('ledger', 'Ledger entries, oldest first; with --by, the credits consumed')
    .withOptions(options)
    .reads('engine')
    .run(async (context, { options: given }) => {
      const { by } = given
      const admin = await openAdmin(context)
      const { since: from, until: to } = readTimes(given, (await admin.clock()).now)
      const member = given.member === undefined ? undefined : await memberNamed(admin, given.member)
      const range = withoutUndefined({ from, to, member })
      if (by) {
        const sums = await admin.consumption(range, by)
        const sumOf = (name: 'credits' | 'movements') => sums.reduce((sum, one) => sum + one[name], 0)
        const total = { credits: sumOf('credits'), movements: sumOf('movements') }
        return print(context, sums, { columns: [...by, 'credits', 'movements'], total })
      }
      await printRecords(context, () => admin.ledger(range), {
        columns: ['created_at', 'kind', 'change', 'credits', 'operation', 'member'],
        now: async () => (await admin.clock()).now,
      })
    })
    .addCommand(verifyLedger(environment))

const options = optionRows({
  by: [
    '<what,…>',
    `sum what was consumed by ${groupings.join(' | ')}, or several: member,day`,
    listOf(groupings),
  ],
  ...timeOptions,
  member: ['<member>', 'only what this member did: an email address, or an id of members list'],
})

const verifyLedger: CommandFactory = ({ command }) =>
  command('verify', 'Recompute every balance; exit 13 when one differs, naming it')
    .reads('engine')
    .run(async (context) => {
      const verdict = await (await openAdmin(context)).verify()
      await print(context, verdict)
      const [first, ...more] = verdict.problems
      if (!verdict.ok) throw new Refusal('engine.ledger_differs', { first, more: more.length })
    })

/** Returns the databases that a backup is of, and the files of their copies, which options may name. */
async function filesOf(
  { home, streams, claimFile }: Context,
  file: string,
  catalogue: unknown,
  use: FileUse,
) {
  const { databaseFile } = await import('../../../storage/database/database-file.js')
  const copyAt = (path: string, option: string) => {
    claimFile(path, option, use)
    return resolve(streams.cwd, path)
  }
  const engine = { database: 'engine', at: databaseFile(home.engine), copy: copyAt(file, 'FILE') } as const
  if (typeof catalogue !== 'string') return [engine]
  const copy = copyAt(catalogue, '--catalogue')
  return [engine, { database: 'catalogue', at: home.catalogue, copy }] as const
}

/** Returns the workspaces whose keys this machine may hold; none when the database cannot be read. */
async function readWorkspaceIds(file: string): Promise<string[]> {
  const { openEngineDatabase } = await import('../../../engine/tables/schema.js')
  try {
    const store = await openEngineDatabase(file)
    const all = await Promise.resolve(store.read(listWorkspaces)).finally(() => store.close())
    return all.map(({ id }) => id)
  } catch {
    return []
  }
}
