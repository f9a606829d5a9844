import type { ServerResponse } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import templates from '../../src/providers/templates.json' with { type: 'json' }
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { tries } from '../support/effort.js'
import { random } from '../support/killed-batch.js'
import { launch, prospect } from '../support/processes.js'
import { addProvider, vendorNames } from '../support/vendors.js'

const dns = perFile(vendorNames)
const rows = tries(150, 600)

/** A request about people, by their last names; or a poll, which is about none. */
interface Asked {
  readonly path: string
  readonly query: URLSearchParams
  readonly body: Readonly<Record<string, unknown>>
}

interface Fake {
  readonly template: keyof typeof templates
  /** Returns the people that a request is about. */
  whom(asked: Asked): readonly string[]
  /** Returns the answer about them, and what it charges each. */
  answer(
    people: readonly string[],
    asked: Asked,
  ): { readonly said: unknown; readonly charges: readonly number[] }
  /** Answers in place of that, such as with a refusal, or not at all. Returns whether it has. */
  instead?(response: ServerResponse, requests: number, charged: number): 'refused' | 'lost' | undefined
}

const numberOf = (person: string): number => Number(/\d+/.exec(person)?.[0])
/** Each vendor knows a fifth of the people, and the last one half of its. */
const knows = (person: string, fifth: number): boolean => numberOf(person) % 5 === fifth
const addressOf = (person: string): string => `${person.toLowerCase()}@acme.example`
const json = (response: ServerResponse, status: number, said: unknown) =>
  response.writeHead(status).end(JSON.stringify(said))

const jobs = new Map<string, readonly { readonly person: string; readonly row: string }[]>()
type Contact = { readonly last_name: string; readonly custom?: { readonly row: string } }

const fakes: readonly Fake[] = [
  {
    // A limit: one request in forty is refused for its rate.
    template: 'peopledatalabs',
    whom: ({ query }) => [query.get('last_name') ?? ''],
    answer: ([person = '']) =>
      knows(person, 0)
        ? { said: { status: 200, data: { work_email: addressOf(person) } }, charges: [1] }
        : { said: { status: 200, data: {} }, charges: [0] },
    instead: (response, requests) => {
      if (requests % 40 !== 20) return undefined
      json(response, 429, { status: 429, error: { type: 'rate_limit_error' } })
      return 'refused'
    },
  },
  {
    // An empty balance, after fifty credits. It verifies addresses, too.
    template: 'hunter',
    whom: ({ query }) => [query.get('email') ?? query.get('last_name') ?? ''],
    answer: ([person = ''], { path }) => {
      if (path === '/email-verifier') return { said: { data: { status: 'valid' } }, charges: [1] }
      const isKnown = knows(person, 1)
      const data = isKnown ? { email: addressOf(person), verification: { status: 'valid' } } : { email: null }
      return { said: { data }, charges: [isKnown ? 1 : 0] }
    },
    instead: (response, _, charged) => {
      if (charged < 50) return undefined
      json(response, 429, { errors: [{ id: 'usage_exceeded' }] })
      return 'refused'
    },
  },
  {
    // An outage, in which it charges and does not answer.
    template: 'lusha',
    whom: ({ body }) => [(body.contacts as { lastName: string }[])[0]?.lastName ?? ''],
    answer: ([person = '']) => {
      const charges = [knows(person, 2) ? 2 : 1]
      const emails = knows(person, 2) ? [{ email: addressOf(person), type: 'work' }] : []
      return { said: { results: [{ emails }], billing: { creditsCharged: charges[0] } }, charges }
    },
    instead: (response, requests) => {
      if (requests < 60 || requests > 70) return undefined
      response.socket?.destroy()
      return 'lost'
    },
  },
  {
    template: 'fullenrich',
    whom: ({ body }) => ((body.data as Contact[] | undefined) ?? []).map((one) => one.last_name),
    answer: (people, { path, body }) => {
      const id = path.split('/').at(-1) ?? ''
      const job = jobs.get(id)
      const info = (person: string) =>
        knows(person, 3)
          ? { most_probable_work_email: { email: addressOf(person), status: 'HIGH_PROBABILITY' } }
          : {}
      const data = job?.map(({ person, row }) => ({ custom: { row }, contact_info: info(person) }))
      if (job) return { said: { status: 'FINISHED', data: data?.reverse() }, charges: [] }
      const fresh = `f${jobs.size}`
      const contacts = body.data as Contact[]
      jobs.set(
        fresh,
        contacts.map(({ last_name, custom }) => ({ person: last_name, row: custom?.row ?? '' })),
      )
      return { said: { enrichment_id: fresh }, charges: people.map((one) => (knows(one, 3) ? 1 : 0)) }
    },
  },
  {
    // Work that is polled, one person at a time.
    template: 'icypeas',
    whom: ({ body }) => (body.lastname === undefined ? [] : [String(body.lastname)]),
    answer: (people, { body }) => {
      const [one] = jobs.get(String(body.id)) ?? []
      const has = (person: string) => knows(person, 4) && numberOf(person) % 2 === 0
      if (one) {
        const emails = [{ email: addressOf(one.person), certainty: 'ultra_sure' }]
        const item = has(one.person)
          ? { status: 'DEBITED', results: { emails } }
          : { status: 'DEBITED_NOT_FOUND' }
        return { said: { success: true, items: [item] }, charges: [] }
      }
      const fresh = `i${jobs.size}`
      jobs.set(
        fresh,
        people.map((person) => ({ person, row: '' })),
      )
      const said = { success: true, item: { _id: fresh, status: 'NONE' } }
      return { said, charges: people.map((person) => (has(person) ? 1 : 0)) }
    },
  },
  {
    template: 'neverbounce',
    whom: ({ query }) => query.getAll('email'),
    answer: () => ({ said: { status: 'success', result: 'valid' }, charges: [1] }),
  },
]

