import { createHash } from 'node:crypto'
import pLimit, { type LimitFunction } from 'p-limit'
import { fails } from '../api/calls/retry.js'
import type { VendorKind } from '../api/operations/facts.js'
import type { Asking, Clock, VendorReply, Vendors } from '../api/ports/ports.js'
import { toMs } from '../api/values/duration.js'
import { toCanonicalJson } from '../api/values/json.js'
import { type Fields, getOrMake, once } from '../api/values/objects.js'
import { Lost } from '../client/reading.js'
import { createResolver } from '../client/resolver.js'
import {
  type CallKey,
  countInFlight,
  dropDelivery,
  findCall,
  findDelivery,
  insertCall,
  isHeld,
  leaseEnd,
  listOrders,
  listProviders,
  newCall,
  type ProviderCall,
  postpone,
  type StoredProvider,
  spendBudget,
  takeSlot,
  updateCall,
  updateProvider,
} from '../engine/tables/providers.js'
import { AskedAbout, questionOf } from '../identity/asked-about.js'
import { type Connection, type Driver, isStorageFault } from '../storage/driver/connection.js'
import { lackingText } from './asked.js'
import { budgetsOf, type Ending, endCall, leftFor } from './budgets.js'
import {
  type CompiledKind,
  type CompiledProvider,
  compileStored,
  pageKind,
  type VendorAnswer,
  type VendorRequest,
} from './compile.js'
import type { Subject } from './definition.js'
import { type CheckMail, createMailCheck } from './deliverability.js'
import { createVendorHttp, type VendorHttp } from './http.js'
import { type CompiledOrder, compileOrders, orderFor } from './order.js'
import { isUnderWay, pollWork, waitOf, workErrors } from './poll.js'
import { identityOf, readResult, subjectOf } from './subject.js'
import { addressFor, addressNow } from './webhook.js'

interface VendorPorts {
  readonly store: Driver
  /** Real time. */
  readonly clock: Clock
  readonly http: VendorHttp
  readonly keyOf: (workspaceId: string, name: string) => string | undefined
  readonly checkMail: CheckMail
  readonly sleep: (ms: number) => Promise<void>
  readonly random: (bytes: number) => Uint8Array
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
  /** How many were answered. */
  answered: number
  /** Since when it has only refused for its rate. */
  refusedSince: number | undefined
  /** The runs that go on without it, because it only refused for too long. */
  readonly passedOver: Set<string>
  readonly askedAbout: AskedAbout
}

/** What a provider is asked about a row, for one of its kinds. */
interface Asked {
  readonly kind: CompiledKind
  readonly key: CallKey
  readonly fields: Subject
}

interface Question extends Asked {
  readonly loaded: Loaded
  readonly asking: Asking
  /** What the row is known by, sent or not. */
  readonly about: Subject
  /** The other kinds that the same request serves. */
  readonly served: readonly Asked[]
}

/** Questions that are recorded, and where the vendor is to send the answer to, if anywhere. */
interface Claimed {
  readonly calls: readonly ProviderCall[]
  readonly answersTo?: string
}

type Ended = Omit<VendorReply, 'name'>

/** How far a request brought a question: the vendor put it off or accepted it, another process has it, or it ended. */
type Step = Ended | 'again' | 'limited' | 'submitted' | 'taken'

const knownMs = 1_000
/** How soon a call of another process is looked at, and how often at most. */
const [lookMs, maxLookMs] = [100, 1_000]
/** Most repetitions of a request that the vendor put off. */
const maxRepeats = 30
/** How long a provider without credits, or with an invalid key, is left alone; and the longest wait for one. */
const pauseMs = 3_600_000
/** How much longer than its answer may take a call is believed to be under way. */
const leaseMarginMs = 5_000
/** How long a batch waits for more rows. */
const gatherMs = 30
/** As many as there are connections: the rates decide. */
const defaultConcurrency = 64

/** What opening vendors needs. `servers` are name servers; by default those of the system. */
export type OpenPorts = Omit<VendorPorts, 'http' | 'checkMail'> & {
  readonly servers: readonly string[] | undefined
}

/**
 * Opens what asks the data vendors of workspaces. Each question is recorded before it is sent, and never asked twice
 * (decision 21).
 */
