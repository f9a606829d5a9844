import { readFileSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { served } from '../../../client/serving.js'
import { ends, machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'

const here = perTest(machine)

describe('init', () => {
  it('creates a workspace, a member and a key', async () => {
    expect(await here.json('init --yes')).toEqual({
      workspace: 'Local',
      member: 'me@localhost',
      plan: 'growth',
      credits: 1_000,
      profile: 'default',
    })
    expect(await here.json('engine keys list')).toHaveLength(1)
  })

  it('stores the key privately for the next command', async () => {
    await here.json('init')
    const credentials = here.path('credentials.json')
    expect(readFileSync(credentials, 'utf8')).toMatch(/pk_\w{38}/)
    expect(statSync(credentials).mode & 0o777).toBe(0o600)
    expect(await here.json('credits')).toMatchObject({ credits: { enrichment: 1_000 } })
    expect(await here.json('engine keys list')).toHaveLength(1)
  })

  it('changes nothing the second time, and says so', async () => {
    await here.json('init')
    await here.json('engine credits set 3')
    const again = await here.run('init --yes --json')
    expect(again.json).toMatchObject({ workspace: 'Local', credits: 3 })
    expect(again.stderr).toContain('Nothing was changed')
    expect(await here.json('engine workspaces list')).toHaveLength(1)
  })

  it('never prints the key', async () => {
    const { stdout, stderr } = await here.run('init --verbose')
    expect(stdout + stderr).not.toContain('pk_')
  })

  it('connects a server, and goes back to this machine, where a workspace exists already', async () => {
    await here.json('init')
    const there = await served()
    try {
      const address = ['Address of the server', `${there.server.baseUrl}\r`] as const
      const key = ['API key for http', `${there.bench.key}\r`] as const
      await ends(
        here.run('init', {
          typed: [['Where do your searches', '\u001b[B\u001b[B\r'], address, key],
        }),
        0,
        'Every command now uses this server',
      )
      await ends(
        here.run('init', { typed: [['Where do your searches', '\r']] }),
        0,
        'Every command now uses this machine',
      )
      expect(await here.json('config list')).toMatchObject({ target: 'local' })
    } finally {
      await there.close()
    }
  })

  it('creates nothing after Ctrl-C', async () => {
    await ends(here.run('init', { typed: [['Where do your searches', '\x03']] }), 130)
    expect((await here.run('init --json')).json).toMatchObject({ workspace: 'Local' })
  })
})
