import pLimit, { type LimitFunction } from 'p-limit'
import { fails, passes } from '../api/calls/retry.js'
import type { Asking, Clock, VendorKind, VendorReply, Vendors } from '../api/ports/ports.js'
import { toCanonicalJson } from '../api/values/json.js'
import { type Fields, getOrMake, once } from '../api/values/objects.js'
import { Lost } from '../client/reading.js'
import { createResolver } from '../client/resolver.js'
import {
  type CallKey,
  countInFlight,
  dropCall,
  findCall,
  insertCall,
  listOrders,
  listProviders,
  type ProviderCall,
  postpone,
  readSpent,
  type StoredProvider,
  spendBudget,
  takeSlot,
  updateCall,
  updateProvider,
} from '../engine/tables/providers.js'
import { type Connection, type Driver, isStorageFault } from '../storage/driver/connection.js'
import {
  type CompiledKind,
  type CompiledProvider,
  compileStored,
  micros,
  type Subject,
  type VendorAnswer,
  type VendorRequest,
} from './compile.js'
import { toMs } from './definition.js'
import { type CheckMail, createMailCheck } from './deliverability.js'
import { createVendorHttp, type VendorHttp } from './http.js'
import { type CompiledOrder, compileOrders, orderFor } from './order.js'
import { identityOf, readResult, subjectOf } from './subject.js'

interface VendorPorts {
  readonly store: Driver
  /** Real time. */
  readonly clock: Clock
  readonly http: VendorHttp
  readonly keyOf: (workspaceId: string, name: string) => string | undefined
  readonly checkMail: CheckMail
  readonly sleep: (ms: number) => Promise<void>
}

interface Loaded {
  readonly stored: StoredProvider
  readonly compiled: CompiledProvider
  readonly apiKey: string | undefined
}

/** What is known of the providers of a workspace, for a moment. */
interface Known {
  readonly until: number
  readonly providers: ReadonlyMap<string, Loaded>
  readonly orders: readonly CompiledOrder[]
}

/** What this process is doing with a provider. */
interface AtWork {
  readonly limit: LimitFunction
  readonly breaker: ReturnType<typeof createBreaker>
  /** The questions whose cost is not known yet. */
  readonly open: Set<string>
}

interface Question {
  readonly loaded: Loaded
  readonly kind: CompiledKind
  readonly key: CallKey
  readonly fields: Subject
  readonly asking: Asking
}

type Ended = Omit<VendorReply, 'name'>

/** How far a request brought a question: the vendor put it off or accepted it, another process has it, or it ended. */
type Step = Ended | 'again' | 'submitted' | 'taken'

const knownMs = 1_000
/** How soon a call of another process is looked at, and how often at most. */
const [lookMs, maxLookMs] = [100, 1_000]
/** Most repetitions of a request that the vendor put off. */
const maxRepeats = 30
/** How long a provider without credits, or with an invalid key, is left alone. */
const pauseMs = 3_600_000
/** How much longer than its answer may take a call is believed to be under way. */
const leaseMarginMs = 5_000
/** How long a batch waits for more rows. */
const gatherMs = 30
/** As many as there are connections: the rates decide. */
const defaultConcurrency = 64

/** What opening vendors needs. `servers` are name servers; by default those of the system. */
type OpenPorts = Omit<VendorPorts, 'http' | 'checkMail'> & {
  readonly servers: readonly string[] | undefined
}

/**
 * Opens what asks the data vendors of workspaces. Each question is recorded before it is sent, and never asked twice
 * (decision 21).
 */
export function openVendors({ servers, ...ports }: OpenPorts): Vendors & { close(): Promise<void> } {
  const http = createVendorHttp(createResolver({ servers }))
  const desk = new VendorDesk({ ...ports, http, checkMail: createMailCheck(servers) })
  return { has: (id) => desk.has(id), ask: (...question) => desk.ask(...question), close: http.close }
}

