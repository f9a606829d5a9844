import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { perTest } from '../support/each.js'
import { newFolder } from '../support/new-folder.js'
import { ownServer } from '../support/postgres.js'
import { launchServer, prospect, start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { count, openOwner } from './load.js'
import { listCounts, soak, some } from './soak.js'

const clients = 50
/** Longer than each lease, and than what a request, a statement or a transaction may take. */
const longMs = some(60_000, 3_000)
/** Longer than a proxy waits for an answer. */
const longerMs = some(130_000, 3_000)

const program = await bundled('programs/slow-server.ts')

/** Sends one request with one key until it is answered; resolves with the statuses on the way and the answer. */
async function insist(base: string, apiKey: string, idempotencyKey: string) {
  const headers = {
    'content-type': 'application/json',
    'x-api-key': apiKey,
    'idempotency-key': idempotencyKey,
  }
  const statuses: number[] = []
  for (;;) {
    const body = JSON.stringify({ domain: 'known.example' })
    const response = await fetch(`${base}/accounts/single_enrich`, { method: 'POST', headers, body })
    const text = await response.text()
    statuses.push(response.status)
    if (response.status === 200)
      return { text, statuses, isReplay: response.headers.get('idempotent-replayed') === 'true' }
    if (![409, 429, 502, 503, 504].includes(response.status)) throw new Error(`${response.status} ${text}`)
    await pause(1_000)
  }
}

const folder = perTest(newFolder)
const kinds = [
  { name: 'one server on SQLite', nodes: 1, forMs: longMs, isProxied: false },
  { name: 'three servers on one PostgreSQL', nodes: 3, forMs: longMs, isProxied: false },
  { name: 'serve --upstream in front of a server', nodes: 1, forMs: longerMs, isProxied: true },
]

for (const { name, nodes, forMs, isProxied } of kinds)
  soak('P10', `equal requests at once have one effect, however long it takes, with ${name}`, async () => {
    const database = nodes > 1 ? await ownServer() : undefined
    const location = database?.url ?? folder.at('upstream.db')
    const { store, admin, key } = await openOwner(location)
    const before = (await admin.status()).credits.enrichment
    const servers = Array.from({ length: nodes }, () => start(program, location, String(forMs)))
    while (servers.some(({ lines }) => lines.length === 0)) await pause(20)
    let bases = servers.map(({ lines }) => lines[0] ?? '')
    let apiKey = key
    const env = { PROSPECT_HOME: folder.at('proxy'), PROSPECT_API_KEY: key }
    const proxy = isProxied
      ? await launchServer(prospect, ['serve', '--port', '0', '--upstream', bases[0] ?? ''], folder.path, env)
      : undefined
    if (proxy) {
      const own = await openOwner(folder.at('proxy/engine.db'))
      const [member] = await own.admin.members()
      apiKey = (await own.admin.createKey({ member: member?.email ?? '' })).key
      bases = [proxy.line]
      await own.store.close()
    }
    try {
      const idempotencyKey = randomUUID()
      const answers = await Promise.all(
        Array.from({ length: clients }, (_, at) =>
          insist(bases[at % bases.length] ?? '', apiKey, idempotencyKey),
        ),
      )
      const statuses = new Map<number, number>()
      for (const status of answers.flatMap((one) => one.statuses)) count(statuses, status)
      const asked = servers.flatMap(({ lines }) => lines).filter((line) => line === 'asked').length
      const paid = before - (await admin.status()).credits.enrichment
      const bodies = new Set(answers.map(({ text }) => text)).size
      const executed = answers.filter(({ isReplay }) => !isReplay).length
      expect([asked, paid, bodies]).toEqual([1, 1, 1])
      expect(executed).toBeLessThanOrEqual(1)
      expect((await admin.verify()).problems).toEqual([])
      return {
        tried: `${clients} requests with one key that takes ${forMs / 1_000} s`,
        measured: listCounts(statuses),
      }
    } finally {
      await proxy?.stop()
      await Promise.all(servers.map(({ stop }) => stop()))
      await store.close()
      await database?.stop()
    }
  })
