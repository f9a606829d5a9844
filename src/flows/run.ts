import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { exitCodes } from '../api/calls/exit-codes.js'
import { isPriced } from '../api/operations/facts.js'
import { toCanonicalJson, toJson } from '../api/values/json.js'
import { mapList } from '../lists/lists.js'
import { hashOfFile } from '../runs/find-run.js'
import { fileKindOf } from '../runs/input/mapping.js'
import { changeRun } from '../runs/journal/run-leases.js'
import type { Run, RunIdentity } from '../runs/journal/runs.js'
import { openKnownRows, openListFile } from '../runs/known-lists.js'
import type { RunStop } from '../runs/output/report.js'
import type { RunPorts } from '../runs/ports.js'
import { holdRun, openRuns, type RunRecords, stopKilledRuns } from '../runs/records.js'
import { type BatchRequest, defaultMaxAgeMs } from '../runs/request.js'
import { Chain, openStage, type RunStep, type Stage, type StepCount, standIn } from './chain.js'
import { type Look, openOutputs } from './outputs.js'
import type { Flow } from './read.js'
import type { FlowRow } from './rows.js'

/** A flow, and how it is to be run. */
export interface FlowRequest {
  readonly flow: Flow
  /** Absolute path of its file. */
  readonly path: string
  /** How many of its steps are taken; all of them where absent. */
  readonly until?: number | undefined
  /** Takes the first rows of its input only. */
  readonly rows?: number | undefined
  /** Where rows are shown that a person looks at before the outputs are written. */
  readonly look?: Look | undefined
  /** Starts new runs. */
  readonly fresh: boolean
  readonly retryUnknown: boolean
  readonly concurrency?: number | undefined
  /** Address of the database with the records of its runs; this machine's state when absent. */
  readonly database?: string | undefined
  readonly place?: string | undefined
  /** The options that choose the target, for the record. */
  readonly targetOptions: Readonly<Record<string, unknown>>
}

/** What running a flow needs of its command. */
export interface FlowPorts extends RunPorts {
  /** Returns what the run of a step needs. */
  forStep(step: RunStep, request: BatchRequest): RunPorts
  /** Yields the rows of the input. */
  rows(): AsyncIterable<readonly FlowRow[]>
  sleep(ms: number, signal: AbortSignal): Promise<void>
  onProgress(counts: readonly StepCount[]): void
}

/** What is recorded of a flow, as JSON. */
export interface FlowRecord {
  readonly flow: string
  readonly steps: readonly StepCount[]
  /** Rows that were written. */
  readonly written: number
  readonly stopped?: RunStop | undefined
  readonly globals: FlowRequest['targetOptions']
}

/** How running a flow ended. */
export interface FlowReport extends Omit<FlowRecord, 'globals'> {
  /** Id of its record. */
  readonly run: string
  readonly outputs: readonly string[]
  readonly wasFinished: boolean
  readonly seconds: number
  readonly exit: number
}

/** The operation of the record of a flow, among those of runs. */
export const flowOperation = 'flow'

/** How often the counts of a flow are recorded while it runs. */
const recordEveryMs = 1_000

const digestOf = (value: unknown): string =>
  createHash('sha256').update(toCanonicalJson(value)).digest('hex').slice(0, 32)

