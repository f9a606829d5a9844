import { type ChildProcess, spawn } from 'node:child_process'
import { hostname } from 'node:os'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Caller } from '../../../api/calls/caller.js'
import { Refusal, type Report } from '../../../api/calls/errors.js'
import { localOrigin } from '../../../api/values/key-names.js'
import { once, withoutUndefined } from '../../../api/values/objects.js'
import {
  type DashboardPorts,
  engineOf,
  type InboxPort,
  type ListedRun,
  type Problem,
  type RestQuote,
  type RunsPort,
  type ShownLimits,
} from '../../../dashboard/page/view.js'
import type { Dashboard } from '../../../dashboard/server.js'
import { flowOperation, stepsOf } from '../../../flows/run.js'
import type { Run } from '../../../runs/journal/runs.js'
import { askToStop, isRunning, openRuns, type RunRecords } from '../../../runs/records.js'
import { isPostgres } from '../../../storage/driver/connection.js'
import type { KeptEvent } from '../../../storage/state/webhook-inbox.js'
import { isRefused, limitsOf, reportedWindows } from '../../call/limits.js'
import { createSpendingLayer, openSpending } from '../../call/spending.js'
import type { Context } from '../../context/context.js'
import { storedKey } from '../../context/credentials.js'
import { reportOfReply, Stop } from '../../context/errors.js'
import { notSetUp, openEvents, openWorkspaceOwner, suppressorFor } from '../../context/open-databases.js'
import { reportOf } from '../../messages.js'
import { type OptionsOf, optionRows } from '../../options/values.js'
import { targetUrl } from '../../options/webhooks.js'
import { notifyBug, renderRecords } from '../../output/print.js'
import { makeKey } from '../../target/local-target.js'
import { targetIn } from '../../target/resolve-target.js'
import { forgetDeadKey } from '../engine/members.js'
import { checkSent, readNumbers, type SendRequest, sendEvents } from '../events/events.js'
import { invalidRowsOf, toRunView } from '../runs/runs.js'

export interface DashboardChoices {
  readonly isReadOnly: boolean
  readonly origin: () => string
  readonly apiUrl: () => string
  /** Whether calls go through a proxy with keys of this machine's workspace, which records what they cost. */
  readonly isProxy?: boolean
}

export const exposureOptions = optionRows({
  readOnly: ['', 'a read-only dashboard, without buttons'],
})

type ExposureOptions = OptionsOf<typeof exposureOptions> & { readonly public?: boolean }

/** Whether the dashboard refuses every action: also where other machines can reach it. */
export const refusesActions = ({ public: isPublic, readOnly }: ExposureOptions): boolean =>
  readOnly === true || isPublic === true

/** Opens the dashboard of the target of a context over the ports behind the commands. `caller` answers what is tried. */
export async function openDashboard(
  context: Context,
  caller: Caller,
  { isReadOnly, origin, apiUrl, isProxy = false }: DashboardChoices,
): Promise<Dashboard> {
  const { createDashboard } = await import('../../../dashboard/server.js')
  const { watchDatabases } = await import('../../../storage/database/open.js')
  const { engine, state, catalogue } = context.home
  const ports = openEnginePorts(context, caller, isProxy)
  return createDashboard({
    isReadOnly,
    workspace: (await (await ports.admin())?.status())?.workspace,
    ports: {
      ...ports,
      apiUrl,
      source: (member) => context.source(member),
      catalogue: async () => {
        const catalogue = await context.catalogue()
        const suppressor = await suppressorFor(await openWorkspaceOwner(context))
        if (!suppressor) return catalogue
        const record: typeof catalogue.record = async (...given) =>
          (await suppressor.records(await catalogue.record(...given))) as Awaited<ReturnType<typeof record>>
        return { ...catalogue, ...suppressor.source(catalogue), record }
      },
      runs: openRunsPort(context),
      inbox: await openInboxPort(context),
    },
    explain: reportOf,
    report: (error) => notifyBug(context, error),
    watch: (onChange) => {
      const stop = watchDatabases([engine, state, catalogue], onChange)
      // What others do at a server changes no database here.
      const timer = ports.target.isServer ? setInterval(onChange, serverLookMs) : undefined
      return () => {
        clearInterval(timer)
        stop()
      }
    },
    random: (size) => context.ids.bytes(size),
    onLink: (link) => context.notify(`The link was used. For another browser: ${origin()}${link}`),
  })
}

