import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { describe, expect, it } from 'vitest'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { errorOf, machine } from '../support/command.js'
import { perTest } from '../support/each.js'

const key = 'own-secret-key-1234567890'
const here = perTest(machine)

interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Adds a provider of a vendor that answers so, and returns what the vendor has seen. */
async function withVendor(file: string, said: unknown = { email: 'king@acme.example' }, apiKey = key) {
  const seen: Seen[] = []
  const { origin } = closeAfterTest(
    await answering(async (request, response) => {
      const { body } = await received(request)
      seen.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
      const isToken = request.url === '/v1/token'
      response.writeHead(200).end(JSON.stringify(isToken ? { access_token: 'token' } : said))
    }),
  )
  await here.json('init')
  here.write('own.yaml', `name: own\nbase_url: ${origin}/v1\n${file}`)
  const line = 'providers add own.yaml --key-stdin --allow-target 127.0.0.0/8'
  const { code, stderr } = await here.run(line, { stdin: apiKey })
  if (code !== 0) throw new Error(stderr)
  return seen
}

const about = '--first-name Ada --last-name King --full-name "Ada King" --domain acme.example'
const test = (more = '') => here.run(`providers test own ${about} ${more} --json`)

/** A file with one kind, whose request and result are given. */
const emailFile = (request: string, auth = '{ header: X-Key }', result = '{ email: body.email }') =>
  `auth: ${auth}
kinds:
  email:
    needs: [[first_name, last_name, domain]]
    request: ${request}
    outcomes: [{ when: "status == 200", is: found }]
    result: ${result}
`
const postFile = (auth: string) => emailFile('{ post: /find, body: { last: "{last_name}" } }', auth)

describe('a request of a provider file', () => {
  it.each(['put', 'patch'])('can be a %s', async (method) => {
    const seen = await withVendor(emailFile(`{ ${method}: "/find/{domain}", body: { name: "{last_name}" } }`))
    expect((await test()).json).toMatchObject({ outcome: 'found', request: { method: method.toUpperCase() } })
    expect(seen[0]).toMatchObject({
      method: method.toUpperCase(),
      path: '/v1/find/acme.example',
      body: '{"name":"King"}',
    })
  })

  it('has the key in its body, as JSON and as a form, and shows it nowhere', async () => {
    const seen = await withVendor(postFile('{ body: api_key }'))
    const shown = await test()
    expect(shown.json).toMatchObject({ outcome: 'found', request: { body: { last: 'King' } } })
    expect(shown.stdout + shown.stderr).not.toContain(key)
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ last: 'King', api_key: key })
    const forms = await withVendor(
      emailFile('{ post: /find, form: { last: "{last_name}" } }', '{ body: api_key }'),
    )
    await test()
    expect(forms[0]?.body).toBe(`last=King&api_key=${key}`)
  })

  it('has the key in its path, encoded', async () => {
    const seen = await withVendor(postFile('{ path: "/keys/{key}" }'), undefined, 'a/b?c-0123456789')
    const shown = await test()
    expect(seen[0]?.path).toBe('/v1/keys/a%2Fb%3Fc-0123456789/find')
    expect(shown.stdout + shown.stderr).not.toContain('c-0123456789')
  })

  it('has a token for a client id of the file and the secret that is the key', async () => {
    const seen = await withVendor(postFile('{ oauth: { token_url: /token, client_id: abc, in: body } }'))
    await test()
    expect(seen.map(({ path }) => path)).toEqual(['/v1/token', '/v1/find'])
    expect(Object.fromEntries(new URLSearchParams(seen[0]?.body))).toMatchObject({
      client_id: 'abc',
      client_secret: key,
    })
    expect(seen[1]?.headers.authorization).toBe('Bearer token')
  })

  it('is signed over its time, method, path and body', async () => {
    const sign =
      '{ header: X-Signature, hmac: sha256, prefix: "v1=", timestamp: X-Time, over: "{timestamp}.{method}.{path}.{body}" }'
    const seen = await withVendor(postFile(`{ sign: ${sign} }`))
    expect((await test()).json).toMatchObject({ outcome: 'found' })
    const { headers, body } = seen[0] as Seen
    const signed = `${headers['x-time']}.POST./v1/find.${body}`
    expect(headers['x-signature']).toBe(`v1=${createHmac('sha256', key).update(signed).digest('hex')}`)
    expect(Math.abs(Number(headers['x-time']) - Date.now() / 1_000)).toBeLessThan(3_600)
  })

  it('that several kinds name is asked and paid once', async () => {
    const kind = (name: string, path: string) => `  ${name}:
    needs: [[first_name, last_name, domain]]
    request: person
    outcomes: [{ when: "${path} != null", is: found }, { when: "status == 200", is: not_found }]
    result: { ${name === 'person' ? 'title' : name}: ${path} }
    cost: { found: 3 }
`
    const kinds = [kind('email', 'body.email'), kind('phone', 'body.phone'), kind('person', 'body.title')]
    const seen = await withVendor(
      `auth: { bearer: true }\nrequests:\n  person: { get: /p, query: { n: "{last_name}" } }\nkinds:\n${kinds.join('')}`,
      { email: 'king@acme.example', phone: '+33612341000', title: 'CTO' },
    )
    const url = '--network-url https://www.linkedin.com/in/king'
    const who = `--first-name Ada --last-name King --domain acme.example ${url}`
    const types = '--enrichment-type email --enrichment-type phone'
    expect((await here.run(`contacts waterfall --sync ${who} ${types} --json`)).json).toMatchObject({
      email: 'king@acme.example',
      phone: ['+33612341000'],
    })
    const lead = 'leads enrich --first-name Ada --last-name King --domain acme.example --json'
    expect((await here.run(lead)).json).toMatchObject({ title: 'CTO', source: 'own' })
    expect(seen).toHaveLength(1)
    const spent = await here.json<{ cost: number }[]>('ledger --by provider')
    expect(spent).toMatchObject([{ provider: 'own', cost: 3 }])
  })
})

