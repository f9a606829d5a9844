import { dirname, resolve } from 'node:path'
import { Refusal } from '../../../api/calls/errors.js'
import { withoutUndefined } from '../../../api/values/objects.js'
import {
  type Flow,
  fileOf as fileOfOutput,
  isCrmOutput,
  isFileOutput,
  settingsOf,
} from '../../../flows/read.js'
import { type FlowRequest, lookAhead, runFlow } from '../../../flows/run.js'
import type { Run } from '../../../runs/journal/runs.js'
import { openRuns } from '../../../runs/records.js'
import { shownTarget } from '../../../runs/target-name.js'
import { askingAgain, rowFormat, sharing, vendorOptions, withVendorOptions } from '../../batch/options.js'
import { targetOptionsOf, withRecorded } from '../../batch/request.js'
import { capHeap, createRunPorts, withRunDatabase } from '../../batch/run.js'
import type { Context } from '../../context/context.js'
import { requireCrm } from '../../context/crm.js'
import { isLargePrice, profileInUse } from '../../context/home.js'
import { interruptible } from '../../context/io.js'
import type { CommandFactory } from '../../options/command-environment.js'
import {
  type OptionsOf,
  optionRows,
  positiveWhole,
  runsLocationOf,
  serverAddress,
  sharedOptions,
  whole,
} from '../../options/values.js'
import { fileOf } from '../../output/output.js'
import { startProgress } from '../../output/progress.js'
import { canAsk, confirm, showAbove } from '../../output/prompt.js'
import { countOf, formatCredits, formatNumber, lookOn, oneLine } from '../../output/text.js'
import { noteSourceShown } from '../../target/local-target.js'
import { targetName } from '../../target/resolve-target.js'
import { requireSetUp } from '../setup/set-up.js'
import { newCommand } from './new.js'
import { openFlow, placeOf } from './open.js'
import { importInput, outwardPorts, readListed, rowsOf, searchRunOf, searchVendor } from './ports.js'
import { logReport, showReport } from './report.js'
import {
  findFlow,
  formatFlowQuote,
  listCommand,
  makeFlowQuote,
  noteSpending,
  showCommand,
  startedWith,
  stored,
} from './show.js'

export const flowCommand: CommandFactory = ({ command, group }) =>
  group('flow', 'A whole prospecting workflow in one file', [
    newCommand,
    command('check', 'Check a flow, and send nothing')
      .withTarget()
      .argument(...fileArgument)
      .withOptions(engineOptions)
      .run(async (caller, { args: [file = ''], options }) => {
        const { context } = withRunDatabase(caller, await placeOf(options))
        const { flow, path } = await openFlow(context, file)
        const { name, steps, outputs } = flow
        for (const output of outputs)
          if (isFileOutput(output)) context.claimFile(resolve(dirname(path), fileOfOutput(output)), 'output')
        await requireCrms(context, flow)
        const names = steps.map((step) => step.name).join(', ')
        context.notify(oneLine(`${name}: ${countOf(steps.length, 'step')} (${names}). Nothing is wrong.`))
      }),
    command('quote', 'What a flow is expected to take and to cost in each step, before it starts')
      .argument(...fileArgument)
      .withOptions(engineOptions)
      .printResult(
        async (caller, { args: [file = ''], options }) => {
          const { context, command: own } = withRunDatabase(caller, await placeOf(options))
          const { flow: read, path } = await openFlow(context, file)
          await requireCrms(context, read)
          const flow = await withPrices(context, read)
          const listed = await readListed(context, flow)
          const ports = createRunPorts(context, own)
          const { database } = own
          const content = flow.input.kind === 'list' ? listed : undefined
          const asked = { flow, path, content, database, fresh: false, retryUnknown: false }
          const { isFinished, countFirst } = await lookAhead(asked, ports)
          const counted = isFinished ? undefined : await countFirst()
          const quote = await makeFlowQuote(context, flow, path, listed.length, options, counted)
          return isFinished ? { ...withoutPrices(quote), finished: true } : quote
        },
        { layout: formatFlowQuote },
      ),
    command('run', 'Run a flow; the same command resumes it')
      .argument(...fileArgument)
      .withOptions(runOptions)
      .run((context, { args: [file = ''], options }) => start(context, file, options)),
    showCommand,
    command('resume', 'Resume a flow by its id')
      .addStoredId(stored)
      .withOptions({ ...resumeOptions, ...sharedOptions, ...sharing, ...vendorOptions })
      .run(async (context, invocation) => {
        const { database, shared, ...given } = invocation.options
        const location = runsLocationOf(context, invocation.options)
        const flow = await findFlow(await openRuns(context, location), invocation)
        const { target, budgets } = startedWith(flow)
        const there = context.withGlobals(withRecorded(target, context.globals))
        return start(there, flow.file, withoutUndefined({ ...budgets, ...given, ...location }), flow)
      }),
    listCommand,
  ])

