import { describe, expect, it } from 'vitest'
import { ends, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(machine)

describe('config', () => {
  it('lists every setting of the current profile', async () => {
    const { sources, ...settings } = await here.json<Record<string, unknown>>('config list')
    expect(sources).toMatchObject({ profile: 'default', timeout: 'default' })
    expect(settings).toEqual({
      profile: 'default',
      target: null,
      base_url: null,
      sync_base_url: null,
      timeout: null,
      max_wait: null,
      plan: null,
      idempotency: null,
      insecure_http: null,
      network_name: null,
      premium_name: null,
      public_url: null,
      max_age: null,
      max_credits: null,
      max_credits_per_day: null,
      format: null,
      concurrency: null,
      pager: null,
      confirm_above: null,
    })
  })

  it('sets, prints and resets a setting', async () => {
    expect(await here.json('config set timeout 60')).toEqual({ profile: 'default', timeout: 60 })
    expect((await here.run('config get timeout')).stdout).toBe('60\n')
    expect(await here.json('config get timeout')).toBe(60)
    expect((await here.run('config set timeout 0x10')).code).toBe(2)
    await here.json('config set timeout default')
    expect((await here.run('config get timeout')).stdout).toBe('')
  })

  it('chooses the profile of the next commands', async () => {
    await here.json('profiles add slow')
    expect(await here.json('config set profile slow')).toEqual({ profile: 'slow' })
    expect(await here.json('config list')).toMatchObject({ profile: 'slow' })
  })

  it('applies a changed setting to the next command', async () => {
    await here.json('engine plan set free')
    await here.json('config set max_wait 0')
    const ask = () => here.run('credits consumption --start-date 2026-01-01 --end-date 2026-01-02')
    expect([(await ask()).code, (await ask()).code]).toEqual([0, 8])
  })

  it('prints the paths of its files, without a password', async () => {
    const file = here.path('config.json')
    expect((await here.run('config path')).stdout).toBe(`${file}\n`)
    expect(await here.json('config path')).toMatchObject({
      config: file,
      engine: here.path('engine.db'),
    })
  })

  it.each([
    'ann:secret@host/db',
    'ann:hid@secret@host/db',
    'ann:hid/secret@hid@host/db',
    'ann:hid?secret#hid@host/db',
    'host/db?user=ann&password=hid@secret',
  ])('shows the database of the environment without its password: %s', async (address) => {
    const env = { PROSPECT_DATABASE_URL: `postgres://${address}` }
    const { code, stdout } = await here.run('config path --json', { env })
    expect([code, stdout]).toEqual([0, expect.stringContaining('host/db')])
    expect(stdout).not.toMatch(/secret|hid/)
  })

  it('shows where each setting comes from, and what holds without one', async () => {
    await here.json('config set confirm_above 25')
    await here.json('config set max_age 90d --profile default')
    const env = { PROSPECT_BASE_URL: 'https://api.example/api/v2' }
    const { stdout } = await here.run('config list --format table', { env })
    expect(stdout).toMatch(/^confirm_above +25% +profile$/m)
    expect(stdout).toMatch(/^max_age +90d +profile$/m)
    expect(stdout).toMatch(/^max_wait +10 +default$/m)
    expect(stdout).toMatch(/^base_url +https:\/\/api.example\/api\/v2 +environment$/m)
    await here.json('config unset confirm_above')
    expect((await here.run('config list --format table')).stdout).toMatch(/^confirm_above +10% +default$/m)
  })
})

describe('profiles', () => {
  const names = async () => (await here.json<{ name: string }[]>('profiles list')).map(({ name }) => name)

  it('adds, uses and removes profiles', async () => {
    expect(await here.json('profiles add slow --max-wait 600')).toMatchObject({
      name: 'slow',
      max_wait: 600,
    })
    await here.json('profiles use slow')
    expect(await here.json('config list')).toMatchObject({ profile: 'slow', max_wait: 600 })
    await ends(here.run('profiles remove slow'), 0, 'default')
    expect(await names()).toEqual(['default', 'local'])
    expect(await here.json('config list')).toMatchObject({ profile: 'default' })
  })

  it('keeps the other profiles when one is removed', async () => {
    await here.json('profiles add a')
    await here.json('profiles add b')
    await here.json('profiles remove a')
    expect(await names()).toEqual(['default', 'local', 'b'])
  })

  it('stores the address and field names of a server in a profile', async () => {
    const url = 'https://api.example/api/v2'
    const words = ['--base-url', `${url}/`, '--plan', 'growth', '--network-name', 'linkedin']
    const added = { name: 'far', target: 'remote', base_url: url, plan: 'growth', network_name: 'linkedin' }
    expect(await here.json('profiles', 'add', 'far', ...words)).toMatchObject(added)
    expect(await here.json('profiles list')).toContainEqual(expect.objectContaining({ base_url: url }))
  })
})
