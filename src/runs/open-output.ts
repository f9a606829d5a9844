import { realpathSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { Refusal } from '../api/calls/errors.js'
import { hashNumber, hashOf } from '../csv/identity-filter.js'
import { openNumbers } from '../lookups/numbers.js'
import { hashOfFile } from './find-run.js'
import { type Mapping, positionsOf, recordFieldsOf } from './input/mapping.js'
import type { Table } from './input/table.js'
import type { WrittenFile } from './journal/runs.js'
import {
  chosenColumns,
  createLayout,
  manyOf,
  type OutputRow,
  onlyMissingOf,
  rowColumnsOf,
} from './output/columns.js'
import { crmColumns, requireCrmKind, withCrmColumns } from './output/crm-layout.js'
import { excel, type Format, formatOfFile, type Layout, rowFormats } from './output/formats.js'
import { pickColumns, type Selection, selected } from './output/select.js'
import {
  createRejects,
  createWriter,
  csvRejects,
  findFile,
  isWorkbookName,
  keepPartial,
  nodeFiles,
  type Rejects,
  type Sink,
  setAside,
  streamSink,
  withoutKnown,
  withRejects,
} from './output/writer.js'
import type { RunPorts } from './ports.js'
import { fileLock, hold } from './records.js'
import type { BatchRequest, InputChoices } from './request.js'

export type OpenOutput = Awaited<ReturnType<typeof openOutput>>

/**
 * Opens the output before anything is paid for. What this run left there need not be kept. Invalid rows go to a file
 * of rejects unless `writesRejects` is false.
 */
export async function openOutput(
  ports: RunPorts,
  request: BatchRequest,
  {
    table,
    mapping,
    selection,
  }: { readonly table: Table; readonly mapping: Mapping; readonly selection?: Selection | undefined },
  isOwn: (path: string) => Promise<boolean>,
  signal: AbortSignal,
  writesRejects = true,
) {
  const { choices, output } = request
  const path = output === undefined ? null : resolve(ports.streams.cwd, output)
  const screen = path === null ? ports.screen : undefined
  const format = await rowFormat(request, table.header, mapping, selection, screen)
  const { cwd } = ports.streams
  const { stdout } = screen ?? ports.streams
  const rejectsPath = writesRejects ? (choices.rejects ?? besideOf(path)) : undefined
  ports.claimFile(table.path, 'csv', 'read')
  if (path !== null) ports.claimFile(path, 'out')
  if (rejectsPath !== undefined) ports.claimFile(rejectsPath, rejectsName(choices))
  const files: WrittenFile[] = []
  const isWhole = selection === undefined && !choices.skipKnown && !choices.explode
  for (const one of [path, rejectsPath])
    if (one && (await holdFile(ports, one)))
      files.push({ path: resolve(cwd, one), isWhole: isWhole && one === path })
  if (path !== null && !(await isOwn(path))) await keepPartial(path, ports.notify)
  // Of what cannot be opened nothing is left behind.
  const isOwnRejects = rejectsPath !== undefined && (await isOwn(resolve(cwd, rejectsPath)))
  const open = () => openRejects(ports, rejectsPath, table, choices, signal, isOwnRejects)
  const named = choices.rejects === undefined ? undefined : await open()
  const sink =
    path === null
      ? streamSink(stdout)
      : await ports.openFile(path, 'out', signal).catch(async (error: unknown) => {
          await named?.abandon()
          throw error
        })
  // Nothing can be put beside a device.
  const beside = () =>
    open().catch(async (error: unknown) => {
      await sink.discard()
      throw error
    })
  const rejects = named ?? (sink.partial === undefined ? undefined : await beside())
  let abandoned = false
  const watched: Sink = {
    ...sink,
    write: (text) =>
      sink.write(text).catch((error) => {
        abandoned = (error as { code?: unknown }).code === 'output.closed'
        throw error
      }),
  }
  const writer = createWriter(watched, format)
  const chosen = choices.skipKnown ? withoutKnown(writer) : writer
  const all = rejects ? withRejects(chosen, rejects) : chosen
  return {
    /** Absolute path; null for stdout. */
    path,
    /** The regular files that are written: that at the path, and the rejects. */
    files,
    writer: all,
    /** Where invalid rows go; `undefined` where they are in the output only. */
    rejects,
    /** Whether the reader of our stdout has left. */
    isAbandoned: () => abandoned,
  }
}

/** Returns what tells the first record with an identity from later ones. */
export function openFirsts<T>(
  { onClose }: Pick<RunPorts, 'onClose'>,
  identityOf: (record: T) => string | undefined,
): (record: T) => boolean {
  const seen = openNumbers()
  onClose(() => seen.close())
  return (record) => {
    const identity = identityOf(record)
    return identity === undefined || seen.add(hashNumber(hashOf(identity)))
  }
}

/** The rows that a sheet of a workbook holds below its header. */
const maxSheetRows = 1_048_575

/** Throws a Refusal where a workbook would have more rows than it can. */
export function checkSheetRows(output: string | undefined, rows: number): void {
  if (!isWorkbookName(output) || rows <= maxSheetRows) return
  throw new Refusal('output.too_many_rows', { rows, max: maxSheetRows })
}

/** The file for invalid rows that belongs to an output: beside it. */
function besideOf(output: string | null): string | undefined {
  if (output === null) return undefined
  const name = formatOfFile(output) ? output.slice(0, -extname(output).length) : output
  return `${name}.rejects.csv`
}

/** Holds a regular file, also one to come: two commands that write it would lose rows. Returns whether the path is one. */
async function holdFile(ports: RunPorts, path: string): Promise<boolean> {
  const kind = await nodeFiles.kind(path).catch(() => undefined)
  if (kind !== 'file' && kind !== 'nothing') return false
  hold(ports, fileLock(ports, trueName(path)), { of: 'file', name: path })
  return true
}

/** Opens a file that a run writes, which no other command writes meanwhile. */
export async function openHeld(
  ports: RunPorts,
  path: string,
  name: string,
  isOwn: (path: string) => Promise<boolean>,
  signal: AbortSignal,
): Promise<Sink> {
  ports.claimFile(path, name)
  await holdFile(ports, path)
  if (!(await isOwn(path))) await keepPartial(path, ports.notify)
  return ports.openFile(path, name, signal)
}

/** A path without links; of a file that is not there, its folder's. */
function trueName(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return dirname(path) === path ? path : join(trueName(dirname(path)), basename(path))
  }
}