/** Returns the quote of a flow that has finished, whose output is written again for nothing. */
function withoutPrices(quote: Awaited<ReturnType<typeof makeFlowQuote>>) {
  const credits = { min: 0, expected: 0, max: 0 }
  return {
    ...quote,
    credits,
    seconds: 0,
    steps: quote.steps.map(({ providers: _, ...step }) => ({ ...step, credits, seconds: 0 })),
  }
}

const fileArgument = ['<file>', 'the file of the flow, such as leads.yaml'] as const

const resumeOptions = optionRows({
  maxCredits: [
    '<n>',
    'the most credits it may spend, with what it has spent (default: as it was started with)',
    whole,
  ],
})

const engineOptions = optionRows({
  database: [
    '<url>',
    'the PostgreSQL database of engine and runs, postgres://… (default: this machine)',
    serverAddress,
  ],
})

const runOptions = optionRows({
  until: ['<step>', 'take the steps up to this one (its number or name), and print the rows there'],
  rows: ['<n>', 'take the first rows of the input, and print what becomes of them', positiveWhole],
  maxCredits: ['<n>', 'the most credits it may spend, where its file permits more', whole],
  noOutward: ['', 'refuse a flow that starts programs, or sends rows to addresses or a CRM'],
  fresh: ['', 'start a new run instead of resuming; paid answers are reused'],
  retryUnknown: ['', 'retry rows whose call may have been charged without an answer'],
  concurrency: ['<n>', 'rows of a step to look up at the same time (default: 192)', positiveWhole],
  ...engineOptions,
  ...sharing,
  ...vendorOptions,
})

type Given = OptionsOf<typeof runOptions>

