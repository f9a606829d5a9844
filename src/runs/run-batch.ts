import { existsSync } from 'node:fs'
import { Refusal } from '../api/calls/errors.js'
import { isoDay } from '../api/values/dates.js'
import { parseJson, toJson } from '../api/values/json.js'
import { resultOr } from '../api/values/objects.js'
import { footerNote } from '../csv/footer.js'
import { isPlaceholder, toDomain } from '../identity/value-kinds.js'
import { openNumbers } from '../lookups/numbers.js'
import {
  addFiles,
  noCaller,
  openCalls,
  openFinished,
  openQuoted,
  openRun,
  readBudget,
  readQuotaBudget,
} from './begin-or-resume.js'
import { execute } from './execute.js'
import {
  checkMember,
  checkRows,
  findKnown,
  findRun,
  hashOfFile,
  type InputFile,
  identifyRun,
  isComparing,
  likeFile,
  openRunInput,
  readResults,
  samplesOf,
} from './find-run.js'
import { type Mapping, mapColumns, withoutMapped } from './input/mapping.js'
import { checkPeople, checkTable, isNoRecord, selectRows, type Table } from './input/table.js'
import type { Run, RunIdentity } from './journal/runs.js'
import { findBaseline, type Novelty, openBaseline } from './journal/spending.js'
import { stopKilledRuns } from './killed-runs.js'
import { openKnownRows } from './lists.js'
import { checkSheetRows, openFirsts, openOutput, rowFormat } from './open-output.js'
import type { OutputRow } from './output/columns.js'
import { crmColumns, identityOfRecord, requireCrmKind } from './output/crm-layout.js'
import { createSelection } from './output/select.js'
import {
  checkWidth,
  columnsIn,
  createLookup,
  identityOfRow,
  type Lookup,
  toMappingRequest,
  withFoundColumn,
} from './plan/lookup.js'
import {
  type BatchQuote,
  type CountRequest,
  countRows,
  countSpendable,
  createQuote,
  defaultShareOf,
} from './plan/quote.js'
import type { BatchPorts, RunPorts, TargetRefusal } from './ports.js'
import { hold, holdRun, namedLock, openRuns, type RunRecords, removeLeftovers } from './records.js'
import type { BatchRequest, RecordedRequest } from './request.js'

/** A run that was executed, at least in part. */
export type ExecutedBatch = Awaited<ReturnType<typeof executeBatch>>

/** How a batch ends: only its quote was wanted, or it was executed. */
type BatchResult =
  | { readonly kind: 'quote'; readonly quote: BatchQuote | TargetRefusal; readonly mapping: Mapping }
  | ExecutedBatch

/** A batch whose rows were counted and whose run was looked for: all that its quote and its execution need. */
type PlannedBatch = Awaited<ReturnType<typeof planBatch>>

/** Looks up every row of a file, or resumes a run: reads the file, finds the run, quotes it and executes it. */
export async function runBatch(asked: BatchRequest, ports: BatchPorts): Promise<BatchResult> {
  const { dialog } = ports
  if (asked.choices.lock !== undefined && !asked.choices.dryRun)
    hold(ports, namedLock(ports, asked.choices.lock), { of: 'lock', name: asked.choices.lock })
  const input = await openRunInput(ports, asked, dialog.chooseEncoding)
  const { mapping: chosen, map } = await dialog.chooseMapping(toMappingRequest(asked, input.table))
  const mapping = asked.choices.dryRun ? withFoundColumn(asked, input.table, chosen) : chosen
  dialog.showMapping(mapping)
  const constants = await dialog.completeConstants(mapping)
  const request = { ...asked, constants, choices: { ...asked.choices, map, encoding: input.encoding } }
  const batch = await planBatch(ports, request, input, mapping)
  if (batch.known?.status !== 'finished') await ports.target.requireRecords()
  const quote = () => makeQuote(ports, batch)
  if (request.choices.dryRun) {
    // Refuses what is wrong with the columns of the output, as the run would.
    await rowFormat(withShared(request, mapping), input.table.header, mapping, batch.selection)
    return { kind: 'quote', quote: await quote(), mapping }
  }
  if (batch.known?.status !== 'finished') await dialog.confirm(quote)
  return ports.interruptible((signal) => executeBatch(ports, batch, signal))
}

