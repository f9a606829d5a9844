import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { machine } from '../../../support/command.js'
import { perTest } from '../../../support/each.js'
import { freshSchema } from '../../../support/postgres.js'

const schema = perTest(freshSchema)
const here = perTest(machine)

it('open data on a shared database is imported, attributed, completed by a register and forgotten as on this machine', async () => {
  const ask = (...words: string[]) => here.json<Record<string, unknown>>(...words, '--database', schema.url)
  const load = (file: string) => {
    const bytes = readFileSync(join(import.meta.dirname, '../../../fixtures/open-data', file))
    writeFileSync(here.path(file), bytes)
    return ask('data', 'import', 'companies', file, '--snapshot', '2026-05-01')
  }
  expect(await load('people-data-labs.csv')).toMatchObject({ added: 10 })
  expect(await load('people-data-labs.csv')).toMatchObject({ added: 0, updated: 10 })
  here.write('own.csv', 'name,domain,headcount\nAlpenbank,alpenbank.example,700\n')
  expect(await ask('data', 'import', 'companies', 'own.csv')).toMatchObject({ updated: 1 })
  expect(await load('companies-house.csv')).toMatchObject({ updated: 1, not_known: 9 })
  const env = { PROSPECT_DATABASE_URL: schema.url }
  const found = await here.run('accounts enrich --domain mcallister-it.example --json', { env })
  expect(found.json).toMatchObject({
    registry_number: '00000001',
    original_name: "mcallister & o'brien it services ltd",
    _source_name: expect.stringContaining('Companies House'),
    _source_date: '2026-05-01',
  })
  expect(await ask('data', 'stats')).toMatchObject({
    companies: 10,
    sources: [{ companies: 10 }, { companies: 1 }],
  })
  expect(await ask('data', 'forget', '--source', 'people-data-labs', '--yes')).toMatchObject({
    removed: 9,
    kept: 1,
  })
  expect(await ask('data', 'stats')).toMatchObject({ companies: 1 })
  const left = await here.run('accounts enrich --domain alpenbank.example --json', { env })
  expect(left.json).toMatchObject({ headcount: 700, employee_range: '501-1000', industry: null })
})
