import { Refusal } from '../api/calls/errors.js'
import type { Clock } from '../api/ports/ports.js'
import { nearest } from '../api/values/nearest.js'
import { parseUrl } from '../api/values/url.js'
import { isSecret } from '../api/webhooks/signature.js'
import { createResolver } from '../client/resolver.js'
import { destinationOf } from '../client/ssrf-guard.js'
import { inCurrent } from '../engine/admin/workspaces.js'
import { listMembers } from '../engine/tables/members.js'
import {
  carryBudget,
  dropProvider,
  insertCall,
  leaseEnd,
  listOrders,
  listProviders,
  newCall,
  type ProviderCall,
  type ProviderOrder,
  putOrder,
  putProvider,
  type StoredProvider,
  spendBudget,
  sumCalls,
  updateProvider,
} from '../engine/tables/providers.js'
import { parseExpression } from '../lists/expressions.js'
import type { Connection, Driver } from '../storage/driver/connection.js'
import { dayBudgetOf, type Ending, endCall, leftFor } from './budgets.js'
import { type CompiledProvider, compileProvider, compileStored, micros } from './compile.js'
import {
  type ProviderFile,
  type ProviderKind,
  providerKinds,
  readProvider,
  tokenUrlOf,
} from './definition.js'
import { orderScope } from './order.js'
import { addressNow } from './webhook.js'

/** What lookups may cost at a data vendor, in its own credits; `expected` is null while too little is known. */
export interface ProviderQuote {
  readonly provider: string
  readonly kind: string
  readonly expected: number | null
  readonly max: number
}

/** The providers of the workspace in use, without their keys. */
export type Registry = ReturnType<typeof createRegistry>