type EnginePorts = Pick<
  DashboardPorts,
  'target' | 'admin' | 'limits' | 'now' | 'call' | 'spent' | 'revokeKey' | 'render'
>

function openEnginePorts(context: Context, caller: Caller, isProxy: boolean): EnginePorts {
  const local = context.withGlobals({ local: true })
  const target = targetIn(context)
  const recorded = isProxy ? caller : createSpendingLayer(context)(caller)
  const spending = once(() => openSpending(context))
  const openAdmin = async () => ((await local.isSetUp()) ? local.admin() : undefined)
  // A command or this page may have revoked it, and the next one made another.
  const localKey = async () => {
    const admin = await engineOf({ admin: openAdmin })
    const { workspace } = await admin.status()
    return storedKey(context.home, localOrigin(workspace.id)) ?? (await makeKey(local, admin))
  }
  const serverLimits = atMostEvery(askedMs, context, () => readServerLimits(context))
  return {
    target:
      target.kind === 'local'
        ? { isServer: false, name: 'local', shown: 'this machine' }
        : { isServer: true, name: target.baseUrl, shown: new URL(target.baseUrl).host },
    admin: openAdmin,
    now: () => context.clock.now(),
    limits: async () => {
      if (target.kind === 'remote') return serverLimits()
      const admin = await openAdmin()
      return admin ? admin.limits(await localKey()) : (reportOf(notSetUp(context.home)) as Problem)
    },
    call: async (operation, input, idempotencyKey) => {
      const apiKey = target.kind === 'local' || isProxy ? await localKey() : await context.apiKey()
      return recorded.call(operation, input, withoutUndefined({ apiKey, idempotencyKey }))
    },
    spent: async (days) => (await spending()).list(days),
    revokeKey: async (id) => {
      const admin = await engineOf({ admin: openAdmin })
      await admin.revokeKey(id)
      await forgetDeadKey(local, admin)
    },
    render: renderRecords,
  }
}

/** How often an open page looks at a server again, in milliseconds. */
const serverLookMs = 60_000

/** A server is asked for its limits no more often than this, in milliseconds, and for so many seconds. */
const askedMs = 1_000
const askedSeconds = 10

/** Returns what a server says of its limits, or why it does not. */
async function readServerLimits(context: Context): Promise<ShownLimits | Problem> {
  const { timeout = askedSeconds } = context.globals
  try {
    const found = await limitsOf(context.withGlobals({ timeout }))
    if (isRefused(found)) return reportOfReply(found.reply)
    return { ...found, windows: await reportedWindows(found) }
  } catch (error) {
    const known = reportOf(error)
    if (known) return known
    throw error
  }
}

/** Returns a function that asks at most once in a time. Who asks meanwhile shares the next answer, which is newer. */
function atMostEvery<T>(
  ms: number,
  { clock, sleep }: Pick<Context, 'clock' | 'sleep'>,
  ask: () => Promise<T>,
): () => Promise<T> {
  let next: Promise<T> | undefined
  let last = Number.NEGATIVE_INFINITY
  return () => {
    next ??= (async () => {
      await sleep(Math.max(0, Math.min(ms, last + ms - clock.now())))
      next = undefined
      last = clock.now()
      return ask()
    })()
    return next
  }
}

