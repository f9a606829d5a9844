import { rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { it } from 'vitest'
import { openAcceptedWork } from '../helpers/accepted-work.js'
import { bundled, start } from '../helpers/processes.js'
it('rate', async () => {
  const worker = await bundled('programs/worker.ts')
  const work = await openAcceptedWork()
  const run = start(worker, work.file, '30000', '0', '1000000')
  while (run.lines.length === 0) await pause(10)
  let b = performance.now()
  for (let i = 0; i < 600; i++) await work.accept('intents.stack', { webhook_url: work.receiver.url.replace('hooks', `h${i % 60}`), stacks: ['react'], limit: 1 })
  console.log('accepted 600 in', performance.now() - b, work.receiver.arrivals.length)
  while (work.receiver.arrivals.length < 600) await pause(5)
  console.log('all received at', performance.now() - b)
  run.child.kill('SIGTERM'); await run.ended; await work.close(); rmSync(worker)
}, 60000)
