import { randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { openVendors } from '../../src/providers/vendors.js'
import type { Driver } from '../../src/storage/driver/connection.js'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { ends, errorOf, type Machine, machine } from '../support/command.js'
import { perFile } from '../support/each.js'
import { casesOf } from '../support/fixtures.js'
import { launch, prospect } from '../support/processes.js'
import { until } from '../support/until.js'
import {
  addProvider,
  byName,
  checkerFile,
  type FakeVendor,
  fakeFile,
  fakeVendor,
  vendorKey as key,
  phoneOf,
  vendorNames,
} from '../support/vendors.js'

let here: Machine
const dns = perFile(vendorNames)

type Behave = NonNullable<Parameters<typeof fakeVendor>[0]>
type Edit = (file: string, origin: string) => string

/** Makes a machine whose workspace has vendors that behave so, with their files edited, until the test has finished. */
async function withVendors(
  behaviours: readonly Behave[],
  edit: Edit = (file) => file,
): Promise<FakeVendor[]> {
  const made = machine()
  here = made
  onTestFinished(() => made.remove())
  await here.run('init')
  const vendors: FakeVendor[] = []
  for (const behave of behaviours) {
    const vendor = closeAfterTest(await fakeVendor(behave))
    vendors.push(vendor)
    await addProvider(here, edit(fakeFile(vendor.origin, `vendor${vendors.length}`), vendor.origin))
  }
  return vendors
}

const withVendor = async (edit?: Edit, behave = byName) =>
  (await withVendors([behave], edit))[0] as FakeVendor

const withTwo = async (first = byName, second = byName, edit?: Edit) =>
  (await withVendors([first, second], edit)) as [FakeVendor, FakeVendor]

const run = (...argv: string[]) => runAt(0, ...argv)
/** Runs a command on a machine whose clock is wrong by days. */
const runAt = (days: number, ...argv: string[]) => {
  const clock = { now: () => Date.now() + days * 86_400_000 }
  return here.run(argv, { stdin: key, env: { PROSPECT_DNS: dns.address }, ...(days === 0 ? {} : { clock }) })
}

const person = (lastName: string) =>
  `--first-name Ada --last-name ${lastName} --domain acme.example`.split(' ')

async function find(lastName: string, ...more: string[]): Promise<Record<string, unknown>> {
  const line = 'contacts waterfall --sync --enrichment-type email --json'.split(' ')
  const { stdout, stderr } = await run(...line, ...person(lastName), ...more)
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout)
}

describe('a waterfall over vendors', () => {
  it('takes the first answer with its source, costs nothing here, and asks nobody twice', async () => {
    const [one, two] = await withTwo()
    const found = {
      email: 'king@acme.example',
      email_status: 'valid',
      email_source: 'vendor1',
      credits_used: 0,
    }
    expect(await find('King')).toMatchObject(found)
    expect(await find('King')).toMatchObject(found)
    expect([one.asked.get('King'), two.asked.get('King'), one.charged()]).toEqual([1, undefined, 1])
  })

  it.each(casesOf<[string, string, number]>('providers/vendors/goes-on-after-which'))(
    'goes on after %s, which %s answers',
    async (name, source, charged) => {
      const found: Behave = (row, _, response, charge) => {
        charge()
        response.end(
          JSON.stringify({ data: { email: `${row}@acme.example`, verification: { status: 'valid' } } }),
        )
      }
      const [one] = await withTwo(byName, found, (file) =>
        name === 'Slow' ? file.replace('timeout: 60s', 'timeout: 2s') : file,
      )
      expect(await find(name)).toMatchObject({ email_source: source })
      expect(await find(name)).toMatchObject({ email_source: source })
      const times = { Limited: 2 }[name] ?? 1
      expect([one.asked.get(name), one.charged()]).toEqual([times, charged])
    },
  )

  it.each([
    ['contacts waterfall --enrichment-type email --sync', 1],
    ['contacts waterfall --enrichment-type email --wait', 1],
    ['leads enrich', 10],
    ['accounts enrich', 10],
  ])('says whose answer was lost where nobody found anything in %s, and asks no more', async (line, cost) => {
    const vendor = await withVendor()
    const who = line.startsWith('accounts')
      ? ['--domain', 'lost.example']
      : ['--first-name', 'Ada', '--last-name', 'Lost', '--domain', 'acme.example']
    for (const _ of [1, 2]) {
      const ended = await run(...line.split(' '), ...who, '--json')
      expect(errorOf(ended)).toMatchObject({
        exit_code: 10,
        code: 'outcome_unknown',
        error: expect.stringContaining('the answer of vendor1 was lost'),
      })
    }
    expect([[...vendor.asked.values()], vendor.charged()]).toEqual([[1], cost])
  })

  it('says who was not asked, and why', async () => {
    await withVendor()
    await find('Broke')
    const { message, not_asked } = await find('King')
    expect(message).toContain('not asked: vendor1 (out of credits)')
    expect(not_asked).toEqual([{ provider: 'vendor1', reason: 'out_of_credits' }])
    for (const how of ['--sync', '--wait']) {
      const line = ['contacts', 'waterfall', ...person('King'), '--enrichment-type', 'email', how, '--json']
      expect(errorOf(await run(...line))).toMatchObject({
        exit_code: 9,
        error: 'Nothing was found; not asked: vendor1 (out of credits).',
      })
    }
    await run('providers', 'enable', 'vendor1')
    expect(await find('King')).toMatchObject({ email_source: 'vendor1' })
  })

  it('says where it stands what vendors charged for a lookup that found nothing, and not that nothing was charged', async () => {
    await withVendor()
    here.write('own.csv', 'first_name,last_name,email,domain\nEve,Hill,eve@hill.example,hill.example\n')
    await ends(here.run('data import people own.csv'), 0)
    await ends(here.run('data import companies own.csv'), 0)
    const line = ['contacts', 'waterfall', ...person('Nobody'), '--enrichment-type', 'email', '--json']
    const hint = 'Nothing was charged here. What your data vendors charged: prospect ledger --by provider.'
    for (const how of ['--sync', '--wait'])
      expect(errorOf(await run(...line, how))).toMatchObject({ exit_code: 9, hint })
    const company = await run('accounts', 'enrich', '--domain', 'nobody.example', '--json')
    expect(errorOf(company)).toMatchObject({ exit_code: 9, hint: expect.stringContaining(hint) })
  })

  it('pays nobody for what another vendor was paid for', async () => {
    const [one, two] = await withTwo()
    await run('providers', 'disable', 'vendor1')
    await find('King')
    await run('providers', 'enable', 'vendor1')
    expect(await find('King')).toMatchObject({ email_source: 'vendor2' })
    expect([one.charged(), two.charged()]).toEqual([0, 1])
  })

  it('takes an address for risky whose domain takes no mail', async () => {
    const answer = { data: { email: 'ada@nomail.example', verification: { status: 'valid' } } }
    await withVendors([(_, __, response) => response.end(JSON.stringify(answer))])
    expect(await find('King')).toMatchObject({ email: 'ada@nomail.example', email_status: 'risky' })
  })

  it('asks nobody for an agent that was permitted no cost, nor beyond what it was', async () => {
    const vendor = await withVendor()
    const ask = (lastName: string, most?: Record<string, number>) => {
      const given = { env: { PROSPECT_DNS: dns.address }, vendors: { run: 'agent', most, others: 0 } }
      const line = ['contacts', 'waterfall', '--sync', ...person(lastName), '--enrichment-type', 'email']
      return here.run(line, given)
    }
    await ask('King')
    expect(vendor.asked.size).toBe(0)
    for (const name of ['One', 'Two', 'Three']) await ask(name, { vendor1: 2 })
    expect([...vendor.asked.keys()]).toEqual(['One', 'Two'])
  })
})

