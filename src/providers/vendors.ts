import { createHash } from 'node:crypto'
import pLimit, { type LimitFunction } from 'p-limit'
import { toCanonicalJson } from '../api/values/json.js'
import { parseNetworkUrl } from '../api/values/network-url.js'
import type { Fields } from '../api/values/objects.js'
import { toDomain } from '../catalogue/normalize/domain.js'
import { describePhone, toE164 } from '../catalogue/normalize/phone.js'
import { createResolver } from '../client/resolver.js'
import type { Asking, Clock, VendorKind, VendorReply, Vendors } from '../engine/ports/ports.js'
import {
  type CallKey,
  countInFlight,
  dropCall,
  findCall,
  insertCall,
  listOrders,
  listProviders,
  type ProviderCall,
  type ProviderOrder,
  postpone,
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
  compileProvider,
  micros,
  type Subject,
  type VendorAnswer,
  type VendorRequest,
} from './compile.js'
import { toMs } from './definition.js'
import { type CheckMail, createMailCheck } from './deliverability.js'
import { createVendorHttp, VendorFault, type VendorHttp } from './http.js'
import { orderFor } from './order.js'

/** What asking vendors needs. */
export interface VendorPorts {
  readonly store: Driver
  /** Real time. */
  readonly clock: Clock
  readonly http: VendorHttp
  /** Returns the key of a provider on this machine. */
  readonly keyOf: (workspaceId: string, name: string) => string | undefined
  readonly checkMail: CheckMail
  readonly sleep: (ms: number) => Promise<void>
}

/** A provider of a workspace that can be asked. */
interface Loaded {
  readonly stored: StoredProvider
  readonly compiled: CompiledProvider
}

/** What is known of the providers of a workspace, for a moment. */
interface Known {
  readonly until: number
  readonly providers: ReadonlyMap<string, Loaded>
  readonly orders: readonly ProviderOrder[]
}

/** A question to a provider about one row. */
interface Question {
  readonly loaded: Loaded
  readonly kind: CompiledKind
  readonly key: CallKey
  readonly fields: Subject
  readonly asking: Asking
  readonly apiKey: string
}

/** How a question ended. */
type Ended = Omit<VendorReply, 'name'>

/** How far a request brought a question: the vendor put it off or accepted it, another process has it, or it ended. */
type Step = Ended | 'again' | 'submitted' | 'taken'

const knownMs = 1_000
/** How often a call of another process is looked at. */
const lookMs = 100
/** Most repetitions of a request that the vendor put off. */
const mostAgain = 30
/** How long a provider without credits, or with an invalid key, is left alone. */
const pauseMs = 3_600_000
/** How much longer than its answer may take a call is believed to be under way. */
const leaseMarginMs = 15_000
/** How long a batch waits for more rows. */
const gatherMs = 30
const usualConcurrency = 16

/** What opening vendors needs. `servers` are name servers; by default those of the system. */
type OpenPorts = Omit<VendorPorts, 'http' | 'checkMail'> & {
  readonly servers: readonly string[] | undefined
}

/** Opens what asks the data vendors of workspaces. Each question is recorded before it is sent, and never asked twice. */
export function openVendors({ servers, ...ports }: OpenPorts): Vendors & { close(): Promise<void> } {
  const http = createVendorHttp(createResolver({ servers }))
  const desk = new VendorDesk({ ...ports, http, checkMail: createMailCheck(servers) })
  return { has: (id) => desk.has(id), ask: (...question) => desk.ask(...question), close: http.close }
}

