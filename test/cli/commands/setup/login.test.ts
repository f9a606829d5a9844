import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answering } from '../../../client/listeners.js'
import { type Served, served } from '../../../client/serving.js'
import { type Machine, machine } from '../../../support/command.js'

let here: Machine
let there: Served
beforeEach(async () => {
  here = machine()
  there = await served()
})
afterEach(async () => {
  here.remove()
  await there.close()
})

const at = () => ['--base-url', there.server.baseUrl]
const credentials = () => readFileSync(join(here.home, 'credentials.json'), 'utf8')

describe('login', () => {
  it('stores a working key privately for the origin of its server', async () => {
    const { json, code } = await here.run(['login', ...at(), '--api-key-stdin'], { stdin: there.bench.key })
    expect([code, json]).toEqual([0, { origin: there.server.origin, stored: true, credits: 1_000 }])
    expect(JSON.parse(credentials())).toMatchObject({
      keys: { [there.server.origin]: { key: there.bench.key } },
    })
    expect(statSync(join(here.home, 'credentials.json')).mode & 0o777).toBe(0o600)
    expect((await here.run(['credits', ...at()])).code).toBe(0)
  })

  it('stores no key for a synchronous address that is not known', async () => {
    const { code, stderr } = await here.run(['login', '--sync', ...at(), '--api-key-stdin'], {
      stdin: there.bench.key,
    })
    expect([code, stderr]).toEqual([2, expect.stringContaining('prospect config set sync_base_url')])
  })

  it('asks for the key at a terminal without echoing it', async () => {
    const typed = [['API key for http', `${there.bench.key}\r`]] as const
    const { stdout, stderr, code } = await here.run(['login', ...at()], { typed })
    expect([code, (stdout + stderr).includes(there.bench.key)]).toEqual([0, false])
    expect((await here.run(['credits', ...at()])).code).toBe(0)
  })

  it('asks again for text that cannot be a key', async () => {
    const typed = [
      ['API key for http', 'two words\r'],
      ['cannot be an API key', `\u0015${there.bench.key}\r`],
    ] as const
    expect((await here.run(['login', ...at()], { typed })).code).toBe(0)
  })

  it('does not store a key that the server refuses', async () => {
    const { code, stderr } = await here.run(['login', ...at(), '--api-key-stdin'], {
      stdin: 'pk_wrong0wrong0wrong0',
    })
    expect([code, stderr]).toEqual([3, expect.stringContaining('The key was not stored.')])
    expect(() => credentials()).toThrow()
  })

  it('does not store a key that could not be tried', async () => {
    const gone = await answering(() => {})
    await gone.close()
    const words = ['login', '--base-url', `http://127.0.0.1:${gone.port}/api/v2`, '--api-key-stdin']
    expect((await here.run(words, { stdin: there.bench.key })).code).toBe(10)
    expect(() => credentials()).toThrow()
  })

  it('requires a key and a server', async () => {
    expect((await here.run(['login', ...at()])).code).toBe(3)
    expect((await here.run(['login', '--api-key-stdin'], { stdin: 'x' })).code).toBe(2)
  })

  it('logout removes the stored key', async () => {
    await here.run(['login', ...at(), '--api-key-stdin'], { stdin: there.bench.key })
    expect((await here.run(['logout', ...at()])).json).toEqual({ origin: there.server.origin, removed: true })
    expect((await here.run(['credits', ...at()])).code).toBe(3)
    expect((await here.run(['logout', ...at()])).json).toMatchObject({ removed: false })
  })
})

describe('init with a server', () => {
  it('tests and stores the key, and uses the server from then on', async () => {
    const { json } = await here.run(['init', ...at(), '--api-key-stdin'], { stdin: there.bench.key })
    expect(json).toEqual({ profile: 'default', base_url: there.server.baseUrl, credits: 1_000 })
    await here.json('accounts', 'enrich', '--domain', 'known.example')
    expect(await there.bench.balance()).toBe(999)
    await here.json('init', '--local')
    expect(await here.json('credits', '--local')).toMatchObject({ credits: { enrichment: 1_000 } })
  })

  it('asks for the server and its key at a terminal', async () => {
    const typed = [
      ['Where do your searches', '2'],
      ['❯ On a server', '\r'],
      ['Address of the server', `${there.server.baseUrl}\r`],
      ['API key for http', `${there.bench.key}\r`],
    ] as const
    const { code } = await here.run(['init'], { typed })
    expect(code).toBe(0)
    expect(await here.json('credits')).toMatchObject({ credits: { enrichment: 1_000 } })
    expect(await here.json('profiles', 'list')).toContainEqual(
      expect.objectContaining({ name: 'default', target: 'remote', base_url: there.server.baseUrl }),
    )
  })

  it('changes no setting when the key does not work', async () => {
    const wrong = await here.run(['init', ...at(), '--api-key-stdin'], { stdin: 'pk_wrong0wrong0wrong0' })
    expect(wrong.code).toBe(3)
    expect(await here.json('config', 'list')).toMatchObject({ base_url: null, target: null })
  })
})
