import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { countUnfinishedJobs, findJob, insertJob } from '../../src/engine/tables/jobs.js'
import { openAcceptedWork } from '../support/accepted-work.js'
import { ownServer } from '../support/postgres.js'
import { start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { percentile } from './load.js'
import { grouped, soak, some } from './soak.js'

/** How long the source takes for each of its answers; a step has 100 records. */
const answerMs = 50
const rounds = 10
/** A turn of the jobs that are running, and what a busy machine adds. */
const giveUpMs = 5_000
const search = { keyword: 'known', live: false }

const program = await bundled('programs/worker.ts')

const kinds = ['SQLite', 'PostgreSQL'].flatMap((name) => [
  { name, queued: some(5_000, 100), records: 1 },
  { name, queued: some(50, 10), records: 10_000 },
])

for (const { name, queued, records } of kinds)
  soak('P47', `a job on ${name} waits for no queue of another workspace`, async () => {
    const database = name === 'SQLite' ? undefined : await ownServer()
    const work = await openAcceptedWork(database?.url)
    const second = await work.addWorkspace()
    const jobOf = (workspaceId: string, jobId: string) =>
      work.store.read((tx) => findJob(tx, workspaceId, jobId))
    // All but the first job of a workspace are copies: the limits of requests are not what is tried.
    const copies = async (workspaceId: string, key: string, limit: number) => {
      const input = { ...search, webhook_url: work.receiver.url, limit }
      const first = await jobOf(workspaceId, await work.accept('leads.advanced_search', input, key))
      if (!first) throw new Error('there is no job')
      return async () => {
        const copy = { ...first, id: randomUUID(), createdAt: first.createdAt + 1 }
        await work.store.transaction((tx) => insertJob(tx, copy))
        return copy.id
      }
    }
    const addOne = await copies(second.id, second.key, 1)
    const addOther = await copies(work.workspaceId, work.key, records)
    for (let at = 1; at < queued; at++) await addOther()
    const worker = start(program, work.file, '30000', String(answerMs), '1000000')
    const waits: number[] = []
    try {
      for (let round = 0; round < rounds; round++) {
        await pause(500)
        const began = performance.now()
        const job = await addOne()
        while ((await jobOf(second.id, job))?.state !== 'finished') {
          if (performance.now() - began > giveUpMs) throw new Error(`${giveUpMs} ms, and still waiting`)
          await pause(10)
        }
        waits.push(Math.round(performance.now() - began))
      }
      const { queued: left, running } = await work.store.read((tx) =>
        countUnfinishedJobs(tx, work.workspaceId),
      )
      expect(left).toBeGreaterThan(0)
      return {
        tried: `${rounds} jobs behind ${grouped(queued)} jobs of ${grouped(records)} records; ${grouped(left + running)} of these were still there afterwards`,
        measured: `they took ${Math.min(...waits)} to ${Math.max(...waits)} ms, median ${percentile(waits, 0.5)} ms`,
      }
    } finally {
      worker.child.kill('SIGTERM')
      await worker.ended
      await work.close()
      await database?.stop()
    }
  })
