import { expect, it } from 'vitest'
import { readBalances } from '../../../src/engine/credits/ledger.js'
import { countDeliveries } from '../../../src/engine/tables/deliveries.js'
import { countRecords } from '../../../src/engine/tables/jobs.js'
import { openEngineDatabase } from '../../../src/engine/tables/schema.js'
import { workerOf } from '../../engine/fake-sender.js'
import { openBench } from '../../support/engine.js'
import { freshSchema } from '../../support/postgres.js'
import { idOf } from './targets.js'

it('DELETE /searches/{id} of jobs that another process runs and delivers leaves no hold and no record', async () => {
  const schema = await freshSchema()
  const bench = await openBench(schema.url)
  bench.source.matches = 250
  await bench.admin.setCredits(20_000)
  const input = { webhook_url: 'https://hooks.example/in', stacks: ['react'], streaming: true }
  const ids: string[] = []
  for (let count = 0; count < 8; count++) ids.push(idOf(await bench.call('intents.stack', input)))
  const other = await openEngineDatabase(schema.url)
  const { worker } = workerOf(bench, { store: other })
  const statuses: Promise<number>[] = []
  let asked = 0
  const remove = (id = '') =>
    statuses.push(bench.call('searches.delete', { id }).then(({ status }) => status))
  bench.source.before = () => void remove(ids[asked++ % ids.length])
  await worker.drain()
  bench.source.before = () => {}
  for (const id of ids) remove(id)
  const all = await Promise.all(statuses)
  expect(all.filter((status) => status === 200)).toHaveLength(ids.length)
  expect(new Set(all)).toEqual(new Set([200, 404]))
  const { held, credits, spent } = await bench.store.read((tx) => readBalances(tx, bench.workspaceId))
  expect([held, credits + spent]).toEqual([0, 20_000])
  expect(await bench.admin.verify()).toMatchObject({ ok: true, problems: [] })
  const none = { pending: 0, delivered: 0, failed: 0 }
  expect(await bench.store.read((tx) => countDeliveries(tx, bench.workspaceId))).toEqual(none)
  for (const id of ids) expect(await bench.store.read((tx) => countRecords(tx, id))).toBe(0)
  await worker.stop()
  await other.close()
  await bench.caller.close()
  await schema.drop()
})
