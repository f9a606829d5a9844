import { toPrintableJson } from '../../api/values/json.js'
import type { ClockContext, Format, GlobalOptions, StreamsContext } from '../context/context.js'
import { delimited } from './delimited.js'
import { fieldsOf, fileOf, formatOf, openSink, print, render, type Sink, type View } from './output.js'
import { columnsOf, flatten, pickFields, type Row } from './records.js'
import { formatNumber, lookOf } from './text.js'

/** Reads the records, from the first one each time it is called. */
export type Records = () => AsyncIterable<Row>

/** The most rows of a table on a terminal. */
const tableRows = 1_000
const chunkRows = 500

/** Prints records as they come, in any format, with memory that does not grow with their number. */
export async function printRecords(
  context: StreamsContext & ClockContext,
  records: Records,
  options: GlobalOptions,
  view: View = {},
): Promise<void> {
  const format = formatOf(options, context.streams)
  if (format === 'table') return printTable(context, records, options, view)
  const sink = await openSink(context, fileOf(options), options)
  try {
    await writers[format](sink, records, options, context)
    await sink.finish()
  } catch (error) {
    await sink.discard()
    throw error
  }
}

async function printTable(
  context: StreamsContext & ClockContext,
  records: Records,
  options: GlobalOptions,
  view: View,
): Promise<void> {
  const rows: Row[] = []
  for await (const row of records()) {
    if (rows.length === tableRows) {
      context.notify(
        `These are the first ${formatNumber(tableRows)}; -o FILE or --format ndjson gives all.`,
        options,
      )
      break
    }
    rows.push(row)
  }
  await print(context, rows, options, view)
}

type Write = (sink: Sink, records: Records, options: GlobalOptions, context: StreamsContext) => Promise<void>

const writers: Readonly<Record<Exclude<Format, 'table'>, Write>> = {
  json: writeArray,
  ndjson: writeRendered('ndjson'),
  ids: writeRendered('ids'),
  csv: writeDelimited('csv'),
  tsv: writeDelimited('tsv'),
}

async function writeArray(sink: Sink, records: Records, options: GlobalOptions): Promise<void> {
  const fields = fieldsOf(options)
  let before = '['
  for await (const rows of chunks(records())) {
    const items = rows.map((row) => toPrintableJson(fields ? pickFields(row, fields) : row, 2))
    await sink.write(`${before}\n${items.join(',\n')}`.replaceAll('\n', '\n  '))
    before = ','
  }
  await sink.write(before === '[' ? '[]\n' : '\n]\n')
}

function writeRendered(format: 'ndjson' | 'ids'): Write {
  return async (sink, records, options, { streams }) => {
    const look = lookOf({}, streams.env)
    for await (const rows of chunks(records()))
      await sink.write(await render(rows, format, options, {}, look))
  }
}

// The columns are those of all records, which can differ: records are read twice instead of held in memory.
function writeDelimited(format: 'csv' | 'tsv'): Write {
  return async (sink, records, options) => {
    const fields = fieldsOf(options)
    const all = await namesIn(records())
    const names = fields ? columnsOf(fields, all) : all
    const header = delimited([], names, format)
    await sink.write(header)
    for await (const rows of chunks(records()))
      await sink.write(delimited(rows, names, format).slice(header.length))
  }
}

async function namesIn(records: AsyncIterable<Row>): Promise<string[]> {
  const names = new Set<string>()
  for await (const row of records) for (const name of Object.keys(flatten(row))) names.add(name)
  return [...names]
}

async function* chunks(records: AsyncIterable<Row>): AsyncGenerator<Row[]> {
  let rows: Row[] = []
  for await (const row of records) {
    rows.push(row)
    if (rows.length < chunkRows) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}
