import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { type Machine, machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { nameServer } from '../support/name-server.js'
import { freshSchema } from '../support/postgres.js'
import { launchServer, prospect } from '../support/processes.js'
import { until } from '../support/until.js'
import { addProvider, fakeFile, fakeVendor, vendorNames } from '../support/vendors.js'

const dns = perFile(vendorNames)
const who = ['--first-name', 'Ada', '--last-name', 'King', '--domain', 'acme.example']
const argv = ['contacts', 'waterfall', ...who, '--enrichment-type', 'email', '--sync', '--json']

/** Returns what asks a server as a client with a home of its own: nobody waits for what another one has asked. */
function clientsOf(here: Machine) {
  const [key = ''] = /pk_\w+/.exec(here.read('credentials.json')) ?? []
  let clients = 0
  return ({ line }: { readonly line: string }) => {
    const { base_url: address } = JSON.parse(line) as { base_url: string }
    const env = { PROSPECT_API_KEY: key, PROSPECT_BASE_URL: address }
    return machine(join(here.home, `client${++clients}`)).run(argv, { env, cwd: here.home })
  }
}

/** Starts a server that can be frozen, as a process, and another one over the same database in this process. */
async function twoServers(here: Machine, env: Readonly<Record<string, string>>) {
  const argv = ['serve', '--port', '0', '--json']
  const first = await launchServer(prospect, argv, here.home, env)
  const second = await here.start(argv, { env })
  const stop = () => {
    first.server.kill('SIGCONT')
    return Promise.all([first.stop(), second.stop()])
  }
  return { first, second, stop }
}

const inFile = async () => ({ env: {} as Record<string, string>, drop: async () => {} })
const onServer = async () => {
  const { url, drop } = await freshSchema()
  return { env: { PROSPECT_DATABASE_URL: url }, drop }
}

/** A workspace whose only vendor keeps its first answer until it is let go, and how old answers may be that are used again. */
async function opened(place: typeof inFile | typeof onServer, maxAge: string) {
  const { env, drop } = await place()
  const held: ServerResponse[] = []
  const answer = (response: ServerResponse, times: number) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        data: { email: `ada${times}@acme.example`, verification: { status: 'valid' } },
        spent: 10,
      }),
    )
  const vendor = await fakeVendor((_, times, response, charge) => {
    charge()
    if (times === 1) held.push(response)
    else answer(response, times)
  })
  const here = machine()
  await here.run(['init'], { env })
  await addProvider(here, `max_age: ${maxAge}\n${fakeFile(vendor.origin)}`, env)
  const own = { PROSPECT_HOME: here.home, PROSPECT_DNS: dns.address, ...env }
  const location =
    'PROSPECT_DATABASE_URL' in env ? String(env.PROSPECT_DATABASE_URL) : join(here.home, 'engine.db')
  const inStore = async <T>(sql: string) => {
    const store = await openEngineDatabase(location)
    return store.transaction((tx) => tx.all<T>(sql)).finally(() => store.close())
  }
  const { first, second, stop } = await twoServers(here, own)
  onTestFinished(async () => {
    await stop()
    here.remove()
    await vendor.close()
    await drop()
  })
  const askAt = clientsOf(here)
  const ask = () => askAt(second)
  const waiting = askAt(first)
  await until(() => held.length === 1)
  first.server.kill('SIGSTOP')
  // As if it had stood still for longer than its lease.
  await inStore('UPDATE provider_calls SET lease_until = 0 RETURNING 1')
  return {
    vendor,
    ask,
    wake: async () => {
      answer(held[0] as ServerResponse, 1)
      first.server.kill('SIGCONT')
      return await waiting
    },
    calls: () =>
      inStore<{ attempt: number; state: string; answer: string | null; cost: number }>(
        `SELECT attempt, state, answer, cost FROM provider_calls WHERE sent_as IS NULL ORDER BY attempt`,
      ),
    cost: async () => {
      const { json: rows } = await here.run('ledger --by provider --json', { env })
      return (rows as { cost: number }[]).map(({ cost }) => cost)
    },
    spent: () => inStore<{ spent: number }>(`SELECT spent FROM provider_budgets WHERE run LIKE 'day %'`),
  }
}

