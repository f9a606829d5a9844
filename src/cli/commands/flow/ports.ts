import type { Input } from '../../../api/calls/caller.js'
import { type Caller, ConnectionLost, isOk } from '../../../api/calls/caller.js'
import { failureOf } from '../../../api/calls/errors.js'
import { wantsWebhook, withOwnWebhook } from '../../../api/validation/own-webhook.js'
import type { Fields } from '../../../api/values/objects.js'
import { eventOf } from '../../../api/webhooks/events.js'
import type { PostJson } from '../../../client/post-json.js'
import { commandCaller } from '../../../flows/command.js'
import type { FlowRow } from '../../../flows/fields.js'
import { foundIn } from '../../../flows/fields.js'
import { type HttpPorts, httpCaller } from '../../../flows/http.js'
import { tableRows } from '../../../flows/inputs.js'
import type { Flow, LookupStep } from '../../../flows/read.js'
import type { FlowPorts } from '../../../flows/run.js'
import type { BatchRequest } from '../../../runs/request.js'
import { createRunPorts, finishHere } from '../../batch/run.js'
import type { Context } from '../../context/context.js'
import { Stop, UsageError } from '../../context/errors.js'
import { resolveFilterNames } from '../../operation/filter-names.js'
import { jobIdOf } from '../../wait/result.js'
import { toAcceptedWork, watchPolled } from '../../wait/watch.js'

/** Returns what a flow sends rows to besides the target: programs, addresses, and lists of the workspace. */
export function outwardPorts(context: Context, folder: string): Pick<FlowPorts, 'custom' | 'send'> {
  let poster: { readonly post: PostJson; close(): Promise<void> } | undefined
  context.onClose(() => poster?.close())
  const http: HttpPorts = {
    post: async (...request) => {
      const { createPoster } = await import('../../../client/post-json.js')
      poster ??= createPoster()
      return poster.post(...request)
    },
    environment: context.streams.env,
    conceal: (secret) => context.conceal(secret),
    sleep: (ms) => context.sleep(ms),
    now: () => context.clock.now(),
  }
  return {
    custom: async (step) =>
      step.kind === 'http'
        ? httpCaller(http, step)
        : commandCaller(context, step, folder, context.streams.env),
    send: { http, createList: (...list) => createList(context, ...list) },
  }
}

/** Returns what the run of a step needs. An import is answered with what it found, when it has ended. */
export function stepPorts(context: Context, request: BatchRequest): ReturnType<typeof createRunPorts> {
  const ports = createRunPorts(context, request)
  if (request.operation.starts !== 'import') return ports
  const caller = async () => collectFound(context, await context.caller(), request)
  return { ...ports, target: { ...ports.target, caller } }
}

const nothing = { status: 404, body: { error: 'Nothing found' }, headers: {}, credits: 0 } as const
const never = new AbortController().signal

const collectFound = (
  context: Context,
  caller: Caller,
  { operation, shape }: Pick<BatchRequest, 'operation' | 'shape'>,
): Caller => ({
  ...caller,
  call: async (id, input, { signal = never, ...options } = {}) => {
    const reply = await caller.call(id, input, options)
    if (!isOk(reply)) return reply
    const request = { operation, shape, input, invocation: { args: [], options: {} } }
    const accepted = toAcceptedWork(request, eventOf(id) ?? 'lead_search', reply.body)
    if (!accepted) return nothing
    if (context.isLocal()) await finishHere(context, options.row?.run ?? '')(accepted.id, signal)
    const watch = watchPolled(context, accepted)
    const { state, error } = await watch.follow(signal, () => {})
    // The next part of the run asks for it again, under the same key.
    if (state === 'going') throw new ConnectionLost('the flow was interrupted', true)
    const found = await Array.fromAsync(watch.records())
    const { headers, credits } = reply
    if (found.length > 0) return { status: operation.ok, body: { [foundIn]: found }, headers, credits }
    return state === 'finished' ? nothing : { ...nothing, status: 502, body: { error } }
  },
})

/** Creates a list of companies, and imports it where that is done on this machine. */
async function createList(
  context: Context,
  name: string,
  companies: readonly Readonly<Record<string, unknown>>[],
  key: string,
): Promise<void> {
  const caller = await context.caller()
  const options = { apiKey: await context.apiKey(), idempotencyKey: `${key}-list` }
  const reply = await caller.call('lists.create', { name, companies }, options)
  if (!isOk(reply)) {
    const { text, exit, hint } = failureOf(reply.status, reply.body)
    throw new Stop(`The list ${name} was not created: ${text}`, exit, hint)
  }
  const id = jobIdOf(reply.body)
  if (id !== undefined && context.isLocal()) await finishHere(context, key)(id, new AbortController().signal)
}

/** Returns the request of an import, with ids for names. Throws UsageError where a server needs an address for the results. */
export async function importInput(
  context: Context,
  { operation, shape, constants }: Pick<LookupStep, 'operation' | 'shape' | 'constants'>,
): Promise<Input> {
  if (!context.isLocal() && wantsWebhook(shape) && constants.webhook_url === undefined)
    throw new UsageError(
      `${operation.id} needs webhook_url at a server, which sends its results there, too.`,
      'Give an address of yours beside its filters.',
    )
  return withOwnWebhook(operation.id, shape, await resolveFilterNames(context, constants))
}

/** Yields the rows of a flow's input; for the result of a search, the row that stands for it. */
export async function* rowsOf(
  { table, source }: Flow,
  listed: readonly Fields[],
): AsyncGenerator<readonly FlowRow[]> {
  if (table) yield* tableRows(table)
  else if (source) yield [{ line: 1, fields: {} }]
  else yield listed.map((fields, at) => ({ line: at + 1, fields }))
}

/** Returns the companies of the list that a flow reads; none where it reads something else. */
export async function readListed(context: Context, { input }: Flow): Promise<readonly Fields[]> {
  if (input.kind !== 'list') return []
  const { readListRecords } = await import('../../operation/views.js')
  const records = await Array.fromAsync(readListRecords(context, `list:${input.list}`, 'companies'))
  return records.map(({ country_code: country = null, ...record }) => ({ ...record, country }))
}
