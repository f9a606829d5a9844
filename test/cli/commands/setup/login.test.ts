import { statSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { answering } from '../../../client/listeners.js'
import { served } from '../../../client/serving.js'
import { ends, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(machine)
const there = perTest(served)

const at = () => `--base-url ${there.server.baseUrl}`
const credentials = () => here.read('credentials.json')

describe('login', () => {
  it('stores a working key privately for the origin of its server', async () => {
    const { json, code } = await here.run(`login ${at()} --api-key-stdin`, { stdin: there.bench.key })
    expect([code, json]).toEqual([0, { origin: there.server.origin, stored: true, credits: 1_000 }])
    expect(JSON.parse(credentials())).toMatchObject({
      keys: { [there.server.origin]: { key: there.bench.key } },
    })
    expect(statSync(here.path('credentials.json')).mode & 0o777).toBe(0o600)
    expect((await here.run(`credits ${at()}`)).code).toBe(0)
  })

  it('stores a key that may use one area only', async () => {
    const { key } = await there.bench.admin.createKey({ member: 'me@localhost', scopes: ['accounts'] })
    const { json, code } = await here.run(`login ${at()} --api-key-stdin`, { stdin: key })
    expect([code, json]).toMatchObject([0, { stored: true, credits: 1_000 }])
    expect((await here.run(`doctor ${at()} --json`)).stdout).toContain('The server accepts the key')
  })

  it('chooses the server where nothing else was set up, in a script too', async () => {
    const { stderr } = await here.run(`login ${at()} --api-key-stdin`, { stdin: there.bench.key })
    expect(stderr).toContain(`Commands use ${there.server.baseUrl} from now on.`)
    expect((await here.json<{ credits: object }>('credits')).credits).toMatchObject({ enrichment: 1_000 })
  })

  it('says what commands use from then on, and how to use the server in all commands', async () => {
    await here.setUp()
    const login = async (more = '') =>
      (await here.run(`login ${more} --api-key-stdin`, { stdin: there.bench.key })).stderr
    const url = there.server.baseUrl
    expect(await login(at())).toBe(
      `Commands still use the engine of this machine. To use this server in all commands: prospect config set base_url ${url}\n`,
    )
    await here.run(`config set base_url ${url}`)
    expect((await here.run('credits')).code).toBe(0)
    expect([await login(at()), await login()]).toEqual(['', ''])
    await here.run('config set target local')
    expect(await login(at())).toContain('in all commands: prospect config set target remote\n')
    await here.run('config unset base_url')
    await here.run('config set target remote')
    expect(await login(at())).toBe(
      `To use this server in all commands: prospect config set base_url ${url}\n`,
    )
    await here.run('profiles add other --base-url https://api.example.com/api/v2')
    expect(await login(`${at()} --profile other`)).toBe(
      'Commands with --profile other still use https://api.example.com/api/v2. To use this server in all commands: ' +
        `prospect config set base_url ${url} --profile other\n`,
    )
  })

  it.each([
    ['at a terminal', [['from now on? [Y/n]', '\r']], '', 'remote'],
    ['at a terminal, where the answer is no', [['from now on? [Y/n]', 'n\r']], '', 'local'],
    ['with --yes', undefined, '--yes --api-key-stdin', 'remote'],
  ] as const)('chooses the server %s', async (_, answer, more, target) => {
    const { code, stderr } = await here.run(
      `login ${at()} ${more}`,
      answer
        ? { typed: [['API key for http', `${there.bench.key}\r`], ...answer] }
        : { stdin: there.bench.key },
    )
    const isChosen = target === 'remote'
    expect([code, stderr.includes(`Commands use ${there.server.baseUrl} from now on.`)]).toEqual([
      0,
      isChosen,
    ])
    const [profile] = (await here.json('profiles list')) as object[]
    expect(profile).toMatchObject({ target, base_url: isChosen ? there.server.baseUrl : null })
  })

  it('does not choose another server than that of the profile unless somebody says so', async () => {
    await here.run('config set base_url https://api.example.com/api/v2')
    const typed = [
      ['API key for http', `${there.bench.key}\r`],
      ['from now on? [y/N]', '\r'],
    ] as const
    expect((await here.run(`login ${at()}`, { typed })).code).toBe(0)
    expect(await here.json('profiles list')).toMatchObject([
      { base_url: 'https://api.example.com/api/v2' },
      {},
    ])
  })

  it('asks for the key at a terminal without echoing it', async () => {
    const typed = [
      ['API key for http', `${there.bench.key}\r`],
      ['from now on?', 'n\r'],
    ] as const
    const { stdout, stderr, code } = await here.run(`login ${at()}`, { typed })
    expect([code, (stdout + stderr).includes(there.bench.key)]).toEqual([0, false])
    expect((await here.run(`credits ${at()}`)).code).toBe(0)
  })

  it('asks again for text that cannot be a key', async () => {
    const typed = [
      ['API key for http', 'two words\r'],
      ['cannot be an API key', `\u0015${there.bench.key}\r`],
      ['from now on?', 'n\r'],
    ] as const
    expect((await here.run(`login ${at()}`, { typed })).code).toBe(0)
  })

  it('does not store a key that the server refuses', async () => {
    await ends(
      here.run(`login ${at()} --api-key-stdin`, {
        stdin: 'pk_wrong0wrong0wrong0',
      }),
      3,
      'The key was not stored.',
    )
    expect(() => credentials()).toThrow()
  })

  it('does not store a key that could not be tried', async () => {
    const gone = await answering(() => {})
    await gone.close()
    const line = `login --base-url ${gone.origin}/api/v2 --api-key-stdin`
    expect((await here.run(line, { stdin: there.bench.key })).code).toBe(10)
    expect(() => credentials()).toThrow()
  })

  it('stores no key for a server of another API', async () => {
    const other = await answering((_, response) => response.end('{"data":{"requests":{"available":25}}}'))
    const line = `login --base-url ${other.origin}/api/v2 --api-key-stdin`
    const { code, stderr } = await here.run(line, { stdin: there.bench.key })
    await other.close()
    expect([code, stderr]).toEqual([2, expect.stringContaining('is not a server of this API')])
    expect(() => credentials()).toThrow()
  })

  it('logout removes the stored key', async () => {
    await here.run(`login ${at()} --api-key-stdin`, { stdin: there.bench.key })
    expect((await here.run(`logout ${at()}`)).json).toEqual({ origin: there.server.origin, removed: true })
    expect((await here.run(`credits ${at()}`)).code).toBe(3)
    expect((await here.run(`logout ${at()}`)).json).toMatchObject({ removed: false })
  })
})

describe('two profiles of one server', () => {
  let keys: readonly [string, string]
  const sent = async (words: string) => {
    const { code, stderr } = await here.run(`account ${words} --json`)
    return code === 0 ? 'accepted' : stderr
  }
  const login = (stdin: string, options: string) => here.run(`login ${options} --api-key-stdin`, { stdin })

  beforeEach(async () => {
    const member = 'b@x.example'
    await there.bench.admin.addMember({ email: member })
    keys = [there.bench.key, (await there.bench.admin.createKey({ member })).key]
    for (const name of ['a', 'b']) await here.json(`profiles add ${name} ${at()}`)
  })
  const emailOf = async (profile: string) =>
    (await here.json<{ account: { email: string } }>(`account --profile ${profile}`)).account.email

  it('keep two keys: login and logout of one leave the other alone', async () => {
    await login(keys[0], '--profile a')
    expect(await sent('--profile b')).toContain('prospect login --profile b')
    await login(keys[1], '--profile b')
    expect([await emailOf('a'), await emailOf('b')]).toEqual(['me@localhost', 'b@x.example'])
    await here.run('logout --profile b')
    expect([await emailOf('a'), (await here.run('account --profile b')).code]).toEqual(['me@localhost', 3])
  })

  it('find the key that was stored for the server without a profile, until they have their own', async () => {
    await login(keys[0], at())
    expect([await emailOf('a'), await emailOf('b')]).toEqual(['me@localhost', 'me@localhost'])
    await login(keys[1], '--profile b')
    expect([await emailOf('a'), await emailOf('b')]).toEqual(['me@localhost', 'b@x.example'])
    const { stderr } = await here.run('logout --profile b')
    expect([await emailOf('b'), stderr]).toEqual([
      'me@localhost',
      expect.stringContaining('without a profile'),
    ])
    expect((await here.run('logout --profile a')).json).toMatchObject({ removed: true })
    expect((await here.run('account --profile a')).code).toBe(3)
  })

  it('take their keys with them when they are removed', async () => {
    await login(keys[0], '--profile a')
    await here.run('profiles remove a --yes')
    expect(credentials()).not.toContain(keys[0])
  })
})

describe('init with a server', () => {
  it('tests and stores the key, and uses the server from then on', async () => {
    const { json } = await here.run(`init ${at()} --api-key-stdin`, { stdin: there.bench.key })
    expect(json).toEqual({ profile: 'default', base_url: there.server.baseUrl, credits: 1_000 })
    await here.json('accounts enrich --domain known.example')
    expect(await there.bench.balance()).toBe(999)
    await here.json('init --local')
    expect(await here.json('credits --local')).toMatchObject({ credits: { enrichment: 1_000 } })
  })

  it('changes no setting when the key does not work', async () => {
    await ends(here.run(`init ${at()} --api-key-stdin`, { stdin: 'pk_wrong0wrong0wrong0' }), 3)
    expect(await here.json('config list')).toMatchObject({ base_url: null, target: null })
  })
})
