import { setTimeout as pause } from 'node:timers/promises'
import type { AcceptedWork } from '../support/accepted-work.js'
import { start } from '../support/processes.js'

/** Seconds until another worker goes on with a job whose own was killed over it, with the usual lease. */
export async function recoverySeconds(program: string, work: AcceptedWork): Promise<number> {
  const limit = 400
  const id = await work.accept('accounts.search', { webhook_url: work.receiver.url, keyword: 'known', limit })
  const first = start(program, work.file, '30000', '500', '1000000')
  while ((await work.admin.job(id)).done === 0) await pause(20)
  const second = start(program, work.file, '30000', '0', '1000000')
  while (second.lines.length === 0) await pause(20)
  first.child.kill('SIGKILL')
  const began = performance.now()
  await first.ended
  const { done } = await work.admin.job(id)
  while ((await work.admin.job(id)).done === done) await pause(20)
  const seconds = (performance.now() - began) / 1_000
  second.child.kill('SIGTERM')
  await second.ended
  return seconds
}
