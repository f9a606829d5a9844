import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../client/listeners.js'
import { ends } from '../../support/command.js'
import { cut, foreign, post, Refused, type Request, receiving } from './foreign.js'

const search = 'leads extract --search-url https://www.network.example/search/results/people/ --wait'
const companies = 'accounts search --keyword robots --wait'
const elsewhere = '--webhook-url https://x.example/hook'

const serve = async (answer: (request: Request) => unknown) => closeAfterTest(await foreign(answer))

const lead = (name: string) => ({ lead: { first_name: name }, company: null })
const names = (stdout: string) =>
  (JSON.parse(stdout) as { lead: { first_name: string } }[]).map((one) => one.lead.first_name)

/** Records of companies. */
const records = (...names: string[]) => names.map((name) => ({ name }))
const part = (number: number, ...ordinals: number[]) => ({
  event: 'account_import.completed',
  id: 'one',
  total: 4,
  truncated: false,
  part: number,
  parts: 2,
  accounts: ordinals.map((ordinal) => ({ ordinal, name: `R${ordinal}` })),
})
const streamed = (ordinal: number) => ({
  event: 'account_import.record',
  id: 'one',
  ordinal,
  account: { name: `R${ordinal}` },
})
const a = { name: 'A' }
const b = { name: 'B' }
const end = { event: 'account_import.completed', id: 'one', accounts: [], total: 2, truncated: true }
const theirs = { linkedin_url: 'https://x.example', custom: { linkedin_url: 1 } }

describe('servers whose deliveries have no id and no signature', () => {
  it.each<[string, string, object[], number, object[]]>([
    ['ends the work, whatever its event', '', [{ event: 'import.done', id: 'one', accounts: [a] }], 0, [a]],
    ['comes twice, once', '', [a, a, { accounts: [a, b] }], 0, [a, b]],
    [
      'is streamed, until --limit',
      '--streaming --limit 3',
      [a, b, a, { account: { name: 'C' } }],
      0,
      records('A', 'B', 'C'),
    ],
    ['is in parts, in order', '', [part(2, 4, 3), part(1, 1, 2)], 0, records('R1', 'R2', 'R3', 'R4')],
    [
      'is counted by a completion, all of it',
      '--streaming',
      [streamed(2), end, streamed(1)],
      6,
      records('R1', 'R2'),
    ],
    [
      'has the names of the server',
      '--network-name linkedin',
      [{ accounts: [theirs] }],
      0,
      [{ network_url: theirs.linkedin_url, custom: theirs.custom }],
    ],
  ])('take what %s', async (_, options, bodies, exit, expected) => {
    const { run } = await serve(({ body }) => {
      void post(body.webhook_url, ...bodies)
      return { message: 'ok', id: 'one', total: 9, preview: [] }
    })
    const { code, json } = await run(`${companies} ${options}`, await receiving())
    expect([code, json]).toEqual([exit, expected])
  })

  it("exits 10 with the server's error when the job failed, and writes nothing", async () => {
    const { run } = await serve(({ body }) => {
      void post(body.webhook_url, { event: 'lead_search.failed', id: 'one', error: 'No session' })
      return { id: 'one' }
    })
    const { code, stdout, stderr } = await run(search, await receiving())
    expect([code, stdout, stderr]).toEqual([10, '', expect.stringContaining('The job failed: No session')])
  })
})