class VendorDesk implements Vendors {
  readonly #known = new Map<string, Promise<Known>>()
  readonly #compiled = new Map<string, Promise<CompiledProvider>>()
  readonly #atWork = new Map<string, AtWork>()
  readonly #asking = new Map<string, Promise<Ended>>()
  readonly #batches = new Map<string, Batch>()
  readonly #polls = new Map<string, Promise<PolledWork>>()

  constructor(private readonly ports: VendorPorts) {}

  async has(workspaceId: string): Promise<boolean> {
    return (await this.#load(workspaceId)).providers.size > 0
  }

  async *ask(
    kind: VendorKind,
    query: Parameters<Vendors['ask']>[1],
    asking: Asking,
    company?: Parameters<Vendors['ask']>[3],
  ): AsyncGenerator<VendorReply> {
    const { providers, orders } = await this.#load(asking.workspaceId)
    const names = [...providers.values()].flatMap(({ stored, compiled }) =>
      compiled.kinds[kind] ? [stored.name] : [],
    )
    if (names.length === 0) return
    const subject = subjectOf(query)
    const valuesOf = async () => {
      const { headcount = null, industry = null, country = null } = (await company?.()) ?? {}
      return { country, ...subject, headcount, industry }
    }
    const questions: Question[] = []
    for (const name of await orderFor(orders, kind, names, once(valuesOf))) {
      const loaded = providers.get(name)
      const compiled = loaded?.compiled.kinds[kind]
      const fields = compiled?.fieldsOf(subject)
      // It cannot be asked about this row.
      if (!loaded || !compiled || !fields) continue
      const key = { workspaceId: asking.workspaceId, provider: name, kind, identity: identityOf(fields) }
      questions.push({ loaded, kind: compiled, key, fields, asking })
    }
    for (const question of await this.#recordedFirst(questions)) {
      const reply = { name: question.key.provider, ...(await this.#askOnce(question)) }
      yield reply.is === 'found' ? await this.#checked(kind, query, reply, asking) : reply
    }
  }

  /** Puts those first that were asked before: their answers cost nothing more, or have been paid for. */
  async #recordedFirst(questions: readonly Question[]): Promise<readonly Question[]> {
    if (questions.length < 2) return questions
    const now = this.ports.clock.now()
    return this.ports.store.read(async (tx) => {
      const first: Question[] = []
      for (const question of questions) {
        const call = await findCall(tx, question.key)
        if (call && isOpen(call, now, question.loaded)) first.push(question)
      }
      return [...first, ...questions.filter((question) => !first.includes(question))]
    })
  }

  /** Returns what was found in our form: an address with the status that other providers say it has. */
  async #checked(
    kind: VendorKind,
    query: Parameters<Vendors['ask']>[1],
    reply: VendorReply,
    asking: Asking,
  ): Promise<VendorReply> {
    const { fields = {} } = reply
    if (kind !== 'email' && kind !== 'personal_email') return reply
    const email = String(fields[kind])
    let status = fields[`${kind}_status`]
    if (status === 'risky')
      for await (const { fields: said } of this.ask('verify', { ...query, email }, asking))
        if (said) {
          status = said.email_status
          break
        }
    if (status === 'valid' && (await this.ports.checkMail(email)) !== undefined) status = 'risky'
    return { ...reply, fields: { ...fields, [`${kind}_status`]: status } }
  }

  #load(workspaceId: string): Promise<Known> {
    const now = this.ports.clock.now()
    const known = this.#known.get(workspaceId)
    const fresh = async (): Promise<Known> => {
      const [stored, orders] = await this.ports.store.read(
        async (tx) => [await listProviders(tx, workspaceId), await listOrders(tx, workspaceId)] as const,
      )
      const providers = new Map<string, Loaded>()
      for (const one of stored)
        if (one.enabled) {
          const apiKey = this.ports.keyOf(workspaceId, one.name)
          providers.set(one.name, { stored: one, compiled: await this.#compile(one), apiKey })
        }
      return { until: now + knownMs, providers, orders: await compileOrders(orders) }
    }
    const next = known ? known.then((found) => (found.until > now ? found : fresh()), fresh) : fresh()
    this.#known.set(workspaceId, next)
    return next
  }

  #compile(stored: StoredProvider): Promise<CompiledProvider> {
    return getOrMake(this.#compiled, toCanonicalJson(stored.definition), () => compileStored(stored))
  }

  /** Asks, or takes the answer of the call that is under way in this process. */
  #askOnce(question: Question): Promise<Ended> {
    const { workspaceId, provider } = question.key
    const place = `${workspaceId} ${provider} ${placeOf(question.key)}`
    const ask = () => this.#find(question).finally(() => this.#asking.delete(place))
    return getOrMake(this.#asking, place, ask)
  }

  /** Returns what the store knows of a question, or asks it. */
  async #find(question: Question): Promise<Ended> {
    const { key } = question
    let waitMs = lookMs
    for (let again = 0; ; ) {
      const now = this.ports.clock.now()
      const call = await this.ports.store.read((tx) => findCall(tx, key))
      const known = call && (await this.#recorded(question, call, now))
      if (known === 'wait') {
        await this.ports.sleep(waitMs)
        waitMs = Math.min(2 * waitMs, maxLookMs)
        continue
      }
      if (known) return known
      const step = question.kind.file.batch
        ? await this.#inBatch(question)
        : (await this.#request([question]))[0]
      // Another process has it, or the vendor: the store says what comes of it.
      if (step === 'taken' || step === 'submitted') continue
      if (step !== 'again' && step !== undefined) return step
      if (++again > maxRepeats) return { is: 'skipped', why: 'rate_limited' }
    }
  }

  /** Returns what a recorded call says; `wait` while another process has it, `undefined` where it may be asked. */
  async #recorded(question: Question, call: ProviderCall, now: number): Promise<Ended | 'wait' | undefined> {
    const { compiled, apiKey } = question.loaded
    if (call.state === 'submitted') {
      if (apiKey === undefined) return { is: 'skipped', why: 'no_key' }
      const ended = await this.#collect(question, call)
      return ended === 'again' ? undefined : ended
    }
    if (call.state === 'asked') {
      if (call.leaseUntil > now) return 'wait'
      const isOver = await this.#write((tx) => updateCall(tx, call, { state: 'unknown', answeredAt: now }))
      return isOver ? { is: 'unknown' } : 'wait'
    }
    if (now - call.askedAt >= compiled.maxAgeMs || call.state === 'failed') return undefined
    if (call.state === 'unknown') return { is: 'unknown' }
    return call.state === 'found' ? { is: 'found', fields: call.answer as Fields } : { is: 'not_found' }
  }

  #write<T>(work: (tx: Connection) => Promise<T>, workspaceId?: string): Promise<T> {
    return this.ports.store.transaction(work, workspaceId)
  }

  /** Gathers rows that are asked about at the same time into one request. */
  async #inBatch(question: Question): Promise<Step> {
    const { key, kind, asking } = question
    const name = `${key.workspaceId} ${key.provider} ${key.kind} ${asking.run}`
    const batch = this.#batches.get(name) ?? this.#openBatch(name)
    const at = batch.questions.push(question) - 1
    if (batch.questions.length >= (kind.file.batch?.size ?? 1)) batch.send()
    return (await batch.steps)[at] ?? 'again'
  }

