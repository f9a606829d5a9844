import type { IncomingMessage } from 'node:http'
import { beforeEach, describe, expect, it } from 'vitest'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { launch, prospect } from '../support/processes.js'

const here = perTest(machine)
const names = Array.from({ length: 40 }, (_, at) => `Company ${at}`)
const numberOf = (name: string) => Number(name.split(' ')[1])

beforeEach(async () => {
  await here.run('init')
  here.write('list.csv', `name,domain\n${names.map((name, at) => `${name},c-${at}.example\n`).join('')}`)
})

interface Request {
  readonly method: string
  readonly key: string
  readonly body: { readonly name?: string; readonly rows?: readonly { readonly name: string }[] }
}

/** An address that notes what it is asked, and answers with a status and a body. */
async function address(answer: (request: Request, before: number) => readonly [number, unknown] | undefined) {
  const requests: Request[] = []
  const { origin } = closeAfterTest(
    await answering(async (request: IncomingMessage, response) => {
      const asked = {
        method: String(request.method),
        key: String(request.headers['idempotency-key']),
        body: JSON.parse((await received(request)).body) as Request['body'],
      }
      const before = requests.filter(({ key }) => key === asked.key).length
      requests.push(asked)
      const [status, body] = answer(asked, before) ?? []
      // Never answered.
      if (status === undefined) return
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' })
      response.end(JSON.stringify(body))
    }),
  )
  return { origin, requests }
}

const write = (http: string, columns = 'name, id', more = '') =>
  here.write(
    'flow.yaml',
    `name: flow
input: { csv: list.csv }
steps:
  - http: { ${http}, per_second: 10000 }
${more}output: { csv: out.csv, columns: [${columns}] }
`,
  )
const run = (...more: string[]) => here.run(['flow', 'run', 'flow.yaml', ...more])
const keysOf = (requests: readonly Request[]) => new Set(requests.map(({ key }) => key))

