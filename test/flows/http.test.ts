import type { IncomingMessage, ServerResponse } from 'node:http'
import { beforeEach, describe, expect, it } from 'vitest'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'

const here = perTest(machine)
const names = Array.from({ length: 40 }, (_, at) => `Company ${at}`)

beforeEach(async () => {
  await here.run('init')
  here.write('list.csv', `name,domain\n${names.map((name, at) => `${name},c-${at}.example\n`).join('')}`)
})

interface Asked {
  readonly key: string
  readonly name: string
  /** How often this row was sent before. */
  readonly before: number
}

/** An address that answers rows with a status and a body, and notes the keys that they came with. */
async function address(answer: (asked: Asked, response: ServerResponse) => unknown) {
  const keys = new Map<string, string[]>()
  const { origin } = closeAfterTest(
    await answering(async (request: IncomingMessage, response) => {
      const { name = '' } = JSON.parse((await received(request)).body) as { name?: string }
      const own = keys.get(name) ?? []
      keys.set(name, own)
      own.push(String(request.headers['idempotency-key']))
      response.setHeader('content-type', 'application/json')
      const body = answer({ key: own.at(-1) ?? '', name, before: own.length - 1 }, response)
      if (!response.writableEnded && !response.destroyed) response.end(JSON.stringify(body))
    }),
  )
  return { origin, keys }
}

const write = (
  origin: string,
  result: string,
  rest = 'output: { csv: out.csv, columns: [name, id] }',
  keep = '',
) =>
  here.write(
    'flow.yaml',
    `name: flow
input: { csv: list.csv }
steps:
  - http: { post: "${origin}", result: ${result}, per_second: 10000 }
${keep}
${rest}
`,
  )
const run = (...more: string[]) => here.run(['flow', 'run', 'flow.yaml', ...more])
const numberOf = (name: string) => name.split(' ')[1] ?? ''