/** Finds the run of a batch, and reads the whole file before the first paid call. */
async function planBatch(ports: BatchPorts, asked: BatchRequest, input: InputFile, mapping: Mapping) {
  const { table } = input
  const { dryRun, skipKnown } = asked.choices
  const counting = skipKnown && (await ports.dialog.showCounting())
  const onRow = (rows: number) => counting?.update({ rows })
  const others = await openKnownRows(ports, asked.operation, skipKnown, onRow).finally(() => counting?.stop())
  const own = { ...asked, choices: { ...asked.choices, knownPrint: others?.fingerprint } }
  // Refuses what is wrong with a condition before anything is held.
  await createSelection(withShared(own, mapping), table.header)
  const suppressor = await ports.target.suppressor()
  const columns = await readColumns(ports, own, mapping, table)
  const lookup = createLookup(own, mapping, table, ports.sentences.describe, others, suppressor, columns)
  const identity = await identifyRun(own, ports, table, mapping, await ports.target.workspace())
  const records = await openRuns(ports, { database: own.database }, own.records)
  if (!dryRun) await holdRun(ports, records.locks, identity.identityKey, { of: 'run' })
  await stopKilledRuns(records, dryRun ? undefined : identity.identityKey, ports.target.engine)
  const notBefore = await ports.target.answersFrom()
  // The engine of this machine charges nothing twice, and asks its data vendors only for what they have accepted.
  const isFree = async () => (await ports.target.caller()).supportsIdempotency === undefined
  // Rows of unknown outcome are asked again in the run that sent them, however old its other answers may be.
  const askAgain = async (run: Run) => ports.target.vendorsToAsk(run, await records.runs.vendorsNotAsked(run))
  const hasMore = async (run: Run) => (await askAgain(run)).size > 0
  const known = await findKnown(own, identity, records.runs, notBefore, isFree, hasMore)
  const compared = await openComparison(ports, own, records, identity, known, lookup)
  // A quote says what it would cost, and how far what may be spent goes.
  const budget = dryRun ? {} : budgetOfRun(own.choices, known)
  const request = { ...own, choices: { ...own.choices, ...budget, baseline: compared?.baseline } }
  const shared = withShared(request, mapping)
  const selection = await createSelection(shared, table.header, compared?.noveltyOf, firstsOf(ports, request))
  if (known && known.status !== 'finished' && !dryRun) await checkMember(ports, known)
  const { check, count, rows } = await readRows(table, lookup, request)
  if (known) await checkRows(request, known, records.runs)
  const samples = await samplesOf(request, identity, records.runs)
  checkSheetRows(request.output, count)
  if (check.ragged > 0) ports.dialog.showRagged(check.ragged, check.firstRagged)
  if (check.footer) ports.notify(footerNote(check.footer))
  if (known) ports.dialog.showKnownRun(known)
  return {
    request,
    mapping,
    records,
    identity,
    like: likeFile(mapping),
    known,
    askAgain: known && known.status !== 'finished' ? await askAgain(known) : undefined,
    notBefore,
    input,
    /** Number of the rows that are looked up, and of those that the run has. */
    count,
    total: request.choices.sample === undefined ? check.rows : count,
    samples: samples.size > 0 ? samples : undefined,
    /** The rows that are written; all of them where absent. */
    selection,
    rows,
  }
}

/** Returns the budget of a run in all, where this execution may spend so much besides. */
function budgetOfRun({ maxCredits, moreCredits }: BatchRequest['choices'], known: Run | undefined) {
  if (moreCredits === undefined) return {}
  const most = (known?.credits ?? 0) + (known?.reserved ?? 0) + moreCredits
  return { maxCredits: Math.min(maxCredits ?? most, most), moreCredits: undefined }
}

