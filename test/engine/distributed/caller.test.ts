import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listKeys, revokeKey } from '../../../src/engine/tables/members.js'
import { TestSource } from '../../support/engine.js'
import { emptySchema, type TestDatabase } from '../../support/postgres.js'
import { openSpreadWork, type SpreadWork } from '../../support/spread-work.js'
import { until } from '../../support/until.js'

let schema: TestDatabase
let work: SpreadWork

beforeEach(async () => {
  schema = await emptySchema()
  work = await openSpreadWork(schema.url)
})

afterEach(async () => {
  await work.close()
  await schema.drop()
})

const domains = (rows: number) => Array.from({ length: rows }, (_, at) => `known-${at}.example`)
const tick = () => new Promise((resolve) => setTimeout(resolve, 10))
const chunks = (state: string) => schema.sql(`SELECT id FROM chunks WHERE state = '${state}'`)

describe('distributed rows', () => {
  it('are answered by several workers, each once and in order, and leave nothing behind', async () => {
    const sources = [new TestSource(), new TestSource()]
    for (const source of sources) work.work({ source })
    const command = work.command('run')
    const replies = await command.all(domains(400))
    expect(replies.map(({ body }) => (body as { domain: string }).domain)).toEqual(domains(400))
    expect(replies.every(({ credits, headers }) => credits === 1 && headers !== undefined)).toBe(true)
    expect(await work.spent()).toBe(400)
    expect(sources.reduce((sum, { asked }) => sum + asked, 0)).toBe(400)
    for (const { asked } of sources) expect(asked).toBeGreaterThan(0)
    await command.close()
    expect(await schema.sql('SELECT run FROM chunk_runs')).toEqual([])
    expect(await schema.sql('SELECT id FROM chunks')).toEqual([])
    expect((await work.admin.verify()).problems).toEqual([])
  })

  it('keep their refusals: not found, invalid key, insufficient credits', async () => {
    work.work()
    const command = work.command('run')
    expect(await command.call(0, 'nobody.example')).toMatchObject({ status: 404, credits: 0 })
    await work.admin.setCredits(0)
    expect(await command.call(1, 'known.example')).toMatchObject({ status: 402 })
    const stranger = work.command('other', { apiKey: `pk_${'x'.repeat(38)}` })
    expect(await stranger.call(0, 'known.example')).toMatchObject({ status: 401 })
    expect(await schema.sql("SELECT run FROM chunk_runs WHERE run = 'other'")).toEqual([])
  })

  it('are refused once the key is revoked, whichever worker calls them', async () => {
    work.work()
    const command = work.command('run')
    expect((await command.call(0, 'known-0.example')).status).toBe(200)
    const [own] = await work.store.read((tx) => listKeys(tx, work.workspaceId))
    await work.store.transaction(async (tx) => void (await revokeKey(tx, own?.id ?? '', Date.now())))
    expect((await command.call(1, 'known-1.example')).status).toBe(401)
    expect(await work.spent()).toBe(1)
  })

  it('get their earlier reply when they are sent again, and cost nothing', async () => {
    work.work()
    const first = work.command('run')
    const replies = await first.all(domains(3))
    await first.close()
    const again = await work.command('run').call(1, 'known-1.example', true)
    expect(again).toMatchObject({ status: 200, body: replies[1]?.body, credits: 0, replayed: 1 })
    expect(await work.spent()).toBe(3)
  })

  it('of a small run are in several chunks, so that several workers get some', async () => {
    const replies = work.command('run', { rows: 16, atOnce: 16 }).all(domains(16))
    await until(async () => (await chunks('queued')).length > 0)
    expect((await chunks('queued')).length).toBeGreaterThan(3)
    work.work()
    expect((await replies).every(({ status }) => status === 200)).toBe(true)
  })

  it('wait for a worker, and start as soon as there is one', async () => {
    const seen: number[] = []
    const command = work.command('run', { onWorkers: (workers) => seen.push(workers) })
    const reply = command.call(0, 'known.example')
    await until(() => seen.length > 0)
    expect(seen[0]).toBe(0)
    work.work()
    expect((await reply).status).toBe(200)
    const next = work.command('next', { onWorkers: (workers) => seen.push(workers) })
    await next.call(0, 'known.example')
    await until(() => seen.at(-1) === 1)
  })
})

