import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { usualBody } from '../../src/api/operations/facts.js'
import { type Operation, operations } from '../../src/api/operations/table.js'
import { answering } from '../client/listeners.js'
import { requests } from '../spec/requests.js'
import { perTest } from '../support/each.js'
import { random } from '../support/killed-batch.js'
import { newFolder } from '../support/new-folder.js'
import { prospect, start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { count, filled, openOwner, send } from './load.js'
import { isLinux, listCounts, seedOf, soak, some } from './soak.js'

const members = 200
const seconds = some(300, 20)
/** Each member waits that long between two requests. */
const pauseMs = 500
const maxHeldMs = 50
const mebibyte = 1_048_576

const preload = await bundled('programs/held-loop.ts')

/** Returns the largest bodies that an operation accepts: valid fields, and what fills them up. */
function largestBodies(row: Operation, webhookUrl: string): readonly Buffer[] {
  const { bytes, values } = row.body ?? usualBody
  const fields = Object.fromEntries(
    Object.entries({ ...requests[row.id], webhook_url: webhookUrl }).filter(
      ([name]) => !row.path.includes(`{${name}}`),
    ),
  )
  const head = `${JSON.stringify(fields).slice(0, -1)},`
  const item = (text: string) => JSON.stringify({ name: text.repeat(250), domain: 'known.example' })
  const lists =
    row.id === 'lists.create'
      ? [filled('{"name":"x","companies":[', `${item('x')},`, ']}', bytes, 100_000)]
      : row.id === 'contacts.bulk_enrich'
        ? [
            filled(
              '{"enrichment_type":["email"],"contacts":[',
              `${JSON.stringify({ firstname: 'A', lastname: 'B', domain: 'known.example', custom: { x: 'x'.repeat(10_000) } })},`,
              ']}',
              bytes,
              100,
            ),
          ]
        : []
  return [
    ...lists,
    filled(`${head}"x":[`, '{},', ']}', bytes, Math.floor(values / 2) - 100),
    filled(`${head}"x":[`, '12345678901234567890,', ']}', bytes / 8, values - 100),
    filled(`${head}"x":"`, 'é', '"}', bytes / 2),
    filled(`${head}"x":[`, `"${'x'.repeat(2 * Math.floor(bytes / values))}",`, ']}', bytes, values - 100),
  ]
}

/** The largest replies that a proxy takes: what a client asked for, and what fills it up. */
const replies: readonly Buffer[] = [
  filled('{"credits_used":1,"id":"a","x":[', '{},', ']}', 31 * mebibyte, 190_000),
  filled(
    '{"credits_used":1,"jobs":[',
    '{"job_title":"Head of Sales","company":{"name":"x"}},',
    ']}',
    15 * mebibyte,
    60_000,
  ),
  filled('{"credits_used":1,"x":"', 'é', '"}', 15 * mebibyte),
  filled('{"credits_used":1,"x":[', '12345678901234567890,', ']}', 4 * mebibyte, 100_000),
  filled('{"enrichment_id":"a","contacts":[', '{"enrichment_id":"b","status":"finished"},', ']}', mebibyte),
  Buffer.from('{"credits_used":1,"id":"a"}'),
]
const delivery = filled(
  '{"event":"account_search.completed","accounts":[',
  '{"account":{"domain":"known.example"}},',
  ']}',
  8 * mebibyte,
  5_000,
)

/** Starts a server whose replies and deliveries are as large as may be, and which takes what is forwarded. */
const startUpstream = () => {
  let count = 0
  return answering(async (request, response) => {
    let hook: string | undefined
    for await (const chunk of request)
      hook ??= /"webhook_url":"(http:\/\/127\.0\.0\.1:\d+\/[^"]*hooks[^"]*)"/.exec(
        chunk.toString('latin1'),
      )?.[1]
    if (!request.url?.startsWith('/api')) return response.end('{}')
    response.end(replies[count++ % replies.length])
    if (hook === undefined || count % 5 > 0) return
    const { port, pathname: path } = new URL(hook)
    const headers = { 'content-type': 'application/json', 'content-length': delivery.length }
    void send(new Agent(), { port, path, method: 'POST', headers }, delivery, { lateMs: 600_000 })
  })
}

const folder = perTest(newFolder)

for (const [name, plan] of [
  ['serve', 'Free'],
  ['serve', 'Scale'],
  ['a proxy', 'Free'],
] as const)
  soak(
    'P46',
    `the largest bodies hold the event loop of ${name} at most 50 ms (plan ${plan})`,
    async () => {
      const seed = seedOf()
      const { store, addKeys } = await openOwner(folder.at('engine.db'), plan)
      const keys = await addKeys(members)
      const upstream = await startUpstream()
      const file = folder.at('held')
      const base = `${upstream.origin}/api/v2`
      Object.assign(process.env, {
        PROSPECT_HOME: folder.path,
        PROSPECT_API_KEY: 'key_of_the_upstream',
        PROSPECT_TEST_HELD_LOOP: file,
        PROSPECT_BASE_URL: base,
      })
      const isProxy = name === 'a proxy'
      const proxy = isProxy ? ['--upstream', base, '--public-url', 'http://127.0.0.1:4999'] : []
      const options = '--json --no-worker --allow-target 127.0.0.1'.split(' ')
      const argv = ['serve', '--port', isProxy ? '4999' : '0', ...options, ...proxy]
      const server = start('--import', preload, prospect, ...argv)
      const agent = new Agent({ keepAlive: true, maxSockets: members })
      try {
        while (server.lines.length === 0) await pause(20)
        const { base_url } = JSON.parse(server.lines[0] ?? '{}') as { base_url: string }
        const { port } = new URL(base_url)
        const bodies = operations()
          .filter(({ method }) => method === 'POST')
          .flatMap((row) => largestBodies(row, `${upstream.origin}/in`).map((body) => ({ row, body })))
        const pick = random(seed)
        const statuses = new Map<string, number>()
        const ask = ({ row, body }: (typeof bodies)[number], key = '') => {
          const path = `/api/v2${row.path.replace(/\{\w+\}/g, 'x')}`
          const headers = {
            'content-type': 'application/json',
            'x-api-key': key,
            'content-length': body.length,
          }
          return send(agent, { port, path, method: row.method, headers }, body, { lateMs: 600_000 })
        }
        // What is compiled once is compiled before.
        for (const one of bodies) await ask(one, keys[0])
        server.child.kill('SIGUSR2')
        const until = performance.now() + seconds * 1_000
        await Promise.all(
          keys.map(async (key) => {
            while (performance.now() < until) {
              count(statuses, await ask(bodies[pick(bodies.length)] as (typeof bodies)[number], key))
              await pause(pauseMs)
            }
          }),
        )
        await server.stop()
        const { heldMs, queriesMs, delayMs } = JSON.parse(readFileSync(file, 'utf8'))
        expect([statuses.get('500'), statuses.get('late')]).toEqual([undefined, undefined])
        expect(heldMs).toBeLessThanOrEqual(maxHeldMs)
        return {
          tried: `${members} members for ${seconds} s (seed ${seed}): ${listCounts(statuses)}`,
          measured: `held ${Math.round(heldMs)} ms at most (processor time without queries); queries took up to ${Math.round(queriesMs)} ms; longest delay ${Math.round(delayMs)} ms`,
        }
      } finally {
        agent.destroy()
        server.child.kill('SIGTERM')
        await server.ended
        await upstream.close()
        await store.close()
        for (const variable of ['PROSPECT_API_KEY', 'PROSPECT_BASE_URL', 'PROSPECT_TEST_HELD_LOOP'])
          delete process.env[variable]
      }
    },
    isLinux,
  )
