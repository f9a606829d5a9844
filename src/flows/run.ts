import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { type Caller, ConnectionLost, type Input } from '../api/calls/caller.js'
import { Refusal } from '../api/calls/errors.js'
import { exitCodes } from '../api/calls/exit-codes.js'
import { isPriced } from '../api/operations/facts.js'
import { parseJson, toCanonicalJson, toJson } from '../api/values/json.js'
import { hashNumber, hashOf } from '../csv/identity-filter.js'
import type { ListKind } from '../lists/list-index.js'
import { usedByRuns } from '../lookups/budgets.js'
import { changeRun } from '../lookups/leases.js'
import { openNumbers } from '../lookups/numbers.js'
import { failedRowsOf, identifiedOf, leftOutRowsOf } from '../lookups/store.js'
import { addFiles, beginRun, openCalls, openQuoted, openRun } from '../runs/begin-or-resume.js'
import { hashOfFile, isForeign, isOutdated, likeOf } from '../runs/find-run.js'
import { positionsOf } from '../runs/input/mapping.js'
import type { Run, RunIdentity } from '../runs/journal/runs.js'
import { stopKilledRuns } from '../runs/killed-runs.js'
import { isRecords, mapList, openKnownRows, openListFile } from '../runs/lists.js'
import { countRows, type RowCounts } from '../runs/plan/quote.js'
import type { RunPorts } from '../runs/ports.js'
import { holdRun, openRuns, type RunRecords } from '../runs/records.js'
import { type BatchRequest, defaultMaxAgeMs } from '../runs/request.js'
import {
  Chain,
  cellsOf,
  type FlowStop,
  type KnownRows,
  limitsBehind,
  lookupFor,
  openOnlyIf,
  type RunStep,
  type SortedOrders,
  type Stage,
  type StepCount,
  standIn,
} from './chain.js'
import { asFields, type FlowRow } from './fields.js'
import type { RowCaller } from './http.js'
import { tableRows } from './inputs.js'
import { type Look, openOutputs, type SendPorts } from './outputs.js'
import { type CommandStep, type Flow, type HttpStep, isRowStep, type LookupStep, type Step } from './read.js'

export interface FlowRequest {
  readonly flow: Flow
  /** Absolute path of its file. */
  readonly path: string
  /** When the command began, in real time. */
  readonly startedAt: number
  /** How many of its steps are taken; all of them where absent. */
  readonly until?: number | undefined
  /** Takes the first rows of its input only. */
  readonly rows?: number | undefined
  /** What makes its input the same, where that is neither a table nor a search. */
  readonly content?: unknown
  /** What the search of a data vendor is recorded as that has brought the rows; absent where none has. */
  readonly searched?: string | undefined
  /** Where rows are shown that a person looks at before the outputs are written. */
  readonly look?: Look | undefined
  /** Starts new runs. */
  readonly fresh: boolean
  readonly retryUnknown: boolean
  /** Most credits of this execution, beside what earlier ones of the flow have spent. */
  readonly moreCredits?: number | undefined
  /** What its command permits where the file permits more: it is recorded, for who resumes the flow by its id. */
  readonly maxCredits?: number | undefined
  readonly concurrency?: number | undefined
  /** Address of the database with the records of its runs; this machine's state when absent. */
  readonly database?: string | undefined
  readonly databaseOption?: string | undefined
  /** The options that choose the target, for the record. */
  readonly targetOptions: Readonly<Record<string, unknown>>
}

export interface FlowPorts extends RunPorts {
  /** Returns what the run of a step needs. */
  forStep(request: BatchRequest): RunPorts
  rows(): AsyncIterable<readonly FlowRow[]>
  /** What outputs that are no files are written with. */
  readonly send: SendPorts
  /** Returns what answers the rows of a step that is no lookup. */
  custom(step: CommandStep | HttpStep): Promise<RowCaller>
  /** Returns the request of an import, with ids for names, for so many more records as the quota permits. */
  importInput(step: Pick<LookupStep, 'operation' | 'shape' | 'constants'>, more: number): Promise<Input>
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Called with the id of its record when it begins. */
  onBegin(id: string): void
  onProgress(counts: readonly StepCount[]): void
}