/** Adds a provider `own` with one or more kinds, whose vendor answers as it is told, and counts what it is asked. */
async function withAnswers(
  kinds: string,
  answer: (
    request: { readonly method: string; readonly url: URL; readonly body: string },
    times: number,
  ) => Said,
  { auth = '{ header: X-API-KEY }', apiKey = key } = {},
) {
  const seen: { readonly url: string; readonly body: string; readonly headers: IncomingHttpHeaders }[] = []
  const { origin } = closeAfterTest(
    await answering(async (request, response) => {
      const { body } = await received(request)
      const url = new URL(request.url ?? '', 'http://vendor')
      const times = seen.filter((one) => one.url === request.url).length
      seen.push({ url: String(request.url), body, headers: request.headers })
      const [status, said, headers = {}] = answer({ method: request.method ?? '', url, body }, times)
      response.writeHead(status, headers).end(Buffer.isBuffer(said) ? said : JSON.stringify(said))
    }),
  )
  here = machine()
  onTestFinished(() => here.remove())
  await here.run('init')
  const given = auth.replace('ORIGIN', origin)
  here.write('own.yaml', `name: own\nbase_url: ${origin}\nauth: ${given}\nkinds:\n${kinds}`)
  const add = 'providers add own.yaml --key-stdin --allow-target 127.0.0.0/8'
  const { code, stderr } = await here.run(add, { stdin: apiKey })
  if (code !== 0) throw new Error(stderr)
  return seen
}
type Said = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>]

/** A kind that is asked by name; `more` are further lines of it. */
const byNameKind = (kind: string, request: string, ...more: string[]) =>
  `  ${kind}:\n${['needs: [[first_name, last_name, domain]]', `request: ${request}`, ...more]
    .map((line) => `    ${line}\n`)
    .join('')}`

const emailOutcomes =
  'outcomes: [{ when: "status == 429", is: rate_limited, wait: 1h }, { when: "true", is: found }]'
const emailResult = ['result: { email: body.email }', 'cost: { from: body.credits, found: 1, not_found: 0 }']

describe('one request of a vendor', () => {
  const get = '{ get: /people, query: { last: "{last_name}" } }'
  const both = [
    byNameKind(
      'email',
      get,
      'outcomes: [{ when: "body.email != null", is: found }, { when: "status == 200", is: not_found }]',
      'result: { email: body.email }',
      'cost: { found: 1, not_found: 0 }',
    ),
    byNameKind(
      'phone',
      get,
      'outcomes: [{ when: "body.phone != null", is: found }, { when: "status == 200", is: not_found }]',
      'result: { phone: body.phone }',
      'cost: { found: 1, not_found: 0 }',
    ),
  ].join('')
  const body = { email: 'king@acme.example', phone: '+33612341000' }
  const who = [...person('King'), '--network-url', 'https://www.linkedin.com/in/king']

  it('that serves two kinds is sent and paid once', async () => {
    const seen = await withAnswers(both, () => [200, body])
    const types = '--enrichment-type email --enrichment-type phone'.split(' ')
    const line = ['contacts', 'waterfall', '--sync', ...who, ...types, '--max-cost', 'own=1', '--json']
    const { json } = await run(...line)
    expect(json).toMatchObject({
      email: body.email,
      email_source: 'own',
      phone: [body.phone],
      phone_source: 'own',
    })
    await run(...line.slice(0, -5), '--enrichment-type', 'phone')
    expect(seen).toHaveLength(1)
    expect(await here.json('providers stats')).toMatchObject([
      { kind: 'email', found: 1, cost: 1, at_risk: 0 },
      { kind: 'phone', found: 1, cost: 0, at_risk: 0 },
    ])
    expect(await here.json('ledger --by provider')).toMatchObject([{ provider: 'own', calls: 1, cost: 1 }])
    here.write('new.csv', 'first_name,last_name,domain\nAda,Queen,acme.example\nAda,Duke,acme.example\n')
    const quoted = await run('contacts', 'waterfall', '--csv', 'new.csv', ...types, '--dry-run', '--json')
    expect(quoted.json).toMatchObject({
      providers: [
        { provider: 'own', kind: 'email', max: 2 },
        { provider: 'own', kind: 'phone', max: 0 },
      ],
    })
  })

  it('that serves two kinds costs what one of them says, and gives back what was set aside', async () => {
    const seen = await withAnswers(
      both.replace('cost: { found: 1, not_found: 0 }\n  phone', 'cost: { found: 2, not_found: 0 }\n  phone'),
      () => [200, { email: null, phone: body.phone }],
    )
    for (const name of ['One', 'Two', 'Three'])
      await run(
        ...[
          'contacts',
          'waterfall',
          '--sync',
          ...person(name),
          '--network-url',
          `https://www.linkedin.com/in/${name}`,
        ],
        ...['--enrichment-type', 'email', '--enrichment-type', 'phone'],
      )
    expect(seen).toHaveLength(3)
    expect(await here.json('providers stats')).toMatchObject([
      { kind: 'email', not_found: 3, cost: 0, at_risk: 0 },
      { kind: 'phone', found: 3, cost: 3, at_risk: 0 },
    ])
  })
})

describe('a request to a vendor', () => {
  it('can be a form, with a client id and secret that became a token in a body', async () => {
    const seen = await withAnswers(
      byNameKind(
        'email',
        '{ post: /find, form: { last: "{last_name}", at: "{domain}", title: "{country}" } }',
        emailOutcomes,
        ...emailResult,
      ),
      ({ url }) =>
        url.pathname === '/token'
          ? [200, { access_token: 'token', expires_in: '3600' }]
          : [200, { email: 'king@acme.example' }],
      {
        auth: '{ oauth: { token_url: "ORIGIN/token", in: body } }',
        apiKey: 'my-client:my$&secret-0123',
      },
    )
    expect(await find('King&Co')).toMatchObject({ email_source: 'own' })
    const [token, asked] = seen
    expect(Object.fromEntries(new URLSearchParams(token?.body))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'my-client',
      client_secret: 'my$&secret-0123',
    })
    expect(token?.headers.authorization).toBeUndefined()
    expect([asked?.body, asked?.headers['content-type'], asked?.headers.authorization]).toEqual([
      'last=King%26Co&at=acme.example',
      'application/x-www-form-urlencoded',
      'Bearer token',
    ])
  })

  it('sends a key as it is', async () => {
    const seen = await withAnswers(
      byNameKind(
        'email',
        '{ get: /find, headers: { x-last: "{last_name}" } }',
        emailOutcomes,
        ...emailResult,
      ),
      () => [200, { email: 'king@acme.example' }],
      { auth: '{ headers: { authorization: "Key {key} {key_base64}" } }', apiKey: "a$&$'$$key-0123456789" },
    )
    await find('King')
    const base64 = Buffer.from("a$&$'$$key-0123456789").toString('base64')
    expect(seen[0]?.headers).toMatchObject({
      authorization: `Key a$&$'$$key-0123456789 ${base64}`,
      'x-last': 'King',
    })
  })

  it.each([
    ['retry-after', '1', 429],
    // Limits are refused with other statuses, too: what the file says of them decides.
    ['ratelimit-reset', '1', 403],
    ['ratelimit', '"minute";r=0;t=1', 429],
  ])(
    'is repeated when the vendor says with %s, and not when its file does',
    async (header, value, status) => {
      const refusedAt = new Map<string, number>()
      let early = 0
      const seen = await withAnswers(
        byNameKind(
          'email',
          '{ get: /find, query: { last: "{last_name}" } }',
          emailOutcomes.replace('429', `${status}`),
          ...emailResult,
        ),
        ({ url }) => {
          const name = String(url.searchParams.get('last')).toLowerCase()
          const before = refusedAt.get(name)
          if (before === undefined) {
            refusedAt.set(name, Date.now())
            return [status, {}, { [header]: value }]
          }
          if (Date.now() - before < 900) early++
          return [200, { email: `${name}@acme.example` }]
        },
      )
      const rows = await batch(numbered(12, 'King'))
      expect(rows.map((row) => row.email)).toEqual(numbered(12, 'king').map((name) => `${name}@acme.example`))
      // Each row that was refused is sent once again, after the second that the vendor wants.
      expect([seen.length, early]).toEqual([24, 0])
    },
  )

  it('is not waited for where the vendor wants to be left alone for hours', async () => {
    const kind = byNameKind(
      'email',
      '{ get: /find, query: { last: "{last_name}" } }',
      emailOutcomes,
      ...emailResult,
    )
    const seen = await withAnswers(kind, () => [429, {}, { 'retry-after': '7200' }])
    expect(await find('King')).toMatchObject({ message: 'No data found; not asked: own (rate limited)' })
    expect(await find('Queen')).toMatchObject({ message: 'No data found; not asked: own (rate limited)' })
    expect(seen).toHaveLength(1)
  })
})

