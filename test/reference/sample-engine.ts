import type { OperationId } from '../../src/api/operations/table.js'
import type { Source } from '../../src/api/ports/ports.js'
import { type Catalogue, openCatalogue } from '../../src/catalogue/catalogue.js'
import { loadSample } from '../../src/catalogue/sample/sample.js'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { createEngine } from '../../src/engine/request/engine.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { createWorker } from '../../src/engine/worker/worker.js'
import { handler } from '../../src/http/handler.js'
import { openSqlite } from '../../src/storage/driver/sqlite/driver.js'
import { countedIds } from '../catalogue/open.js'
import { FakeSender } from '../engine/fake-sender.js'
import { seededIds, TestClock } from '../support/engine.js'
import { fetchCaller } from '../support/fetch-caller.js'

export type Fields = Readonly<Record<string, unknown>>

/** A request as it was sent over HTTP, and what came back. */
export type Exchange = Awaited<ReturnType<SampleEngine['ask']>>

/** The engine over the sample that `prospect data sample` loads, served over HTTP; the same in every run. */
export type SampleEngine = Awaited<ReturnType<typeof openSampleEngine>>

const baseUrl = 'http://127.0.0.1:4010/api/v2'

/** Answers a request, as `fetch` does. */
export type Serve = (request: Request) => Response | Promise<Response>

/**
 * Opens it, with the default sample and a member who has consented to personal addresses. Requests pass what `through`
 * puts in front of it.
 */
export async function openSampleEngine(
  location = ':memory:',
  through: (serve: Serve) => Promise<Serve> = async (serve) => serve,
) {
  const clock = new TestClock()
  const ids = seededIds('sample')
  const store = await openEngineDatabase(location)
  const catalogue = await openCatalogue(openSqlite(':memory:'), { clock, ids: countedIds() })
  await loadSample(catalogue, clock.now())
  const admin = createAdmin({ store, clock, ids })
  const { key = '', member } = await admin.init({ workspace: 'Example', email: 'ada@example.com' })
  await admin.changeMember(member.email, { consentPersonalEmail: true })
  const source = unpluggable(catalogue)
  const sender = new FakeSender()
  const caller = createEngine({ store, source, clock, ids, sender })
  const serve = await through(handler({ caller, version: 'test', document: async () => ({}) }))
  const client = fetchCaller(async (request) => serve(request), baseUrl)
  const targets = () => ({ allow: [], loopback: false })
  const worker = createWorker({ store, source, clock, ids, sender, targets })
  return {
    ask: async (id: OperationId, input: Fields = {}) => {
      // The windows of one second are over.
      clock.advance(1_000)
      const { status, body, headers } = await client.call(id, input, { apiKey: key })
      return { id, input, status, contentType: headers['content-type'], body }
    },
    /** Does all accepted work, and delivers what it has to tell. */
    work: async () => {
      clock.advance(1_000)
      await worker.drain()
    },
    /** From now on nothing is found, and all work fails. */
    unplug: () => source.unplug(),
    /** What was delivered, in its order. */
    delivered: () => sender.bodies(),
    close: async () => {
      await caller.close()
      await catalogue.close()
    },
  }
}

/** The catalogue until it is unplugged. */
function unpluggable(catalogue: Catalogue): Source & { unplug(): void } {
  let plugged = true
  const whilePlugged =
    <A extends unknown[], R>(ask: (...given: A) => R) =>
    (...given: A): R => {
      if (!plugged) throw new Error('unplugged')
      return ask(...given)
    }
  return {
    ...catalogue,
    find: whilePlugged(catalogue.find) as Source['find'],
    company: whilePlugged(catalogue.company),
    providers: whilePlugged(catalogue.providers),
    unplug: () => {
      plugged = false
    },
  }
}
