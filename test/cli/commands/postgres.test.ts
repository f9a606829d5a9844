import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { emptySchema, ownServer } from '../../support/postgres.js'
import { launch, prospect } from '../../support/processes.js'

const here = perTest(machine)
const schema = perTest(emptySchema)

const on = (url: string) => ({ env: { PROSPECT_DATABASE_URL: url } })

describe('commands on PostgreSQL', () => {
  it('stores the engine and its ledger in PostgreSQL', async () => {
    await here.setUp(on(schema.url))
    const companies = 'name,domain\nAcme,acme.example\n'
    await here.run('data import companies -', { stdin: companies, ...on(schema.url) })
    const found = await here.run('accounts enrich --domain acme.example --json', on(schema.url))
    expect([found.code, found.json]).toMatchObject([0, { domain: 'acme.example' }])
    expect(await here.balance(on(schema.url))).toBe(999)
    await ends(here.run('engine ledger verify', on(schema.url)), 0)
    expect(await schema.sql('SELECT credits, spent FROM movements ORDER BY seq DESC LIMIT 1')).toEqual([
      { credits: '999', spent: '1' },
    ])
    expect(here.exists('engine.db')).toBe(false)
    // The catalogue is in the same database: one of this machine is never created.
    expect((await here.run('doctor --json', on(schema.url))).stdout).not.toContain('catalogue.db')
  })

  it.each([
    ['postgres://ann:hunter2@127.0.0.1:1/db', 'nothing listens'],
    ['postgres://ann:hunter2@nowhere.invalid/db', 'host name'],
    ['postgres://ann:hunter2@[/db', 'address'],
  ])('exits 10 and says why the database cannot be reached: %s', async (url, words) => {
    for (const line of ['credits', 'serve --port 0', 'worker', 'engine status']) {
      const { code, stdout, stderr } = await here.run(`${line} --json`, on(url))
      expect([code, stdout]).toEqual([10, ''])
      expect(JSON.parse(stderr)).toMatchObject({ code: 'database_unreachable', exit_code: 10 })
      expect(stderr).toContain(words)
      expect(stderr).not.toContain('hunter2')
    }
  })

  it('takes the password from the file that PGPASSFILE names, and says nothing of that', async () => {
    const server = await ownServer()
    try {
      await server.sql("CREATE ROLE ann LOGIN PASSWORD 'hunter2'")
      await server.sql('CREATE DATABASE ann OWNER ann')
      const rules = join(server.folder, 'data', 'pg_hba.conf')
      writeFileSync(rules, `local all ann scram-sha-256\n${readFileSync(rules, 'utf8')}`)
      await server.sql('SELECT pg_reload_conf()')
      const env = {
        PROSPECT_HOME: here.home,
        PROSPECT_DATABASE_URL: server.url.replace('postgres@/postgres', 'ann@/ann'),
      }
      const status = (file: string) =>
        launch(prospect, ['init', '--yes'], here.home, { ...env, PGPASSFILE: join(here.home, file) })
      await expect.poll(async () => (await status('none')).exitCode).toBe(10)
      here.write('pgpass', '*:*:*:ann:hunter2\n')
      chmodSync(join(here.home, 'pgpass'), 0o600)
      const { exitCode, stderr } = await status('pgpass')
      expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('Warning')])
    } finally {
      await server.stop()
    }
  })

  it('suggests pg_dump instead of backup, restore and reset', async () => {
    for (const line of ['backup copy.db', 'restore copy.db', 'reset --yes'])
      await ends(here.run(`engine ${line}`, on(schema.url)), 2, 'pg_dump')
  })
})
