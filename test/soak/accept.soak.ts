import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { createEngine } from '../../src/engine/request/engine.js'
import { openAcceptedWork } from '../support/accepted-work.js'
import { randomIds, TestSource } from '../support/engine.js'
import { start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { found, secondsSince } from './findings.js'
import { some } from './share.js'

const points = ['in1', 'after1', 'in2', 'after2', 'any']
const kills = some(200, 10)
const input = { webhook_url: 'https://hook.example/', stacks: ['react'] }

const program = await bundled('programs/worker-accept.ts')

it('P12: work is accepted once when its process is killed at any point and the request is repeated with the same key', async () => {
  const began = performance.now()
  const work = await openAcceptedWork()
  try {
    const keys = Array.from({ length: kills }, (_, at) => ({
      key: `key-${at}`,
      point: points[at % points.length] ?? '',
    }))
    const waiting = [...keys]
    const killer = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const running = start(program, work.file, work.key, next.key, next.point)
        if (next.point === 'any') {
          await pause(150 + Math.random() * 300)
          running.child.kill('SIGKILL')
        }
        await running.ended
      }
    }
    await Promise.all(Array.from({ length: 4 }, killer))
    const source = new TestSource()
    source.matches = 3
    const clock = { now: () => Date.now() + 30_000 }
    const engine = createEngine({ store: work.store, source, ids: randomIds, clock })
    const ids = new Set<string>()
    for (const { key } of keys) {
      const reply = await engine.call('intents.stack', input, { apiKey: work.key, idempotencyKey: key })
      expect(reply.status).toBe(202)
      ids.add((reply.body as { id: string }).id)
    }
    const jobs = await work.jobs()
    expect(new Set(jobs.map(({ id }) => id))).toEqual(ids)
    expect(jobs).toHaveLength(kills)
    expect((await work.store.read((tx) => readBalances(tx, work.workspaceId))).held).toBe(kills * 9)
    expect((await work.admin.verify()).problems).toEqual([])
    found({
      promise: 'P12',
      tried: `${kills} requests killed at ${points.length - 1} named points and at random, each sent again with its key`,
      lost: `${kills - ids.size} effects lost, ${jobs.length - ids.size} doubled`,
      measured: secondsSince(began),
    })
  } finally {
    await work.close()
  }
})
