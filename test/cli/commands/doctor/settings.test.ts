import { writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { perTest } from '../../../support/each.js'
import { place } from './place.js'

const here = perTest(place)

const config = (value: unknown) =>
  writeFile(here.path('config.json'), typeof value === 'string' ? value : JSON.stringify(value), {
    mode: 0o600,
  })

describe('doctor: settings', () => {
  it('accepts missing settings', async () => {
    await here.says(/^ok /, 'settings')
  })

  it('accepts settings that commands wrote', async () => {
    await here.run('profiles add team --base-url https://api.example.com/api/v2 --timeout 5'.split(' '))
    await here.run(['profiles', 'use', 'team'])
    expect(await here.lines('settings')).toEqual(['ok | config.json is in order: 1 profile of your own. | '])
  })

  it.each(['{', '[]', 'null', ''])('reports a settings file with the text %j', async (text) => {
    await config(text)
    await here.says(/^problem .* is not a JSON object\. \| Correct it, or delete it/, 'settings')
  })

  it.each([
    [{ timeout: 'soon' }, 'timeout'],
    [{ base_url: 'http://ada:hunter2@x.example/api/v2' }, 'base_url'],
    [{ target: 'moon' }, 'target'],
    [{ max_wait: {} }, 'max_wait'],
    [{ tiemout: 5 }, 'tiemout'],
  ])('reports a profile with the setting %j', async (profile, key) => {
    await config({ profiles: { team: profile } })
    const [line, ...more] = await here.lines('settings')
    expect(line).toMatch(
      new RegExp(`^problem \\| Profile team: .*${key}.* \\| .* Correct it in .*config\\.json\\.$`),
    )
    expect(more).toEqual([])
    expect(line).not.toContain('hunter2')
  })

  it.each([{ profiles: 7 }, { profiles: { team: 7 } }])(
    'reports settings of the wrong shape: %j',
    async (value) => {
      await config(value)
      expect(await here.look('settings')).toMatchObject([{ status: 'problem' }])
    },
  )

  it('reports a missing profile in use', async () => {
    await config({ profile: 'gone' })
    await here.says(/^problem \| There is no profile named gone\. \| Known profiles: /, 'settings')
  })
})

describe('doctor: target', () => {
  const look = (options: object, env: Record<string, string> = {}) => here.lines('target', { options, env })

  it('names the engine of this machine or the server', async () => {
    expect(await look({})).toEqual(['ok | Requests go to the engine of this machine. | '])
    expect(await look({}, { PROSPECT_BASE_URL: 'https://api.example.com/api/v2' })).toEqual([
      'ok | Requests go to https://api.example.com/api/v2. | ',
    ])
  })

  it('suggests the corrected base URL', async () => {
    expect(await look({ baseUrl: 'https://api.example.com' })).toEqual([
      'problem | --base-url must end in /api/v2. | Write https://api.example.com/api/v2',
    ])
  })

  it('reports a remote profile without an address', async () => {
    await config({ profiles: { team: { target: 'remote' } } })
    expect(await look({ profile: 'team' })).toEqual([expect.stringMatching(/^problem .* has no base_url/)])
  })

  it('warns about plain HTTP even where it is permitted', async () => {
    const found = await look({ baseUrl: 'http://api.example.com/api/v2', insecureHttp: true })
    expect(found).toEqual([
      expect.stringMatching(/^ok/),
      expect.stringMatching(/^warning .*could read the key and the data in transit/),
    ])
  })

  it('skips the target check when settings cannot be read', async () => {
    await config('{')
    expect(await look({})).toEqual([])
  })
})
