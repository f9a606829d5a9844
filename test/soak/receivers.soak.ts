import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { answering } from '../client/listeners.js'
import { type AcceptedWork, openAcceptedWork } from '../support/accepted-work.js'
import { start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { memoryMb, percentile } from './load.js'
import { grouped, isLinux, soak, some } from './soak.js'

const [healthy, bad] = [50, 50]
const rounds = some(20, 3)
const paceMs = 15
const attemptMs = 16_000
const growthMb = 50

const worker = await bundled('programs/worker.ts')

/** Receivers of which nothing good comes. */
const habits: readonly ((response: ServerResponse) => void)[] = [
  () => {},
  (response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('.'), 1_000)
    response.on('close', () => clearInterval(timer))
  },
  (response) => {
    response.writeHead(200)
    const chunk = Buffer.alloc(64 * 1_024)
    const more = () => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on('drain', more)
    more()
  },
]

/** Starts a receiver; `attempted` is called when an attempt has ended, with its duration. */
async function receiving(
  answer: (response: ServerResponse) => void,
  arrived: () => void,
  attempted: (ms: number) => void,
) {
  const { origin, close } = await answering(async (request, response) => {
    const began = performance.now()
    response.on('close', () => attempted(performance.now() - began))
    for await (const _ of request);
    arrived()
    answer(response)
  })
  return { url: `${origin}/`, close }
}

/** Has one record found for each url, at a pace that the worker keeps up with. */
async function acceptFor(work: AcceptedWork, urls: readonly string[], accepted: (url: string) => void) {
  for (const webhook_url of urls) {
    await work.accept('intents.stack', { webhook_url, stacks: ['react'], limit: 1 })
    accepted(webhook_url)
    await pause(paceMs)
  }
}

soak(
  'P18',
  'receivers that hang, trickle or never stop hurt no other receiver',
  async () => {
    const work = await openAcceptedWork()
    const waits: number[] = []
    const attempts: number[] = []
    const accepted = new Map<string, number[]>()
    const good = await Promise.all(
      Array.from({ length: healthy }, async () => {
        const one: Awaited<ReturnType<typeof receiving>> = await receiving(
          (response) => response.writeHead(204).end(),
          () => waits.push(performance.now() - (accepted.get(one.url)?.shift() ?? Number.NaN)),
          () => {},
        )
        return one
      }),
    )
    const poor = await Promise.all(
      Array.from({ length: bad }, (_, at) =>
        receiving(
          habits[at % habits.length] ?? (() => {}),
          () => {},
          (ms) => attempts.push(ms),
        ),
      ),
    )
    const note = (url: string) => accepted.set(url, [...(accepted.get(url) ?? []), performance.now()])
    const running = start(worker, work.file, '30000', '0', '1000000')
    try {
      for (let round = 0; round < 4; round++)
        await acceptFor(
          work,
          good.map(({ url }) => url),
          note,
        )
      while (waits.length < 4 * healthy) await pause(50)
      waits.length = 0
      const before = memoryMb(running.child.pid)
      let most = before
      const watching = setInterval(() => {
        most = Math.max(most, memoryMb(running.child.pid))
      }, 100)
      const both = good.flatMap(({ url }, at) => [poor[at]?.url ?? url, url])
      const isGood = new Set(good.map(({ url }) => url))
      for (let round = 0; round < rounds; round++)
        await acceptFor(work, both, (url) => {
          if (isGood.has(url)) note(url)
        })
      while (waits.length < rounds * healthy) await pause(50)
      await pause(attemptMs + 1_000)
      clearInterval(watching)
      const [p95, longest] = [percentile(waits, 0.95), Math.max(...attempts)]
      expect(p95).toBeLessThanOrEqual(2_000)
      expect(longest).toBeLessThanOrEqual(attemptMs)
      expect(most - before).toBeLessThanOrEqual(growthMb)
      return {
        tried: `${healthy} healthy receivers and ${bad} bad ones, ${rounds} deliveries each`,
        measured:
          `healthy p95 ${(p95 / 1_000).toFixed(2)} s (at most 2); longest attempt ${(longest / 1_000).toFixed(1)} s ` +
          `of ${grouped(attempts.length)} (at most 16); memory grew by ${Math.round(most - before)} MB (at most ${growthMb})`,
      }
    } finally {
      running.child.kill('SIGKILL')
      await running.ended
      for (const one of [...good, ...poor]) await one.close()
      await work.close()
    }
  },
  isLinux,
)
