import { beforeAll, describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { readBalances } from '../../src/engine/credits/ledger.js'
import { findWorkspace, listWorkspaces } from '../../src/engine/tables/members.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { served } from '../client/serving.js'
import { places } from '../support/databases.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { randomIds } from '../support/engine.js'
import { start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { until } from '../support/until.js'

const minutes = 60_000

/** Processes in a file are on one machine, and have one clock; those on a server may be wrong by minutes. */
const clocksOf: Readonly<Record<string, readonly number[]>> = {
  SQLite: [0, 0, 0, 0],
  PostgreSQL: [-10 * minutes, 3 * minutes, 0, 10 * minutes],
}

let program: string
beforeAll(async () => {
  program = await bundled('programs/client.ts')
})

const withStatus = (lines: readonly string[], status: number) =>
  lines.filter((line) => line.split(' ')[1] === String(status))

describe.each(places)('several processes on one store, in %s', (database, open) => {
  const clocks = clocksOf[database] ?? []
  const at = perTest(async () => {
    const place = await open()
    const store = await openEngineDatabase(place.location)
    const admin = createAdmin({ store, clock: { now: () => Date.now() }, ids: randomIds })
    const { key = '' } = await admin.init()
    const close = async () => {
      await store.close()
      await place.drop()
    }
    return { location: place.location, store, admin, key, close }
  })

  const right = tries([0, 0], [0, 0, 0, 0])

  /**
   * Runs the client in a process for each clock that is wrong by so many milliseconds; answers what each call came to.
   * With a server's address and its key the processes are governed proxies in front of it.
   */
  async function calls(
    skews: readonly number[],
    args: readonly string[],
    server: readonly string[] = [],
  ): Promise<string[]> {
    const running = skews.map((skew) => start(program, at.location, at.key, ...args, String(skew), ...server))
    expect(await Promise.all(running.map(({ ended }) => ended))).toEqual(running.map(() => 0))
    return running.flatMap(({ lines }) => lines)
  }

  it('P02: spend exactly the balance, and no reader sees a negative balance', async () => {
    const credits = tries(40, 100)
    await at.admin.setCredits(credits)
    let lowest = credits
    const watching = setInterval(async () => {
      const id = (await at.store.read((tx) => findWorkspace(tx)))?.id ?? ''
      lowest = Math.min(lowest, (await at.store.read((tx) => readBalances(tx, id))).credits)
    }, 5)
    const lines = await calls(right, ['accounts.enrich', String(credits), '16', '-'])
    clearInterval(watching)
    expect(withStatus(lines, 200)).toHaveLength(credits)
    expect(withStatus(lines, 402)).toHaveLength(credits * right.length - credits)
    expect(lowest).toBeGreaterThanOrEqual(0)
    expect((await at.admin.status()).credits.enrichment).toBe(0)
    expect((await at.admin.verify()).ok).toBe(true)
  })

  it('P06: admit exactly the plan limit, however wrong their clocks are', async () => {
    const skews = clocks.slice(0, tries(2, 4))
    const lines = await calls(skews, ['accounts.technologies', '60', '12', '-'])
    expect(withStatus(lines, 200)).toHaveLength(100)
    expect(withStatus(lines, 429)).toHaveLength(60 * skews.length - 100)
  })

  it('P10: execute a key once, however many send it', async () => {
    const lines = await calls(right, ['accounts.enrich', '25', '5', 'key'])
    expect(lines.filter((line) => line.endsWith('200 executed'))).toHaveLength(25)
    expect(withStatus(lines, 200).length + withStatus(lines, 409).length).toBe(25 * right.length)
    expect((await at.admin.status()).credits.enrichment).toBe(975)
  })

  it('P59: spend exactly the weekly limit of a member at a server behind several governed proxies', async () => {
    const { bench, server, close } = await served()
    const upstream = [server.baseUrl, bench.key]
    await at.admin.changeMember('me@localhost', { weeklyLimit: 60 })
    const proxies = [...clocks.slice(0, 3), ...tries<readonly number[]>([], clocks)]
    const lines = await calls(proxies, ['accounts.enrich', String(tries(40, 300)), '6', '-'], upstream)
    // The last of them may have been refused while a credit was held for a company that was not found.
    lines.push(...(await calls([0], ['accounts.enrich', '12', '1', '-'], upstream)))
    const known = lines.filter((line) => Number(line.split(' ')[0]) % 3 !== 0)
    expect(withStatus(known, 200)).toHaveLength(60)
    expect(withStatus(known, 403)).toHaveLength(known.length - 60)
    expect(await bench.balance()).toBe(1_000 - 60)
    await close()
  })

  it('P09, P38, P43: give every key one effect, and keep what was acknowledged, however often they are killed', async () => {
    const acknowledged = new Set<string>()
    const [kills, keys] = tries([2, 100], [8, 300])
    await at.admin.setCredits(2 * keys)
    for (let kill = 0; kill < kills; kill++) {
      const running = start(program, at.location, at.key, 'accounts.enrich', String(keys), '8', 'key')
      await until(() => running.lines.length > 7 * kill || running.child.exitCode !== null)
      running.child.kill('SIGKILL')
      await running.ended
      for (const line of withStatus(running.lines, 200)) acknowledged.add(line.split(' ')[0] ?? '')
      // As if the leases of the killed ones had run out.
      await at.store.transaction((tx) => tx.run('UPDATE replies SET lease_until = 0 WHERE status IS NULL'))
    }
    const lines = await calls([0], ['accounts.enrich', String(keys), '8', 'key'])
    expect(withStatus(lines, 200)).toHaveLength(keys)
    const executed = lines.filter((line) => line.endsWith('executed')).map((line) => line.split(' ')[0] ?? '')
    expect(executed.filter((at) => acknowledged.has(at))).toEqual([])
    expect((await at.admin.status()).credits.enrichment).toBe(keys)
    expect((await at.admin.verify()).ok).toBe(true)
    if (database === 'SQLite')
      expect(await at.store.read((tx) => tx.get('PRAGMA integrity_check'))).toEqual({ integrity_check: 'ok' })
  })

  it('P41: create the schema once when eight start at the same time', async () => {
    const own = await open()
    const stores = await Promise.all(Array.from({ length: 8 }, () => openEngineDatabase(own.location)))
    for (const one of stores) expect(await one.read((tx) => listWorkspaces(tx))).toEqual([])
    await Promise.all(stores.map((one) => one.close()))
    await own.drop()
  })
})