export function openVendors({
  servers,
  ...ports
}: OpenPorts): Vendors & { page: VendorDesk['page']; close(): Promise<void> } {
  const http = createVendorHttp(ports.clock, createResolver({ servers }))
  const desk = new VendorDesk({ ...ports, http, checkMail: createMailCheck(servers) })
  return {
    has: (...which) => desk.has(...which),
    columns: (...which) => desk.columns(...which),
    ask: (...question) => desk.ask(...question),
    page: (...page) => desk.page(...page),
    close: http.close,
  }
}

class VendorDesk implements Vendors {
  readonly #known = new Map<string, Promise<Known>>()
  readonly #compiled = new Map<string, Promise<CompiledProvider>>()
  readonly #atWork = new Map<string, AtWork>()
  readonly #asking = new Map<string, Promise<Ended>>()
  readonly #batches = new Map<string, Batch>()
  readonly #polls = new Map<string, Promise<VendorAnswer | Lost | undefined>>()

  /** Answers that vendors sent, and were not polled for. */
  readonly #arrived = new WeakSet<VendorAnswer>()

  constructor(private readonly ports: VendorPorts) {}

  async has(workspaceId: string, kinds?: readonly VendorKind[]): Promise<boolean> {
    const { providers } = await this.#load(workspaceId)
    if (!kinds) return providers.size > 0
    return [...providers.values()].some(({ compiled }) => kinds.some((kind) => compiled.kinds[kind]))
  }

