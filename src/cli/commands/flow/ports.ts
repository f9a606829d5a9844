import { type Input, isOk } from '../../../api/calls/caller.js'
import { Refusal } from '../../../api/calls/errors.js'
import { exitCodes } from '../../../api/calls/exit-codes.js'
import { withOwnWebhook } from '../../../api/validation/own-webhook.js'
import { escapeControls } from '../../../api/values/json.js'
import type { Fields } from '../../../api/values/objects.js'
import type { Poster } from '../../../client/exchange.js'
import { type CommandPorts, commandCaller } from '../../../flows/command.js'
import { type HttpPorts, httpCaller } from '../../../flows/http.js'
import { tableRows } from '../../../flows/inputs.js'
import type { Flow, LookupStep, VendorInput } from '../../../flows/read.js'
import { digestOf, type FlowPorts } from '../../../flows/run.js'
import { notAskedBecause } from '../../batch/report.js'
import { finishHere } from '../../batch/run.js'
import { checkEngineFilters } from '../../call/build.js'
import { resolveFilterNames } from '../../call/filter-names.js'
import { readRemaining } from '../../call/limits.js'
import { jobIdOf } from '../../call/poll.js'
import type { Context } from '../../context/context.js'
import { reportOfAnswer, Stop } from '../../context/errors.js'
import { openEngineStore, openRegistry, requireEngine } from '../../context/open-databases.js'
import { describe } from '../../messages.js'
import { formatNumber } from '../../output/text.js'
import { vendorPorts } from '../../target/lazy-ports.js'

/** Returns what a flow sends rows to besides the target: programs, addresses, and lists of the workspace. */
export function outwardPorts(context: Context, folder: string): Pick<FlowPorts, 'custom' | 'send'> {
  let poster: Poster | undefined
  context.onClose(() => poster?.close())
  const http: HttpPorts = {
    send: async (...request) => {
      const { createPoster } = await import('../../../client/exchange.js')
      poster ??= createPoster()
      return poster.send(...request)
    },
    environment: context.streams.env,
    conceal: (secret) => context.conceal(secret),
    sleep: (ms, signal) => context.sleep(ms, signal),
    now: () => context.clock.now(),
  }
  return {
    custom: async (step) =>
      step.kind === 'http' ? httpCaller(http, step) : commandCaller(programPorts(context), step, folder),
    send: {
      http,
      createList: (...list) => createList(context, ...list),
      push: async (...rows) => {
        const { pushRows } = await import('../crm/push.js')
        return pushRows(context, ...rows)
      },
    },
  }
}

const programPorts = (context: Context): CommandPorts => ({
  onClose: (work) => context.onClose(work),
  environment: context.streams.env,
  notify: (note) => context.notify(describe(note)),
  log: (line) => void context.streams.stderr.write(`${escapeControls(line)}\n`),
})

/** Creates a list of companies, and imports it where that is done on this machine. */
async function createList(context: Context, name: string, companies: readonly Fields[], key: string) {
  const caller = await context.caller()
  const options = { apiKey: await context.apiKey(), idempotencyKey: `${key}-list` }
  const reply = await caller.call('lists.create', { name, companies }, options)
  if (!isOk(reply)) {
    const { error, exit_code, hint } = reportOfAnswer(reply.status, reply.body, context.isLocal())
    throw new Stop(`The list ${name} was not created: ${error}`, exit_code, hint)
  }
  const id = jobIdOf(reply.body)
  if (id !== undefined && context.isLocal()) await finishHere(context, key)(id, new AbortController().signal)
}

/** Returns the request of an import, with ids for names. Throws where a server does not know a filter. */
export async function importInput(
  context: Context,
  { operation, shape, constants }: Pick<LookupStep, 'operation' | 'shape' | 'constants'>,
  more: number,
): Promise<Input> {
  checkEngineFilters(context, constants)
  const input = withOwnWebhook(operation.id, shape, await resolveFilterNames(context, constants))
  if (more === 0) return input
  const limit = Number(input.limit)
  const remaining = await readRemaining(context, operation, constants)
  const left = 'reply' in remaining ? null : (remaining.spendable.quotaLeft ?? null)
  return { ...input, limit: Math.max(limit, Math.min(limit + more, left ?? limit + more)) }
}

