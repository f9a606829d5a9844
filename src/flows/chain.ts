import { CountQueuingStrategy, TransformStream } from 'node:stream/web'
import { shapeOf } from '../api/areas/shapes.js'
import type { Input } from '../api/calls/caller.js'
import { Refusal } from '../api/calls/errors.js'
import { operation } from '../api/operations/table.js'
import { parseExact, toCanonicalJson, toJson } from '../api/values/json.js'
import { aborted, type Fields, isObject, resultOr } from '../api/values/objects.js'
import type { CsvRow } from '../csv/parse.js'
import { parseComputation, parseExpression, type Scope } from '../lists/expressions.js'
import type { ListKind } from '../lists/list-index.js'
import { execute } from '../runs/execute.js'
import { StopReason } from '../runs/flow-control.js'
import { asRead, type Mapping } from '../runs/input/mapping.js'
import { type OutputRow, toCell } from '../runs/output/columns.js'
import { ReasonCounter, type RunReport, type RunStop, type SkippedRows } from '../runs/output/report.js'
import type { Writer } from '../runs/output/writer.js'
import { columnsIn, createLookup, identityOf, type Lookup, type RowSuppressor } from '../runs/plan/lookup.js'
import type { Batch, RunPorts } from '../runs/ports.js'
import type { BatchRequest } from '../runs/request.js'
import {
  asFields,
  type Filling,
  type FlowRow,
  fieldOf,
  fieldReader,
  foundIn,
  identifyingBeside,
  type RowShape,
  rowOfRecord,
  suppressedIn,
  withResult,
} from './fields.js'
import { standInId } from './format.js'
import { droppedField } from './http.js'
import type { FlowOutputs } from './outputs.js'
import { type CommandStep, type HttpStep, isRowStep, type RowStep, type Step } from './read.js'
import { openRowSort, type SortKey, sortKeysOf } from './sorted.js'

export interface StepCount {
  readonly step: string
  /** Whether it is the search that the rows come from. */
  readonly is_source?: true
  /** Id of its run; null for a step that asks nobody. */
  run: string | null
  /** Rows that came to it. */
  in: number
  /** Rows that its condition lets pass by; absent where it has none. */
  passed_by?: number
  /** Rows that it found something for; those of which a condition is true. */
  found: number
  /** Rows that are about a company or person that an earlier row is about. */
  duplicates: number
  /** Rows that it leaves in the flow. */
  out: number
  credits: number
  /** Credits that earlier executions of the run paid. */
  credits_before: number
  invalid: number
  /** Rows about people and companies that are suppressed. */
  suppressed?: number
  /** Rows that an earlier run of the flow has looked up, or more new ones than its search is limited to. */
  left_out?: number
  failed: number
  /** Rows that the answers of an address took out of the flow; absent where there are none. */
  dropped?: number
  /** Rows of which its condition compared a missing value, or one of another type, which is false; absent where there are none. */
  doubtful?: number
  /** Data vendors that could not be asked about rows of this execution of its run; absent where there are none. */
  not_asked?: readonly SkippedRows[]
  /** Answers that are, or may be, about other rows; absent where there are none. */
  suspect?: RunReport['suspect']
  /** How many rows it was given before a limit behind it was reached; absent where none was. */
  cut_at?: number
}

/** Returns how a person calls the steps of a flow: by number and name, the search of the input by its name. */
export function stepNames(steps: readonly Pick<StepCount, 'step' | 'is_source'>[]): string[] {
  let number = 0
  return steps.map(({ step, is_source: isSource }) => (isSource ? step : `${++number} ${step}`))
}

/** Why a flow ended early, and the step in which it did. */
export interface FlowStop extends RunStop {
  readonly step: string
}

export type RunStep = Exclude<Step, RowStep>

/** By step that sorts, the places of the rows that came to it, in the order in which they have gone on. */
export type SortedOrders = Readonly<Record<string, readonly number[]>>

/** A step as a run that is ready to be executed, like that of a batch (decision 22). */
export interface Stage {
  readonly step: RunStep
  readonly run: string
  readonly header: readonly string[]
  /** The columns of the file of the flow that its rows are asked with. */
  readonly ofFile?: readonly string[]
  /** Notes a row that may be sent, before any row behind it is. */
  readonly expect?: ((row: Fields) => void) | undefined
  /** Ends what answered its rows, when they are all answered. Rejects where an answer may be that to another row. */
  readonly end?: (() => Promise<void>) | undefined
  readonly batch: Omit<Batch, 'table' | 'writer' | 'signal'>
}