/** What is recorded of a flow, as JSON. */
export interface FlowRecord {
  readonly flow: string
  readonly steps: readonly StepCount[]
  /** The search that the rows come from, as it is written; absent where they come from elsewhere. */
  readonly search?: unknown
  /** What the search of a data vendor is recorded as that the rows come from; absent where they come from elsewhere. */
  readonly searched?: string | undefined
  /** How many rows each step makes of one. */
  readonly rowsOfOne: readonly number[]
  /** By step with a limit, the places of the rows that it took out of the flow; absent where nobody asks for them. */
  readonly over?: Readonly<Record<string, readonly number[]>> | undefined
  /** By step that sorts, the places of its rows in the order in which they go on. */
  readonly order?: SortedOrders | undefined
  readonly written: number
  readonly stopped?: FlowStop | undefined
  readonly maxCredits?: number | undefined
  /** The runs that its budget is for: those of its steps, also ones that were begun anew. */
  readonly runs: readonly number[]
  readonly globals: FlowRequest['targetOptions']
}

export type FlowReport = Awaited<ReturnType<typeof runFlow>>

/** The operation of the record of a flow, among those of runs. */
export const flowOperation = 'flow'

/** Lookups of a step at the same time: there are several steps. */
const lookupsAtOnce = 192
/** Imports that are awaited at the same time. */
const importsAtOnce = 16
/** How often the counts of a flow are recorded while it runs. */
const recordEveryMs = 1_000

/** Returns what identifies what a flow does: a digest of a value. */
export const digestOf = (value: unknown): string =>
  createHash('sha256').update(toCanonicalJson(value)).digest('hex').slice(0, 32)

/** Returns what a flow, or a run of one of its steps, is known by. */
export const keyOfFlow = (
  { flow, path }: Pick<FlowRequest, 'flow' | 'path'>,
  workspace: string,
  parts: readonly unknown[],
): string => digestOf([flow.name, path, workspace, ...parts])

/** What says which flow is meant, and what is to be asked again. */
type AskedFlow = Pick<
  FlowRequest,
  'flow' | 'path' | 'until' | 'content' | 'fresh' | 'retryUnknown' | 'database'
>

/** Opens the records of runs, and returns what a flow is known by there. */
async function identifyFlow(asked: AskedFlow, ports: RunPorts) {
  const { flow, path } = asked
  const steps: readonly Step[] = [...(flow.source ? [flow.source] : []), ...flow.steps.slice(0, asked.until)]
  const records = await openRuns(ports, { database: asked.database })
  const target = await ports.target.name()
  const workspace = await ports.target.workspace()
  const notBefore = await ports.target.answersFrom()
  const identify = (parts: readonly unknown[], operation: string): RunIdentity => {
    const identityKey = keyOfFlow(asked, workspace, parts)
    return { target, identityKey, operation, workspace, file: path, fileHash: '' }
  }
  const lists = await openKnownLists(ports, flow.skipKnown)
  const content = [await contentOf(asked), lists?.fingerprint]
  const identity = identify([content, steps.map(({ written }) => written)], flowOperation)
  /** Returns the run that another one is to go on from. */
  const findSame = async (own: RunIdentity): Promise<Run | undefined> => {
    const known = asked.fresh ? undefined : await records.runs.known(own)
    return !known || isOutdated(known, notBefore) || isForeign(known, own) ? undefined : known
  }
  /** Returns the data vendors that can be asked now about rows of a run, and could not. */
  const askable = async (run: Run, id = run.id) => {
    const names = await records.runs.vendorsNotAsked(run)
    return ports.target.vendorsToAsk({ id, operation: run.operation }, names)
  }
  /** Whether a finished flow has rows that are to be asked about again, or can be now. */
  const isOpen = async (ended: Run): Promise<boolean> =>
    (asked.retryUnknown && (await hasUnknown(records, ended))) ||
    (await hasStep(records, ended, async (run) => (await askable(run)).size > 0))
  return { steps, records, identify, notBefore, lists, content, identity, findSame, askable, isOpen }
}

/**
 * Returns whether a flow has finished before, and has nothing left to ask: running it writes its output again, and costs nothing.
 * What the search of a data vendor brings is not known before it is made. `countFirst` counts what the rows of a table need in
 * the first step, with the answers that they have already; it returns `undefined` where what comes to that step is not known, or
 * no lookup of it is paid for. Nothing is sent.
 */