describe('an address in a flow', () => {
  it.each(['put', 'patch'])('is asked with %s', async (method) => {
    const { origin, requests } = await address(({ body: { name = '' } }) => [200, { id: numberOf(name) }])
    write(`${method}: "${origin}", result: { id: id }`)
    expect((await run()).code).toBe(0)
    expect(new Set(requests.map((one) => one.method))).toEqual(new Set([method.toUpperCase()]))
    expect(here.rows('out.csv')).toEqual(names.map((name) => ({ name, id: name.split(' ')[1] })))
  })

  it('has a rule for each of its answers: rows go on, leave, fail, or are sent again', async () => {
    const { origin, requests } = await address(({ body: { name = '' } }, before) => {
      const kind = numberOf(name) % 5
      if (kind === 0) return [201, { id: `new ${name}` }]
      if (kind === 1) return [409, { id: `old ${name}` }]
      if (kind === 2) return [200, { gone: true }]
      if (kind === 3) return [200, { error: 'No such owner' }]
      return before < 2 ? [500, {}] : [201, { id: `late ${name}` }]
    })
    const outcomes = [
      '{ when: "status == 201", is: ok }',
      '{ when: "status == 409", is: keep }',
      '{ when: "body.gone == true", is: drop }',
      '{ when: "body.error != null", is: failed }',
      '{ when: "status == 500", is: again }',
    ]
    write(`post: "${origin}", result: { id: id }, outcomes: [${outcomes.join(', ')}]`)
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([
      11,
      expect.stringContaining('1 http: 40 in · 24 found · 8 failed · 8 dropped'),
    ])
    expect(stderr).toContain('Failed: 8 rows: The address answered 200: No such owner')
    const expected = names.flatMap((name) => {
      const [kind, word] = [numberOf(name) % 5, ['new', 'old', '', '', 'late'][numberOf(name) % 5]]
      return kind === 2 || kind === 3 ? [] : [{ name, id: `${word} ${name}` }]
    })
    expect(here.rows('out.csv')).toEqual(expected)
    const asked = requests.length
    expect(asked).toBe(40 + 2 * 8)
    // Written again, from what is on record.
    expect((await run()).stderr).toContain('nothing was paid')
    expect([here.rows('out.csv'), requests.length]).toEqual([expected, asked])
  })

  it('fails a row that it does not take however often it is sent', async () => {
    const { origin, requests } = await address(() => [500, {}])
    here.write('list.csv', 'name,domain\nCompany 0,c-0.example\n')
    write(`post: "${origin}", result: { id: id }, outcomes: [{ when: "status == 500", is: again }]`)
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([11, expect.stringContaining('The address answered 500 10 times')])
    expect([requests.length, keysOf(requests).size]).toEqual([10, 1])
  })

  const batch = 'rows: 10, item: "body.results[index]", result: { id: id }'

  it('gets several rows in a request, and says of each what became of it', async () => {
    const { origin, requests } = await address(({ body: { rows = [] } }) => [
      200,
      {
        results: rows.map(({ name }) =>
          numberOf(name) % 4 === 3 ? { error: 'Not valid' } : { id: numberOf(name) },
        ),
      },
    ])
    write(`put: "${origin}", ${batch}, outcomes: [{ when: "item.error != null", is: failed }]`)
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([11, expect.stringContaining('1 http: 40 in · 30 found · 10 failed')])
    expect(stderr).toContain('Failed: 10 rows: The address answered 200: Not valid')
    expect(here.rows('out.csv')).toEqual(
      names.filter((name) => numberOf(name) % 4 !== 3).map((name) => ({ name, id: String(numberOf(name)) })),
    )
    expect(requests.map(({ body }) => body.rows?.length)).toEqual([10, 10, 10, 10])
    expect(keysOf(requests).size).toBe(4)
  })

  it('that does not take a request with several rows gets them one by one', async () => {
    const { origin, requests } = await address(({ body: { rows = [] } }) =>
      rows.length > 1 && rows.some(({ name }) => name === 'Company 7')
        ? [422, { error: 'Company 7' }]
        : rows.some(({ name }) => name === 'Company 7')
          ? [422, {}]
          : [200, { results: rows.map(({ name }) => ({ id: numberOf(name) })) }],
    )
    write(`post: "${origin}", ${batch}`)
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([11, expect.stringContaining('1 http: 40 in · 39 found · 1 invalid')])
    expect(here.rows('out.csv')).toHaveLength(39)
    expect(requests.map(({ body }) => body.rows?.length).toSorted()).toEqual([
      ...Array(10).fill(1),
      10,
      10,
      10,
      10,
    ])
  })

  it('that answers fewer items than rows gives no row the answer to another one', async () => {
    const { origin } = await address(({ body: { rows = [] } }) => [
      200,
      { results: rows.slice(1).map(({ name }) => ({ id: numberOf(name) })) },
    ])
    write(`post: "${origin}", ${batch}`)
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([11, expect.stringContaining('40 failed')])
    expect(stderr).toContain('--retry-unknown')
  })

  it('gets the same rows under the same key when the command was killed before its answer came', async () => {
    let isDead = false
    let kill = () => {}
    const { origin, requests } = await address(({ body: { rows = [] } }) => {
      if (!isDead && rows.some(({ name }) => name === 'Company 25')) return void kill()
      return [200, { results: rows.map(({ name }) => ({ id: numberOf(name) })) }]
    })
    write(`post: "${origin}", ${batch}`)
    const started = launch(prospect, ['flow', 'run', 'flow.yaml'], here.home, {
      ...(process.env as Record<string, string>),
      PROSPECT_HOME: here.home,
    })
    kill = () => void started.kill('SIGKILL')
    expect((await started).signal).toBe('SIGKILL')
    isDead = true
    const before = requests.length
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(names.map((name) => ({ name, id: String(numberOf(name)) })))
    const bodies = new Map<string, string>()
    for (const { key, body } of requests) {
      expect(bodies.get(key) ?? JSON.stringify(body)).toBe(JSON.stringify(body))
      bodies.set(key, JSON.stringify(body))
    }
    // Each row is in one request, however often that is sent.
    expect(bodies.size).toBe(4)
    expect(requests.length - before).toBeLessThan(5)
  })

  it('is asked about few rows more than a limit behind it lets through, also after a kill, and about none twice', async () => {
    let isDead = false
    let kill = () => {}
    const answered: string[] = []
    const { origin, requests } = await address(({ body: { name = '' } }) => {
      if (!isDead && name === 'Company 2') return void kill()
      answered.push(name)
      return [200, { id: numberOf(name) }]
    })
    write(`post: "${origin}", result: { id: id }`, 'name, id', '  - limit: 5\n')
    const started = launch(prospect, ['flow', 'run', 'flow.yaml'], here.home, {
      ...(process.env as Record<string, string>),
      PROSPECT_HOME: here.home,
    })
    kill = () => void started.kill('SIGKILL')
    expect((await started).signal).toBe('SIGKILL')
    isDead = true
    expect((await run()).code).toBe(0)
    const expected = names.slice(0, 5).map((name) => ({ name, id: String(numberOf(name)) }))
    expect(here.rows('out.csv')).toEqual(expected)
    expect(answered.length).toBeLessThan(20)
    const keys = Map.groupBy(requests, ({ body }) => body.name)
    for (const own of keys.values()) expect(keysOf(own).size).toBe(1)
    const asked = requests.length
    expect((await run()).stderr).toContain('nothing was paid')
    expect([here.rows('out.csv'), requests.length]).toEqual([expected, asked])
  })

  it.each([
    [
      'post: "https://x.example", put: "https://y.example"',
      '4:5: step 1 (http): http must have one of post, put and patch',
    ],
    ['post: "https://x.example", item: "body.results[index]"', 'item needs rows beside it'],
    ['post: "https://x.example", rows: 5, item: results', 'item must be a path to a list of the answer'],
    [
      'post: "https://x.example", outcomes: [{ when: "stats == 1", is: ok }]',
      'outcomes.when: there is no field stats',
    ],
    ['post: "https://x.example", outcomes: [{ when: "status == 1", is: okay }]', 'is must be'],
  ])('is refused where its step says %s', async (http, sentence) => {
    write(http)
    const { code, stderr } = await here.run('flow check flow.yaml')
    expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)])
  })
})

describe('an address as the output of a flow', () => {
  it('is sent rows with PUT', async () => {
    const { origin, requests } = await address(() => [200, {}])
    here.write(
      'flow.yaml',
      `name: flow\ninput: { csv: list.csv }\nsteps: [{ keep: name != null }]\noutput: { http: { put: "${origin}", rows: 20 } }\n`,
    )
    expect((await run()).code).toBe(0)
    expect(requests.map(({ method, body }) => [method, body.rows?.length])).toEqual([
      ['PUT', 20],
      ['PUT', 20],
    ])
  })
})