/** The companies and people that a flow leaves out because they are in one of its lists. */
export interface KnownRows {
  has(about: ListKind, row: Fields): boolean
}

/** The column in front of those that requests are filled from, so that no row is without a cell. */
const lineColumn = '_line'

type StepLookup = Pick<Stage, 'header' | 'ofFile'> & { readonly lookup: Lookup }

/** Returns what is looked up for the rows of a step, except those whose identity is known. */
export async function lookupFor(
  ports: RunPorts,
  step: RunStep,
  request: BatchRequest,
  isKnown: ((identity: string | undefined) => boolean) | undefined,
): Promise<StepLookup> {
  const suppressor = await ports.target.suppressor()
  if (step.kind !== 'lookup') return customLookup(step, suppressor, isKnown)
  const columns: Mapping['columns'] = step.filling.map(([field, paths], at) => ({
    field,
    column: paths[0] ?? field,
    at: at + 1,
    by: 'name',
  }))
  const beside = besideOf(step).map(([field]) => field)
  const header = [lineColumn, ...columns.map(({ field }) => field), ...beside]
  const asked = columnsIn(columnsOf(step), await ports.target.columns(request.operation, request.constants))
  const ofFile = asked.map(({ at }) => columnsOf(step)[at] ?? '')
  const mapping = { columns, unused: [], notes: [] }
  const create = () =>
    createLookup(
      request,
      mapping,
      { header, ...(beside.length > 0 && { samples: [] }) },
      ports.sentences.describe,
      undefined,
      suppressor,
      asked.map(({ name }, at) => ({ name, at: header.length + at })),
    )
  // A search is about nobody: the same one is the same lookup.
  const isSearch = step.place === 'records'
  const identityFor = identityOf(request.operation, request.shape)
  const identity = isSearch ? (input: Input) => `search ${toCanonicalJson(input)}` : identityFor
  const lookup = withEarlierRows(create)
  return {
    header: [...header, ...ofFile],
    ofFile,
    lookup: {
      ...lookup,
      identity,
      skip: hasLeft,
      isKnown:
        isKnown && ((cells) => isKnown(resultOr(undefined, () => identityFor(lookup.read(cells).input)))),
    },
  }
}

/** Returns the fields of the rows of a step that say whose they are, and are not sent. */
const besideOf = (step: RunStep): Filling =>
  step.kind === 'lookup' && step.place === 'row' && step.before.about === 'people'
    ? identifyingBeside(step.filling)
    : []

/** Returns the columns of the file of the flow, with which data vendors may be asked about its rows. */
const columnsOf = ({ before: { fields } }: Pick<RunStep, 'before'>): readonly string[] =>
  isObject(fields.input) ? Object.keys(fields.input) : []

/** Rows after which those before are forgotten that may be about the same person. */
const rememberedRows = 20_000

/** Returns a lookup that asks for a person with what earlier rows say of them, so that an equal one is one lookup. */
function withEarlierRows(create: () => Lookup): Lookup {
  let current = create()
  let rows = 0
  return {
    ...current,
    read: (cells, line) => {
      const read = current.read(cells)
      if (line === undefined || !current.people) return read
      if (++rows % rememberedRows === 0) current = create()
      current.people?.add({ cells, line })
      return read
    },
  }
}

/** The rows of a step that is no lookup are sent whole. */
function customLookup(
  step: CommandStep | HttpStep,
  suppressor: RowSuppressor | undefined,
  isKnown: ((identity: string | undefined) => boolean) | undefined,
): StepLookup {
  const written = toJson(step)
  const input = ([, text = '']: readonly string[]) => ({ row: parseExact(text) })
  const identity = ({ row }: Input) => `${written} ${toJson(row)}`
  const areSuppressed = async (inputs: readonly unknown[]) => {
    const rows = inputs.map((one) => asFields(asFields(one).row))
    return suppressor ? suppressedIn(suppressor, rows) : []
  }
  return {
    header: [lineColumn, 'row'],
    lookup: {
      read: (cells) => asRead(input(cells)),
      identity,
      isKnown: isKnown && ((cells) => isKnown(identity(input(cells)))),
      explain: ({ message }) => message,
      most: () => 0,
      skip: hasLeft,
      suppressor: suppressor && { ...suppressor, areAbout: areSuppressed, areAskedAbout: areSuppressed },
    },
  }
}

