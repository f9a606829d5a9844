import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { describe, expect, it } from 'vitest'
import templates from '../../src/providers/templates.json' with { type: 'json' }
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'

const key = 'vendor-secret-key-0123456789'
const here = perTest(machine)

type Answer = readonly [status: number, body: unknown]
type Scenario = 'found' | 'not_found' | 'again' | 'out_of_credits' | 'rate_limited' | 'invalid_key'

/** How a vendor answers as its pages say, and what becomes of that. */
interface Vendor {
  readonly template: keyof typeof templates
  readonly kind: string
  /** What it must be sent, first. */
  readonly sent: { readonly method: string; readonly path: string; readonly body?: unknown }
  readonly auth: Readonly<Record<string, string>>
  /** The answer to a submit, where the others are those to its polls. */
  readonly submitted?: Answer
  readonly pending?: Answer
  readonly answers: Partial<Record<Scenario, Answer>>
  readonly read: object
  readonly costs: Partial<Record<Scenario, number>>
}

const names = { first_name: 'Ada', last_name: 'King' }
const lushaBody = (reveal: string) => ({
  contacts: [{ firstName: 'Ada', lastName: 'King', companyDomain: 'acme.example' }],
  reveal: [reveal],
})
const lushaErrors = {
  not_found: [200, { results: [{ error: { code: 'NOT_FOUND' } }], billing: { creditsCharged: 1 } }],
  out_of_credits: [402, { statusCode: 402, message: 'Insufficient credits' }],
  rate_limited: [429, { statusCode: 429 }],
  invalid_key: [401, { statusCode: 401 }],
} as const
const apolloPerson = {
  id: '64a7',
  first_name: 'Ada',
  last_name: 'King',
  name: 'Ada King',
  title: 'CTO',
  headline: 'CTO at Acme',
  city: 'Berlin',
  country: 'Germany',
  linkedin_url: 'https://www.linkedin.com/in/ada-king',
  email: 'ada@acme.example',
  email_status: 'verified',
  organization: { name: 'Acme' },
}
const apolloErrors = {
  out_of_credits: [422, { error: 'You have insufficient credits' }],
  rate_limited: [429, { message: 'The maximum number of api calls allowed is 600 times per hour.' }],
  invalid_key: [401, 'Invalid API key.'],
} as const
const fullenrich = (info: object, field: string) =>
  ({
    sent: {
      method: 'POST',
      path: '/contact/enrich/bulk',
      body: {
        name: 'prospect',
        data: [{ ...names, domain: 'acme.example', enrich_fields: [field], custom: { row: '1' } }],
      },
    },
    auth: { authorization: `Bearer ${key}` },
    submitted: [200, { enrichment_id: '2db5' }],
    pending: [400, { code: 'error.enrichment.in_progress' }],
    answers: {
      found: [
        200,
        {
          status: 'FINISHED',
          cost: { credits: 1 },
          data: [{ custom: { row: '1' }, contact_info: info }],
        },
      ],
      not_found: [200, { status: 'FINISHED', data: [{ custom: { row: '1' }, contact_info: {} }] }],
    },
  }) satisfies Partial<Vendor>
/** What its webhook sends, as a poll answers it. */
const apolloNumbers = (phone_numbers: readonly object[]) => ({
  request_id: '5',
  webhook_status: 'success',
  webhook_result: { status: 'success', people: [{ id: '587c', phone_numbers }] },
})

