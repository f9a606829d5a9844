import { describe, expect, it } from 'vitest'
import type { Reply } from '../../src/api/calls/caller.js'
import { ApiError, type ErrorCode, errorBody } from '../../src/api/calls/errors.js'
import { RunLease } from '../../src/engine/distributed/caller.js'
import {
  type CallResult,
  type ChunkCall,
  readCalls,
  writeResults,
} from '../../src/engine/distributed/chunk.js'
import { answerChunk, claimChunk, holdsChunk } from '../../src/engine/tables/chunks.js'
import { setCounter } from '../../src/engine/tables/counters.js'
import { perTest } from '../support/each.js'
import { randomIds, TestSource } from '../support/engine.js'
import { domains, openSpreadWork } from '../support/spread-work.js'
import { until } from '../support/until.js'

const work = perTest(openSpreadWork)
const clock = { now: () => Date.now() }
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
/** The lease that a command takes on the run. */
const lease = () => {
  const { store, key: apiKey } = work
  return new RunLease({ store, clock, ids: randomIds, sleep, run: 'run', apiKey, source: '' })
}
/** A chunk of one call. */
const chunk = (id: string) => {
  const call = { ordinal: 0, fresh: true, key: 'run-0', input: { domain: 'known.example' } }
  return { id, operation: 'accounts.enrich' as const, calls: [call] }
}
const busy: Reply = { status: 429, body: {}, headers: { 'retry-after': '60' }, credits: 0 }

const told = (replies: readonly Promise<Reply>[]) =>
  Promise.allSettled(replies).then((all) =>
    all.map((one) => (one.status === 'fulfilled' ? one.value.status : (one.reason as ApiError).code)),
  )

/** Takes the one chunk there is, as a worker would; with no time, as one that is killed at once. */
async function taken(token: string, ms = 60_000): Promise<string> {
  await until(async () => (await work.chunks('queued')).length + (await work.chunks('running')).length > 0)
  const realNow = Date.now() + (work.store.aheadMs?.() ?? 0)
  const claim = { token, source: '', realNow, leaseUntil: realNow + ms }
  const chunk = await work.store.transaction((tx) => claimChunk(tx, claim), 'test')
  return chunk?.id ?? ''
}

async function answered(token: string, came: readonly CallResult[]): Promise<void> {
  const id = await taken(token)
  await work.store.transaction((tx) => answerChunk(tx, id, token, writeResults(came)), 'test')
}

async function killed(): Promise<void> {
  await taken('killed', 1)
  await sleep(5)
}

const queuedCalls = async (): Promise<readonly ChunkCall[]> => {
  await until(async () => (await work.chunks('queued')).length > 0)
  const found = await work.sql("SELECT calls FROM chunks WHERE state = 'queued' ORDER BY created_at")
  return found.flatMap(({ calls }) => readCalls(String(calls)))
}

