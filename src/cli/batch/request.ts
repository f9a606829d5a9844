import { rowShapeOf } from '../../api/areas/shapes.js'
import { type Caller, ConnectionLost, isOk } from '../../api/calls/caller.js'
import { Refusal } from '../../api/calls/errors.js'
import {
  immediateOperation,
  type Operation,
  type OperationId,
  operation,
  rowOperation,
} from '../../api/operations/table.js'
import { withOwnWebhook } from '../../api/validation/own-webhook.js'
import { parseExact } from '../../api/values/json.js'
import { withoutUndefined } from '../../api/values/objects.js'
import { eventOf } from '../../api/webhooks/events.js'
import type { Run } from '../../runs/journal/runs.js'
import { openKnownRows } from '../../runs/lists.js'
import type { BatchRequest, RecordedRequest } from '../../runs/request.js'
import { checkTyped, type OperationRequest } from '../call/build.js'
import { resolveFilterNames } from '../call/filter-names.js'
import { polledWork, toAcceptedWork } from '../call/poll.js'
import type { KnownRecords } from '../call/result.js'
import type { Context, GlobalOptions, StreamsContext } from '../context/context.js'
import type { Invocation } from '../options/command-environment.js'
import { targetNames } from '../options/global-options.js'
import { waitOf } from '../options/webhooks.js'
import { chosenFormat, fieldsOf, fileOf } from '../output/output.js'
import type { Row } from '../output/records.js'
import { formatNumber } from '../output/text.js'
import { knownLists, refuseJq, rowFormat, runChoicesOf, selectChoicesOf } from './options.js'
import { listPorts } from './run-home.js'

export type BatchCommand = Omit<BatchRequest, 'output' | 'targetOptions' | 'locale'>

/** Options that are recorded with a run, and hold for what resumes it. */
const targetOptions: readonly string[] = [...targetNames, 'maxCost', 'accept']

export const targetOptionsOf = (globals: GlobalOptions) =>
  Object.fromEntries(Object.entries(globals).filter(([name]) => targetOptions.includes(name)))

/** Returns the options of a command over those that its run was started with; `--local` does not hold where it names a server. */
export function withRecorded(
  recorded: Readonly<Record<string, unknown>>,
  globals: GlobalOptions,
): GlobalOptions {
  const { local, ...others }: GlobalOptions = recorded
  return { ...others, ...(local && globals.baseUrl === undefined ? { local } : {}), ...globals }
}

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

/** Throws a Refusal for the record of a flow, and for that of one of its steps. */
function refuseFlow({ id, operation: of, request }: Run): void {
  const { choices } = parseExact(request) as Partial<RecordedRequest>
  const flow = of === 'flow' ? id : choices?.flow
  if (flow !== undefined)
    throw new Refusal('usage.run_of_flow', { id, what: of === 'flow' ? 'a flow' : 'a step of a flow', flow })
}

/** Returns the batch of a recorded run, and the context for it. Options of this command replace recorded ones. */
export async function fromRecord(context: Context, run: Run, { options }: Invocation) {
  const { globals, streams } = context
  refuseJq(globals, options, 'runs resume and runs export')
  refuseFlow(run)
  const request = parseExact(run.request) as RecordedRequest
  // Builds before the release recorded what a batch knows of its rows by other names.
  const row = rowOperation(operation(run.operation as OperationId))
  const output = globals.output ?? run.output
  const isShaped = chosenFormat(globals) !== undefined || globals.output !== undefined
  const shaped = {
    ...(isShaped ? { format: rowFormat(context) } : {}),
    ...(globals.layout === undefined ? {} : { layout: globals.layout, columns: undefined }),
    ...(globals.fields === undefined ? {} : { fields: fieldsOf(globals), columns: undefined }),
    ...withoutUndefined(selectChoicesOf(context, options)),
  }
  const command: BatchCommand = {
    operation: row,
    shape: await rowShapeOf(row),
    constants: request.constants,
    choices: {
      ...request.choices,
      ...withoutUndefined(runChoicesOf(options, streams)),
      ...shaped,
      // The file may be elsewhere on this machine.
      ...(typeof options.csv === 'string' ? { file: options.csv } : {}),
      dryRun: options.dryRun === true,
    },
    run,
  }
  const recorded = { ...withRecorded(request.globals, globals), ...(output === null ? {} : { output }) }
  return { context: context.withGlobals(recorded), command }
}

