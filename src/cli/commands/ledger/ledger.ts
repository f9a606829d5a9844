import { InvalidArgumentError } from 'commander'
import { isOk } from '../../../api/calls/caller.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { operation } from '../../../api/operations/table.js'
import { dayOf } from '../../../api/values/dates.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import { type Spent, sumSpent } from '../../../runs/journal/spending.js'
import type { RunsLocation } from '../../../runs/records.js'
import type { Context } from '../../context/context.js'
import { reportOfReply, Stop, UsageError } from '../../context/errors.js'
import { callOnce } from '../../operation/call.js'
import { openSpending } from '../../operation/record-spending.js'
import type { CommandFactory, Invocation } from '../../options/command-environment.js'
import { contextOfRuns, runPlaceOf, sharedOptions } from '../../options/databases.js'
import { type OptionsOf, optionRows } from '../../options/option-rows.js'
import { print } from '../../output/print.js'
import { formatCredits, formatNumber } from '../../output/text.js'
import { profileName, targetName } from '../../target/resolve-target.js'

/** The options that select days in UTC. */
const dayOptions = optionRows({
  from: ['<day>', 'from this day on (UTC), such as 2026-01-31', parseDay],
  to: ['<day>', 'to this day, included', parseDay],
})

/** Days in UTC, both included; unbounded where absent. */
type Days = OptionsOf<typeof dayOptions>

/** What spending can be summed by. */
const groupings = ['run', 'day', 'operation', 'profile', 'member'] as const

const ledgerOptions = optionRows({
  ...dayOptions,
  ...sharedOptions,
  by: ['<what>', 'sum it by run | day | operation | profile | member', groupings],
})

/** `prospect ledger`: what the commands of this machine spent, on any target. */
export const ledgerCommand: CommandFactory = (environment) =>
  environment
    .command('ledger', 'What the commands of this machine spent, on any target')
    .withOptions(ledgerOptions)
    .reads('records')
    .run(showLedger)
    .addCommand(checkCommand(environment))

async function showLedger(
  context: Context,
  { options }: Invocation<OptionsOf<typeof ledgerOptions>>,
): Promise<number> {
  const { by } = options
  const spending = await openSpending(context, runPlaceOf(context, options))
  const spent = await spending.list({ ...readDays(options), profile: context.globals.profile })
  const names = by ? [by] : ['day', 'profile', 'target', 'operation', 'run']
  const records = by ? sumSpent(spent, by).map(({ key, ...sum }) => ({ [by]: key, ...sum })) : spent
  const isDoubted = spent.some(({ doubted }) => doubted > 0)
  await print(context, records, {
    columns: [...names, 'calls', 'credits', ...(isDoubted ? ['doubted'] : []), ...(by ? [] : ['member'])],
    optional: ['target', 'profile', ...(by ? [] : ['member']), 'calls'],
    ids: ['run'],
  })
  return exitCodes.ok
}

/** `prospect ledger check`: compares what is on record here with what the target says was consumed. */
export const checkCommand: CommandFactory = ({ command }) =>
  command('check', 'Compare with the consumption that the server reports; exit 13 if more is recorded here')
    .withOptions({ ...dayOptions, ...sharedOptions })
    .reads('engine')
    .run(async (outer, { options }) => {
      const { context, place } = contextOfRuns(outer, options)
      const verdict = await compareWithTarget(context, place, readDays(options))
      await print(context, verdict)
      if (verdict.ok) return exitCodes.ok
      throw new Stop(
        `This machine recorded ${formatCredits(verdict.ledger)}, but the target reports only ${formatNumber(verdict.target_says)}.`,
        exitCodes.checkFailed,
        'Compare the days with prospect ledger --by day. Check that the key belongs to the same workspace as before.',
        'ledger_differs',
      )
    })

/** Returns what is on record here beside what the target says that all of its users consumed. */
async function compareWithTarget(context: Context, place: RunsLocation, days: Days) {
  const who = { profile: profileName(context), target: await targetName(context) }
  const spending = await openSpending(context, place)
  const spent = await spending.list({ ...days, ...who })
  const ledger = spent.reduce((sum, { credits }) => sum + credits, 0)
  const range = await chooseRange(context, days, spent)
  const consumed = await readConsumption(context, range)
  return {
    ...who,
    ...range,
    ...{ ledger, target_says: consumed, elsewhere: Math.max(0, consumed - ledger) },
    // Credits held here for rows whose outcome is unknown.
    open: await spending.open(who),
    ok: ledger <= consumed,
  }
}

interface DayRange {
  readonly start_date: string
  readonly end_date: string
}

/** Returns the given days, by default all on record until today. The engine's clock may have another day. */
async function chooseRange(context: Context, { from, to }: Days, spent: readonly Spent[]): Promise<DayRange> {
  const today = isoDay(context.clock.now())
  const itsToday = context.isLocal() ? isoDay((await (await context.admin()).clock()).now) : today
  const [start = today] = [from ?? spent[0]?.day, today, itsToday].filter((one) => one !== undefined).sort()
  const [end = today] = [to ?? today, itsToday].sort().reverse()
  return { start_date: from ?? start, end_date: to ?? end }
}

const isoDay = (at: number): string => new Date(at).toISOString().slice(0, 10)

async function readConsumption(context: Context, range: DayRange): Promise<number> {
  const caller = await context.caller()
  const reply = await callOnce(context, caller, operation('credits.consumption'), { ...range })
  if (!isOk(reply)) {
    const { error, exit_code, hint, code } = reportOfReply(reply)
    throw new Stop(error, exit_code, hint, code)
  }
  return (reply.body as { readonly credits_consumed: number }).credits_consumed
}

function parseDay(text: string): string {
  if (dayOf(text) === undefined) throw new InvalidArgumentError('Give a day such as 2026-01-31.')
  return text
}

/** Returns the days that the options select. */
export function readDays({ from, to }: Days): Days {
  if (from !== undefined && to !== undefined && from > to)
    throw new UsageError('--from is after --to.', 'Swap them.')
  return withoutUndefined({ from, to })
}
