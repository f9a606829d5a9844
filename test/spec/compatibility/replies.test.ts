import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Operation, operations } from '../../../src/api/operations/table.js'
import { isObject } from '../../../src/api/values/objects.js'
import { type Example, examples } from '../../../src/reference/openapi.js'
import { foreign } from '../../cli/call/foreign.js'
import { proxyOf } from '../../cli/call/serving.js'
import { answers, closeAfterTest } from '../../client/listeners.js'
import { machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { isLong } from '../../support/effort.js'

type Fields = Readonly<Record<string, unknown>>

const enrich = 'accounts enrich --domain acme.example'

/** Pauses between attempts take no time. */
const sleep = async () => {}

/** Chooses the variants of `npm test`; with `--long` there are all. */
const seed = Number(process.env.PROSPECT_TEST_SEED ?? Date.now() % 1_000_000)

const here = perTest(() => machine())

/** Values of every kind, none of which fits every field. */
const kinds: readonly unknown[] = [null, 'text', 7.5, [], [[1], 'a', null], { a: { b: 1 } }, true, '']

/** Every variant of a value in which one field or item is of another kind, absent, or beside an unknown one. */
function* variantsOf(value: unknown, depth = 0): Generator<unknown> {
  if (depth > 3) return
  if (Array.isArray(value) && value.length > 0) {
    for (const one of variantsOf(value[0], depth + 1)) yield [one, ...value.slice(1)]
    for (const kind of kinds) yield [kind, ...value.slice(1)]
  }
  if (!isObject(value)) return
  yield { ...value, unknown: { new: ['field'] } }
  for (const [at, name] of Object.keys(value).entries()) {
    const { [name]: field, ...rest } = value
    yield rest
    // Two kinds for each field of the body; all of them come up, because the fields are many.
    for (const more of [0, 3]) yield { ...rest, [name]: kinds[(at + more) % kinds.length] }
    for (const one of variantsOf(field, depth + 1)) yield { ...rest, [name]: one }
  }
}

/** The arguments and the stdin that send a request. */
function invocationOf({ command: words, flag, method, path }: Operation, { request }: Example) {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(request[name ?? '']))
  const argv = [...words.split(' '), ...(flag === undefined ? [] : [`--${flag}`]), ...inPath]
  if (method === 'DELETE') return { argv: [...argv, '--yes'], stdin: '' }
  const fields = Object.fromEntries(Object.entries(request).filter(([name]) => !path.includes(`{${name}}`)))
  return { argv: [...argv, '--input', '-'], stdin: JSON.stringify(fields) }
}

describe('replies that differ from the documented ones', () => {
  it.each(operations().map((row) => [row.id, row] as const))(
    '%s: no difference in a field is a bug or a table that cannot be printed',
    async (id, row) => {
      let answer: unknown
      const server = closeAfterTest(await foreign(() => answer))
      const { argv, stdin } = invocationOf(row, examples[id])
      const env = { PROSPECT_BASE_URL: server.baseUrl, PROSPECT_API_KEY: 'a-key-of-the-server' }
      const all = [...variantsOf(examples[id].reply)]
      const some = { minLength: 3, maxLength: Math.min(all.length, 8) }
      const variants = isLong
        ? all
        : (fc.sample(fc.shuffledSubarray(all, some), { numRuns: 1, seed })[0] ?? [])
      const wrong: unknown[] = []
      for (const [at, variant] of [...variants, ...(isLong ? kinds : kinds.slice(0, 2))].entries()) {
        answer = variant
        const format = ['table', 'json', 'csv'][at % 3] ?? 'json'
        const options = ['--direct', '--yes', '--format', format, '--verbose']
        const run = await here.run([...argv, ...options], { env, stdin, sleep })
        if (![0, 6, 9, 10].includes(run.code)) wrong.push([run.code, format, variant, run.stderr])
      }
      expect(variants.length).toBeGreaterThan(2)
      expect(wrong.slice(0, 3), `seed ${seed}`).toEqual([])
    },
  )

  it('pass with a note that is no error, printed with --verbose alone', async () => {
    const acme = { name: 'Acme', headcount: 'about 50', technologies: 'react' }
    const { run } = closeAfterTest(
      await foreign(({ path }) => (path === '/accounts/single_enrich' ? acme : {})),
    )
    const [quiet, verbose] = [await run(enrich), await run(`${enrich} --refresh --verbose`)]
    expect([quiet.code, verbose.code, quiet.json]).toEqual([0, 0, acme])
    expect(quiet.stderr).not.toContain('differs')
    expect(verbose.stderr).toContain('The reply differs from the documented one: headcount: ')
  })
})

describe('a paid reply that cannot be used', () => {
  const unusable = ['<html>', '[{"name":"Acme"}]', '{"name":"Ac']

  /** A server that charges for every call, and answers with something that cannot be used. */
  const chargingServer = async (body: string) => {
    const { origin } = await answers(({ url }, response) => response.end(url === '/health' ? '{}' : body))
    return `${origin}/api/v2`
  }

  it.each(unusable)('is 502 and stored as an event that shows what was sent: %s', async (body) => {
    const env = { PROSPECT_BASE_URL: await chargingServer(body), PROSPECT_API_KEY: 'a-key-of-the-server' }
    const run = await here.run(enrich, { env, sleep })
    expect(run.code).toBe(10)
    const id = /prospect events show (\S+)/.exec(run.stderr)?.[1] ?? ''
    expect(await here.json('events', 'show', id)).toMatchObject({
      event: 'reply.unusable',
      headers: { operation: 'accounts.enrich' },
    })
    const { body: kept } = await here.json<{ body: unknown }>('events', 'show', id)
    expect(typeof kept === 'string' ? kept : JSON.stringify(kept)).toBe(body)
  })

  it('is stored by a governed proxy, too, and by a command with --direct not', async () => {
    const upstream = await chargingServer('<html>')
    const proxy = await proxyOf({ baseUrl: upstream, key: 'key-of-the-server' })
    const headers = { 'content-type': 'application/json', 'x-api-key': proxy.key }
    const body = '{"domain":"acme.example"}'
    const answer = await fetch(`${proxy.baseUrl}/accounts/single_enrich`, { method: 'POST', headers, body })
    expect(answer.status).toBe(502)
    expect(await proxy.machine.json<Fields[]>('events', 'list')).toMatchObject([{ event: 'reply.unusable' }])
    await here.json('init')
    const env = { PROSPECT_BASE_URL: upstream, PROSPECT_API_KEY: 'a-key-of-the-server' }
    await here.run(`${enrich} --direct`, { env, sleep })
    expect(await here.json('events', 'list')).toEqual([])
  })
})
