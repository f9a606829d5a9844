import { statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { GlobalOptions, Settings } from '../../../src/cli/context/context.js'
import { homeOf, openSettings, readSettings } from '../../../src/cli/context/home.js'
import { reportOf } from '../../../src/cli/messages.js'
import { targetOf } from '../../../src/cli/target/resolve-target.js'
import { ends, errorOf, machine, streamsOf } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)
const streams = (env: Record<string, string> = {}) => streamsOf({ env, typed: [], cwd: here.home })
const homeHere = () => homeOf(streams({ PROSPECT_HOME: here.home }))

describe('settings', () => {
  it('writes settings with mode 0600 whatever the umask, and reads them back', async () => {
    const places = homeHere()
    const before = process.umask(0)
    try {
      const settings = await openSettings(places)
      settings.set('profiles', { fast: { target: 'local', max_wait: 60 } })
      settings.set('profile', 'fast')
    } finally {
      process.umask(before)
    }
    expect(statSync(places.config).mode & 0o777).toBe(0o600)
    expect(readSettings(places)).toEqual({
      profile: 'fast',
      profiles: { fast: { target: 'local', max_wait: 60 } },
    })
  })

  it.each(['[]', 'null', '{', '7'])('refuses a settings file that contains %s', async (text) => {
    here.write('config.json', text, 0o600)
    const ended = await here.run('credits --json')
    expect([ended.code, errorOf(ended).error]).toEqual([
      2,
      `${here.path('config.json')} is not a JSON object.`,
    ])
  })
})

