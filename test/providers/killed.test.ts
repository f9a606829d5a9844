import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { freePort } from '../client/listeners.js'
import { command, machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { tries } from '../support/effort.js'
import { random } from '../support/killed-batch.js'
import { freshSchema } from '../support/postgres.js'
import { launch, launchServer, prospect } from '../support/processes.js'
import {
  addProvider,
  byName,
  type FakeVendor,
  fakeFile,
  fakeVendor,
  vendorNames,
} from '../support/vendors.js'

const dns = perFile(vendorNames)

/** What a vendor is asked about: each behaviour of the fakes, the faulty ones seldom, but all six of them in 48 rows. */
const mixed = (rows: number): string[] =>
  Array.from({ length: rows }, (_, at) => {
    const fault = ['Lost', 'Half', 'Garbage', 'Faulty', 'Empty', 'Limited'][Math.floor(at / 8) % 6]
    const name = at % 8 === 7 ? fault : at % 3 === 1 ? 'Nobody' : at % 5 === 0 ? 'Catchall' : 'King'
    return `Ada,${name}${at},acme.example,https://www.linkedin.com/in/p${at}${at % 2 ? 'none' : ''}`
  })

/** The databases that a workspace may be in, with the environment that chooses it. */
const databases = {
  SQLite: async () => ({ env: {}, drop: async () => {} }),
  PostgreSQL: async () => {
    const { url, drop } = await freshSchema()
    return { env: { PROSPECT_DATABASE_URL: url }, drop }
  },
}

const cases = tries<readonly (readonly [where: string, database: keyof typeof databases])[]>(
  [
    ['a batch', 'SQLite'],
    ['a lookup', 'SQLite'],
  ],
  ['a batch', 'a batch row by row', 'a lookup', 'a server'].flatMap((where) => [
    [where, 'SQLite'],
    [where, 'PostgreSQL'],
  ]),
)

// Side by side, because a server that was killed lets those after it wait for what it had begun.
for (const [where, database] of cases)
  (where === 'a server' ? it.concurrent : it)(
    `vendors are asked once, and their costs are recorded, however often ${where} over ${database} is killed`,
    async () => {
      const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
      const pick = random(seed)
      let requests = 0
      let killAt = Number.POSITIVE_INFINITY
      let kill = async () => {}
      const onRequest = (when: 'before' | 'after') => {
        if (when === 'before') requests++
        if (requests >= killAt && when === (killAt % 2 ? 'before' : 'after')) {
          killAt = Number.POSITIVE_INFINITY
          kill()
        }
      }
      const vendors = [await fakeVendor(byName, onRequest), await fakeVendor(byName, onRequest)]
      const { env, drop } = await databases[database]()
      const isLookup = where === 'a lookup'
      const rows = mixed(isLookup ? tries(4, 8) : where === 'a server' ? 120 : tries(48, 300))
      const here = machine()
      await here.run(['init'], { env })
      for (const [at, { origin }] of vendors.entries()) {
        const file = fakeFile(origin, `vendor${at + 1}`, '2s').replace('size: 250', 'size: 20')
        await addProvider(here, file, env)
      }
      here.write('people.csv', `first_name,last_name,domain,linkedin_url\n${rows.join('\n')}\n`)
      const own = { PROSPECT_HOME: here.home, PROSPECT_DNS: dns.address, ...env }
      const types = ['--enrichment-type', 'email', '--enrichment-type', 'phone']
      const file = ['--csv', 'people.csv', '-o', 'out.csv', '--yes']
      const argv = (row: number) => [
        ...(where === 'a batch row by row' ? ['leads', 'enrich'] : ['contacts', 'waterfall', ...types]),
        ...(isLookup ? [...ofRow(rows[row]), row % 2 ? '--wait' : '--sync', '--json'] : file),
      ]
      const kills = isLookup ? tries(1, 2) : tries(2, 3)
      const outcomes: Outcome[] = []
      const [apiKey = ''] = /pk_\w+/.exec(here.read('credentials.json')) ?? []
      const port = String(await freePort())
      const far = {
        PROSPECT_HOME: join(here.home, 'client'),
        PROSPECT_API_KEY: apiKey,
        PROSPECT_BASE_URL: `http://127.0.0.1:${port}/api/v2`,
      }
      const serve = ['serve', '--port', port]
      const start = async () =>
        where === 'a server' ? await launchServer(prospect, serve, here.home, own) : undefined
      let server = await start()
      let killed = 0
      for (let parts = 0, row = 0; ; parts++) {
        const next = () => requests + 1 + pick(Math.ceil(rows.length / kills))
        killAt = next()
        const batch = launch(prospect, argv(row), here.home, server ? far : own)
        kill = async () => {
          killed++
          const victim = server?.server ?? batch
          victim.kill('SIGKILL')
          await victim
          if (!server) return
          // The client goes on meanwhile.
          server = await start()
          if (killed < kills) killAt = next()
        }
        if (killed >= kills) killAt = Number.POSITIVE_INFINITY
        const { exitCode, signal, stderr } = await batch
        const isEnded = signal === undefined && outcomeOf(exitCode) !== undefined
        if (isEnded && isLookup) outcomes.push(toOutcome(rows[row], outcomeOf(exitCode)))
        if (isEnded && (!isLookup || ++row === rows.length)) break
        if (parts > (isLookup ? rows.length : 0) + 3 * kills) throw new Error(`it does not end: ${stderr}`)
      }
      await server?.stop()
      expect(killed).toBe(kills)
      if (!isLookup)
        for (const { last_name = '', linkedin_url = '', _status = '', _error } of here.rows('out.csv'))
          outcomes.push({ last_name, linkedin_url, outcome: _status === 'failed' ? _error : _status })
      expect(outcomes).toHaveLength(rows.length)
      await expectExact(vendors, outcomes, here.home, env, `PROSPECT_TEST_SEED=${seed}`)
      here.remove()
      await Promise.all(vendors.map((vendor) => vendor.close()))
      await drop()
    },
  )

/** What became of a row or a lookup. */
interface Outcome {
  readonly last_name: string
  readonly linkedin_url: string
  readonly outcome: string | undefined
}

const toOutcome = (row = '', outcome?: string): Outcome => {
  const [, last_name = '', , linkedin_url = ''] = row.split(',')
  return { last_name, linkedin_url, outcome }
}

const ofRow = (row: string | undefined): string[] => {
  const { last_name, linkedin_url } = toOutcome(row)
  const who = { first_name: 'Ada', last_name, domain: 'acme.example', network_url: linkedin_url }
  return Object.entries(who).flatMap(([name, value]) => [`--${name.replace('_', '-')}`, value])
}

/** What the exit code of a lookup, or of a batch, says; `undefined` where it did not end as one does. */
const outcomeOf = (code: number | undefined): string | undefined =>
  ({ 0: 'found', 9: 'not_found', 10: 'outcome_unknown', 11: 'failed' })[code ?? -1]

/** Expects that no vendor was asked twice, that recorded costs are what it charged, and that the output says the rest. */
async function expectExact(
  vendors: readonly FakeVendor[],
  outcomes: readonly Outcome[],
  home: string,
  { PROSPECT_DATABASE_URL: url = join(home, 'engine.db') }: { PROSPECT_DATABASE_URL?: string },
  note: string,
): Promise<void> {
  const store = await openEngineDatabase(url)
  const sql = 'SELECT provider, kind, state, cost, subject FROM provider_calls'
  const calls = await store.read((tx) => tx.all<Record<string, string | number>>(sql))
  await store.close()
  const rowOf = ({ kind, subject }: (typeof calls)[number]) => {
    const { last_name, network_url } = JSON.parse(String(subject)) as Record<string, string>
    return String(kind === 'phone' ? network_url : last_name)
  }
  const unknown = new Set<string>()
  for (const [at, vendor] of vendors.entries()) {
    const twice = [...vendor.asked].filter(([row, times]) => times > (row.startsWith('Limited') ? 2 : 1))
    expect([twice, note]).toEqual([[], note])
    const own = calls.filter(({ provider }) => provider === `vendor${at + 1}`)
    const known = own.filter(({ state }) => state === 'found' || state === 'not_found')
    const recorded = known.map((call) => [rowOf(call), Number(call.cost) / 1_000_000])
    expect([recorded, note]).toEqual([
      recorded.map(([row]) => [row, vendor.charges.get(String(row)) ?? 0]),
      note,
    ])
    for (const call of own.filter(({ state }) => state === 'unknown'))
      unknown.add(`${call.kind} ${rowOf(call)}`)
    const rest = [...vendor.charges.keys()].filter((row) => !own.some((call) => rowOf(call) === row))
    expect([rest, note]).toEqual([[], note])
  }
  // What was asked was answered or given up.
  const open = calls.filter(({ state }) => state === 'asked' || state === 'submitted')
  expect([open, note]).toEqual([[], note])
  const env = { PROSPECT_HOME: home, PROSPECT_DATABASE_URL: url }
  const ledger = JSON.parse((await command(['ledger', '--by', 'provider', '--json'], { env })).stdout) as {
    provider: string
    cost: number
  }[]
  for (const [at, vendor] of vendors.entries()) {
    const name = `vendor${at + 1}`
    const lost = calls
      .filter(({ provider, state }) => provider === name && state === 'unknown')
      .reduce((sum, call) => sum + (vendor.charges.get(rowOf(call)) ?? 0), 0)
    const { cost = 0 } = ledger.find(({ provider }) => provider === name) ?? {}
    expect([cost, note]).toEqual([vendor.charged() - lost, note])
  }
  for (const { last_name, linkedin_url, outcome } of outcomes) {
    const asked = [`email ${last_name}`, `person ${last_name}`, `phone ${linkedin_url}`]
    const isLost = asked.some((one) => unknown.has(one))
    const expected = outcome === 'found' ? 'found' : isLost ? 'outcome_unknown' : 'not_found'
    expect([outcome, last_name, note]).toEqual([expected, last_name, note])
  }
}
