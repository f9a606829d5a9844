import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { served } from '../../../client/serving.js'
import { machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(machine)

describe('init', () => {
  it('creates a workspace, a member and a key', async () => {
    expect(await here.json('init', '--yes')).toEqual({
      workspace: 'Local',
      member: 'me@localhost',
      plan: 'growth',
      credits: 1_000,
      profile: 'default',
    })
    expect(await here.json('engine', 'keys', 'list')).toHaveLength(1)
  })

  it('uses the given names', async () => {
    const made = await here.json('init', '--workspace', 'Acme', '--email', 'Ann@Example.com')
    expect(made).toMatchObject({ workspace: 'Acme', member: 'ann@example.com' })
  })

  it('stores the key privately for the next command', async () => {
    await here.json('init')
    const credentials = join(here.home, 'credentials.json')
    expect(readFileSync(credentials, 'utf8')).toMatch(/pk_\w{38}/)
    expect(statSync(credentials).mode & 0o777).toBe(0o600)
    expect(await here.json('credits')).toMatchObject({ credits: { enrichment: 1_000 } })
    expect(await here.json('engine', 'keys', 'list')).toHaveLength(1)
  })

  it('changes nothing the second time, and says so', async () => {
    await here.json('init')
    await here.json('engine', 'credits', 'set', '3')
    const again = await here.run(['init', '--workspace', 'Other', '--json'])
    expect(again.json).toMatchObject({ workspace: 'Local', credits: 3 })
    expect(again.stderr).toContain('Nothing was changed')
    expect(await here.json('engine', 'workspaces', 'list')).toHaveLength(1)
  })

  it('never prints the key', async () => {
    const { stdout, stderr } = await here.run(['init', '--verbose'])
    expect(stdout + stderr).not.toContain('pk_')
  })

  it('connects a server, and goes back to this machine, where a workspace exists already', async () => {
    await here.json('init')
    const there = await served()
    try {
      const address = ['Address of the server', `${there.server.baseUrl}\r`] as const
      const key = ['API key for http', `${there.bench.key}\r`] as const
      const remote = await here.run(['init'], {
        typed: [['Where do your searches', '\u001b[B\r'], address, key],
      })
      expect([remote.code, remote.stderr]).toEqual([
        0,
        expect.stringContaining('Every command now uses this server'),
      ])
      const back = await here.run(['init'], { typed: [['Where do your searches', '\r']] })
      expect([back.code, back.stderr]).toEqual([
        0,
        expect.stringContaining('Every command now uses this machine'),
      ])
      expect(await here.json('config', 'list')).toMatchObject({ target: 'local' })
    } finally {
      await there.close()
    }
  })

  it.each([
    ['https://api.hunter.io/v2', 'not that of a server of this API'],
    ['https://api.example.com/api/v1', 'not that of a server of this API'],
    ['https://api.example.com', 'Write https://api.example.com/api/v2'],
  ])('refuses the address %s', async (address, reason) => {
    const { code, stderr } = await here.run(['init', '--base-url', address, '--api-key-stdin'], {
      stdin: 'x',
    })
    expect([code, stderr]).toEqual([2, expect.stringContaining(reason)])
  })

  it('creates nothing after Ctrl-C', async () => {
    const { code } = await here.run(['init'], { typed: [['Where do your searches', '\x03']] })
    expect(code).toBe(130)
    expect((await here.run(['init', '--json'])).json).toMatchObject({ workspace: 'Local' })
  })

  it.each([
    ['--email', 'nobody'],
    ['--workspace', ' '],
    ['--nope', 'x'],
  ])('refuses init %s %s', async (option, value) => {
    expect((await here.run(['init', option, value])).code).toBe(2)
  })
})