/** Starts a vendor, which counts what it is asked and what it charges. */
async function start(fake: Fake, onRequest: () => void) {
  const asked = new Map<string, number>()
  const charges = new Map<string, number>()
  const add = (to: Map<string, number>, person: string, by: number) =>
    to.set(person, (to.get(person) ?? 0) + by)
  const charged = () => [...charges.values()].reduce((sum, one) => sum + one, 0)
  let requests = 0
  const { origin } = closeAfterTest(
    await answering(async (request, response) => {
      const { body } = await received(request)
      const url = new URL(request.url ?? '', 'http://vendor')
      const about: Asked = {
        path: url.pathname,
        query: url.searchParams,
        body: body === '' ? {} : JSON.parse(body),
      }
      onRequest()
      const people = fake.whom(about)
      if (people.length > 0) requests++
      const { said, charges: costs } = fake.answer(people, about)
      const take = () => {
        for (const [at, person] of people.entries()) {
          add(asked, person, 1)
          add(charges, person, costs[at] ?? 0)
        }
      }
      const instead = people.length > 0 ? fake.instead?.(response, requests, charged()) : undefined
      if (instead !== 'refused') take()
      if (!instead) json(response, 200, said)
    }),
  )
  return { ...fake, origin, asked, charges, charged }
}