describe('servers that never call a webhook', () => {
  const page = (status: string, count: number, more: object = {}) => ({
    search: { id: 'one', status, leads_count: count, truncated: false },
    leads: [lead('Ann')],
    pagination: { has_more: false },
    ...more,
  })

  it('polls the search until it is finished, and then reads it page by page', async () => {
    let asked = 0
    const { run, requests } = await serve(({ path }) => {
      if (path === '/leads') return { id: 'one' }
      if (path !== '/searches/one') return undefined
      asked++
      if (asked < 3) return page('ONGOING', 1)
      const isFirst = asked < 5
      return isFirst
        ? page('FINISHED', 2, { pagination: { has_more: true, next_cursor: 'next' } })
        : page('FINISHED', 2, { leads: [lead('Bob')] })
    })
    const { code, stdout } = await run(search)
    expect([code, names(stdout)]).toEqual([0, ['Ann', 'Bob']])
    expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(1)
  })

  it.each([
    ['a webhook of someone else', elsewhere],
    ['no webhook', ''],
  ])('polls a company import with %s, and reads its companies page by page', async (_, more) => {
    const robots = (name: string, after?: string) => ({
      search: { id: 'one', status: 'FINISHED', accounts_count: 2, truncated: false },
      accounts: [{ ordinal: 1, name }],
      pagination: { has_more: after !== undefined, ...(after ? { next_cursor: after } : {}) },
    })
    let asked = 0
    const { run, requests } = await serve(({ path }) => {
      if (path === '/accounts/search') return { message: 'ok', id: 'one', total: 2 }
      if (path !== '/searches/one') return undefined
      asked++
      if (asked === 1) return { ...robots('A'), search: { id: 'one', status: 'ONGOING', accounts_count: 1 } }
      return asked < 4 ? robots('A', 'next') : robots('B')
    })
    const { code, json } = await run(`${companies} ${more}`)
    expect([code, json]).toEqual([0, [{ name: 'A' }, { name: 'B' }]])
    const sent = requests.filter(({ path }) => path === '/accounts/search').at(-1)
    expect(String(sent?.body.webhook_url)).not.toMatch(/^http:/)
  })

  it('records what a polled import of companies with their technologies cost', async () => {
    const { run } = await serve(({ path }) => {
      if (path === '/intents/accounts/stack') return { message: 'ok', id: 'one', total_count: 2 }
      if (path !== '/searches/one') return undefined
      return {
        search: { id: 'one', status: 'FINISHED', accounts_count: 2 },
        accounts: [{ name: 'A' }, { name: 'B' }],
        pagination: { has_more: false },
      }
    })
    await ends(run(`intents stack --stacks react ${elsewhere} --wait`), 0)
    expect((await run('ledger')).json).toMatchObject([{ credits: 6 }])
  })

  it('reads a search that has its status beside its leads', async () => {
    const statuses = ['processing', 'processing', 'completed', 'completed']
    const { run, requests } = await serve(({ path }) =>
      path === '/leads'
        ? { id: 'one' }
        : { id: 'one', status: statuses.shift(), leads: [lead('Ann'), lead('Bob')] },
    )
    const { code, stdout, stderr } = await run(`${search} ${elsewhere}`)
    expect([code, names(stdout), statuses]).toEqual([0, ['Ann', 'Bob'], []])
    expect(requests[0]?.body.webhook_url).toBe('https://x.example/hook')
    expect(stderr).toContain('Found 2 people.')
  })

  it.each([
    ['that is only polled', async () => []],
    ['that delivers nothing either', receiving],
  ])('ends the wait with the reason when a reply cannot be read, for work %s', async (_, receive) => {
    const { run, requests } = await serve(({ path }) =>
      path === '/leads' ? { id: 'one' } : { state: 'busy' },
    )
    const { code, stdout, stderr } = await run(search, await receive())
    expect([code, stdout]).toEqual([10, ''])
    expect(stderr).toContain('The status of the job cannot be read: Upstream answered without search.status')
    expect(stderr).toContain('The server continues the job')
    expect(requests.filter(({ path }) => path === '/searches/one').length).toBeLessThan(16)
  })

  it.each([
    ['completed', 0, 'Imported 1 company.'],
    ['failed', 10, 'The import ended with the status failed'],
  ])('polls the import of a list until it is %s, and exits %i', async (end, exit, word) => {
    const statuses = ['processing', end]
    const { run } = await serve(({ path }) => {
      if (path === '/lists') return { id: 'one', name: 'A', status: 'processing', total_companies: 1 }
      return path === '/lists/one' ? { id: 'one', name: 'A', status: statuses.shift() } : undefined
    })
    const line = `lists create --name A --companies '{"domain":"a.example"}' --wait ${elsewhere}`
    const { code, stderr } = await run(line)
    expect([code, statuses, stderr]).toEqual([exit, [], expect.stringContaining(word)])
  })

  it.each(['ERROR', 'UNAUTHORIZED', 'FORBIDDEN'])('exits 10 when the search ended as %s', async (status) => {
    const failed = page(status, 0)
    const body = { ...failed, search: { ...failed.search, error: 'The list has no account' } }
    const { run } = await serve(({ path }) => (path === '/leads' ? { id: 'one' } : body))
    const why = `The search ended with the status ${status}: The list has no account`
    await ends(run(`${search} ${elsewhere}`), 10, why)
  })

  it('polls a waterfall, and records its cost in the ledger', async () => {
    const { run } = await serve(({ path }) =>
      path === '/contacts/single_enrich'
        ? { enrichment_id: 'one', status: 'pending' }
        : { enrichment_id: 'one', status: 'finished', email: 'a@x.example', email_status: 'valid' },
    )
    const person = '--first-name A --last-name B --domain x.example'
    const { code, json } = await run(`contacts waterfall ${person} --enrichment-type email --wait`)
    expect([code, json]).toMatchObject([0, { email: 'a@x.example' }])
    expect((await run('ledger')).json).toMatchObject([{ credits: 3 }])
  })

  it('exits 14 and says how to receive companies when nothing is delivered in time', async () => {
    const { run } = await serve(({ path }) => (path === '/health' ? {} : { message: 'ok', id: 'one' }))
    await ends(
      run(`${companies} 0.3`, await receiving()),
      14,
      /prospect listen --public-url http:\S+ --port \d+ --path [\w-]{16,}/,
    )
  })
})

it.each([
  ['the connection is lost', cut],
  ['the server fails', new Refused(500, 'Out of order')],
])('exits 10 and names the idempotency key to repeat it with where %s', async (_, answer) => {
  const { run } = await serve(({ method }) => (method === 'POST' ? answer : {}))
  await ends(run(`${companies} --idempotency-key k-1`, await receiving()), 10, '--idempotency-key k-1')
})

it('a port that another program has is refused before anything is sent', async () => {
  const { run, requests } = await serve(() => ({ message: 'ok', id: 'one' }))
  const place = await receiving()
  const other = createServer().listen(Number(place.at(-1)), '127.0.0.1')
  try {
    await ends(run(companies, place), 2, '--receive-port')
    expect(requests.filter(({ method }) => method === 'POST')).toEqual([])
  } finally {
    other.close()
  }
})

it('--public-url passes the address of a tunnel to the server and receives on --receive-port', async () => {
  const { run, requests } = await serve(({ body, path }) => {
    if (path === '/health') return {}
    const { pathname } = new URL(String(body.webhook_url))
    void post(`http://127.0.0.1:24011${pathname}`, { accounts: [{ name: 'A' }] })
    return { message: 'ok', id: 'one' }
  })
  const place = '--public-url https://tunnel.example/in --receive-port 24011'
  const { code, json } = await run(`${companies} ${place}`)
  expect([code, json]).toEqual([0, [{ name: 'A' }]])
  expect(requests[0]?.body.webhook_url).toMatch(/^https:\/\/tunnel\.example\/in\/hooks\/[\w-]{22}$/)
})