class VendorDesk implements Vendors {
  readonly #known = new Map<string, Promise<Known>>()
  readonly #compiled = new Map<string, Promise<CompiledProvider>>()
  readonly #limits = new Map<string, LimitFunction>()
  readonly #breakers = new Map<string, Promise<Breaker>>()
  readonly #asking = new Map<string, Promise<Ended>>()
  readonly #batches = new Map<string, Batch>()
  readonly #polls = new Map<string, Promise<VendorAnswer | 'lost'>>()

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
    for (const name of await orderFor(orders, kind, names, valuesOf)) {
      const loaded = providers.get(name)
      const compiled = loaded?.compiled.kinds[kind]
      const fields = compiled?.fieldsOf(subject)
      // It cannot be asked about this row.
      if (!loaded || !compiled || !fields) continue
      const reply = { name, ...(await this.#askOnce(loaded, compiled, kind, fields, asking)) }
      yield reply.is === 'found' ? await this.#checked(kind, subject, reply, asking) : reply
    }
  }

  /** Returns what was found in our form: an address with the status that other providers say it has. */
  async #checked(
    kind: VendorKind,
    subject: Subject,
    reply: VendorReply,
    asking: Asking,
  ): Promise<VendorReply> {
    const { fields = {} } = reply
    if (kind !== 'email' && kind !== 'personal_email') return reply
    const email = String(fields[kind])
    let status = fields[`${kind}_status`]
    if (status === 'risky')
      for await (const { fields: said } of this.ask('verify', { ...toQuery(subject), email }, asking))
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
        if (one.enabled) providers.set(one.name, { stored: one, compiled: await this.#compile(one) })
      return { until: now + knownMs, providers, orders }
    }
    const next = known ? known.then((found) => (found.until > now ? found : fresh()), fresh) : fresh()
    this.#known.set(workspaceId, next)
    return next
  }

  #compile({ name, definition }: StoredProvider): Promise<CompiledProvider> {
    const text = toCanonicalJson(definition)
    const known = this.#compiled.get(text)
    if (known) return known
    const refuse = (): never => {
      throw new Error(`the stored file of ${name} is not valid`)
    }
    const made = compileProvider({ file: definition as CompiledProvider['file'], refuse })
    this.#compiled.set(text, made)
    return made
  }