export async function lookAhead(asked: AskedFlow, ports: RunPorts) {
  const own = await identifyFlow(asked, ports)
  const mayFinish = !asked.flow.since && asked.flow.input.kind !== 'provider'
  const same = mayFinish ? await own.findSame(own.identity) : undefined
  const isFinished = same?.status === 'finished' && !(await own.isOpen(same))
  return { isFinished, countFirst: () => countFirst(asked, ports, own) }
}

type IdentifiedFlow = Awaited<ReturnType<typeof identifyFlow>>

async function countFirst(
  asked: AskedFlow,
  ports: RunPorts,
  { records, identify, notBefore, lists, content, findSame }: IdentifiedFlow,
): Promise<RowCounts | undefined> {
  const { flow } = asked
  const { table, since } = flow
  const [step] = flow.steps
  if (!table || since || step?.kind !== 'lookup' || !isPriced(step.operation) || step.operation.starts)
    return undefined
  const importInput = async ({ constants }: typeof step) => constants
  const request = await requestFor({ importInput }, { ...asked, targetOptions: {} }, step, '', 0)
  const { header, ofFile, lookup } = await lookupFor(ports, step, request, undefined)
  const identity = identify([[content, undefined], step.written], step.operation.id)
  const batch = { request, records, identity, like: '', known: await findSame(identity), notBefore }
  const input = { id: '', isPiped: false, keep: () => {} }
  const lookups = await openQuoted(ports, { ...batch, input })
  const isAsked = await openOnlyIf(step)
  const place = { step, ...(ofFile && { ofFile }) }
  async function* rows() {
    for await (const some of tableRows(table as NonNullable<typeof table>))
      yield some.map(({ line, fields }) => {
        const isLeft = fields === undefined || lists?.has(step?.before.about ?? 'companies', fields) === true
        const isAbout = !isLeft && isAsked?.(fields) !== false
        return { line, cells: cellsOf(place, { line, fields }, isAbout) }
      })
  }
  const seen = openNumbers()
  const funds = Number.POSITIVE_INFINITY
  const counting = { ...lookup, table: { header, rows }, lookups, funds, isNew: seen.add }
  return countRows(counting).finally(() => seen.close())
}