/** Runs a flow, or resumes it: each step is a run, and its rows stream into the next one. */
export async function runFlow(
  asked: FlowRequest,
  ports: FlowPorts,
  interrupted: AbortSignal,
): Promise<FlowReport> {
  const begun = ports.clock.now()
  const { flow, path, look } = asked
  const steps = flow.steps.slice(0, asked.until)
  const records = await openRuns(ports, { database: asked.database })
  await stopKilledRuns(records, undefined)
  const { name: target, engine, formerly } = await ports.target.names()
  const workspace = await ports.target.workspace()
  const notBefore = await ports.target.answersFrom()
  const identify = (parts: readonly unknown[], operation: string): RunIdentity => {
    const knownBy = digestOf([flow.name, path, workspace, ...parts])
    const named = { target, engine, formerly: formerly.map((one) => ({ ...one, knownBy })) }
    return { ...named, knownBy, operation, workspace, file: path, fileHash: '' }
  }
  const findSame = (identity: RunIdentity) => findRecorded(records, identity, asked.fresh, notBefore)
  const content = await contentOf(flow)
  const identity = identify([content, steps.map(({ written }) => written)], flowOperation)
  await holdRun(ports, records.locks, identity.knownBy, { of: 'run' })
  const known = await findSame(identity)
  const wasFinished = known?.status === 'finished'
  const stop = new AbortController()
  const onInterrupt = () => stop.abort(interrupted.reason)
  if (interrupted.aborted) onInterrupt()
  interrupted.addEventListener('abort', onInterrupt, { once: true })
  const end = asked.until === undefined ? flow.end : (flow.steps[asked.until]?.before ?? flow.end)
  const outputs = await openOutputs(
    ports,
    { outputs: flow.outputs, end, folder: dirname(path), look },
    records.runs.writesTo,
    stop.signal,
  )
  const record = await beginRecord(ports, asked, identity, known, records, outputs.files)
  const { credits } = flow.budget
  const together = credits === undefined ? undefined : { credits, runs: [] as number[] }
  const context = { records, findSame, notBefore, together, underWay: { calls: 0 }, sleep: ports.sleep }
  const stages: Stage[] = []
  for (const step of steps) {
    if (step.kind === 'keep') continue
    const { request, known: others } = await requestFor(ports, asked, step, record.id)
    // A new run of a step makes those behind it new, too: their rows may be others.
    const parts = [stages.at(-1)?.run ?? content, step.written, others?.fingerprint]
    const own = identify(parts, step.kind === 'lookup' ? step.operation.id : step.kind)
    stages.push(await openStage(ports.forStep(step, request), context, step, request, own, others))
  }
  const chain = new Chain(steps, stages, stop)
  const save = async (status: Run['status'], stopped?: RunStop) => {
    const saved: FlowRecord = {
      ...{ flow: flow.name, steps: chain.counts, written: outputs.written, stopped },
      globals: asked.targetOptions,
    }
    const own = { number: record.number, fence: records.locks.fenceOf(identity.knownBy) }
    const values = [status, outputs.written, records.now(), toJson(saved)]
    await records.database.transaction(
      (connection) =>
        changeRun(connection, own, 'status = ?, done = ?, ended_at = ?, request = ?', ...values),
      `run ${record.number}`,
    )
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
  const stopped = await chain.run(ports.rows(), asked.rows, outputs, ports.sentences.explainStop, onProgress)
  interrupted.removeEventListener('abort', onInterrupt)
  await saving
  if (!wasFinished) await save(stopped || chain.hasMore ? 'stopped' : 'finished', stopped)
  await records.database.flush()
  const isFailed = chain.counts.some(({ failed, invalid }) => failed + invalid > 0)
  return {
    ...{ run: record.id, flow: flow.name, steps: chain.counts, written: outputs.written, stopped },
    ...{ outputs: outputs.files, wasFinished, seconds: (ports.clock.now() - begun) / 1_000 },
    exit: stopped?.exit_code ?? (isFailed && !wasFinished ? exitCodes.someFailed : exitCodes.ok),
  }
}

/** Returns what the rows of a flow are read from: a table by its content, anything else by how it is written. */
async function contentOf({ input, table }: Flow): Promise<unknown> {
  if (!table) return input.kind === 'search' ? [input.operation.id, input.input] : input
  const { mapping, kind } = table.mapped
  return [
    kind,
    mapping.columns.map(({ field, column }) => [field, column]),
    await hashOfFile(table.table.path),
  ]
}

/** Returns the run of an identity; `undefined` where a new one begins. */
async function findRecorded(
  { runs }: RunRecords,
  identity: RunIdentity,
  fresh: boolean,
  notBefore: number,
): Promise<Run | undefined> {
  await runs.adopt(identity)
  const known = fresh ? undefined : await runs.known(identity)
  const isOutdated = known?.status === 'finished' && known.startedAt < notBefore
  const isForeign = known && known.workspace !== '' && known.workspace !== identity.workspace
  return isOutdated || isForeign ? undefined : known
}

/** Records a flow that begins, or goes on. */
async function beginRecord(
  ports: FlowPorts,
  { flow, path, targetOptions }: FlowRequest,
  identity: RunIdentity,
  known: Run | undefined,
  { runs, database, now }: RunRecords,
  files: readonly string[],
): Promise<Run> {
  const empty: FlowRecord = { flow: flow.name, steps: [], written: 0, globals: targetOptions }
  const going = { file: path, output: files[0] ?? null, request: known?.request ?? toJson(empty) }
  const begin = () =>
    runs.add({
      ...{ ...identity, ...going, id: ports.ids.uuid(), total: 0 },
      ...{ profile: ports.target.profile, startedAt: now() },
    })
  const run = !known
    ? await begin()
    : known.status === 'finished'
      ? known
      : await runs.begin(known, going, now())
  await runs.addFiles(run, files)
  await database.flush()
  return run
}

/** Returns the request of the run of a step, and the rows that it leaves out. */
async function requestFor(ports: FlowPorts, asked: FlowRequest, step: RunStep, flow: string) {
  const {
    flow: { budget, skipKnown },
    path,
    concurrency,
    retryUnknown,
    database,
    place,
    targetOptions,
  } = asked
  const what = step.kind === 'lookup' ? step : { ...(await standIn()), constants: {} }
  const isKept = isPriced(what.operation) || step.kind === 'http'
  const request: BatchRequest = {
    ...{ operation: what.operation, shape: what.shape, constants: what.constants },
    choices: {
      ...{ file: path, map: [], mapOnly: false, dryRun: false, encoding: undefined, delimiter: undefined },
      ...{ raw: false, failOn: 'any', fresh: false, retryUnknown, concurrency, lock: undefined, flow },
      ...{ excel: false, format: 'csv', fields: undefined, maxCredits: undefined },
      maxAgeMs: isKept ? defaultMaxAgeMs : undefined,
      maxCreditsPerDay: budget.per_day,
    },
    ...{ targetOptions, database },
    ...(place === undefined ? {} : { place }),
  }
  const kind = step.kind === 'lookup' ? fileKindOf(step.operation.batch?.identity ?? 'company') : undefined
  const sources: string[] = []
  for (const source of kind === undefined ? [] : skipKnown)
    if (source === 'catalogue' || (await kindOfList(ports, source)) === kind) sources.push(source)
  return { request, known: await openKnownRows(ports, what.operation, sources) }
}

/** Returns what the rows of a list are about. */
async function kindOfList(ports: FlowPorts, source: string) {
  if (source.startsWith('list:')) return 'companies'
  return mapList(await openListFile(ports, source, 'skip_known'), source).kind
}