  #openBatch(name: string): Batch {
    const questions: Question[] = []
    const { promise: steps, resolve } = Promise.withResolvers<readonly Step[]>()
    const send = () => {
      clearTimeout(timer)
      this.#batches.delete(name)
      resolve(this.#request(questions))
    }
    const timer = setTimeout(send, gatherMs)
    const batch = { questions, steps, send }
    this.#batches.set(name, batch)
    return batch
  }

  /** Sends one request about some rows, as many as the budgets permit, when its turn has come. */
  #request(questions: readonly Question[]): Promise<readonly Step[]> {
    const [first] = questions
    if (!first) return Promise.resolve([])
    return this.#workOf(first).limit(async () => {
      const why = await this.#whyNot(first)
      if (why !== undefined) return questions.map((): Step => ({ is: 'skipped', why }))
      const asked = questions.slice(0, await this.#room(first))
      if (asked.length > 0) await this.#pace(first)
      const calls = asked.length > 0 ? await this.#claim(asked) : 'taken'
      if (calls === 'taken') {
        await this.ports.sleep(lookMs)
        return questions.map(() => 'taken')
      }
      const open = this.#workOf(first).open
      for (const call of calls) open.add(placeOf(call))
      const steps = await this.#send(asked, calls).catch((error: unknown) => {
        for (const call of calls) open.delete(placeOf(call))
        throw error
      })
      return questions.map((_, at) => steps[at] ?? 'taken')
    })
  }

  async #whyNot(question: Question): Promise<string | undefined> {
    const { workspaceId, provider } = question.key
    // It may have been paused since the question was put.
    const { stored, apiKey } = (await this.#load(workspaceId)).providers.get(provider) ?? question.loaded
    if (apiKey === undefined) return 'no_key'
    if (stored.pausedUntil > this.ports.clock.now()) return stored.pausedBy ?? 'paused'
    if ((await this.#workOf(question).breaker).isOpen()) return 'failing'
    // What is set aside for answers that are under way may come back.
    const isShort = this.#workOf(question).open.size === 0 && (await this.#leftFor(question)) < 1
    return isShort ? 'budget' : undefined
  }

  /** Returns about how many rows may be asked now. */
  async #room(question: Question): Promise<number> {
    const { loaded, key } = question
    const { concurrent } = loaded.compiled.file.limits ?? {}
    if (concurrent === undefined) return this.#leftFor(question)
    const now = this.ports.clock.now()
    const others = await this.ports.store.read((tx) => countInFlight(tx, key.workspaceId, key.provider, now))
    return others < concurrent ? this.#leftFor(question) : 0
  }

  /** Returns for how many rows the budgets suffice now. */
  async #leftFor(question: Question): Promise<number> {
    const { workspaceId, provider } = question.key
    const { most } = question.kind
    const budgets = budgetsOf(question, this.ports.clock.now()).filter(({ limit }) => limit !== undefined)
    if (budgets.length === 0) return Number.POSITIVE_INFINITY
    return this.ports.store.read(async (tx) => {
      let rows = Number.POSITIVE_INFINITY
      for (const { of, limit = 0 } of budgets) {
        const left = limit - (await readSpent(tx, { workspaceId, provider, run: of }))
        if (limit === 0 || left < most) return 0
        if (most > 0) rows = Math.min(rows, Math.floor(left / most))
      }
      return rows
    })
  }

  /** Waits for the turn of a request among those of all processes. */
  async #pace({ loaded: { stored, compiled } }: Question): Promise<void> {
    const nowUs = this.ports.clock.now() * 1_000
    const { workspaceId, name } = stored
    const take = (tx: Connection) => takeSlot(tx, workspaceId, name, nowUs, compiled.intervalUs)
    const at = await this.#write(take, workspaceId)
    if (at > nowUs) await this.ports.sleep((at - nowUs) / 1_000)
  }

  /** Records questions before they are sent; `taken` where another process has one of them, or the budget. */
  async #claim(questions: readonly Question[]): Promise<readonly ProviderCall[] | 'taken'> {
    const [first] = questions
    if (!first) return 'taken'
    const { workspaceId, memberId, run } = first.asking
    const { name } = first.loaded.stored
    const { timeoutMs } = first.loaded.compiled
    const now = this.ports.clock.now()
    const claim = async (tx: Connection) => {
      const calls: ProviderCall[] = []
      for (const [place, { key, fields, kind }] of questions.entries()) {
        const last = await findCall(tx, key)
        if (last && isOpen(last, now, first.loaded)) throw new Taken()
        calls.push({
          ...key,
          attempt: (last?.attempt ?? 0) + 1,
          state: 'asked',
          subject: fields,
          vendorId: null,
          place,
          ofRows: questions.length,
          answer: null,
          error: null,
          cost: 0,
          reserved: kind.most,
          memberId,
          run,
          askedAt: now,
          answeredAt: null,
          leaseUntil: now + timeoutMs + leaseMarginMs,
        })
      }
      const reserved = calls.reduce((sum, call) => sum + call.reserved, 0)
      for (const { of, limit } of budgetsOf(first, now))
        if (!(await spendBudget(tx, { workspaceId, provider: name, run: of }, reserved, limit)))
          throw new Taken()
      for (const call of calls) await insertCall(tx, call)
      return calls
    }
    try {
      return await this.#write(claim, workspaceId)
    } catch (error) {
      if (error instanceof Taken || isStorageFault(error, 'already_there')) return 'taken'
      throw error
    }
  }

  /** Sends the request about some rows, and keeps what came of each before it is returned. */
  async #send(questions: readonly Question[], calls: readonly ProviderCall[]): Promise<readonly Step[]> {
    const [first] = questions
    if (!first) return []
    const { kind } = first
    const request = kind.request(questions.map(({ fields, key }) => ({ ...fields, row: key.identity })))
    const answer = await this.#exchange(first, request)
    if (answer instanceof Lost)
      return this.#settle(first, calls, answer.sent ? 'unknown' : 'failed', answer.message)
    if (!kind.file.submit || !kind.isAccepted(answer)) return this.#judge(questions, calls, answer)
    const vendorId = kind.idOf(answer)
    if (vendorId === undefined) return this.#settle(first, calls, 'unknown', 'The answer has no id')
    // Before the first poll: from here on nobody asks again.
    await this.#write(async (tx) => {
      for (const call of calls) await updateCall(tx, call, { state: 'submitted', vendorId })
    }, first.asking.workspaceId)
    return calls.map(() => 'submitted')
  }

  /** Keeps what an answer says about each row. */
  async #judge(
    questions: readonly Question[],
    calls: readonly ProviderCall[],
    answer: VendorAnswer,
    isPolled = false,
  ): Promise<(Ended | 'again')[]> {
    const [first] = questions
    if (!first) return []
    const { kind, loaded } = first
    const { workspaceId, name } = loaded.stored
    const { batch, submit } = kind.file
    // Work that was not accepted was not found either, whatever the outcomes say.
    const isResult = submit === undefined || isPolled
    const isItems = batch !== undefined && isResult && answer.status < 400
    const outcome = isItems ? undefined : kind.outcomeOf(answer)
    const is = outcome?.is
    const waitMs = outcome?.waitMs ?? 1_000
    if (is === 'again' || is === 'rate_limited') {
      await this.#end(first, calls)
      const until = this.ports.clock.now() + waitMs
      if (is === 'rate_limited')
        await this.#write((tx) => postpone(tx, workspaceId, name, until * 1_000), workspaceId)
      await this.ports.sleep(waitMs)
      return calls.map(() => 'again')
    }
    if (is === 'out_of_credits' || is === 'invalid_key') {
      await this.#end(first, calls)
      const pausedUntil = this.ports.clock.now() + pauseMs
      const pause = { pausedUntil, pausedBy: is }
      await this.#write((tx) => updateProvider(tx, workspaceId, name, pause), workspaceId)
      this.#known.delete(workspaceId)
      return calls.map(() => ({ is: 'skipped', why: is }))
    }
    const isOfRow = !batch && isResult && (is === 'found' || is === 'not_found')
    if (!isItems && !isOfRow) {
      const isLost = is === 'unknown' || (is !== 'failed' && fails(answer))
      return this.#settle(first, calls, isLost ? 'unknown' : 'failed', `Status ${answer.status}`)
    }
    const results: Ended[] = []
    for (const [at, call] of calls.entries())
      results.push(await this.#judgeRow(questions[at] ?? first, call, answer))
    return results
  }

  /** Keeps what an answer says about a row. What is said to be found and is not there is half an answer. */
  async #judgeRow(question: Question, call: ProviderCall, answer: VendorAnswer): Promise<Ended> {
    const { kind, key, fields: subject } = question
    const item = kind.file.batch ? kind.itemOf(answer, call.identity, call.place, call.ofRows) : null
    const own = { ...answer, item: item ?? null }
    const is = item === undefined ? undefined : kind.outcomeOf(own)?.is
    const fields =
      is === 'found' ? readResult(key.kind as VendorKind, kind.resultOf(own), subject) : undefined
    if (is === 'not_found' || fields) {
      await this.#end(question, [call], {
        state: fields ? 'found' : 'not_found',
        answer: fields ?? null,
        cost: kind.costOf(own, fields ? 'found' : 'not_found') ?? call.reserved,
      })
      return fields ? { is: 'found', fields } : { is: 'not_found' }
    }
    const state = is === 'failed' ? 'failed' : 'unknown'
    const [ended] = await this.#settle(question, [call], state, 'The answer lacks the row')
    return ended as Ended
  }

  async #settle(
    question: Question,
    calls: readonly ProviderCall[],
    state: 'unknown' | 'failed',
    error: string,
  ): Promise<Ended[]> {
    await this.#end(question, calls, { state, error, cost: 0 })
    return calls.map(() => (state === 'unknown' ? { is: 'unknown' } : { is: 'skipped', why: 'failed' }))
  }

  /** Keeps how calls ended; those that the vendor did not take are forgotten. What was set aside is corrected, except for unknown ones. */
  async #end(
    question: Question,
    calls: readonly ProviderCall[],
    change?: Pick<ProviderCall, 'state' | 'cost'> & Partial<ProviderCall>,
  ): Promise<void> {
    const { loaded, asking } = question
    const answeredAt = this.ports.clock.now()
    await this.#write(async (tx) => {
      for (const call of calls) {
        const isEnded = change
          ? await updateCall(tx, call, { ...change, answeredAt })
          : (await dropCall(tx, call)) > 0
        if (!isEnded || change?.state === 'unknown') continue
        const { workspaceId, provider, run, askedAt } = call
        for (const { of } of budgetsOf({ loaded, asking: { ...asking, run } }, askedAt))
          await spendBudget(tx, { workspaceId, provider, run: of }, (change?.cost ?? 0) - call.reserved)
      }
    }, asking.workspaceId)
    for (const call of calls) this.#workOf(question).open.delete(placeOf(call))
  }

  /** Polls for the answer about a row that the vendor accepted, and keeps it. */
  async #collect(question: Question, call: ProviderCall): Promise<Ended | 'again' | undefined> {
    const name = `${call.workspaceId} ${call.provider} ${call.kind} ${call.vendorId}`
    const poll = () => this.#exchange(question, question.kind.poll(call.vendorId ?? ''))
    const paced = () => this.#workOf(question).limit(() => this.#pace(question).then(poll))
    const work = () =>
      pollWork(this.ports, question.kind, call.askedAt, paced).finally(() => this.#polls.delete(name))
    const answer = await getOrMake(this.#polls, name, work)
    // The next one who asks polls again.
    if (answer === 'unreachable') return { is: 'unknown' }
    const [ended] =
      answer === 'lost'
        ? await this.#settle(question, [call], 'unknown', 'The vendor lost the work')
        : await this.#judge([question], [call], answer, true)
    return ended
  }

  async #exchange(question: Question, request: VendorRequest): Promise<VendorAnswer | Lost> {
    const { stored, compiled, apiKey = '' } = question.loaded
    const target = { file: compiled.file, allow: stored.allow, key: apiKey }
    const answer = await this.ports.http.send(target, request, compiled.timeoutMs).catch(asLost)
    const breaker = await this.#workOf(question).breaker
    await breaker.note(answer instanceof Lost || fails(answer))
    return answer
  }

  #workOf({ key, loaded }: Question): AtWork {
    return getOrMake(this.#atWork, `${key.workspaceId} ${key.provider}`, () => ({
      limit: pLimit(loaded.compiled.file.limits?.concurrent ?? defaultConcurrency),
      breaker: createBreaker(),
      open: new Set<string>(),
    }))
  }
}