it('five vendors and one that verifies agree to the credit, with a limit, an outage, an empty balance and kills', async () => {
  const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
  const note = `PROSPECT_TEST_SEED=${seed}`
  const pick = random(seed)
  // In the first run and in the second, of some three requests a row.
  const killAt = [rows / 12 + pick((5 * rows) / 6), rows + pick(rows)]
  let requests = 0
  let kill = () => {}
  const vendors = await Promise.all(
    fakes.map((fake) =>
      start(fake, () => {
        if (++requests >= (killAt[0] ?? Number.POSITIVE_INFINITY)) {
          killAt.shift()
          kill()
        }
      }),
    ),
  )
  const here = machine()
  onTestFinished(() => here.remove())
  await here.json('init')
  for (const { template, origin } of vendors) {
    const { limits: _, ...file } = templates[template].file as { limits?: object }
    const text = JSON.stringify({ ...file, base_url: origin, timeout: '3s' })
    await addProvider(here, text.replace(/"(every|wait)":"\w+"/g, '"$1":"20ms"'))
  }
  const people = Array.from({ length: rows }, (_, at) => `Ada,King${at},acme.example`)
  here.write('people.csv', `first_name,last_name,domain\n${people.join('\n')}\n`)
  const env = { PROSPECT_HOME: here.home, PROSPECT_DNS: dns.address }
  const line = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'.split(' ')
  let killed = 0
  for (;;) {
    const batch = launch(prospect, line, here.home, env)
    kill = () => {
      killed++
      batch.kill('SIGKILL')
    }
    const { signal } = await batch
    if (signal === undefined) break
  }
  expect([killed, note]).toEqual([2, note])

  const out = here.rows('out.csv')
  expect(out).toHaveLength(rows)
  const store = await openEngineDatabase(`${here.home}/engine.db`)
  const sql = `SELECT provider, state, cost, reserved, subject FROM provider_calls WHERE sent_as IS NULL`
  const calls = await store.read((tx) => tx.all<Record<string, string | number>>(sql))
  await store.close()
  const personOf = ({ subject }: (typeof calls)[number]) => {
    const { last_name, full_name, email } = JSON.parse(String(subject)) as Record<string, string>
    return String(last_name ?? full_name?.split(' ').at(-1) ?? email)
  }
  const ledger = await here.json<Sum[]>('ledger --by provider')
  const stats = await here.json<Sum[]>('providers stats')
  const unknown = new Set<string>()
  for (const { template: name, asked, charges, charged } of vendors) {
    expect([name, note, [...asked].filter(([, times]) => times > 1)]).toEqual([name, note, []])
    expect([name, asked.size > 0]).toEqual([name, true])
    const own = calls.filter(({ provider }) => provider === name)
    // What it answered costs here what it charged for it, person by person.
    const known = own.filter(({ state }) => state === 'found' || state === 'not_found')
    const recorded = known.map((call) => [personOf(call), Number(call.cost) / 1_000_000])
    expect([note, name, recorded]).toEqual([
      note,
      name,
      recorded.map(([who]) => [who, charges.get(String(who)) ?? 0]),
    ])
    const lost = own.filter(({ state }) => state === 'unknown')
    for (const call of lost) unknown.add(personOf(call))
    const atRisk = lost.reduce((sum, call) => sum + Number(call.reserved) / 1_000_000, 0)
    const chargedForLost = lost.reduce((sum, call) => sum + (charges.get(personOf(call)) ?? 0), 0)
    expect(chargedForLost).toBeLessThanOrEqual(atRisk)
    const sums = { cost: charged() - chargedForLost, at_risk: atRisk }
    const ofKinds = stats.filter(({ provider }) => provider === name)
    const sumOf = (field: 'cost' | 'at_risk') => ofKinds.reduce((sum, one) => sum + one[field], 0)
    expect([note, ledger.find(({ provider }) => provider === name)]).toMatchObject([note, sums])
    expect([note, { cost: sumOf('cost'), at_risk: sumOf('at_risk') }]).toEqual([note, sums])
    // Nothing that it charged is missing.
    expect([...charges.keys()].filter((who) => !own.some((call) => personOf(call) === who))).toEqual([])
  }
  expect(calls.filter(({ state }) => state === 'asked' || state === 'submitted')).toEqual([])
  expect(vendors.find(({ template }) => template === 'hunter')?.charged()).toBe(50)
  // The outage is at risk, the empty balance is not.
  expect(stats.find(({ provider }) => provider === 'lusha')?.at_risk).toBeGreaterThan(0)
  for (const { last_name = '', _status, _error } of out) {
    const outcome = _status === 'failed' ? _error : _status
    if (outcome === 'outcome_unknown') expect([last_name, unknown.has(last_name)]).toEqual([last_name, true])
    else if (outcome === 'not_found') expect([last_name, unknown.has(last_name)]).toEqual([last_name, false])
    else expect(outcome).toBe('found')
  }
})

interface Sum {
  readonly provider: string
  readonly cost: number
  readonly at_risk: number
}
