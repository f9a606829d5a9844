import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { operations } from '../../../src/api/operations/table.js'
import { foreign } from '../../cli/call/foreign.js'
import { closeAfterTest } from '../../client/listeners.js'
import { machine, stockedMachine } from '../../support/command.js'
import { perFile } from '../../support/each.js'
import { sample } from '../../support/effort.js'
import { openBench } from '../../support/engine.js'
import { requests } from '../requests.js'
import { openPlentiful, serveNamed, targets } from './targets.js'

const filtering = operations().filter(({ filters }) => filters)
const others = operations().filter(({ filters, method }) => !filters && method === 'POST')

/** The text of a refusal, in either shape. */
const textOf = (body: unknown): string => {
  const { error, message } = body as { error: unknown; message?: string }
  return message ?? String(error)
}

const ways = targets.map(([name, open], at) => ({ name, open, at }))

describe.each(ways)('unknown fields by way of $name', ({ open, at }) => {
  const some = <T>(cases: readonly T[]) => sample(cases, 6, at)

  const way = perFile(() => openPlentiful(open))

  it.each(some(filtering.map(({ id }) => id)))('are 422 by name, before any work: %s', async (id) => {
    const { asked } = way.bench.source
    const { status, body } = await way.ask(id, { ...requests[id], no_such_field: ['x'] })
    expect([status, textOf(body)]).toEqual([422, expect.stringContaining('Unknown field no_such_field,')])
    expect(way.bench.source.asked).toBe(asked)
    // Without it, the same request is taken by what is available.
    expect((await way.ask(id, requests[id])).status).toBeLessThan(300)
  })

  it.each(some(others.map(({ id }) => id)))('are ignored elsewhere: %s', async (id) => {
    const plain = await way.ask(id, requests[id])
    const { status, body } = await way.ask(id, { ...requests[id], no_such_field: 'x' })
    expect([status, Object.keys(body as object)]).toEqual([plain.status, Object.keys(plain.body as object)])
  })

  it('are 429 where the request would be', async () => {
    const id = 'leads.advanced_search_preview'
    const { bench } = way
    await way.ask(id, requests[id])
    const stopped = vi.spyOn(bench.clock, 'advance').mockImplementation(() => {})
    const { status } = await way.ask(id, { ...requests[id], no_such_field: 1 })
    stopped.mockRestore()
    expect(status).toBe(429)
  })

  it.each(some(filtering.filter(({ idempotent }) => idempotent).map(({ id }) => id)))(
    'are 422 under a key that was used without them, and leave its reply alone (P11): %s',
    async (id) => {
      const first = await way.ask(id, requests[id], `p11-${id}`)
      expect((await way.ask(id, { ...requests[id], no_such_field: 1 }, `p11-${id}`)).status).toBe(422)
      expect((await way.ask(id, { ...requests[id], streaming: true }, `p11-${id}`)).status).toBe(
        id === 'accounts.hiring' ? 422 : 409,
      )
      const again = await way.ask(id, requests[id], `p11-${id}`)
      expect([again.body, again.headers['idempotent-replayed']]).toEqual([first.body, 'true'])
    },
  )

  it('are 409 under a used key where they are ignored (P11)', async () => {
    const id = 'accounts.enrich'
    await way.ask(id, requests[id], 'p11')
    expect((await way.ask(id, { ...requests[id], no_such_field: 1 }, 'p11')).status).toBe(409)
  })
})

describe('a field in the words of a server and in ours', () => {
  const profile = 'https://www.linkedin.com/company/known'
  const other = 'https://www.linkedin.com/company/other'
  async function ask(path: string, body: object) {
    const bench = await openBench()
    const headers = { 'content-type': 'application/json', 'x-api-key': bench.key }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await serveNamed(bench.caller)(new Request(`http://127.0.0.1/api/v2${path}`, init))
    return [response.status, await response.text()] as const
  }

  it('is 422, also in the contacts of a bulk request', async () => {
    const both = { company_linkedin_url: profile, company_network_url: other }
    const twice = expect.stringContaining('company_linkedin_url is given under two names')
    for (const path of ['/accounts/single_enrich', '/accounts/count_profiles'])
      expect(await ask(path, both)).toEqual([422, twice])
    const contact = { linkedin_url: profile, network_url: profile }
    const bulk = { contacts: [contact, contact], enrichment_type: ['email'] }
    expect((await ask('/contacts/bulk_enrich', bulk))[0]).toBe(422)
  })

  it.each([
    { company_linkedin_url: profile },
    { company_network_url: profile },
    { company_linkedin_url: profile, company_network_url: '' },
    { company_linkedin_url: null, company_network_url: profile },
  ])('counts once when one of them is empty, and either is accepted: %j', async (body) => {
    expect((await ask('/accounts/single_enrich', body))[0]).toBe(200)
  })

  it('is named as it was sent when the operation does not know it', async () => {
    const [, text] = await ask('/accounts/search', { ...requests['accounts.search'], linkedin_url: 'x' })
    expect(text).toContain('Unknown field linkedin_url,')
  })
})