describe('an answer of a vendor', () => {
  const kind = byNameKind(
    'email',
    '{ get: /find, query: { last: "{last_name}" } }',
    emailOutcomes,
    ...emailResult,
  )

  /** Looks up as many people as there are values; the vendor answers each with one of them. */
  async function answersTo(values: readonly unknown[], name = 'King', asked = kind) {
    const seen = await withAnswers(asked, ({ url }) => {
      const value = values[Number(/\d+$/.exec(url.searchParams.get('last') ?? '')?.[0])]
      return [200, { email: value, phone: value, credits: 0.5 }]
    })
    const names = numbered(values.length, name)
    const rows = await batch(names)
    await batch(names, '--refresh')
    return { seen, rows }
  }

  const numbers = kind
    .replace('email:', 'phone:')
    .replace('email: body.email', 'phone: body.phone')
    .replace('[[first_name, last_name, domain]]', '[[network_url]]')
    .replace('{last_name}', '{network_url}')

  it.each([
    ['an address', kind, 'King', casesOf<unknown>('providers/vendors/no-addresses')],
    [
      'a number',
      numbers,
      'https://www.linkedin.com/in/king',
      ['06 12 XX XX XX', '+33 6 ** ** ** 12', 'N/A', '', null, []],
    ],
  ])(
    'that has for %s what stands for none found nothing, at the cost that it names',
    async (_, asked, name, values) => {
      const { seen, rows } = await answersTo(values, name, asked)
      expect(values.filter((_, at) => rows[at]?._status !== 'not_found')).toEqual([])
      expect(seen).toHaveLength(values.length)
      expect(await here.json('providers stats')).toMatchObject([
        { not_found: values.length, unknown: 0, cost: 0.5 * values.length, at_risk: 0 },
      ])
    },
  )

  it('that has an address in another form found it', async () => {
    const address = 'ada.unknown@acme.example'
    const { rows } = await answersTo([
      'Ada.Unknown@acme.example',
      'mailto:Ada.Unknown@acme.example',
      `Ada King <${address}>`,
    ])
    const found = { email: address, email_source: 'own' }
    expect(rows).toMatchObject([found, found, found])
  })

  it.each([
    '{ "email": "king@acme.example", "credits": 1e999 }',
    '{ "email": "king@acme.example", "n": [-1e400] }',
  ])('that has a number beyond all numbers, %s, is an answer', async (text) => {
    await withAnswers(kind, () => [200, Buffer.from(text)])
    const test = 'providers test own --first-name Ada --last-name King --domain acme.example'
    expect(await here.json(test)).toMatchObject({ answer: { status: 200 }, cost: 1 })
    expect(await find('King')).toMatchObject({ email: 'king@acme.example', email_source: 'own' })
    expect(await here.json('providers stats')).toMatchObject([{ found: 2, cost: 2, at_risk: 0 }])
  })

  it.each([
    [{ 'content-type': 'application/json' }, 'latin1'],
    [{ 'content-type': 'application/json; charset=iso-8859-1' }, 'latin1'],
    [{ 'content-type': 'application/json; charset=iso-8859-1' }, 'utf8'],
    [{ 'content-type': 'application/json; charset="utf-16le"' }, 'utf16le'],
  ] as const)('with %j in %s has its letters', async (headers, encoding) => {
    const person = byNameKind('person', '{ get: /find }', emailOutcomes, 'result: { title: body.title }')
    await withAnswers(person, () => [200, Buffer.from('{"title":"Geschäftsführer"}', encoding), headers])
    const who = '--first-name Ada --last-name King --domain acme.example'
    expect(await here.json(`leads enrich ${who}`)).toMatchObject({ title: 'Geschäftsführer', source: 'own' })
  })

  it.each([{ status: 'ok' }, [], Buffer.from(''), null])(
    'that succeeds with %j, which no outcome fits, may have been charged, and is not asked for again',
    async (body) => {
      const found = 'outcomes: [{ when: "status == 200 && body.email != null", is: found }]'
      const seen = await withAnswers(kind.replace(emailOutcomes, found), () => [200, body])
      for (const _ of [1, 2]) {
        const line = [
          'contacts',
          'waterfall',
          '--sync',
          '--enrichment-type',
          'email',
          ...person('King'),
          '--json',
        ]
        const ended = await run(...line)
        expect([ended.code, ended.json]).toMatchObject([10, { answers_lost: ['own'] }])
      }
      expect(seen).toHaveLength(1)
      expect(await here.json('providers stats')).toMatchObject([{ unknown: 1, failed: 0, at_risk: 1 }])
    },
  )

  it('is read whatever its fields are called', async () => {
    const conditions = 'outcomes: [{ when: "body.data.email != null && body.constructor == 1", is: found }]'
    const own = byNameKind('email', '{ get: /find }', conditions, 'result: { email: body.data.email }')
    const data = { constructor: 'x', email: 'king@acme.example' }
    await withAnswers(own, () => [200, { constructor: 1, data }])
    expect(await find('King')).toMatchObject({ email: 'king@acme.example' })
  })
})

/** A file whose people say why they are refused, as its addresses do. */
const withPeopleOutcomes = (file: string): string =>
  file.replace(
    'outcomes: [{ when: "body.data.email != null", is: found }, { when: "status == 404"',
    'outcomes: [{ when: "status == 429", is: out_of_credits }, { when: "body.data.email != null", is: found }, { when: "status == 404"',
  )

/** A file of people at a company. */
const peopleCsv = (names: readonly string[]) =>
  `first_name,last_name,domain\n${names.map((name) => `Ada,${name},acme.example`).join('\n')}\n`

/** Looks up the email addresses of people at a company, or the numbers of profiles, in a file; answers its rows. */
async function batch(names: readonly string[], ...more: string[]) {
  const isPhone = names[0]?.startsWith('https:')
  const file = `people-${randomUUID()}`
  here.write(`${file}.csv`, isPhone ? `linkedin_url\n${names.join('\n')}\n` : peopleCsv(names))
  const argv = ['--csv', `${file}.csv`, '-o', `${file}-out.csv`, '--yes', '--enrichment-type']
  await run('contacts', 'waterfall', ...argv, isPhone ? 'phone' : 'email', ...more)
  return here.rows(`${file}-out.csv`)
}

const numbered = (count: number, name: string) => Array.from({ length: count }, (_, at) => `${name}${at}`)