/** Whether a row has left the flow. */
const hasLeft = ({ cells }: Pick<CsvRow, 'cells'>): boolean => cells.length === 0

export function cellsOf(
  { step, ofFile = [] }: Pick<Stage, 'step' | 'ofFile'>,
  { line, fields }: FlowRow,
  isAsked: boolean,
): readonly string[] {
  if (!fields || !isAsked) return []
  if (step.kind !== 'lookup') return [String(line), toJson(fields)]
  const values = [...step.filling, ...besideOf(step)].map(([, paths]) => {
    for (const path of paths) {
      const cell = toCell(fieldOf(fields, path)).trim()
      if (cell !== '') return cell
    }
    return ''
  })
  return [String(line), ...values, ...ofFile.map((name) => toCell(fieldOf(fields, `input.${name}`)))]
}

/** Returns the rows that the answer to a row leaves in the flow, and places for those that it does not. */
export function rowsAfter(
  step: RunStep,
  { line, fields, status, source, body, error }: OutputRow,
): readonly FlowRow[] {
  const isSearch = step.kind === 'lookup' && step.place === 'people'
  // What passes by a step stays as it is. No row passes by a search of people: it is there, or has left.
  if (status === 'skipped' && !isSearch) return [{ line, fields }]
  const isOn = fields !== undefined && (status === 'found' || status === 'not_found')
  if (step.kind !== 'lookup' && isDropped(body)) return [{ line, fields: undefined }]
  if (step.kind !== 'lookup')
    return [{ line, fields: isOn ? { ...fields, ...(isObject(body) ? body : {}) } : undefined }]
  const { place, operation: row, constants } = step
  // The same company or person goes on once.
  const isFirst = source !== 'duplicate' || place === 'company'
  const going = isOn && isFirst ? fields : undefined
  // The list is recorded whole, so that its rows are always the same.
  if (place === 'records' && !isOn) throw new Refusal('flow.no_input', { status, error })
  if (place === 'records')
    return listIn(body).map((record, at) => ({ line: at + 1, fields: rowOfRecord(record) }))
  if (!isSearch)
    return [{ line, fields: going && (body === undefined ? going : withResult(going, place, row, body)) }]
  const people = going ? listIn(body) : []
  // As many places for each company, so that a row has the same one whatever becomes of those before it.
  return Array.from({ length: Number(constants.limit) }, (_, at) => ({
    line,
    fields: going && at < people.length ? withResult(going, place, row, people[at]) : undefined,
  }))
}

/** Whether an address has said that a row leaves the flow. */
const isDropped = (body: unknown): boolean => isObject(body) && body[droppedField] === true

const listIn = (body: unknown): readonly unknown[] => {
  const found = isObject(body) ? body[foundIn] : undefined
  return Array.isArray(found) ? found : []
}

/** Rows that go from step to step at once, and how often that many wait between two steps. */
const chunkRows = 256
/** The same where a limit may be reached meanwhile. */
const slicedRows = 8
const chunksBetween = 4

/** The steps of a flow, each of which takes the rows of the one before it. */
export class Chain {
  readonly counts: readonly StepCount[]
  /** Why rows of each step are invalid or failed. They are not recorded, because a reason can quote a cell. */
  readonly reasons: readonly ReasonCounter[]
  /** Whether the input has rows behind those that were read. */
  hasMore = false
  /** Outputs that stay as they were. */
  leftAlone: readonly string[] = []
  #isCut = false
  #first: Stage | undefined
  readonly #workers = new Map<Step, RowWorker>()
  readonly #sorts = new Map<Step, readonly SortKey[]>()
  /** By step with a run, which rows are asked about; absent where all are. */
  readonly #asked = new Map<Step, ((row: Fields) => boolean) | undefined>()
  /** By step that asks nobody, how many places have come to it. */
  readonly #places = new Map<number, number>()
  /** By step, the places of rows that a limit took out of the flow. */
  readonly over = new Map<number, number[]>()
  /** By step that sorts, the places of the rows that came to it, in their order. */
  readonly order: Map<number, readonly number[]>
  /** The last step whose limit is reached; those before it need no further rows. */
  #fullAt = -1

