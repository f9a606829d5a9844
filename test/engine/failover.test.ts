import { expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { randomIds } from '../support/engine.js'
import { ownServer } from '../support/postgres.js'
import { start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { until } from '../support/until.js'

// So many that the primary is certainly stopped before the last.
const keys = 300

it('a synchronous standby that takes over has all that was acknowledged, each paid once', async () => {
  const primary = await ownServer()
  onTestFinished(() => primary.stop())
  const before = await openEngineDatabase(primary.url)
  const ports = { clock: { now: () => Date.now() }, ids: randomIds }
  const first = createAdmin({ store: before, ...ports })
  const { key = '' } = await first.init()
  await first.setCredits(2 * keys)
  await before.close()
  const standby = await primary.synchronousStandby()
  onTestFinished(() => standby.stop())

  const program = await bundled('programs/client.ts')
  const calls = (url: string) => start(program, url, key, 'accounts.enrich', String(keys), '6', 'key', '0')
  const interrupted = calls(primary.url)
  const answered = () => interrupted.lines.filter((line) => line.endsWith('200 executed'))
  await until(() => answered().length > keys / 4)
  await primary.stop()
  interrupted.child.kill('SIGKILL')
  await interrupted.ended
  await standby.sql('SELECT pg_promote()')

  const store = await openEngineDatabase(standby.url)
  onTestFinished(() => store.close())
  // As if the leases of the killed one had run out.
  await store.transaction((tx) => tx.run('UPDATE replies SET lease_until = 0 WHERE status IS NULL'))
  const repeated = calls(standby.url)
  await repeated.ended
  const acknowledged = answered().map((line) => line.split(' ')[0])
  expect(acknowledged.length).toBeLessThan(keys)
  expect(repeated.lines.filter((line) => line.split(' ')[1] === '200')).toHaveLength(keys)
  const executed = repeated.lines
    .filter((line) => line.endsWith('executed'))
    .map((line) => line.split(' ')[0])
  expect(executed.filter((at) => acknowledged.includes(at))).toEqual([])
  const admin = createAdmin({ store, ...ports })
  expect((await admin.status()).credits.enrichment).toBe(keys)
  expect((await admin.verify()).ok).toBe(true)
})
