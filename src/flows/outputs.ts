import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Refusal } from '../api/calls/errors.js'
import type { Fields } from '../api/values/objects.js'
import { idColumn } from '../crm/connector.js'
import type { ListKind } from '../lists/list-index.js'
import { openFirsts, openHeld } from '../runs/open-output.js'
import { toCell } from '../runs/output/columns.js'
import { crmColumns, identityOfRecord } from '../runs/output/crm-layout.js'
import { type FormatName, type Layout, rowFormats } from '../runs/output/formats.js'
import { createWriter, fileSink, nodeFiles, streamSink, type Writer } from '../runs/output/writer.js'
import type { RunPorts } from '../runs/ports.js'
import { openRunFolder } from '../runs/records.js'
import { asFields, type FlowRow, fieldReader, pathsOf, type RowShape, suppressedIn } from './fields.js'
import type { CrmSettings } from './format.js'
import { type HttpPorts, httpOutput } from './http.js'
import {
  type CrmOutput,
  type FileOutput,
  type FlowInput,
  type FlowOutput,
  fileOf,
  isCrmInput,
  isCrmOutput,
  isFileOutput,
  kindOfCrm,
  settingsOf,
} from './read.js'

/** Where the rows are shown that a person only looks at: the output of the command. */
export interface Look {
  /** Absolute path; stdout where absent. */
  readonly path?: string | undefined
  readonly format: Exclude<FormatName, 'table' | 'ids'>
}

export interface FlowOutputs extends Pick<Writer, 'abandon'> {
  /** Completes them. Where nothing was written because rows failed, files with rows stay; returns those. */
  finish(hasFailed: boolean): Promise<readonly string[]>
  readonly files: readonly string[]
  readonly written: number
  /** Rows that a CRM did not take. */
  readonly refused: number
  /** Writes the rows that are still in the flow, each company or person once. */
  write(rows: readonly FlowRow[]): Promise<void>
}

type LiveRow = FlowRow & { readonly fields: Fields }

/** What outputs that are no files are written with. */
export interface SendPorts {
  readonly http: HttpPorts
  /** Creates a list of companies, once for each key. */
  createList(name: string, companies: readonly Fields[], key: string): Promise<void>
  /** Writes the rows of a table to a CRM: those of one that was interrupted are written once. Returns how many it did not take. */
  push(crm: string, settings: CrmSettings, table: string, about: ListKind): Promise<number>
}

const maxListed = 100_000

interface OutputRequest {
  readonly input: FlowInput
  readonly outputs: readonly FlowOutput[]
  readonly end: RowShape
  /** That of the file of the flow. */
  readonly folder: string
  readonly look?: Look | undefined
  /** Id of the record of the flow. */
  readonly flow: () => string
  /** Whether rows are also sent to where no file is: not those of a flow that has finished. */
  readonly sends: boolean
  /** Whether earlier executions of the flow may have sent rows. */
  readonly isResumed: boolean
}

/** Opens the outputs of a flow before anything is paid for. */
export async function openOutputs(
  ports: RunPorts & { readonly send: SendPorts },
  { input, outputs, end, folder, look, flow, sends, isResumed }: OutputRequest,
  isOwn: (path: string) => Promise<boolean>,
  signal: AbortSignal,
): Promise<FlowOutputs> {
  type Open = Pick<Writer<LiveRow>, 'write' | 'finish' | 'abandon'> & Partial<Pick<Writer, 'discard'>>
  const opened: { readonly path: string | undefined; readonly writer: Open }[] = []
  let refused = 0
  const sendingTo = async (output: Exclude<FlowOutput, FileOutput>): Promise<Open> =>
    isCrmOutput(output)
      ? await crmOutput(
          ports,
          input,
          output,
          end,
          (rows) => {
            refused += rows
          },
          signal,
        )
      : output.kind === 'list'
        ? listOutput(ports.send, output.list, flow, end.about)
        : httpOutput(
            ports.send.http,
            output,
            flow,
            plainLayout(end, output.columns).record,
            isResumed,
            signal,
          )
  const open = async (path: string | undefined, format: Look['format'], layout: Layout<LiveRow>) => {
    const sink =
      path === undefined
        ? streamSink(ports.streams.stdout)
        : await openHeld(ports, path, look ? 'out' : 'output', isOwn, signal)
    // Where the flow is refused before its first row.
    ports.onClose(() => sink.abandon().catch(() => {}))
    opened.push({ path, writer: createWriter(sink, rowFormats[format].create(layout)) })
  }
  if (look) await open(look.path, look.format, plainLayout(end, undefined))
  else
    for (const output of outputs) {
      if (!isFileOutput(output)) {
        if (sends) opened.push({ path: undefined, writer: await sendingTo(output) })
        continue
      }
      const crm = 'layout' in output ? output.layout : undefined
      const layout = crm === undefined ? plainLayout(end, output.columns) : crmLayout(crm, end.about)
      await open(resolve(folder, fileOf(output)), output.kind === 'xlsx' ? 'csv' : output.kind, layout)
    }
  const suppressor = await ports.target.suppressor()
  const isFirst = openFirsts<Fields>(ports, (fields) => identityOfRecord(end.about, fields))
  let written = 0
  return {
    files: opened.flatMap(({ path }) => path ?? []),
    get written() {
      return written
    },
    get refused() {
      return refused
    },
    async write(rows) {
      const here = rows.filter((row): row is LiveRow => row.fields !== undefined)
      const records = here.map(({ fields }) => fields)
      const suppressed = suppressor && (await suppressedIn(suppressor, records))
      const live = here.filter(({ fields }, at) => !suppressed?.[at] && isFirst(fields))
      if (live.length === 0) return
      for (const { writer } of opened) await writer.write(live)
      written += live.length
    },
    async finish(hasFailed) {
      const left: string[] = []
      for (const { path, writer } of opened)
        if (hasFailed && written === 0 && path !== undefined && isFilled(path)) {
          await writer.discard?.()
          left.push(path)
        } else await writer.finish()
      return left
    },
    async abandon() {
      for (const { writer } of opened) await writer.abandon()
    },
  }
}

