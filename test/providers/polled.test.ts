import type { ServerResponse } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perFile, perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { random } from '../support/killed-batch.js'
import { launch, prospect } from '../support/processes.js'
import { addProvider, vendorNames } from '../support/vendors.js'

const here = perTest(machine)
const dns = perFile(vendorNames)
const ownEnv = () => ({ PROSPECT_DNS: dns.address })

type Answer = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>]

/** What the vendor answers when work is submitted that it does not accept as usual: with an id. */
const submits: Readonly<Record<string, Answer | 'cut'>> = {
  Instant: [200, { done: true, email: 'instant@acme.example' }],
  Nothing: [200, { done: true, state: 'none' }],
  Unread: [200, { done: true, state: 'new words' }],
  Idless: [202, {}],
  Blank: [202, { id: ' ' }],
  Nested: [202, { id: { of: 'job' } }],
  Lost: 'cut',
}

/** What it answers to polls, one after the other; the last one for good. */
const polls: Readonly<Record<string, readonly (Answer | 'cut' | 'ready')[]>> = {
  King: ['ready'],
  Queen: [[200, { done: false }], 'ready'],
  Missing: [[200, { done: true, state: 'none' }]],
  Masked: [[200, { done: true, email: 'email_not_unlocked@domain.com' }]],
  Failed: [[200, { done: true, state: 'failed' }]],
  Odd: [[200, { done: true, state: 'new words' }]],
  Limited: [[200, { done: true, state: 'limited' }]],
  Eased: [[200, { done: true, state: 'limited' }], [429, {}, { 'retry-after': '0' }], 'ready'],
  Again: [[200, { done: true, state: 'again' }]],
  Broke: [[200, { done: true, state: 'broke' }]],
  Badkey: [[401, {}]],
  Gone: [[404, {}]],
  Faulty: [[503, {}]],
  Cut: ['cut'],
  Garbage: [[200, '<html>']],
  Never: [[200, { done: false }]],
}

/**
 * A vendor that takes every piece of work for one credit, and is ready with `Never` only when it is told to be. Work that is
 * submitted once more it does.
 */
async function jobVendor(onRequest: (at: 'submit' | 'poll' | 'answer') => unknown = () => {}) {
  const jobs = new Map<string, { readonly name: string; readonly isAgain: boolean; polled: number }>()
  const submitted = new Map<string, number>()
  const isReady = new Set<string>()
  const polledElsewhere: string[] = []
  const send = (response: ServerResponse, answer: Answer | 'cut') => {
    if (answer === 'cut') return response.socket?.destroy()
    const [status, body, headers = {}] = answer
    return response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  }
  const { origin, close } = await answering(async (request, response) => {
    const { body } = await received(request)
    const isSubmit = request.method === 'POST'
    onRequest(isSubmit ? 'submit' : 'poll')
    response.on('finish', () => onRequest('answer'))
    if (isSubmit) {
      const { last: name } = JSON.parse(body) as { last: string }
      const times = (submitted.get(name) ?? 0) + 1
      submitted.set(name, times)
      const id = `job-${jobs.size + 1}`
      jobs.set(id, { name, isAgain: times > 1, polled: 0 })
      return send(response, (times === 1 ? submits[name] : undefined) ?? [202, { id }])
    }
    const job = jobs.get(String(request.url?.split('/').at(-1)))
    if (!job) polledElsewhere.push(String(request.url))
    const { name = '', isAgain = false } = job ?? {}
    const answers = polls[name] ?? []
    const answer = answers[Math.min(job?.polled ?? 0, answers.length - 1)] ?? [404, {}]
    if (job) job.polled++
    const found: Answer = [200, { done: true, email: `${name.toLowerCase()}@acme.example` }]
    return send(response, answer === 'ready' || isAgain || isReady.has(name) ? found : answer)
  })
  return { origin, close, submitted, isReady, polledElsewhere }
}

const file = (origin: string): string => `name: acmejobs
base_url: ${origin}
timeout: 60s
auth: { header: X-API-KEY }
kinds:
  email:
    needs: [[first_name, last_name, domain]]
    submit: { post: /jobs, body: { last: "{last_name}" }, id: body.id, accepted: "status == 202" }
    poll: { get: "/jobs/{id}", every: 100ms, done: "body.done == true", give_up: 2s }
    outcomes:
      - { when: "status == 401 || body.state == 'badkey'", is: invalid_key }
      - { when: "status == 429", is: rate_limited, wait: 1h }
      - { when: "body.email != null", is: found }
      - { when: "body.state == 'none'", is: not_found }
      - { when: "body.state == 'limited'", is: rate_limited, wait: 50ms }
      - { when: "body.state == 'again'", is: again, wait: 50ms }
      - { when: "body.state == 'broke'", is: out_of_credits }
      - { when: "body.state == 'failed'", is: failed }
    result: { email: body.email }
    cost: { found: 1, not_found: 0 }
`