const vendors: readonly Vendor[] = [
  {
    template: 'hunter',
    kind: 'email',
    sent: { method: 'GET', path: '/email-finder?domain=acme.example&first_name=Ada&last_name=King' },
    auth: { 'x-api-key': key },
    answers: {
      found: [200, { data: { email: 'ada@acme.example', verification: { status: 'valid' } } }],
      not_found: [200, { data: { email: null } }],
      out_of_credits: [429, { errors: [{ id: 'usage_exceeded' }] }],
      rate_limited: [403, { errors: [{ id: 'too_many_requests' }] }],
      invalid_key: [401, { errors: [{ id: 'authentication_failed' }] }],
    },
    read: { email: 'ada@acme.example', email_status: 'valid' },
    costs: { found: 1, not_found: 0 },
  },
  {
    template: 'hunter',
    kind: 'verify',
    sent: { method: 'GET', path: '/email-verifier?email=ada%40acme.example' },
    auth: { 'x-api-key': key },
    answers: {
      found: [200, { data: { status: 'accept_all' } }],
      again: [202, {}],
      out_of_credits: [429, {}],
      rate_limited: [403, {}],
      invalid_key: [401, {}],
    },
    read: { email_status: 'risky' },
    costs: { found: 1 },
  },
  {
    template: 'enrow',
    kind: 'email',
    sent: {
      method: 'POST',
      path: '/email/find/single',
      body: { fullname: 'Ada King', company_domain: 'acme.example' },
    },
    auth: { 'x-api-key': key },
    submitted: [200, { id: 'e1' }],
    pending: [200, { qualification: 'ongoing' }],
    answers: {
      found: [200, { qualification: 'valid', email: 'ada@acme.example' }],
      not_found: [200, { qualification: 'invalid', email: null }],
    },
    read: { email: 'ada@acme.example', email_status: 'valid' },
    costs: { found: 1, not_found: 0 },
  },
  {
    template: 'icypeas',
    kind: 'email',
    sent: {
      method: 'POST',
      path: '/email-search',
      body: { firstname: 'Ada', lastname: 'King', domainOrCompany: 'acme.example' },
    },
    auth: { authorization: key },
    submitted: [200, { success: true, item: { _id: 'i1' } }],
    pending: [200, { success: true, items: [{ status: 'IN_PROGRESS' }] }],
    answers: {
      found: [
        200,
        {
          success: true,
          items: [
            {
              status: 'DEBITED',
              results: { emails: [{ email: 'ada@acme.example', certainty: 'probable' }] },
            },
          ],
        },
      ],
      not_found: [200, { success: true, items: [{ status: 'DEBITED_NOT_FOUND' }] }],
    },
    read: { email: 'ada@acme.example', email_status: 'risky' },
    costs: { found: 1, not_found: 0 },
  },
  {
    template: 'dropcontact',
    kind: 'email',
    sent: {
      method: 'POST',
      path: '/enrich/all',
      body: { data: [{ ...names, website: 'acme.example', custom_fields: { row: '1' } }] },
    },
    auth: { 'x-access-token': key },
    submitted: [200, { success: true, request_id: 'd1' }],
    pending: [200, { success: false, reason: 'Request not ready yet' }],
    answers: {
      found: [
        200,
        {
          success: true,
          data: [
            {
              custom_fields: { row: '1' },
              email: [{ email: 'ada@acme.example', qualification: 'nominative@pro' }],
            },
          ],
        },
      ],
      not_found: [200, { success: true, data: [{ custom_fields: { row: '1' } }] }],
    },
    read: { email: 'ada@acme.example', email_status: 'valid' },
    costs: { found: 1, not_found: 0 },
  },
  {
    template: 'peopledatalabs',
    kind: 'email',
    sent: { method: 'GET', path: '/person/enrich?first_name=Ada&last_name=King&company=acme.example' },
    auth: { 'x-api-key': key },
    answers: {
      found: [200, { status: 200, data: { work_email: 'ada@acme.example' } }],
      not_found: [404, { status: 404 }],
      out_of_credits: [402, {}],
      rate_limited: [429, {}],
      invalid_key: [401, {}],
    },
    read: { email: 'ada@acme.example' },
    costs: { found: 1, not_found: 0 },
  },
  {
    template: 'findymail',
    kind: 'verify',
    sent: { method: 'POST', path: '/verify', body: { email: 'ada@acme.example' } },
    auth: { authorization: `Bearer ${key}` },
    answers: {
      found: [200, { email: 'ada@acme.example', verified: true }],
      out_of_credits: [200, { error: 'Not enough credits' }],
      rate_limited: [429, {}],
      invalid_key: [401, {}],
    },
    read: { email_status: 'valid' },
    costs: { found: 1 },
  },
  {
    template: 'lusha',
    kind: 'email',
    sent: { method: 'POST', path: '/v3/contacts/search-and-enrich', body: lushaBody('emails') },
    auth: { api_key: key },
    answers: {
      found: [
        200,
        {
          results: [
            {
              emails: [
                { email: 'ada@home.example', type: 'private', confidence: 'A' },
                { email: 'ada@acme.example', type: 'work', confidence: 'A+' },
              ],
              phones: [],
            },
          ],
          billing: { creditsCharged: 2, resultsReturned: 1 },
        },
      ],
      ...lushaErrors,
    },
    read: { email: 'ada@acme.example' },
    costs: { found: 2, not_found: 1 },
  },
  {
    template: 'lusha',
    kind: 'phone',
    sent: { method: 'POST', path: '/v3/contacts/search-and-enrich', body: lushaBody('phones') },
    auth: { api_key: key },
    answers: {
      found: [
        200,
        {
          results: [{ phones: [{ number: '+33 6 12 34 10 00', phoneType: 'Mobile' }] }],
          billing: { creditsCharged: 6 },
        },
      ],
      ...lushaErrors,
    },
    read: { phone: '+33 6 12 34 10 00' },
    costs: { found: 6, not_found: 1 },
  },
  {
    template: 'fullenrich',
    kind: 'email',
    ...fullenrich(
      { most_probable_work_email: { email: 'ada@acme.example', status: 'HIGH_PROBABILITY' } },
      'contact.work_emails',
    ),
    read: { email: 'ada@acme.example', email_status: 'risky' },
    costs: { found: 1, not_found: 0 },
  },
  {
    template: 'fullenrich',
    kind: 'personal_email',
    ...fullenrich(
      { most_probable_personal_email: { email: 'ada@home.example', status: 'DELIVERABLE' } },
      'contact.personal_emails',
    ),
    read: { personal_email: 'ada@home.example', personal_email_status: 'valid' },
    costs: { found: 3, not_found: 0 },
  },
  {
    template: 'fullenrich',
    kind: 'phone',
    ...fullenrich({ most_probable_phone: { number: '+33612341000', region: 'FR' } }, 'contact.phones'),
    read: { phone: '+33612341000' },
    costs: { found: 10, not_found: 0 },
  },
  {
    template: 'zerobounce',
    kind: 'verify',
    sent: { method: 'GET', path: `/validate?email=ada%40acme.example&ip_address=&api_key=${key}` },
    auth: {},
    answers: {
      found: [200, { address: 'ada@acme.example', status: 'catch-all', sub_status: '' }],
      not_found: [200, { status: 'unknown', sub_status: 'greylisted' }],
      // A wrong key and an empty balance are one error there.
      out_of_credits: [200, { error: 'Invalid API key or your account ran out of credits' }],
      rate_limited: [429, ''],
    },
    read: { email_status: 'risky' },
    costs: { found: 1, not_found: 0 },
  },
  {
    template: 'neverbounce',
    kind: 'verify',
    sent: { method: 'GET', path: `/single/check?email=ada%40acme.example&key=${key}` },
    auth: {},
    answers: {
      found: [200, { status: 'success', result: 'valid', flags: [] }],
      not_found: [200, { status: 'success', result: 'unknown' }],
      again: [200, { status: 'temp_unavail', message: 'Try again' }],
      out_of_credits: [200, { status: 'general_failure', message: 'Insufficient credits' }],
      rate_limited: [200, { status: 'throttle_triggered' }],
      invalid_key: [200, { status: 'auth_failure' }],
    },
    read: { email_status: 'valid' },
    costs: { found: 1, not_found: 1 },
  },
  {
    template: 'apollo',
    kind: 'email',
    sent: {
      method: 'POST',
      path: '/people/match?first_name=Ada&last_name=King&domain=acme.example',
    },
    auth: { 'x-api-key': key },
    // One without an address is charged, too.
    answers: {
      found: [200, { person: apolloPerson }],
      not_found: [200, { person: { ...apolloPerson, email: null } }],
      ...apolloErrors,
    },
    read: { email: 'ada@acme.example', email_status: 'valid' },
    costs: { found: 1, not_found: 1 },
  },
  {
    template: 'apollo',
    kind: 'phone',
    sent: {
      method: 'POST',
      path: '/people/match?first_name=Ada&last_name=King&domain=acme.example&reveal_phone_number=true&poll_only=true',
    },
    auth: { 'x-api-key': key },
    submitted: [200, { person: apolloPerson, request_id: 5 }],
    pending: [404, { error_code: 'result_pending', retry_after_seconds: 30 }],
    answers: {
      found: [200, apolloNumbers([{ sanitized_number: '+33612341000' }])],
      not_found: [200, apolloNumbers([])],
    },
    read: { phone: '+33612341000' },
    costs: { found: 9, not_found: 1 },
  },
  {
    template: 'apollo',
    kind: 'person',
    sent: {
      method: 'POST',
      path: '/people/match?first_name=Ada&last_name=King&domain=acme.example',
    },
    auth: { 'x-api-key': key },
    answers: { found: [200, { person: apolloPerson }], not_found: [200, { person: null }], ...apolloErrors },
    read: { title: 'CTO', company_name: 'Acme', country: 'Germany' },
    costs: { found: 1, not_found: 0 },
  },
]