describe('unknown fields sent to another server', () => {
  const body = { ...requests['accounts.search'], location_ids: ['1'] }
  const input = ['--input', '-', '--webhook-url', 'https://hooks.example/in']
  const pass = [
    ['accounts', 'search', '--direct', ...input],
    ['api', 'POST', '/accounts/search', '--direct', '--input', '-'],
    ['api', 'POST', '/accounts/search', '--input', '-'],
  ]
  const server = async () =>
    closeAfterTest(await foreign(() => ({ id: 'one', message: 'started', total: 1 })))

  it.each(pass.map((argv) => [argv.join(' '), argv] as const))(
    'are passed on with one warning: %s',
    async (_, argv) => {
      const { run, requests: sent } = await server()
      const { code, stderr } = await run(argv, [], JSON.stringify(body))
      const searches = sent.filter(({ path }) => path === '/accounts/search')
      expect([code, searches.map((one) => one.body)]).toEqual([0, [body]])
      expect(stderr.match(/Unknown field/g)).toEqual(['Unknown field'])
      expect(stderr).toContain(
        'Unknown field location_ids, the nearest is included_locations. It is sent as it is.',
      )
    },
  )

  it('are passed on with one warning by the rows of a file with --direct', async () => {
    const { run, write, requests: sent } = closeAfterTest(await foreign(() => ({ jobs: [] })))
    write('companies.csv', 'domain\na.example\nb.example\n')
    const argv = ['accounts', 'hiring', '--csv', 'companies.csv', '--input', '-', '--yes', '--json']
    const constants = JSON.stringify({ location_ids: ['1'] })
    const { code, stderr } = await run([...argv, '--direct'], [], constants)
    const rows = () => sent.filter(({ path }) => path === '/accounts/company_hiring').map(({ body }) => body)
    const asked = ['a.example', 'b.example'].map((domain) => ({
      company_domain: domain,
      location_ids: ['1'],
    }))
    expect([code, rows()]).toEqual([0, asked])
    expect(stderr.match(/Unknown field/g)).toEqual(['Unknown field'])
    expect((await run(argv, [], constants)).stderr).toContain('Unknown field location_ids')
    expect(rows()).toHaveLength(2)
  })

  it('are refused before anything is sent by a governed command', async () => {
    const { run, requests: sent } = await server()
    const { code, stderr } = await run(['accounts', 'search', ...input], [], JSON.stringify(body))
    expect([code, sent]).toEqual([7, []])
    expect(stderr).toContain('Unknown field location_ids, the nearest is included_locations')
  })

  it('are refused by the engine of this machine, whatever the command', async () => {
    const here = await stockedMachine()
    onTestFinished(() => here.remove())
    for (const argv of [pass[0]?.filter((word) => word !== '--direct') ?? [], pass[2] ?? []]) {
      const { code, stderr } = await here.run(argv, { stdin: JSON.stringify(body) })
      expect([code, stderr]).toEqual([7, expect.stringContaining('Unknown field location_ids')])
    }
  })

  it('are passed on by serve --direct, which warns once', async () => {
    const { baseUrl, requests: sent } = await server()
    const here = machine()
    const { line, stop } = await here.start(['serve', '--port', '0', '--upstream', baseUrl, '--direct'])
    const headers = { 'content-type': 'application/json', 'x-api-key': 'a-key-of-the-server' }
    for (const _ of [1, 2])
      await fetch(`${line}/accounts/search`, { method: 'POST', headers, body: JSON.stringify(body) })
    const { stderr } = await stop()
    here.remove()
    expect(sent.map((one) => one.body)).toEqual([body, body])
    expect(stderr.match(/Unknown field location_ids/g)).toHaveLength(1)
  })
})
