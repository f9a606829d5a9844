import { type Input, isOk } from '../../../api/calls/caller.js'
import { Refusal } from '../../../api/calls/errors.js'
import { isoDay } from '../../../api/values/dates.js'
import { type Fields, withoutUndefined } from '../../../api/values/objects.js'
import { type Spent, spentDimensions, sumSpent, totalSpent } from '../../../runs/journal/spending.js'
import { openRuns, type RunsLocation } from '../../../runs/records.js'
import { isServerName, shownTarget } from '../../../runs/target-name.js'
import {
  formatVendorCosts,
  spentAtProviders,
  sumOfVendors,
  vendorRunsOf,
  withSteps,
} from '../../batch/vendor-costs.js'
import { callOnce } from '../../call/send.js'
import { openSpending } from '../../call/spending.js'
import type { Context } from '../../context/context.js'
import { reportOfReply, Stop } from '../../context/errors.js'
import { among, type CommandFactory, resolveIds } from '../../options/command-environment.js'
import {
  contextOfRuns,
  listOf,
  type OptionsOf,
  optionRows,
  readTimes,
  runsLocationOf,
  sharedOptions,
  timeOptions,
} from '../../options/values.js'
import { formatOf } from '../../output/output.js'
import { print } from '../../output/print.js'
import { profileName, targetName, targetTime } from '../../target/resolve-target.js'
import { stored } from '../runs/runs.js'

const ledgerOptions = optionRows({
  by: [
    '<what,…>',
    `sum it by ${spentDimensions.join(' | ')}, or several: member,day`,
    listOf(spentDimensions),
  ],
  ...timeOptions,
  member: ['<email>', 'only what this member spent'],
  run: ['<id>', 'only this run, or the steps of this flow (an id or its beginning)'],
  provider: ['<name>', 'only what this data vendor of your own was asked'],
  ...sharedOptions,
})

export const ledgerCommand: CommandFactory = (environment) =>
  environment
    .command('ledger', 'What the commands of this machine spent, on any target')
    .withOptions(ledgerOptions)
    .reads('records')
    .run(async (context, { options }) => {
      const { by, member, run, provider } = options
      const location = runsLocationOf(context, options)
      const spending = await openSpending(context, location)
      const days = readDays(context, options)
      const listed = await spending.list({ ...days, profile: context.globals.profile })
      const own = listed.map((one) => ({ ...one, target: shownTarget(one.target) }))
      const ofProviders = provider !== undefined || by?.includes('provider') === true
      const records = ofProviders || run !== undefined ? await openRuns(context, location) : undefined
      // One that was killed may have asked vendors and spent nothing here.
      const known = vendorRunsOf((await records?.runs.list()) ?? [])
      const all = ofProviders ? [...own, ...(await spentAtProviders(context, days, known))] : own
      const ofPerson = { args: run === undefined ? [] : [run], options: {} }
      const runs =
        records && run !== undefined
          ? await withSteps(await resolveIds(ofPerson, stored, among([...new Set(known.values())])), records)
          : undefined
      const isAsked = (one: Spent) =>
        (runs === undefined || (one.run !== null && runs.has(one.run))) &&
        (provider === undefined || one.provider === provider) &&
        (member === undefined || one.member?.toLowerCase() === member.toLowerCase())
      const spent = all.filter(isAsked)
      if (spent.length === 0) noteUnknown(context, all, { member, provider })
      const apart = runs && !ofProviders ? (await spentAtProviders(context, days, known)).filter(isAsked) : []
      const usual = ['day', 'profile', 'target', 'operation', 'run']
      const names = by ?? (provider === undefined ? usual : [...usual, 'provider'])
      const total = totalSpent(spent)
      const ofCosts = ofProviders ? ['cost', 'at_risk'] : []
      const columns = [...names, 'calls', 'credits', ...ofCosts, 'suspect', ...(by ? [] : ['member'])]
      const sums: readonly Fields[] = by ? sumSpent(spent, by) : spent
      const rows = sums.map((row) => Object.fromEntries(columns.map((name) => [name, row[name] ?? null])))
      const isShort = total.suspect === 0 && formatOf(context) === 'table'
      await print(context, rows, {
        columns: isShort ? columns.filter((name) => name !== 'suspect') : columns,
        optional: by ? ['calls'] : ['target', 'profile', 'member', 'calls'],
        ids: ['run'],
        empty: apart.length > 0 ? 'No credits were spent.' : 'Nothing was spent.',
        total,
      })
      const vendors = formatVendorCosts(sumOfVendors(apart))
      if (vendors !== '') context.notify(`${vendors} --by provider lists them.`)
    })
    .addCommand(checkCommand(environment))

