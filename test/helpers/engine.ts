import { createHash, randomUUID } from 'node:crypto'
import type { Caller, CallOptions, Input } from '../../src/api/caller.js'
import type { OperationId } from '../../src/api/table.js'
import { type Admin, createAdmin } from '../../src/engine/admin.js'
import { createEngine } from '../../src/engine/engine.js'
import type { Account, Clock, CompanyQuery, Ids, Source, Store } from '../../src/engine/ports.js'
import { openStore } from '../../src/storage/open.js'

/** A clock that stands where a test puts it. */
export class TestClock implements Clock {
  #now: number

  constructor(iso = '2026-03-10T12:00:00Z') {
    this.#now = Date.parse(iso)
  }

  now(): number {
    return this.#now
  }

  set(iso: string): void {
    this.#now = Date.parse(iso)
  }

  advance(ms: number): void {
    this.#now += ms
  }
}

/** Ids that are the same in every run of a test. */
export const seededIds = (seed: string): Ids => {
  let count = 0
  const digest = () => createHash('sha512').update(`${seed}:${count++}`).digest()
  return {
    uuid: () => {
      const hex = digest().toString('hex')
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
    },
    bytes: (size) => new Uint8Array(digest().subarray(0, size)),
  }
}

export const randomIds: Ids = {
  uuid: randomUUID,
  bytes: (size) => crypto.getRandomValues(new Uint8Array(size)),
}

/** A complete account record of a domain. */
export const accountOf = (domain: string): Account => ({
  id: '6b5d2f3e-0000-4000-8000-000000000001',
  name: domain,
  cleaned_name: domain,
  domain,
  website: `https://${domain}`,
  description: null,
  industry: null,
  industry_id: null,
  company_type: null,
  employee_range: null,
  headcount: null,
  headquarters: null,
  location: null,
  city: null,
  country: 'FR',
  founded_year: null,
  revenue: null,
  revenue_currency: null,
  phone: '+33639980001',
  network_id: null,
  network_url: null,
  company_profile_picture: null,
  technologies: [],
})

/** A source that knows every company of `known.example` and its subdomains' kind, and counts how often it is asked. */
export class TestSource implements Source {
  asked = 0
  /** Called before each answer; may wait, throw or do harm. */
  before: (query: CompanyQuery) => Promise<void> | void = () => {}

  /** Holds the next question back, and only that; answers, once it waits, the function that lets it go on. */
  hold(): Promise<() => void> {
    return new Promise((waits) => {
      this.before = () => {
        this.before = () => {}
        return new Promise<void>((release) => waits(release))
      }
    })
  }

  async company(query: CompanyQuery): Promise<Account | undefined> {
    this.asked++
    await this.before(query)
    return query.domain?.startsWith('known') ? accountOf(query.domain) : undefined
  }

  technologies(query: string, limit: number) {
    const all = ['react', 'redis', 'rust'].map((slug) => ({ slug, name: slug, category: null }))
    return all.filter(({ slug }) => slug.startsWith(query)).slice(0, limit)
  }
}

/** An engine in memory with one workspace, member and key. */
export interface Bench {
  readonly caller: Caller
  readonly store: Store
  readonly admin: Admin
  readonly clock: TestClock
  readonly source: TestSource
  readonly key: string
  readonly workspaceId: string
  readonly sleeps: number[]
  call(id: OperationId, input: Input, options?: CallOptions): ReturnType<Caller['call']>
  balance(): Promise<number>
}

export async function openBench(location = ':memory:', ids: Ids = randomIds): Promise<Bench> {
  const clock = new TestClock()
  const store = await openStore(location)
  const admin = createAdmin({ store, clock, ids })
  const source = new TestSource()
  const sleeps: number[] = []
  const sleep = async (ms: number) => {
    sleeps.push(ms)
  }
  const caller = createEngine({ store, source, clock, ids, sleep })
  const { key = '', workspace } = await admin.init()
  return {
    caller,
    store,
    admin,
    clock,
    source,
    key,
    workspaceId: workspace.id,
    sleeps,
    call: (id, input, options) => caller.call(id, input, { apiKey: key, ...options }),
    balance: async () => (await store.read((reads) => reads.position(workspace.id))).credits,
  }
}