  constructor(
    private readonly steps: readonly Step[],
    private readonly stages: readonly Stage[],
    private readonly stop: AbortController,
    /** What the rows are at the end. */
    private readonly end: RowShape,
    private readonly known: KnownRows | undefined,
    /** What is recorded of a flow that has finished. */
    private readonly finished: readonly StepCount[] = [],
    /** By step that sorts, the order in which an earlier execution has passed its rows on. */
    order: SortedOrders = {},
    /** Records the orders, before the first row goes on in one. */
    private readonly onSorted: () => Promise<void> = async () => {},
  ) {
    this.order = new Map(Object.entries(order).map(([at, places]) => [Number(at), places]))
    this.counts = steps.map((step) => ({
      ...(isSource(step) ? { is_source: true } : {}),
      step: step.name,
      run: stages.find((stage) => stage.step === step)?.run ?? null,
      in: 0,
      found: 0,
      duplicates: 0,
      out: 0,
      credits: 0,
      credits_before: 0,
      invalid: 0,
      failed: 0,
    }))
    this.reasons = steps.map(() => new ReasonCounter())
  }

  /** Passes all rows through the steps to the outputs. Returns why it ended early; `undefined` where it did not. */
  async run(
    input: AsyncIterable<readonly FlowRow[]>,
    most: number | undefined,
    outputs: FlowOutputs,
    onProgress: () => void,
  ): Promise<FlowStop | undefined> {
    for (const step of this.steps)
      if (step.kind === 'sort') this.#sorts.set(step, sortKeysOf(step.sort))
      else if (isRowStep(step)) this.#workers.set(step, await openWorker(step))
      else this.#asked.set(step, await openOnlyIf(step))
    let rows = this.#inOrder(this.#begin(input, most), 0)
    const next = (stage: Stage) => this.steps.indexOf(stage.step) + 1
    const isSortedAtEnd = this.steps.slice(this.#lastStage()).some(({ kind }) => kind === 'sort')
    const isOpen = (stage: Stage) =>
      this.#isCut || this.hasMore || this.#countOf(stage.step).cut_at !== undefined
    const reports: Promise<readonly [Stage, RunReport]>[] = []
    for (const [at, stage] of this.stages.entries()) {
      const passage = createPassage()
      const isLast = at === this.stages.length - 1 && !isSortedAtEnd
      const put = (chunk: readonly FlowRow[]) => (isLast ? outputs.write(chunk) : passage.write(chunk))
      const from = rows
      const report = execute({
        ...stage.batch,
        table: { header: stage.header, rows: () => this.#cellsFor(stage, from) },
        writer: this.#writer(stage, put, passage.end),
        signal: this.stop.signal,
        onProgress: ({ credits, credits_before }) => {
          Object.assign(this.#countOf(stage.step), { credits, credits_before })
          onProgress()
        },
        // It is asked for at the end: a run is finished only where it had all rows.
        get hasMore() {
          return isOpen(stage)
        },
      })
      reports.push(report.then((ended) => [stage, ended] as const))
      rows = this.#inOrder(passage.rows, next(stage))
    }
    const writeRest = async () => {
      if (this.stages.length === 0 || isSortedAtEnd)
        for await (const chunk of rows) await outputs.write(chunk)
    }
    const rest = writeRest()
    rest.catch(() => this.stop.abort())
    for (const report of reports) report.catch(() => this.stop.abort())
    const ended = await Promise.allSettled([...reports, rest]).then(() => Promise.all(reports))
    await rest
    for (const [stage, { credits, credits_before, not_asked, suspect }] of ended)
      Object.assign(this.#countOf(stage.step), {
        credits,
        credits_before,
        ...(not_asked.length > 0 && { not_asked }),
        ...(suspect && { suspect }),
      })
    for (const [step, { doubtful }] of this.#workers)
      if (doubtful?.()) this.#countOf(step).doubtful = doubtful()
    const spoiled = this.#isCut ? undefined : await this.#endPrograms()
    if (this.#isCut || spoiled) await outputs.abandon()
    else this.leftAlone = await outputs.finish(this.counts.some(({ failed }) => failed > 0))
    for (const [stage, { stopped }] of ended)
      if (stopped && (!this.#first || stage === this.#first)) return { ...stopped, step: this.#nameOf(stage) }
    return spoiled
  }

  /** Ends what answered the rows of steps, now that all are answered. Returns why answers are not to be trusted. */
  async #endPrograms(): Promise<FlowStop | undefined> {
    for (const stage of this.stages)
      try {
        const { signal } = this.stop
        if (stage.end) await Promise.race([stage.end(), aborted(signal)])
        if (!signal.aborted) continue
        const reason = new StopReason(stage.batch.explainStop)
        reason.interrupt(signal)
        if (reason.cause) return { ...reason.cause, rows_left: null, step: this.#nameOf(stage) }
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        const why = stage.batch.explainStop(error)
        return { ...why, at_row: null, rows_left: null, step: this.#nameOf(stage) }
      }
    return undefined
  }

  #nameOf({ step }: Stage): string {
    return stepNames(this.counts)[this.steps.indexOf(step)] ?? ''
  }

  async *#begin(
    input: AsyncIterable<readonly FlowRow[]>,
    most = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<readonly FlowRow[]> {
    let left = most
    for await (const rows of input) {
      if (left === 0 && rows.length > 0) this.hasMore = true
      if (this.hasMore || this.#fullAt >= 0) return
      const taken = rows.slice(0, left)
      this.hasMore = taken.length < rows.length
      left -= taken.length
      yield* chunks(this.#kept(taken, 0))
    }
  }

  /** Returns where the steps begin behind the last one with a run. */
  #lastStage(): number {
    const last = this.stages.at(-1)
    return last ? this.steps.indexOf(last.step) + 1 : 0
  }

  /** Sorts rows by the steps from one on that sort, up to the next one with a run. */
  #inOrder(rows: AsyncIterable<readonly FlowRow[]>, from: number): AsyncIterable<readonly FlowRow[]> {
    let sorted = rows
    for (let at = from; at < this.steps.length; at++) {
      const step = this.steps[at] as Step
      const keys = this.#sorts.get(step)
      if (keys) sorted = this.#sorted(sorted, at, keys)
      else if (!isRowStep(step)) break
    }
    return sorted
  }

  /** Passes all rows on in their order when they are there, through the steps up to the next one that sorts or has a run. */
  async *#sorted(
    rows: AsyncIterable<readonly FlowRow[]>,
    at: number,
    keys: readonly SortKey[],
  ): AsyncGenerator<readonly FlowRow[]> {
    const sort = openRowSort(keys, this.order.get(at))
    const count = this.counts[at] as StepCount
    try {
      for await (const chunk of rows)
        for (const row of chunk) {
          sort.add(row)
          if (row.fields) count.in++
        }
      // Those that are there are not all.
      if (this.#isCut) return
      this.order.set(at, sort.order())
      await this.onSorted()
      for (const chunk of sort.rows()) {
        const going = chunk.filter(({ fields }) => fields).length
        count.found += going
        count.out += going
        yield* chunks(this.#kept(chunk, at + 1))
        if (this.#fullAt > at) return
      }
    } finally {
      sort.close()
    }
  }

  async *#cellsFor(stage: Stage, rows: AsyncIterable<readonly FlowRow[]>): AsyncGenerator<readonly CsvRow[]> {
    let isDone = false
    const at = this.steps.indexOf(stage.step)
    const count = this.#countOf(stage.step)
    const asks = this.#asked.get(stage.step)
    // Written again, a flow that has finished takes the rows that it had taken.
    const most = this.finished[at]?.cut_at
    let given = 0
    try {
      for await (const chunk of slices(rows, most ?? (this.#hasLimit(at) ? slicedRows : chunkRows))) {
        const taken = most === undefined ? chunk : chunk.slice(0, most - given)
        const asked = taken.map(({ fields }) => fields !== undefined && asks?.(fields) !== false)
        for (const [place, { fields }] of taken.entries()) {
          if (!fields) continue
          count.in++
          if (asked[place]) stage.expect?.(fields)
          else count.passed_by = (count.passed_by ?? 0) + 1
        }
        given += taken.length
        yield taken.map((row, place) => ({
          line: row.line,
          cells: cellsOf(stage, row, asked[place] === true),
          fields: row.fields,
        }))
        if (most === undefined ? this.#fullAt > at : given >= most) {
          count.cut_at = given
          break
        }
      }
      isDone = true
    } finally {
      // The steps before it must not go on paying for rows that go nowhere.
      if (!isDone) this.#end(stage)
    }
  }

  /** Whether a limit behind a step may end what it is given. */
  #hasLimit(at: number): boolean {
    return limitsBehind(this.steps, at).length > 0
  }

  #end(stage: Stage): void {
    this.#isCut = true
    if (!this.stop.signal.aborted) this.#first = stage
    this.stop.abort()
  }

  #writer(stage: Stage, put: (rows: readonly FlowRow[]) => Promise<void>, end: () => void): Writer {
    const nothing = async () => {}
    const count = this.#countOf(stage.step)
    const next = this.steps.indexOf(stage.step) + 1
    const reasons = this.reasons[next - 1]
    return {
      output: undefined,
      partial: undefined,
      discard: nothing,
      write: async (rows) => {
        const after = rows.flatMap((row) => {
          if (row.fields && row.status === 'found' && !isDropped(row.body)) count.found++
          if (row.fields && isDropped(row.body)) count.dropped = (count.dropped ?? 0) + 1
          if (row.source === 'duplicate') count.duplicates++
          if (row.status === 'invalid') count.invalid++
          if (row.status === 'suppressed') count.suppressed = (count.suppressed ?? 0) + 1
          if (row.status === 'known') count.left_out = (count.left_out ?? 0) + 1
          if (row.status === 'failed') count.failed++
          if (row.status === 'invalid' || row.status === 'failed') reasons?.add(row.error ?? row.status)
          const going = rowsAfter(stage.step, row)
          for (const { fields } of going) if (fields) count.out++
          return going
        })
        for (const chunk of chunks(this.#kept(after, next))) await put(chunk)
      },
      finish: async () => end(),
      abandon: async () => {
        this.#end(stage)
        end()
      },
    }
  }

  /** Passes rows through the lists and the conditions before the next step with a run. */
  #kept(rows: readonly FlowRow[], from: number): readonly FlowRow[] {
    const { about } = this.steps[from]?.before ?? this.end
    const { known } = this
    let kept = known
      ? rows.map((row) => (row.fields && known.has(about, row.fields) ? { ...row, fields: undefined } : row))
      : rows
    for (let at = from; ; at++) {
      const step = this.steps[at]
      const worker = step && this.#workers.get(step)
      const count = this.counts[at]
      if (!worker || !count) return kept
      kept = kept.map((row) => this.#workOn(row, at, worker, count))
      if (worker.isFull()) this.#fullAt = Math.max(this.#fullAt, at)
    }
  }

  #workOn(row: FlowRow, at: number, { work, isLimit }: RowWorker, count: StepCount): FlowRow {
    const place = this.#places.get(at) ?? 0
    this.#places.set(at, place + 1)
    if (!row.fields) return row
    count.in++
    const done = work(row.fields)
    if (done.is === 'passed') count.passed_by = (count.passed_by ?? 0) + 1
    else if (done.is === 'found') count.found++
    if (done.is === 'duplicate') count.duplicates++
    if (done.fields) count.out++
    else if (isLimit) this.over.get(at)?.push(place) ?? this.over.set(at, [place])
    return { ...row, fields: done.fields }
  }

  #countOf(step: Step): StepCount {
    return this.counts[this.steps.indexOf(step)] as StepCount
  }
}

/** Returns the limits that are reached before all rows have come to a step that sorts them. */
export function limitsBehind(steps: readonly Step[], at: number): readonly number[] {
  const behind = steps.slice(at + 1)
  const sorts = behind.findIndex(({ kind }) => kind === 'sort')
  return (sorts < 0 ? behind : behind.slice(0, sorts)).flatMap((one) =>
    one.kind === 'limit' ? [one.limit] : [],
  )
}

const isSource = (step: Step): boolean => step.kind === 'lookup' && step.place === 'records'

/** What became of a row in a step that asks nobody; `fields` are absent where it leaves the flow. */
interface Worked {
  readonly is: 'found' | 'duplicate' | 'passed' | 'left'
  readonly fields?: Fields
}

/** What a step that asks nobody does with one row after the other. */
interface RowWorker {
  work(row: Fields): Worked
  /** Whether no further row goes on. */
  isFull(): boolean
  readonly isLimit?: boolean
  /** Rows of which its condition compared a missing value, or one of another type. */
  doubtful?(): number
}

/** Returns what reads the values of a row that expressions name; what a row lacks is null. */
function valuesReader(fields: Scope, texts: readonly string[]) {
  const names = Object.keys(fields).filter((name) => texts.some((text) => text.includes(name)))
  const values: Record<string, unknown> = {}
  return (row: Fields): Readonly<Record<string, unknown>> => {
    for (const name of names) values[name] = row[name] ?? null
    return values
  }
}

async function openCondition(text: string, { before: { fields } }: Pick<Step, 'before'>, option: string) {
  const condition = await parseExpression(text, fields, option)
  const read = valuesReader(fields, [text])
  const doubtful = () => condition.doubtful
  return { test: (row: Fields): boolean => condition.test(read(row)), doubtful }
}

export const openOnlyIf = async (step: Step): Promise<((row: Fields) => boolean) | undefined> =>
  'only_if' in step && step.only_if !== undefined
    ? (await openCondition(step.only_if, step, 'only_if')).test
    : undefined

export async function openWorker(step: Exclude<RowStep, { kind: 'sort' }> & Step): Promise<RowWorker> {
  const isFull = () => false
  if (step.kind === 'keep') {
    const { test, doubtful } = await openCondition(step.keep, step, 'keep')
    return { work: (row) => (test(row) ? { is: 'found', fields: row } : { is: 'left' }), isFull, doubtful }
  }
  if (step.kind === 'limit') {
    let taken = 0
    const work = (row: Fields): Worked =>
      taken < step.limit && ++taken ? { is: 'found', fields: row } : { is: 'left' }
    return { work, isFull: () => taken >= step.limit, isLimit: true }
  }
  if (step.kind === 'distinct') {
    const read = fieldReader([step.distinct].flat())
    const seen = new Set<string>()
    const work = (row: Fields): Worked => {
      const values = read(row).map((value) => toCell(value).trim().toLowerCase())
      const key = JSON.stringify(values)
      // Rows that say nothing are not known to be the same.
      if (seen.has(key) && values.some((value) => value !== '')) return { is: 'duplicate' }
      seen.add(key)
      return { is: 'found', fields: row }
    }
    return { work, isFull }
  }
  const { set, before } = step
  const isAsked = await openOnlyIf(step)
  const texts = Object.values(set).map(String)
  const read = valuesReader(before.fields, texts)
  const computations = await Promise.all(
    Object.keys(set).map(
      async (name, at) =>
        [name, await parseComputation(texts[at] ?? '', before.fields, `set.${name}`)] as const,
    ),
  )
  const work = (row: Fields): Worked => {
    if (isAsked?.(row) === false) return { is: 'passed', fields: row }
    const values = read(row)
    const computed = computations.map(([name, { compute }]) => [name, compute(values)] as const)
    const isWhole = computed.every(([, value]) => value !== undefined)
    const fields = { ...row, ...Object.fromEntries(computed.map(([name, value]) => [name, value ?? null])) }
    return { is: isWhole ? 'found' : 'left', fields }
  }
  return { work, isFull }
}

function* chunks(rows: readonly FlowRow[], size = chunkRows): Generator<readonly FlowRow[]> {
  if (rows.length <= size) yield rows
  else for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
}

async function* slices(rows: AsyncIterable<readonly FlowRow[]>, size: number) {
  for await (const chunk of rows) yield* chunks(chunk, size)
}

/** Creates the way to the next step. Writing waits while too many chunks are not taken; once that has left, they are lost. */
function createPassage() {
  const waiting = new CountQueuingStrategy({ highWaterMark: chunksBetween })
  const passage = new TransformStream<readonly FlowRow[], readonly FlowRow[]>({}, undefined, waiting)
  const writer = passage.writable.getWriter()
  return {
    rows: passage.readable as AsyncIterable<readonly FlowRow[]>,
    write: (chunk: readonly FlowRow[]) => writer.write(chunk).catch(() => {}),
    end: () => void writer.close().catch(() => {}),
  }
}

/** Returns what stands for a step that is no lookup. */
export async function standIn(): Promise<Pick<BatchRequest, 'operation' | 'shape'>> {
  return { operation: operation(standInId), shape: await shapeOf(standInId) }
}