export function createRegistry({ store, clock }: { readonly store: Driver; readonly clock: Clock }) {
  const { reading, writing } = inCurrent({ store, clock })
  const change = (name: string, to: Parameters<typeof updateProvider>[3]) =>
    writing(async (tx, { id }) => {
      if (!(await updateProvider(tx, id, name, to))) await refuseName(tx, id, name)
    })
  return {
    /** What was asked and what it cost, by provider, kind and, where it is given, day, member or run. */
    spending: (choice: Parameters<typeof sumCalls>[2] = {}) =>
      reading((tx, { id }) => sumCalls(tx, id, choice)),
    /** Returns what so many lookups may cost at each provider: at most, and about, by what it found so far. */
    quote: (kinds: readonly ProviderKind[], lookups: number, limits: Readonly<Record<string, number>> = {}) =>
      reading(async (tx, { id }): Promise<ProviderQuote[]> => {
        const stored = await listProviders(tx, id)
        const orders = await listOrders(tx, id)
        const sums = await sumCalls(tx, id)
        // An old file says little of the next one, as in the estimate of a target.
        const newest = await sumCalls(tx, id, { newest: newestCalls })
        const quotes: ProviderQuote[] = []
        for (const kind of kinds) {
          const able = stored.filter((one) => one.enabled && kindsOf(one).includes(kind))
          // Those before it may find it.
          let asked = lookups
          for (const name of metBy(orders, kind, able)) {
            const provider = able.find((one) => one.name === name)
            if (!provider) continue
            const { kinds: compiled, sharing } = await compileStored(provider)
            const most = limits[name] ?? Number.POSITIVE_INFINITY
            const perRow = compiled[kind]?.most ?? 0
            // What the request for another kind has paid for is paid once.
            const paid = (sharing[kind] ?? [])
              .filter((other) => kinds.indexOf(other) >= 0 && kinds.indexOf(other) < kinds.indexOf(kind))
              .map((other) => compiled[other]?.most ?? 0)
            const max = Math.min(most, (lookups * Math.max(0, perRow - Math.max(0, ...paid))) / micros)
            const sum = newest.find((one) => one.provider === name && one.kind === kind)
            const { found = 0, notFound = 0, cost = 0 } = sum ?? {}
            const answers = found + notFound
            const isKnown = answers >= enoughAnswers
            const expected = isKnown ? Math.min(max, Math.round((asked * cost) / answers / micros)) : null
            quotes.push({ provider: name, kind, expected, max })
            if (isKnown) asked *= notFound / answers
          }
        }
        const verifying = { sums, quotes, lookups, limits, kinds }
        return [...quotes, ...(await quoteVerifying(stored, orders, verifying))]
      }),
    /** Returns a provider that is ready to be asked. Throws where there is none of that name. */
    open: (name: string) =>
      reading(async (tx, { id }) => {
        const stored = (await listProviders(tx, id)).find((one) => one.name === name)
        if (!stored) return refuseName(tx, id, name)
        return { stored, compiled: await compileStored(stored) }
      }),
    /** Returns those of some providers that a run may ask for any of these kinds, within their budgets. */
    askable: (names: readonly string[], kinds: readonly string[], spending: Parameters<typeof leftFor>[1]) =>
      reading(async (tx, { id }): Promise<ReadonlySet<string>> => {
        const found = new Set<string>()
        const isReached = (await addressNow(tx)) !== undefined
        for (const stored of await listProviders(tx, id)) {
          if (!stored.enabled || !names.includes(stored.name) || stored.pausedUntil > clock.now()) continue
          const compiled = await compileStored(stored)
          const asked = kinds.flatMap((kind) => compiled.kinds[kind as ProviderKind] ?? [])
          if (!isReached && asked.every(({ file: { webhook, poll } }) => webhook && !poll)) continue
          const least = Math.min(...asked.map(({ most }) => most))
          if ((await leftFor(tx, spending, { stored, compiled }, least, clock.now())) >= 1)
            found.add(stored.name)
        }
        return found
      }),
    /**
     * Records a request that belongs to no run, in the budget of its day, before it is sent. Returns what keeps how it ended;
     * `undefined` where the budget does not suffice.
     */
    begin: (
      { stored, compiled }: Parameters<typeof leftFor>[2],
      question: Pick<ProviderCall, 'kind' | 'identity' | 'subject' | 'reserved'>,
      leaseMs: number,
    ) =>
      writing(async (tx, { id: workspaceId }) => {
        const askedAt = clock.now()
        const budget = dayBudgetOf(compiled, askedAt)
        const { name: provider } = stored
        const spent = { workspaceId, provider, run: budget.of }
        if (!(await spendBudget(tx, spent, question.reserved, budget.limit))) return undefined
        const [owner] = await listMembers(tx, workspaceId)
        const call = newCall({
          ...question,
          workspaceId,
          provider,
          memberId: owner?.id ?? '',
          run: question.identity,
          askedAt,
          leaseUntil: await leaseEnd(tx, leaseMs),
        })
        await insertCall(tx, call)
        return (ending: Ending | undefined) =>
          writing((ended) => endCall(ended, call, [budget], ending, clock.now()))
      }),
    /** Counts what a run has spent in the budget of the one that goes on for it. */
    carryBudget: (from: string, to: string): Promise<void> =>
      writing((tx, { id }) => carryBudget(tx, id, from, to)),
    workspaceId: () => reading((_, { id }) => id),
    list: (): Promise<StoredProvider[]> => reading((tx, { id }) => listProviders(tx, id)),
    orders: (): Promise<ProviderOrder[]> => reading((tx, { id }) => listOrders(tx, id)),
    /** Adds a provider, in place of one with its name. */
    add: async (file: ProviderFile, allow: readonly string[]): Promise<StoredProvider> => {
      const now = clock.now()
      return await writing(async (tx, { id: workspaceId }) => {
        const provider: StoredProvider = {
          workspaceId,
          name: file.name,
          definition: file,
          allow,
          enabled: true,
          createdAt: now,
          nextAt: 0,
          pausedUntil: 0,
          pausedBy: null,
        }
        await putProvider(tx, provider)
        return provider
      })
    },
    remove: (name: string): Promise<void> =>
      writing(async (tx, { id }) => {
        if (!(await dropProvider(tx, id, name))) await refuseName(tx, id, name)
        for (const order of await listOrders(tx, id))
          if (order.names.includes(name))
            await putOrder(tx, { ...order, names: order.names.filter((one) => one !== name) })
      }),
    /** Lets a provider be asked, or not. Enabling one ends its pause. */
    enable: (name: string, enabled: boolean): Promise<void> =>
      change(name, enabled ? { enabled, pausedUntil: 0, pausedBy: null } : { enabled }),
    /** Sets the order for a kind, where a condition is true or always; without names, that of their addition. */
    order: async (kind: string, names: readonly string[], condition = ''): Promise<void> => {
      const known = providerKinds
      if (!known.some((one) => one === kind))
        throw new Refusal('provider.no_kind', { kind, meant: nearest(kind, known), known })
      // Not in the scope of all: an order that is stored already can still be used.
      const scope = { ...orderScope, country: { is: 'text', isCountry: true } } as const
      if (condition !== '') await parseExpression(condition, scope, 'when')
      await writing(async (tx, { id: workspaceId }) => {
        const providers = await listProviders(tx, workspaceId)
        for (const name of names) {
          const found = providers.find((one) => one.name === name)
          if (!found) await refuseName(tx, workspaceId, name)
          else if (!kindsOf(found).includes(kind as ProviderKind))
            throw new Refusal('provider.lacks_kind', { name, kind, kinds: kindsOf(found) })
        }
        await putOrder(tx, {
          workspaceId,
          kind,
          condition,
          names: [...new Set(names)],
          createdAt: clock.now(),
        })
      })
    },
  }
}

/** Returns the names of the vendors that a row may meet for a kind: those for all rows, then those for some only. */
function metBy(
  orders: readonly ProviderOrder[],
  kind: ProviderKind,
  able: readonly StoredProvider[],
): readonly string[] {
  const own = orders.filter((one) => one.kind === kind)
  const usual = own.find(({ condition }) => condition === '')?.names ?? able.map(({ name }) => name)
  return [...new Set([...usual, ...own.flatMap(({ names }) => names)])]
}

