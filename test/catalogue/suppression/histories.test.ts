import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openCatalogue } from '../../../src/catalogue/catalogue.js'
import { findSubject } from '../../../src/catalogue/erasure/subject.js'
import { toSuppressible } from '../../../src/catalogue/suppression/identifiers.js'
import { suppressionsOf } from '../../../src/catalogue/suppression/suppressions.js'
import { eraseFromEngine } from '../../../src/engine/admin/erasure.js'
import { createEngine } from '../../../src/engine/request/engine.js'
import { openSuppressor } from '../../../src/engine/tables/members.js'
import { createWorker } from '../../../src/engine/worker/worker.js'
import { keysOfPerson } from '../../../src/identity/person-matcher.js'
import { openDatabase } from '../../../src/storage/database/open.js'
import { FakeSender, portsOf } from '../../engine/fake-sender.js'
import { isLong, tries } from '../../support/effort.js'
import { openBench, randomIds } from '../../support/engine.js'
import { emptySchema } from '../../support/postgres.js'

const count = 4
const people = Array.from({ length: count }, (_, at) => at)
const emailOf = (at: number) => `qzx-${at}@works.example`
const profileOf = (at: number) => `https://www.network.example/in/qzx-${at}`
const csv = (some: readonly number[]) =>
  [
    'first_name,last_name,title,email,email_status,company_domain,network_url',
    ...some.map((at) => `Qzx-${at},Roe,Chief,${emailOf(at)},valid,works.example,${profileOf(at)}`),
  ].join('\n')

const person = fc.nat(count - 1)
const step = fc.oneof(
  fc.tuple(fc.constantFrom('suppress', 'forget'), person),
  fc.tuple(fc.constantFrom('import', 'look up', 'replay', 'contact', 'search', 'deliver', 'restart'), person),
  fc.tuple(fc.constantFrom('look up', 'replay', 'deliver', 'import'), person),
)

/** Takes the steps of a history. Returns what was written after somebody was suppressed and names them. */
async function follow(
  history: readonly (readonly [string, number])[],
  location: string,
): Promise<readonly string[]> {
  const bench = await openBench(location)
  const driver = await openDatabase(':memory:')
  const { clock, store, workspaceId, key } = bench
  const ports = { clock, ids: randomIds }
  let source = await openCatalogue(driver, ports)
  let caller = createEngine({ store, source, ...ports })
  const entries = suppressionsOf(store, workspaceId)
  const sender = new FakeSender()
  const [suppressed, forgotten] = [new Set<number>(), new Set<number>()]
  const leaks: string[] = []
  const look = (what: string, text: string) => {
    for (const at of suppressed) if (new RegExp(`qzx-${at}`, 'i').test(text)) leaks.push(`${what}: ${text}`)
  }
  const call = async (id: Parameters<typeof caller.call>[0], input: object, idempotencyKey?: string) => {
    const options = { apiKey: key, ...(idempotencyKey ? { idempotencyKey } : {}) }
    look(id, JSON.stringify((await caller.call(id, { ...input }, options)).body))
  }
  const take = async (some: readonly number[]) => {
    const suppressor = await openSuppressor(store, workspaceId)
    await source.importFile(
      'people',
      (async function* () {
        yield Buffer.from(csv(some))
      })(),
      suppressor && {
        withoutSuppressed: async (results) =>
          ((await suppressor.records({ results })) as { results: readonly unknown[] }).results,
      },
    )
  }
  const webhook_url = 'https://hooks.example/in'
  const steps: Record<string, (at: number) => Promise<unknown>> = {
    suppress: async (at) => {
      const values = [emailOf(at), profileOf(at)].flatMap((text) => toSuppressible(text) ?? [])
      await entries.add(values, `asked by qzx-${at}`, clock.now())
      suppressed.add(at)
    },
    forget: async (at) => {
      const found = await findSubject(driver, { email: emailOf(at) })
      await entries.forget(keysOfPerson(found.identifiers), true, clock.now())
      await eraseFromEngine(store, found.matcher, false)
      await found.eraseCatalogue(false)
      suppressed.add(at)
      forgotten.add(at)
    },
    import: (at) => take(people.slice(0, at + 1)),
    'look up': (at) => call('leads.enrich', { network_url: profileOf(at) }),
    replay: (at) => call('leads.enrich', { network_url: profileOf(at) }, `key-${at}`),
    contact: (at) =>
      call('contacts.enrich', { network_url: profileOf(at), enrichment_type: ['email'], webhook_url }),
    search: () =>
      call('leads.advanced_search', { included_companies: ['works.example'], webhook_url, live: false }),
    deliver: async () => {
      clock.advance(3_600_000)
      const from = sender.attempts.length
      await createWorker(portsOf(bench, { source, sender })).drain()
      for (const { body } of sender.attempts.slice(from)) look('delivery', body)
    },
    restart: async () => {
      source = await openCatalogue(driver, ports)
      caller = createEngine({ store, source, ...ports })
    },
  }
  await take(people)
  for (const [name, at] of [...history, ['deliver', 0], ['search', 0], ['deliver', 0]] as typeof history)
    await steps[name]?.(at)
  for await (const record of source.exportRecords('people'))
    for (const at of forgotten)
      if (JSON.stringify(record).includes(`qzx-${at}`)) leaks.push(`catalogue: ${JSON.stringify(record)}`)
  for (const entry of await entries.list())
    for (const at of forgotten)
      if (JSON.stringify(entry).includes(`qzx-${at}`)) leaks.push(`entry: ${JSON.stringify(entry)}`)
  await driver.close()
  await bench.database.close()
  return leaks
}

const inMemory = async () => ({ url: ':memory:', drop: async () => {} })

it.each([
  ['SQLite', tries(15, 100), inMemory],
  ...(isLong ? [['PostgreSQL', 20, emptySchema] as const] : []),
] as const)(
  'over %s a suppressed person is in nothing that is written after it, and a forgotten one leaves hashes only',
  async (_, numRuns, open) => {
    const histories = fc.array(step, { minLength: 3, maxLength: 14 })
    const property = fc.asyncProperty(histories, async (history) => {
      const { url, drop } = await open()
      const leaks = await follow(history, url)
      await drop()
      expect(leaks).toEqual([])
    })
    await fc.assert(property, { numRuns, seed: Date.now() })
  },
  1_800_000,
)
