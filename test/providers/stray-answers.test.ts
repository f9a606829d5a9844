import { createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { answering, closeAfterTest } from '../client/listeners.js'
import { numbersFrom } from '../client/stray-server.js'
import { machine } from '../support/command.js'
import { perFile, perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { addProvider, vendorNames } from '../support/vendors.js'

const here = perTest(machine)
const dns = perFile(vendorNames)

/** What a server does with each answer beside sending it, on a connection that it does not close. */
const habits = {
  'repeats each answer up to 6 ms later': { delayMs: 4, repeatMs: 6, isAppended: false },
  'repeats each answer at once, after a delay': { delayMs: 12, repeatMs: 0, isAppended: false },
  'appends the answer to itself': { delayMs: 4, repeatMs: undefined, isAppended: true },
} as const

/** A server that answers who is asked for, in the path or in the body. */
async function straying({ delayMs, repeatMs, isAppended }: (typeof habits)[keyof typeof habits]) {
  const random = numbersFrom(Date.now() % 1_000_000)
  const sockets = new Set<Socket>()
  let strays = 0
  const answer = async (socket: Socket, name: string) => {
    const text = JSON.stringify({ email: `${name.toLowerCase()}@acme.example`, said: name })
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: keep-alive\r\n'
    const whole = `${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
    await pause(random() * delayMs)
    strays++
    if (isAppended) return void socket.write(whole + text + whole)
    if (repeatMs === 0) return void socket.write(whole + whole)
    socket.write(whole)
    await pause(random() * (repeatMs ?? 0))
    socket.write(whole)
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    let read = ''
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      read += bytes
      for (;;) {
        const end = read.indexOf('\r\n\r\n')
        const length = Number(/content-length: (\d+)/i.exec(read)?.[1] ?? 0)
        if (end < 0 || read.length < end + 4 + length) return
        const request = read.slice(0, end + 4 + length)
        read = read.slice(request.length)
        const name = /last=(\w+)/.exec(request)?.[1] ?? /"name":"Company (\w+)"/.exec(request)?.[1] ?? ''
        void answer(socket, name)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return { origin: `http://127.0.0.1:${port}`, close, strays: () => strays, connections: () => sockets.size }
}

/** A vendor that finds addresses by last names. */
const byLastName = (origin: string): string => `name: acme
base_url: ${origin}
auth: { header: X-API-KEY }
kinds:
  email:
    needs: [[first_name, last_name, domain]]
    request: { get: /find, query: { last: "{last_name}" } }
    outcomes: [{ when: "body.email != null", is: found }]
    result: { email: body.email }
    cost: { found: 1 }
`

const rows = tries(80, 400)
const numbered = (count: number, name: string) => Array.from({ length: count }, (_, at) => `${name}${at}`)

it.each(Object.entries(habits))(
  'no row has the answer about another one where a vendor %s',
  async (_, how) => {
    const vendor = closeAfterTest(await straying(how))
    await here.run('init')
    await addProvider(here, byLastName(vendor.origin))
    const names = numbered(rows, 'King')
    here.write(
      'people.csv',
      `first_name,last_name,domain\n${names.map((name) => `Ada,${name},acme.example\n`).join('')}`,
    )
    const argv = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'
    const { code } = await here.run(argv, { env: { PROSPECT_DNS: dns.address } })
    expect(code).toBe(0)
    expect(here.rows('out.csv').map((row) => row.email)).toEqual(
      names.map((name) => `${name.toLowerCase()}@acme.example`),
    )
    expect([vendor.strays(), vendor.connections()]).toEqual([rows, rows])
  },
)

it.each(Object.entries(habits))(
  'no row has the answer about another one where an address %s',
  async (_, how) => {
    const address = closeAfterTest(await straying(how))
    await here.run('init')
    const names = numbered(rows, 'Row')
    here.write(
      'list.csv',
      `name,domain\n${names.map((name) => `Company ${name},${name}.example\n`).join('')}`,
    )
    here.write(
      'flow.yaml',
      `name: flow
input: { csv: list.csv }
steps: [{ http: { post: "${address.origin}", result: { said: said }, per_second: 10000 } }]
output: { csv: out.csv, columns: [name, said] }
`,
    )
    expect((await here.run('flow run flow.yaml')).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(names.map((name) => ({ name: `Company ${name}`, said: name })))
    expect([address.strays(), address.connections()]).toEqual([rows, rows])
  },
)

it.each(['the address alone', 'the names and the company beside it', 'the names alone'])(
  'no row of 200 has the answer to the question before, which has %s',
  async (has) => {
    let last: string | undefined
    const vendor = closeAfterTest(
      await answering(async (request, response) => {
        const name = String(new URL(request.url ?? '', 'http://vendor').searchParams.get('last'))
        const names = { first_name: 'Ada', last_name: name }
        const email = `${has === 'the address alone' ? name.toLowerCase() : `p${name.length}`}@acme.example`
        const beside = has === 'the names alone' ? names : { ...names, domain: 'acme.example' }
        const text = JSON.stringify({ email, person: has === 'the address alone' ? null : beside })
        response.end(last ?? text)
        last = text
      }),
    )
    await here.run('init')
    await addProvider(here, byLastName(vendor.origin))
    // No name is a part of another one.
    const names = numbered(200, '').map((at) => `${'abcdefghij'.charAt(Number(at) % 10)}x${at}king`)
    here.write(
      'people.csv',
      `first_name,last_name,domain\n${names.map((name) => `Ada,${name},acme.example\n`).join('')}`,
    )
    const argv = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'
    expect((await here.run(argv, { env: { PROSPECT_DNS: dns.address } })).code).toBe(11)
    const rows = here.rows('out.csv')
    // The vendor is left alone after a few of them.
    expect(rows.filter(({ _status }) => _status === 'found')).toHaveLength(1)
    expect(rows.filter(({ _error }) => _error === 'outcome_unknown').length).toBeGreaterThanOrEqual(5)
  },
)

it.each(['the names of whom it is about', 'nothing'])(
  'no row of 200 namesakes has the answer to the question before, which has %s beside the address',
  async (beside) => {
    let last: string | undefined
    const vendor = closeAfterTest(
      await answering(async (request, response) => {
        const domain = new URL(request.url ?? '', 'http://vendor').searchParams.get('domain')
        const names = beside === 'nothing' ? {} : { first_name: 'Ada', last_name: 'King' }
        const text = JSON.stringify({ email: `ada.king@${domain}`, ...names })
        response.end(last ?? text)
        last = text
      }),
    )
    await here.run('init')
    await addProvider(here, byLastName(vendor.origin).replace('last: "{last_name}"', 'domain: "{domain}"'))
    const lines = numbered(200, 'c-').map((company) => `Ada,King,${company}.example\n`)
    here.write('people.csv', `first_name,last_name,domain\n${lines.join('')}`)
    const argv = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'
    expect((await here.run(argv, { env: { PROSPECT_DNS: dns.address } })).code).toBe(11)
    const found = here.rows('out.csv').filter(({ _status }) => _status === 'found')
    expect(found.map(({ email, domain }) => email === `ada.king@${domain}`)).toEqual([true])
  },
)

it('a vendor that answers with a new name or company of whom it is asked about found them', async () => {
  const answers: Readonly<Record<string, object>> = {
    Lovelace: { email: 'ada.lovelace@beta.example' },
    King: { email: 'ada.king-noel@beta.example', last_name: 'King-Noel', domain: 'beta.example' },
    Noel: { email: 'an@gamma.example', full_name: 'Anne Noel', company_name: 'Beta' },
    Byron: { email: 'lord@acme.example', full_name: 'George Byron', domain: 'acme.example' },
  }
  const domains = {
    Lovelace: 'acme.example',
    King: 'acme.example',
    Noel: 'beta.example',
    Byron: 'gamma.example',
  }
  const vendor = closeAfterTest(
    await answering(async (request, response) => {
      const name = new URL(request.url ?? '', 'http://vendor').searchParams.get('last')
      response.end(JSON.stringify(answers[String(name)]))
    }),
  )
  await here.run('init')
  await addProvider(here, byLastName(vendor.origin))
  const lines = Object.entries(domains).map(([name, domain]) => `Ada,${name},${domain}\n`)
  here.write('people.csv', `first_name,last_name,domain\n${lines.join('')}`)
  const argv = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'
  expect((await here.run(argv, { env: { PROSPECT_DNS: dns.address } })).code).toBe(0)
  expect(here.rows('out.csv').map(({ _status }) => _status)).toEqual(['found', 'found', 'found', 'found'])
})