/** Yields the rows of a flow's input; for the result of a search, the row that stands for it. */
export async function* rowsOf({ table, source }: Flow, listed: readonly Fields[]) {
  if (table) yield* tableRows(table)
  else if (source) yield [{ line: 1, fields: {} }]
  else yield listed.map((fields, at) => ({ line: at + 1, fields }))
}

/** Returns the companies of the list that a flow reads; none where it reads something else. */
export async function readListed(context: Context, { input }: Flow): Promise<readonly Fields[]> {
  if (input.kind !== 'list') return []
  const { readListRecords } = await import('../../call/views.js')
  const records = await Array.fromAsync(readListRecords(context, `list:${input.list}`, 'companies'))
  return records.map(({ country_code: country = null, ...record }) => ({ ...record, country }))
}

/** Opens the search of a data vendor of this machine's workspace. Throws a Refusal where there is none. */
export async function openVendorSearch(context: Context, provider: string) {
  if (!context.isLocal()) throw new Refusal('usage.providers_of_server')
  await requireEngine(context)
  const { stored, compiled } = await (await openRegistry(context)).open(provider)
  const { search } = compiled
  if (!search) throw new Refusal('provider.no_search', { name: provider })
  return { search, workspaceId: stored.workspaceId }
}

/** Returns what the search of a flow may cost at its vendor, in its own credits. */
export async function quoteSearch(context: Context, { provider, limit }: VendorInput) {
  const { search } = await openVendorSearch(context, provider)
  const pages = Math.ceil(limit / (search.size ?? 1))
  const most = context.globals.maxCost?.[provider] ?? Number.POSITIVE_INFINITY
  return { provider, max: Math.min(most, (pages * search.kind.most) / 1_000_000) }
}

/** Returns what the search of a data vendor by a flow is recorded as, in place of a run: its pages outlive the runs of the flow. */
export const searchRunOf = (name: string, { provider, query = {} }: VendorInput): string =>
  `search ${digestOf([name, provider, query])}`

/**
 * Returns what the search of a flow finds: pages that were paid for are taken again, and the others asked for. Throws where the
 * vendor cannot be asked, or an answer is lost.
 */
export async function searchVendor(
  context: Context,
  { name, input }: Flow,
  {
    rows = Number.POSITIVE_INFINITY,
    maxCost,
  }: { readonly rows?: number; readonly maxCost?: Readonly<Record<string, number>> },
): Promise<readonly Fields[]> {
  if (input.kind !== 'provider') return []
  const { provider, query = {}, limit } = input
  const { search, workspaceId } = await openVendorSearch(context, provider)
  const { openVendors } = await import('../../../providers/vendors.js')
  const { searchPages } = await import('../../../providers/search.js')
  const { store } = await openEngineStore(context)
  const vendors = openVendors({ ...vendorPorts(context), store })
  context.onClose(() => vendors.close())
  const principal = await (await context.admin()).principalOf((await context.apiKey()) ?? '')
  const asking = {
    workspaceId,
    memberId: principal?.member.id ?? '',
    run: searchRunOf(name, input),
    most: maxCost,
  }
  const found = await searchPages(
    search,
    (words) => vendors.page(provider, words, asking),
    query,
    Math.min(limit, rows),
  )
  const { stopped, pages } = found
  const suppressed = await (await context.suppressor())?.areAbout(found.rows)
  const records = found.rows.filter((_, at) => !suppressed?.[at])
  if (!stopped) return records
  const { is, why = '' } = stopped
  if (is === 'unknown')
    throw new Stop(
      `The answer of ${provider} to page ${formatNumber(pages + 1)} of its search was lost, and may have been charged`,
      exitCodes.unreachable,
      'It is not asked for again. Change the query, or lower limit to the records of the pages before it.',
      'outcome_unknown',
    )
  const reason = `${provider} ${notAskedBecause[why] ?? 'was not asked'}`
  if (why !== 'budget' || pages === 0)
    throw new Stop(
      `${reason}: page ${formatNumber(pages + 1)} of its search is missing`,
      exitCodes.unreachable,
      'The same command goes on from there; pages that were paid for are kept.',
    )
  const [rest, most] = [found.rows.length, limit].map(formatNumber)
  context.notify(`${reason}: the flow goes on with ${rest} of up to ${most} records.`)
  return records
}
