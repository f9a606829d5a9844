import { expect, it } from 'vitest'
import type { Caller } from '../../src/api/calls/caller.js'
import type { OperationId } from '../../src/api/operations/table.js'
import { paced } from '../../src/client/paced.js'
import { execute } from '../../src/runs/execute.js'
import { sharedWindows } from '../client/windows.js'
import { companyBatch, memorySink, newJournal, reply } from './fakes.js'
import { testFolder } from './folder.js'

const folder = testFolder()

/** Time that passes when everybody waits for it. */
function virtualTime() {
  let now = 1_000_000
  let sleeping: { readonly at: number; readonly wake: () => void }[] = []
  let over = false
  const pass = async () => {
    while (!over) {
      // Whatever does not wait for time goes first.
      for (let turns = 0; turns < 40; turns++) await new Promise((resolve) => setImmediate(resolve))
      const [next] = sleeping.toSorted((one, other) => one.at - other.at)
      if (!next) continue
      sleeping = sleeping.filter((one) => one !== next)
      now = Math.max(now, next.at)
      next.wake()
    }
  }
  const sleep = (ms: number) =>
    new Promise<void>((wake) => {
      sleeping.push({ at: now + ms, wake })
    })
  return {
    now: () => now,
    sleep,
    during: async <T>(work: Promise<T>): Promise<T> => {
      const passing = pass()
      const done = await work
      over = true
      await passing
      return done
    },
  }
}

/** A server with one window, so many milliseconds away; it counts as the specification says. */
function limitedServer(
  time: ReturnType<typeof virtualTime>,
  limit: number,
  windowMs: number,
  awayMs: number,
) {
  let opened = Number.NEGATIVE_INFINITY
  let count = 0
  const seen = { answered: 0, refused: 0 }
  const caller: Caller = {
    call: async () => {
      await time.sleep(awayMs)
      if (time.now() >= opened + windowMs) {
        opened = time.now()
        count = 0
      }
      const isFull = count >= limit
      if (!isFull) count++
      seen[isFull ? 'refused' : 'answered']++
      const reset = String(Math.ceil((opened + windowMs - time.now()) / 1_000))
      const limits = { 'ratelimit-limit': String(limit), 'ratelimit-remaining': String(limit - count) }
      const headers = { ...limits, 'ratelimit-reset': reset, ...(isFull ? { 'retry-after': reset } : {}) }
      await time.sleep(awayMs)
      return reply(isFull ? 429 : 200, isFull ? { error: 'Rate limit exceeded' } : { jobs: [] }, 0, headers)
    },
    close: async () => {},
  }
  return { caller, seen }
}

it.each<[string, OperationId, number, number, number, number, number]>([
  ['5 a second, one process', 'accounts.hiring', 1, 300, 5, 1_000, 59],
  ['5 a second, three processes', 'accounts.hiring', 3, 100, 5, 1_000, 59],
  ['100 a minute, two processes', 'personas.list', 2, 125, 100, 60_000, 120],
])(
  '%s: no 429, and hardly more than the least time',
  async (_, operation, processes, rows, limit, windowMs, ideal) => {
    const time = virtualTime()
    const server = limitedServer(time, limit, windowMs, 6)
    const file = await folder.file(
      `domain\n${Array.from({ length: rows }, (_, at) => `d${at}.example`).join('\n')}\n`,
    )
    const windows = sharedWindows()
    const began = time.now()
    const one = async () => {
      const options = { windows, origin: 'https://api.example', clock: time, plan: 'growth' }
      const caller = paced(options)(server.caller)
      const batch = await companyBatch(file, caller, memorySink(), {
        operation,
        time,
        journal: await newJournal(),
      })
      return execute(batch)
    }
    const reports = await time.during(Promise.all(Array.from({ length: processes }, one)))
    expect(reports.map(({ found }) => found)).toEqual(Array(processes).fill(rows))
    expect(server.seen).toEqual({ answered: processes * rows, refused: 0 })
    expect((time.now() - began) / 1_000 / ideal).toBeLessThan(1.05)
  },
)
