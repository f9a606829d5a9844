import { shapeOf } from '../../api/areas/shapes.js'
import type { Input } from '../../api/calls/caller.js'
import { type OperationId, operation } from '../../api/operations/table.js'
import { parseExact, toJson } from '../../api/values/json.js'
import type { Run } from '../../storage/state/runs/runs.js'
import type { GlobalOptions } from '../context/context.js'
import { fieldsOf } from '../output/output.js'
import type { Invocation, Shell } from '../shell/shell.js'
import type { Job } from './job.js'
import { type Choices, rowFormat, runChoicesOf } from './options.js'

/** Global options that say where requests go; those that hold a secret or are about output are not among them. */
const targetOptions: readonly string[] = [
  ...['profile', 'local', 'baseUrl', 'direct', 'insecureHttp', 'networkName', 'premiumName'],
]

/** What it takes to start a run again, from wherever. */
interface Request {
  readonly constants: Input
  readonly choices: Choices
  readonly globals: GlobalOptions
  readonly batch: Job['operation']['batch']
}

/** The request of a job, as JSON for its record; `file` is where its input is kept. */
export function requestOf({ constants, choices, globals, operation: { batch } }: Job, file: string): string {
  const kept = Object.entries(globals).filter(([name]) => targetOptions.includes(name))
  const request: Request = {
    constants,
    choices: { ...choices, file, fresh: false, lock: undefined, retryUnknown: false, saveMap: undefined },
    globals: Object.fromEntries(kept),
    batch,
  }
  return toJson(request)
}

/** The job of a run on record; what the command says now comes first. */
export async function jobOf(shell: Shell, run: Run, { options, globals }: Invocation): Promise<Job> {
  const request = parseExact(run.request) as Request
  const row = operation(run.operation as OperationId)
  const given = Object.entries(runChoicesOf(options, shell.context.streams)).filter(
    ([, value]) => value !== undefined,
  )
  const output = globals.output ?? run.output
  const isShaped = globals.output !== undefined || globals.format !== undefined || globals.json === true
  const shaped = {
    ...(isShaped ? { format: rowFormat(globals, shell.context.streams) } : {}),
    ...(globals.fields === undefined ? {} : { fields: fieldsOf(globals) }),
  }
  return {
    shell,
    operation: request.batch ? { ...row, batch: request.batch } : row,
    shape: await shapeOf(row.id),
    constants: request.constants,
    choices: {
      ...{ ...request.choices, ...Object.fromEntries(given), ...shaped },
      // The file may be elsewhere on this machine.
      ...(typeof options.csv === 'string' ? { file: options.csv } : {}),
      dryRun: options.dryRun === true,
    },
    globals: { ...request.globals, ...globals, ...(output === null ? {} : { output }) },
    run,
  }
}
