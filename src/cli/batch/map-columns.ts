import { resolve } from 'node:path'
import type { z } from 'zod'
import type { Reply } from '../../api/calls/caller.js'
import { ApiError, isRefusal, Refusal } from '../../api/calls/errors.js'
import { isObject } from '../../api/values/objects.js'
import { type Mapping, type MappingRequest, mapColumns, parsePins, spell } from '../../runs/input/mapping.js'
import type { MappedList } from '../../runs/lists.js'
import type { ChosenMapping, RunSentences } from '../../runs/ports.js'
import type { InputChoices } from '../../runs/request.js'
import type { Context } from '../context/context.js'
import { hintOfFailure, reportOfAnswer } from '../context/errors.js'
import { describe, reportOf } from '../messages.js'
import { fieldsOfSchema } from '../options/schema-options.js'
import { askChoice, canAsk } from '../output/prompt.js'
import { formatPath, oneLine } from '../output/text.js'

/** Throws a Refusal where a needed column is not recognised and there is nobody to ask. */
export async function chooseMapping(
  context: Context,
  { map: given }: Pick<InputChoices, 'map'>,
  request: Omit<MappingRequest, 'pins'>,
  schema: z.ZodObject,
): Promise<ChosenMapping> {
  for (let map = given; ; ) {
    try {
      return { mapping: mapColumns({ ...request, pins: parsePins(map) }), map }
    } catch (error) {
      if (!isRefusal(error, 'map.unidentified') || !canAsk(context)) throw error
      const pairs = await askPairs(context, request.header, error.details.fields as string[], schema)
      context.notify(`Next time: ${pairs.map((pair) => `--map ${quotePair(pair)}`).join(' ')}`)
      map = [...map, ...pairs]
    }
  }
}

/** Columns named one by one; of a wide file the others are counted. */
const columnsNamed = 12

/** A mapping in lines for a person to read, with a value of each column, at most `columns` wide. */
export function describeMapping(
  mapping: Pick<Mapping, 'unused' | 'notes'> & {
    readonly columns: readonly Pick<Mapping['columns'][number], 'field' | 'column' | 'sample' | 'orElse'>[]
  },
  columns = 80,
  fate = 'kept in the output',
): string[] {
  const width = Math.max(0, ...mapping.columns.map(({ field }) => spell(field).length))
  const lines = mapping.columns.map(({ field, column, sample, orElse = [] }) => {
    const named = [column, ...orElse.map((other) => other.column)].map((name) => `"${name}"`)
    const line = `${spell(field).padEnd(width)}  <-  ${named.join(', else ')}`
    if (sample === undefined) return line
    const [shown, room] = [sample.replace(/\s+/g, ' '), Math.max(columns - line.length - 10, 12)]
    return `${line}, such as ${shown.length > room ? `${shown.slice(0, room - 1)}…` : shown}`
  })
  const unused = mapping.unused.filter((name) => name !== '')
  const named = unused.slice(0, columnsNamed).map((name) => `"${name}"`)
  const more = unused.length > named.length ? ` and ${unused.length - named.length} more` : ''
  if (named.length > 0) lines.push(`Unmapped columns (${fate}): ${named.join(', ')}${more}`)
  return [...lines, ...mapping.notes.map(describe)]
}

/** Says on stderr which columns of a list are read. */
export function showMapping(context: Context, file: string, { kind, mapping }: MappedList): void {
  const { streams } = context
  const what = file === '-' ? 'stdin' : formatPath(resolve(streams.cwd, file), streams)
  context.notify(oneLine(`${what}: ${kind}`))
  for (const line of describeMapping({ ...mapping, unused: [] }, streams.stderr.columns))
    context.notify(oneLine(`  ${line}`))
}

/** A mapping in JSON. */
export const mappingView = ({ columns, unused, notes }: Mapping) => ({
  columns: columns.map(({ orElse, ...column }) =>
    orElse ? { ...column, or_else: orElse.map((other) => other.column) } : column,
  ),
  unused,
  notes: notes.map(describe),
})

const noColumn = ''

/** Asks what each column holds, until the person names no further column. */
async function askPairs(
  context: Context,
  header: readonly string[],
  needed: readonly string[],
  schema: z.ZodObject,
): Promise<string[]> {
  const pairs = new Map<string, string>()
  for (;;) {
    const taken = new Set(pairs.values())
    const columns = header.filter((name) => name.trim() !== '' && !taken.has(name))
    const fields = needed.filter((field) => !pairs.has(field))
    if (columns.length === 0 || fields.length === 0) break
    const column = await askChoice(
      context,
      pairs.size === 0 ? 'No column was recognised. Which one identifies each row?' : 'Which other column?',
      [
        ...(pairs.size === 0 ? [] : [{ value: noColumn, name: 'No other' }]),
        ...columns.map((name) => ({ value: name, name })),
      ],
    )
    if (column === undefined || column === noColumn) break
    const choices = fields.map((field) => ({ value: field, name: labelOf(field, schema) }))
    const field = await askChoice(context, `What does "${column}" hold?`, choices)
    if (field !== undefined) pairs.set(field, column)
  }
  return [...pairs].map(([field, column]) => `${field}=${column}`)
}

function labelOf(field: string, schema: z.ZodObject): string {
  const description = fieldsOfSchema(schema).find(({ name }) => name === field)?.kind.description
  return description ? `${field}: ${description}` : field
}

const quotePair = (pair: string): string => {
  const at = pair.indexOf('=')
  return `${pair.slice(0, at)}="${pair.slice(at + 1)}"`
}

export const runSentences = (isLocal: () => boolean): RunSentences => ({
  explainStop: (why) => {
    if (!(why instanceof Error))
      return { reason: why.text, hint: hintOfFailure(why, isLocal()), exit_code: why.exit }
    // The report names the file that holds the rows so far.
    const { reply, partial: _, ...details } = why.details
    const report = isAnswer(reply)
      ? reportOfAnswer(reply.status, reply.body, isLocal())
      : reportOf(why instanceof ApiError ? why : new Refusal(why.code, details))
    if (!report) throw why
    const hint = why.code === 'storage_failed' ? notLost : report.hint
    return { reason: report.error, hint, exit_code: report.exit_code }
  },
  describe,
})

/** Rows that were paid for without a recorded answer are sent again under the same keys. */
const notLost = 'Check free space and permissions; paid results are kept.'

const isAnswer = (reply: unknown): reply is Pick<Reply, 'status' | 'body'> =>
  isObject(reply) && 'status' in reply
