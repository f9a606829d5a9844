import { createAdmin } from '../../src/engine/admin/admin.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
import type { RowCaller } from '../../src/engine/credits/settlement.js'
import { createDistributedCaller, type DistributedCallerPorts } from '../../src/engine/distributed/caller.js'
import type { WorkerPorts } from '../../src/engine/jobs/progress.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { createWorker } from '../../src/engine/worker/worker.js'
import { engineOver, randomIds, TestSource } from './engine.js'
import { emptySchema } from './postgres.js'

const clock = { now: () => Date.now() }
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Domains that a source of these tests knows. */
export const domains = (rows: number) => Array.from({ length: rows }, (_, at) => `known-${at}.example`)

/** An engine whose rows are spread, all in this process, each worker with a source of its own. */
export async function openSpreadWork() {
  const schema = await emptySchema()
  const store = await openEngineDatabase(schema.url)
  const admin = createAdmin({ store, clock, ids: randomIds })
  const { key = '', workspace } = await admin.init()
  await admin.setCredits(1_000_000)
  const ports = { store, clock, ids: randomIds }
  const ends: (() => Promise<void>)[] = []
  /** Starts a worker, with so many calls under way at once. `mayRepeat` says whether one may be made again under its key. */
  const workOn = ({
    source = new TestSource(),
    mayRepeat = async () => true,
    atOnce = 100,
    rowCaller: own,
    ...more
  }: Pick<WorkerPorts, 'leaseMs' | 'onTrouble'> & {
    readonly source?: TestSource
    readonly mayRepeat?: () => Promise<boolean>
    readonly atOnce?: number
    readonly rowCaller?: Partial<RowCaller>
  } = {}) => {
    const { actingFor } = engineOver(store, clock, source)
    const rowCaller = { source: '', chunksAtOnce: 2, atOnce, mayRepeat, actingFor, ...own }
    const targets = () => ({ allow: [], loopback: true })
    const worker = createWorker({ ...ports, source, targets, rowCaller, ...more })
    worker.start()
    ends.push(() => worker.stop(0))
    return worker
  }
  /** A command that spreads a run. */
  const commandOf = (run: string, options: Partial<DistributedCallerPorts> = {}) => {
    const caller = createDistributedCaller({
      ...ports,
      sleep,
      run,
      apiKey: key,
      source: '',
      rows: 1_000,
      atOnce: 1_000,
      operation: 'accounts.enrich',
      caller: engineOver(store, clock),
      ...options,
    })
    /** `again` where the row may have been sent before. */
    const call = (ordinal: number, domain: string, again = false) => {
      const row = { run, ordinal, fresh: !again }
      const options = { apiKey: key, row, idempotencyKey: `${run}-${ordinal}` }
      return caller.call('accounts.enrich', { domain }, options)
    }
    ends.push(() => caller.close())
    return {
      call,
      /** Calls one row after the other, all at once. */
      all: (asked: readonly string[]) => Promise.all(asked.map((domain, at) => call(at, domain))),
      discardReplies: async (before: number) => caller.discardReplies?.(run, before, { apiKey: key }),
      close: () => caller.close(),
    }
  }
  return {
    store,
    admin,
    key,
    workspaceId: workspace.id,
    sql: schema.sql,
    chunks: (state: string) => schema.sql(`SELECT id FROM chunks WHERE state = '${state}'`),
    work: workOn,
    command: commandOf,
    spent: async () => (await store.read((tx) => readBalances(tx, workspace.id))).spent,
    close: async () => {
      for (const end of ends.reverse()) await end()
      await store.close()
      await schema.drop()
    },
  }
}
