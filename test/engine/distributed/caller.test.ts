import { afterEach, describe, expect, it, vi } from 'vitest'
import { ApiError } from '../../../src/api/calls/errors.js'
import { answerChunk, claimChunk, holdsChunk, renewChunk } from '../../../src/engine/tables/chunks.js'
import { releaseJobs } from '../../../src/engine/tables/jobs.js'
import { listKeys, revokeKey } from '../../../src/engine/tables/members.js'
import { perTest } from '../../support/each.js'
import { TestSource } from '../../support/engine.js'
import { domains, openSpreadWork } from '../../support/spread-work.js'
import { until } from '../../support/until.js'

const work = perTest(openSpreadWork)

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const tick = () => new Promise((resolve) => setTimeout(resolve, 10))

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
    expect(await work.sql('SELECT run FROM chunk_runs')).toEqual([])
    expect(await work.sql('SELECT id FROM chunks')).toEqual([])
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
    expect(await work.sql("SELECT run FROM chunk_runs WHERE run = 'other'")).toEqual([])
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
    await until(async () => (await work.chunks('queued')).length > 0)
    expect((await work.chunks('queued')).length).toBeGreaterThan(3)
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

describe('a worker', () => {
  it('announces itself from time to time, not with every row', async () => {
    vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    work.work()
    const command = work.command('run')
    await command.call(0, 'known-0.example')
    const announced = () => work.sql('SELECT id, seen_until FROM chunk_workers')
    const first = await announced()
    for (const row of [1, 2, 3]) await command.call(row, `known-${row}.example`)
    expect([first.length, await announced()]).toEqual([1, first])
  })

  it('renews no chunk that it has answered', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const worker = work.work()
    const command = work.command('run')
    await command.call(0, 'known.example')
    await command.close()
    await worker.stop()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('stops at once while it waits for rows', async () => {
    // Its next look never comes.
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const read = vi.spyOn(work.store, 'read')
    const worker = work.work()
    await until(() => {
      const looks = read.mock.settledResults
      return looks.length >= 3 && looks.every(({ type }) => type === 'fulfilled')
    })
    await expect(worker.stop()).resolves.toBeUndefined()
  })

  it('says what is wrong with a chunk that it cannot read', async () => {
    const troubles: unknown[] = []
    const command = work.command('run')
    void command.call(0, 'known.example').catch(() => {})
    await until(async () => (await work.chunks('queued')).length === 1)
    await work.sql("UPDATE chunks SET calls = 'no JSON'")
    work.work({ onTrouble: (error) => troubles.push(error) })
    await until(() => troubles.length > 0)
    expect(troubles).toEqual([expect.any(SyntaxError)])
  })
})

describe('a worker that loses a chunk', () => {
  it('makes no further calls for it', async () => {
    const transaction = vi.spyOn(work.store, 'transaction')
    const source = new TestSource()
    work.work({ leaseMs: 300, source, atOnce: 1 })
    const held = source.hold()
    const command = work.command('run')
    void command.all(Array(9).fill('nobody.example')).catch(() => {})
    const release = await held
    await work.sql('DELETE FROM chunks')
    const { calls, settledResults } = transaction.mock
    await until(() =>
      calls.some(([, scope], at) => scope?.startsWith('chunk ') && settledResults[at]?.value === false),
    )
    const others = [9, 10].map((row) => command.call(row, 'known.example'))
    release()
    await Promise.all(others)
    expect(source.asked).toBe(3)
  })

  it('writes and charges nothing more for it, even when the run has ended', async () => {
    const source = new TestSource()
    const stale = work.work({ leaseMs: 300, source })
    const held = source.hold()
    const command = work.command('run')
    const reply = command.call(0, 'known.example')
    const release = await held
    // As if its process stood still: nobody renews the lease.
    await work.sql("UPDATE chunks SET token = 'frozen', lease_until = 0")
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
    await work.sql(
      "UPDATE chunks SET token = 'gone', lease_until = 0, replies = NULL, state = 'running' WHERE state = 'running'",
    )
    const found = await replies
    expect(found.map(({ credits, replayed }) => credits + (replayed ?? 0))).toEqual(Array(16).fill(1))
    expect(await work.spent()).toBe(16)
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

describe('a chunk', () => {
  it('of a live command is in the hands of the worker that took it last, and of no other', async () => {
    void work
      .command('run')
      .call(0, 'known.example')
      .catch(() => {})
    await until(async () => (await work.chunks('queued')).length === 1)
    const take = (token: string) => {
      const now = Date.now()
      const lease = { token, source: '', realNow: now, leaseUntil: now - 1 }
      return work.store.transaction((tx) => claimChunk(tx, lease))
    }
    const command = (until: number) => work.sql(`UPDATE chunk_runs SET lease_until = ${until}`)
    await command(Date.now() - 1)
    expect(await take('early')).toBeUndefined()
    await command(Date.now() + 60_000)
    const { id = '' } = (await take('first')) ?? {}
    expect(await take('second')).toMatchObject({ id, taken: 2 })
    const tried = (token: string) =>
      work.store.transaction(async (tx) => [
        await holdsChunk(tx, id, token),
        await renewChunk(tx, id, token, Date.now() + 60_000),
        await answerChunk(tx, id, token, '[]'),
      ])
    expect(await tried('first')).toEqual([false, false, false])
    expect(await tried('second')).toEqual([true, true, true])
  })
})

describe('a command', () => {
  it('sends nothing more once another command takes its run', async () => {
    const first = work.command('run')
    const reply = first.call(0, 'known-0.example')
    await until(async () => (await work.chunks('queued')).length === 1)
    work.work({ source: new TestSource() })
    await reply
    const second = work.command('run')
    expect((await second.call(1, 'known-1.example')).status).toBe(200)
    await expect(first.call(2, 'known-2.example')).rejects.toMatchObject({ code: 'run.withdrawn' })
    await first.close()
    expect((await second.call(3, 'known-3.example')).status).toBe(200)
    expect(await work.spent()).toBe(3)
  })

  it('that was silent for long has lost its run, and pays for nothing more', async () => {
    const source = new TestSource()
    const held = new Promise<() => void>((waits) => {
      source.before = ({ domain }) => {
        if (domain !== 'known-1.example') return undefined
        source.before = () => {}
        return new Promise<void>(waits)
      }
    })
    work.work({ source })
    const replies = work.command('run', { leaseMs: 6_000 }).all(domains(2))
    const refused = expect(replies).rejects.toMatchObject({ code: 'run.withdrawn' })
    const release = await held
    await until(async () => (await work.spent()) === 1)
    await work.sql('DELETE FROM chunks')
    await work.sql('DELETE FROM chunk_runs')
    release()
    await refused
    expect(await work.spent()).toBe(1)
  })

  it('counts the workers before it has sent a row, where it watches them', async () => {
    work.work()
    const seen: number[] = []
    work.command('run', { watches: true, onWorkers: (workers) => seen.push(workers) })
    await until(() => seen.at(-1) === 1)
  })

  it('answers rows that cannot be written with that refusal, and waits for none of them', async () => {
    const command = work.command('run', { watches: true })
    await until(async () => (await work.sql('SELECT run FROM chunk_runs')).length > 0)
    const full = vi.spyOn(work.store, 'transaction').mockRejectedValue(new ApiError('storage_failed'))
    const replies = await Promise.all([command.call(0, 'a.example'), command.call(1, 'b.example')])
    expect(replies).toMatchObject([
      { status: 503, credits: 0 },
      { status: 503, credits: 0 },
    ])
    full.mockRestore()
  })

  it('leaves nothing behind when it ends while a row is about to be sent', async () => {
    let isAsleep = false
    const sleep = async () => {
      isAsleep = true
      await tick()
      isAsleep = false
    }
    const command = work.command('run', { sleep })
    void command.call(0, 'known.example').catch(() => {})
    await command.close()
    expect([isAsleep, await work.sql('SELECT run FROM chunk_runs')]).toEqual([false, []])
  })

  it('has no rows started once it is dead', async () => {
    const command = work.command('run', { leaseMs: 200 })
    void command.call(0, 'known.example').catch(() => {})
    await until(async () => (await work.chunks('queued')).length === 1)
    const lastHeard = (at: number) => work.sql(`UPDATE chunk_runs SET lease_until = ${at}, token = 'gone'`)
    await lastHeard(Date.now() - 1)
    const source = new TestSource()
    work.work({ source })
    for (let turn = 0; turn < 50; turn++) await tick()
    expect([source.asked, (await work.chunks('queued')).length]).toEqual([0, 1])
    await lastHeard(1)
    await until(async () => (await work.sql('SELECT run FROM chunk_runs')).length === 0)
    expect([source.asked, await work.chunks('queued')]).toEqual([0, []])
  })

  it('ends when a person is erased, and leaves no row that might be about them', async () => {
    const command = work.command('run', { leaseMs: 900 })
    const reply = expect(command.call(0, 'known.example')).rejects.toMatchObject({ code: 'run.withdrawn' })
    await until(async () => (await work.chunks('queued')).length === 1)
    await work.store.transaction((tx) => releaseJobs(tx))
    expect(await work.chunks('queued')).toEqual([])
    await reply
  })

  it('withdraws the rows that no worker took when it stops', async () => {
    const ending = new AbortController()
    const command = work.command('run', { source: 'https://nobody.example/api/v2', signal: ending.signal })
    const waiting = command.all(domains(3))
    await until(async () => (await work.chunks('queued')).length > 0)
    ending.abort('SIGINT')
    expect(await waiting).toMatchObject(Array(3).fill({ status: 429, waitMs: 0 }))
    expect(await work.chunks('queued')).toEqual([])
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