/** Opens the inbox of this machine for the dashboard: the functions behind `prospect events`. */
async function openInboxPort(context: Context): Promise<InboxPort> {
  const events = await openEvents(context)
  const ending = new AbortController()
  context.onClose(() => ending.abort())
  const send = async (url: string, numbers: SendRequest['numbers']) => {
    const target = targetUrl(url, 'The field')
    const sent = await sendEvents(context, { events, target, numbers }, ending.signal)
    checkSent(sent, target)
    return sent
  }
  const find = async (id: string): Promise<KeptEvent> => {
    const event = await events.find(id)
    if (!event) throw new Refusal('usage.no_event', { id })
    return event
  }
  return {
    list: (filter, limit, after) => events.list(filter, 'newest', limit, after),
    find: (id) => events.find(id),
    replay: async (id, url) => (await send(url, [(await find(id)).seq]))[0]?.answer ?? 'none',
    forward: async (filter, url) => {
      const which = { filter, limit: Number.POSITIVE_INFINITY }
      return (await send(url, readNumbers(events, which))).length
    },
  }
}

/** Opens the runs for the dashboard: the records behind `prospect runs`, and its commands as processes. */
export function openRunsPort(context: Context): RunsPort {
  const { engine } = context.home
  const local = once(() => openRuns(context))
  const shared = once(() => openRuns(context, { database: engine }))
  const recordsOf = (isShared: boolean) => (isShared ? shared() : local())
  const rateOf = createRates(() => context.clock.now())
  const problems = new Map<string, string>()
  const children = new Set<ChildProcess>()
  context.onClose(() => {
    for (const child of children) child.kill('SIGTERM')
  })

  const find = async (id: string, isShared: boolean): Promise<[Run, RunRecords]> => {
    const records = await recordsOf(isShared)
    const [run] = id === '' ? [] : await records.runs.find(id)
    if (run?.id !== id) throw new Refusal('usage.no_run', { id })
    return [run, records]
  }
  const toListed = async (run: Run, records: RunRecords): Promise<ListedRun> => {
    const view = await toRunView(context, run, records)
    const rate = view.status === 'running' ? rateOf(run) : undefined
    return { ...view, number: run.number, ...(rate === undefined ? {} : { rate }) }
  }
  const holderOf = async (run: Run, { locks }: RunRecords) =>
    (await isRunning(context, run, locks)) ? locks.holder(run.identityKey) : undefined
  const start = (args: readonly string[], stdout: 'ignore' | 'pipe', isShared: boolean) => {
    if (children.size >= maxChildren) {
      const command = args.slice(0, 3).join(' ')
      throw new Refusal('usage.dashboard_busy', { most: maxChildren, command })
    }
    const started = startCommand(context, [...args, ...(isShared ? ['--shared'] : [])], stdout)
    children.add(started.child)
    started.child.once('close', () => children.delete(started.child))
    return started
  }

  return {
    canShare: isPostgres(engine),
    list: async (filter, isShared) => {
      const records = await recordsOf(isShared)
      return Promise.all((await records.runs.list(filter)).map((run) => toListed(run, records)))
    },
    show: async (id, isShared) => {
      const [run, records] = await find(id, isShared)
      const answers = await records.runs.countAnswers(run)
      const holder = await holderOf(run, records)
      const steps = run.operation === flowOperation ? { steps: await stepsOf(run, records) } : {}
      const known = { ...steps, answers, invalid: invalidRowsOf(run), holder, problem: problems.get(id) }
      return { ...(await toListed(run, records)), ...known }
    },
    quote: async (id, isShared) => {
      const [run] = await find(id, isShared)
      const args = ['runs', 'resume', run.id, '--dry-run', '--json', ...budgetOption(noBudget)]
      const { child, ended } = start(args, 'pipe', isShared)
      const [printed] = await Promise.all([text(child.stdout as Readable), ended])
      return JSON.parse(printed) as RestQuote
    },
    resume: async (id, isShared, mostCredits) => {
      const [run] = await find(id, isShared)
      problems.delete(id)
      const budget = budgetOption(run.credits + run.reserved + mostCredits)
      const { ended } = start(['runs', 'resume', run.id, '--yes', ...budget], 'ignore', isShared)
      ended.catch((error: Error) => problems.set(id, error.message))
    },
    stop: async (id, isShared) => {
      const [run, records] = await find(id, isShared)
      const holder = await holderOf(run, records)
      if (holder === undefined) throw new Refusal('usage.run_ended')
      const [, pid, , host] = /^process (\d+), since \S+?(, on (.+))?$/.exec(holder) ?? []
      if (pid === undefined || (host !== undefined && host !== hostname()))
        throw new Refusal('usage.run_elsewhere', { holder })
      askToStop(context, Number(pid), run)
    },
    export: async (id, isShared) => {
      const [run] = await find(id, isShared)
      const { child, ended } = start(['runs', 'export', run.id, '--format', 'csv'], 'pipe', isShared)
      return streamOf(child, ended)
    },
  }
}

