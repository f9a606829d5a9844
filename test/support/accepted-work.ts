import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Input } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { listDeliveries } from '../../src/engine/tables/deliveries.js'
import { listJobs } from '../../src/engine/tables/jobs.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { createWorker } from '../../src/engine/worker/worker.js'
import { engineOver, randomIds, TestSource } from './engine.js'
import { makeFolder } from './new-folder.js'
import { receiveWebhooks } from './webhook-receiver.js'

const noon = Date.parse('2026-03-10T12:00:00Z')

/** Accepted work in a store that other processes do, and the receiver of what they deliver. */
export type AcceptedWork = Awaited<ReturnType<typeof openAcceptedWork>>

/**
 * Opens a store with one workspace that may do whatever it wants, in the middle of a day of the engine; in a file of its
 * own unless a database is given.
 */
export async function openAcceptedWork(location?: string) {
  const folder = makeFolder()
  const file = location ?? join(folder, 'engine.db')
  const store = await openEngineDatabase(file)
  const clock = { now: Date.now }
  const admin = createAdmin({ store, clock, ids: randomIds })
  const { key = '', workspace } = await admin.init()
  const plenty = 1_000_000_000
  const permitAll = async () => {
    await admin.setPlan('scale')
    await admin.setQuotas({ dailyProfiles: plenty, dailyCompanies: plenty, monthlyCompanies: plenty })
    await admin.setCredits(plenty)
  }
  await permitAll()
  await admin.setClock(noon, false)
  const secret = await admin.webhookSecret(false)
  const receiver = await receiveWebhooks(() => secret)
  const source = new TestSource()
  source.matches = plenty
  source.ladder = [{ name: 'test', email: () => ({ email: 'a@known.example', status: 'valid' }) }]
  const engine = engineOver(store, clock, source)
  return {
    file,
    store,
    admin,
    key,
    receiver,
    workspaceId: workspace.id,
    /** Has an operation accepted, for the first workspace unless another key is given; answers the id of its work. */
    accept: async (id: OperationId, input: Input, apiKey = key) => {
      const { status, body } = await engine.call(id, input, { apiKey })
      if (status > 299) throw new Error(`${id}: ${status} ${JSON.stringify(body)}`)
      const { id: jobId, message, enrichment_id } = body as Record<string, unknown>
      return String(jobId ?? enrichment_id ?? (message as { id: unknown }).id)
    },
    /** Makes a second workspace that may do whatever it wants; answers its id and a key. */
    addWorkspace: async () => {
      const { id } = await admin.createWorkspace('Second')
      await admin.useWorkspace('Second')
      await permitAll()
      const { email } = await admin.addMember({ email: 'second@localhost' })
      const { key: second } = await admin.createKey({ member: email })
      await admin.useWorkspace(workspace.name)
      return { id, key: second }
    },
    /** Does all of it but the deliveries. */
    finish: async () => {
      const ports = { store, source, clock, ids: randomIds, targets: () => ({ allow: [], loopback: true }) }
      await createWorker(ports).drain()
    },
    jobs: () => store.read((tx) => listJobs(tx, workspace.id, {}, { skip: 0, limit: 1_000_000 })),
    deliveries: (jobId: string) => store.read((tx) => listDeliveries(tx, workspace.id, { jobId }, 1_000_000)),
    close: async () => {
      await receiver.close()
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}