  async columns(workspaceId: string, kinds: readonly VendorKind[]): Promise<readonly string[]> {
    const { providers } = await this.#load(workspaceId)
    // What is found is verified.
    const asked: readonly VendorKind[] = kinds.includes('email') ? [...kinds, 'verify'] : kinds
    const fields = [...providers.values()].flatMap(({ compiled }) =>
      asked.flatMap((kind) => compiled.kinds[kind]?.columns ?? []),
    )
    return [...new Set(fields.map((field) => field.slice('input.'.length)))]
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
    const lacking: VendorReply[] = []
    for (const name of await orderFor(orders, kind, names, once(valuesOf))) {
      const loaded = providers.get(name)
      const compiled = loaded?.compiled.kinds[kind]
      const fields = compiled?.fieldsOf(subject)
      if (loaded && compiled && !fields)
        lacking.push({ name, is: 'skipped', why: lackingText(compiled, subject) })
      if (!loaded || !compiled || !fields) continue
      const ask = (of: VendorKind, by: CompiledKind, sent: Subject): Asked => ({
        kind: by,
        key: { workspaceId: asking.workspaceId, provider: name, kind: of, identity: identityOf(sent) },
        fields: sent,
      })
      const served = servedBy(loaded.compiled, kind, subject).map((one) =>
        ask(one.name, one.kind, one.fields),
      )
      questions.push({ loaded, asking, about: subject, served, ...ask(kind, compiled, fields) })
    }
    for (const question of await this.#recordedFirst(questions)) {
      const reply = { name: question.key.provider, ...(await this.#askOnce(question)) }
      yield reply.is === 'found' ? await this.#checked(kind, query, reply, asking) : reply
    }
    // Said of those only whom nobody else finds.
    yield* lacking
  }

  /** Returns a page of a vendor's search, which is recorded, and paid for once. */
  async page(name: string, words: Fields, asking: Asking): Promise<Omit<VendorReply, 'name'>> {
    const loaded = (await this.#load(asking.workspaceId)).providers.get(name)
    const kind = loaded?.compiled.search?.kind
    if (!loaded || !kind) return { is: 'skipped', why: 'disabled' }
    const identity = createHash('sha256').update(toCanonicalJson(words)).digest('hex').slice(0, 32)
    const key = { workspaceId: asking.workspaceId, provider: name, kind: pageKind, identity }
    return this.#askOnce({ loaded, asking, about: {}, served: [], kind, key, fields: words as Subject })
  }

  /** Puts those first that were asked before: their answers cost nothing more, or have been paid for. */
  async #recordedFirst(questions: readonly Question[]): Promise<readonly Question[]> {
    if (questions.length < 2) return questions
    const now = this.ports.clock.now()
    return this.ports.store.read(async (tx) => {
      const first: Question[] = []
      for (const question of questions) {
        const call = await findCall(tx, question.key)
        if (call && isOpen(call, now, question)) first.push(question)
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
    const work = this.#workOf(question)
    for (let [again, answered] = [0, work.answered]; ; ) {
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
      if (step !== 'again' && step !== 'limited' && step !== undefined)
        // One that was wanted again, and could not be asked, may have charged all the same.
        return step.is === 'skipped' && call?.state === 'unknown' && !isOld(call, now, question)
          ? { is: 'unknown' }
          : step
      // Others had their turn meanwhile, so that this one comes, too.
      if (step === 'limited' && work.answered > answered) [again, answered] = [0, work.answered]
      if (++again > maxRepeats) return { is: 'skipped', why: 'rate_limited' }
    }
  }

  /** Returns what a recorded call says; `wait` while another process has it, `undefined` where it may be asked. */
  async #recorded(question: Question, call: ProviderCall, now: number): Promise<Ended | 'wait' | undefined> {
    const { apiKey } = question.loaded
    const isAccepted = call.vendorId !== null
    if (call.state === 'submitted') {
      if (apiKey === undefined && !(await this.#hasArrived(call))) return { is: 'skipped', why: 'no_key' }
      return this.#collect(question, call)
    }
    if (call.state === 'asked') {
      // Whoever sent it may be gone, or has not read yet that it was accepted.
      if (await this.#hasArrived(call)) return this.#collect(question, call)
      if (await this.ports.store.read((tx) => isHeld(tx, call))) return 'wait'
      const isOver = await this.#write((tx) => updateCall(tx, call, { state: 'unknown', answeredAt: now }))
      return isOver ? { is: 'unknown' } : 'wait'
    }
    if (isOld(call, now, question)) return undefined
    // What the vendor accepted is not submitted again: it may have charged for it.
    if (call.state === 'failed') return isAccepted ? { is: 'skipped', why: 'failed' } : undefined
    if (call.state === 'unknown') {
      // Asking for accepted work is free: the vendor may have done it since.
      const canCollect = (isAccepted && apiKey !== undefined) || (await this.#hasArrived(call))
      const ended: Ended = canCollect ? await this.#collect(question, call) : { is: 'unknown' }
      const last = await this.ports.store.read((tx) => findCall(tx, question.key))
      return last && isWantedAgain(last, question) ? undefined : ended
    }
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
      if (this.#isPassedOver(first))
        return questions.map((): Step => ({ is: 'skipped', why: 'rate_limited' }))
      const claimed = asked.length > 0 ? await this.#claim(asked) : 'taken'
      if (claimed === 'taken') {
        await this.ports.sleep(lookMs)
        return questions.map(() => 'taken')
      }
      const { calls } = claimed
      const open = this.#workOf(first).open
      for (const call of calls) open.add(placeOf(call))
      const steps = await this.#send(asked, claimed).catch((error: unknown) => {
        for (const call of calls) open.delete(placeOf(call))
        throw error
      })
      return questions.map((_, at) => steps[at] ?? 'taken')
    })
  }

  #isPassedOver(question: Question): boolean {
    return this.#workOf(question).passedOver.has(question.asking.run)
  }

  /** Returns whether a vendor that refuses until a moment has only refused for longer than its file lets it. */
  #isOutOfPatience(question: Question, until: number): boolean {
    const work = this.#workOf(question)
    work.refusedSince ??= this.ports.clock.now()
    if (until - work.refusedSince <= question.loaded.compiled.patienceMs) return false
    work.passedOver.add(question.asking.run)
    return true
  }

  async #whyNot(question: Question): Promise<string | undefined> {
    const { workspaceId, provider } = question.key
    if (this.#isPassedOver(question)) return 'rate_limited'
    // It may have been paused since the question was put.
    const { stored, apiKey } = (await this.#load(workspaceId)).providers.get(provider) ?? question.loaded
    if (apiKey === undefined) return 'no_key'
    if (stored.pausedUntil > this.ports.clock.now()) return stored.pausedBy ?? 'paused'
    if ((await this.#workOf(question).breaker).isOpen()) return 'failing'
    const { webhook, poll } = question.kind.file
    if (webhook && !poll && (await this.ports.store.read(addressNow)) === undefined) return 'no_webhook'
    // What is held for answers that are under way may come back.
    const isShort = this.#workOf(question).open.size === 0 && (await this.#leftFor(question)) < 1
    return isShort ? 'budget' : undefined
  }

  /** Returns about how many rows may be asked now. */
  async #room(question: Question): Promise<number> {
    const { loaded, key } = question
    const { concurrent } = loaded.compiled.file.limits ?? {}
    if (concurrent === undefined) return this.#leftFor(question)
    const others = await this.ports.store.read((tx) => countInFlight(tx, key.workspaceId, key.provider))
    return others < concurrent ? this.#leftFor(question) : 0
  }

  /** Returns for how many rows the budgets suffice now. */
  #leftFor(question: Question): Promise<number> {
    const now = this.ports.clock.now()
    return this.ports.store.read((tx) => leftFor(tx, question.asking, question.loaded, mostOf(question), now))
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
  async #claim(questions: readonly Question[]): Promise<Claimed | 'taken'> {
    const [first] = questions
    if (!first) return 'taken'
    const { workspaceId, memberId, run } = first.asking
    const { name } = first.loaded.stored
    const { timeoutMs } = first.loaded.compiled
    const { webhook, poll } = first.kind.file
    const now = this.ports.clock.now()
    const claim = async (tx: Connection) => {
      const leaseUntil = await leaseEnd(tx, timeoutMs + leaseMarginMs)
      const address = webhook && (await addressNow(tx))
      // Its answer could arrive nowhere.
      if (webhook && !poll && address === undefined) throw new Taken()
      const token = address && Buffer.from(this.ports.random(16)).toString('base64url')
      const calls: ProviderCall[] = []
      const served = new Map<string, ProviderCall>()
      for (const [place, question] of questions.entries()) {
        const { key, fields } = question
        const last = await findCall(tx, key)
        if (last && isOpen(last, now, question)) throw new Taken()
        const call = newCall({
          ...key,
          attempt: (last?.attempt ?? 0) + 1,
          subject: fields,
          place,
          ofRows: questions.length,
          webhook: token ?? null,
          reserved: mostOf(question),
          memberId,
          run,
          askedAt: now,
          leaseUntil,
        })
        calls.push(call)
        for (const { key: of, fields: subject } of question.served) {
          const known = await findCall(tx, of)
          if (known && isOpen(known, now, question)) continue
          const own = { attempt: (known?.attempt ?? 0) + 1, subject, sentAs: key.kind, reserved: 0 }
          served.set(placeOf(of), { ...call, ...of, ...own })
        }
      }
      const reserved = calls.reduce((sum, call) => sum + call.reserved, 0)
      for (const { of, limit } of budgetsOf(first.asking, first.loaded, now))
        if (!(await spendBudget(tx, { workspaceId, provider: name, run: of }, reserved, limit)))
          throw new Taken()
      for (const call of [...calls, ...served.values()]) await insertCall(tx, call)
      return { calls, ...(address && token ? { answersTo: addressFor(address, token) } : {}) }
    }
    try {
      return await this.#write(claim, workspaceId)
    } catch (error) {
      if (error instanceof Taken || isStorageFault(error, 'already_there')) return 'taken'
      throw error
    }
  }

  /** Sends the request about some rows, and keeps what came of each before it is returned. */
  async #send(questions: readonly Question[], { calls, answersTo }: Claimed): Promise<readonly Step[]> {
    const [first] = questions
    if (!first) return []
    const { kind } = first
    const request = kind.request(
      questions.map(({ fields, key }) => ({ ...fields, row: key.identity })),
      answersTo,
    )
    // Whoever stood still since the claim may have lost the questions to others, who may send them.
    const mayGo = (ms: number) =>
      this.ports.store.read(async (tx) => {
        for (const call of calls) if (!(await isHeld(tx, call, Math.ceil(ms)))) return false
        return true
      })
    const answer = await this.#exchange(questions, request, mayGo)
    if (answer instanceof Lost && answer.code === 'withdrawn') {
      await this.#end(questions, calls)
      return calls.map(() => 'taken')
    }
    if (answer instanceof Lost)
      return this.#settle(questions, calls, answer.sent ? 'unknown' : 'failed', answer.message)
    return kind.file.submit
      ? this.#submitted(questions, calls, answer)
      : this.#judge(questions, calls, answer)
  }

  /** Keeps that the vendor accepted the work; some answer with the result itself. */
  async #submitted(
    questions: readonly Question[],
    calls: readonly ProviderCall[],
    answer: VendorAnswer,
  ): Promise<readonly Step[]> {
    const [first] = questions
    if (!first) return []
    const { kind } = first
    const isAccepted = kind.isAccepted(answer)
    const vendorId = isAccepted ? kind.idOf(answer) : undefined
    const isResult = calls.every((call, at) =>
      isResultOf(questions[at] ?? first, call, answer, vendorId !== undefined),
    )
    if (isResult) return this.#keep(questions, calls, answer)
    if (vendorId === undefined)
      return isAccepted
        ? this.#settle(questions, calls, 'unknown', 'The answer has no id')
        : this.#judge(questions, calls, answer)
    // Before the first poll: from here on nobody asks again.
    await this.#write(async (tx) => {
      for (const [at, call] of calls.entries())
        for (const { call: one } of await groupOf(tx, questions[at] ?? first, call))
          await updateCall(tx, one, { state: 'submitted', vendorId })
    }, first.asking.workspaceId)
    return calls.map(() => 'submitted')
  }