/** What became of work that a vendor accepted: its answer, lost, or not known because no poll was answered. */
type PolledWork = VendorAnswer | 'lost' | 'unreachable'

/** Polls for work that was accepted at `since`, until the vendor has done it or its time is over. */
export async function pollWork(
  { clock, sleep }: Pick<VendorPorts, 'clock' | 'sleep'>,
  kind: CompiledKind,
  since: number,
  poll: () => Promise<VendorAnswer | Lost>,
): Promise<PolledWork> {
  const { every = '5s', give_up = '10m' } = kind.file.poll ?? {}
  for (;;) {
    // Where a killed process had it, it may have been there for long.
    const isLast = clock.now() >= since + toMs(give_up)
    if (!isLast) await sleep(toMs(every))
    const answer = await poll()
    // Asking is free: what failed is asked again.
    if (answer instanceof Lost || passes(answer)) {
      if (isLast) return 'unreachable'
      continue
    }
    if (kind.isLost(answer)) return 'lost'
    if (kind.isDone(answer)) return answer
    if (isLast) return 'lost'
    const waitMs = answer.status >= 400 ? kind.outcomeOf(answer)?.waitMs : undefined
    if (waitMs !== undefined) await sleep(waitMs)
  }
}

/** Returns the loss that a request rejected with as a value; throws anything else. */
export const asLost = (error: unknown): Lost => {
  if (error instanceof Lost) return error
  throw error
}