/** Maximum number of commands at once. Each takes the memory and the time of a program beside the server. */
const maxChildren = 2

/** More than any run costs. The budget that stopped a run would hide the price of its rest. */
const noBudget = 1_000_000_000

const budgetOption = (credits: number): readonly string[] => ['--max-credits', String(credits)]

/** Exit codes of commands that did what they were asked for; rows may have failed. */
const done = [0, 11]

/** Starts a command of this program. `ended` rejects with what it said when it failed. */
function startCommand({ streams, home }: Context, args: readonly string[], stdout: 'ignore' | 'pipe') {
  const [, program = ''] = process.argv
  const child = spawn(process.execPath, [program, ...args, '--no-input'], {
    cwd: streams.cwd,
    env: { ...streams.env, ...(isPostgres(home.engine) ? { PROSPECT_DATABASE_URL: home.engine } : {}) },
    stdio: ['ignore', stdout, 'pipe'],
  })
  let said = ''
  child.stderr?.on('data', (text: Buffer) => {
    said = (said + text.toString()).slice(-10_000)
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (done.includes(code ?? 1) ? resolve() : reject(refusalOf(said, code))))
  })
  // Who waits for it gets the error.
  ended.catch(() => {})
  return { child, ended }
}

/** Returns the refusal that a command printed as the last line of stderr. */
function refusalOf(said: string, code: number | null): Stop {
  const line = said.trimEnd().split('\n').at(-1) ?? ''
  try {
    const { error, hint, exit_code, code: name } = JSON.parse(line) as Report
    return new Stop(error, exit_code, hint, name)
  } catch {
    return new Stop(line || 'The command ended without a message.', code ?? 1)
  }
}

/** Returns what a command prints, from its first part on; rejects when it fails before. */
async function streamOf(child: ChildProcess, ended: Promise<void>): Promise<ReadableStream<Uint8Array>> {
  const read = async function* (): AsyncGenerator<Buffer> {
    yield* child.stdout as Readable
    // Half a file must not look like a whole one.
    await ended
  }
  const parts = read()
  const first = await parts.next()
  const all = async function* () {
    if (!first.done) yield first.value
    yield* parts
  }
  return ReadableStream.from(all())
}

/** How far back the rate of a run looks, in milliseconds. */
const rateMs = 20_000

function createRates(now: () => number): (run: Run) => number | undefined {
  const looks = new Map<string, { readonly at: number; readonly done: number }[]>()
  return ({ id, done: rows }) => {
    const at = now()
    const recent = (looks.get(id) ?? []).filter((look) => at - look.at < rateMs)
    if (recent.at(-1)?.done !== rows) recent.push({ at, done: rows })
    looks.set(id, recent)
    const [first] = recent
    if (!first || at - first.at < 1_000) return undefined
    return (rows - first.done) / ((at - first.at) / 1_000)
  }
}