describe('the target', () => {
  const settings: Settings = {
    profile: 'team',
    profiles: {
      team: { target: 'remote', base_url: 'https://a.example/api/v2' },
      slow: { max_wait: 60, timeout: 5 },
    },
  }
  /** Throws what a person is told. */
  const chosen = (options: GlobalOptions, env = {}) => {
    try {
      return targetOf(options, env, settings)
    } catch (error) {
      const report = reportOf(error)
      throw Object.assign(new Error(), report, { exit: report?.exit_code })
    }
  }

  it('chooses the local target by default', () => {
    expect(targetOf({}, {}, {})).toEqual({ kind: 'local' })
  })

  it('chooses the local target with --local, whatever else is set', () => {
    const env = { PROSPECT_BASE_URL: 'https://a.example/api/v2' }
    expect(chosen({ local: true, baseUrl: 'https://b.example/api/v2' }, env)).toEqual({ kind: 'local' })
  })

  it('reads defaults from the named profile', () => {
    const slow = { kind: 'local', timeout: 5, maxWait: 60 }
    expect([chosen({ profile: 'slow' }), chosen({}, { PROSPECT_PROFILE: 'slow' })]).toEqual([slow, slow])
    expect(chosen({ profile: 'slow' }, { PROSPECT_PROFILE: 'team' })).toEqual(slow)
  })

  it('prefers --base-url to PROSPECT_BASE_URL, and that to the profile', () => {
    const env = { PROSPECT_BASE_URL: 'https://b.example/api/v2/' }
    const urls = [chosen({ baseUrl: 'https://c.example/x/api/v2' }, env), chosen({}, env), chosen({})]
    expect(urls).toMatchObject([
      { kind: 'remote', baseUrl: 'https://c.example/x/api/v2', origin: 'https://c.example' },
      { kind: 'remote', baseUrl: 'https://b.example/api/v2', origin: 'https://b.example' },
      { kind: 'remote', baseUrl: 'https://a.example/api/v2', origin: 'https://a.example', direct: false },
    ])
  })

  it('reads field names, plan and idempotency header from the profile, but prefers the name options', () => {
    const own = { network_name: 'linkedin', plan: 'growth', idempotency: 'X-Key' }
    const far: Settings = { profiles: { far: { base_url: 'https://a.example/api/v2', ...own } } }
    expect(targetOf({ profile: 'far', direct: true }, {}, far)).toMatchObject({
      plan: 'growth',
      idempotency: 'X-Key',
      direct: true,
      names: { network: 'linkedin', premium: 'premium' },
    })
    const options = { profile: 'far', networkName: 'net', premiumName: 'sales_navigator' }
    expect(targetOf(options, {}, far)).toMatchObject({
      names: { network: 'net', premium: 'sales_navigator' },
    })
  })

  it('stays local when the profile says so, unless --base-url names a server', () => {
    const here: Settings = {
      profiles: { default: { target: 'local', base_url: 'https://a.example/api/v2' } },
    }
    expect(targetOf({}, {}, here).kind).toBe('local')
    expect(targetOf({ baseUrl: 'https://a.example/api/v2' }, {}, here).kind).toBe('remote')
  })

  it.each([
    ['https://a.example', 'https://a.example/api/v2'],
    ['https://a.example/', 'https://a.example/api/v2'],
    ['https://a.example/api', 'https://a.example/api/v2'],
    ['https://a.example/api/v2/credits', 'https://a.example/api/v2'],
    ['https://a.example/team/api/v2?x=1', 'https://a.example/team/api/v2'],
    ['https://a.example/team', 'https://a.example/team/api/v2'],
  ])('refuses a base URL with the wrong path and suggests the right one: %s', (baseUrl, meant) => {
    expect(() => chosen({ baseUrl })).toThrow(expect.objectContaining({ exit: 2, hint: `Write ${meant}` }))
  })

  it('refuses the address of another API, and says what this one would be at that server', () => {
    const hint = expect.stringMatching(/^Other APIs cannot be connected.*https:\/\/a\.example\/api\/v2$/)
    for (const path of ['/api/v1', '/v1'])
      expect(() => chosen({ baseUrl: `https://a.example${path}` }), path).toThrow(
        expect.objectContaining({ exit: 2, hint }),
      )
  })

  it('refuses plain HTTP to another machine, unless it is allowed for a command or the addresses of a profile', async () => {
    const far = '--base-url http://far.example/api/v2'
    const refused = 'others could read the key and the data in transit'
    await ends(here.run(`profiles add far ${far}`), 2, refused, '--insecure-http', 'insecure_http yes')
    const added = await here.json(`profiles add far ${far} --insecure-http`)
    expect(added).toMatchObject({ base_url: 'http://far.example/api/v2', insecure_http: 'yes' })
    await ends(here.run('credits --profile far'), 3, 'API key')
    await ends(here.run('credits --profile far --base-url http://other.example/api/v2'), 2, refused)
    const env = { PROSPECT_BASE_URL: 'http://other.example/api/v2' }
    await ends(here.run('credits --profile far', { env }), 2, refused)
    for (const [command, code] of [
      ['unset insecure_http', 2],
      ['set insecure_http yes', 3],
      ['set insecure_http no', 2],
    ] as const) {
      await ends(here.run(`config ${command} --profile far`), 0)
      expect([command, (await here.run('credits --profile far')).code]).toEqual([command, code])
    }
    await ends(here.run('config set insecure_http perhaps --profile far'), 2)
  })

  it('refuses plain HTTP except to this machine or with --insecure-http', () => {
    const http =
      (host: string, options = {}) =>
      () =>
        chosen({ baseUrl: `http://${host}/api/v2`, ...options })
    for (const host of ['a.example', '10.0.0.1', '127.0.0.1.example', 'localhost.example'])
      expect(http(host), host).toThrow(expect.objectContaining({ exit: 2 }))
    for (const host of ['localhost:4010', '127.0.0.1', '[::1]:1', '2130706433'])
      expect(http(host), host).not.toThrow()
    expect(http('a.example', { insecureHttp: true })).not.toThrow()
  })

  it.each([
    '',
    'a.example/api/v2',
    'ftp://a.example/api/v2',
    'https://u:p@a.example/api/v2',
    'file:///api/v2',
  ])('refuses a base URL that is no server address: %j', (baseUrl) => {
    expect(() => chosen({ baseUrl })).toThrow(expect.objectContaining({ exit: 2 }))
    expect(() => chosen({ baseUrl })).not.toThrow(/:p@/)
  })
})