/** Opens the run that rows are compared with, which is fixed when a run begins; `undefined` where nothing is compared. */
async function openComparison(
  ports: RunPorts,
  request: BatchRequest,
  { runs, database, now }: RunRecords,
  identity: RunIdentity,
  known: Run | undefined,
  lookup: Lookup,
): Promise<{ readonly baseline: string | null; noveltyOf(row: OutputRow): Novelty } | undefined> {
  if (!isComparing(request.choices)) return undefined
  const { baseline: fixed } = known ? (parseJson(known.request) as RecordedRequest).choices : {}
  const run =
    fixed === undefined
      ? await findBaseline(request, identity, runs, request.choices.since, now())
      : fixed === null
        ? undefined
        : (await runs.find(fixed))[0]
  const baseline = await openBaseline(database, run)
  ports.onClose(() => baseline.close())
  ports.notify(
    run
      ? `Compared with run ${run.id.slice(0, 8)} of ${isoDay(run.startedAt)}.`
      : 'There is no earlier run of this file to compare with: all rows are new.',
  )
  return {
    baseline: run?.id ?? null,
    noveltyOf: (row) =>
      baseline.compare(identityOfRow(lookup.read(row.cells, row.line), lookup.identity), row),
  }
}

/** Reads the whole file. Returns its rows that are looked up, and how many these are. */
async function readRows(table: Table, lookup: Lookup, { choices }: BatchRequest) {
  const check = lookup.people
    ? await checkPeople(table, lookup.people, lookup.skip)
    : await checkTable(table, (cells) => identityOfRow(lookup.read(cells), lookup.identity), lookup.skip)
  const { table: selected, count } = selectRows(table, choices, check.rows)
  return { check, count, rows: { table: selected, ...lookup, repeats: check.repeats } }
}

/** Returns a request with the input that is the same in every row, on which the columns of the output depend. */
const withShared = (request: BatchRequest, mapping: Mapping): BatchRequest => ({
  ...request,
  constants: withoutMapped(request.constants, mapping),
})

/** Returns the columns of a table that rows are asked with, beside the fields of their requests. */
const readColumns = async (
  { target }: RunPorts,
  request: BatchRequest,
  mapping: Mapping,
  { header }: Pick<Table, 'header'>,
) => columnsIn(header, await target.columns(request.operation, withShared(request, mapping).constants))

/** Returns what keeps a layout to the first row about each company or person; `undefined` where all rows are written. */
function firstsOf(ports: RunPorts, { choices, shape }: BatchRequest) {
  if (choices.layout === undefined || choices.keepInput) return undefined
  const kind = requireCrmKind(shape.output)
  const { cells } = crmColumns(choices.layout, kind)
  return openFirsts(ports, (record) => identityOfRecord(kind, record) ?? toJson(cells(record)))
}

/** Makes the quote of a batch; only free questions are sent. */
async function makeQuote(ports: BatchPorts, batch: PlannedBatch): Promise<BatchQuote | TargetRefusal> {
  const { request, records, identity, known, like, rows, input } = batch
  const remaining = await ports.remaining(request.operation, request.constants)
  if ('reply' in remaining) return remaining
  const spendable = { ...remaining.spendable, budget: await readBudget(ports, batch) }
  const lookups = await openQuoted(ports, batch)
  const budget = await readQuotaBudget(batch, batch.known)
  const progress = await ports.dialog.showCounting()
  const { moreCredits, maxAgeMs, dryRun, rows: first, sample } = request.choices
  const count = (table: CountRequest['table']) => {
    const seen = openNumbers()
    return countRows({
      ...rows,
      table,
      lookups,
      funds: Math.min(countSpendable(spendable), moreCredits ?? Number.POSITIVE_INFINITY),
      isNew: seen.add,
      onlyCountsStored: maxAgeMs === undefined,
      onCounted: (counted) => progress.update({ rows: counted }),
    }).finally(() => seen.close())
  }
  const isPart = first !== undefined || sample !== undefined
  const countAll = async () => {
    const counted = await count(rows.table)
    // Who is asked whether to start has chosen the rows, and does not wait for the others.
    const all = isPart ? (dryRun ? (await count(input.table)).most : null) : undefined
    return { counted, ofFile: all }
  }
  const { counted, ofFile } = await countAll().finally(() => progress.stop())
  return createQuote({
    counted,
    results: await readResults(request, records.database, identity.target, like),
    spendable,
    windows: remaining.windows,
    defaultShare: defaultShareOf(request.operation),
    quotaBudget: budget && budget.most - budget.used,
    spentBefore: known ? known.credits + known.reserved : 0,
    ofFile,
  })
}

