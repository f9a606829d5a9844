import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { newSecret, sign } from '../../src/api/webhooks/signature.js'
import { handler, openEngine, remote, verify } from '../../src/index.js'
import { serves } from '../cli/call/serving.js'
import { closeAfterTest, freePort } from '../client/listeners.js'
import { served } from '../client/serving.js'
import { machine } from '../support/command.js'
import { perFile, perTest } from '../support/each.js'
import { newFolder } from '../support/new-folder.js'
import { launch } from '../support/processes.js'
import { addProvider, fakeFile, fakeVendor, vendorKey } from '../support/vendors.js'

const folder = perTest(newFolder)
const there = perFile(served)

describe('the library', () => {
  it('keeps to the rate windows of a server together with other callers that have its state', async () => {
    const settings = { baseUrl: there.server.baseUrl, apiKey: there.bench.key }
    const shared = { ...settings, state: folder.at('state.db') }
    const callers = [await remote(shared), await remote(shared), await remote(settings)]
    const statuses: number[] = []
    // The server says that its plan permits one request a minute, and then has another plan.
    for (const plan of ['free', 'growth', 'growth']) {
      await there.bench.admin.setPlan(plan)
      const day = { start_date: '2026-01-01', end_date: '2026-01-02' }
      statuses.push((await callers[statuses.length]?.call('credits.consumption', day))?.status ?? 0)
    }
    await Promise.all(callers.map(({ close }) => close()))
    expect(statuses).toEqual([200, 429, 200])
  })

  it('asks other servers over the same database where the first is gone, and refuses addresses of no server', async () => {
    const { baseUrl } = there.server
    const gone = `http://127.0.0.1:${await freePort()}/api/v2`
    const caller = await remote({ baseUrl: gone, otherUrls: [baseUrl], apiKey: there.bench.key })
    expect(await caller.call('credits.show', {})).toMatchObject({ status: 200 })
    await caller.close()
    await expect(remote({ baseUrl, otherUrls: ['http://127.0.0.1:1'] })).rejects.toThrow(
      'otherUrls must end in',
    )
    await expect(remote({ baseUrl: `${gone},${baseUrl}` })).rejects.toThrow('baseUrl must end in')
  })

  it('serves the API with its description', async () => {
    const serve = handler({ caller: there.bench.caller })
    const at = async (path: string) => {
      const headers = { 'x-api-key': there.bench.key }
      return (await serve(new Request(`http://127.0.0.1${path}`, { headers }))).json()
    }
    expect(await at('/api/v2/credits')).toMatchObject({ credits: { enrichment: 1_000 } })
    expect(await at('/openapi.json')).toMatchObject({ openapi: expect.stringMatching(/^3\./) })
  })

  it('runs the example of an engine in its document twice in a row, from an empty folder', async () => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const document = await readFile(join(root, 'docs', 'library.md'), 'utf8')
    const example = /## An engine\n\n```ts\n(.*?)```/s.exec(document)?.[1] ?? ''
    const library = pathToFileURL(join(root, 'dist', 'index.js')).href
    const program = folder.at('example.mjs')
    await writeFile(program, example.replace("'prospect-cli'", `'${library}'`))
    for (const _ of ['the first time', 'again']) {
      const { stdout, stderr, exitCode } = await launch(program, [], folder.path, {})
      expect([exitCode, stdout, stderr]).toEqual([0, 'Acme Robotics 1', ''])
    }
  })

  it('pays once for what it, the commands of the same home, and other programs look up within 30 days', async () => {
    const here = machine(folder.path)
    await here.setUp()
    await here.fill('companies', 'name,domain\nAcme,acme.example\nBolt,bolt.example\n')
    const key = await here.newKey()
    const before = await here.balance()
    await here.run('accounts enrich --domain bolt.example')
    const places = { engine: here.path('engine.db'), catalogue: here.path('catalogue.db') }
    const engine = await openEngine({ ...places, state: here.path('state.db') })
    const ask = (domain: string, options = {}) =>
      engine.caller.call('accounts.enrich', { domain }, { apiKey: key, ...options })
    const [first, again] = await Promise.all([ask('acme.example'), ask('www.acme.example')])
    const seen = [first, again, await ask('acme.example'), await ask('bolt.example')]
    expect(seen.map(({ status, credits }) => [status, credits])).toEqual([
      [200, 1],
      ...Array(3).fill([200, 0]),
    ])
    expect(seen.map(({ reused }) => reused)).toEqual([false, true, true, true])
    expect(await ask('acme.example', { refresh: true })).toMatchObject({ reused: false, credits: 1 })
    expect((await ask('acme.example', { apiKey: 'pk_unknown' })).status).toBe(401)
    await engine.catalogue.importRecords('companies', [{ name: 'Acme AG', domain: 'acme.example' }])
    expect(await ask('acme.example')).toMatchObject({ reused: false, body: { name: 'Acme AG' } })
    await engine.close()
    const { json } = await here.run('accounts enrich --domain acme.example --json')
    expect(json).toMatchObject({ name: 'Acme AG', _source: 'reused' })
    expect(before - (await here.balance())).toBe(4)
    const plain = await openEngine(places)
    expect(
      await plain.caller.call('accounts.enrich', { domain: 'acme.example' }, { apiKey: key }),
    ).toMatchObject({
      reused: false,
      credits: 1,
    })
    await plain.close()
  })

  it('pays a server once with its state, under each key, and pays again without', async () => {
    const { baseUrl, key: apiKey } = await serves(0, 1)
    const settings = { baseUrl, apiKey }
    const asked = async (more: Partial<Parameters<typeof remote>[0]>, options = {}) => {
      const caller = await remote({ ...settings, ...more })
      const reply = await caller.call('accounts.enrich', { domain: 'robots-0.example' }, options)
      await caller.close()
      return [reply.status, reply.credits, reply.reused]
    }
    const state = folder.at('state.db')
    expect(await asked({ state })).toEqual([200, 1, false])
    expect(await asked({ state })).toEqual([200, 0, true])
    expect(await asked({ state }, { refresh: true })).toEqual([200, 1, false])
    expect(await asked({ state, maxAgeMs: 0 })).toEqual([200, 1, false])
    expect(await asked({})).toEqual([200, 1, false])
    expect((await asked({ state, apiKey: 'pk_other' }))[0]).toBe(401)
  })

  it('asks the data vendors of a home of the commands, with the keys that are stored there', async () => {
    const here = machine(folder.path)
    const vendor = closeAfterTest(await fakeVendor())
    await here.setUp()
    const key = await here.newKey()
    await addProvider(here, fakeFile(vendor.origin))
    const engine = await openEngine({ engine: here.path('engine.db') })
    const input = {
      first_name: 'Ada',
      last_name: 'King',
      domain: 'acme.example',
      enrichment_type: ['email' as const],
    }
    const reply = await engine.caller.call('contacts.enrich_sync', input, { apiKey: key })
    await engine.close()
    expect([reply.status, JSON.stringify(reply.body)]).toEqual([
      200,
      expect.stringContaining('king@acme.example'),
    ])
    expect([...vendor.charges.keys()]).toEqual(['King'])
    expect(vendor.seen.join()).toContain(vendorKey)
  })

  it('verifies a webhook with one of several secrets', () => {
    const [old, secret] = [newSecret(new Uint8Array(32)), newSecret(new Uint8Array(32).fill(1))]
    const now = Date.now()
    const headers = { ...sign('msg_1', now, '{}', [secret]) }
    expect(verify(headers, '{}', [old, secret], now)).toMatchObject({ valid: true })
    expect(verify(headers, '{"more":1}', [old, secret], now)).toMatchObject({ valid: false })
  })
})