/** Runs a flow, or resumes it: each step is a run, and its rows stream into the next one. */
export async function runFlow(asked: FlowRequest, ports: FlowPorts, interrupted: AbortSignal) {
  const begun = ports.clock.now()
  const { flow, path, look } = asked
  const { source, since } = flow
  const own = await identifyFlow(asked, ports)
  const { steps, records, identify, notBefore, lists, content, identity, askable } = own
  await stopKilledRuns(records, undefined, ports.target.engine)
  await holdRun(ports, records.locks, identity.identityKey, { of: 'run' })
  const ended = await own.findSame(identity)
  // A finished flow with rows that are to be asked about again goes on there.
  const isReopened = ended?.status === 'finished' && (await own.isOpen(ended))
  const findSame = async (of: RunIdentity): Promise<Run | undefined> => {
    const known = await own.findSame(of)
    return known && isReopened ? { ...known, status: 'stopped' } : known
  }
  const same = isReopened ? await findSame(identity) : ended
  // It ended while this command began, which would find nothing new and write that over what the other one has found.
  const finished = since ? await records.runs.list({ status: 'finished' }) : []
  const pastRuns = finished.filter((run) => isRecordOf(run, flow.name, path))
  if (pastRuns.some(({ endedAt }) => (endedAt ?? 0) > asked.startedAt))
    throw new Refusal('flow.just_ended', { flow: flow.name })
  // What the last run had is left out, so that it is not written again.
  const known = since && same?.status === 'finished' ? undefined : same
  const wasFinished = known?.status === 'finished'
  const stop = new AbortController()
  const onInterrupt = () => stop.abort(interrupted.reason)
  if (interrupted.aborted) onInterrupt()
  interrupted.addEventListener('abort', onInterrupt, { once: true })
  const end = asked.until === undefined ? flow.end : (flow.steps[asked.until]?.before ?? flow.end)
  const outputs = await openOutputs(
    ports,
    {
      input: flow.input,
      outputs: flow.outputs,
      end,
      folder: dirname(path),
      look,
      flow: () => record.id,
      sends: !wasFinished,
      isResumed: known !== undefined,
    },
    (file) => records.runs.wroteLast(known, file),
    stop.signal,
  )
  const before: Partial<FlowRecord> = known ? (parseJson(known.request) as FlowRecord) : {}
  const { runs = [] } = before
  const credits = await creditsOf(asked, runs, records)
  const sharedBudget = credits === undefined ? undefined : { credits, runs: [...runs] }
  const rowsOfOne = steps.map((step) =>
    step.kind === 'lookup' && step.place === 'people' ? Number(step.constants.limit) : 1,
  )
  let orders = (): SortedOrders => before.order ?? {}
  const toRecord = (counts: readonly StepCount[], stopped?: FlowStop, over?: FlowRecord['over']): string => {
    const { name } = flow
    const { written } = outputs
    const search = flow.source?.written
    const globals = asked.targetOptions
    const { searched, maxCredits } = asked
    const own = {
      flow: name,
      steps: counts,
      search,
      searched,
      rowsOfOne,
      written,
      stopped,
      maxCredits,
      globals,
    }
    const order = Object.keys(orders()).length > 0 ? orders() : undefined
    return toJson({ ...own, over, order, runs: sharedBudget?.runs ?? runs } satisfies FlowRecord)
  }
  const { files } = outputs
  const request = known ? toJson({ ...before, maxCredits: asked.maxCredits }) : toRecord([])
  const going = { file: path, output: files[0] ?? null, request }
  const record = await beginRun(ports, records, identity, known, going, { id: ports.ids.uuid(), total: 0 })
  // Conditions leave rows out, and searches add some.
  await addFiles(
    records,
    record,
    files.map((path) => ({ path, isWhole: false })),
  )
  ports.onBegin(record.id)
  const change = async (set: string, ...values: (string | number)[]) => {
    const own = { number: record.number, fence: records.locks.fenceOf(identity.identityKey) }
    await records.database.transaction(
      (connection) => changeRun(connection, own, set, ...values),
      `run ${record.number}`,
    )
  }
  let underWay = 0
  const earlier =
    since &&
    (await openPastLookups(
      ports,
      records,
      pastRuns.filter(({ number }) => number < record.number),
      async (run) => leftOutRowsOf(records.database, run.number, await askable(run, record.id)),
    ))
  // After a surplus line, any earlier answer of the program may belong to another row.
  const distrusted = new Set<Run>()
  const trusting = <T>(run: Run, answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      if (error instanceof Refusal && error.details.problem === 'surplus') distrusted.add(run)
      throw error
    })
  const stages: Stage[] = []
  // Steps that ask nobody change which rows a run is about, without a run of their own.
  let between: unknown[] = []
  const openStage = async (step: RunStep): Promise<Stage> => {
    const request = await requestFor(ports, asked, step, record.id, earlier ? earlier.brought : 0)
    // A new run of a step makes those behind it new, too: their rows may be others.
    const parts = [stages.at(-1)?.run ?? [content, since && record.id], ...between, step.written]
    between = []
    const own = identify(parts, step.kind === 'lookup' ? step.operation.id : step.kind)
    const isFirst = step !== source && stages.every((stage) => stage.step === source)
    const leavesOut =
      earlier && isFirst ? earlier.leavesOut(source ? Number(source.constants.limit) : undefined) : undefined
    const custom = step.kind === 'lookup' ? undefined : await ports.custom(step)
    const ownPorts = ports.forStep(request)
    const { bulk } = custom ?? {}
    const stepPorts = bulk
      ? { ...ownPorts, target: { ...ownPorts.target, bulk: async () => bulk } }
      : ownPorts
    await holdRun(stepPorts, records.locks, own.identityKey, { of: 'run' })
    const { header, ofFile, lookup } = await lookupFor(stepPorts, step, request, leavesOut)
    const input = { id: ports.ids.uuid(), isPiped: false, keep: () => {} }
    const earlierRun = await findSame(own)
    // What a vendor could not be asked about is asked in a new run, because it changes the rows of those behind.
    const isLeftOut = earlierRun !== undefined && !wasFinished && (await askable(earlierRun)).size > 0
    const found = isLeftOut ? undefined : earlierRun
    if (!found) {
      const order = Object.entries(orders()).filter(([at]) => Number(at) < steps.indexOf(step))
      orders = () => Object.fromEntries(order)
    }
    if (isLeftOut) {
      // A kill must not leave the new run with the order of the rows of the old one.
      await change('request = ?', toRecord(before.steps ?? []))
      await stepPorts.target.carryBudget(earlierRun.id, input.id)
    }
    // A limit that is reached leaves the runs before it open, though the flow has finished.
    const same = found && wasFinished ? { ...found, status: 'finished' as const } : found
    const like = likeStep(flow, step)
    const batch = { request, records, identity: own, like, known: same, notBefore, input, sharedBudget }
    const opened = await openRun(stepPorts, batch, 0, { path: null, files: [] })
    const { run } = opened
    if (!sharedBudget?.runs.includes(run.number)) sharedBudget?.runs.push(run.number)
    const calls = await openCalls({ ...stepPorts, sleep: ports.sleep }, request, opened, stop.signal)
    const caller = run.status === 'finished' ? calls.caller : (custom ?? calls.caller)
    const call: Caller['call'] = async (...sent) => {
      underWay++
      const answer = trusting(run, caller.call(...sent))
      return (custom ? unlessInterrupted(answer, interrupted) : answer).finally(() => underWay--)
    }
    const atOnce = request.operation.starts === 'import' ? importsAtOnce : lookupsAtOnce
    const concurrency = Math.min(calls.concurrency ?? atOnce, aheadOf(flow.steps, step))
    const othersUnderWay = () => underWay > 0
    const asking = custom ? { callOptions: { ...calls.callOptions, signal: interrupted } } : {}
    return {
      step,
      run: run.id,
      header,
      ...(ofFile && { ofFile }),
      expect: run.status === 'finished' ? undefined : custom?.expect,
      end: custom && (() => trusting(run, custom.close())),
      batch: { ...lookup, ...calls, ...asking, caller: { ...caller, call }, concurrency, othersUnderWay },
    }
  }
  for (const step of steps)
    if (isRowStep(step)) between.push(step.written)
    else stages.push(await openStage(step))
  const done = wasFinished ? (parseJson(known.request) as FlowRecord).steps : []
  const onSorted = async () => {
    await saving
    if (!wasFinished) await save('running')
  }
  const chain = new Chain(steps, stages, stop, end, lists, done, orders(), onSorted)
  orders = () => Object.fromEntries(chain.order)
  const save = async (status: Run['status'], stopped?: FlowStop) => {
    // What a limit left over is new to the next run.
    const over = since && status === 'finished' ? Object.fromEntries(chain.over) : undefined
    const values = [status, outputs.written, records.now(), toRecord(chain.counts, stopped, over)]
    await change('status = ?, done = ?, ended_at = ?, request = ?', ...values)
  }
  let saving: Promise<void> | undefined
  let savedAt = 0
  const onProgress = () => {
    ports.onProgress(chain.counts)
    if (wasFinished || saving || ports.clock.now() - savedAt < recordEveryMs) return
    savedAt = ports.clock.now()
    // What is wrong with the database ends the runs of the steps.
    saving = save('running')
      .catch(() => {})
      .finally(() => {
        saving = undefined
      })
  }
  const stopped = await chain.run(ports.rows(), asked.rows, outputs, onProgress)
  interrupted.removeEventListener('abort', onInterrupt)
  await saving
  await forgetRuns(records, [...distrusted])
  // A look is none of the runs that are done: its rows are not written, and not sent anywhere.
  if (!wasFinished) await save(stopped || chain.hasMore || look ? 'stopped' : 'finished', stopped)
  await records.database.flush()
  const isFailed = outputs.refused > 0 || chain.counts.some(({ failed, invalid }) => failed + invalid > 0)
  return {
    /** Id of its record. */
    run: record.id,
    flow: flow.name,
    steps: chain.counts,
    reasons: chain.reasons.map(({ counts }) => counts),
    written: outputs.written,
    stopped,
    outputs: outputs.files.filter((file) => !chain.leftAlone.includes(file)),
    /** Outputs that stay as they were, because all rows failed that could have been written. */
    leftAlone: chain.leftAlone,
    wasFinished,
    seconds: (ports.clock.now() - begun) / 1_000,
    exit: stopped?.exit_code ?? (isFailed ? exitCodes.someFailed : exitCodes.ok),
  }
}