describe('rows of a chunk that another worker may have called', () => {
  it('all have an unknown outcome when calls cannot be repeated', async () => {
    const command = work.command('run')
    const replies = command.all(domains(20))
    await killed()
    const source = new TestSource()
    const mayRepeat = async () => {
      await sleep(2_100)
      return false
    }
    work.work({ source, mayRepeat, atOnce: 4 })
    expect(await replies).toMatchObject(Array(20).fill({ status: 503, unknown: true, credits: 0 }))
    expect([source.asked, await work.spent()]).toEqual([0, 0])
  })

  it('are sent as possibly made, and not by workers that must not repeat them', async () => {
    const replies = work.command('run').all(domains(3))
    await killed()
    await answered('giving', [null, null, null])
    const calls = await queuedCalls()
    expect(calls.map(({ fresh, doubted }) => [fresh, doubted])).toEqual(Array(3).fill([false, true]))
    const source = new TestSource()
    work.work({ source, mayRepeat: async () => false })
    expect(await replies).toMatchObject(Array(3).fill({ unknown: true }))
    expect(source.asked).toBe(0)
  })

  it('stay fresh when no worker had them', async () => {
    const replies = work.command('run').all(domains(3))
    await answered('giving', [null, null, null])
    const calls = await queuedCalls()
    expect(calls.map(({ fresh, doubted }) => [fresh, doubted])).toEqual(Array(3).fill([true, undefined]))
    work.work()
    expect(await replies).toMatchObject(Array(3).fill({ status: 200, credits: 1 }))
  })

  it.each([
    ['come back', [null, null]],
    ['wait behind a refusal', [busy, null]],
    ['are refused for good', [{ ...busy, status: 401 }, null]],
  ] satisfies [string, CallResult[]][])('are open when the run ends, where they %s', async (_, came) => {
    const ending = new AbortController()
    const command = work.command('run', { signal: ending.signal })
    const replies = told(domains(2).map((domain, at) => command.call(at, domain)))
    await killed()
    await answered('giving', came)
    await until(async () => (await work.chunks('running')).length === 0)
    ending.abort('SIGINT')
    expect(await replies).toEqual(Array(2).fill('outcome_unknown'))
  })

  it.each<ErrorCode>(['insufficient_credits', 'workspace_limit_exceeded'])(
    'end the run with the refusal they meet, %s, and stay open',
    async (refusal) => {
      const error = new ApiError(refusal)
      const refused = { status: error.status, body: JSON.parse(JSON.stringify(errorBody(error))) }
      const reply = expect(work.command('run').call(0, 'known.example')).rejects.toMatchObject({
        code: 'outcome_unknown',
        details: { reply: refused },
      })
      await killed()
      await answered('giving', [{ ...busy, ...refused }])
      await reply
    },
  )

  it('are not sent again once a refusal has ended the run', async () => {
    const command = work.command('run', { rows: 2, atOnce: 2 })
    const replies = command.all(domains(2))
    const [first, second] = [await taken('first'), await taken('second')]
    const answer = (id: string, token: string, came: CallResult) =>
      work.store.transaction((tx) => answerChunk(tx, id, token, writeResults([came])), 'test')
    await answer(first, 'first', { ...busy, status: 402 })
    await until(async () => (await work.chunks('answered')).length === 0)
    await answer(second, 'second', null)
    expect(await replies).toMatchObject([{ status: 402 }, { status: 429, waitMs: 0 }])
    expect(await work.chunks('queued')).toEqual([])
  })

  it('get their refusal when no worker had them', async () => {
    const replies = work.command('run').all(domains(2))
    await answered('giving', [busy, null])
    expect(await replies).toMatchObject([busy, busy])
  })

  it('have an unknown outcome when their worker cannot reach the server', async () => {
    const reply = expect(work.command('run').call(0, 'known.example')).rejects.toMatchObject({
      unknown: true,
    })
    await killed()
    await answered('giving', [{ lost: 'refused', unknown: false }])
    await reply
  })
})

it.each([
  ['failed where it is of this engine', '', undefined],
  ['has an unknown outcome where it is of a server', 'https://there.example/api/v2', true],
])('a row whose call ends with a bug %s', async (_, source, unknown) => {
  const bug = new TypeError('a bug')
  const troubles: unknown[] = []
  const rowCaller = { source, actingFor: () => ({ call: () => Promise.reject(bug) }) }
  work.work({ rowCaller, onTrouble: (error) => troubles.push(error) })
  const reply = await work.command('run', { source }).call(0, 'known.example')
  expect([reply.status, reply.unknown, troubles]).toEqual([500, unknown, [bug]])
})

describe('a worker whose database fails', () => {
  it.each<ErrorCode>(['busy', 'storage_failed', 'database_unreachable', 'outcome_unknown'])(
    'gives the rows back: %s',
    async (code) => {
      const source = new TestSource()
      source.before = () => {
        source.before = () => {}
        throw new ApiError(code)
      }
      work.work({ source })
      const replies = await work.command('run').all(domains(5))
      expect(replies).toMatchObject(Array(5).fill({ status: 200, credits: 1 }))
      expect(await work.spent()).toBe(5)
    },
  )

  it('deletes dead workers even when no run is dead', async () => {
    await work.sql("INSERT INTO chunk_workers (id, source, seen_until) VALUES ('killed', '', 1)")
    work.work()
    await until(async () => (await work.sql('SELECT id FROM chunk_workers')).length === 0)
  })
})