/** Names the members or vendors on record where the given one is not, so that a typing error does not look like no spending. */
function noteUnknown(
  context: Context,
  all: readonly Spent[],
  given: Readonly<Record<'member' | 'provider', string | undefined>>,
): void {
  for (const kind of ['member', 'provider'] as const) {
    const names = [...new Set(all.flatMap((one) => one[kind] ?? []))].sort()
    const name = given[kind]
    if (name === undefined || names.some((one) => one.toLowerCase() === name.toLowerCase())) continue
    const known =
      names.length > 0 ? `Recorded ${kind}s: ${names.join(', ')}.` : `Nothing is recorded for any ${kind}.`
    context.notify(`Nothing is recorded for ${kind} ${name}. ${known}`)
  }
}

export const checkCommand: CommandFactory = ({ command }) =>
  command('check', 'Compare with the consumption that the server reports; exit 13 if more is recorded here')
    .withOptions({ ...timeOptions, ...sharedOptions })
    .reads('engine')
    .run(async (outer, { options }) => {
      const { context, location } = contextOfRuns(outer, options)
      const days = readDays(context, options)
      const verdicts = []
      for (const target of await targetsToCheck(context, location, days))
        verdicts.push(await compareWithTarget(target, location, days))
      await print(context, verdicts.length === 1 ? verdicts[0] : verdicts)
      const wrong = verdicts.find(({ ok }) => !ok)
      if (wrong) throw new Refusal('usage.ledger_differs', wrong)
    })

/**
 * Returns the contexts of the targets to compare with: the chosen one; where that is the engine of this machine only by
 * default, also the servers that members spent at through a proxy, and the engine only where it spent something itself.
 */
async function targetsToCheck(context: Context, location: RunsLocation, days: Days): Promise<Context[]> {
  if (!context.isLocal() || context.globals.local) return [context]
  const spent = await (await openSpending(context, location)).list({ ...days, profile: profileName(context) })
  const atServers = spent.filter(({ target, member }) => member !== null && isServerName(target))
  const servers = [...new Set(atServers.map(({ target }) => target))].map((baseUrl) =>
    // It was permitted when the proxy was started.
    context.withGlobals({ baseUrl, insecureHttp: true }),
  )
  const own = await targetName(context)
  return servers.length > 0 && !spent.some(({ target }) => target === own) ? servers : [context, ...servers]
}

/** Returns what is on record here beside what the target says that all of its users consumed. */
async function compareWithTarget(context: Context, location: RunsLocation, days: Days) {
  const who = { profile: profileName(context), target: await targetName(context) }
  const spending = await openSpending(context, location)
  const spent = await spending.list({ ...days, ...who })
  const ledger = spent.reduce((sum, { credits }) => sum + credits, 0)
  const range = await chooseRange(context, days, spent)
  const consumed = await readConsumption(context, range)
  return {
    ...who,
    target: shownTarget(who.target),
    ...range,
    ledger,
    target_says: consumed,
    elsewhere: Math.max(0, consumed - ledger),
    // Credits held here for rows whose outcome is unknown.
    open: await spending.open(who),
    ok: ledger <= consumed,
  }
}

/** Returns the given days, by default all on record until today. The engine's clock may have another day. */
async function chooseRange(context: Context, { from, to }: Days, spent: readonly Spent[]) {
  const today = isoDay(context.clock.now())
  const itsToday = isoDay(await targetTime(context))
  const [start = today] = [from ?? spent[0]?.day, today, itsToday].filter((one) => one !== undefined).sort()
  const [end = today] = [to ?? today, itsToday].sort().reverse()
  return { start_date: from ?? start, end_date: to ?? end }
}

async function readConsumption(context: Context, range: Input) {
  const reply = await callOnce(context, 'credits.consumption', range)
  if (isOk(reply)) return (reply.body as { readonly credits_consumed: number }).credits_consumed
  const { error, exit_code, hint, code } = reportOfReply(reply)
  throw new Stop(error, exit_code, hint, code)
}

type Days = ReturnType<typeof readDays>

/** Returns days in UTC, both included; unbounded where absent. */
function readDays({ clock }: Context, options: OptionsOf<typeof timeOptions>) {
  const { since, until } = readTimes(options, clock.now())
  const day = (at: number | undefined) => (at === undefined ? undefined : isoDay(at))
  return withoutUndefined({ from: day(since), to: day(until && until - 1) })
}
