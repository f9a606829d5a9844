import { type ChildProcess, spawn } from 'node:child_process'
import { hostname } from 'node:os'
import { once } from '../../../api/values/once.js'
import type { ListedRun, RestQuote, RunsPort } from '../../../dashboard/page/ports.js'
import type { Run } from '../../../runs/journal/runs.js'
import { isRunning, openRuns, type RunRecords } from '../../../runs/records.js'
import { isPostgres } from '../../../storage/driver/connection.js'
import { toRunHome } from '../../batch/run-home.js'
import type { Context } from '../../context/context.js'
import { type Report, Stop, UsageError } from '../../context/errors.js'
import { invalidRowsOf, toRunView } from '../runs/show.js'

/** Opens the runs for the dashboard: the records behind `prospect runs`, and its commands as processes. */
export function openRunsPort(context: Context): RunsPort {
  const { engine } = context.home
  const local = once(() => openRuns(toRunHome(context)))
  const shared = once(() => openRuns(toRunHome(context), { database: engine }))
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
    if (run?.id !== id) throw new UsageError(`There is no run ${id}.`, 'It may have been forgotten.')
    return [run, records]
  }
  const toListed = async (run: Run, records: RunRecords): Promise<ListedRun> => {
    const view = await toRunView(context, run, records)
    const rate = view.status === 'running' ? rateOf(run) : undefined
    return { ...view, number: run.number, ...(rate === undefined ? {} : { rate }) }
  }
  const holderOf = async (run: Run, { locks }: RunRecords) =>
    (await isRunning(context, run, locks)) ? locks.holder(run.knownBy) : undefined
  const start = (args: readonly string[], stdout: 'ignore' | 'pipe', isShared: boolean) => {
    if (children.size >= maxChildren)
      throw new UsageError(
        `The dashboard is already running ${maxChildren} commands, its maximum.`,
        `Wait until one has ended, or use a terminal: prospect ${args.slice(0, 3).join(' ')}`,
      )
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
      const known = { answers, invalid: invalidRowsOf(run), holder, problem: problems.get(id) }
      return { ...(await toListed(run, records)), ...known }
    },
    quote: async (id, isShared) => {
      const [run] = await find(id, isShared)
      const { child, ended } = start(
        ['runs', 'resume', run.id, '--dry-run', '--json', ...budgetOption(noBudget)],
        'pipe',
        isShared,
      )
      const parts: Buffer[] = []
      child.stdout?.on('data', (part: Buffer) => parts.push(part))
      await ended
      return JSON.parse(Buffer.concat(parts).toString()) as RestQuote
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
      if (holder === undefined) throw new UsageError('The run is not running.', 'It has ended meanwhile.')
      const [, pid, , host] = /^process (\d+), since \S+?(, on (.+))?$/.exec(holder) ?? []
      if (pid === undefined || (host !== undefined && host !== hostname()))
        throw new UsageError(`The run is on another machine (${holder}).`, 'Stop it there.')
      process.kill(Number(pid), 'SIGTERM')
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

/** Returns the option for the maximum cost of a run, with all its parts. */
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
  const parts = (child.stdout as NodeJS.ReadableStream)[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const first = await parts.next()
  if (first.done) await ended
  let next: IteratorResult<Buffer> | undefined = first
  return new ReadableStream({
    pull: async (controller) => {
      const part = next ?? (await parts.next())
      next = undefined
      if (!part.done) return controller.enqueue(part.value)
      // Half a file must not look like a whole one.
      await ended.then(
        () => controller.close(),
        (error: unknown) => controller.error(error),
      )
    },
    cancel: () => void child.kill('SIGTERM'),
  })
}

/** How far back the rate of a run looks, in milliseconds. */
const rateMs = 20_000

/** Returns a function that measures the rows per second of running runs from one look to the next. */
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