describe('a command that pauses', () => {
  const leaseUntil = async () =>
    Number((await work.sql("SELECT lease_until FROM chunk_runs WHERE run = 'run'"))[0]?.lease_until ?? 0)

  it('keeps its run while nothing is in flight', async () => {
    work.work()
    const command = work.command('run', { leaseMs: 1_200 })
    await command.call(0, 'known.example')
    const last = await leaseUntil()
    await until(async () => (await leaseUntil()) > last + 1_200)
    expect((await command.call(1, 'known.example')).status).toBe(200)
  })

  it('ends with the exit code of a lock when another command takes the run', async () => {
    const first = expect(work.command('run').call(0, 'known-0.example')).rejects.toMatchObject({
      code: 'run.withdrawn',
    })
    await until(async () => (await work.chunks('queued')).length > 0)
    const second = work.command('run').call(1, 'known-1.example')
    await first
    work.work()
    expect((await second).status).toBe(200)
  })

  it('withdraws nothing that another command has', async () => {
    const [first, second] = [lease(), lease()]
    await first.begin()
    await second.begin()
    await second.put([chunk('c')], [])
    for (const all of [false, true])
      await expect(first.withdraw(all)).rejects.toMatchObject({ code: 'run.withdrawn' })
    expect(await work.chunks('queued')).toEqual([{ id: 'c' }])
    await second.end()
  })
})

describe('a command whose database refuses', () => {
  const refuse = (when: string) =>
    work.sql(`CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '55P03'; END $$;
      CREATE TRIGGER refused BEFORE ${when} ON chunks FOR EACH ROW EXECUTE FUNCTION refused()`)

  it('to delete answered chunks deletes them later', async () => {
    await refuse('DELETE')
    work.work()
    const command = work.command('run')
    expect((await command.call(0, 'known-0.example')).status).toBe(200)
    await sleep(100)
    expect(await work.chunks('answered')).toHaveLength(1)
    await work.sql('DROP TRIGGER refused ON chunks')
    expect((await command.call(1, 'known-1.example')).status).toBe(200)
    await until(async () => (await work.chunks('answered')).length === 0)
  })

  it('leaves no row waiting for an answer that cannot be read', async () => {
    const reply = expect(work.command('run').call(0, 'known.example')).rejects.toThrow(SyntaxError)
    await until(async () => (await work.chunks('queued')).length > 0)
    await work.sql("UPDATE chunks SET state = 'answered', replies = '{'")
    await reply
  })
})

describe('charges of several chunks', () => {
  it('does not deadlock with a command that takes the run', async () => {
    const first = lease()
    await first.begin()
    await first.put([chunk('a'), chunk('b')], [])
    await taken('worker')
    await taken('worker')
    let tries = 0
    let isHeld = false
    const charging = work.store.transaction(async (tx) => {
      tries++
      await holdsChunk(tx, 'b', 'worker')
      isHeld = true
      // Longer than the server waits before it looks for a circle: it would be found here.
      await sleep(1_200)
      await holdsChunk(tx, 'a', 'worker')
      await setCounter(tx, 'test', 'charged', { started_at: 0, count: 1 } as never)
    }, work.workspaceId)
    await until(() => isHeld)
    await lease().begin()
    await charging
    expect([tries, await work.sql('SELECT id FROM chunks')]).toEqual([1, []])
  })

  it('does not deadlock with the heartbeats of the worker', async () => {
    const source = new TestSource()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    source.before = () => released
    const worker = work.work({ source, leaseMs: 900 })
    const replies = work.command('run', { rows: 2, atOnce: 2 }).all(domains(2))
    await until(async () => (await work.chunks('running')).length === 2)
    const found = await work.sql('SELECT id, token FROM chunks ORDER BY created_at, id')
    const [a, b] = found.map(({ id, token }) => [String(id), String(token)] as const)
    if (!a || !b) throw new Error('two chunks are expected')
    // The signs of both are due while one of them cannot be given.
    const before = work.store.transaction(async (tx) => {
      await holdsChunk(tx, ...a)
      await sleep(700)
    }, 'before')
    await sleep(400)
    let tries = 0
    await work.store.transaction(async (tx) => {
      tries++
      await holdsChunk(tx, ...a)
      await sleep(1_200)
      await holdsChunk(tx, ...b)
    }, work.workspaceId)
    await before
    release()
    await replies
    await worker.stop()
    expect(tries).toBe(1)
  })
})