/** Returns how many rows of a step may be asked about at once, so that few are that a limit behind it has no use for. */
function aheadOf(steps: readonly Step[], step: Step): number {
  return Math.ceil(Math.min(...limitsBehind(steps, steps.indexOf(step))) / 4)
}

/** Returns what the runs of a step share, whatever list the flow is over. */
export const likeStep = ({ name }: Pick<Flow, 'name'>, step: RunStep): string =>
  likeOf([name, step.name, step.kind === 'lookup' ? step.filling : null])

/** Returns the answer of a program or an address. Rejects when the flow is interrupted. */
function unlessInterrupted<T>(answer: Promise<T>, interrupted: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(new ConnectionLost('the flow was interrupted'))
    if (interrupted.aborted) leave()
    interrupted.addEventListener('abort', leave, { once: true })
    answer.then(resolve, reject).finally(() => interrupted.removeEventListener('abort', leave))
  })
}

/** Returns what the rows of a flow are read from: a table or a list by its content, a search by how it is written. */
export async function contentOf({
  flow: { source, table },
  content,
}: Pick<FlowRequest, 'flow' | 'content'>): Promise<unknown> {
  if (!table) return source?.written ?? content
  const { mapping, kind } = table.mapped
  return [
    kind,
    mapping.columns.map(({ field }) => [field, ...positionsOf(mapping, field)]),
    await hashOfFile(table.table.path),
  ]
}

