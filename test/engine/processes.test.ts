import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/engine/admin/admin.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { findWorkspace } from '../../src/engine/tables/members.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { openSqlite } from '../../src/storage/driver/sqlite/driver.js'
import { served } from '../client/serving.js'
import { tries } from '../support/effort.js'
import { randomIds } from '../support/engine.js'
import { start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { until } from '../support/until.js'

const program = await bundled('programs/client.ts')
let folder: string
let file: string
let store: Driver
let admin: Admin
let key: string

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'prospect-processes-'))
  file = join(folder, 'engine.db')
  store = await openEngineDatabase(file)
  admin = createAdmin({ store, clock: { now: () => Date.now() }, ids: randomIds })
  key = (await admin.init()).key ?? ''
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

/** Runs the client in several processes at once; answers what each call came to. */
async function calls(processes: number, ...args: string[]): Promise<string[]> {
  const running = Array.from({ length: processes }, () => start(program, file, key, ...args))
  expect(await Promise.all(running.map(({ ended }) => ended))).toEqual(running.map(() => 0))
  return running.flatMap(({ lines }) => lines)
}

const withStatus = (lines: readonly string[], status: number) =>
  lines.filter((line) => line.split(' ')[1] === String(status))

describe('several processes on one store', () => {
  it('P02: spend exactly the balance, and no reader sees a negative balance', async () => {
    await admin.setCredits(100)
    let lowest = 100
    const watching = setInterval(async () => {
      const { credits } = await store.read(async (tx) =>
        readBalances(tx, (await findWorkspace(tx))?.id ?? ''),
      )
      lowest = Math.min(lowest, credits)
    }, 5)
    const [processes, each] = tries([2, 60], [4, 160])
    const lines = await calls(processes, 'accounts.enrich', String(each), '16')
    clearInterval(watching)
    expect(withStatus(lines, 200)).toHaveLength(100)
    expect(withStatus(lines, 402)).toHaveLength(processes * each - 100)
    expect(lowest).toBeGreaterThanOrEqual(0)
    expect((await admin.status()).credits.enrichment).toBe(0)
    expect((await admin.verify()).ok).toBe(true)
  })

  it('P06: admit exactly the plan limit', async () => {
    const [processes, each] = tries([2, 60], [4, 125])
    const lines = await calls(processes, 'accounts.technologies', String(each), '25')
    expect(withStatus(lines, 200)).toHaveLength(100)
    expect(withStatus(lines, 429)).toHaveLength(processes * each - 100)
  })

  it('P10: execute a key once, however many send it', async () => {
    const processes = tries(2, 4)
    const lines = await calls(processes, 'accounts.enrich', '25', '5', 'key')
    expect(lines.filter((line) => line.endsWith('200 executed'))).toHaveLength(25)
    expect(withStatus(lines, 200).length + withStatus(lines, 409).length).toBe(processes * 25)
    expect((await admin.status()).credits.enrichment).toBe(975)
  })

  it('P59: spend exactly the weekly limit of a member at a server behind several governed proxies', async () => {
    const { bench, server, close } = await served()
    await admin.changeMember('me@localhost', { weeklyLimit: 60 })
    const upstream = ['-', '0', server.baseUrl, bench.key]
    const [proxies, each] = tries([3, 40], [8, 300])
    const lines = await calls(proxies, 'accounts.enrich', String(each), '6', ...upstream)
    const known = lines.filter((line) => Number(line.split(' ')[0]) % 3 !== 0)
    expect(withStatus(known, 200)).toHaveLength(60)
    expect(withStatus(known, 403)).toHaveLength(known.length - 60)
    expect(await bench.balance()).toBe(1_000 - 60)
    const again = await calls(1, 'accounts.enrich', '6', '6', ...upstream)
    expect(withStatus(again, 403)).toHaveLength(6)
    await close()
  })
})

describe('P12 and P38: a process that is killed at any moment', () => {
  it('gives every key one effect, and keeps what was acknowledged', async () => {
    const acknowledged = new Set<string>()
    const [kills, keys] = tries([2, 150], [20, 400], [200, 4_000])
    await admin.setCredits(2 * keys)
    for (let kill = 0; kill < kills; kill++) {
      // A later process lives past the leases of the killed ones, as if half a minute had gone by.
      const skew = String(kill * 30_000)
      const running = start(program, file, key, 'accounts.enrich', String(keys), '8', 'key', skew)
      await until(() => running.lines.length > 7 * kill || running.child.exitCode !== null)
      running.child.kill('SIGKILL')
      await running.ended
      for (const line of withStatus(running.lines, 200)) acknowledged.add(line.split(' ')[0] ?? '')
    }
    const lines = await calls(1, 'accounts.enrich', String(keys), '8', 'key', String(kills * 30_000))
    expect(withStatus(lines, 200)).toHaveLength(keys)
    const executed = lines.filter((line) => line.endsWith('executed')).map((line) => line.split(' ')[0] ?? '')
    expect(executed.filter((at) => acknowledged.has(at))).toEqual([])
    expect((await admin.status()).credits.enrichment).toBe(keys)
    expect((await admin.verify()).ok).toBe(true)
    const driver = openSqlite(file)
    expect(await driver.read((connection) => connection.get('PRAGMA integrity_check'))).toEqual({
      integrity_check: 'ok',
    })
    await driver.close()
  })
})
