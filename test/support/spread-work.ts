import type { Reply } from '../../src/api/calls/caller.js'
import { type Admin, createAdmin } from '../../src/engine/admin/admin.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { createDistributedCaller, type DistributedCallerPorts } from '../../src/engine/distributed/caller.js'
import { createEngine } from '../../src/engine/request/engine.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { createWorker, type Worker } from '../../src/engine/worker/worker.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { randomIds, TestSource } from './engine.js'

const clock = { now: () => Date.now() }
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** An engine whose rows are spread, all in this process, each worker with a source of its own. */
export interface SpreadWork {
  readonly store: Driver
  readonly admin: Admin
  readonly key: string
  readonly workspaceId: string
  /** Starts a worker. */
  work(options?: {
    readonly leaseMs?: number
    readonly source?: TestSource
    /** Whether a call may be made again under its key. */
    readonly mayRepeat?: () => Promise<boolean>
    /** Calls under way at once. */
    readonly atOnce?: number
    readonly onTrouble?: (error: unknown) => void
  }): Worker
  /** A command that spreads a run. */
  command(run: string, options?: Partial<DistributedCallerPorts>): Command
  spent(): Promise<number>
  close(): Promise<void>
}

export interface Command {
  /** `again` where the row may have been sent before. */
  call(ordinal: number, domain: string, again?: boolean): Promise<Reply>
  /** Calls one row after the other, all at once. */
  all(domains: readonly string[], from?: number): Promise<Reply[]>
  discardReplies(before: number): Promise<void>
  close(): Promise<void>
}

export async function openSpreadWork(location: string): Promise<SpreadWork> {
  const store = await openEngineDatabase(location)
  const admin = createAdmin({ store, clock, ids: randomIds })
  const { key = '', workspace } = await admin.init()
  await admin.setCredits(1_000_000)
  const ports = { store, clock, ids: randomIds }
  const ends: (() => Promise<void>)[] = []
  const workOn: SpreadWork['work'] = (options = {}) => {
    const {
      leaseMs,
      source = new TestSource(),
      mayRepeat = async () => true,
      atOnce = 100,
      onTrouble,
    } = options
    const engine = createEngine({ ...ports, source })
    const rowCaller = {
      source: '',
      chunksAtOnce: 2,
      atOnce,
      mayRepeat,
      actingFor: engine.actingFor,
    }
    const targets = () => ({ allow: [], loopback: true })
    const lease = leaseMs === undefined ? {} : { leaseMs }
    const worker = createWorker({
      ...ports,
      source,
      targets,
      rowCaller,
      ...lease,
      ...(onTrouble ? { onTrouble } : {}),
    })
    worker.start()
    ends.push(() => worker.stop(0))
    return worker
  }
  const commandOf: SpreadWork['command'] = (run, options = {}) => {
    const caller = createDistributedCaller({
      ...ports,
      sleep,
      run,
      apiKey: key,
      source: '',
      rows: 1_000,
      atOnce: 1_000,
      operation: 'accounts.enrich',
      caller: createEngine({ ...ports, source: new TestSource() }),
      ...options,
    })
    const call: Command['call'] = (ordinal, domain, again = false) => {
      const row = { run, ordinal, fresh: !again }
      return caller.call(
        'accounts.enrich',
        { domain },
        { apiKey: key, row, idempotencyKey: `${run}-${ordinal}` },
      )
    }
    ends.push(() => caller.close())
    return {
      call,
      all: (domains, from = 0) => Promise.all(domains.map((domain, at) => call(from + at, domain))),
      discardReplies: async (before) => caller.discardReplies?.(run, before, { apiKey: key }),
      close: () => caller.close(),
    }
  }
  return {
    store,
    admin,
    key,
    workspaceId: workspace.id,
    work: workOn,
    command: commandOf,
    spent: async () => (await store.read((tx) => readBalances(tx, workspace.id))).spent,
    close: async () => {
      for (const end of ends.reverse()) await end()
      await store.close()
    },
  }
}