describe('a vendor', () => {
  it('with OAuth gets a token for the client, once, and another one when it ends before its time', async () => {
    const vendor = await withVendor((file, origin) =>
      file.replace('header: X-API-KEY', `oauth: { token_url: "${origin}/token", scope: read }`),
    )
    await batch(['King', 'Queen'])
    expect(await find('Expired')).toMatchObject({ email_source: 'vendor1' })
    const tokens = vendor.seen.filter((one) => one.startsWith('/token'))
    expect(tokens).toHaveLength(3)
    expect(tokens[0]).toContain(`Basic ${Buffer.from(key).toString('base64')}`)
    expect(vendor.seen.filter((one) => one.includes('"Bearer token '))).toHaveLength(4)
    expect(vendor.charged()).toBe(3)
  })

  it('that takes several rows at once and answers in their order gives each row its own', async () => {
    await withVendor((file) => file.replace('by: id', 'by: order').replace('id: "{row}", ', ''))
    const urls = numbered(30, 'https://www.linkedin.com/in/p')
    const rows = await batch(urls)
    expect(rows.map((row) => row.phone)).toEqual(urls.map(phoneOf))
  })

  it('that answers several rows at once gives each row its own, and is asked about the rest of them apart', async () => {
    const kind = byNameKind(
      'phone',
      '{ post: /phones, body: { items: [{ id: "{row}", url: "{network_url}" }] } }',
      'batch: { size: 4, items: body.data, by: id }',
      'outcomes: [{ when: "item.phone != null", is: found }, { when: "true", is: not_found }]',
      'result: { phone: item.phone }',
      'cost: { found: 1 }',
    ).replace('[[first_name, last_name, domain]]', '[[network_url]]')
    const seen = await withAnswers(kind, ({ body }) => {
      const { items } = JSON.parse(body) as { items: { id: string; url: string }[] }
      const data = items.map(({ id, url }) => ({ id, phone: url.includes('none') ? null : phoneOf(url) }))
      return [200, { data: data.reverse() }]
    })
    const urls = [...numbered(9, 'https://www.linkedin.com/in/p'), 'https://www.linkedin.com/in/none']
    const rows = await batch(urls)
    expect(rows.map((row) => row.phone)).toEqual([...urls.slice(0, -1).map(phoneOf), ''])
    const sizes = seen.map(({ body }) => (JSON.parse(body) as { items: unknown[] }).items.length)
    expect([Math.max(...sizes), sizes.reduce((sum, size) => sum + size, 0)]).toEqual([4, 10])
  })

  it('that says of one of several rows that it failed has not found nothing', async () => {
    const kind = byNameKind(
      'phone',
      '{ post: /phones, body: { items: [{ id: "{row}", url: "{network_url}" }] } }',
      'batch: { size: 4, items: body.data, by: id }',
      `outcomes: [{ when: "item.state == 'failed'", is: failed }, { when: "item.phone != null", is: found }, { when: "true", is: not_found }]`,
      'result: { phone: item.phone }',
      'cost: { found: 1, not_found: 1 }',
    ).replace('[[first_name, last_name, domain]]', '[[network_url]]')
    await withAnswers(kind, ({ body }) => {
      const { items } = JSON.parse(body) as { items: { id: string; url: string }[] }
      return [200, { data: items.map(({ id, url }) => ({ id, phone: null, state: /\w+$/.exec(url)?.[0] })) }]
    })
    const rows = await batch(['https://www.linkedin.com/in/failed', 'https://www.linkedin.com/in/done'])
    expect(rows.map((row) => row._error)).toEqual(['Not asked: own (failed)', ''])
    expect(await here.json('providers stats')).toMatchObject([{ failed: 1, not_found: 1, cost: 1 }])
  })

  it('that fails five times in a row is left alone, and rows say so, also in a process that began long ago', async () => {
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 3_600_000)
    onTestFinished(() => void vi.restoreAllMocks())
    const vendor = await withVendor((file) => file.replace('concurrent: 20', 'concurrent: 1'))
    const errors = (await batch(numbered(12, 'Faulty'))).map((row) => row._error)
    const count = (text: string) => errors.filter((error) => error === text).length
    expect([count('outcome_unknown'), count('Not asked: vendor1 (failing)')]).toEqual([5, 7])
    expect(vendor.asked.size).toBe(5)
  })

  it.each([
    ['where it finds', 'King'],
    ['where its answers are lost, which it may have charged', 'Lost'],
  ])('gets no more of its credits in a day than its file permits, %s', async (_, name) => {
    const vendor = await withVendor((file) => `max_cost_per_day: 3\n${file}`)
    await batch(numbered(8, name))
    const [row] = await batch(['Late'])
    expect([vendor.charged(), row?._error]).toEqual([3, 'Not asked: vendor1 (budget)'])
  })

  it('is tested within the budget of its day, and what that costs is in the ledger', async () => {
    const vendor = await withVendor((file) => `max_cost_per_day: 3\n${file}`)
    const test = (name: string) => run('providers', 'test', 'vendor1', '--json', ...person(name))
    for (const name of ['King', 'Nobody', 'Lost', 'Broke', 'Queen']) await test(name)
    const ledger = await here.json<object[]>('ledger', '--by', 'provider')
    expect([vendor.charged(), ledger]).toEqual([
      3,
      [expect.objectContaining({ provider: 'vendor1', calls: 4, cost: 2, at_risk: 1 })],
    ])
    expect(errorOf(await test('Late'))).toMatchObject({
      exit_code: 12,
      error: 'A test of vendor1 may cost 1, which is more than max_cost_per_day of its file leaves today.',
    })
    const [row] = await batch(['Late'])
    expect([vendor.charged(), row?._error]).toEqual([3, 'Not asked: vendor1 (budget)'])
  })

  it('gets no more of its credits in a day because the clock went back or forth', async () => {
    const vendor = await withVendor((file) => `max_cost_per_day: 3\n${file}`)
    const charged: number[] = []
    for (const [at, days] of [0, -1, 0, 1, 0, -1, 1].entries()) {
      here.write(`people-${at}.csv`, peopleCsv(numbered(8, `King${at}x`)))
      const line = `contacts waterfall --csv people-${at}.csv -o out-${at}.csv --yes --enrichment-type email`
      await runAt(days, ...line.split(' '))
      charged.push(vendor.charged())
    }
    expect(charged).toEqual([3, 3, 3, 6, 6, 6, 6])
  })

  it('is asked about as many rows at once as the budget suffices for, however little one costs', async () => {
    const vendor = await withVendor((file) => file.replace('found: 10 }', 'found: 0.000001 }'))
    const urls = numbered(20, 'https://www.linkedin.com/in/p')
    const rows = await batch(urls, '--max-cost', 'vendor1=0.000003')
    expect([vendor.asked.size, rows.filter((row) => row.phone !== '').length]).toEqual([3, 3])
  })

  it('is asked where the condition of an order is true, of a row or of what the catalogue knows', async () => {
    const [one, two] = await withTwo()
    here.write('companies.csv', 'name,domain,headcount\nBig,big.example,900\n')
    expect((await run('data', 'import', 'companies', 'companies.csv')).code).toBe(0)
    await here.json('providers', 'order', 'email', 'vendor2', '--when', 'headcount > 500')
    const named = await run('providers', 'order', 'email', 'vendor1', '--when', 'country == "Sweden"')
    expect([named.code, named.stderr]).toEqual([2, expect.stringContaining('Did you mean "SE"?')])
    await here.json(`providers order email vendor1 --when 'country == null && last_name == "King"'`)
    const at = (domain: string, name: string) => [...person(name).slice(0, -1), domain]
    for (const who of [at('big.example', 'King'), at('small.example', 'King'), at('small.example', 'Nobody')])
      await run('contacts', 'waterfall', '--sync', '--enrichment-type', 'email', ...who)
    const once = new Map([
      ['King', 1],
      ['Nobody', 1],
    ])
    expect([one.asked, two.asked]).toEqual([once, once])
  })

  it('verifies risky addresses of others, and guesses', async () => {
    await withVendor()
    const checker = closeAfterTest(await fakeVendor())
    await addProvider(here, checkerFile(checker.origin))
    expect(await find('Catchall')).toMatchObject({ email_status: 'valid', email_source: 'vendor1' })
    expect(await find('King')).toMatchObject({ email_status: 'valid' })
    expect([...checker.asked]).toEqual([['catchall@acme.example', 1]])
  })

  const found = { full_name: 'Ada King', title: 'CTO', most_probable_email: 'king@acme.example' }
  it.each([
    ['leads enrich', person('King'), found],
    [
      'accounts enrich',
      ['--domain', 'new.example'],
      { name: 'Ada New', domain: 'new.example', headcount: 7 },
    ],
  ])('answers %s where the catalogue has nothing', async (line, who, fields) => {
    const vendor = await withVendor()
    for (const _ of [1, 2])
      expect(await here.json(...line.split(' '), ...who)).toMatchObject({ ...fields, source: 'vendor1' })
    expect(vendor.charged()).toBe(10)
  })

  it('says which one could not be asked where a lookup finds nothing', async () => {
    await withVendors([(_, __, response) => response.writeHead(429).end('{}')], withPeopleOutcomes)
    expect(errorOf(await run('leads', 'enrich', ...person('King'), '--json'))).toMatchObject({
      exit_code: 9,
      error: 'No person found; not asked: vendor1 (out of credits)',
    })
  })
})

