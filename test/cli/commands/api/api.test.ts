import { beforeEach, describe, expect, it } from 'vitest'
import { parseFields } from '../../../../src/cli/commands/api/api.js'
import { ends, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(machine)
beforeEach(() => here.json('init'))

const api = (line: string) => here.run(`api ${line}`)

describe('prospect api', () => {
  it('prints the same reply as the command for a path', async () => {
    for (const line of ['GET /credits', 'get credits', 'GET /api/v2/credits'])
      expect((await api(line)).json).toEqual(await here.json('credits'))
  })

  it('sends -f fields in the query of a GET', async () => {
    const { json } = await api('GET /credits_consumption -f start_date=2026-01-01 -f end_date=2026-01-02')
    expect(json).toMatchObject({ start_date: '2026-01-01', credits_consumed: 0 })
  })

  it('sends -f fields in the body of a POST', async () => {
    const { code, json } = await api(`POST /accounts/single_enrich -f domain=none.example -f 'live="x"'`)
    expect([code, json]).toEqual([7, { error: expect.stringContaining('live') }])
  })

  it('sends --input unchanged, so that a server can refuse it', async () => {
    here.write('body.json', '{"domain": ')
    const { code, json } = await api('POST /accounts/single_enrich --input body.json')
    expect([code, json]).toEqual([7, { error: 'The request body is not valid JSON' }])
  })

  it('adds -f fields to the object of --input', async () => {
    here.write('body.json', '{"live": "x"}')
    await ends(api('POST /accounts/single_enrich --input body.json -f domain=none.example -f live=1'), 7)
  })

  it('prints status and headers with --include', async () => {
    const { stdout } = await api('GET /accounts/technologies --include')
    const [head = '', body = ''] = stdout.split('\n\n')
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\n/)
    expect(head).toMatch(/\nratelimit-limit: 100\n/)
    expect(JSON.parse(body)).toEqual({ technologies: [] })
  })

  it('prints the body as it came with --include, on a terminal too, unless a format is chosen', async () => {
    const argv = 'api GET /accounts/technologies --include'
    const [, body] = (await here.run(argv, { terminal: true })).stdout.split('\n\n')
    expect(body).toBe('{"technologies":[]}\n')
    const refused = await here.run('api GET /nothing --include', { terminal: true })
    expect(refused.stdout.split('\n\n')[1]).toMatch(/^\{"error":.*\}\n$/)
    const [, chosen] = (await here.run(`${argv} --json`)).stdout.split('\n\n')
    expect(chosen).toBe('{\n  "technologies": []\n}\n')
  })

  it('answers /health and /openapi.json, which is what prospect openapi prints and writes', async () => {
    expect((await api('GET /health')).json).toMatchObject({ status: 'ok' })
    const served = (await api('GET /openapi.json')).json as object
    const { json } = await here.run('openapi')
    expect({ ...(json as object), servers: [] }).toEqual({ ...served, servers: [] })
    expect(served).toMatchObject({ openapi: '3.1.0', paths: { '/accounts/single_enrich': {} } })
    expect((await here.run('openapi -o api.json')).stdout).toBe('')
    expect(JSON.parse(here.read('api.json'))).toEqual(json)
  })

  it.each([
    ['GET /nothing', 9],
    ['DELETE /credits', 7],
    ['POST /accounts/single_enrich', 7],
  ])('maps the refusal of %s to exit code %i', async (line, code) => {
    const outcome = await api(`${line} --json`)
    expect(outcome.code).toBe(code)
    expect(JSON.parse(outcome.stderr)).toMatchObject({ exit_code: code })
    expect(outcome.json).toHaveProperty('error')
  })

  it.each(['GET /personas --paginate -f per_page=2', 'get personas?per_page=2 --paginate'])(
    'fetches all pages with --paginate: %s',
    async (line) => {
      for (const name of ['A', 'B', 'C', 'D', 'E']) await here.json(`personas create --name ${name}`)
      const { code, json } = await api(line)
      const { personas, pagination } = json as { personas: { name: string }[]; pagination: object }
      expect([code, personas.map(({ name }) => name)]).toEqual([0, ['E', 'D', 'C', 'B', 'A']])
      expect(pagination).toMatchObject({ total_count: 5, has_more: false })
      expect(pagination).not.toHaveProperty('page')
    },
  )

  it('prints a reply without pages unchanged with --paginate', async () => {
    expect((await api('GET /credits --paginate')).json).toEqual((await api('GET /credits')).json)
    expect((await api('GET /lists/none --paginate')).code).toBe(9)
  })
})

describe('fields of prospect api', () => {
  it('parses JSON values in fields, and takes everything else as text', () => {
    const pairs = 'name=Acme limit=5 ratio=-1.5 live=false none=null custom={"a":1} ids=[1,2]'.split(' ')
    expect(parseFields(pairs)).toEqual({
      name: 'Acme',
      limit: 5,
      ratio: -1.5,
      live: false,
      none: null,
      custom: { a: 1 },
      ids: [1, 2],
    })
  })

  it('keeps numbers as text when they would lose digits', () => {
    expect(parseFields(['id=007', 'phone=+33123', 'big=12345678901234567890'])).toEqual({
      id: '007',
      phone: '+33123',
      big: '12345678901234567890',
    })
  })

  it('builds lists from repeated fields and names that end in []', () => {
    expect(parseFields(['a=1', 'a=2', 'b[]=x', 'c=x=y'])).toEqual({ a: [1, 2], b: ['x'], c: 'x=y' })
  })

  it('does not pollute the prototype of objects', () => {
    const fields = parseFields(['__proto__={"polluted":true}'])
    expect(Object.hasOwn(fields, '__proto__')).toBe(true)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it.each(['x', '=1', '', 'custom={a'])('refuses the field "%s"', (pair) =>
    expect(() => parseFields([pair])).toThrow(),
  )
})
