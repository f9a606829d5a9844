import { createHmac } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { answering, closeAfterTest, freePort, received } from '../client/listeners.js'
import { type Machine, machine } from '../support/command.js'
import { perFile, perTest } from '../support/each.js'
import { freshSchema } from '../support/postgres.js'
import { launch, prospect } from '../support/processes.js'
import { addProvider, vendorKey, vendorNames } from '../support/vendors.js'

const here = perTest(machine)
const dns = perFile(vendorNames)
const ownEnv = () => ({ PROSPECT_DNS: dns.address })

/** A vendor that takes a piece of work for one credit, and answers where it was told to, when the test says so. */
async function callingVendor() {
  const works = new Map<string, { readonly id: string; readonly body: Readonly<Record<string, string>> }>()
  const submitted: string[] = []
  const polled: string[] = []
  const { origin, close } = await answering(async (request, response) => {
    const { body } = await received(request)
    if (request.method === 'GET') {
      const id = String(request.url?.split('/').at(-1))
      polled.push(id)
      const [name = ''] = [...works].find(([, work]) => work.id === id) ?? []
      return response.writeHead(200).end(JSON.stringify({ done: true, email: emailOf(name) }))
    }
    const sent = JSON.parse(body) as Readonly<Record<string, string>>
    const name = sent.last ?? ''
    submitted.push(name)
    const id = `job-${works.size + 1}`
    works.set(name, { id, body: sent })
    return response.writeHead(202).end(JSON.stringify({ id }))
  })
  /** Sends a body to the address that work was submitted with. */
  const send = async (
    name: string,
    body: object | string,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const url = works.get(name)?.body.callback_url ?? ''
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return (await fetch(url, { method: 'POST', body: text, headers })).status
  }
  const answerTo = (name: string, email: string | null = emailOf(name)) => ({
    request: works.get(name)?.id,
    people: [{ done: true, email }],
  })
  return { origin, close, works, submitted, polled, send, answerTo }
}

const emailOf = (name: string): string => `${name.toLowerCase()}@acme.example`

const polling = `poll: { get: "/jobs/{id}", every: 100ms, done: "body.done == true", give_up: 1m }`

const file = (origin: string, webhook: string, poll = ''): string => `name: acmecalls
base_url: ${origin}
auth: { header: X-API-KEY }
kinds:
  email:
    needs: [[first_name, last_name, domain]]
    submit: { post: /jobs, body: { last: "{last_name}" }, id: body.id, accepted: "status == 202" }
    webhook: { field: callback_url, id: body.request, result: "body.people[0]"${webhook} }
    ${poll}
    outcomes:
      - { when: "status == 401", is: invalid_key }
      - { when: "status == 429", is: rate_limited, wait: 1h }
      - { when: "body.email != null", is: found }
      - { when: "status == 200", is: not_found }
    result: { email: body.email }
    cost: { found: 1, not_found: 0 }
`

const signed = `, sign: { header: X-Signature, hmac: sha256, over: "{timestamp}.{body}", prefix: "v1=", timestamp: X-Time }`

/** The headers of a signed delivery. */
function signature(body: object, secret = vendorKey, at = Date.now()): Record<string, string> {
  const time = String(Math.floor(at / 1_000))
  const hash = createHmac('sha256', secret)
    .update(`${time}.${JSON.stringify(body)}`)
    .digest('hex')
  return { 'x-time': time, 'x-signature': `v1=${hash}` }
}