describe('a batch over vendors', () => {
  it('uses a budget up, whatever the rows before have not cost', async () => {
    const vendor = await withVendor()
    const rows = await batch([...numbered(20, 'Nobody'), ...numbered(12, 'King')], '--max-cost', 'vendor1=10')
    expect([vendor.charged(), rows.filter((row) => row._status === 'found').length]).toEqual([10, 10])
    await batch(numbered(20, 'https://www.linkedin.com/in/p'), '--max-cost', 'vendor1=50')
    expect(vendor.charged()).toBe(60)
  })

  it.each([
    ['contacts waterfall --enrichment-type email', 1, 'vendor1'],
    ['leads enrich', 10, ''],
  ])(
    'of %s has the outcome unknown where an answer was lost, names the vendor, and asks no more',
    async (line, cost, lost) => {
      const vendor = await withVendor()
      here.write('people.csv', peopleCsv(['King', 'Lost', 'Nobody']))
      const batch = [...line.split(' '), '--csv', 'people.csv', '-o', 'out.csv', '--yes']
      for (const code of [11, 11]) {
        expect((await run(...batch)).code).toBe(code)
        expect(here.rows('out.csv').map((row) => [row._status, row._error, row.answers_lost ?? ''])).toEqual([
          ['found', '', ''],
          ['failed', 'outcome_unknown', lost],
          ['not_found', expect.anything(), ''],
        ])
      }
      expect([[...vendor.asked.values()], vendor.charged()]).toEqual([[1, 1, 1], 2 * cost])
    },
  )

  it.each([
    ['contacts waterfall --enrichment-type email', 'King', 1],
    ['contacts waterfall --enrichment-type email', 'Nobody', 0],
    ['leads enrich', 'King', 10],
  ])(
    'of %s asks about %s once more with --retry-unknown, and counts what the lost answer may have cost',
    async (line, name, cost) => {
      const faulty: Behave = (row, times, ...rest) => byName(times < 3 ? 'Faulty' : row, times, ...rest)
      const vendor = await withVendor(undefined, faulty)
      here.write('people.csv', peopleCsv([name]))
      const batch = [...line.split(' '), '--csv', 'people.csv', '-o', 'out.csv', '--yes']
      const asked = async (...more: string[]) => {
        const { code } = await run(...batch, ...more)
        const spent = await here.json<Record<string, unknown>[]>('ledger --by provider')
        const { calls, cost, at_risk } = spent.find(({ provider }) => provider === 'vendor1') ?? {}
        return [code, vendor.asked.get(name), calls, cost, at_risk]
      }
      const most = line.startsWith('leads') ? 10 : 1
      expect(await asked()).toEqual([11, 1, 1, 0, most])
      expect(await asked()).toEqual([11, 1, 1, 0, most])
      expect(await asked('--retry-unknown')).toEqual([11, 2, 2, 0, 2 * most])
      expect(await asked()).toEqual([11, 2, 2, 0, 2 * most])
      expect(await asked('--retry-unknown')).toEqual([0, 3, 3, cost, 2 * most])
      expect(await asked('--retry-unknown')).toEqual([0, 3, 3, cost, 2 * most])
      expect(here.rows('out.csv')[0]?._status).toBe(name === 'King' ? 'found' : 'not_found')
    },
  )

  it.each([
    [
      'contacts waterfall --enrichment-type email',
      'King',
      'first_name,last_name,domain\nAda,King,acme.example\n',
    ],
    ['leads enrich', 'King', 'first_name,last_name,domain\nAda,King,acme.example\n'],
    ['accounts enrich', 'King', 'domain\nking.example\n'],
  ])(
    'of %s holds no credits for a row whose vendor lost its answer, as the engine does, and holds them again to ask once more',
    async (command, name, csv) => {
      const faulty: Behave = (row, times, ...rest) => byName(times < 2 ? 'Faulty' : row, times, ...rest)
      const vendor = await withVendor(undefined, faulty)
      const line = `${command} --csv people.csv -o out.csv --yes`.split(' ')
      here.write('people.csv', csv)
      expect((await run(...line)).code).toBe(11)
      const expectHeld = async (most: number) => {
        expect(await here.json('runs show --last')).toMatchObject({ credits_reserved: most })
        expect(await here.json('explain people.csv --row 1')).toMatchObject({ credits_held: most })

        expect(JSON.stringify(await here.json('ledger check'))).toContain(`"open":${most}`)
      }
      await expectHeld(0)
      expect((await run(...line, '--retry-unknown', '--max-credits', '0')).code).toBe(12)
      expect(vendor.asked.get(name)).toBe(1)
      expect((await run(...line, '--retry-unknown', '--max-credits', '5')).code).toBe(0)
      expect(vendor.asked.get(name)).toBe(2)
      await expectHeld(0)
    },
  )

  it('asks a vendor whose answer was lost no more than its budget allows, also with --retry-unknown', async () => {
    const vendor = await withVendor()
    const line = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'.split(' ')
    here.write('people.csv', peopleCsv(['Faulty']))
    await run(...line, '--max-cost', 'vendor1=1')
    await run(...line, '--max-cost', 'vendor1=1', '--retry-unknown')
    expect(vendor.asked.get('Faulty')).toBe(1)
    expect(here.rows('out.csv')[0]?._error).toBe('outcome_unknown')
    await run(...line, '--max-cost', 'vendor1=2', '--retry-unknown')
    expect(vendor.asked.get('Faulty')).toBe(2)
  })

  it('is quoted by its newest answers, whatever earlier files were like', async () => {
    await withVendor()
    await batch(numbered(60, 'Nobody'))
    await batch(numbered(60, 'King'))
    here.write('new.csv', peopleCsv(numbered(100, 'New')))
    const line = 'contacts waterfall --csv new.csv --enrichment-type email --dry-run --json'
    const { json } = await run(...line.split(' '))
    expect(json).toMatchObject({ providers: [{ provider: 'vendor1', expected: 100, max: 100 }] })
  })

  it('is quoted by the hit rates of vendors so far, and by budgets', async () => {
    await withTwo()
    await batch([...numbered(12, 'King'), ...numbered(12, 'Nobody')])
    here.write('new.csv', peopleCsv(numbered(100, 'New')))
    const quote = ['contacts', 'waterfall', '--csv', 'new.csv', '--enrichment-type', 'email', '--dry-run']
    const { json } = await run(...quote, '--json', '--max-cost', 'vendor2=30')
    expect(json).toMatchObject({
      providers: [
        { provider: 'vendor1', kind: 'email', expected: 50, max: 100 },
        { provider: 'vendor2', kind: 'email', expected: 0, max: 30 },
      ],
    })
    const misspelt = await here.run([...quote, '--max-cost', 'vendro2=30'])
    expect([misspelt.code, misspelt.stderr]).toEqual([
      2,
      expect.stringMatching(/there is no provider vendro2\..*Did you mean vendor2\?/),
    ])
    const { stdout } = await here.run(quote, { terminal: true, columns: 110 })
    expect(stdout).toContain('vendor1 about 50, at most 100 of its credits for email')
  })

  it('goes on without a vendor that only refuses for its rate, after its patience, and says so', async () => {
    const refuses: Behave = (_, __, response) => response.writeHead(403).end('{}')
    const [one, two] = await withTwo(refuses, byName, (file) =>
      file.replace('timeout: 60s', 'timeout: 60s\npatience: 1s').replace('wait: 10ms', 'wait: 300ms'),
    )
    here.write('people.csv', peopleCsv(numbered(40, 'King')))
    const line = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'
    const { stderr } = await run(...line.split(' '), '--summary-json', 'sum.json')
    const rows = here.rows('out.csv')
    expect(rows.map((row) => row.email_source)).toEqual(rows.map(() => 'vendor2'))
    expect(stderr).toContain('vendor1 is at its rate limit: 40 rows went on without it.')
    expect(JSON.parse(here.read('sum.json')).not_asked).toEqual([
      { provider: 'vendor1', reason: 'rate_limited', rows: 40 },
    ])
    expect([one.charged(), two.charged()]).toEqual([0, 40])
    // Without it, each row alone would be repeated thirty times.
    expect([...one.asked.values()].reduce((sum, times) => sum + times, 0)).toBeLessThan(400)
  })

  it('does not lose patience with a vendor that answers in between', async () => {
    let [requests, passed] = [0, 0]
    // It answers every fourth request, and its patience is over between two answers if it counts from the first refusal.
    const vendor = await withVendor(
      (file) =>
        file
          .replace('timeout: 60s', 'timeout: 60s\npatience: 30s')
          .replace(/concurrent: \d+/, 'concurrent: 1'),
      (row, times, response, charge) => {
        if (++requests % 4 > 0) return response.writeHead(403).end('{}')
        passed += 40_000
        return byName(row, times, response, charge)
      },
    )
    here.write('people.csv', peopleCsv(numbered(6, 'King')))
    const line = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'
    const clock = { now: () => Date.now() + passed }
    await here.run(line, { env: { PROSPECT_DNS: dns.address }, clock })
    expect(here.rows('out.csv').filter((row) => row._status === 'found')).toHaveLength(6)
    expect(vendor.charged()).toBe(6)
  })

  it('is quoted for the vendors that only some rows meet, and once for kinds that share a request', async () => {
    await withTwo()
    await here.json('providers', 'order', 'email', 'vendor1')
    await here.json('providers', 'order', 'email', 'vendor2', '--when', 'headcount > 500')
    here.write('new.csv', peopleCsv(numbered(100, 'New')))
    const quote = 'contacts waterfall --csv new.csv --enrichment-type email --dry-run --json'.split(' ')
    expect((await run(...quote)).json).toMatchObject({
      providers: [
        { provider: 'vendor1', kind: 'email', max: 100 },
        { provider: 'vendor2', kind: 'email', max: 100 },
      ],
    })
  })

  it('says of each row which vendors could not be asked, and why', async () => {
    await withVendor()
    await find('Broke')
    const not_asked = 'vendor1 (out of credits)'
    expect(await batch(['King'])).toMatchObject([
      { _status: 'not_found', _error: `Not asked: ${not_asked}`, not_asked },
    ])
  })

  it('says what a vendor needs that is not known of a row, and asks it nothing', async () => {
    const vendor = await withVendor()
    here.write(
      'people.csv',
      'first_name,last_name,company_name,domain\nAda,King,Acme,acme.example\nAda,Placeless,Acme,\n',
    )
    const line = 'contacts waterfall --csv people.csv -o out.csv --enrichment-type email --yes'.split(' ')
    const { stderr } = await run(...line, '--summary-json', 'sum.json')
    expect(stderr).toContain('vendor1 needs a domain: 1 row went on without it.')
    expect(JSON.parse(here.read('sum.json')).not_asked).toEqual([
      { provider: 'vendor1', reason: 'it needs a domain', rows: 1 },
    ])
    expect(here.rows('out.csv')).toMatchObject([
      { _status: 'found', not_asked: '' },
      { _status: 'not_found', not_asked: 'vendor1 (it needs a domain)' },
    ])
    expect([...vendor.asked.keys()]).toEqual(['King'])
  })

  it.each([
    ['contacts waterfall --enrichment-type email', 429, 'out_of_credits', 'is out of credits'],
    ['leads enrich', 429, 'out_of_credits', 'is out of credits'],
    ['contacts waterfall --enrichment-type email', 401, 'invalid_key', 'refused its key'],
  ])(
    'of %s says which vendor answered %d, and how many rows went on',
    async (line, status, reason, words) => {
      const refusing: Behave = (_, __, response) => response.writeHead(status).end('{}')
      await withTwo(refusing, byName, withPeopleOutcomes)
      here.write('people.csv', peopleCsv([...numbered(6, 'King'), ...numbered(2, 'Nobody')]))
      const batch = [...line.split(' '), '--csv', 'people.csv', '-o', 'out.csv', '--yes']
      const { stderr } = await run(...batch, '--summary-json', 'sum.json')
      expect(stderr).toContain(`vendor1 ${words}: 8 rows went on without it.`)
      const { not_asked } = JSON.parse(here.read('sum.json'))
      expect(not_asked).toEqual([{ provider: 'vendor1', reason, rows: 8 }])
      expect(here.rows('out.csv').filter((row) => row._status === 'found')).toHaveLength(6)
    },
  )

  it.each([
    [429, 'when it has credits again', 'file'],
    [401, 'when its key is right', 'file'],
    [429, 'when it has credits again', 'flow'],
  ] as const)(
    'that answered %d is asked %s by the same command of a %s, about what it could not be asked',
    async (status, when, kind) => {
      let isRefusing = true
      const vendor = await withVendor(undefined, (row, times, response, charge) =>
        isRefusing && row !== 'King0'
          ? response.writeHead(status).end('{}')
          : byName(row, times, response, charge),
      )
      here.write('people.csv', peopleCsv([...numbered(4, 'King'), 'Nobody']))
      const steps = 'steps: [contacts.enrich: { enrichment_type: [email] }, keep: email != null]'
      here.write('flow.yaml', `name: x\ninput: { csv: people.csv }\n${steps}\noutput: { csv: out.csv }\n`)
      const batch = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'
      const again = () => run(...(kind === 'file' ? batch : 'flow run flow.yaml --yes').split(' '))
      const found = () => here.rows('out.csv').filter((row) => row.email !== '').length
      const enable = 'prospect providers enable vendor1, then the same command.'
      const first = await again()
      expect(first.stderr).toContain(`To ask it about them ${when}: ${enable}`)
      const before = found()
      // It is left alone for a while, so that there is nobody to ask.
      expect((await again()).code).toBe(0)
      expect(found()).toBe(before)
      isRefusing = false
      await here.json('providers', 'enable', 'vendor1')
      const last = await again()
      expect([last.code, last.stderr.includes('without it')]).toEqual([0, false])
      expect([found(), vendor.charged()]).toEqual([4, 4])
      expect((await again()).code).toBe(0)
      expect([found(), vendor.charged()]).toEqual([4, 4])
    },
  )

  it('says in the summary of a flow and in flow show which vendor could not be asked, and what the others cost', async () => {
    await withVendors([(_, __, response) => response.writeHead(429).end('{}'), byName])
    here.write('people.csv', peopleCsv(['King']))
    const flow = 'name: x\ninput: { csv: people.csv }\nsteps: [contacts.enrich: { enrichment_type: [email] }]'
    here.write('flow.yaml', `${flow}\noutput: { csv: out.csv }\n`)
    const { stderr } = await run('flow', 'run', 'flow.yaml', '--yes')
    expect(stderr).toContain('vendor1 is out of credits: 1 row went on without it.')
    expect(stderr).toContain('Own credits of data vendors: vendor2 1.')
    expect(await here.json('flow', 'show', '--last')).toMatchObject({
      steps: [{ not_asked: [{ provider: 'vendor1', reason: 'out_of_credits', rows: 1 }] }],
      vendors: [{ provider: 'vendor2', calls: 1, cost: 1, at_risk: 0 }],
    })
    for (const show of ['flow show', 'runs show'])
      expect((await here.run(`${show} --last --format table`)).stdout).toMatch(
        /^Vendors .*vendor2: asked 1 time, 1 credit of its own$/m,
      )
  })

  it('spends no more than its budget at a vendor, asks the next one, and says who gave each value', async () => {
    const [one, two] = await withTwo()
    const budgets = ['--max-cost', 'vendor1=10', '--max-cost', 'vendor2=15']
    here.write('people.csv', peopleCsv(numbered(30, 'King')))
    const line = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'
    const { stderr } = await run(...line.split(' '), ...budgets)
    const rows = here.rows('out.csv')
    expect([one.charged(), two.charged()]).toEqual([10, 15])
    expect(stderr).toContain('Own credits of data vendors: vendor1 10, vendor2 15.')
    const [{ id = '' } = {}] = await here.json<{ id: string }[]>('runs', 'list')
    const vendors = [
      { provider: 'vendor1', calls: 10, cost: 10, at_risk: 0 },
      { provider: 'vendor2', calls: 15, cost: 15, at_risk: 0 },
    ]
    expect(await here.json('runs', 'show', id)).toMatchObject({ vendors })
    for (const name of ['vendor1', 'vendor2']) await here.json('providers', 'disable', name)
    expect(await here.json('runs', 'show', id)).toMatchObject({ vendors })
    const count = (name: string) => rows.filter(({ email_source }) => email_source === name).length
    expect([count('vendor1'), count('vendor2'), count('')]).toEqual([10, 15, 5])
  })

  it('spends no more than its budget at a vendor when a flow is resumed by its id', async () => {
    const vendor = await withVendor()
    here.write('people.csv', peopleCsv(numbered(3, 'King')))
    const flow = 'name: x\ninput: { csv: people.csv }\nsteps: [contacts.enrich: { enrichment_type: [email] }]'
    here.write('flow.yaml', `${flow}\noutput: { csv: out.csv }\n`)
    await run('flow', 'run', 'flow.yaml', '--yes', '--max-cost', 'vendor1=1')
    await run('flow', 'resume', '--last', '--yes')
    expect(vendor.charged()).toBe(1)
    await run('flow', 'resume', '--last', '--yes', '--max-cost', 'vendor1=3')
    expect(vendor.charged()).toBe(3)
  })

  it('asks about rows that its budget had left when that allows it, and pays nothing twice for the others', async () => {
    const vendor = await withVendor()
    here.write('people.csv', peopleCsv([...numbered(12, 'King'), 'King11', 'Nobody1']))
    const line = 'contacts waterfall --csv people.csv --enrichment-type email -o out.csv --yes'.split(' ')
    const found = () => here.rows('out.csv').filter((row) => row._status === 'found').length
    const hint =
      'vendor1 has used its budget: 9 rows went on without it. ' +
      'To ask it about them: the same command with a higher --max-cost vendor1=N. Nothing is paid again.'
    expect((await run(...line, '--max-cost', 'vendor1=4')).stderr).toContain(hint)
    // With the same budget there is nothing to ask.
    const again = await run(...line, '--max-cost', 'vendor1=4')
    expect(again.stderr).toContain('its output is written again, and nothing is spent')
    expect([vendor.charged(), found()]).toEqual([4, 4])
    const { stderr } = await run(...line, '--max-cost', 'vendor1=10')
    expect(stderr).toContain('only its rows about which a data vendor could not be asked are looked up again')
    expect([vendor.charged(), found() >= 10]).toEqual([10, true])
    const [{ id = '' } = {}] = await here.json<{ id: string }[]>('runs', 'list')
    expect((await run(...line, '--max-cost', 'vendor1=20')).stderr).not.toContain('has used its budget')
    expect([found(), here.rows('out.csv').length]).toEqual([13, 14])
    expect(vendor.charged()).toBe(12)
    expect(Math.max(...vendor.asked.values())).toBe(1)
    expect(await here.json('ledger', '--provider', 'vendor1', '--by', 'provider,run')).toMatchObject([
      { cost: 12, run: id },
    ])
  })

  it('asks about rows of a flow that its budget had left in its next run, with what the first one has spent', async () => {
    const vendor = await withVendor()
    here.write('people.csv', peopleCsv(numbered(12, 'King')))
    const flow = `name: x
input: { csv: people.csv }
steps:
  - contacts.enrich: { enrichment_type: [email] }
  - keep: email != null
output: { csv: out.csv }
`
    here.write('flow.yaml', flow)
    const flowRun = (credits: number) => run('flow', 'run', 'flow.yaml', '--max-cost', `vendor1=${credits}`)
    const found: number[] = []
    for (const credits of [4, 4, 10, 10, 20]) {
      expect((await flowRun(credits)).code).toBe(0)
      found.push(here.rows('out.csv').length)
    }
    expect([found, vendor.charged()]).toEqual([[4, 4, 10, 10, 12], 12])
    expect(Math.max(...vendor.asked.values())).toBe(1)
    // One that takes what is new takes them, too.
    here.write('people.csv', peopleCsv(numbered(12, 'Queen')))
    here.write('flow.yaml', `${flow}since: last_run\n`)
    const later: number[] = []
    for (const credits of [5, 5, 5, 5]) {
      expect((await flowRun(credits)).code).toBe(0)
      later.push(here.rows('out.csv').length)
    }
    expect([later, vendor.charged()]).toEqual([[5, 5, 2, 0], 24])
    expect(Math.max(...vendor.asked.values())).toBe(1)
  })

  it('asks about each row once, also when it runs again, and submits rows together', async () => {
    const vendor = await withVendor()
    const rows = Array.from(
      { length: 120 },
      (_, at) =>
        `Ada,${at % 3 === 0 ? 'Nobody' : 'King'}${at},acme.example,https://www.linkedin.com/in/p${at}${at % 2 ? '' : 'none'}`,
    )
    here.write('people.csv', `first_name,last_name,domain,linkedin_url\n${rows.join('\n')}\n`)
    const types = '--enrichment-type email --enrichment-type phone'
    const batch = `contacts waterfall --csv people.csv ${types} -o out.csv --yes`.split(' ')
    expect((await run(...batch)).code).toBe(0)
    await run(...batch, '--fresh', '--refresh')
    expect([...vendor.asked.values()].every((times) => times === 1)).toBe(true)
    expect(vendor.charged()).toBe(80 + 60 * 10)
  })
})