  /** Keeps what the answer to a request says about each row; work that was not accepted was not found either. */
  async #judge(
    questions: readonly Question[],
    calls: readonly ProviderCall[],
    answer: VendorAnswer,
  ): Promise<readonly Step[]> {
    const [first] = questions
    if (!first) return []
    const { kind, key } = first
    const { batch, submit } = kind.file
    if (batch && !submit && answer.status < 400) return this.#keep(questions, calls, answer)
    const outcome = kind.outcomeOf(answer, batch ? {} : first.fields)
    const is = outcome?.is
    if (is === 'again' || is === 'rate_limited') {
      await this.#end(questions, calls)
      const waitMs = waitOf(answer, is, outcome?.waitMs, this.ports.clock.now())
      const until = this.ports.clock.now() + waitMs
      if (waitMs > pauseMs) return this.#pause(key, calls, 'rate_limited', until)
      if (is === 'rate_limited' && this.#isOutOfPatience(first, until))
        return calls.map((): Step => ({ is: 'skipped', why: 'rate_limited' }))
      const { workspaceId, provider } = key
      if (is === 'rate_limited')
        await this.#write((tx) => postpone(tx, workspaceId, provider, until * 1_000), workspaceId)
      await this.ports.sleep(waitMs)
      return calls.map(() => (is === 'again' ? 'again' : 'limited'))
    }
    if (is === 'out_of_credits' || is === 'invalid_key') {
      await this.#end(questions, calls)
      return this.#pause(key, calls, is)
    }
    if (!batch && !submit && (is === 'found' || is === 'not_found'))
      return this.#keep(questions, calls, answer)
    // A success that nothing explains may have been paid for.
    const isUnexplained = answer.status >= 200 && answer.status < 300
    const isLost = is === 'unknown' || (is !== 'failed' && (fails(answer) || isUnexplained))
    return this.#settle(questions, calls, isLost ? 'unknown' : 'failed', `Status ${answer.status}`)
  }

  /** Lets a provider alone for a while. */
  async #pause(
    { workspaceId, provider }: CallKey,
    calls: readonly ProviderCall[],
    why: string,
    until = this.ports.clock.now() + pauseMs,
  ): Promise<Ended[]> {
    const pause = { pausedUntil: until, pausedBy: why }
    await this.#write((tx) => updateProvider(tx, workspaceId, provider, pause), workspaceId)
    this.#known.delete(workspaceId)
    return calls.map(() => ({ is: 'skipped', why }))
  }

  /** Keeps what the result says about each row, and about those of the other kinds that the request served. */
  async #keep(
    questions: readonly Question[],
    calls: readonly ProviderCall[],
    answer: VendorAnswer,
  ): Promise<Ended[]> {
    await this.#end(questions, calls, (asked, call, row) => endingOf(asked, call, answer, row))
    return calls.map((call, at) => {
      const question = questions[at] as Question
      const { state, answer: fields } = endingOf(question, call, answer, rowOf(question, call))
      if (state === 'found') return { is: 'found', fields: fields as Fields }
      if (state === 'not_found' || state === 'unknown') return { is: state }
      return { is: 'skipped', why: 'failed' }
    })
  }

  async #settle(
    questions: readonly Question[],
    calls: readonly ProviderCall[],
    state: 'unknown' | 'failed',
    error: string,
  ): Promise<Ended[]> {
    await this.#end(questions, calls, () => ({ state, error, cost: 0 }))
    return calls.map(() => (state === 'unknown' ? { is: 'unknown' } : { is: 'skipped', why: 'failed' }))
  }

  /**
   * Keeps how calls ended, with those of other kinds that a request served; those that the vendor did not take are forgotten.
   * What was held is corrected, except for unknown ones.
   */
  async #end(
    questions: readonly Question[],
    calls: readonly ProviderCall[],
    endingFor?: (asked: Asked, call: ProviderCall, row: string) => Ending,
  ): Promise<void> {
    const answeredAt = this.ports.clock.now()
    const [first] = questions
    if (!first) return
    await this.#write(async (tx) => {
      for (const [at, call] of calls.entries()) {
        const question = questions[at] ?? first
        const group = await groupOf(tx, question, call)
        const row = rowOf(question, call)
        const endings = oneCost(group.map((one) => endingFor?.(one.asked, one.call, row)))
        for (const [n, { call: one }] of group.entries()) {
          const { loaded, asking } = question
          const budgets = budgetsOf({ ...asking, run: one.run }, loaded, one.askedAt)
          await endCall(tx, one, budgets, endings[n], answeredAt)
        }
        if (call.webhook !== null) await dropDelivery(tx, call.webhook)
      }
    }, first.asking.workspaceId)
    const work = this.#workOf(first)
    for (const call of calls) work.open.delete(placeOf(call))
    if (!endingFor) return
    work.answered += calls.length
    work.refusedSince = undefined
  }

  /**
   * Waits for the answer about a row that the vendor accepted, which is polled or sent to this machine, and keeps it. The work is
   * never submitted again.
   */
  async #collect(question: Question, call: ProviderCall): Promise<Ended> {
    const { kind, key } = question
    const name = `${call.workspaceId} ${call.provider} ${call.webhook ?? call.vendorId}`
    const canPoll = kind.file.poll !== undefined && call.vendorId !== null
    const ask = () => this.#exchange([question], kind.poll(call.vendorId ?? ''))
    const send = () => this.#workOf(question).limit(() => this.#pace(question).then(ask))
    const quietUntil = call.webhook === null || !canPoll ? 0 : call.askedAt + quietMs(kind)
    const next = async (waitMs: number) => {
      const ms = waitMs === 0 ? 0 : Math.max(waitMs, quietUntil - this.ports.clock.now())
      return (await this.#arrival(call, ms)) ?? (canPoll ? send() : undefined)
    }
    // The rows of one request wait for the same answer.
    const poll = (waitMs: number) =>
      getOrMake(this.#polls, name, () => next(waitMs).finally(() => this.#polls.delete(name)))
    try {
      const row = rowOf(question, call)
      const read = (answer: VendorAnswer) => readAnswer(question, call, answer, row).outcome
      const hasArrived = (answer: VendorAnswer) => this.#arrived.has(answer)
      const { is, answer } = await pollWork(this.ports, kind, call.askedAt, poll, read, hasArrived)
      if (answer) return (await this.#keep([question], [call], answer))[0] as Ended
      if (is === 'out_of_credits' || is === 'invalid_key') await this.#pause(key, [call], is)
      // The next one who asks polls again.
      return (await this.#settle([question], [call], 'unknown', workErrors[is]))[0] as Ended
    } finally {
      this.#workOf(question).open.delete(placeOf(call))
    }
  }

  #hasArrived({ webhook }: ProviderCall): Promise<boolean> {
    return this.ports.store.read(async (tx) => webhook !== null && (await findDelivery(tx, webhook)) !== null)
  }

  /** Waits for so long, but for no longer than until the answer to accepted work has arrived, and returns that. */
  async #arrival({ webhook }: ProviderCall, ms: number): Promise<VendorAnswer | undefined> {
    if (webhook === null) {
      await this.ports.sleep(ms)
      return undefined
    }
    const until = this.ports.clock.now() + ms
    for (let waitMs = lookMs; ; waitMs = Math.min(2 * waitMs, maxLookMs)) {
      const arrived = await this.ports.store.read((tx) => findDelivery(tx, webhook))
      if (arrived !== null) {
        this.#arrived.add(arrived as VendorAnswer)
        return arrived as VendorAnswer
      }
      const left = until - this.ports.clock.now()
      if (left <= 0) return undefined
      await this.ports.sleep(Math.min(waitMs, left))
    }
  }

  /** Sends a request about some rows. An answer that is about others whom the vendor was asked about is lost. */
  async #exchange(
    questions: readonly Question[],
    request: VendorRequest,
    mayGo?: Parameters<VendorHttp['send']>[3],
  ): Promise<VendorAnswer | Lost> {
    const [question] = questions
    if (!question) throw new Error('a request is about a row')
    const { stored, compiled, apiKey = '' } = question.loaded
    const { askedAbout, breaker } = this.#workOf(question)
    const target = { file: compiled.file, allow: stored.allow, key: apiKey }
    const asked = askedAbout.begin(questionOf(questions.map(({ about }) => about)))
    const sent = this.ports.http.send(target, request, compiled.timeoutMs, mayGo)
    const received = await sent.catch(asLost).finally(() => askedAbout.end(asked))
    const isPage = question.key.kind === pageKind
    // A page may have anybody.
    const isStray = !isPage && !(received instanceof Lost) && askedAbout.isOfAnother(asked, received.body)
    const answer = isStray ? new Lost('It answered another question', true, 'stray') : received
    const isWithdrawn = answer instanceof Lost && answer.code === 'withdrawn'
    if (!isWithdrawn) await (await breaker).note(answer instanceof Lost || fails(answer))
    return answer
  }

  #workOf({ key, loaded }: Question): AtWork {
    return getOrMake(this.#atWork, `${key.workspaceId} ${key.provider}`, () => ({
      limit: pLimit(loaded.compiled.file.limits?.concurrent ?? defaultConcurrency),
      breaker: createBreaker(),
      open: new Set<string>(),
      answered: 0,
      refusedSince: undefined,
      passedOver: new Set<string>(),
      askedAbout: new AskedAbout(this.ports.clock),
    }))
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