/** Starts what receives the answers, and stops it with the test. */
async function listening(machine: Machine, env: Readonly<Record<string, string>> = {}) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/prospect`
  const argv = ['listen', '--port', String(port), '--public-url', url, '--json']
  const { stop } = await machine.start(argv, { env })
  let isOver = false
  const end = async () => {
    if (!isOver) await stop()
    isOver = true
  }
  onTestFinished(end)
  return { url, end }
}

const argv = ['contacts', 'waterfall', '--csv', 'people.csv', '-o', 'out.csv', '--yes']
const types = ['--enrichment-type', 'email', '--summary-json', 'sum.json']

const people = (...names: string[]) =>
  here.write(
    'people.csv',
    `first_name,last_name,domain\n${names.map((name) => `Ada,${name},acme.example\n`).join('')}`,
  )

const run = () => here.run([...argv, ...types], { env: ownEnv() })

const emails = () => here.rows('out.csv').map((row) => row.email)

const stats = async () => (await here.json<Readonly<Record<string, number>>[]>('providers', 'stats'))[0]

const submittedOf = async (vendor: Awaited<ReturnType<typeof callingVendor>>, count: number) =>
  expect.poll(() => vendor.works.size).toBe(count)

it('takes the signed answer of a vendor by its webhook, once, and nothing else that arrives there', async () => {
  const vendor = closeAfterTest(await callingVendor())
  await here.run('init')
  await addProvider(here, file(vendor.origin, signed))
  const { url } = await listening(here)
  people('King', 'Nobody')
  const batch = run()
  await submittedOf(vendor, 2)
  const king = vendor.answerTo('King')
  expect(vendor.works.get('King')?.body.callback_url).toMatch(new RegExp(`^${url}/hooks/vendors/[\\w-]{22}$`))
  const other = { ...king, request: 'job-77' }
  expect([
    await vendor.send('King', king),
    await vendor.send('King', king, signature(king, 'another secret')),
    await vendor.send('King', king, signature(king, vendorKey, Date.now() - 600_000)),
    await vendor.send('King', other, signature(other)),
    await vendor.send('King', '<html>', signature({})),
    (await fetch(`${url}/hooks/vendors/${'a'.repeat(22)}`, { method: 'POST', body: '{}' })).status,
    (await fetch(vendor.works.get('King')?.body.callback_url ?? '')).status,
  ]).toEqual([401, 401, 401, 404, 401, 404, 405])
  expect(await vendor.send('King', king, signature(king))).toBe(200)
  const nobody = vendor.answerTo('Nobody', null)
  expect(await vendor.send('Nobody', nobody, signature(nobody))).toBe(200)
  expect((await batch).code).toBe(0)
  expect(emails()).toEqual(['king@acme.example', ''])
  // Repeated and late ones change nothing, whatever they say.
  const late = vendor.answerTo('King', 'other@acme.example')
  expect(await vendor.send('King', late, signature(late))).toBe(200)
  expect(await vendor.send('Nobody', king, signature(king))).toBe(404)
  expect((await run()).code).toBe(0)
  expect(emails()).toEqual(['king@acme.example', ''])
  expect(vendor.submitted.toSorted()).toEqual(['King', 'Nobody'])
  expect(vendor.polled).toEqual([])
  expect(await stats()).toMatchObject({ asked: 2, found: 1, not_found: 1, unknown: 0, cost: 1 })
})

it('verifies Standard Webhooks with a secret of their own', async () => {
  const vendor = closeAfterTest(await callingVendor())
  await here.run('init')
  here.write('one.yaml', file(vendor.origin, ', sign: standard'))
  const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
  here.write('secret.txt', secret, 0o600)
  const add = 'providers add one.yaml --key-stdin --allow-target 127.0.0.0/8'
  expect((await here.run(add, { stdin: vendorKey })).stderr).toContain('whose secret begins with whsec_')
  expect((await here.run(`${add} --webhook-secret-file secret.txt`, { stdin: vendorKey })).code).toBe(0)
  await listening(here)
  people('King')
  const batch = run()
  await submittedOf(vendor, 1)
  const body = vendor.answerTo('King')
  const time = String(Math.floor(Date.now() / 1_000))
  const hash = createHmac('sha256', Buffer.alloc(24, 7)).update(`msg_1.${time}.${JSON.stringify(body)}`)
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': time }
  expect(await vendor.send('King', body, headers)).toBe(401)
  expect(
    await vendor.send('King', body, { ...headers, 'webhook-signature': `v1,${hash.digest('base64')}` }),
  ).toBe(200)
  expect((await batch).code).toBe(0)
  expect(emails()).toEqual(['king@acme.example'])
})

it('takes an answer over PostgreSQL, where another machine listens', async () => {
  const { url: database, drop } = await freshSchema()
  const env = { ...ownEnv(), PROSPECT_DATABASE_URL: database }
  const vendor = closeAfterTest(await callingVendor())
  await here.run('init', { env })
  await addProvider(here, file(vendor.origin, ''), env)
  const { end } = await listening(here, env)
  people('King')
  const batch = here.run([...argv, ...types], { env })
  await submittedOf(vendor, 1)
  expect(await vendor.send('King', vendor.answerTo('King'))).toBe(200)
  expect((await batch).code).toBe(0)
  expect(emails()).toEqual(['king@acme.example'])
  expect(await vendor.send('King', vendor.answerTo('King', 'other@acme.example'))).toBe(200)
  expect(vendor.submitted).toEqual(['King'])
  await end()
  await drop()
})

it('is not asked where its answer could arrive nowhere, and says so', async () => {
  const vendor = closeAfterTest(await callingVendor())
  await here.run('init')
  await addProvider(here, file(vendor.origin, ''))
  people('King')
  expect((await run()).stderr).toContain(
    'acmecalls sends its answers to this machine, and prospect listen --public-url does not run: 1 row',
  )
  // One that has ended is known to have.
  await (await listening(here)).end()
  people('Queen')
  await run()
  const { not_asked } = JSON.parse(here.read('sum.json')) as { not_asked: object[] }
  expect(not_asked).toEqual([{ provider: 'acmecalls', reason: 'no_webhook', rows: 1 }])
  expect(vendor.submitted).toEqual([])
  const test = await here.run('providers test acmecalls --first-name A --last-name B --domain acme.example')
  expect([test.code, test.stderr]).toEqual([2, expect.stringContaining('by webhook, which a test does not')])
})

it('polls where nothing receives, and where nothing has arrived', async () => {
  const vendor = closeAfterTest(await callingVendor())
  await here.run('init')
  await addProvider(here, file(vendor.origin, ', wait: 100ms, without: { poll_only: true }', polling))
  people('King')
  expect((await run()).code).toBe(0)
  await listening(here)
  people('Queen')
  expect((await run()).code).toBe(0)
  expect(emails()).toEqual(['queen@acme.example'])
  expect(vendor.works.get('King')?.body).toEqual({ last: 'King', poll_only: true })
  expect(vendor.works.get('Queen')?.body).toEqual({ last: 'Queen', callback_url: expect.any(String) })
  expect(vendor.polled.toSorted()).toEqual(['job-1', 'job-2'])
  // What arrives after all changes nothing.
  expect(await vendor.send('Queen', vendor.answerTo('Queen', 'other@acme.example'))).toBe(200)
  expect(await stats()).toMatchObject({ asked: 2, found: 2, cost: 2 })
})

it('leaves work to what is delivered later when it is killed, and submits it once', async () => {
  const vendor = closeAfterTest(await callingVendor())
  await here.run('init')
  await addProvider(here, file(vendor.origin, signed))
  await listening(here)
  people('King', 'Queen', 'Prince')
  const killed = launch(prospect, [...argv, ...types], here.home, { PROSPECT_HOME: here.home, ...ownEnv() })
  onTestFinished(() => void killed.kill('SIGKILL'))
  await submittedOf(vendor, 3)
  // Accepted, and on record as such, or not yet: the answer comes to its address.
  killed.kill('SIGKILL')
  await killed
  const king = vendor.answerTo('King')
  expect(await vendor.send('King', king, signature(king))).toBe(200)
  const again = run()
  for (const name of ['Queen', 'Prince']) {
    const body = vendor.answerTo(name)
    expect(await vendor.send(name, body, signature(body))).toBe(200)
  }
  expect((await again).code).toBe(0)
  expect(emails()).toEqual(['king@acme.example', 'queen@acme.example', 'prince@acme.example'])
  expect(vendor.submitted.toSorted()).toEqual(['King', 'Prince', 'Queen'])
  expect(await stats()).toMatchObject({ asked: 3, found: 3, cost: 3, at_risk: 0 })
})

it('submits work once more with --retry-unknown whose answer was never sent', async () => {
  const vendor = closeAfterTest(await callingVendor())
  await here.run('init')
  await addProvider(here, file(vendor.origin, ', give_up: 2s'))
  await listening(here)
  people('King')
  for (const _ of [1, 2]) {
    expect((await run()).code).toBe(11)
    expect(vendor.submitted).toEqual(['King'])
  }
  const again = here.run([...argv, ...types, '--retry-unknown'], { env: ownEnv() })
  await expect.poll(() => vendor.submitted).toEqual(['King', 'King'])
  expect(await vendor.send('King', vendor.answerTo('King'))).toBe(200)
  expect((await again).code).toBe(0)
  expect(emails()).toEqual(['king@acme.example'])
  expect(await stats()).toMatchObject({ asked: 2, found: 1, unknown: 1, cost: 1, at_risk: 1 })
})

it.each([
  ['without a way for the answer', ', x: 1', 'webhook'],
  ['with a wait and nothing to poll', ', wait: 1m', 'wait and without of webhook are for a kind with poll'],
  ['with a signature over what is not known', signed.replace('{body}', '{path}'), '{path}'],
])('refuses a webhook %s', async (_, webhook, words) => {
  here.write('one.yaml', file('https://api.acme.example', webhook))
  const { code, stderr } = await here.run('providers check one.yaml')
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
})