/** Whether a record is that of a flow, which is known by its name and its file. */
export const isRecordOf = ({ operation, file, request }: Run, name: string, path: string): boolean =>
  operation === flowOperation && file === path && (parseJson(request) as Partial<FlowRecord>).flow === name

/** Returns what became of the rows of a flow in each step, and what that has cost so far. */
export function stepsOf({ request }: Run, { runs }: RunRecords): Promise<readonly StepCount[]> {
  const { steps = [] } = parseJson(request) as Partial<FlowRecord>
  return Promise.all(
    steps.map(async (count): Promise<StepCount> => {
      const [run] = count.run === null ? [] : await runs.find(count.run)
      return run ? { ...count, credits: run.credits } : count
    }),
  )
}

/** Whether the steps of a flow have rows of unknown outcome. */
const hasUnknown = (records: RunRecords, flow: Run): Promise<boolean> =>
  hasStep(records, flow, (run) => records.runs.hasUnknown(run))

/** Whether something is true of the run of a step of a flow. */
async function hasStep({ runs }: RunRecords, { request }: Run, isSo: (run: Run) => Promise<boolean>) {
  const { steps = [] } = parseJson(request) as Partial<FlowRecord>
  for (const { run } of steps) {
    const [own] = run === null ? [] : await runs.find(run)
    if (own && (await isSo(own))) return true
  }
  return false
}

/** Makes the next run of a flow begin these runs of its steps anew. */
async function forgetRuns({ database, locks }: RunRecords, runs: readonly Run[]): Promise<void> {
  for (const { number, identityKey } of runs) {
    const own = { number, fence: locks.fenceOf(identityKey) }
    await database.transaction(
      (connection) => changeRun(connection, own, 'known_by = ?', `${identityKey} distrusted`),
      `run ${number}`,
    )
  }
}

/**
 * Returns what finished runs of a flow have looked up first, but for rows that failed later, and those that the budget of a data
 * vendor has left out and that it has one for again: these are taken again.
 */
async function openPastLookups(
  { onClose }: FlowPorts,
  { runs, database }: RunRecords,
  past: readonly Run[],
  leftOutOf: (run: Run) => Promise<readonly number[]>,
) {
  const seen = openNumbers()
  let brought = 0
  onClose(seen.close)
  for (const { request } of past) {
    const { steps = [], rowsOfOne = [], over = {}, order = {} } = parseJson(request) as Partial<FlowRecord>
    brought = Math.max(brought, ...steps.map(({ is_source: isSource, out }) => (isSource ? out : 0)))
    const first = steps.findIndex(({ run, is_source: isSource }) => run !== null && !isSource)
    const [run] = steps[first]?.run ? await runs.find(steps[first].run) : []
    if (!run) continue
    const failed = new Set(await leftOutOf(run))
    /** Returns the row of the first step that a row before another one comes of. */
    const firstOf = (row: number, before: number): number => {
      let place = row
      for (let at = before - 1; at > first; at--)
        place = order[at]?.[place] ?? Math.floor(place / (rowsOfOne[at] ?? 1))
      return Math.floor(place / (rowsOfOne[first] ?? 1))
    }
    for (const [at, step] of steps.entries()) {
      if (at <= first) continue
      const [later] = step.run ? await runs.find(step.run) : []
      const again = later
        ? [...(await failedRowsOf(database, later.number)), ...(await leftOutOf(later))]
        : []
      for (const row of [...again, ...(over[at] ?? [])]) failed.add(firstOf(row, at))
    }
    for await (const { identity, row } of identifiedOf(database, run.number))
      if (!failed.has(row)) seen.add(hashNumber(hashOf(identity)))
  }
  return {
    /** The most records that the search of the input has brought: those of its first steps are not all looked up. */
    brought,
    /** Returns whether a row is left out: it was looked up before, or so many others are new. */
    leavesOut(most = Number.POSITIVE_INFINITY): (identity: string | undefined) => boolean {
      let added = 0
      return (identity) => {
        const isPast = identity !== undefined && seen.get(hashNumber(hashOf(identity))) !== undefined
        return isPast || ++added > most
      }
    },
  }
}