describe.each([
  ['SQLite', inFile],
  ['PostgreSQL', onServer],
] as const)(
  'a server that froze for longer than its lease while a vendor had its question, over %s',
  (_, place) => {
    it('is paid once: nobody asks again, and its answer counts when it wakes', async () => {
      const { vendor, ask, wake, calls, cost, spent } = await opened(place, '90d')
      expect((await ask()).code).toBe(10)
      const { stdout, code } = await wake()
      expect([code, stdout]).toEqual([0, expect.stringContaining('ada1@acme.example')])
      expect((await ask()).stdout).toContain('ada1@acme.example')
      expect([vendor.charged(), await cost(), await spent()]).toEqual([1, [1], [{ spent: 1_000_000 }]])
      expect(await calls()).toMatchObject([{ attempt: 1, state: 'found' }])
    })

    it('does not replace a newer answer, and each of both is paid once', async () => {
      const { vendor, ask, wake, calls, cost, spent } = await opened(place, '1s')
      expect((await ask()).code).toBe(10)
      // What is known is too old by now to be used again.
      await expect.poll(async () => (await ask()).stdout, { interval: 200 }).toContain('ada2@acme.example')
      await wake()
      const all = await calls()
      expect(all.map(({ attempt, state, answer }) => [attempt, state, JSON.stringify(answer)])).toEqual([
        [1, 'found', expect.stringContaining('ada1@')],
        [2, 'found', expect.stringContaining('ada2@')],
      ])
      expect([vendor.charged(), await cost(), await spent()]).toEqual([2, [2], [{ spent: 2_000_000 }]])
    })
  },
)

describe.each([
  ['SQLite', inFile],
  ['PostgreSQL', onServer],
] as const)('a server that froze before it sent what it had recorded, over %s', (_, place) => {
  it('sends nothing when it wakes, and takes the answer that another one was given meanwhile', async () => {
    const { env, drop } = await place()
    const vendor = await fakeVendor()
    let victim: { kill(signal: NodeJS.Signals): unknown } | undefined
    let frozen = 0
    // The address of the vendor is asked for when the question is recorded, and before it is sent.
    const names = await nameServer((name, type) => {
      if (name === 'acme.example' && type === 'MX') return ['mx.acme.example']
      if (name !== 'vendor.example') return 'NXDOMAIN'
      if (victim && frozen++ === 0) victim.kill('SIGSTOP')
      return type === 'A' ? ['127.0.0.1'] : []
    })
    const here = machine()
    await here.run(['init'], { env })
    const { port } = new URL(vendor.origin)
    await addProvider(here, `max_age: 1h\n${fakeFile(`http://vendor.example:${port}`)}`, env)
    const own = { PROSPECT_HOME: here.home, PROSPECT_DNS: names.address, ...env }
    const { first, second, stop } = await twoServers(here, own)
    const location = env.PROSPECT_DATABASE_URL ?? join(here.home, 'engine.db')
    const inStore = async <T>(sql: string) => {
      const store = await openEngineDatabase(location)
      return store.transaction((tx) => tx.all<T>(sql)).finally(() => store.close())
    }
    onTestFinished(async () => {
      await stop()
      here.remove()
      await Promise.all([vendor.close(), names.close()])
      await drop()
    })
    const client = clientsOf(here)
    const askAt = async (at: { readonly line: string }) => (await client(at)).stdout
    victim = first.server
    const waiting = askAt(first)
    await until(() => frozen > 0)
    const lapsed = 'UPDATE provider_calls SET lease_until = 0, asked_at = 0 RETURNING 1'
    await expect.poll(async () => (await inStore(lapsed)).length).toBe(1)
    // Of a call that nobody may still make it is not known whether it was made; it is soon too old to count.
    await askAt(second)
    expect(await askAt(second)).toContain('king@acme.example')
    first.server.kill('SIGCONT')
    expect(await waiting).toContain('king@acme.example')
    expect([...vendor.asked]).toEqual([['King', 1]])
    expect(
      await inStore('SELECT attempt, state FROM provider_calls WHERE sent_as IS NULL ORDER BY attempt'),
    ).toEqual([{ attempt: 2, state: 'found' }])
    expect(await inStore("SELECT spent FROM provider_budgets WHERE run LIKE 'day %'")).toEqual([
      { spent: 1_000_000 },
    ])
  })
})