async function executeBatch(ports: BatchPorts, batch: PlannedBatch, signal: AbortSignal) {
  const { request, records, known, input, mapping, selection, count, total, rows } = batch
  const shared = withShared(request, mapping)
  const written = { table: input.table, mapping, selection }
  const isOwn = (path: string) => records.runs.wroteLast(known, path)
  const output = await openOutput(ports, shared, written, isOwn, signal)
  const begin = async () => {
    const opened = await openRun(ports, batch, total, output)
    const calls = await openCalls(ports, request, opened, signal)
    // Records that machines share say nothing about the folders of this one.
    if (records.address === undefined)
      await removeLeftovers(ports, new Set((await records.runs.list()).map(({ id }) => id)))
    return { run: opened.run, calls, progress: await ports.dialog.showProgress(opened.run) }
  }
  const { run, calls, progress } = await begin().catch(async (error: unknown) => {
    await output.writer.abandon()
    throw error
  })
  progress.update({ rows: 0, total: count })
  const report = await execute({
    ...rows,
    ...calls,
    writer: output.writer,
    total: count,
    hasMore: count < total,
    signal,
    onProgress: (step) => progress.update(step),
  }).finally(() => progress.stop())
  return {
    kind: 'executed' as const,
    run,
    report,
    rejects: output.rejects,
    signal,
    selection,
    /** Whether the reader of our stdout has gone. */
    isAbandoned: output.isAbandoned(),
    wasFinished: known?.status === 'finished',
  }
}

/**
 * Returns what a row of a recorded run is looked up by, counted from 0, and which of its cells were not understood; `undefined`
 * where its file is gone or has changed since, or the row was not sent.
 */
export async function inputOfRow(request: BatchRequest, ports: RunPorts, run: Run, row: number) {
  const { found, lookup, mapping } = (await readRow(request, ports, run, row)) ?? {}
  if (!found || !lookup || !mapping || lookup.skip?.(found)) return undefined
  const { cells } = found
  const read = resultOr(undefined, () => lookup.read(cells))
  if (!read) return undefined
  const { input, leftOut } = read
  const notUnderstood = mapping.columns.flatMap(({ field, column, at }) => {
    const cell = cells[at]?.trim() ?? ''
    // Text in place of a domain is taken for the name of the company.
    const isNoDomain = isDomainField(field) && toDomain(String(input[field] ?? '')) === undefined
    const isLeftOut = isNoDomain || leftOut.some((one) => one.field === field)
    return cell !== '' && isLeftOut && !isPlaceholder(field, cell)
      ? [{ column, cell, isDomain: isDomainField(field) }]
      : []
  })
  return { input, notUnderstood }
}

const isDomainField = (field: string): boolean => field === 'domain' || field === 'company_domain'

/** Why a row of a recorded run is not looked up, and what is wrong with an invalid one. */
export interface NotLookedUp {
  readonly status: 'blank' | 'filled' | 'known' | 'suppressed' | 'invalid'
  readonly error: string
}

/**
 * Returns why a row of a recorded run, counted from 0, is not looked up, by its file and the lists of today; null where nothing
 * keeps it from that, and `undefined` where its file is gone or has changed since.
 */
export async function whyNotLookedUp(
  request: BatchRequest,
  ports: RunPorts,
  run: Run,
  row: number,
): Promise<NotLookedUp | null | undefined> {
  const { skipKnown, knownPrint } = request.choices
  const others = await openKnownRows(ports, request.operation, skipKnown).catch((error: unknown) => {
    // A list that is gone or unreadable has changed, too.
    if (error instanceof Refusal) return undefined
    throw error
  })
  const known = others?.fingerprint === knownPrint ? others : undefined
  const suppressor = await ports.target.suppressor()
  const { found, lookup, table } = (await readRow(request, ports, run, row, { known, suppressor })) ?? {}
  if (!found || !lookup || !table) return undefined
  if (isNoRecord(found)) return { status: 'blank', error: '' }
  if (lookup.skip?.(found)) return { status: 'filled', error: '' }
  if (lookup.isKnown?.(found.cells)) return { status: 'known', error: '' }
  return objectionTo(lookup, found.cells, table.header)
}

