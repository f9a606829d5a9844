import type { z } from 'zod'
import { rowShapeOf } from '../../api/areas/shapes.js'
import type { Caller, Input } from '../../api/calls/caller.js'
import {
  flagOf,
  immediateOperation,
  type Operation,
  type OperationId,
  operation,
} from '../../api/operations/table.js'
import { kindOf } from '../../api/validation/coerce.js'
import { parseExact } from '../../api/values/json.js'
import { withoutUndefined } from '../../api/values/objects.js'
import { parsePairs, parsePins, unknownName, valueReader } from '../../runs/input/mapping.js'
import type { Run } from '../../runs/journal/runs.js'
import type { BatchRequest, RecordedRequest } from '../../runs/request.js'
import type { Context, GlobalOptions, StreamsContext } from '../context/context.js'
import { UsageError } from '../context/errors.js'
import type { OperationRequest } from '../operation/request.js'
import type { Invocation } from '../options/command-environment.js'
import { refuseCountry } from '../options/schema-options.js'
import { fieldsOf, fileOf } from '../output/output.js'
import type { Finish } from './collect.js'
import { refuseJq, rowFormat, runChoicesOf, selectChoicesOf } from './options.js'

export type BatchCommand = Omit<BatchRequest, 'output' | 'targetOptions' | 'locale'>

/** The global options that choose the target. None of them holds a secret. */
const targetOptions: readonly string[] = [
  ...['profile', 'local', 'baseUrl', 'direct', 'insecureHttp', 'networkName', 'premiumName'],
  ...['maxCost', 'accept'],
]

/** Returns the options that choose the target, for the record of a run. */
export const targetOptionsOf = (globals: GlobalOptions) =>
  Object.fromEntries(Object.entries(globals).filter(([name]) => targetOptions.includes(name)))

/** Returns the request of a batch command, without anything of the command line. */
export function toRequest(
  { globals, streams: { env } }: StreamsContext,
  command: BatchCommand,
): BatchRequest {
  return {
    ...command,
    output: fileOf(globals),
    targetOptions: targetOptionsOf(globals),
    locale: env.LC_ALL || env.LC_NUMERIC || env.LANG || undefined,
  }
}

/**
 * Returns the input that `--override field=value` gives to every row; `undefined` without the option. Throws UsageError for a
 * value that a field does not take, and for a field that another option fills.
 */
export function readOverrides(
  schema: z.ZodObject,
  options: Invocation['options'],
  given: Input = {},
): Input | undefined {
  if (!Array.isArray(options.override)) return undefined
  const values = parsePairs(options.override, 'override')
  const mapped = parsePins(Array.isArray(options.map) ? options.map : [])
  const read = valueReader(schema)
  const types: Readonly<Record<string, z.ZodType>> = schema.shape
  return Object.fromEntries(
    Object.entries(values).map(([name, text]) => {
      const type = types[name]
      if (!type) throw unknownName({ option: 'override' }, 'field', name, Object.keys(types))
      const other = given[name] !== undefined ? flagOf(name) : Object.hasOwn(mapped, name) ? 'map' : undefined
      if (other !== undefined)
        throw new UsageError(`--${other} and --override both fill ${name}.`, 'Use one or the other.')
      const value = read(name, text)
      const issue = type.safeParse(value).error?.issues[0]
      if (issue && kindOf(type).isCountry) refuseCountry('override', text)
      if (issue)
        throw new UsageError(
          `--override ${name} does not take "${text}": ${issue.message}.`,
          'Give another value.',
        )
      return [name, value]
    }),
  )
}

/** Throws UsageError for the record of a flow, and for that of one of its steps. */
function refuseFlow({ id, operation: of, request }: Run): void {
  const { choices } = parseExact(request) as Partial<RecordedRequest>
  const flow = of === 'flow' ? id : choices?.flow
  if (flow !== undefined)
    throw new UsageError(
      `Run ${id} is ${of === 'flow' ? 'a flow' : 'a step of a flow'}.`,
      `Go on with the flow: prospect flow resume ${flow}`,
    )
}

/** Returns the batch of a recorded run, and the context for it. Options of this command replace recorded ones. */
export async function fromRecord(context: Context, run: Run, { options }: Invocation) {
  const { globals, streams } = context
  refuseJq(globals, 'runs resume and runs export')
  refuseFlow(run)
  const request = parseExact(run.request) as RecordedRequest
  const row = operation(run.operation as OperationId)
  const given = Object.entries(runChoicesOf(options, streams)).filter(([, value]) => value !== undefined)
  const output = globals.output ?? run.output
  const isShaped = globals.output !== undefined || globals.format !== undefined || globals.json === true
  const shaped = {
    ...(isShaped ? { format: rowFormat(context) } : {}),
    ...(globals.layout === undefined ? {} : { layout: globals.layout, columns: undefined }),
    ...(globals.fields === undefined ? {} : { fields: fieldsOf(globals), columns: undefined }),
    ...withoutUndefined(selectChoicesOf(context, options)),
  }
  const command: BatchCommand = {
    operation: request.batch ? { ...row, batch: request.batch } : row,
    shape: await rowShapeOf(row),
    constants: request.constants,
    choices: {
      ...{ ...request.choices, ...Object.fromEntries(given), ...shaped },
      // The file may be elsewhere on this machine.
      ...(typeof options.csv === 'string' ? { file: options.csv } : {}),
      dryRun: options.dryRun === true,
    },
    run,
  }
  const recorded = { ...request.globals, ...globals, ...(output === null ? {} : { output }) }
  return { context: context.withGlobals(recorded), command }
}

/** Returns the request for each row of a file: by the operation that answers at once, or by an import that is awaited. */
export async function toRowRequest(context: Context, request: OperationRequest): Promise<OperationRequest> {
  const { operation: asked } = request
  if (asked.starts === 'import') return (await import('./collect.js')).toRowImport(context, request)
  const row = immediateOperation(asked)
  return row === asked ? request : { ...request, operation: row, shape: await rowShapeOf(row) }
}

/** Returns the caller of the rows of a run. `finish` finishes what this machine's engine accepts for a run. */
export async function rowCaller(context: Context, row: Operation, finish: Finish): Promise<Caller> {
  const caller = await context.caller()
  if (row.starts !== 'import') return caller
  return (await import('./collect.js')).collectFound(context, caller, row, finish)
}