/** Returns the other kinds of a provider that the same request about a row serves. */
function servedBy({ kinds, sharing }: CompiledProvider, name: VendorKind, subject: Subject) {
  const sentFor = (kind: CompiledKind, fields: Subject) =>
    toCanonicalJson(kind.request([{ ...fields, row: '' }]))
  const own = kinds[name]
  const fields = own?.fieldsOf(subject)
  if (!own || !fields) return []
  return (sharing[name] ?? []).flatMap((other) => {
    const kind = kinds[other]
    const sent = kind?.fieldsOf(subject)
    return kind && sent && sentFor(kind, sent) === sentFor(own, fields)
      ? [{ name: other, kind, fields: sent }]
      : []
  })
}

/** Returns the most that a request about a row costs, whichever of the kinds that it serves is paid for. */
const mostOf = ({ kind, served }: Question): number =>
  Math.max(kind.most, ...served.map((one) => one.kind.most))

/** Returns the {row} that a request about a row was sent with. */
const rowOf = ({ served }: Question, { identity, sentAs }: ProviderCall): string =>
  served.find(({ key }) => key.kind === sentAs)?.key.identity ?? identity

/** Returns a call with those of other kinds that its request served and that have not ended. */
async function groupOf(tx: Connection, question: Question, call: ProviderCall) {
  const group: { readonly asked: Asked; readonly call: ProviderCall }[] = [{ asked: question, call }]
  const sender = call.sentAs ?? call.kind
  for (const asked of question.served) {
    const other = await findCall(tx, asked.key)
    const isOfRequest =
      other &&
      other.askedAt === call.askedAt &&
      other.run === call.run &&
      (other.sentAs ?? other.kind) === sender
    if (isOfRequest && isUnsettled(other)) group.push({ asked, call: other })
  }
  return group
}

