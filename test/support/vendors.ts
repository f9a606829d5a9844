import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The provider file that the documents print. */
export const acmemail = (base = 'https://api.acmemail.example/v2'): string => `name: acmemail
base_url: ${base}
auth: { header: X-API-KEY }
limits: { rates: [15/s, 500/min], concurrent: 20 }
balance: { get: /account, credits: body.data.left }
kinds:
  email:
    needs: [[first_name, last_name, domain], [full_name, domain]]
    request: { get: /email-finder, query: { domain: "{domain}", first_name: "{first_name}", last_name: "{last_name}" } }
    outcomes:
      - { when: "status == 200 && body.data.email != null", is: found }
      - { when: "status in [200, 404]", is: not_found }
      - { when: "status == 403", is: rate_limited, wait: 60s }
      - { when: "status == 429", is: out_of_credits }
      - { when: "status == 401", is: invalid_key }
    result: { email: body.data.email, email_status: { from: body.data.verification.status, map: { valid: valid, accept_all: risky, invalid: invalid }, else: risky } }
    cost: { found: 1, not_found: 0 }
  phone:
    needs: [[network_url]]
    submit: { post: /phones, body: { items: [{ id: "{row}", url: "{network_url}" }] }, id: body.request_id, accepted: "status in [200, 202]" }
    poll: { get: "/phones/{id}", every: 5s, done: "body.success == true", give_up: 10m }
    batch: { size: 250, items: body.data, by: id }
    outcomes: [{ when: "item.phone != null", is: found }, { when: "true", is: not_found }]
    result: { phone: item.phone }
    cost: { found: 10 }
`

/** A data vendor on this machine, which counts what it is asked and charges. */
export interface FakeVendor {
  readonly origin: string
  /** How often each row was asked about, by last name or profile. */
  readonly asked: ReadonlyMap<string, number>
  /** What it charged, in its credits. */
  readonly charged: () => number
  /** Every header and address that arrived. */
  readonly seen: readonly string[]
  close(): Promise<void>
}

/** Answers a request about a row; it may charge, or destroy the connection. */
type Behave = (
  row: string,
  times: number,
  response: ServerResponse,
  charge: (credits?: number) => void,
) => unknown

const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** What the vendor does with a row, by its last name, as the documented examples of vendors have it. */
export const byName: Behave = (row, times, response, charge) => {
  const found = (status: string) => {
    charge()
    json(response, 200, { data: { email: `${row.toLowerCase()}@acme.example`, verification: { status } } })
  }
  switch (row.replace(/\d+$/, '')) {
    case 'Nobody':
      return json(response, 404, { errors: [{ id: 'not_found' }] })
    case 'Catchall':
      return found('accept_all')
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

/** Starts a vendor. It takes work under `/phones` too, which is ready at the second poll, under an id of 64 bits. */
export async function fakeVendor(behave: Behave = byName): Promise<FakeVendor> {
  const asked = new Map<string, number>()
  const seen: string[] = []
  const jobs = new Map<string, { items: { id: string; url: string }[]; polls: number }>()
  let charged = 0
  const charge = (credits = 1) => {
    charged += credits
  }
  const count = (row: string): number => {
    asked.set(row, (asked.get(row) ?? 0) + 1)
    return asked.get(row) ?? 0
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://vendor')
      seen.push(`${request.url} ${JSON.stringify(request.headers)}`)
      if (pathname === '/account') return json(response, 200, { data: { left: 90 } })
      if (pathname === '/phones') {
        const { items } = JSON.parse(Buffer.concat(chunks).toString()) as {
          items: { id: string; url: string }[]
        }
        for (const { url } of items) count(url)
        const id = `90071992547409${String(93 + jobs.size)}`
        jobs.set(id, { items, polls: 0 })
        return response.writeHead(202).end(`{"request_id": ${id}}`)
      }
      const job = jobs.get(pathname.replace('/phones/', ''))
      if (job) {
        if (++job.polls < 2) return json(response, 200, { success: false })
        const data = job.items.map(({ id, url }, at) => ({
          id,
          phone: url.includes('none') ? null : `+336123456${String(10 + at)}`,
        }))
        charge(data.filter(({ phone }) => phone).length * 10)
        return json(response, 200, { success: true, data: data.reverse() })
      }
      if (pathname.startsWith('/phones/')) return json(response, 404, {})
      const row = searchParams.get('last_name') ?? ''
      return behave(row, count(row), response, charge)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ asked, seen, charged: () => charged },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The file of a provider of such a vendor, which is quick. */
export const fakeFile = (origin: string, name = 'acmemail', timeout = '60s'): string =>
  `timeout: ${timeout}\n${acmemail(origin)}`
    .replace('name: acmemail', `name: ${name}`)
    .replace('rates: [15/s, 500/min], ', '')
    .replace('every: 5s', 'every: 10ms')
    .replace('wait: 60s', 'wait: 10ms')