/** Opens the file for invalid rows of a command whose output is no rows; `undefined` where no option names a file. */
export async function openRejectsOf(
  ports: FilePorts,
  output: string | null,
  table: Table,
  choices: RejectsChoices,
): Promise<Rejects | undefined> {
  const isDevice = output !== null && (await nodeFiles.kind(output).catch(() => undefined)) === 'device'
  const rejects = choices.rejects ?? besideOf(isDevice ? null : output)
  ports.claimFile(table.path, 'csv', 'read')
  return openRejects(ports, rejects, table, choices)
}

type FilePorts = Pick<RunPorts, 'openFile' | 'claimFile' | 'notify'>
type RejectsChoices = Pick<InputChoices, 'raw' | 'rejects'>

async function openRejects(
  ports: FilePorts,
  path: string | undefined,
  table: Table,
  choices: RejectsChoices,
  signal?: AbortSignal,
  isOwn = false,
): Promise<Rejects | undefined> {
  if (path === undefined) return undefined
  const sink = await ports.openFile(path, rejectsName(choices), signal)
  const kept = isOwn ? keepingChanged(sink, ports.notify) : sink
  return createRejects(kept, () => csvRejects(table, choices.raw))
}

/** Returns the sink of a file that this run wrote before: what somebody has corrected in it since is kept under another name. */
function keepingChanged(sink: Sink, notify: RunPorts['notify']): Sink {
  const { output, partial } = sink
  if (output === undefined || partial === undefined) return sink
  return {
    ...sink,
    async finish() {
      await keepChanged(output, partial, notify)
      await sink.finish()
    },
  }
}

/** Gives a file another name unless the new one at `next` begins with all that is in it. */
async function keepChanged(path: string, next: string, notify: RunPorts['notify']): Promise<void> {
  const found = await findFile(path)
  if (!found?.isFile() || found.size === 0) return
  const [own, first] = [await hashOfFile(path, found.size), await hashOfFile(next, found.size)]
  if (own !== first) notify(`${path} was changed since it was written; it is kept as ${await setAside(path)}`)
}

const rejectsName = ({ rejects }: RejectsChoices): string =>
  rejects === undefined ? 'rejectsBeside' : 'rejects'

/** Returns how rows are written. Throws a Refusal for a column that they do not have. */
export async function rowFormat(
  request: BatchRequest,
  header: readonly string[],
  mapping: Mapping,
  selection: Selection | undefined,
  screen?: RunPorts['screen'],
): Promise<Format<OutputRow>> {
  const { operation, shape, choices, locale, output } = request
  const { explode = false, format } = choices
  const known = rowColumnsOf(request, explode)
  const columns = choices.columns ? known.all : chosenColumns(known, choices.fields)
  const onlyMissing = onlyMissingOf(request, header)
  const plain = createLayout(header, columns, onlyMissing)
  const layout =
    choices.layout === undefined
      ? choices.columns
        ? pickColumns(plain, choices.columns)
        : plain
      : crmLayout(choices.layout, request, createLayout(header, [], onlyMissing), mapping)
  const csv = choices.excel ? excel(locale) : {}
  // What becomes a workbook is plain CSV, and no cell of it becomes a formula.
  const isChosen = choices.columns !== undefined || choices.layout !== undefined
  const whole = screen
    ? await screen.tableFormat(layout, {
        asked: isChosen ? layout.header : choices.fields && columns.map(({ name }) => name),
        mapped: mapping.columns.flatMap(({ column, orElse = [] }) => [
          column,
          ...orElse.map((other) => other.column),
        ]),
      })
    : rowFormats[format].create(layout, isWorkbookName(output) ? {} : { ...csv, raw: choices.raw })
  return selected(whole, selection, explode ? manyOf(operation, shape) : undefined)
}

function crmLayout(
  crm: string,
  { shape, choices }: BatchRequest,
  layout: Layout<OutputRow>,
  mapping: Mapping,
) {
  const kind = requireCrmKind(shape.output)
  const mapped = Object.fromEntries(
    mapping.columns.flatMap(({ field, part }) =>
      part === undefined ? [[recordFieldsOf(kind, field)[0] ?? field, positionsOf(mapping, field)]] : [],
    ),
  )
  return withCrmColumns(crmColumns(crm, kind), kind, layout, mapped, choices.keepInput)
}
