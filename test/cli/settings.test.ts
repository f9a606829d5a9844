import { lstat, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { canAsk } from '../../src/cli/ask.js'
import type { GlobalOptions, Settings } from '../../src/cli/context.js'
import { homeOf } from '../../src/cli/home.js'
import { openSettings, readSettings } from '../../src/cli/settings.js'
import { targetOf } from '../../src/cli/target.js'
import { command, errorOf, folder, memory, removed } from './command.js'

let home = ''
beforeEach(async () => {
  home = await folder()
})
afterEach(() => removed(home))

const streams = (env: Record<string, string> = {}, isTTY = true) => {
  const stream = memory({ isTTY })
  const stdin = Object.assign(process.stdin, {})
  return { stdin: { ...stdin, isTTY } as typeof stdin, stdout: stream, stderr: stream, env, cwd: home }
}

describe('settings', () => {
  it('are written 0600, whatever the umask, and read back', async () => {
    const places = homeOf(streams({ PROSPECT_HOME: home }))
    const before = process.umask(0)
    try {
      const settings = await openSettings(places)
      settings.set('profiles', { fast: { target: 'local', max_wait: 60 } })
      settings.set('profile', 'fast')
    } finally {
      process.umask(before)
    }
    expect((await lstat(places.config)).mode & 0o777).toBe(0o600)
    expect(readSettings(places)).toEqual({
      profile: 'fast',
      profiles: { fast: { target: 'local', max_wait: 60 } },
    })
  })

  it('refuse values that the schema does not know, and stay as they were', async () => {
    const places = homeOf(streams({ PROSPECT_HOME: home }))
    const settings = await openSettings(places)
    settings.set('profile', 'a')
    expect(() => settings.set('profiles', { x: { target: 'moon' } } as never)).toThrow()
    expect(JSON.parse(await readFile(places.config, 'utf8'))).toEqual({ profile: 'a' })
  })

  it.each(['[]', 'null', '{', '7'])('are refused when the file holds %s', async (text) => {
    await writeFile(join(home, 'config.json'), text, { mode: 0o600 })
    const ended = await command(['credits'], { env: { PROSPECT_HOME: home } })
    expect([ended.code, errorOf(ended).error]).toEqual([
      2,
      `${join(home, 'config.json')} is not a JSON object.`,
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
  const chosen = (options: GlobalOptions, env = {}) => targetOf(options, env, settings)

  it('is local when nothing is said', () => {
    expect(targetOf({}, {}, {})).toEqual({ kind: 'local' })
  })

  it('is local with --local, whatever else is said', () => {
    const env = { PROSPECT_BASE_URL: 'https://a.example/api/v2' }
    expect(chosen({ local: true, baseUrl: 'https://b.example/api/v2' }, env)).toEqual({ kind: 'local' })
  })

  it('takes defaults from the profile that is named', () => {
    const slow = { kind: 'local', timeout: 5, maxWait: 60 }
    expect([chosen({ profile: 'slow' }), chosen({}, { PROSPECT_PROFILE: 'slow' })]).toEqual([slow, slow])
    expect(chosen({ profile: 'slow' }, { PROSPECT_PROFILE: 'team' })).toEqual(slow)
  })

  it('cannot be a remote server yet', () => {
    expect(() => chosen({})).toThrow('local engine only')
    expect(() => chosen({ profile: 'slow', baseUrl: 'https://b.example/api/v2' })).toThrow(
      'local engine only',
    )
  })
})

describe('questions', () => {
  it('need a person on both sides', () => {
    expect(canAsk({ streams: streams() }, {})).toBe(true)
    expect(canAsk({ streams: streams({}, false) }, {})).toBe(false)
  })

  it('are not asked with --no-input or in CI', () => {
    expect([
      canAsk({ streams: streams() }, { input: false }),
      canAsk({ streams: streams({ CI: '1' }) }, {}),
    ]).toEqual([false, false])
  })
})