  /** Asks, or takes the answer of the call that is under way in this process. */
  #askOnce(
    loaded: Loaded,
    kind: CompiledKind,
    of: VendorKind,
    fields: Subject,
    asking: Asking,
  ): Promise<Ended> {
    const { workspaceId } = asking
    const { name } = loaded.stored
    const identity = createHash('sha256').update(toCanonicalJson(fields)).digest('hex').slice(0, 32)
    const apiKey = this.ports.keyOf(workspaceId, name)
    const key = { workspaceId, provider: name, kind: of, identity }
    const place = [workspaceId, name, of, identity].join(' ')
    const known = this.#asking.get(place)
    if (known) return known
    const ended = this.#find(
      { loaded, kind, key, fields, asking, apiKey: apiKey ?? '' },
      apiKey === undefined,
    ).finally(() => this.#asking.delete(place))
    this.#asking.set(place, ended)
    return ended
  }

  /** Returns what the store knows of a question, or asks it. */
  async #find(question: Question, hasNoKey: boolean): Promise<Ended> {
    const { loaded, key } = question
    for (let again = 0; ; ) {
      const now = this.ports.clock.now()
      const call = await this.ports.store.read((tx) => findCall(tx, key))
      const known = call && (await this.#recorded(question, call, now))
      if (known === 'wait') {
        await this.ports.sleep(lookMs)
        continue
      }
      if (known) return known
      if (hasNoKey) return { is: 'skipped', why: 'no_key' }
      const { pausedUntil, pausedBy } = loaded.stored
      if (pausedUntil > now) return { is: 'skipped', why: pausedBy ?? 'paused' }
      const breaker = await this.#breaker(question)
      if (breaker.isOpen()) return { is: 'skipped', why: 'failing' }
      const ended = await (question.kind.file.batch ? this.#inBatch(question) : this.#alone(question))
      // Another process has it, or the vendor: the store says what comes of it.
      if (ended === 'taken' || ended === 'submitted') continue
      if (ended !== 'again') return ended
      if (++again > mostAgain) return { is: 'skipped', why: 'rate_limited' }
    }
  }

  /** Returns what a recorded call says; `wait` while another process has it, `undefined` where it may be asked. */
  async #recorded(question: Question, call: ProviderCall, now: number): Promise<Ended | 'wait' | undefined> {
    const isFresh = now - call.askedAt < question.loaded.compiled.maxAgeMs
    if (call.state === 'submitted')
      return question.apiKey === ''
        ? { is: 'skipped', why: 'no_key' }
        : this.#collect(question, [call]).then(([ended]) => ended)
    if (call.state === 'asked') {
      if (call.leaseUntil > now) return 'wait'
      await this.#write((tx) => updateCall(tx, call, 'asked', { state: 'unknown', answeredAt: now }))
      return { is: 'unknown' }
    }
    if (!isFresh || call.state === 'failed') return undefined
    if (call.state === 'unknown') return { is: 'unknown' }
    return call.state === 'found' ? { is: 'found', fields: call.answer as Fields } : { is: 'not_found' }
  }

  #write<T>(work: (tx: Connection) => Promise<T>, workspaceId?: string): Promise<T> {
    return this.ports.store.transaction(work, workspaceId)
  }

  /** Asks about one row in a request of its own. */
  async #alone(question: Question): Promise<Step> {
    const [ended = 'again'] = await this.#request([question])
    return ended
  }

  /** Gathers rows that are asked about at the same time into one request. */
  #inBatch(question: Question): Promise<Step> {
    const { key, kind, asking } = question
    const name = `${key.workspaceId} ${key.provider} ${key.kind} ${asking.run}`
    return new Promise((resolve, reject) => {
      const batch = this.#batches.get(name) ?? { rows: [], timer: undefined }
      this.#batches.set(name, batch)
      batch.rows.push({ question, resolve, reject })
      const flush = () => {
        clearTimeout(batch.timer)
        this.#batches.delete(name)
        const failed = (error: unknown) => batch.rows.forEach((row) => void row.reject(error))
        const questions = batch.rows.map((row) => row.question)
        this.#request(questions).then((steps) => {
          for (const [at, row] of batch.rows.entries()) row.resolve(steps[at] ?? 'again')
        }, failed)
      }
      if (batch.rows.length >= (kind.file.batch?.size ?? 1)) flush()
      else batch.timer ??= setTimeout(flush, gatherMs)
    })
  }

  /** Sends one request about some rows when its turn has come. */
  #request(questions: readonly Question[]): Promise<readonly Step[]> {
    const [first] = questions
    if (!first) return Promise.resolve([])
    return this.#limit(first)(async () => {
      await this.#pace(first)
      const calls = await this.#claim(questions)
      if (calls === 'taken') return questions.map((): Step => 'taken')
      if (calls === 'budget') return questions.map((): Step => ({ is: 'skipped', why: 'budget' }))
      return this.#send(questions, calls)
    })
  }

  /** Waits for the turn of a request among those of all processes. */
  async #pace({ loaded: { stored, compiled } }: Question): Promise<void> {
    const nowUs = this.ports.clock.now() * 1_000
    const { workspaceId, name } = stored
    const at = await this.#write(
      (tx) => takeSlot(tx, workspaceId, name, nowUs, compiled.intervalUs),
      workspaceId,
    )
    if (at > nowUs) await this.ports.sleep((at - nowUs) / 1_000)
  }

  /** Records questions before they are sent. Returns why not: a budget is used up, or another process has one of them. */
  async #claim(questions: readonly Question[]): Promise<ProviderCall[] | 'budget' | 'taken'> {
    const [first] = questions
    if (!first) return 'taken'
    const { workspaceId, memberId, run } = first.asking
    const { name } = first.loaded.stored
    const { file, timeoutMs } = first.loaded.compiled
    const now = this.ports.clock.now()
    const claim = async (tx: Connection) => {
      const concurrent = file.limits?.concurrent
      if (concurrent !== undefined && (await countInFlight(tx, workspaceId, name, now)) >= concurrent)
        return 'taken' as const
      const calls: ProviderCall[] = []
      for (const [at, { key, fields, kind }] of questions.entries()) {
        const last = await findCall(tx, key)
        if (last && isOpen(last, now, first.loaded)) return 'taken' as const
        const before = last?.attempt ?? 0
        calls.push({
          ...{
            ...key,
            attempt: before + 1,
            state: 'asked',
            subject: fields,
            vendorId: null,
            place: at,
            ofRows: questions.length,
          },
          ...{
            answer: null,
            error: null,
            cost: 0,
            reserved: kind.most,
            memberId,
            run,
            askedAt: now,
            answeredAt: null,
          },
          leaseUntil: now + timeoutMs + leaseMarginMs,
        })
      }
      const reserved = calls.reduce((sum, call) => sum + call.reserved, 0)
      for (const { of, limit } of budgetsOf(first, now))
        if (
          limit === 0 ||
          !(await spendBudget(tx, { workspaceId, provider: name, run: of }, reserved, limit))
        )
          throw new BudgetReached()
      for (const call of calls) await insertCall(tx, call)
      return calls
    }
    try {
      const calls = await this.#write(claim, workspaceId)
      if (calls === 'taken') await this.ports.sleep(lookMs)
      return calls
    } catch (error) {
      if (error instanceof BudgetReached) return 'budget'
      if (isStorageFault(error, 'already_there')) return 'taken'
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
    if (answer instanceof VendorFault) {
      await (await this.#breaker(first)).fail()
      return this.#settle(questions, calls, answer.isSent ? 'unknown' : 'failed', answer.message)
    }
    if (kind.file.submit && kind.isAccepted(answer)) {
      const vendorId = kind.idOf(answer)
      if (vendorId === undefined) return this.#settle(questions, calls, 'unknown', 'The answer has no id')
      // Before the first poll: from here on nobody asks again.
      await this.#write(async (tx) => {
        for (const call of calls) await updateCall(tx, call, 'asked', { state: 'submitted', vendorId })
      }, first.asking.workspaceId)
      return calls.map(() => 'submitted' as const)
    }
    return this.#judge(questions, calls, answer, kind.file.submit !== undefined)
  }

  /** Keeps what an answer says about each row. */
  async #judge(
    questions: readonly Question[],
    calls: readonly ProviderCall[],
    answer: VendorAnswer,
    isRefused = false,
  ): Promise<(Ended | 'again')[]> {
    const [first] = questions
    if (!first) return []
    const { kind, loaded } = first
    const isWhole = !kind.file.batch || isRefused || answer.status >= 400
    const whole = isWhole ? kind.outcomeOf(answer) : undefined
    if (whole && whole.is !== 'found' && whole.is !== 'not_found') {
      const { is, waitMs = 1_000 } = whole
      if (is === 'again' || is === 'rate_limited') {
        await this.#release(calls, first)
        if (is === 'rate_limited')
          await this.#write(async (tx) =>
            postpone(
              tx,
              first.key.workspaceId,
              loaded.stored.name,
              (this.ports.clock.now() + waitMs) * 1_000,
            ),
          )
        await this.ports.sleep(waitMs)
        return calls.map(() => 'again' as const)
      }
      if (is === 'out_of_credits' || is === 'invalid_key') {
        await this.#release(calls, first)
        await this.#pause(first, is)
        return calls.map((): Ended => ({ is: 'skipped', why: is }))
      }
      return this.#settle(
        questions,
        calls,
        is === 'unknown' ? 'unknown' : 'failed',
        `Status ${answer.status}`,
      )
    }
    // Work that was not accepted was not found either, whatever the outcomes say.
    if (isWhole && (!whole || isRefused)) {
      const isServer = answer.status >= 500
      if (isServer) await (await this.#breaker(first)).fail()
      return this.#settle(questions, calls, isServer ? 'unknown' : 'failed', `Status ${answer.status}`)
    }
    const results: (Ended | 'again')[] = []
    for (const [at, call] of calls.entries()) {
      const question = questions[at] as Question
      const item = kind.file.batch ? kind.itemOf(answer, call.identity, call.place, call.ofRows) : null
      const own = { ...answer, item: item ?? null }
      const outcome = item === undefined ? undefined : kind.outcomeOf(own)
      const is = outcome?.is === 'found' || outcome?.is === 'not_found' ? outcome.is : 'unknown'
      const fields =
        is === 'found'
          ? readResult(question.key.kind as VendorKind, kind.resultOf(own), question.fields)
          : undefined
      // What is said to be found and is not there is half an answer.
      if (is === 'unknown' || (is === 'found' && !fields))
        results.push(...(await this.#settle([question], [call], 'unknown', 'The answer lacks the row')))
      else results.push(await this.#keep(question, call, is, fields, kind.costOf(own, is) ?? call.reserved))
    }
    await (await this.#breaker(first)).succeed()
    return results
  }

  /** Keeps an answer with its cost. */
  async #keep(
    question: Question,
    call: ProviderCall,
    is: 'found' | 'not_found',
    fields: Fields | undefined,
    cost: number,
  ): Promise<Ended> {
    const now = this.ports.clock.now()
    const from = call.vendorId === null ? 'asked' : 'submitted'
    await this.#write(async (tx) => {
      if (await updateCall(tx, call, from, { state: is, answer: fields ?? null, cost, answeredAt: now }))
        await this.#adjust(tx, question, call, cost - call.reserved)
    }, call.workspaceId)
    return fields ? { is, fields } : { is }
  }

  /** Ends calls without an answer. */
  async #settle(
    questions: readonly Question[],
    calls: readonly ProviderCall[],
    state: 'unknown' | 'failed',
    error: string,
  ): Promise<Ended[]> {
    const now = this.ports.clock.now()
    const [first] = questions
    if (!first) return []
    await this.#write(async (tx) => {
      for (const call of calls)
        if (
          await updateCall(tx, call, call.vendorId === null ? 'asked' : 'submitted', {
            state,
            error,
            answeredAt: now,
          })
        )
          if (state === 'failed') await this.#adjust(tx, first, call, -call.reserved)
    }, first.asking.workspaceId)
    return calls.map(() => (state === 'unknown' ? { is: 'unknown' } : { is: 'skipped', why: 'failed' }))
  }

  /** Forgets calls that the vendor did not take. */
  #release(calls: readonly ProviderCall[], first: Question): Promise<void> {
    return this.#write(async (tx) => {
      for (const call of calls)
        if ((await dropCall(tx, call)) > 0) await this.#adjust(tx, first, call, -call.reserved)
    }, first.asking.workspaceId)
  }

  async #adjust(
    tx: Connection,
    { asking, loaded }: Question,
    call: ProviderCall,
    amount: number,
  ): Promise<void> {
    if (amount === 0) return
    const { workspaceId, provider } = call
    for (const { of } of budgetsOf({ asking: { ...asking, run: call.run }, loaded }, call.askedAt))
      await spendBudget(tx, { workspaceId, provider, run: of }, amount)
  }

  async #pause({ loaded: { stored } }: Question, why: string): Promise<void> {
    const { workspaceId, name } = stored
    await this.#write(
      (tx) =>
        updateProvider(tx, workspaceId, name, {
          pausedUntil: this.ports.clock.now() + pauseMs,
          pausedBy: why,
        }),
      workspaceId,
    )
    this.#known.delete(workspaceId)
  }

  /** Polls for the answer about rows that the vendor accepted, and keeps it. */
  async #collect(question: Question, calls: readonly ProviderCall[]): Promise<Ended[]> {
    const [call] = calls
    if (!call?.vendorId) return []
    const name = `${call.workspaceId} ${call.provider} ${call.kind} ${call.vendorId}`
    const polling =
      this.#polls.get(name) ?? this.#poll(question, call).finally(() => this.#polls.delete(name))
    this.#polls.set(name, polling)
    const answer = await polling
    if (answer === 'lost') return this.#settle([question], calls, 'unknown', 'The vendor lost the work')
    const ended = await this.#judge([question], calls, answer)
    return ended.map((one) => (one === 'again' ? { is: 'unknown' } : one))
  }

  async #poll(question: Question, call: ProviderCall): Promise<VendorAnswer | 'lost'> {
    const { kind } = question
    const { every = '5s', give_up = '10m' } = kind.file.poll ?? {}
    const until = call.askedAt + toMs(give_up)
    for (;;) {
      if (this.ports.clock.now() >= until) return 'lost'
      await this.ports.sleep(toMs(every))
      const answer = await this.#limit(question)(async () => {
        await this.#pace(question)
        return this.#exchange(question, kind.poll(call.vendorId ?? ''))
      })
      // Asking is free: what failed is asked again.
      if (answer instanceof VendorFault || answer.status >= 500 || answer.status === 429) continue
      if (kind.isLost(answer)) return 'lost'
      if (kind.isDone(answer)) return answer
      const outcome = answer.status >= 400 ? kind.outcomeOf(answer) : undefined
      if (outcome?.waitMs !== undefined) await this.ports.sleep(outcome.waitMs)
    }
  }

  async #exchange(
    { loaded: { stored, compiled }, apiKey }: Question,
    request: VendorRequest,
  ): Promise<VendorAnswer | VendorFault> {
    try {
      return await this.ports.http.send(
        { file: compiled.file, allow: stored.allow, key: apiKey },
        request,
        compiled.timeoutMs,
      )
    } catch (error) {
      if (error instanceof VendorFault) return error
      throw error
    }
  }

  #limit({ key, loaded }: Question): LimitFunction {
    const name = `${key.workspaceId} ${key.provider}`
    const known =
      this.#limits.get(name) ?? pLimit(loaded.compiled.file.limits?.concurrent ?? usualConcurrency)
    this.#limits.set(name, known)
    return known
  }

  #breaker({ key }: Question): Promise<Breaker> {
    const name = `${key.workspaceId} ${key.provider}`
    const known = this.#breakers.get(name) ?? createBreaker()
    this.#breakers.set(name, known)
    return known
  }
}