const isUnsettled = ({ state }: ProviderCall): boolean =>
  state === 'asked' || state === 'submitted' || state === 'unknown'

/** Leaves the greatest of the costs of one request: it is paid once, whatever it serves. */
function oneCost(endings: readonly (Ending | undefined)[]): readonly (Ending | undefined)[] {
  const costs = endings.map((ending) => ending?.cost ?? 0)
  const at = costs.indexOf(Math.max(...costs))
  return endings.map((ending, n) => ending && (n === at ? ending : { ...ending, cost: 0 }))
}

/** What of a call its answer is read with. */
type SentCall = Pick<ProviderCall, 'identity' | 'place' | 'ofRows' | 'reserved'>
type AskedKind = Pick<Asked, 'kind' | 'fields'> & { readonly key: Pick<CallKey, 'kind'> }

/** Returns what an answer says about a row: the first outcome that fits, and the values of what is found. */
export function readAnswer(
  { kind, key, fields: subject }: AskedKind,
  { place, ofRows, identity }: SentCall,
  answer: VendorAnswer,
  row = identity,
) {
  const isItem = kind.file.batch !== undefined && answer.status < 400
  const item = isItem ? kind.itemOf(answer, row, place, ofRows) : null
  const own = { ...answer, item: item ?? null }
  const said = item === undefined ? undefined : kind.outcomeOf(own, subject)
  // A refusal of several rows says of none of them that it was not found.
  const isOfAll = kind.file.batch !== undefined && !isItem
  const outcome = isOfAll && (said?.is === 'found' || said?.is === 'not_found') ? undefined : said
  const found =
    outcome?.is === 'found'
      ? key.kind === pageKind
        ? readPage(kind.resultOf(own, subject))
        : readResult(key.kind as VendorKind, kind.resultOf(own, subject), subject)
      : undefined
  return { own, outcome, found }
}

