import { it } from 'vitest'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBench } from '../helpers/engine.js'
import { workerOf } from './fake-sender.js'
it('rate', async () => {
  const bench = await openBench(join(mkdtempSync(join(tmpdir(), 'zz-')), 'e.db'))
  await bench.admin.setPlan('scale'); await bench.admin.setCredits(1e9)
  bench.source.matches = 1000
  let b = performance.now()
  for (let i = 0; i < 600; i++) await bench.call('intents.stack', { webhook_url: `https://h${i % 60}.example/`, stacks: ['react'], limit: 1 })
  console.log('accepted', performance.now() - b)
  const { worker, sender } = workerOf(bench)
  b = performance.now()
  const d = await worker.drain()
  console.log(d, performance.now() - b, sender.attempts.length, process.cpuUsage())
}, 60000)
