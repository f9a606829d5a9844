import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { answering, received } from '../client/listeners.js'
import type { Machine } from './command.js'
import { nameServer } from './name-server.js'

const fixtureOf = (name: string) =>
  readFileSync(join(import.meta.dirname, '../fixtures/providers', name), 'utf8')

/** A provider file as the documents print one. */
export const acmemail = (base = 'https://api.acmemail.example/v2'): string =>
  fixtureOf('acmemail.yaml').replace('https://api.acmemail.example/v2', base)

/** A data vendor on this machine, which counts what it is asked and charges. */
export type FakeVendor = Awaited<ReturnType<typeof fakeVendor>>

/** Answers a request about a row; it may charge, or destroy the connection. */
type Behave = (
  row: string,
  times: number,
  response: ServerResponse,
  charge: (credits?: number) => void,
) => unknown

/** Called when a request has arrived, and when it was charged and answered. */
type OnRequest = (when: 'before' | 'after') => void

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** What the vendor does with a row, by its last name, as the documented examples of vendors have it. */
export const byName: Behave = (row, times, response, charge) => {
  const found = (status: string) => {
    charge()
    const name = row.toLowerCase()
    response.setHeader('x-spent', '10')
    json(response, 200, {
      data: {
        email: `${name}@acme.example`,
        verification: { status },
        name: `Ada ${row}`,
        title: 'CTO',
        domain: `${name}.example`,
        headcount: 7,
      },
      spent: 10,
    })
  }
  switch (row.replace(/\d+$/, '')) {
    case 'Nobody':
      response.setHeader('x-spent', '0')
      return json(response, 404, { errors: [{ id: 'not_found' }], spent: 0 })
    case 'Catchall':
      return found('accept_all')
    case 'Expired':
      return times === 1 ? json(response, 401, {}) : found('valid')
    case 'Limited':
      return times === 1 ? json(response, 403, {}) : found('valid')
    case 'Broke':
      return json(response, 429, {})
    case 'Badkey':
      return json(response, 401, {})
    case 'Slow':
      return charge()
    case 'Garbage':
      charge()
      return response.writeHead(200).end('<html>')
    case 'Half':
      charge()
      response.writeHead(200, { 'content-length': '500' }).write('{"data": {"email": "half@')
      return response.socket?.destroySoon()
    case 'Lost':
      charge()
      return response.socket?.destroy()
    case 'Faulty':
      return json(response, 500, {})
    case 'Empty':
      charge()
      return json(response, 200, { data: { email: 'no address' } })
    case 'Moved':
      return response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()
    default:
      return found('valid')
  }
}

/** The number of a profile whose handle has a number. */
export const phoneOf = (url: string): string => `+3361234${1_000 + Number(/\d+/.exec(url)?.[0] ?? 0)}`

/** What is known of work that was submitted. */
interface Work {
  readonly items: readonly { readonly id?: string; readonly url: string }[]
  polls: number
}

/**
 * Starts a vendor. It takes work under `/phones` too, which is ready at the second poll, under an id of 64 bits: until then
 * it is not ready with status 200. It finds nothing for profiles with `none`, and forgets work with one that has `gone`.
 * Under `/token` it gives out tokens for client credentials.
 */
export async function fakeVendor(behave: Behave = byName, onRequest: OnRequest = () => {}) {
  const asked = new Map<string, number>()
  const charges = new Map<string, number>()
  const seen: string[] = []
  const jobs = new Map<string, Work>()
  const add = (to: Map<string, number>, row: string, by: number): number => {
    const sum = (to.get(row) ?? 0) + by
    to.set(row, sum)
    return sum
  }
  const submit = (items: Work['items'], response: ServerResponse) => {
    for (const { url } of items) {
      add(asked, url, 1)
      if (!url.includes('none')) add(charges, url, 10)
    }
    const id = `90071992547409${String(93 + jobs.size)}`
    jobs.set(id, { items, polls: 0 })
    return response.writeHead(202).end(`{"request_id": ${id}}`)
  }
  const poll = (job: Work | undefined, response: ServerResponse) => {
    if (!job || job.items.some(({ url }) => url.includes('gone'))) return json(response, 404, {})
    if (++job.polls < 2) return json(response, 200, { success: false })
    const data = job.items.map(({ id, url }) => ({ id, phone: url.includes('none') ? null : phoneOf(url) }))
    // Items without an id are told by their order.
    return json(response, 200, { success: true, data: job.items[0]?.id ? data.reverse() : data })
  }
  const { origin, close } = await answering(async (request, response) => {
    const { body } = await received(request)
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://vendor')
    seen.push(`${request.url} ${JSON.stringify(request.headers)}`)
    onRequest('before')
    response.on('finish', () => onRequest('after'))
    if (pathname === '/account') return json(response, 200, { data: { left: 90 } })
    if (pathname === '/token')
      return json(response, 200, { access_token: `token ${seen.length}`, expires_in: 3600 })
    if (pathname === '/phones') return submit(JSON.parse(body).items, response)
    if (pathname.startsWith('/phones/')) return poll(jobs.get(pathname.slice(8)), response)
    // A company is what its domain begins with.
    const company = capital(searchParams.get('domain')?.split('.')[0] ?? '')
    const row = searchParams.get('last_name') ?? searchParams.get('email') ?? company
    const costs = pathname === '/people' || pathname === '/companies' ? 10 : 1
    return behave(row, add(asked, row, 1), response, (credits = costs) => void add(charges, row, credits))
  })
  return {
    origin,
    close,
    /** How often each row was asked about, by last name or profile. */
    asked,
    /** What it charged for each row, in its credits. */
    charges,
    /** Every header and address that arrived. */
    seen,
    /** All that it charged. */
    charged: () => [...charges.values()].reduce((sum, credits) => sum + credits, 0),
  }
}

/** The file of a provider that only verifies addresses. */
export const checkerFile = (origin: string): string => `name: checker
base_url: ${origin}
auth: { header: X-API-KEY }
kinds:
  verify:
    needs: [[email]]
    request: { get: /verify, query: { email: "{email}" } }
    outcomes: [{ when: "status == 200", is: found }]
    result: { email_status: body.data.verification.status }
    cost: { found: 1 }
`

/** The file of a provider of such a vendor, which is quick. */
export const fakeFile = (origin: string, name = 'acmemail', timeout = '60s'): string =>
  `timeout: ${timeout}\n${acmemail(origin)}${fixtureOf('more-kinds.yaml')}`
    .replace('name: acmemail', `name: ${name}`)
    .replace('rates: [15/s, 500/min], ', '')
    .replace('every: 5s', 'every: 10ms')
    .replace('wait: 60s', 'wait: 10ms')

/** The key at the vendors that `addProvider` adds. */
export const vendorKey = 'vendor-secret-key-0123456789'

/** Adds a provider to the workspace of a machine. */
export async function addProvider(
  here: Machine,
  file: string,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  here.write('one.yaml', file)
  const argv = ['providers', 'add', 'one.yaml', '--key-stdin', '--allow-target', '127.0.0.0/8']
  const { stderr } = await here.run(argv, { stdin: vendorKey, env })
  if (stderr !== '') throw new Error(stderr)
}

/** A name server by which `acme.example` takes mail, and no other domain does. */
export const vendorNames = () =>
  nameServer((name, type) => (type === 'MX' && name === 'acme.example' ? ['mx.acme.example'] : 'NXDOMAIN'))
