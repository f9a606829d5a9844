import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const people = `full_name,email,network_profile_url,company_domain,phone
Jane Roe,jane@acme.example,https://www.network.example/in/jane-roe,acme.example,+33612345678
Bob Poe,bob@acme.example,https://www.network.example/in/bob-poe,acme.example,+33612345679
`

const here = perTest(machine)
beforeEach(async () => {
  writeFileSync(join(here.home, 'companies.csv'), 'name,domain\nAcme,acme.example\n')
  writeFileSync(join(here.home, 'people.csv'), people)
  await here.json('data', 'import', 'companies', 'companies.csv')
  await here.json('data', 'import', 'people', 'people.csv')
  await here.json('engine', 'credits', 'set', '100')
})

const bytes = () =>
  readdirSync(here.home)
    .filter((name) => /\.db(-wal)?$/.test(name))
    .map((name) => readFileSync(join(here.home, name), 'latin1'))
    .join('')

describe('data forget', () => {
  it('--suppress keeps hashes only, and an import brings nobody back', async () => {
    await here.json('suppress', 'add', 'jane@acme.example', '--reason', 'Jane asked')
    await here.json('data', 'forget', 'jane@acme.example', '--suppress', '--yes')
    expect(bytes()).not.toMatch(/jane|612345678/i)
    const entries = await here.json<{ value: unknown; reason: unknown }[]>('suppress', 'list')
    expect(entries.length).toBeGreaterThan(3)
    expect(entries.filter(({ value, reason }) => value !== null || reason !== null)).toEqual([])
    const checked = await here.json('data', 'import', 'people', 'people.csv', '--dry-run')
    expect(checked).toMatchObject({ added: 0, changed: 0, suppressed: 1 })
    const imported = await here.run(['data', 'import', 'people', 'people.csv', '--format', 'table'])
    expect(imported.stdout).toBe('0 people added, 1 updated, 1 suppressed and left out, 0 rejected\n')
    expect(bytes()).not.toMatch(/jane|612345678/i)
    for (const known of [
      'jane@acme.example',
      'https://www.network.example/in/jane-roe',
      '+33612345678',
      'Jane Roe at acme.example',
    ])
      expect((await here.run(['suppress', 'check', known])).code).toBe(13)
    expect((await here.run(['contacts', 'reverse-lookup', 'jane@acme.example'])).code).toBe(9)
    expect((await here.run(['contacts', 'reverse-lookup', 'bob@acme.example'])).code).toBe(0)
    expect((await here.run(['data', 'export', 'people'])).stdout).not.toMatch(/jane/i)
    // Whoever knows the address can take the entry back.
    expect((await here.run(['suppress', 'remove', 'jane@acme.example'])).code).toBe(0)
  })

  it('without it leaves an entry as a hash, and adds none', async () => {
    await here.json('suppress', 'add', 'jane@acme.example', 'other.example')
    await here.json('data', 'forget', 'jane@acme.example', '--yes')
    expect(await here.json('suppress', 'list')).toMatchObject([
      { kind: 'domain', value: 'other.example' },
      { kind: 'email', value: null },
    ])
  })
})