interface BatchRow {
  readonly question: Question
  readonly resolve: (step: Step) => void
  readonly reject: (error: unknown) => void
}

interface Batch {
  readonly rows: BatchRow[]
  timer: NodeJS.Timeout | undefined
}

class BudgetReached extends Error {}

/** Leaves a provider alone that fails again and again, and tries it once in a while. */
interface Breaker {
  isOpen(): boolean
  succeed(): Promise<void>
  fail(): Promise<void>
}

const failuresInARow = 5
const halfOpenMs = 30_000

async function createBreaker(): Promise<Breaker> {
  const { CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } = await import('cockatiel')
  const policy = circuitBreaker(handleAll, {
    halfOpenAfter: halfOpenMs,
    breaker: new ConsecutiveBreaker(failuresInARow),
  })
  let openedAt = 0
  policy.onBreak(() => {
    openedAt = performance.now()
  })
  const note = (work: () => void) =>
    policy.execute(work).then(
      () => {},
      () => {},
    )
  return {
    isOpen: () => policy.state === CircuitState.Open && performance.now() - openedAt < halfOpenMs,
    succeed: () => note(() => {}),
    fail: () =>
      note(() => {
        throw new Error('failed')
      }),
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

/** Returns what a row is known by, in one spelling. */
function subjectOf(query: Parameters<Vendors['ask']>[1]): Subject {
  const { firstName, lastName, companyName, domain, url, email, country } = query
  const names = [firstName, lastName].flatMap((name) => name?.trim() || [])
  const path = url === undefined ? undefined : parseNetworkUrl(url)?.path
  const all: Record<string, string | undefined> = {
    ...{
      first_name: firstName?.trim(),
      last_name: lastName?.trim(),
      full_name: names.length === 2 ? names.join(' ') : undefined,
    },
    ...{
      domain: domain === undefined ? undefined : (toDomain(domain) ?? domain.trim().toLowerCase()),
      company_name: companyName?.trim(),
    },
    ...{
      network_url: url?.trim(),
      network_handle: path?.split('/')[1],
      email: email?.trim().toLowerCase(),
      country,
    },
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value))
}

const toQuery = ({ first_name, last_name, company_name, domain, network_url, country }: Subject) => ({
  ...{
    firstName: first_name,
    lastName: last_name,
    companyName: company_name,
    domain,
    url: network_url,
    country,
  },
})

const email = /^[^\s@\p{C}]+@[^\s@\p{C}]+\.[^\s@\p{C}]+$/u
const statuses = ['valid', 'risky', 'invalid']

/** Returns the values of an answer as we know them; `undefined` where what was asked for is not there. */
function readResult(kind: VendorKind, result: Fields, { country }: Subject): Fields | undefined {
  const address = (value: unknown) =>
    typeof value === 'string' && value.length <= 254 && email.test(value.trim())
      ? value.trim().toLowerCase()
      : undefined
  const status = (value: unknown) => (statuses.includes(String(value)) ? value : 'risky')
  const phones = (value: unknown) =>
    [value].flat().flatMap((one) => {
      const number = typeof one === 'string' ? toE164(one, country) : undefined
      return number === undefined ? [] : [describePhone(number)]
    })
  if (kind === 'verify')
    return statuses.includes(String(result.email_status)) ? { email_status: result.email_status } : undefined
  if (kind === 'phone') {
    const phone = phones(result.phone)
    return phone.length > 0 ? { phone } : undefined
  }
  if (kind === 'email' || kind === 'personal_email') {
    const found = address(result[kind])
    return found === undefined
      ? undefined
      : { [kind]: found, [`${kind}_status`]: status(result[`${kind}_status`]) }
  }
  const { email: mail, email_status, phone, headcount, founded_year, ...texts } = result
  const counts = Object.entries({ headcount, founded_year }).flatMap(([name, value]) =>
    Number.isSafeInteger(Number(value)) && value !== undefined ? [[name, Number(value)]] : [],
  )
  const known = Object.entries(texts).flatMap(([name, value]) =>
    typeof value === 'object' ? [] : [[name, String(value).slice(0, 5_000)]],
  )
  const found = address(mail)
  const fields = {
    ...Object.fromEntries([...known, ...counts]),
    ...(found === undefined ? {} : { email: found, email_status: status(email_status) }),
    ...(phones(phone).length > 0 ? { phone: phones(phone) } : {}),
  }
  return Object.keys(fields).length > 0 ? fields : undefined
}
