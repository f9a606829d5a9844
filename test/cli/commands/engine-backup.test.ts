import { execFileSync } from 'node:child_process'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { readClock } from '../../../src/engine/tables/members.js'
import { openEngineDatabase } from '../../../src/engine/tables/schema.js'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)
beforeEach(() => here.json('init'))

/** Runs `work` while another connection has the engine open. */
async function whileOpen<T>(work: () => Promise<T>): Promise<T> {
  const store = await openEngineDatabase(here.path('engine.db'))
  await store.read((tx) => readClock(tx))
  try {
    return await work()
  } finally {
    await store.close()
  }
}

describe('engine backup', () => {
  it('backs up an engine in use, and restores it', async () => {
    await here.json('engine credits set 42')
    const [copy] = await whileOpen(() => here.json<{ bytes: number }[]>('engine backup copy.db'))
    expect(copy).toMatchObject({
      database: 'engine',
      file: here.path('copy.db'),
      bytes: statSync(here.path('copy.db')).size,
    })
    expect(statSync(here.path('copy.db')).mode & 0o777).toBe(0o600)
    await here.json('engine credits set 1')
    await here.json('engine restore copy.db --yes')
    expect(await here.balance()).toBe(42)
    expect(await here.json('engine ledger verify')).toMatchObject({ ok: true })
  })

  it('backs up and restores the catalogue with --catalogue', async () => {
    const stdin = 'name,domain\nAcme,acme.example\n'
    await here.fill('companies', stdin)
    expect(await here.json('engine backup e.db --catalogue c.db')).toHaveLength(2)
    await here.fill('companies', 'name,domain\nOther,other.example\n')
    await here.json('engine restore e.db --catalogue c.db --yes')
    expect(await here.json('data stats')).toMatchObject({ companies: 1 })
  })

  it('refuses to overwrite a file, and creates no other', async () => {
    here.write('copy.db', 'mine')
    for (const files of ['copy.db', 'e.db --catalogue copy.db'])
      await ends(here.run(`engine backup ${files}`), 2)
    expect([here.read('copy.db'), here.exists('e.db')]).toEqual(['mine', false])
  })

  it('refuses when there is no engine to back up', async () => {
    await here.json('engine reset --yes')
    expect((await here.run('engine backup copy.db')).code).toBe(2)
  })
})

describe('engine restore', () => {
  beforeEach(() => here.json('engine backup copy.db'))

  it('creates a new key for this machine when the backup does not know the old one', async () => {
    const [own] = await here.json<{ id: string }[]>('engine keys list')
    await here.json(`engine keys revoke ${own?.id}`)
    expect(await here.balance()).toBe(1_000)
    await ends(here.run('engine restore copy.db --yes'), 0, 'key of this machine')
    expect(await here.balance()).toBe(1_000)
  })

  it.skipIf(process.platform === 'win32')('takes no pipe, folder or device for a backup', async () => {
    execFileSync('mkfifo', [here.path('pipe')])
    await here.json('engine credits set 7')
    const before = readdirSync(here.home)
    for (const file of ['pipe', '.', '/dev/null', '/dev/zero'])
      for (const files of [file, `copy.db --catalogue ${file}`])
        await ends(here.run(`engine restore ${files} --yes`), 2, 'is not a database')
    expect(readdirSync(here.home)).toEqual(before)
    expect(await here.balance()).toBe(7)
  })

  it('restore requires --yes without a terminal', async () => {
    await ends(here.run('engine restore copy.db'), 2, '--yes')
  })

  it('refuses to restore over an engine in use', async () => {
    await here.json('engine credits set 7')
    await ends(
      whileOpen(() => here.run('engine restore copy.db --yes')),
      2,
      'open',
    )
    expect(await here.balance()).toBe(7)
  })
})

describe('engine reset', () => {
  it('deletes a database that is damaged', async () => {
    for (const name of ['engine.db-wal', 'engine.db-shm']) rmSync(here.path(name), { force: true })
    here.write('engine.db', 'x'.repeat(5_000))
    expect(await here.json('engine reset --yes')).toEqual({ deleted: [here.path('engine.db')] })
    expect(here.exists('engine.db')).toBe(false)
  })

  it('deletes the engine and the key of this machine, and keeps the catalogue', async () => {
    await here.fill('companies', 'name,domain\nAcme,acme.example\n')
    expect(await here.json('engine reset --yes')).toEqual({ deleted: [here.path('engine.db')] })
    expect(here.read('credentials.json')).not.toContain('pk_')
    expect(await here.json('data stats')).toMatchObject({ companies: 1 })
    await here.json('init')
    expect(await here.balance()).toBe(1_000)
  })

  it('asks for confirmation at a terminal, where Enter alone keeps the engine', async () => {
    const enter = await here.run('engine reset', { typed: [['Continue? [y/N]', '\r']] })
    expect([enter.code, here.exists('engine.db')]).toEqual([16, true])
    const yes = await here.run('engine reset', { typed: [['Continue? [y/N]', 'Yes\r']] })
    expect([yes.code, here.exists('engine.db')]).toEqual([0, false])
  })

  it('says that there is no engine the second time', async () => {
    await here.json('engine reset --yes')
    const { json, stderr } = await here.run('engine reset --json')
    expect(json).toEqual({ deleted: [] })
    expect(stderr).toContain('no engine')
  })
})