const cases = vendors.flatMap((vendor) =>
  (Object.keys(vendor.answers) as Scenario[]).map(
    (scenario) => [vendor.template, vendor.kind, scenario, vendor] as const,
  ),
)

interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Adds a template whose vendor is a server that answers so, one answer after the other. */
async function withVendor(template: keyof typeof templates, answers: readonly Answer[]): Promise<Seen[]> {
  const seen: Seen[] = []
  const { origin } = closeAfterTest(
    await answering(async (request, response) => {
      const { body } = await received(request)
      const [status, said] = answers[Math.min(seen.length, answers.length - 1)] ?? [500, '']
      seen.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
      response.writeHead(status).end(typeof said === 'string' ? said : JSON.stringify(said))
    }),
  )
  await here.json('init')
  const { limits: _, ...file } = templates[template].file as { limits?: object }
  const text = JSON.stringify({ ...file, base_url: origin }).replace(/"every":"\w+"/g, '"every":"10ms"')
  here.write('own.json', text)
  const line = 'providers add own.json --key-stdin --allow-target 127.0.0.0/8'
  const { code, stderr } = await here.run(line, { stdin: key })
  if (code !== 0) throw new Error(stderr)
  return seen
}

const about = '--first-name Ada --last-name King --full-name "Ada King" --domain acme.example'