/** A page without items says that there are no more. */
const readPage = (page: Fields): Fields | 'nothing' =>
  Array.isArray(page.items) && page.items.length > 0 ? page : 'nothing'

/** Returns how an answer ends a call. What is said to be found and is not there is half an answer. */
export function endingOf(
  asked: AskedKind,
  call: SentCall,
  answer: VendorAnswer,
  row = call.identity,
): Ending {
  const { kind } = asked
  const { own, outcome, found } = readAnswer(asked, call, answer, row)
  const is = found === 'nothing' ? 'not_found' : outcome?.is
  if (is === 'not_found' || (is === 'found' && typeof found === 'object')) {
    const fields = typeof found === 'object' ? found : null
    return { state: is, answer: fields, cost: kind.costOf(own, is) ?? call.reserved }
  }
  if (is === 'failed')
    return { state: 'failed', error: 'The vendor says so', cost: kind.costOf(own, is) ?? 0 }
  return { state: 'unknown', error: 'The answer lacks the row', cost: 0 }
}

/** Whether the answer to a submit is the result about a row, and not only that it was accepted. */
export function isResultOf(asked: AskedKind, call: SentCall, answer: VendorAnswer, hasId: boolean): boolean {
  if (answer.status >= 400) return false
  const isDone = asked.kind.isDone(answer)
  const { state } = endingOf(asked, call, answer)
  // While work is under way, it may look as if nothing was found.
  return state === 'found' ? isDone || !hasId : state === 'not_found' && isDone && !hasId
}

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

/** How long the answer to accepted work may be on its way before it is polled, too. */
const quietMs = ({ file: { webhook, poll } }: CompiledKind): number =>
  Math.min(toMs(webhook?.wait ?? '30s'), toMs(poll?.give_up ?? '10m'))

/** Whether a recorded call answers the question, or will. */
const isOpen = (call: ProviderCall, now: number, question: Question): boolean =>
  call.state === 'submitted' ||
  call.state === 'asked' ||
  ((call.state !== 'failed' || call.vendorId !== null) &&
    !isOld(call, now, question) &&
    !isWantedAgain(call, question))

/** Whether an answer is too old to be used. */
const isOld = ({ askedAt }: ProviderCall, now: number, { loaded }: Question): boolean =>
  now - askedAt >= loaded.compiled.maxAgeMs

/**
 * Whether a lost answer is asked for once more, under a new call: what the first one may have charged stays counted. Work that the
 * vendor may still end is only polled.
 */
const isWantedAgain = (
  { state, vendorId, error, askedAt }: ProviderCall,
  { asking: { lostBefore = 0 } }: Question,
): boolean => state === 'unknown' && askedAt < lostBefore && (vendorId === null || !isUnderWay(error))
