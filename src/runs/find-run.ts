import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isRefusal, Refusal } from '../api/calls/errors.js'
import { parseJson, toJson } from '../api/values/json.js'
import { normaliseName } from '../csv/names.js'
import type { Driver } from '../storage/driver/connection.js'
import { type Mapping, positionsOf } from './input/mapping.js'
import { openTable, spool, type Table } from './input/table.js'
import { type Run, type RunIdentity, type Runs, sampleMark } from './journal/runs.js'
import { resultsOfRuns } from './journal/spending.js'
import { enoughAnswers, enoughFiles, type Results } from './plan/quote.js'
import type { BatchDialog, BatchPorts, KnownRun, RunHome, RunPorts } from './ports.js'
import { openRunFolder, openUnnamedFile } from './records.js'
import type { BatchRequest, InputChoices, RecordedRequest } from './request.js'
import { shownTarget } from './target-name.js'

export type InputFile = Awaited<ReturnType<typeof openInput>>

const sheetOptions = { encoding: 'utf-8', delimiter: ',', raw: true }

type InputPorts = RunHome & Pick<RunPorts, 'streams' | 'convertFile'>

type ReadChoices = Pick<InputChoices, 'file' | 'sheet' | 'encoding' | 'delimiter' | 'skipLines' | 'header'> &
  Partial<Pick<InputChoices, 'raw'>>

/** Opens an input file. A pipe can be read only once, so it is first copied to a folder. */
export async function openInput(
  ports: InputPorts,
  choices: ReadChoices,
  chooseEncoding: BatchDialog['chooseEncoding'] = (error) => Promise.reject(error),
) {
  const id = ports.ids.uuid()
  const openAt = async (path: string) => {
    const open = async (encoding: string | undefined) => ({
      table: await openFile(ports, path, { ...choices, encoding }),
      /** The encoding that was asked for, by an option or in a dialog. */
      encoding,
    })
    return open(choices.encoding).catch(async (error: unknown) => {
      if (!isRefusal(error, 'csv.encoding_uncertain')) throw error
      return open(await chooseEncoding(error))
    })
  }
  if (choices.file !== '-') {
    const opened = await openAt(resolve(ports.streams.cwd, choices.file))
    return { ...opened, id, isPiped: false, keep: () => {} }
  }
  const folder = await openRunFolder(ports, id)
  const copy = join(folder.path, 'stdin.csv')
  await spool(ports.streams.stdin, copy)
  const opened = await openAt(copy).catch((error: unknown) => {
    if (!(error instanceof Refusal) || error.details.path !== copy) throw error
    throw new Refusal(error.code, { ...error.details, path: 'stdin' })
  })
  return { ...opened, id, isPiped: true, keep: folder.keep }
}

/** Opens a CSV file, or a sheet of a workbook or a packed file, whose copy ends with this process. */
async function openFile(
  ports: InputPorts,
  path: string,
  { encoding, delimiter, skipLines, header, raw, sheet }: ReadChoices,
): Promise<Table> {
  const converted = await ports.convertFile(path, sheet, () => openUnnamedFile(ports))
  if (!converted?.isSheet) {
    const table = await openTable(path, {
      encoding,
      delimiter,
      skipLines,
      header,
      raw,
      copy: converted?.copy,
    })
    if (sheet === undefined) return table
    throw new Refusal('workbook.not_one', { path })
  }
  if (encoding === undefined && delimiter === undefined)
    return openTable(path, { ...sheetOptions, skipLines, header, ...converted })
  throw new Refusal('workbook.not_text', { path, field: encoding === undefined ? 'delimiter' : 'encoding' })
}

export async function openRunInput(
  ports: RunPorts,
  { choices, run }: BatchRequest,
  chooseEncoding?: BatchDialog['chooseEncoding'],
): Promise<InputFile> {
  try {
    return await openInput(ports, choices, chooseEncoding)
  } catch (error) {
    if (choices.file !== run?.file || existsSync(run.file) || !(error instanceof Refusal)) throw error
    throw new Refusal('run.file_gone', { cause: error, run: run.id })
  }
}