describe('an address in a flow', () => {
  it('gets a key for each row, which is the same when the row is sent again', async () => {
    const { origin, keys } = await address(({ name, before }, response) => {
      if (before === 0 && Number(numberOf(name)) % 3 === 0) response.writeHead(503, { 'retry-after': '0' })
      return { id: numberOf(name) }
    })
    write(origin, '{ id: id }')
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(names.map((name) => ({ name, id: numberOf(name) })))
    expect(names.map((name) => keys.get(name)?.length)).toEqual(names.map((_, at) => (at % 3 === 0 ? 2 : 1)))
    for (const own of keys.values()) expect(new Set(own).size).toBe(1)
    expect(new Set([...keys.values()].flat()).size).toBe(names.length)
    expect([...keys.values()][0]?.[0]).toMatch(/^[\w-]{8,}$/)
  })

  it('is asked again about a row under the same key where its answer was lost, and that is wanted', async () => {
    const { origin, keys } = await address(({ name, before }, response) => {
      if (before === 0 && Number(numberOf(name)) % 8 === 0) response.destroy()
      return { id: numberOf(name) }
    })
    write(origin, '{ id: id }')
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([11, expect.stringContaining('5 failed')])
    expect(stderr).toContain('Add --retry-unknown')
    expect((await run('--retry-unknown')).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(names.map((name) => ({ name, id: numberOf(name) })))
    expect(names.map((name) => keys.get(name)?.length)).toEqual(names.map((_, at) => (at % 8 === 0 ? 2 : 1)))
    for (const own of keys.values()) expect(new Set(own).size).toBe(1)
  })

  it('gets a row under the same key when the flow was stopped before its answer came', async () => {
    let isReady = false
    const { origin, keys } = await address(({ name }, response) => {
      if (!isReady && Number(numberOf(name)) >= 20) return void response.writeHead(401).end('{}')
      return { id: numberOf(name) }
    })
    write(origin, '{ id: id }')
    expect((await run()).code).toBe(10)
    expect(here.exists('out.csv')).toBe(false)
    isReady = true
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(names.map((name) => ({ name, id: numberOf(name) })))
    for (const own of keys.values()) expect(new Set(own).size).toBe(1)
  })

  it('may have a row already: 409 is an answer that the flow reads, and keeps rows by', async () => {
    const { origin } = await address(({ name }, response) => {
      const isKnown = Number(numberOf(name)) % 4 === 1
      response.statusCode = isKnown ? 409 : 201
      return isKnown ? { existing: { id: `old ${numberOf(name)}` } } : { id: `new ${numberOf(name)}` }
    })
    const columns = 'output: { csv: out.csv, columns: [name, state, id, old] }'
    write(origin, '{ state: $status, id: id, old: existing.id }', columns, '  - keep: state == 409')
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([0, expect.stringContaining('2 keep: 40 in · 10 kept')])
    expect(here.rows('out.csv')).toEqual(
      names
        .filter((_, at) => at % 4 === 1)
        .map((name) => ({ name, state: '409', id: '', old: `old ${numberOf(name)}` })),
    )
  })

  it('did not fail where it has nothing of a row that it knows, or does not know', async () => {
    const { origin } = await address(({ name }, response) => {
      const at = Number(numberOf(name))
      response.statusCode = at % 3 === 0 ? 409 : at % 3 === 1 ? 404 : 200
      return at % 3 === 2 ? { id: at } : 'Nothing of this'
    })
    write(origin, '{ id: id }')
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 http: 40 in · 13 found · 40 go on')])
    expect(here.rows('out.csv').map(({ id }) => id)).toEqual(
      names.map((_, at) => (at % 3 === 2 ? String(at) : '')),
    )
  })

  it('leaves a field as it was that it does not answer, and empties one that is null in its answer', async () => {
    const { origin } = await address(({ name }) =>
      Number(numberOf(name)) % 2 === 0 ? { id: numberOf(name) } : { id: null, name: null },
    )
    write(origin, '{ id: id, name: name }', 'output: { csv: out.csv, columns: [name, id, domain] }')
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv').map(({ name, id }) => [name, id])).toEqual(
      names.map((name, at) => (at % 2 === 0 ? [name, String(at)] : ['', ''])),
    )
  })

  it.each(['<html>Please log in</html>', '{"id": "4', ''])(
    'fails a row that it answers with a 200 that is no JSON: %s',
    async (text) => {
      const { origin } = await address(({ name }, response) => {
        if (name === 'Company 7') response.end(text)
        return { id: numberOf(name) }
      })
      write(origin, '{ id: id }')
      const ended = await run()
      expect([ended.code, ended.stderr]).toEqual([
        11,
        expect.stringContaining('The address answered 200 without JSON'),
      ])
    },
  )

  it.each([
    ['a list', [{ id: 'wrong' }]],
    ['a list', []],
    ['nothing', null],
    ['a single value', 'done'],
    ['a single value', 7],
  ])('fails a row that it answers with %s in place of an object: %j', async (what, body) => {
    const { origin } = await address(({ name }) => (name === 'Company 7' ? body : { id: numberOf(name) }))
    write(origin, '{ id: id }')
    const { code, stderr } = await run()
    const sentence = `The address answered with ${what}, not an object`
    expect([code, stderr]).toEqual([11, expect.stringContaining(sentence)])
    expect(here.rows('out.csv')).toEqual(
      names.filter((name) => name !== 'Company 7').map((name) => ({ name, id: numberOf(name) })),
    )
  })

  it('may answer with anything where nothing is read from it', async () => {
    const { origin } = await address(({ name }) => (Number(numberOf(name)) % 2 === 0 ? [name] : 'done'))
    write(origin, '{ id: $status }')
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv')).toEqual(names.map((name) => ({ name, id: '200' })))
  })

  it('that is still at work on a row is asked again, under the same key', async () => {
    const { origin, keys } = await address(({ name, before }, response) => {
      response.statusCode = before < 2 ? 409 : 200
      if (before < 2) response.setHeader('retry-after', '0')
      return { id: before < 2 ? 'wrong' : numberOf(name) }
    })
    write(origin, '{ id: id }')
    expect((await run()).code).toBe(0)
    expect(here.rows('out.csv').map(({ id }) => id)).toEqual(names.map(numberOf))
    for (const own of keys.values()) expect([own.length, new Set(own).size]).toEqual([3, 1])
  })

  it('is not waited for after Ctrl-C, neither its answer nor its turn', async () => {
    let asked = 0
    const { origin } = await address((_, response) => {
      asked++
      // Never answered.
      response.on('close', () => {})
      response.writeHead(200)
      response.flushHeaders()
      return response.destroyed
    })
    here.write(
      'flow.yaml',
      `name: flow
input: { csv: list.csv }
steps: [{ http: { post: "${origin}", result: { id: id }, per_second: 0.01 } }]
output: { csv: out.csv }
`,
    )
    const ended = run()
    await expect.poll(() => asked).toBeGreaterThan(0)
    here.signals.emit('SIGINT', 'SIGINT')
    const { code, stderr } = await ended
    expect([code, stderr]).toEqual([130, expect.stringContaining('Interrupted')])
  })
})