/** Runs the flow in a file, also one that has begun, and shows how it ends. Returns the exit code. */
async function start(caller: Context, file: string, given: Given, begun?: Run): Promise<number> {
  const startedAt = caller.clock.now() - (caller.streams.uptime?.() ?? 0)
  const { database } = given
  const place = withRunDatabase(await requireSetUp(caller, database), await placeOf(given))
  const { command: own } = place
  const context = await withVendorOptions(place.context, given)
  // Elsewhere it would begin anew, and pay there.
  if (begun && (await targetName(context)) !== begun.target)
    throw new Refusal('run.other_target', { run: begun.id, target: shownTarget(begun.target) })
  const { path, flow: read } = await openFlow(context, file)
  const sendsOut =
    [...read.steps, ...read.outputs].some(({ kind }) => kind === 'command' || kind === 'http') ||
    read.outputs.some(isCrmOutput)
  if (given.outward === false && sendsOut) throw new Refusal('usage.flow_outward', { flow: read.name })
  const isLook = given.until !== undefined || given.rows !== undefined
  const { max_credits_per_day: perDay, concurrency } = profileInUse(context)
  const output = fileOf(context.globals)
  if (output !== undefined && !isLook) throw new Refusal('usage.flow_output')
  // What is paid for is not to find out in the end that it has nowhere to go.
  if (!isLook) await requireCrms(context, read)
  const flow = await withPrices(context, read)
  const { maxCredits: most = Number.POSITIVE_INFINITY } = given
  const credits = Math.min(flow.budget.credits ?? Number.POSITIVE_INFINITY, most)
  const budget = {
    ...flow.budget,
    per_day: flow.budget.per_day ?? perDay,
    ...(Number.isFinite(credits) ? { credits } : {}),
  }
  const asking = [flow.source, ...flow.steps].flatMap((step) =>
    step?.kind === 'lookup' ? [step.operation] : [],
  )
  await context.requireRecords(asking)
  const isSearched = flow.input.kind === 'provider'
  const known = isSearched ? [] : await readListed(context, flow)
  const request = (listed: Awaited<ReturnType<typeof readListed>>): FlowRequest => ({
    flow: { ...flow, budget },
    path,
    startedAt,
    until: untilOf(flow, given.until),
    rows: given.rows,
    look: isLook
      ? { format: rowFormat(context), path: output && resolve(context.streams.cwd, output) }
      : undefined,
    content: isSearched || flow.input.kind === 'list' ? listed : undefined,
    searched: flow.input.kind === 'provider' ? searchRunOf(flow.name, flow.input) : undefined,
    fresh: given.fresh === true,
    retryUnknown: given.retryUnknown === true,
    moreCredits: context.moreCredits,
    maxCredits: given.maxCredits,
    concurrency: given.concurrency ?? concurrency,
    database: own.database,
    databaseOption: own.databaseOption,
    targetOptions: targetOptionsOf(context.globals),
  })
  const asks = askingAgain(context, given.retryUnknown === true)
  const ports = createRunPorts(asks, own)
  const ahead = canAsk(context) ? await lookAhead(request(known), ports) : undefined
  // What costs nothing is not asked about.
  if (ahead && !ahead.isFinished) {
    const counted = await ahead.countFirst()
    const quote = await makeFlowQuote(context, flow, path, known.length, { database }, counted)
    const shown = await formatFlowQuote(quote, lookOn(context, context.streams.stderr))
    showAbove(context, () => shown)
    noteSourceShown(context)
    const isLarge = isLargePrice(context, quote.budget ?? quote.credits.max, quote.balance)
    await confirm(context, 'Start?', isLarge ? 'no' : 'yes')
  } else await context.notifySource()
  // It is paid for, and asked for when somebody has agreed to it.
  const listed = isSearched ? await searchVendor(context, flow, given) : known
  const progress = await startProgress(
    context,
    ({ rows, credits = 0 }) => `${formatNumber(rows)} rows at the last step · ${formatCredits(credits)}`,
  )
  const uncap = capHeap()
  const outward = outwardPorts(context, dirname(path))
  const report = await interruptible(context.streams, (signal) =>
    runFlow(
      request(listed),
      {
        ...ports,
        forStep: (step) => createRunPorts(asks, step),
        ...outward,
        importInput: (step, more) => importInput(context, step, more),
        rows: () => rowsOf(flow, listed),
        sleep: (ms, aborted) => context.sleep(ms, aborted),
        onBegin: (id) => context.log?.write('begun', { id }),
        onProgress: (counts) => {
          const credits = counts.reduce((sum, one) => sum + one.credits, 0)
          progress.update({ rows: counts.at(-1)?.in ?? 0, credits })
        },
      },
      signal,
    ),
  ).finally(() => {
    progress.stop()
    uncap()
  })
  logReport(context, report)
  await showReport(context, report)
  await noteSpending(context, flow, report, own)
  return report.exit
}

/** Throws where an account is missing that a flow writes to, its key, or a property that the flow names. */
async function requireCrms(context: Context, { outputs, end }: Flow): Promise<void> {
  for (const output of outputs.filter(isCrmOutput)) {
    const { map = {}, fields = [] } = settingsOf(output)
    await requireCrm(context, output.kind, end.about, [...Object.keys(map), ...fields])
  }
}

/** Returns a flow whose lookups cost what they cost at the target. */
async function withPrices(context: Context, flow: Flow): Promise<Flow> {
  const priced = async <S extends Flow['steps'][number]>(step: S): Promise<S> =>
    step.kind === 'lookup' ? { ...step, operation: await context.priced(step.operation) } : step
  const source = flow.source && (await priced({ ...flow.source, kind: 'lookup' as const }))
  return { ...flow, steps: await Promise.all(flow.steps.map(priced)), ...(source ? { source } : {}) }
}

/** Returns how many steps are taken. Throws a Refusal for a step that there is not. */
function untilOf({ steps }: Flow, until: string | undefined): number | undefined {
  if (until === undefined) return undefined
  const at = /^\d+$/.test(until) ? Number(until) : steps.findIndex(({ name }) => name === until) + 1
  if (at >= 1 && at <= steps.length) return at
  const names = steps.map(({ name }, index) => `${index + 1} ${name}`).join(', ')
  throw new Refusal('usage.no_step', { until, names })
}
