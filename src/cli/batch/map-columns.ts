import type { z } from 'zod'
import { type Mapping, MappingError, type MappingRequest, mapColumns } from '../../batch/input/mapping.js'
import type { Table } from '../../batch/input/table.js'
import type { Context, GlobalOptions } from '../context/context.js'
import { fieldsOfSchema } from '../options/schema-options.js'
import { askChoice, canAsk } from '../prompt/ask.js'
import { type Job, mappingRequestOf, pinsOf } from './job.js'
import type { InputChoices } from './options.js'
import { checkMapName, keepMap } from './saved-maps.js'

/** A mapping, and the choices that lead to it again without a question. */
export interface Mapped<T extends InputChoices> {
  readonly mapping: Mapping
  readonly choices: T
}

/** What columns are to be matched with, whatever the options name. */
type Unpinned = Omit<MappingRequest, 'pins' | 'namedIn' | 'isExact'>

/**
 * Matches the columns of a file with fields. Where none is known that is needed, a person at a terminal is asked;
 * elsewhere that is refused. `--save-map` keeps what came out.
 */
export async function mapFile<T extends InputChoices>(
  context: Context,
  globals: GlobalOptions,
  choices: T,
  request: Unpinned,
  schema: z.ZodObject,
): Promise<Mapped<T>> {
  const { saveMap } = choices
  if (saveMap !== undefined) checkMapName(saveMap)
  const mapped = await mappedOrAsked(context, globals, choices, request, schema)
  if (saveMap !== undefined) {
    keepMap(context, mapped.mapping, saveMap)
    context.notify(`The map is kept: --use-map ${saveMap}`, globals)
  }
  return mapped
}

/** The same for the rows of a batch; the job that comes back says of itself which column fills which field. */
export async function mapRows(job: Job, table: Table): Promise<{ mapping: Mapping; job: Job }> {
  const { shell, globals, shape } = job
  const request = mappingRequestOf(job, table)
  const { mapping, choices } = await mapFile(shell.context, globals, job.choices, request, shape.input)
  return { mapping, job: { ...job, choices } }
}

async function mappedOrAsked<T extends InputChoices>(
  context: Context,
  globals: GlobalOptions,
  choices: T,
  request: Unpinned,
  schema: z.ZodObject,
): Promise<Mapped<T>> {
  for (let asked = choices; ; ) {
    try {
      return { mapping: mapColumns({ ...request, ...pinsOf(asked) }), choices: asked }
    } catch (error) {
      if (!(error instanceof MappingError) || error.needed.length === 0 || !canAsk(context, globals))
        throw error
      const pairs = await askPairs(context, globals, request.header, error.needed, schema)
      context.notify(`Next time: ${pairs.map((pair) => `--map ${quoted(pair)}`).join(' ')}`, globals)
      asked = { ...asked, map: [...asked.map, ...pairs] }
    }
  }
}

const nothing = ''

/** Asks column by column what it holds, until the person has no more. */
async function askPairs(
  context: Context,
  globals: GlobalOptions,
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
      pairs.size === 0
        ? 'No column is recognised. Which one says what a row is about?'
        : 'Which other column?',
      [...(pairs.size === 0 ? [] : [none]), ...columns.map((name) => ({ value: name, name }))],
      globals,
    )
    if (column === undefined || column === nothing) break
    const choices = fields.map((field) => ({ value: field, name: labelOf(field, schema) }))
    const field = await askChoice(context, `What does "${column}" hold?`, choices, globals)
    if (field !== undefined) pairs.set(field, column)
  }
  return [...pairs].map(([field, column]) => `${field}=${column}`)
}

const none = { value: nothing, name: 'No other' }

function labelOf(field: string, schema: z.ZodObject): string {
  const description = fieldsOfSchema(schema).find(({ name }) => name === field)?.kind.description
  return description ? `${field}: ${description}` : field
}

const quoted = (pair: string): string => {
  const at = pair.indexOf('=')
  return `${pair.slice(0, at)}="${pair.slice(at + 1)}"`
}