export async function identifyRun(
  { operation, constants, choices }: BatchRequest,
  { target: { name } }: RunPorts,
  table: Table,
  mapping: Mapping,
  workspace = '',
): Promise<RunIdentity> {
  const target = await name()
  const fileHash = await hashOfFile(table.path)
  const columns = mapping.columns.map(({ field }) => [field, ...positionsOf(mapping, field)])
  const fields = Object.entries(constants).sort(([one], [other]) => (one < other ? -1 : 1))
  const reading = [choices.encoding, choices.delimiter, choices.raw]
  const all = [operation.id, fileHash, columns, fields, reading]
  // Which rows are looked up is part of the identity.
  if (choices.onlyMissing !== undefined) all.push(choices.onlyMissing)
  if (choices.knownPrint !== undefined) all.push(['known', choices.knownPrint])
  const sample = choices.sample === undefined ? '' : `${sampleMark}${choices.sample}`
  if (choices.sheet !== undefined) all.push(['sheet', choices.sheet])
  if (choices.skipLines !== undefined) all.push(`skip ${choices.skipLines}`)
  if (!table.hasHeader) all.push('no header')
  const digest = createHash('sha256')
    .update(toJson([target, ...all]))
    .digest('hex')
  return {
    identityKey: digest.slice(0, 32) + sample,
    operation: operation.id,
    target,
    file: table.path,
    fileHash,
    workspace,
  }
}

/** Returns a digest of a file, or of its first bytes. */
export async function hashOfFile(path: string, bytes = Number.POSITIVE_INFINITY): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path, { end: bytes - 1 }), hash)
  return hash.digest('hex')
}

/**
 * Finds the run to resume, as `findRun` does; a finished one, too, where `--retry-unknown` finds something to do, or one that is
 * resumed by its id where asking again costs nothing, or data vendors can be asked now that could not be asked about some of its
 * rows. One that began before `notBefore` is not written again, since its answers are out of date.
 */
export async function findKnown(
  request: BatchRequest,
  identity: RunIdentity,
  runs: Runs,
  notBefore: number,
  isFree: () => Promise<boolean>,
  hasMore: (run: Run) => Promise<boolean>,
): Promise<KnownRun | undefined> {
  const known = await findRun(request, identity, runs)
  if (known && isOutdated(known, notBefore) && !request.run) return undefined
  if (known?.status !== 'finished') return known
  const isAsked = request.choices.retryUnknown || (request.run !== undefined && (await isFree()))
  if (isAsked && (await runs.hasUnknown(known))) return { ...known, status: 'stopped', onlyUnknown: true }
  return (await hasMore(known)) ? { ...known, status: 'stopped', onlyLeftOut: true } : known
}

/** Whether a run is not written again, since its answers are out of date. */
export const isOutdated = ({ status, startedAt }: Run, notBefore: number): boolean =>
  status === 'finished' && startedAt < notBefore

/** Whether another workspace paid for a run; this one has to pay for its own answers. */
export const isForeign = ({ workspace }: Run, identity: RunIdentity): boolean =>
  workspace !== '' && workspace !== identity.workspace

/** Whether only rows are written that another run did not have. */
export const isComparing = ({ only = [] }: Pick<BatchRequest['choices'], 'only'>): boolean =>
  only.includes('new') || only.includes('changed')

/** Finds the run to resume; `undefined` for a new one. Throws a Refusal where another run stands in its way. */
export async function findRun(
  request: BatchRequest,
  identity: RunIdentity,
  runs: Runs,
): Promise<Run | undefined> {
  const { choices, run, databaseOption = '' } = request
  if (run) return sameRun(request, run, identity, runs)
  if (choices.fresh) return undefined
  const known = await runs.known(identity)
  if (known) {
    const isRepeated = choices.refresh || isForeign(known, identity) || isComparing(choices)
    return known.status === 'finished' && isRepeated ? undefined : known
  }
  const other = await runs.inTheWay(identity)
  if (!other) return undefined
  const { id, done, total } = other
  throw new Refusal('run.in_the_way', { file: identity.file, run: id, databaseOption, done, total })
}

/** Returns the sample runs of a file, whose answers its run takes. Throws a Refusal where rows of one could be paid twice. */
export async function samplesOf(
  { choices, databaseOption = '' }: BatchRequest,
  identity: RunIdentity,
  runs: Runs,
): Promise<ReadonlySet<number>> {
  if (choices.fresh) return new Set()
  const samples = (await runs.samplesOf(identity)).filter(
    ({ identityKey }) => identityKey !== identity.identityKey,
  )
  const open = samples.find(({ reserved, status }) => reserved > 0 || status === 'running')
  if (open) throw new Refusal('run.sample_open', { run: open.id, databaseOption })
  return new Set(samples.map(({ number }) => number))
}

