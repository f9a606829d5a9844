import { describe, expect, it } from 'vitest'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { emptySchema } from '../../support/postgres.js'

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

  it('suggests pg_dump instead of backup, restore and reset', async () => {
    for (const line of ['backup copy.db', 'restore copy.db', 'reset --yes'])
      await ends(here.run(`engine ${line}`, on(schema.url)), 2, 'pg_dump')
  })
})
