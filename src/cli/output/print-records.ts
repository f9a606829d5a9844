import { toPrintableJson } from '../../api/values/json.js'
import type { Context, Format, GlobalOptions } from '../context/context.js'
import { delimited } from './delimited.js'
import { fieldsOf, formatOf, print, render, type View, withSink } from './output.js'
import { columnsOf, flatten, pickFields, type Row } from './records.js'
import { formatNumber, lookOf } from './text.js'

/** Reads the records, from the first one each time it is called. */
export type Records = () => AsyncIterable<Row> | Iterable<Row>

/** The most rows of a table on a terminal. */
const tableRows = 1_000
const chunkRows = 500

/** Prints records as they come, in any format, with memory that does not grow with their number. */
export async function printRecords(context: Context, records: Records, view: View = {}): Promise<void> {
  const format = formatOf(context)
  if (format === 'table') return printTable(context, records, view)
  if (context.globals.jq !== undefined && !view.isStream)
    return print(context, await Array.fromAsync(records()), view)
  await withSink(context, async (sink) => {
    const pieces =
      context.globals.jq === undefined
        ? renderRecords(records, format, context.globals, view.columns)
        : filterRecords(records, context.globals.jq)
    for await (const text of pieces) await sink.write(text)
    await sink.finish()
  })
}

async function printTable(context: Context, records: Records, view: View): Promise<void> {
  const rows: Row[] = []
  for await (const row of records()) {
    if (rows.length === tableRows) {
      context.notify(
        `Only the first ${formatNumber(tableRows)} are shown. For all of them: -o FILE or --format ndjson`,
      )
      break
    }
    rows.push(row)
  }
  await print(context, rows, view)
}

/** Yields what a jq expression makes of each record. */
async function* filterRecords(records: Records, expression: string): AsyncGenerator<string> {
  const { filterJson } = await import('./jq.js')
  for await (const rows of chunks(records())) {
    const lines = rows.map((row) => toPrintableJson(row, 0)).join('\n')
    yield await filterJson(lines, expression, false)
  }
}

/** Yields records as text in a format, in pieces. */
export const renderRecords = (
  records: Records,
  format: Exclude<Format, 'table'>,
  options: GlobalOptions = {},
  columns: readonly string[] = [],
): AsyncGenerator<string> => renderers[format](records, options, columns)

const renderers: Readonly<
  Record<
    Exclude<Format, 'table'>,
    (records: Records, options: GlobalOptions, columns: readonly string[]) => AsyncGenerator<string>
  >
> = {
  json: renderArray,
  ndjson: renderLines('ndjson'),
  ids: renderLines('ids'),
  csv: renderDelimited('csv'),
  tsv: renderDelimited('tsv'),
}

async function* renderArray(records: Records, options: GlobalOptions): AsyncGenerator<string> {
  const fields = fieldsOf(options)
  let before = '['
  for await (const rows of chunks(records())) {
    const items = rows.map((row) => toPrintableJson(fields ? pickFields(row, fields) : row, 2))
    yield `${before}\n${items.join(',\n')}`.replaceAll('\n', '\n  ')
    before = ','
  }
  yield before === '[' ? '[]\n' : '\n]\n'
}

function renderLines(format: 'ndjson' | 'ids') {
  return async function* (records: Records, options: GlobalOptions): AsyncGenerator<string> {
    const look = lookOf({}, {})
    for await (const rows of chunks(records())) yield await render(rows, format, options, {}, look)
  }
}

// The columns are those of all records, which can differ: records are read twice instead of held in memory.
function renderDelimited(format: 'csv' | 'tsv') {
  return async function* (
    records: Records,
    options: GlobalOptions,
    columns: readonly string[],
  ): AsyncGenerator<string> {
    const fields = fieldsOf(options)
    const found = await namesIn(records())
    // A file without records has a header, too.
    const all = found.length > 0 ? found : [...columns]
    const isLaidOut = options.layout !== undefined && found.length > 0
    const crm = isLaidOut && (await import('./crm-rows.js')).crmRows(options.layout, all)
    const names = crm ? crm.names : fields ? columnsOf(fields, all) : all
    const header = delimited([], names, format)
    yield header
    for await (const rows of chunks(records()))
      yield delimited(crm ? rows.map(crm.toRow) : rows, names, format).slice(header.length)
  }
}

async function namesIn(records: ReturnType<Records>): Promise<string[]> {
  const names = new Set<string>()
  for await (const row of records) for (const name of Object.keys(flatten(row))) names.add(name)
  return [...names]
}

async function* chunks(records: ReturnType<Records>): AsyncGenerator<Row[]> {
  let rows: Row[] = []
  for await (const row of records) {
    rows.push(row)
    if (rows.length < chunkRows) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}