export async function toRowRequest(context: Context, request: OperationRequest): Promise<OperationRequest> {
  const { operation: asked } = request
  if (asked.starts === 'import') return toRowImport(context, request)
  // What it costs is asked of the engine that the batch runs over.
  const row = immediateOperation(asked)
  return row === asked ? request : { ...request, operation: row, shape: await rowShapeOf(row) }
}

/** Returns the caller of the rows of a run. `finish` finishes what this machine's engine accepts for a run. */
export async function rowCaller(context: Context, row: Operation, finish: Finish): Promise<Caller> {
  const caller = await context.caller()
  if (row.starts !== 'import') return caller
  return collectFound(context, caller, row, finish)
}

/** Returns the request of an import for each row of a file. Throws a Refusal where no row could be sent. */
async function toRowImport(context: Context, request: OperationRequest): Promise<OperationRequest> {
  const { operation } = request
  const input = await resolveFilterNames(context, request.input)

  if (input.limit === undefined) throw new Refusal('usage.no_limit')
  const shared = withOwnWebhook(operation.id, request.shape, input)
  const [field = ''] = operation.batch?.fields ?? []
  checkTyped(request, { [field]: 'acme.example', ...shared })
  return { ...request, input: shared, shape: await rowShapeOf(operation) }
}

const nobody = { status: 404, body: { error: 'Nobody found' }, headers: {}, credits: 0 } as const
const never = new AbortController().signal

/** Finishes work that this machine's engine accepted; `run` is the run that it is for. */
type Finish = (run: string) => (id: string, signal: AbortSignal) => Promise<void>

/** Returns a caller that answers an import with the people that it found, when it has ended. */
const collectFound = (context: Context, caller: Caller, operation: Operation, finish: Finish): Caller => ({
  ...caller,
  call: async (id, input, { signal = never, ...options } = {}) => {
    const reply = await caller.call(id, input, options)
    if (id !== operation.id || !isOk(reply)) return reply
    const accepted = toAcceptedWork({ operation, input }, reply.body)
    if (!accepted) return nobody
    const finishRow = finish(options.row?.run ?? '')
    const work = context.isLocal() ? (over: AbortSignal) => finishRow(accepted.id, over) : undefined
    const polled = polledWork(context, accepted, work)
    const { state, error, truncated, spent } = await polled.follow(signal, () => {})
    // The next execution of the run asks for it again, under the same key.
    if (state === 'going') throw new ConnectionLost('the run was interrupted', true)
    const people = await Array.fromAsync(polled.records())
    const { headers } = reply
    // It was accepted for nothing: what it delivered is paid.
    const credits = spent ?? 0
    if (people.length > 0) return { status: operation.ok, body: { truncated, people }, headers, credits }
    return state === 'finished'
      ? { ...nobody, credits }
      : { ...nobody, status: 502, body: { error }, credits }
  },
})

/** Opens the lists of `--skip-known` before an import is sent; `undefined` without that option. */
export async function openKnownRecords(
  context: Context,
  { operation, input, invocation }: OperationRequest,
): Promise<KnownRecords | undefined> {
  const { options } = invocation
  const sources = knownLists(options, context.streams)
  if (!sources || options.dryRun === true) return undefined
  if (!waitOf(context, invocation, input).printsResult) throw new Refusal('usage.skip_known_result')
  const isOfPeople = eventOf(operation.id) === 'lead_search'
  const ports = { ...listPorts(context), notify: (text: string) => context.notify(text) }
  const lists = await openKnownRows(ports, isOfPeople ? 'people' : 'companies', sources)
  const noun = isOfPeople ? 'people' : 'companies'
  context.notify(`Known ${noun} are left out of the result; they use your quota all the same.`)
  let [all, known] = [0, 0]
  return {
    without: (records) =>
      async function* () {
        all = known = 0
        for await (const record of records()) {
          const isKnown = lists?.has(listFieldsOf(record)) === true
          all++
          if (isKnown) known++
          else yield record
        }
      },
    report: () => context.notify(`Known: ${formatNumber(known)} of ${formatNumber(all)} ${noun}.`),
  }
}

function listFieldsOf({ lead, company, ...record }: Row): Row {
  if (lead === undefined) return record
  const { name, domain } = (company ?? {}) as Row
  const { most_probable_email: email, ...person } = lead as Row
  return { ...person, email, company_name: name, company_domain: domain }
}