describe('a worker that loses a chunk', () => {
  it('writes and charges nothing more for it, even when the run has ended', async () => {
    const source = new TestSource()
    const stale = work.work({ leaseMs: 300, source })
    const held = source.hold()
    const command = work.command('run')
    const reply = command.call(0, 'known.example')
    const release = await held
    // As if its process stood still: nobody renews the lease.
    await schema.sql("UPDATE chunks SET token = 'frozen', lease_until = 0")
    work.work()
    expect((await reply).credits).toBe(1)
    await command.discardReplies(Number.MAX_SAFE_INTEGER)
    await command.close()
    release()
    await stale.stop()
    expect(await work.spent()).toBe(1)
    expect((await work.admin.verify()).problems).toEqual([])
  })

  it('for good has its rows called again, and none is paid twice', async () => {
    const source = new TestSource()
    work.work({ leaseMs: 300, source })
    const replies = work.command('run', { rows: 16, atOnce: 16 }).all(domains(16))
    await until(async () => (await work.spent()) > 0)
    // The first one is killed between the charges and its answers: all it held is taken over.
    await schema.sql(
      "UPDATE chunks SET token = 'gone', lease_until = 0, replies = NULL, state = 'running' WHERE state = 'running'",
    )
    const found = await replies
    expect(found.map(({ credits, replayed }) => credits + (replayed ?? 0))).toEqual(Array(16).fill(1))
    expect(await work.spent()).toBe(16)
  })

  it('leaves the outcome of its rows unknown when they cannot be called again', async () => {
    const source = new TestSource()
    work.work({ source, mayRepeat: async () => false })
    const held = source.hold()
    const reply = work.command('run').call(0, 'known.example')
    const release = await held
    await schema.sql("UPDATE chunks SET token = 'gone', lease_until = 0")
    expect(await reply).toMatchObject({ status: 503, unknown: true, credits: 0 })
    release()
  })

  it('because it stops gives back the rows it has not started', async () => {
    const slow = new TestSource()
    const stopping = work.work({ source: slow })
    let held = 0
    slow.before = () => {
      held++
    }
    const command = work.command('run', { rows: 1_000, atOnce: 1_000 })
    const replies = command.all(domains(500))
    await until(() => held > 0)
    const stopped = stopping.stop()
    work.work()
    await stopped
    expect((await replies).every(({ status }) => status === 200)).toBe(true)
    expect(await work.spent()).toBe(500)
  })
})

describe('a command', () => {
  it('sends nothing more once another command takes its run', async () => {
    const first = work.command('run')
    const reply = first.call(0, 'known-0.example')
    await until(async () => (await chunks('queued')).length === 1)
    work.work({ source: new TestSource() })
    await reply
    const second = work.command('run')
    expect((await second.call(1, 'known-1.example')).status).toBe(200)
    await expect(first.call(2, 'known-2.example')).rejects.toMatchObject({ code: 'run.withdrawn' })
    await first.close()
    expect((await second.call(3, 'known-3.example')).status).toBe(200)
    expect(await work.spent()).toBe(3)
  })

  it('has no rows started once it is dead', async () => {
    const command = work.command('run', { leaseMs: 200 })
    void command.call(0, 'known.example').catch(() => {})
    await until(async () => (await chunks('queued')).length === 1)
    await schema.sql("UPDATE chunk_runs SET lease_until = 1, token = 'gone'")
    const source = new TestSource()
    work.work({ source })
    for (let turn = 0; turn < 50; turn++) await tick()
    expect([source.asked, await chunks('queued')]).toEqual([0, []])
  })

  it('withdraws the rows that no worker took when it stops', async () => {
    const ending = new AbortController()
    const command = work.command('run', { source: 'https://nobody.example/api/v2', signal: ending.signal })
    const waiting = command.all(domains(3))
    await until(async () => (await chunks('queued')).length > 0)
    ending.abort('SIGINT')
    expect(await waiting).toMatchObject(Array(3).fill({ status: 429, waitMs: 0 }))
    expect(await chunks('queued')).toEqual([])
  })

  it('awaits the rows that a worker took when it stops', async () => {
    const source = new TestSource()
    work.work({ source })
    const held = source.hold()
    const ending = new AbortController()
    const command = work.command('run', { signal: ending.signal })
    const begun = command.call(0, 'known.example')
    const release = await held
    ending.abort('SIGINT')
    for (let turn = 0; turn < 10; turn++) await tick()
    release()
    expect((await begun).status).toBe(200)
    expect(await work.spent()).toBe(1)
  })
})