describe('an address with a field of the row', () => {
  /** Notes the requests of a flow whose step has such a step line. */
  async function requests(step: (origin: string) => string) {
    const asked: string[] = []
    const { origin } = closeAfterTest(
      await answering((request: IncomingMessage, response) => {
        asked.push(`${request.method} ${request.url}`)
        response.end('{}')
      }),
    )
    here.write(
      'list.csv',
      'name,domain,Ref\nA,a.example,a b/c\nB,b.example,\nC,c.example,..\nD,d.example,ü\n',
    )
    here.write(
      'flow.yaml',
      `name: flow\ninput: { csv: list.csv }\nsteps:\n  - http: { ${step(origin)}, per_second: 10000 }\n` +
        'output: { csv: out.csv, columns: [name] }\n',
    )
    return asked
  }

  it('is filled for each row, and a row that lacks the field is not sent anywhere', async () => {
    const asked = await requests((origin) => `patch: "${origin}/c/{input.Ref}?by={name}"`)
    const { code, stderr } = await run()
    expect(code, stderr).toBe(11)
    expect(asked.sort()).toEqual(['PATCH /c/%C3%BC?by=D', 'PATCH /c/a%20b%2Fc?by=A'])
    expect(stderr).toContain('2 invalid')
  })

  it.each([
    ['of which the rows have none', '/c/{input.Reff}', 'There is no field input.Reff'],
    ['in its host', '', 'may have {field} only behind its host'],
    [
      'beside several rows of a request',
      '/c/{input.Ref}", rows: 10, item: "body.r[index]',
      'each row has one of its own',
    ],
  ])('is refused %s, before anything is sent', async (_, path, says) => {
    const asked = await requests(
      (origin) => `put: "${path === '' ? 'http://{name}.example/' : origin + path}"`,
    )
    for (const verb of ['check', 'run']) {
      const { code, stderr } = await here.run(['flow', verb, 'flow.yaml'])
      expect([code, stderr]).toEqual([2, expect.stringContaining(says)])
    }
    expect(asked).toEqual([])
  })

  it('is refused for an output, which sends rows together', async () => {
    here.write(
      'flow.yaml',
      'name: flow\ninput: { csv: list.csv }\nsteps: []\noutput: { http: { put: "http://127.0.0.1:9/{name}" } }\n',
    )
    const { code, stderr } = await here.run('flow check flow.yaml')
    expect([code, stderr]).toEqual([2, expect.stringContaining('must be the same for all rows')])
  })
})

describe('an address as the output of a flow', () => {
  const output = (origin: string) => `output: { http: { post: "${origin}", rows: 10 }, columns: [name] }`

  /** An address that takes rows, and says how often each request came. */
  async function receiver(statusOf: (key: string, before: number) => number) {
    const got = new Map<string, object[][]>()
    const { origin } = closeAfterTest(
      await answering(async (request: IncomingMessage, response) => {
        const { rows } = JSON.parse((await received(request)).body) as { rows: object[] }
        const key = String(request.headers['idempotency-key'])
        const own = got.get(key) ?? []
        got.set(key, own)
        own.push(rows)
        response.writeHead(statusOf(key, own.length - 1), { 'retry-after': '0' }).end('{}')
      }),
    )
    return { origin, got }
  }

  const step = '  - keep: domain != null'
  const writeOutput = (origin: string) =>
    here.write('flow.yaml', `name: flow\ninput: { csv: list.csv }\nsteps:\n${step}\n${output(origin)}\n`)

  it('takes a repeated request as taken where it says that it has it', async () => {
    const { origin, got } = await receiver((_, before) => (before === 0 ? 503 : 409))
    writeOutput(origin)
    expect((await run()).code).toBe(0)
    expect([...got.values()].map((own) => own.length)).toEqual([2, 2, 2, 2])
    expect([...got.values()].flatMap(([rows]) => rows)).toEqual(names.map((name) => ({ name })))
  })

  it('ends the flow where it does not take a request that is new to it', async () => {
    const { origin } = await receiver(() => 409)
    writeOutput(origin)
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([
      10,
      expect.stringContaining('did not take a request of the flow: It answered 409.'),
    ])
  })

  it('gets the rows of a flow of which all rows were looked at before', async () => {
    const { origin, got } = await receiver(() => 200)
    writeOutput(origin)
    expect((await run('--rows', '100')).code).toBe(0)
    expect(got.size).toBe(0)
    expect((await run()).code).toBe(0)
    expect(got.size).toBe(4)
    expect((await run()).code).toBe(0)
    expect([...got.values()].map((own) => own.length)).toEqual([1, 1, 1, 1])
  })
})