/** Returns the budget of a flow in all, with what the runs of its steps have spent; `undefined` without one. */
async function creditsOf({ flow, moreCredits }: FlowRequest, runs: readonly number[], records: RunRecords) {
  const { credits } = flow.budget
  if (moreCredits === undefined) return credits
  const most = moreCredits + (await records.database.read((reads) => usedByRuns(reads, runs)))
  return Math.min(credits ?? most, most)
}

export async function requestFor(
  ports: Pick<FlowPorts, 'importInput'>,
  asked: Omit<FlowRequest, 'startedAt'>,
  step: RunStep,
  flow: string,
  brought: number,
): Promise<BatchRequest> {
  const { path, concurrency, retryUnknown, database, databaseOption, targetOptions } = asked
  const what = step.kind === 'lookup' ? step : { ...(await standIn()), constants: {} }
  // What is new comes behind what a search has brought before, and that costs again where records have a price.
  const more = step === asked.flow.source && !isPriced(what.operation) ? brought : 0
  const isImport = what.operation.starts === 'import'
  const constants = isImport ? await ports.importInput(what, more) : what.constants
  // A search is made again, for what is new: with --fresh one that costs nothing.
  const isAnew = asked.flow.since !== undefined || (asked.fresh && !isPriced(what.operation))
  const isRepeated = step === asked.flow.source && isAnew
  const isKept = !isRepeated && (isPriced(what.operation) || step.kind === 'http')
  return {
    operation: what.operation,
    shape: what.shape,
    constants,
    choices: {
      file: path,
      map: [],
      dryRun: false,
      raw: false,
      failOn: 'any',
      retryUnknown,
      concurrency,
      flow,
      isOutward: step.kind !== 'lookup',
      format: 'csv',
      maxAgeMs: isKept ? defaultMaxAgeMs : undefined,
      // An import waits here for its results.
      maxCreditsPerDay: asked.flow.budget.per_day,
    },
    targetOptions,
    database,
    ...(databaseOption === undefined ? {} : { databaseOption }),
  }
}

/** Opens the lists whose companies and people leave a flow; `undefined` without any. */
export async function openKnownLists(
  ports: Parameters<typeof openKnownRows>[0],
  sources: readonly string[],
): Promise<(KnownRows & { readonly fingerprint: string }) | undefined> {
  if (sources.length === 0) return undefined
  const kinds = await Promise.all(sources.map((source) => kindOfList(ports, source)))
  const open = (kind: ListKind) => {
    const own = sources.filter((_, at) => kinds[at] === undefined || kinds[at] === kind)
    return openKnownRows(ports, kind, own)
  }
  const [companies, people] = [await open('companies'), await open('people')]
  return {
    fingerprint: digestOf([companies?.fingerprint, people?.fingerprint]),
    has(about, row) {
      if (about === 'companies') return companies?.has(row) === true
      const company = asFields(row.company)
      const whole = { company_name: company.name, company_domain: company.domain, ...row }
      return people?.has(whole) === true || companies?.has(company) === true
    },
  }
}

/** Returns what the rows of a list are about; `undefined` where it has both. */
async function kindOfList(
  ports: Parameters<typeof openListFile>[0],
  source: string,
): Promise<ListKind | undefined> {
  if (isRecords(source)) return source.startsWith('list:') ? 'companies' : undefined
  return mapList(await openListFile(ports, source, 'skip_known'), source).kind
}