describe('a template', () => {
  it.each(cases)('of %s reads what the vendor says for %s: %s', async (template, kind, scenario, vendor) => {
    const { answers, submitted, pending, sent, auth, read, costs } = vendor
    const last = answers[scenario] as Answer
    const seen = await withVendor(template, submitted ? [submitted, pending ?? last, last] : [last])
    const who = kind === 'verify' ? '--email ada@acme.example' : about
    const line = `providers test ${template} --kind ${kind} ${who} --json`
    expect((await here.run(line)).json).toMatchObject({
      outcome: scenario,
      read: scenario === 'found' ? read : null,
      cost: costs[scenario] ?? 0,
    })
    expect(seen[0]).toMatchObject({ method: sent.method, path: sent.path, headers: auth })
    if (sent.body !== undefined) expect(JSON.parse(seen[0]?.body ?? '')).toEqual(sent.body)
    expect(seen).toHaveLength(submitted ? 3 : 1)
  })

  it.each([
    ['enrow', 'email', [401, {}], 'invalid_key'],
    ['enrow', 'email', [402, {}], 'out_of_credits'],
    ['enrow', 'email', [429, {}], 'rate_limited'],
    ['icypeas', 'email', [401, {}], 'invalid_key'],
    ['icypeas', 'email', [429, {}], 'rate_limited'],
    ['dropcontact', 'email', [401, { success: false }], 'invalid_key'],
    ['dropcontact', 'email', [403, { success: false }], 'out_of_credits'],
    ['dropcontact', 'email', [429, { success: false }], 'rate_limited'],
    ['fullenrich', 'email', [401, { code: 'error.api.key' }], 'invalid_key'],
    ['fullenrich', 'email', [429, { code: 'error.rate.limit' }], 'rate_limited'],
    ['apollo', 'phone', [422, { error: 'You have insufficient credits' }], 'out_of_credits'],
    ['apollo', 'phone', [401, {}], 'invalid_key'],
    ['apollo', 'phone', [200, { person: null, request_id: 5 }], 'not_found'],
    ['fullenrich', 'phone', [402, { status: 'CREDITS_INSUFFICIENT' }], 'out_of_credits'],
  ] as const)('of %s reads for %s that work was refused: %j', async (template, kind, answer, outcome) => {
    const seen = await withVendor(template, [answer])
    const line = `providers test ${template} --kind ${kind} ${about} --json`
    expect((await here.run(line)).json).toMatchObject({ outcome, read: null })
    expect(seen).toHaveLength(1)
  })

  it('is tested for each kind that it has', () => {
    const tested = vendors.map(({ template, kind }) => `${template} ${kind}`)
    const all = Object.entries(templates).flatMap(([name, { file }]) =>
      Object.keys(file.kinds).map((kind) => `${name} ${kind}`),
    )
    expect(tested.toSorted()).toEqual(all.toSorted())
  })

  it.each(Object.entries(templates))(
    'says where %s was read, when, and what the pages leave open',
    (name, { page, read, unconfirmed }) => {
      expect(page).toMatch(/^https:\/\//)
      expect(read).toMatch(/^\d{4}-\d\d-\d\d$/)
      expect(unconfirmed, `unconfirmed of ${name}, in a sentence`).toMatch(/^\w.{10,}\.$/)
    },
  )

  it('has a row in the table of docs/waterfall.md', () => {
    const guide = readFileSync('docs/waterfall.md', 'utf8')
    const [table = ''] = /^\| Template \|.*?^$/ms.exec(guide) ?? []
    expect(Object.keys(templates).filter((name) => !table.includes(`| \`${name}\` |`))).toEqual([])
  })
})