describe('the key of a vendor', () => {
  it('is in nothing that is printed, logged, kept, backed up or served, wherever a vendor wants it', async () => {
    const ways = [
      'header: X-API-KEY',
      'query: api_key',
      'bearer: true',
      'headers: { authorization: "Basic {key_base64}" }',
    ]
    let vendors: readonly FakeVendor[] = []
    // They repeat what they were sent, as some do in their errors.
    const echoing = ways.map(
      (_, at): Behave =>
        (row, _, response) => {
          const echo = JSON.stringify({ error: `${key} is not valid`, sent: vendors[at]?.seen.at(-1) })
          if (row === 'Lost') response.socket?.destroy()
          else response.writeHead(row === 'Faulty' ? 500 : row === 'Odd' ? 418 : 401).end(echo)
        },
    )
    vendors = await withVendors(echoing, (file) => {
      const at = Number(/^name: vendor(\d)$/m.exec(file)?.[1]) - 1
      return file.replace('header: X-API-KEY', ways[at] ?? '')
    })
    const printed: string[] = []
    const say = async (...argv: string[]) => {
      const { stdout, stderr } = await run(...argv)
      printed.push(stdout, stderr)
    }
    const file = ['--csv', 'people.csv', '--enrichment-type', 'email', '-o', 'out.csv', '--yes']
    here.write('people.csv', peopleCsv(['Lost', 'Faulty', 'Odd', 'Badkey']))
    await say('contacts', 'waterfall', ...file, '-v', '--log', 'log.ndjson')
    for (const name of ['Lost', 'Badkey'])
      await say('contacts', 'waterfall', '--sync', '--enrichment-type', 'email', ...person(name), '-v')
    for (const at of ways.keys()) await say('providers', 'test', `vendor${at + 1}`, ...person('Odd'))
    for (const line of ['list', 'stats', 'balance']) await say('providers', line)
    for (const line of ['runs list', 'runs show --last', 'ledger --by provider', 'engine status', 'doctor'])
      await say(...line.split(' '))
    await say('engine', 'backup', 'copy.db')
    await say('engine', 'export', 'engine.zip')
    await say('data', 'export', '--person', 'ada@acme.example')
    const server = await here.start(['serve', '--port', '0', '--json'])
    const { base_url: url } = JSON.parse(server.line) as { base_url: string }
    for (const path of ['/', '/dashboard', '/openapi.json'])
      printed.push(await (await fetch(new URL(path, url))).text())
    printed.push((await server.stop()).stderr)
    const files = readdirSync(here.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'credentials.json')
      .map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString('latin1'))
    expect(files.length).toBeGreaterThan(5)
    const base64 = Buffer.from(key).toString('base64').replace(/=+$/, '')
    const holding = (texts: readonly string[]) =>
      texts.filter((text) => text.includes(key) || text.includes(base64))
    expect(holding([...printed, ...files])).toEqual([])
    for (const [at, way] of ways.entries()) {
      const [address = '', headers = ''] = (vendors[at]?.seen[0] ?? '').split(/ (.*)/s)
      const isIn = { address: holding([address]).length > 0, headers: holding([headers]).length > 0 }
      const isAddress = way.startsWith('query')
      expect([way, isIn]).toEqual([way, { address: isAddress, headers: !isAddress }])
    }
  })
})

