import {
  type Caller,
  type CallOptions,
  type Input,
  type Reply,
  retryAfterMs,
} from '../../api/calls/caller.js'
import { failureOf } from '../../api/calls/errors.js'
import type { Operation } from '../../api/operations/table.js'
import { saysNothingFound } from '../../api/operations/units.js'
import type { ClockContext, Context, GlobalOptions, StreamsContext } from '../context/context.js'
import { reportOfReply } from '../context/errors.js'
import type { CommandEnvironment } from '../options/command-environment.js'
import { formatOf } from '../output/output.js'
import { redactBody } from '../output/report-error.js'
import { credited } from '../output/text.js'
import { targetOf } from '../target/resolve-target.js'
import { costOfCall, recordSpent } from './record-spending.js'

/** Seconds a single command waits for a rate limit when nothing else is said. */
const usualWait = 10

/**
 * Calls an operation for a single command: a rate limit is waited for while the waits together stay within
 * `--max-wait`, with one line on stderr each; what remains is the answer.
 */
export async function callOnce(
  context: Context,
  caller: Caller,
  operation: Operation,
  input: Input,
  options: GlobalOptions & { readonly idempotencyKey?: string | undefined },
): Promise<Reply> {
  const target = targetOf(options, context.streams.env, context.settings())
  const patience = options.maxWait ?? target.maxWait ?? usualWait
  const timeout = options.timeout ?? target.timeout
  const apiKey = await context.apiKey(options)
  for (let waited = 0; ; ) {
    const call: CallOptions = { apiKey, idempotencyKey: options.idempotencyKey, ...deadline(timeout) }
    const reply = await asked(context, caller, operation, input, call, options)
    const seconds = passes(reply) ? secondsToWait(reply, context.clock.now()) : undefined
    if (seconds === undefined || waited + seconds > patience) {
      const credits = costOfCall(operation, reply, options.idempotencyKey !== undefined)
      await recordSpent(context, operation, credits, options)
      return reply
    }
    context.notify(`Rate limited: waiting ${seconds} s.`, options)
    await context.sleep(seconds * 1_000)
    waited += seconds
  }
}

/** Whether a refusal passes with time: a rate limit of the service does, one of the network behind it takes hours. */
const passes = ({ status, body, unknown }: Reply): boolean =>
  status === 429 && !unknown && !failureOf(status, body).stops

/** A timer of Node takes no more, about 24 days. */
const longestTimeoutMs = 2_147_483_647

const deadline = (seconds: number | undefined): { signal?: AbortSignal } =>
  seconds === undefined
    ? {}
    : { signal: AbortSignal.timeout(Math.min(longestTimeoutMs, Math.ceil(seconds * 1_000))) }

async function asked(
  context: StreamsContext & ClockContext,
  caller: Caller,
  operation: Operation,
  input: Input,
  call: CallOptions,
  options: GlobalOptions,
): Promise<Reply> {
  const started = context.clock.now()
  const reply = await caller.call(operation.id, input, call)
  if (options.verbose) {
    const took = `${context.clock.now() - started} ms`
    const headers = Object.entries(reply.headers).map(([name, value]) => `${name}: ${value}`)
    const facts = [`${reply.status}`, credited(reply.credits), took, ...headers]
    context.notify(`${operation.method} ${operation.path} → ${facts.join(', ')}`, options)
  }
  return reply
}

/** Whole seconds of `Retry-After`, at least one; nothing when the answer has none. */
export function secondsToWait({ headers }: Pick<Reply, 'headers'>, now: number): number | undefined {
  const ms = retryAfterMs(headers['retry-after'], now)
  return ms === undefined ? undefined : Math.max(1, Math.ceil(ms / 1_000))
}

/** Exit code of an answer that is no success; a lookup's 400 that says "not found" is a 404 of other servers. */
export function exitOfRefusal(operation: Operation, reply: Reply): number {
  const report = reportOfReply(reply)
  const isLookup = operation.needs === 'unit'
  return isLookup && reply.status === 400 && saysNothingFound(report.error) ? 9 : report.exit_code
}

/** Prints the body of a refusal on stdout, complete: `--fields` and `-o` are about results. */
export function printRefusal(
  environment: CommandEnvironment,
  body: unknown,
  options: GlobalOptions,
): Promise<void> {
  const { context } = environment
  const { fields: _, output: __, ...rest } = options
  const format = formatOf(options, context.streams)
  return environment.print(redactBody(context, body), { ...rest, format })
}
