import { readdirSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { answering, closeAfterTest, type Listener } from '../client/listeners.js'
import { served } from '../client/serving.js'
import { type CommandResult, canary, ends, errorOf, type Given, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { casesOf } from '../support/fixtures.js'
import { launch, prospect } from '../support/processes.js'

const here = perTest(machine)
const there = perTest(served)

const url = () => there.server.baseUrl
const at = (listener: Listener) => `http://127.0.0.1:${listener.port}/api/v2`

/** Runs a command with the server and its key in the environment. */
const run = (line: string, env: Record<string, string> = {}, given: Given = {}) =>
  here.run(line, {
    env: { PROSPECT_BASE_URL: url(), PROSPECT_API_KEY: there.bench.key, ...env },
    sleep: (ms, signal) => pause(ms / 50, undefined, signal && { signal }),
    ...given,
  })

describe('a command against a server', () => {
  it.each(casesOf<[string, number]>('cli/remote/runs-against-a-server'))(
    'runs against a server as against the engine: %s exits %i',
    async (line, code) => {
      await here.fill('companies', 'domain\nsole.example\n')
      const [far, near] = [await run(line), await here.run([...line.split(' '), '--local'])]
      expect([far.code, near.code === code || line.includes('known')]).toEqual([code, true])
    },
  )

  it('opens no database of the local engine', async () => {
    const { json } = await run('accounts enrich --domain known.example')
    expect(json).toMatchObject({ domain: 'known.example' })
    expect(readdirSync(here.home).filter((name) => /^(engine|catalogue)/.test(name))).toEqual([])
    expect(await there.bench.balance()).toBe(999)
  })
})

describe('credits that are used up', () => {
  const topUp = () => `${url().replace('/api/v2', '')}/top-up`

  it.each([
    ['on a terminal', '', { terminal: true, columns: 200 }],
    ['with -o', '-o out.json', {}],
    ['with CSV', '--format csv', {}],
    ['as JSON', '--json', {}],
  ])('name where the server sells more: %s', async (_, options, given: Given) => {
    await there.bench.admin.setCredits(0)
    await ends(
      run(`accounts enrich --domain known.example ${options}`, {}, given),
      4,
      `Buy credits at ${topUp()}, then run it again.`,
    )
  })

  it('name where the server sells more when they end a batch', async () => {
    await there.bench.admin.setCredits(0)
    here.write('in.csv', 'domain\nknown.example\n')
    await ends(
      run('accounts enrich --csv in.csv -o out.csv --yes'),
      4,
      `Buy credits at ${topUp()}, then run it again.`,
    )
  })

  it('are bought at a page of the server, which says how its owner adds them', async () => {
    const page = await fetch(topUp())
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await page.text()).toContain('prospect engine credits add 500')
  })

  it.each(['javascript:alert(1)', 'https://a.example/\u001b[2J', 'see our site', 7])(
    'are not bought at what is no web address: %j',
    async (top_up_url) => {
      const other = closeAfterTest(
        await answering((_, response) => {
          response.writeHead(402, { 'content-type': 'application/json' })
          response.end(JSON.stringify({ error: 'Insufficient credits', top_up_url }))
        }),
      )
      await ends(
        run('accounts enrich --domain known.example --format csv', { PROSPECT_BASE_URL: at(other) }),
        4,
        /^Insufficient credits\. Buy credits from your vendor/,
      )
    },
  )

  it('are added by a command on this machine', async () => {
    await here.fill('companies', 'domain\nknown.example\n')
    await here.run('engine credits set 0')
    for (const words of ['--domain known.example', '--domain known.example -o out.json'])
      await ends(
        here.run(`accounts enrich ${words}`, { terminal: true, columns: 200 }),
        4,
        'Add credits (prospect engine credits add N)',
      )
  })
})

describe('the API key of a server', () => {
  const env = (more: Record<string, string> = {}) => ({ PROSPECT_HOME: here.home, ...more })

  it('exits 3 without sending anything when there is no key, and suggests prospect login', async () => {
    const ended = await here.run(`credits --base-url ${url()} --json`, { env: env() })
    expect([ended.code, errorOf(ended).code]).toEqual([3, 'key'])
    expect(errorOf(ended).hint).toContain(`prospect login --base-url ${url()}`)
  })

  it('sends a key stored for one server to no other', async () => {
    const seen: unknown[] = []
    const other = await answering((request, response) => {
      seen.push(request.headers['x-api-key'])
      response.end('{}')
    })
    await ends(
      here.run(`login --base-url ${url()} --api-key-stdin`, {
        stdin: there.bench.key,
      }),
      0,
    )
    expect((await here.run(`credits --base-url ${url()}`)).code).toBe(0)
    const ended = await here.run(['credits', '--base-url', at(other)])
    await other.close()
    expect([ended.code, seen]).toEqual([3, []])
  })

  it('sends a key from the environment only to the server from the environment, if there is one', async () => {
    const both = env({ PROSPECT_API_KEY: there.bench.key, PROSPECT_BASE_URL: 'https://api.example/api/v2' })
    const ended = await here.run(`credits --base-url ${url()} --json`, { env: both })
    expect([ended.code, errorOf(ended).error]).toEqual([3, expect.stringContaining('PROSPECT_BASE_URL only')])
    const alone = env({ PROSPECT_API_KEY: there.bench.key })
    expect((await here.run(`credits --base-url ${url()}`, { env: alone })).code).toBe(0)
  })

  it('reads the key from stdin for the server of --base-url', async () => {
    const both = env({ PROSPECT_BASE_URL: 'https://api.example/api/v2', PROSPECT_API_KEY: 'other' })
    const words = `credits --base-url ${url()} --api-key-stdin`
    expect((await here.run(words, { env: both, stdin: there.bench.key })).code).toBe(0)
  })
})

describe('a server that does not answer', () => {
  it('says that the outcome of a paid call is unknown when the connection closes', async () => {
    await there.bench.admin.addFault({ where: 'all', rules: { drop: 'after' } })
    const ended = await run('accounts enrich --domain known.example --json')
    expect([ended.code, ended.stdout, errorOf(ended)]).toEqual([
      10,
      '',
      expect.objectContaining({
        code: 'outcome_unknown',
        error: expect.stringContaining('It is unknown whether'),
        status: null,
      }),
    ])
    expect(await there.bench.balance()).toBe(999)
  })

  it('says that the request was not charged when the server cannot be reached', async () => {
    await there.server.close()
    const ended = await run('accounts enrich --domain known.example --json')
    expect([ended.code, errorOf(ended).code, errorOf(ended).hint]).toEqual([
      10,
      'unreachable',
      expect.stringContaining('this request was not charged'),
    ])
  })

  it('gives up after --timeout', async () => {
    await there.bench.admin.addFault({ where: 'all', rules: { timeout: true } })
    const ended = await run('credits --timeout 0.05 --json')
    expect([ended.code, errorOf(ended).code]).toEqual([10, 'unreachable'])
  })

  it('is asked once when the network limits its requests for hours', async () => {
    await there.bench.admin.addFault({ where: 'all', rules: { status: 429, network: true, retryAfter: 1 } })
    const ended = await run('credits --json')
    const [fault] = await there.bench.admin.faults()
    expect([ended.code, fault?.fired, errorOf(ended).hint]).toEqual([
      8,
      1,
      expect.stringContaining('Wait a few hours.'),
    ])
  })
})

it('a SOCKS proxy is used without a warning of the library that speaks its protocol', async () => {
  const env = { PROSPECT_HOME: here.home, PROSPECT_API_KEY: canary, https_proxy: 'socks5://127.0.0.1:1' }
  const argv = 'credits --base-url https://api.example.com/api/v2 --timeout 1 --format csv'.split(' ')
  const { stderr } = await launch(prospect, argv, here.home, env)
  expect(stderr.trimEnd().split('\n')).toEqual([expect.stringContaining('api.example.com')])
})

describe('older and other servers', () => {
  const answers = async (status: number, body: object, line: string): Promise<CommandResult> => {
    const server = await answering((_, response) => response.writeHead(status).end(JSON.stringify(body)))
    try {
      return await run(`${line} --json`, { PROSPECT_BASE_URL: at(server) })
    } finally {
      await server.close()
    }
  }

  it.each(casesOf<[number, Record<string, unknown>, string, number]>('cli/remote/understands-the-errors-of'))(
    'understands the errors of older servers: %i %j',
    async (status, body, line, code) => {
      expect((await answers(status, body, line)).code).toBe(code)
    },
  )

  it.each([400, 404])(
    'that say with %i that nothing was found have charged nothing, and another identifier may help',
    async (status) => {
      for (const [line, hint] of [
        ['accounts enrich x.example', 'profile url, domain or name with country'],
        [
          'leads enrich --network-profile-url https://www.network.example/in/x',
          'profile url, or name with company',
        ],
      ]) {
        const { stderr } = await answers(status, { error: 'Record not found' }, `${line} --json`)
        expect(JSON.parse(stderr)).toMatchObject({
          exit_code: 9,
          hint: `Nothing was charged. Give another identifier: ${hint}.`,
        })
      }
    },
  )

  it('that limit the rate get the same idempotency key when the call is repeated, whatever the target', async () => {
    for (const direct of ['', ' --direct']) {
      const keys: unknown[] = []
      const server = await answering((request, response) => {
        if (request.method !== 'POST') return response.writeHead(404).end()
        keys.push(request.headers['idempotency-key'])
        if (keys.length < 3) response.writeHead(429, { 'retry-after': '1' }).end('{"error":"Slow down"}')
        else response.end('{"domain":"x.example","name":"X"}')
      })
      const ended = await run(`accounts enrich --domain x.example --json${direct}`, {
        PROSPECT_BASE_URL: at(server),
      })
      await server.close()
      expect([ended.code, keys.length, new Set(keys).size]).toEqual([0, 3, 1])
    }
  })

  it.each([
    ['closes the connection', (response: ServerResponse) => response.destroy()],
    ['answers with no JSON', (response: ServerResponse) => response.end('<html>')],
  ])('that %s gets the key again that a call with --direct is reported with', async (_, lose) => {
    const keys: unknown[] = []
    const server = await answering((request, response) => {
      if (request.method !== 'POST') return response.writeHead(404).end()
      keys.push(request.headers['idempotency-key'])
      return lose(response)
    })
    const env = { PROSPECT_BASE_URL: at(server) }
    const first = await run('accounts enrich --domain x.example --direct --json', env)
    const [, key = ''] = /^It was sent with (--idempotency-key \S+)\.$/m.exec(first.stderr) ?? []
    await run(`accounts enrich --domain x.example --direct ${key}`, env)
    await server.close()
    expect(keys).toEqual([key.split(' ')[1], key.split(' ')[1]])
    expect(errorOf(first)).toMatchObject({ code: 'outcome_unknown', exit_code: 10 })
    expect(errorOf(first).hint).toContain('with the --idempotency-key that it was sent with')
  })

  it('prints big integers with all their digits', async () => {
    const list = { id: 'l', name: 'n', status: 'completed' }
    const server = await answering((_, response) =>
      response.end(JSON.stringify(list).replace('}', ',"network_list_id":9007199254740993}')),
    )
    const env = { PROSPECT_BASE_URL: at(server) }
    const outputs = []
    for (const format of ['json', 'ndjson', 'csv', 'table'])
      outputs.push((await run(`lists get l --format ${format} --fields network_list_id`, env)).stdout)
    await server.close()
    for (const output of outputs) expect(output).toMatch(/9007199254740993/)
    expect(outputs[0]).not.toContain('"9007199254740993"')
  })

  it.each([
    'leads search --input - --webhook-url https://x.example/hook',
    'api POST /leads/search --input -',
    'api POST /leads/search --input - -f name=A',
  ])('sends big integers with all their digits: %s', async (line) => {
    const asked: string[] = []
    const server = await answering((request, response) => {
      request.on('data', (chunk) => asked.push(String(chunk)))
      request.on('end', () => response.writeHead(202).end('{"id":"a","custom":{"n":9007199254740993}}'))
    })
    const stdin = '{"company_domain":"x.example","job_titles":["CTO"],"custom":{"n":9007199254740993}}'
    const { stdout } = await run(`${line} --json`, { PROSPECT_BASE_URL: at(server) }, { stdin })
    await server.close()
    for (const text of [asked.at(-1), stdout]) expect(text).toMatch(/"n": ?9007199254740993\b/)
  })
})

it('does not print the password of a proxy', async () => {
  const gone = await answering(() => {})
  await gone.close()
  const proxy = `http://user:${canary}@127.0.0.1:${gone.port}`
  const env = {
    PROSPECT_BASE_URL: 'https://api.example/api/v2',
    HTTPS_PROXY: proxy,
    PROSPECT_API_KEY: 'another-key',
  }
  const { code, stderr } = await run('credits --verbose', env)
  expect([code, stderr]).toEqual([10, expect.not.stringContaining(canary)])
  expect(stderr).toContain(`through the proxy 127.0.0.1:${gone.port}`)
})