describe('data forget', () => {
  it('removes a person from what vendors were asked and answered, and leaves what that cost', async () => {
    await withVendor()
    await find('King')
    await find('Queen')
    expect((await run('data', 'forget', 'king@acme.example', '--yes')).code).toBe(0)
    const files = ['engine.db', 'engine.db-wal'].filter(here.exists)
    const kept = files.map((name) => readFileSync(here.path(name), 'latin1')).join('')
    expect([/king@acme|"King"/.test(kept), /queen@acme/.test(kept)]).toEqual([false, true])
    expect(await here.json('providers', 'stats')).toMatchObject([{ asked: 2, found: 2, cost: 2 }])
  })
})

/** Opens the vendors of the workspace in a process of their own, and what asks them for an address. */
async function vendorsOver(store: Driver, now = Date.now) {
  const vendors = openVendors({
    store,
    clock: { now },
    keyOf: () => key,
    sleep,
    random: randomBytes,
    servers: [dns.address],
  })
  const [workspace] = await store.read((tx) => tx.all<{ id: string }>('SELECT id FROM workspaces'))
  const asking = { workspaceId: workspace?.id ?? '', memberId: '', run: 'other' }
  const ask = (lastName: string) =>
    Array.fromAsync(vendors.ask('email', { firstName: 'Ada', lastName, domain: 'acme.example' }, asking))
  return { vendors, ask }
}

