import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/engine/admin/admin.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { findWorkspace, listWorkspaces } from '../../src/engine/tables/members.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { served } from '../client/serving.js'
import { runBank } from '../support/bank.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { randomIds } from '../support/engine.js'
import { freshSchema } from '../support/postgres.js'
import { bundledForTests, start } from '../support/processes.js'

const program = await bundledForTests('programs/client.ts')
const bank = await bundledForTests('programs/worker-bank.ts')

const minutes = 60_000
const right = tries([0, 0], [0, 0, 0, 0])

/** Whose clocks may be wrong: PostgreSQL tells the time of all nodes. */
const databases = {
  SQLite: {
    open: () => {
      const folder = mkdtempSync(join(tmpdir(), 'prospect-processes-'))
      return { url: join(folder, 'engine.db'), drop: () => rmSync(folder, { recursive: true }) }
    },
    skews: right,
    kills: tries(5, 20),
  },
  PostgreSQL: {
    open: freshSchema,
    skews: tries([-10 * minutes, 3 * minutes], [-10 * minutes, 0, 10 * minutes, 3 * minutes]),
    kills: tries(1, 8),
  },
}

const withStatus = (lines: readonly string[], status: number) =>
  lines.filter((line) => line.split(' ')[1] === String(status))

describe.each(Object.entries(databases))('several processes on one %s', (name, { open, skews, kills }) => {
  const place = perTest<{ url: string; drop(): unknown }>(open)
  const store = perTest(() => openEngineDatabase(place.url))
  let admin: Admin
  let key: string
  beforeEach(async () => {
    admin = createAdmin({ store, clock: { now: () => Date.now() }, ids: randomIds })
    key = (await admin.init()).key ?? ''
  })

  /**
   * Runs a process per clock that is wrong by so many milliseconds; answers what each call came to. With a server's address
   * and its key they are governed proxies in front of it.
   */
  async function calls(clocks: readonly number[], args: readonly string[], server: readonly string[] = []) {
    const running = clocks.map((skew) => start(program, place.url, key, ...args, String(skew), ...server))
    expect(await Promise.all(running.map(({ ended }) => ended))).toEqual(running.map(() => 0))
    return running.flatMap(({ lines }) => lines)
  }

  it('P02: spend exactly the balance, and no reader sees a negative balance', async () => {
    await admin.setCredits(100)
    let lowest = 100
    const watching = setInterval(async () => {
      const { credits } = await store.read(async (tx) =>
        readBalances(tx, (await findWorkspace(tx))?.id ?? ''),
      )
      lowest = Math.min(lowest, credits)
    }, 5)
    const lines = await calls(right, ['accounts.enrich', '100', '16', '-'])
    clearInterval(watching)
    expect(withStatus(lines, 200)).toHaveLength(100)
    expect(withStatus(lines, 402)).toHaveLength(100 * right.length - 100)
    expect(lowest).toBeGreaterThanOrEqual(0)
    expect((await admin.status()).credits.enrichment).toBe(0)
    expect((await admin.verify()).ok).toBe(true)
  })

  it('P06, P45: admit exactly the plan limit', async () => {
    const lines = await calls(skews, ['accounts.technologies', '125', '25', '-'])
    expect(withStatus(lines, 200)).toHaveLength(100)
    expect(withStatus(lines, 429)).toHaveLength(125 * skews.length - 100)
  })

  it('P10: execute a key once, however many send it', async () => {
    const lines = await calls(right, ['accounts.enrich', '25', '5', 'key'])
    expect(lines.filter((line) => line.endsWith('200 executed'))).toHaveLength(25)
    expect(withStatus(lines, 200).length + withStatus(lines, 409).length).toBe(25 * right.length)
    expect((await admin.status()).credits.enrichment).toBe(975)
  })

  it('P59: spend exactly the weekly limit of a member at a server behind 8 governed proxies', async () => {
    const { bench, server, close } = await served()
    const upstream = [server.baseUrl, bench.key]
    await admin.changeMember('me@localhost', { weeklyLimit: 60 })
    const nodes = Array.from({ length: 8 }, (_, at) => skews[at] ?? 0)
    const lines = await calls(nodes, ['accounts.enrich', String(tries(15, 300)), '6', '-'], upstream)
    const known = lines.filter((line) => Number(line.split(' ')[0]) % 3 !== 0)
    expect(withStatus(known, 200)).toHaveLength(60)
    expect(withStatus(known, 403)).toHaveLength(known.length - 60)
    expect(await bench.balance()).toBe(1_000 - 60)
    const again = await calls(right, ['accounts.enrich', '6', '6', '-'], upstream)
    expect(withStatus(again, 403)).toHaveLength(6 * right.length)
    await close()
  })

  it('P12, P38, P43: give every key one effect and keep what was acknowledged, however often they are killed', async () => {
    const acknowledged = new Set<string>()
    const keys = tries(150, 400)
    for (let kill = 0; kill < kills; kill++) {
      const running = start(program, place.url, key, 'accounts.enrich', String(keys), '8', 'key')
      const at = Math.random() * 60
      while (running.lines.length < at && running.child.exitCode === null)
        await new Promise((resolve) => setTimeout(resolve, 2))
      running.child.kill('SIGKILL')
      await running.ended
      for (const line of withStatus(running.lines, 200)) acknowledged.add(line.split(' ')[0] ?? '')
      // As if the lease of the killed one had run out.
      await store.transaction((tx) => tx.run('UPDATE replies SET lease_until = 0 WHERE status IS NULL'))
    }
    const lines = await calls([0], ['accounts.enrich', String(keys), '8', 'key'])
    expect(withStatus(lines, 200)).toHaveLength(keys)
    const executed = lines.filter((line) => line.endsWith('executed')).map((line) => line.split(' ')[0] ?? '')
    expect(executed.filter((each) => acknowledged.has(each))).toEqual([])
    expect((await admin.status()).credits.enrichment).toBe(1_000 - keys)
    expect((await admin.verify()).ok).toBe(true)
    if (name === 'SQLite')
      expect(await store.read((tx) => tx.get('PRAGMA integrity_check'))).toEqual({ integrity_check: 'ok' })
  })

  // With SQLite: test/engine/bank.test.ts.
  it.runIf(name === 'PostgreSQL')('P42: see one total at every moment, whoever moves credits', async () => {
    const own = await open()
    const [writers, readers] = [tries(2, 3), tries(1, 2)]
    const how = { ms: tries(300, 3_000), kills: tries(1, 3), writers, readers, location: own.url }
    const banked = await runBank(bank, how)
    expect(banked.transfers).toBeGreaterThan(0)
    expect(banked.looks).toBeGreaterThan(0)
    await own.drop()
  })

  it('P39: migrate the schema once when eight start at the same time', async () => {
    const fresh = await open()
    const stores = await Promise.all(Array.from({ length: 8 }, () => openEngineDatabase(fresh.url)))
    for (const one of stores) expect(await one.read((tx) => listWorkspaces(tx))).toEqual([])
    await Promise.all(stores.map((one) => one.close()))
    await fresh.drop()
  })
})