/** Throws a Refusal where `--rows` ends within a request that an earlier execution of the run sent for several rows. */
export async function checkRows({ choices: { rows } }: BatchRequest, run: Run, runs: Runs): Promise<void> {
  if (rows === undefined) return
  const last = await runs.lastSentTogether(run, rows)
  if (last < rows) return
  throw new Refusal('run.rows_together', { run: run.id, last: last + 1 })
}

async function sameRun(
  { choices, databaseOption }: BatchRequest,
  run: Run,
  identity: RunIdentity,
  runs: Runs,
): Promise<Run> {
  const [now] = await runs.find(run.id)
  if (now && identity.identityKey === now.identityKey) return now
  if (identity.target !== run.target)
    throw new Refusal('run.other_target', { run: run.id, target: shownTarget(run.target) })
  const file = choices.file === '-' ? undefined : identity.file
  if (choices.file !== run.file && identity.fileHash !== run.fileHash)
    throw new Refusal('run.other_content', { file, read: run.file, run: run.id })
  if (choices.skipKnown && identity.fileHash === run.fileHash)
    throw new Refusal('run.known_changed', { run: run.id })
  throw new Refusal('run.file_changed', { read: run.file, run: run.id, databaseOption })
}

/**
 * Has a person confirm that another member pays for the rest of a run (decision 8). Throws where nobody can be asked,
 * or refuses.
 */
export async function checkMember({ target, dialog }: BatchPorts, run: Run): Promise<void> {
  const { member: starter } = parseJson(run.request) as Partial<RecordedRequest>
  const member = await target.member()
  if (starter === undefined || member === undefined || starter === member) return
  await dialog.confirmMember(run, starter, member)
}

/** Returns the request for the record of a run, as JSON; `file` is where its input is kept, `member` who pays. */
export function toRecord(
  { constants, choices, targetOptions }: BatchRequest,
  file: string,
  own: Pick<RecordedRequest, 'member' | 'source' | 'like'>,
): string {
  const request: RecordedRequest = {
    constants,
    ...own,
    choices: {
      ...choices,
      file,
      fresh: false,
      refresh: undefined,
      lock: undefined,
      retryUnknown: false,
    },
    globals: targetOptions,
  }
  return toJson(request)
}

/** Fields that a price depends on: results of other values say nothing about a row. */
const pricing = ['enrichment_type', 'limit'] as const

/**
 * Reads what lookups with the same price have cost on the target, in runs like this one: the newest of them, as many as tell
 * enough. A list of another origin says nothing of this one.
 */
export async function readResults(
  { operation, constants }: Pick<BatchRequest, 'operation' | 'constants'>,
  database: Driver,
  target: string,
  like: string,
): Promise<Results> {
  const results = { credits: 0, answers: 0, runs: 0, rates: [] as number[] }
  for (const { request, credits, answers } of await database.read((connection) =>
    resultsOfRuns(connection, operation.id, target),
  )) {
    const theirs = parseJson(request) as Partial<RecordedRequest>
    const isPricedAlike = pricing.every(
      (field) => JSON.stringify(theirs.constants?.[field]) === JSON.stringify(constants[field]),
    )
    if (theirs.like !== like || !isPricedAlike) continue
    if (answers > 0) results.rates.push(credits / answers)
    if (results.rates.length >= enoughFiles) break
    if (results.answers >= enoughAnswers) continue
    // The newest file says most of the next one.
    const weight = 0.5 ** results.runs
    results.credits += weight * credits
    results.answers += Math.ceil(weight * answers)
    results.runs++
  }
  return results
}

/** Returns what the runs of files share whose fields come from the same columns. */
export const likeFile = ({ columns }: Mapping): string =>
  likeOf(columns.map(({ field, column }) => [field, normaliseName(column)]).sort())

/** Returns what runs share that are of the same sort: a digest, since the names of columns can be anything. */
export const likeOf = (sort: unknown): string =>
  createHash('sha256').update(toJson(sort)).digest('hex').slice(0, 16)