const names = [...Object.keys(polls), ...Object.keys(submits)]
const found = ['King', 'Queen', 'Eased', 'Instant']
const notFound = ['Missing', 'Masked', 'Nothing', 'Failed']

const people = () =>
  `first_name,last_name,domain\n${names.map((name) => `Ada,${name},acme.example`).join('\n')}\n`
const argv = (...more: string[]) => [
  'contacts',
  'waterfall',
  '--csv',
  'people.csv',
  '-o',
  'out.csv',
  '--yes',
  '--enrichment-type',
  'email',
  ...more,
]
const outcomes = () =>
  Object.fromEntries(
    here.rows('out.csv').map((row) => [row.last_name, row._status === 'failed' ? row._error : row._status]),
  )
const expected = (more: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(
    names.map((name) => [
      name,
      more[name] ??
        (found.includes(name) ? 'found' : notFound.includes(name) ? 'not_found' : 'outcome_unknown'),
    ]),
  )

interface Stats {
  readonly asked: number
  readonly found: number
  readonly not_found: number
  readonly unknown: number
  readonly failed: number
  readonly cost: number
  readonly at_risk: number
}

/** Expects one submit for each job, and that the ledger and the statistics say what that cost. */
async function expectCounted(submitted: ReadonlyMap<string, number>, answered: number): Promise<void> {
  const once = Object.fromEntries(names.map((name) => [name, 1]))
  expect(Object.fromEntries(submitted)).toEqual(once)
  const [stats] = await here.json<Stats[]>('providers', 'stats')
  const others = { not_found: 3, failed: 1 }
  const unknown = names.length - answered - others.not_found - others.failed
  expect(stats).toMatchObject({
    asked: names.length,
    found: answered,
    ...others,
    unknown,
    cost: answered,
    at_risk: unknown,
  })
  const [sum] = await here.json<{ provider: string; calls: number; cost: number }[]>(
    'ledger',
    '--provider',
    'acmejobs',
  )
  expect(sum).toMatchObject({ calls: names.length, cost: answered })
}

it('submits work once whatever a poll answers, and asks again for what outlived its time', async () => {
  const vendor = closeAfterTest(await jobVendor())
  await here.run('init')
  await addProvider(here, file(vendor.origin).replace('give_up: 2s', 'give_up: 8s'))
  here.write('people.csv', people())
  const run = (...more: string[]) => here.run(argv(...more), { env: ownEnv() })
  expect((await run()).code).toBe(11)
  expect(outcomes()).toEqual(expected())
  await expectCounted(vendor.submitted, found.length)
  vendor.isReady.add('Never')
  expect((await run('--retry-unknown')).code).toBe(11)
  expect(outcomes()).toEqual(expected({ Never: 'found' }))
  for (const name of ['Limited', 'Faulty', 'Cut']) vendor.isReady.add(name)
  expect((await here.run(['runs', 'resume', '--last'], { env: ownEnv() })).code).toBe(11)
  expect(outcomes()).toEqual(expected({ Never: 'found', Limited: 'found', Faulty: 'found', Cut: 'found' }))
  vendor.isReady.add('Again')
  const one = '--first-name Ada --last-name Again --domain acme.example --enrichment-type email --sync'
  expect(await here.json(`contacts waterfall ${one}`)).toMatchObject({ email: 'again@acme.example' })
  await expectCounted(vendor.submitted, found.length + 5)
  expect(vendor.polledElsewhere).toEqual([])
})

it('submits once more with --retry-unknown what the vendor has lost, and only polls what it may still do', async () => {
  const vendor = closeAfterTest(await jobVendor())
  await here.run('init')
  await addProvider(here, file(vendor.origin))
  const lost = ['Gone', 'Odd', 'Unread', 'Idless', 'Lost']
  const underWay = ['Never', 'Again', 'Faulty']
  const all = [...lost, ...underWay]
  here.write(
    'people.csv',
    `first_name,last_name,domain\n${all.map((name) => `Ada,${name},acme.example\n`).join('')}`,
  )
  const run = (...more: string[]) => here.run(argv(...more), { env: ownEnv() })
  const expectAsked = async (times: number, answered: number, atRisk: number) => {
    const counts = all.map((name) => [name, lost.includes(name) ? times : 1])
    expect(Object.fromEntries(vendor.submitted)).toEqual(Object.fromEntries(counts))
    const [sum] = await here.json<object[]>('ledger --provider acmejobs')
    const calls = times * lost.length + underWay.length
    expect(sum).toMatchObject({ calls, cost: answered, at_risk: atRisk })
  }
  for (const more of [[], ['--max-cost', `acmejobs=${all.length}`, '--retry-unknown']]) {
    expect((await run(...more)).code).toBe(11)
    expect(outcomes()).toEqual(Object.fromEntries(all.map((name) => [name, 'outcome_unknown'])))
    // Where the budget has no room for a second question, none is put.
    await expectAsked(1, 0, all.length)
  }
  const whyEmpty = async (name: string) =>
    (await here.json<{ why_empty: string }>(`explain out.csv --row ${all.indexOf(name) + 1}`)).why_empty
  for (const name of lost)
    expect(await whyEmpty(name)).toBe(
      'acmejobs may have charged, and the answer was lost: resume with --retry-unknown to ask once more, which may be charged again.',
    )
  for (const name of underWay)
    expect(await whyEmpty(name)).toBe(
      'acmejobs accepted the work, and has not answered: resume with --retry-unknown to ask for the answer again, which costs nothing.',
    )
  expect((await run('--retry-unknown')).code).toBe(11)
  const answered = Object.fromEntries(lost.map((name) => [name, 'found']))
  expect(outcomes()).toEqual({
    ...answered,
    ...Object.fromEntries(underWay.map((name) => [name, 'outcome_unknown'])),
  })
  await expectAsked(2, lost.length, all.length)
  for (const name of underWay) vendor.isReady.add(name)
  expect((await run('--retry-unknown')).code).toBe(0)
  expect(outcomes()).toEqual(Object.fromEntries(all.map((name) => [name, 'found'])))
  await expectAsked(2, all.length, lost.length)
})

it.each([
  ['it is out of credits', 'Broke', 'out_of_credits'],
  ['it does not know the key', 'Badkey', 'invalid_key'],
])('gives a vendor no more work for now that says to a poll that %s', async (_, name, reason) => {
  const vendor = closeAfterTest(await jobVendor())
  await here.run('init')
  await addProvider(here, file(vendor.origin))
  const lookUp = (last: string) => {
    here.write('people.csv', `first_name,last_name,domain\nAda,${last},acme.example\n`)
    return here.run(argv('--summary-json', 'sum.json'), { env: ownEnv() })
  }
  await lookUp(name)
  await lookUp('King')
  expect([...vendor.submitted.keys()]).toEqual([name])
  const { not_asked } = JSON.parse(here.read('sum.json')) as { not_asked: object[] }
  expect(not_asked).toEqual([{ provider: 'acmejobs', reason, rows: 1 }])
})

it.each(tries(['submit', 'poll', 'answer'], ['submit', 'poll', 'answer', 'submit', 'poll', 'answer']))(
  'submits no work twice that is killed at a %s',
  async (where) => {
    const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)
    const pick = random(seed)
    let kill: (() => void) | undefined
    let left = Number.POSITIVE_INFINITY
    const vendor = closeAfterTest(
      await jobVendor((at) => {
        if (at === where && --left < 0) kill?.()
      }),
    )
    await here.run('init')
    // What a killed batch had asked is waited for as long as an answer may take.
    await addProvider(here, file(vendor.origin).replace('timeout: 60s', 'timeout: 10s'))
    here.write('people.csv', people())
    const kills = tries(2, 4)
    for (let killed = 0; ; ) {
      await here.run('providers enable acmejobs')
      left = killed < kills ? pick(names.length) : Number.POSITIVE_INFINITY
      const batch = launch(prospect, argv(), here.home, { PROSPECT_HOME: here.home, ...ownEnv() })
      kill = () => {
        kill = undefined
        killed++
        batch.kill('SIGKILL')
      }
      onTestFinished(() => void batch.kill('SIGKILL'))
      const { exitCode, signal, stderr } = await batch
      if (signal === undefined) {
        expect([exitCode, stderr]).toEqual([11, expect.anything()])
        break
      }
    }
    const note = `PROSPECT_TEST_SEED=${seed}`
    const twice = [...vendor.submitted].filter(([, times]) => times > 1)
    expect([twice, note]).toEqual([[], note])
    const [stats] = await here.json<Stats[]>('providers', 'stats')
    // What was about to be sent counts, too. What was not found or failed is no cost by the file.
    const { cost = 0, at_risk = 0, not_found = 0, failed = 0, asked = 0 } = stats ?? {}
    expect([cost + at_risk + not_found + failed, note]).toEqual([asked, note])
    expect(asked).toBeGreaterThanOrEqual(vendor.submitted.size)
    for (const row of here.rows('out.csv'))
      if (row._status === 'found') expect(row.email).toBe(`${row.last_name?.toLowerCase()}@acme.example`)
  },
)
