import { expect, it } from 'vitest'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { answering, closeAfterTest } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { random } from '../support/killed-batch.js'
import { freshSchema } from '../support/postgres.js'
import { launch, prospect } from '../support/processes.js'
import { until } from '../support/until.js'
import { addProvider } from '../support/vendors.js'

const here = perTest(machine)

const databases = {
  SQLite: async () => ({ env: {}, drop: async () => {} }),
  PostgreSQL: async () => {
    const { url, drop } = await freshSchema()
    return { env: { PROSPECT_DATABASE_URL: url }, drop }
  },
}

const size = 5
const pages = tries(12, 60)

/** A vendor with numbered pages, which charges for each person. `onRequest` is called when it has charged, and when it has answered. */
async function numberedVendor(onRequest: (page: number, when: 'under way' | 'answered') => void) {
  const asked = new Map<number, number>()
  let charged = 0
  const { origin } = closeAfterTest(
    await answering((request, response) => {
      const page = Number(new URL(request.url ?? '', 'http://vendor').searchParams.get('page'))
      response.on('finish', () => onRequest(page, 'answered'))
      asked.set(page, (asked.get(page) ?? 0) + 1)
      charged += size
      const people = Array.from({ length: size }, (_, at) => {
        const number = (page - 1) * size + at
        return { name: `Ada King${number}`, mail: `king${number}@acme.example` }
      })
      onRequest(page, 'under way')
      response.writeHead(200).end(JSON.stringify({ people }))
    }),
  )
  return { origin, asked, charged: () => charged }
}

const file = (origin: string): string => `name: acme
base_url: ${origin}
timeout: 10s
limits: { rates: [5/s] }
auth: { header: X-API-KEY }
search:
  of: people
  get: /people
  query: { title: "{title}" }
  items: body.people
  next: { page: 1, into: query.page }
  size: ${size}
  outcomes: [{ when: "status == 200", is: found }]
  result: { full_name: item.name, email: item.mail }
  cost: { row: 1 }
`

it.each(Object.keys(databases) as (keyof typeof databases)[])(
  'pays once for each page of a search, and misses none but lost ones, however often its flow is killed over %s',
  async (database) => {
    const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
    const note = `PROSPECT_TEST_SEED=${seed}`
    const pick = random(seed)
    let killAt = { page: 0, when: 'answered' }
    let kill = async () => {}
    const vendor = await numberedVendor((page, when) => {
      if (page === killAt.page && when === killAt.when) kill()
    })
    const { env, drop } = await databases[database]()
    await here.run(['init'], { env })
    await addProvider(here, file(vendor.origin), env)
    const write = (limit: number) =>
      here.write(
        'found.yaml',
        `name: found
input: { provider: acme, query: { title: CTO }, limit: ${limit} }
steps:
  - keep: full_name != ""
output: { csv: out.csv, columns: [full_name] }
`,
      )
    const { PROSPECT_DATABASE_URL: url = `${here.home}/engine.db` }: { PROSPECT_DATABASE_URL?: string } = env
    const store = await openEngineDatabase(url)
    const sql = 'SELECT state, reserved FROM provider_calls'
    const calls = () => store.read((tx) => tx.all<{ state: string; reserved: number }>(sql))
    const names = () => here.rows('out.csv').map(({ full_name }) => full_name)
    const upTo = (page: number) => Array.from({ length: page * size }, (_, at) => `Ada King${at}`)
    const once = () => expect([[...vendor.asked].filter(([, times]) => times > 1), note]).toEqual([[], note])
    write(pages * size)
    let killed = 0
    let at = 0
    // Between pages, until a kill has met one under way after all: then its answer is lost.
    for (let isLost = false; !isLost && at < pages - 1; ) {
      at = Math.min(pages - 1, at + 1 + pick(Math.ceil(pages / tries(2, 4))))
      killAt = { page: at, when: at > pages / 2 && pick(2) === 0 ? 'under way' : 'answered' }
      const flow = launch(prospect, ['flow', 'run', 'found.yaml'], here.home, {
        PROSPECT_HOME: here.home,
        ...env,
      })
      kill = async () => {
        killed++
        if (killAt.when === 'answered')
          await until(async () => (await calls()).every(({ state }) => state === 'found'))
        flow.kill('SIGKILL')
      }
      await flow
      isLost = (await calls()).some(({ state }) => state !== 'found')
    }
    const last = await here.run('flow run found.yaml', { env })
    expect([killed > 0, note]).toEqual([true, note])
    once()
    const recorded = await calls()
    expect([recorded.length, note]).toEqual([vendor.asked.size, note])
    const lost = recorded.filter(({ state }) => state !== 'found')
    const sums = {
      cost: vendor.charged() - lost.length * size,
      at_risk: lost.reduce((sum, { reserved }) => sum + reserved / 1_000_000, 0),
    }
    for (const line of ['ledger --by provider', 'providers stats']) {
      const { stdout } = await here.run(`${line} --json`, { env })
      expect([JSON.parse(stdout), note]).toEqual([[expect.objectContaining(sums)], note])
    }
    expect([lost.length < 2, last.code, note]).toEqual([true, lost.length === 0 ? 0 : 10, note])
    if (lost.length > 0) {
      // The pages before it are there, and are not asked for again.
      at = vendor.asked.size - 1
      write(at * size)
      expect([(await here.run('flow run found.yaml', { env })).code, note]).toEqual([0, note])
      once()
    }
    expect([names(), note]).toEqual([upTo(lost.length > 0 ? at : pages), note])
    await store.close()
    await drop()
  },
)