/** Who gives addresses beside the vendors: the catalogue, and of professional ones the pattern of a company. */
const othersGiving: Readonly<Record<string, number>> = { email: 2, personal_email: 1 }

/**
 * Returns what verifying the addresses may cost that lookups find: each vendor that verifies may be asked about one of each who
 * gives some. About as many are expected as of the addresses that were asked for so far.
 */
async function quoteVerifying(
  stored: readonly StoredProvider[],
  orders: readonly ProviderOrder[],
  {
    sums,
    quotes,
    lookups,
    limits,
    kinds,
  }: {
    readonly sums: Awaited<ReturnType<typeof sumCalls>>
    readonly quotes: readonly ProviderQuote[]
    readonly lookups: number
    readonly limits: Readonly<Record<string, number>>
    readonly kinds: readonly ProviderKind[]
  },
): Promise<ProviderQuote[]> {
  const asked = kinds.filter((kind) => othersGiving[kind] !== undefined)
  const given = asked.reduce((sum, kind) => sum + (othersGiving[kind] ?? 0), 0)
  const addresses = given + quotes.filter(({ kind }) => othersGiving[kind] !== undefined).length
  const verifiers = stored.filter((one) => one.enabled && kindsOf(one).includes('verify'))
  const met = asked.length === 0 ? [] : metBy(orders, 'verify', verifiers)
  const able = met.flatMap((name) => verifiers.find((one) => one.name === name) ?? [])
  const times = Math.max(0, ...sums.filter(({ kind }) => kind === 'email').map((one) => one.asked))
  return Promise.all(
    able.map(async (provider): Promise<ProviderQuote> => {
      const { name } = provider
      const most = (await compileStored(provider)).kinds.verify?.most ?? 0
      const max = Math.min(limits[name] ?? Number.POSITIVE_INFINITY, (lookups * addresses * most) / micros)
      const sum = sums.find((one) => one.provider === name && one.kind === 'verify')
      const isKnown = sum && sum.found + sum.notFound >= enoughAnswers && times >= enoughAnswers
      const expected = isKnown ? Math.min(max, Math.round((lookups * sum.cost) / times / micros)) : null
      return { provider: name, kind: 'verify', expected, max }
    }),
  )
}

/** How many of its calls an estimate counts. */
const newestCalls = 50

/** Answers from which on a hit rate is believed. */
const enoughAnswers = 10

export const kindsOf = ({ definition }: StoredProvider): ProviderKind[] =>
  Object.keys((definition as { readonly kinds: object }).kinds) as ProviderKind[]

/** Returns what a provider can be asked for, with its search. */
export const abilitiesOf = (provider: StoredProvider): string[] => [
  ...kindsOf(provider),
  ...((provider.definition as ProviderFile).search ? ['search'] : []),
]

async function refuseName(tx: Connection, workspaceId: string, name: string): Promise<never> {
  const known = (await listProviders(tx, workspaceId)).map((one) => one.name)
  throw new Refusal('provider.none', { name, meant: nearest(name, known), known })
}

/** Reads the file of a provider to be added. Throws a Refusal for what is wrong in it, or an address it may not have. */
export async function checkProvider(
  text: string,
  path: string,
  allow: readonly string[],
): Promise<{ readonly file: ProviderFile; readonly compiled: CompiledProvider }> {
  const read = await readProvider(text, path)
  const { file } = read
  const compiled = await compileProvider(read)
  for (const url of [file.base_url, tokenUrlOf(file)]) if (url !== undefined) await refuseAddress(url, allow)
  return { file, compiled }
}

/** Throws for a key that does not have the parts that its provider is sent. */
export function checkKey({ name, auth: { oauth } }: ProviderFile, key: string): void {
  if (oauth?.in === 'body' && oauth.client_id === undefined && !/^[^:]+:./.test(key))
    throw new Refusal('provider.client', { name })
}

/** Throws for a secret that its webhooks cannot be signed with. */
export function checkWebhookSecret({ name, kinds }: ProviderFile, secret: string): void {
  const isStandard = Object.values(kinds).some(({ webhook }) => webhook?.sign === 'standard')
  if (isStandard && !isSecret(secret)) throw new Refusal('provider.webhook_secret', { name })
}

/** Throws for an address that no request may go to. A name that does not resolve now is checked with each request. */
async function refuseAddress(url: string, allow: readonly string[]): Promise<void> {
  if (parseUrl(url)?.search !== '') throw new Refusal('provider.address', { url, reason: 'query' })
  if (url.startsWith('http:') && allow.length === 0)
    throw new Refusal('provider.address', { url, reason: 'plain' })
  const found = await destinationOf(url, targetsOf(allow), createResolver()).catch(() => undefined)
  if (found && 'refused' in found) throw new Refusal('provider.address', { url, cause: found.refused })
}

export const targetsOf = (allow: readonly string[]) => ({ allow, loopback: false, what: 'Requests' })