/** Returns why a row must not be looked up; null where nothing is against it. */
export async function objectionTo(
  lookup: Lookup,
  cells: readonly string[],
  header: readonly string[],
): Promise<NotLookedUp | null> {
  try {
    checkWidth(cells, header)
    const row = lookup.read(cells)
    lookup.validate?.(row)
    const asked = lookup.about?.(cells, row.input) ?? row.input
    const [isSuppressed] = (await lookup.suppressor?.areAskedAbout([asked])) ?? []
    return isSuppressed ? { status: 'suppressed', error: '' } : null
  } catch (error) {
    if (error instanceof Refusal) return { status: 'invalid', error: lookup.explain(error, cells) }
    throw error
  }
}

interface KeptOut {
  readonly known?: Parameters<typeof createLookup>[4]
  readonly suppressor?: Parameters<typeof createLookup>[5]
}

/** Returns a row of a recorded run, counted from 0, and how its rows become lookups. */
async function readRow(
  request: BatchRequest,
  ports: RunPorts,
  run: Run,
  row: number,
  { known, suppressor }: KeptOut = {},
) {
  if (!existsSync(run.file) || (await hashOfFile(run.file)) !== run.fileHash) return undefined
  const { table } = await openRunInput(ports, request)
  const mapping = mapColumns(toMappingRequest(request, table))
  const columns = await readColumns(ports, request, mapping, table)
  const lookup = createLookup(request, mapping, table, ports.sentences.describe, known, suppressor, columns)
  const { sample } = request.choices
  // Which rows a sample has depends on how many the file has.
  const selected =
    sample === undefined
      ? table
      : (await readRows(table, lookup, { ...request, choices: { ...request.choices, rows: undefined } })).rows
          .table
  let before = 0
  for await (const batch of selected.rows()) {
    const found = batch[row - before]
    if (found) return { found, lookup, table, mapping }
    before += batch.length
  }
  return undefined
}

/** Writes the recorded answers of a run, in the order of its rows. It sends nothing. */
export async function exportRun(request: BatchRequest, ports: RunPorts, signal: AbortSignal) {
  const records = await openRuns(ports, { database: request.database }, request.records)
  const { table } = await openRunInput(ports, request)
  const mapping = mapColumns(toMappingRequest(request, table))
  const { skipKnown, knownPrint } = request.choices
  const others = await openKnownRows(ports, request.operation, skipKnown)
  const isSame = others?.fingerprint === knownPrint
  if (!isSame) ports.notify({ code: 'run.known_changed_since', details: {} })
  const known = isSame ? others : undefined
  const suppressor = await ports.target.suppressor()
  const columns = await readColumns(ports, request, mapping, table)
  const lookup = createLookup(request, mapping, table, ports.sentences.describe, known, suppressor, columns)
  const identity = await identifyRun(request, ports, table, mapping)
  const run = await findRun(request, identity, records.runs)
  if (!run) throw new Error('a run that is known was not found')
  const { count, rows } = await readRows(table, lookup, request)
  const missing = { status: 'skipped', error: 'Not looked up yet' } as const
  const lookups = await openFinished(records, run, missing)
  const shared = withShared(request, mapping)
  const compared = await openComparison(ports, request, records, identity, run, lookup)
  const selection = await createSelection(shared, table.header, compared?.noveltyOf, firstsOf(ports, request))
  const written = { table, mapping, selection }
  const isOwn = (path: string) => records.runs.wroteLast(run, path)
  const output = await openOutput(ports, shared, written, isOwn, signal, false)
  await addFiles(records, run, output.files)
  const report = await execute({
    ...rows,
    operation: request.operation.id,
    caller: noCaller,
    lookups,
    writer: output.writer,
    total: count,
    signal,
    time: { now: () => ports.clock.now(), sleep: async () => {} },
    explainStop: ports.sentences.explainStop,
  })
  return { run, report, isAbandoned: output.isAbandoned(), selection }
}
