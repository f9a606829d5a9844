import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { randomIds } from '../support/engine.js'
import { type OwnServer, ownServer } from '../support/postgres.js'
import { type Running, start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { found, grouped } from './findings.js'
import { some } from './share.js'

const crashes = some(20, 2)
const calls = some(6_000, 500)
const nodes = ['a', 'b', 'c'] as const

let program: string
let server: OwnServer

beforeAll(async () => {
  program = await bundled('programs/client.ts')
  server = await ownServer()
})

afterAll(async () => {
  await server.stop()
})

const withStatus = ({ lines }: Running, status: string) =>
  lines.map((line) => line.split(' ')).filter(([, found]) => found === status)

it(`P43: three nodes pay once and lose nothing while their database crashes`, async () => {
  const store = await openEngineDatabase(server.url)
  const admin = createAdmin({ store, clock: { now: Date.now }, ids: randomIds })
  const { key = '' } = await admin.init()
  await admin.setCredits(1_000_000)
  const all = () =>
    nodes.map((name) =>
      start(program, server.url, key, 'accounts.enrich', String(calls), '16', `${name}-`, '0'),
    )
  const first = all()
  let killed = 0
  for (let crash = 0; crash < crashes && first.some(({ child }) => child.exitCode === null); crash++) {
    await pause(1_000 + Math.random() * 1_000)
    await server.crash()
    killed++
  }
  expect(await Promise.all(first.map(({ ended }) => ended))).toEqual([0, 0, 0])
  const confirmed = first.map((node) => new Set(withStatus(node, '200').map(([at]) => at)))
  const unanswered = first.reduce((sum, node) => sum + withStatus(node, '503').length, 0)
  for (const node of first) expect(node.lines).toHaveLength(calls)
  // As if the leases of claims that nobody could drop had run out.
  await server.sql('UPDATE replies SET lease_until = 0 WHERE status IS NULL')
  const second = all()
  expect(await Promise.all(second.map(({ ended }) => ended))).toEqual([0, 0, 0])
  for (const [at, node] of second.entries()) {
    expect(withStatus(node, '200')).toHaveLength(calls)
    const anew = withStatus(node, '200').filter(([, , how]) => how === 'executed')
    expect(anew.filter(([call]) => confirmed[at]?.has(call))).toEqual([])
  }
  expect((await admin.status()).credits.enrichment).toBe(1_000_000 - nodes.length * calls)
  expect((await admin.verify()).problems).toEqual([])
  await store.close()
  found({
    promise: 'P43',
    tried: `${grouped(nodes.length * calls)} paid calls by 3 nodes over ${killed} crashes of their database`,
    lost: `0 confirmed calls, 0 paid twice; ${grouped(unanswered)} were told to ask again, and did`,
  })
})