/** Whether there is a file that is not empty. */
const isFilled = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0

/** Creates an output that makes a list of the companies of rows when all of them are there. */
function listOutput({ createList }: SendPorts, name: string, flow: () => string, about: ListKind) {
  const companies: Fields[] = []
  const seen = new Set<string>()
  return {
    async write(rows: readonly LiveRow[]) {
      for (const { fields } of rows) {
        const known = about === 'companies' ? fields : asFields(fields.company)
        const company = Object.fromEntries(
          ['name', 'domain', 'network_url'].flatMap((field) =>
            known[field] == null || known[field] === '' ? [] : [[field, known[field]]],
          ),
        )
        const key = JSON.stringify(company)
        if (key === '{}' || seen.has(key)) continue
        seen.add(key)
        companies.push(company)
        if (companies.length > maxListed)
          throw new Refusal('run.too_many_items', { path: name, max: maxListed })
      }
    },
    finish: async () => {
      if (companies.length > 0) await createList(name, companies, flow())
    },
    abandon: async () => {},
  }
}

/** Creates an output that writes its rows to a CRM when all of them are there. Until then they are in a file of this machine. */
async function crmOutput(
  ports: RunPorts & { readonly send: SendPorts },
  input: FlowInput,
  output: CrmOutput,
  end: RowShape,
  onRefused: (rows: number) => void,
  signal: AbortSignal,
): Promise<Pick<Writer<LiveRow>, 'write' | 'finish' | 'abandon'>> {
  const { kind: crm } = output
  const settings = settingsOf(output)
  const { path: folder } = await openRunFolder(ports)
  const path = join(folder, 'rows.csv')
  const own = crmLayout(crm, end.about)
  // A row that is still about the record it was read from is written to that one.
  const isFromThere = isCrmInput(input) && input.kind === crm && kindOfCrm(input) === end.about
  const ids = isFromThere ? [`input.${idColumn}`] : []
  const more = plainLayout(end, [...ids, ...Object.values(settings.map ?? {})])
  const header = [...own.header, ...more.header]
  const cells = (row: LiveRow) => [...own.cells(row), ...more.cells(row)]
  const layout = { header, cells, record: (row: LiveRow) => ({ ...own.record(row), ...more.record(row) }) }
  const sink = await fileSink(path, nodeFiles, (work) => work(signal))
  const writer = createWriter(sink, rowFormats.csv.create(layout))
  return {
    write: (rows) => writer.write(rows),
    async finish() {
      await writer.finish()
      onRefused(await ports.send.push(crm, settings, path, end.about))
    },
    abandon: () => writer.abandon(),
  }
}

/** Returns columns by the paths of fields: all of them where none are given. A column of the input has its own name. */
function plainLayout({ fields }: RowShape, columns: readonly string[] | undefined): Layout<LiveRow> {
  const all = pathsOf(fields)
  const nameOf = (path: string) => path.replace(/^input\./, '')
  const named = all.filter((path) => nameOf(path) === path)
  const added = all.filter((path) => nameOf(path) !== path && !named.includes(nameOf(path)))
  const paths = columns?.flatMap((column) => within(all, column)) ?? [...named, ...added]
  const header = paths.map(nameOf)
  return layoutOf(header, fieldReader(paths))
}

const layoutOf = (header: readonly string[], read: (row: Fields) => readonly unknown[]): Layout<LiveRow> => ({
  header,
  cells: ({ fields }) => read(fields).map(toCell),
  record: ({ fields }) => Object.fromEntries(read(fields).map((value, at) => [header[at] ?? '', value])),
})

/** Returns a field, or those below it. */
function within(all: readonly string[], column: string): readonly string[] {
  const below = all.filter((path) => path.startsWith(`${column}.`))
  return all.includes(column) || below.length === 0 ? [column] : below
}

function crmLayout(crm: string, about: ListKind): Layout<LiveRow> {
  const { header, cells } = crmColumns(crm, about)
  return layoutOf(header, cells)
}