/** Questions that are gathered, and what came of each once they are sent. */
interface Batch {
  readonly questions: Question[]
  readonly steps: Promise<readonly Step[]>
  send(): void
}

const placeOf = ({ kind, identity }: Pick<CallKey, 'kind' | 'identity'>): string => `${kind} ${identity}`

/** Another process has a question, or what was left of a budget. */
class Taken extends Error {}

const failuresInARow = 5
const halfOpenMs = 30_000

/** Creates what leaves a provider alone that fails again and again, and tries it once in a while. */
async function createBreaker() {
  const { CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } = await import('cockatiel')
  const policy = circuitBreaker(handleAll, {
    halfOpenAfter: halfOpenMs,
    breaker: new ConsecutiveBreaker(failuresInARow),
  })
  let openedAt = 0
  policy.onBreak(() => {
    openedAt = performance.now()
  })
  return {
    isOpen: () => {
      if (policy.state !== CircuitState.Open) return false
      if (performance.now() - openedAt < halfOpenMs) return true
      // One request tries, and the others wait for what comes of it.
      openedAt = performance.now()
      return false
    },
    note: (isFailure: boolean) =>
      policy
        .execute(() => {
          if (isFailure) throw new Error('failed')
        })
        .catch(() => {}),
  }
}

/** Whether a recorded call answers the question, or will. */
const isOpen = (call: ProviderCall, now: number, { compiled }: Loaded): boolean =>
  call.state === 'submitted' ||
  call.state === 'asked' ||
  (call.state !== 'failed' && now - call.askedAt < compiled.maxAgeMs)

/** The budgets that a call is counted in: that of its run, and that of the day. */
function budgetsOf({ asking, loaded }: Pick<Question, 'asking' | 'loaded'>, now: number) {
  const { name } = loaded.stored
  const perDay = loaded.compiled.file.max_cost_per_day
  const limitOf = (credits: number | undefined) =>
    credits === undefined ? undefined : Math.round(credits * micros)
  return [
    { of: asking.run, limit: limitOf(asking.most?.[name] ?? asking.others) },
    { of: `day ${new Date(now).toISOString().slice(0, 10)}`, limit: limitOf(perDay) },
  ]
}