describe('a value of an answer', () => {
  it.each([
    [
      'the first that is an address',
      '{ email: { first: [body.shown, body.work] } }',
      { email: 'w@a.example' },
    ],
    [
      'what stands under the address itself, in any case',
      '{ email_status: { from: "body.checks[email]", map: { ok: valid }, else: risky }, email: body.work }',
      { email: 'w@a.example', email_status: 'valid' },
    ],
    [
      'what stands under what was asked about',
      '{ email: "body.by_domain[domain].mail" }',
      { email: 'd@a.example' },
    ],
    [
      'that of the item which is about the address',
      `{ email: body.work, email_status: { from: "body.list[item.mail == email].word", map: { good: valid } } }`,
      { email: 'w@a.example', email_status: 'valid' },
    ],
    ['the best of several', '{ email: "body.list[max item.score].mail" }', { email: 'best@a.example' }],
    [
      'the best of those above a threshold',
      `{ email: "body.list[max item.score where item.word == 'good'].mail" }`,
      { email: 'w@a.example' },
    ],
    [
      'by conditions',
      `{ email: body.work, email_status: { cases: [{ when: "body.score >= 90", is: valid }, { when: "body.score >= 50", is: risky }], else: invalid } }`,
      { email: 'w@a.example', email_status: 'risky' },
    ],
    ['of several parts', '{ email: { text: "{body.local}@{body.host}" } }', { email: 'l@h.example' }],
  ])('is %s', async (_, result, read) => {
    await withVendor(emailFile('{ get: /find, query: { d: "{domain}" } }', undefined, result), {
      shown: 'w***@a.example',
      work: 'w@a.example',
      checks: { 'W@A.example': 'ok' },
      by_domain: { 'acme.example': { mail: 'd@a.example' } },
      list: [
        { mail: 'none@a.example' },
        { mail: 'w@a.example', score: 70, word: 'good' },
        { mail: 'best@a.example', score: '95', word: 'bad' },
      ],
      score: 60,
      local: 'l',
      host: 'h.example',
    })
    expect((await test()).json).toMatchObject({ outcome: 'found', read })
  })

  it('decides the outcome by what was asked about', async () => {
    const file = emailFile('{ get: /find, query: { d: "{domain}" } }').replace(
      '{ when: "status == 200", is: found }',
      '{ when: "body.of != domain", is: not_found }, { when: "status == 200", is: found }',
    )
    await withVendor(file, { of: 'other.example', email: 'king@other.example' })
    expect((await test()).json).toMatchObject({ outcome: 'not_found', read: null })
  })
})

describe('a provider file that cannot work', () => {
  it.each([
    [emailFile('{ get: /find, put: /find }'), 'give one of get, post, put, patch'],
    [emailFile('{ get: /find }', '{ body: api_key }'), 'the key goes into the body as api_key'],
    [emailFile('{ get: /find }', '{ path: /keys }'), 'auth.path has no key. Write {key}'],
    [emailFile('{ get: /find }', '{ path: "/{kye}" }'), '{kye} is not a field'],
    [
      emailFile('{ get: /find }', '{ sign: { header: X-S, hmac: sha256, over: "{bdy}" } }'),
      '{bdy} is not a field',
    ],
    [
      emailFile('{ get: /find }', '{ sign: { header: X-S, hmac: sha256, over: "{timestamp}" } }'),
      'a timestamp that is signed must be sent',
    ],
    [emailFile('persom'), 'there is no request persom'],
    [
      emailFile('{ get: /find }', undefined, '{ email: { from: body.a, first: [body.b] } }'),
      'give one of from',
    ],
    [emailFile('{ get: /find }', undefined, '{ email: "body.list[max score].mail" }'), 'is not a path'],
    [emailFile('{ get: /find }', undefined, '{ email: { text: "{bdoy.a}" } }'), 'begin with status'],
    [emailFile('{ get: /find }', undefined, '{ email: { first: [item.a] } }'), 'there is no batch'],
    [
      `requests: { idle: { get: /idle } }\n${emailFile('{ get: /find }')}`,
      'requests.idle is used by no kind',
    ],
  ])('is refused with its line and column: %#', async (file, sentence) => {
    const refused = await withVendor(file).catch((error: unknown) => String(error))
    expect(refused).toMatch(/own\.yaml:\d+:\d+: /)
    expect(refused).toContain(sentence)
    expect(errorOf(await here.run('providers test own --json'))).toMatchObject({ exit_code: 9 })
  })
})