describe('two processes that have one question to a vendor', () => {
  it('both get an answer that comes while one of them gives it up', async () => {
    let answer = () => {}
    const vendor = await withVendor(undefined, (...exchange) => {
      answer = () => byName(...exchange)
    })
    const first = find('King')
    await until(() => vendor.asked.size > 0)
    const store = await openEngineDatabase(join(here.home, 'engine.db'))
    await store.transaction((tx) => tx.run('UPDATE provider_calls SET lease_until = 0'))
    // Between its look at the call and its write, the answer comes in.
    const transaction: Driver['transaction'] = async (...work) => {
      answer()
      await first
      return store.transaction(...work)
    }
    const { vendors, ask } = await vendorsOver({ ...store, transaction })
    expect(await ask('King')).toMatchObject([{ is: 'found' }])
    expect([(await first).email_source, vendor.charged()]).toEqual(['vendor1', 1])
    await vendors.close()
    await store.close()
  })

  it('know a second later that another process removed the vendor', async () => {
    const vendor = await withVendor()
    const store = await openEngineDatabase(join(here.home, 'engine.db'))
    let now = Date.now()
    const { vendors, ask } = await vendorsOver(store, () => now)
    expect(await ask('King')).toMatchObject([{ is: 'found' }])
    await here.run('providers remove vendor1 --yes')
    now += 1_000
    expect(await ask('Queen')).toEqual([])
    expect(vendor.asked.get('Queen')).toBeUndefined()
    await vendors.close()
    await store.close()
  })

  it('give back once what was set aside for work that the vendor did not do', async () => {
    const polls: ServerResponse[] = []
    const { origin, close } = await answering((request, response) =>
      request.method === 'POST' ? response.writeHead(202).end('{"request_id": 1}') : polls.push(response),
    )
    here = machine()
    onTestFinished(() => here.remove())
    await here.run(['init'])
    const refusing = fakeFile(origin, 'vendor1')
      .replace('body.success == true', 'status == 400')
      .replace('{ when: "item.phone', '{ when: "status == 400", is: failed }, { when: "item.phone')
    await addProvider(here, `max_cost_per_day: 10\n${refusing}`)
    const lookUp = (more: string) =>
      here.run(
        `contacts waterfall --sync --enrichment-type phone --linkedin-url https://www.linkedin.com/in/p1 ${more}`,
        { env: { PROSPECT_DNS: dns.address } },
      )
    const one = lookUp('')
    await until(() => polls.length === 1)
    // A lookup of its own: an equal one would wait for the first, and ask nobody.
    const other = lookUp('--refresh')
    await until(() => polls.length === 2)
    for (const response of polls) response.writeHead(400).end('{}')
    for (const { stdout, stderr } of [await one, await other])
      expect(stdout + stderr).toContain('vendor1 (failed)')
    const store = await openEngineDatabase(join(here.home, 'engine.db'))
    const budgets = await store.read((tx) => tx.all<{ spent: number }>('SELECT spent FROM provider_budgets'))
    expect(budgets).toContainEqual({ spent: 0 })
    expect(budgets.filter(({ spent }) => spent !== 0)).toEqual([])
    await store.close()
    await close()
  })
})

describe('the rate of a vendor', () => {
  it('is kept by two processes together', async () => {
    const arrivals: number[] = []
    const [perSecond, rows] = [20, 30]
    const vendor = await withVendor(
      (file) => file.replace('limits: { ', `limits: { rates: [${perSecond}/s], `),
      (...exchange) => {
        arrivals.push(Date.now())
        return byName(...exchange)
      },
    )
    // Both are ready before the first request may leave.
    const opensAt = Date.now() + 3_000
    const store = await openEngineDatabase(join(here.home, 'engine.db'))
    await store.transaction((tx) => tx.run('UPDATE providers SET next_at = ?', opensAt * 1_000))
    await store.close()
    const batches = ['King', 'Queen'].map((name) => {
      here.write(`${name}.csv`, peopleCsv(numbered(rows, name)))
      const argv = ['contacts', 'waterfall', '--csv', `${name}.csv`, '--enrichment-type', 'email']
      const env = { PROSPECT_HOME: here.home, PROSPECT_DNS: dns.address }
      return launch(prospect, [...argv, '-o', `${name}-out.csv`, '--yes'], here.home, env)
    })
    for (const { exitCode, stderr } of await Promise.all(batches))
      expect([exitCode, stderr]).toEqual([0, expect.anything()])
    expect(vendor.charged()).toBe(2 * rows)
    const sinceOpen = arrivals.map((at) => at - opensAt)
    const early = sinceOpen.filter((ms, n) => n >= Math.max(0, (ms / 1_000) * perSecond + 1))
    expect(early).toEqual([])
  })
})
