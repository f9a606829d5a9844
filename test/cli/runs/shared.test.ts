import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Machine, machine } from '../../support/command.js'
import { perFile, perTest } from '../../support/each.js'
import { emptySchema } from '../../support/postgres.js'
import { csvOf, type Listed } from './paying.js'

const schema = perFile(emptySchema)
beforeAll(async () => {
  const first = machine()
  const env = { PROSPECT_DATABASE_URL: schema.url }
  writeFileSync(join(first.home, 'catalogue.csv'), csvOf(40))
  const made = await first.run(['data', 'import', 'companies', 'catalogue.csv', '--json'], { env })
  const paid = await first.run(['engine', 'credits', 'set', '1000', '--json'], { env })
  if (made.code !== 0 || paid.code !== 0) throw new Error(made.stderr + paid.stderr)
  first.remove()
})

const here = perTest(machine)
const there = perTest(machine)
afterEach(async () => {
  await schema.sql(
    `SET search_path TO ${schema.name}_state; TRUNCATE runs, answers, spending, run_locks CASCADE`,
  )
})

const at = () => ['--database', schema.url]
const enrich = (one: Machine, ...more: string[]) =>
  one.run(['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--quiet', ...at(), ...more])
const runs = async (one: Machine) => one.json<Listed[]>('runs', 'list', ...at())
const charges = async () =>
  Number((await schema.sql(`SELECT count(*) AS n FROM movements WHERE kind = 'charge'`))[0]?.n)

describe('a run in a shared database', () => {
  it('charges a company once whose domain an earlier answer shows, also when another machine resumes it', async () => {
    const catalogue = 'name,domain\nAcme Robotics GmbH,acme-robotics.example\n'
    writeFileSync(join(here.home, 'more.csv'), catalogue)
    const env = { PROSPECT_DATABASE_URL: schema.url }
    expect((await here.run(['data', 'import', 'companies', 'more.csv'], { env })).code).toBe(0)
    const before = await charges()
    const rows = ['Acme Robotics GmbH,', ',company-1.example', ',acme-robotics.example']
    writeFileSync(join(here.home, 'in.csv'), `Company,Website\n${rows.join('\n')}\n`)
    cpSync(join(here.home, 'in.csv'), join(there.home, 'in.csv'))
    expect((await enrich(here, '--concurrency', '1', '--max-credits', '1')).code).toBe(12)
    expect((await enrich(there)).code).toBe(0)
    expect((await charges()) - before).toBe(2)
    expect(await runs(here)).toMatchObject([{ status: 'finished', done: 3, credits: 2 }])
  })

  it('resumes on another machine with the same file and pays for the remaining rows only', async () => {
    const before = await charges()
    writeFileSync(join(here.home, 'in.csv'), csvOf(20))
    cpSync(join(here.home, 'in.csv'), join(there.home, 'in.csv'))
    expect((await enrich(here, '--max-credits', '8')).code).toBe(12)
    expect(await runs(there)).toMatchObject([{ status: 'stopped', rows: 20, done: 8, credits: 8 }])
    await there.json('init')
    expect(await there.json('runs', 'list')).toEqual([])
    expect((await enrich(there)).code).toBe(0)
    expect((await charges()) - before).toBe(20)
    expect(await runs(here)).toMatchObject([{ status: 'finished', done: 20, credits: 20 }])
    expect(readFileSync(join(there.home, 'out.csv'), 'utf8').trim().split('\n')).toHaveLength(21)
    const [{ id } = { id: '' }] = await runs(here)
    expect(await here.json('runs', 'show', id, ...at())).toMatchObject({
      credits_reserved: 0,
      lookups: { valid_emails: null },
    })
    const shared = { env: { PROSPECT_DATABASE_URL: schema.url } }
    const by = await here.run(['ledger', '--by', 'run', '--shared', '--json'], shared)
    expect(by.json).toEqual([{ run: id, calls: 20, credits: 20, doubted: 0 }])
    await here.json('init')
    expect(await here.json('ledger', '--by', 'run')).toEqual([])
    const exported = await there.run(['runs', 'export', id, ...at(), '-o', 'again.csv', '--quiet'])
    expect([exported.code, exported.stderr]).toEqual([0, ''])
    expect(readFileSync(join(there.home, 'again.csv'), 'utf8')).toBe(
      readFileSync(join(there.home, 'out.csv'), 'utf8'),
    )
    expect((await here.run(['runs', 'forget', id, ...at()])).code).toBe(0)
    expect(await runs(there)).toEqual([])
  })

  it('refuses to resume or delete a run that is active on another machine', async () => {
    writeFileSync(join(here.home, 'in.csv'), csvOf(5, 20))
    await enrich(here, '--max-credits', '2')
    const [{ id } = { id: '' }] = await runs(here)
    await schema.sql(
      `SET search_path TO ${schema.name}_state; UPDATE runs SET status = 'running';
       INSERT INTO run_locks (name, token, holder, lease_until)
       SELECT known_by, 'x', 'process 7, on elsewhere', (extract(epoch FROM now()) * 1000)::bigint + 20000 FROM runs`,
    )
    const refused = await enrich(here)
    expect([refused.code, refused.stderr.includes('elsewhere')]).toEqual([15, true])
    expect(await runs(there)).toMatchObject([{ status: 'running' }])
    expect((await there.run(['runs', 'forget', id, ...at()])).code).toBe(15)
    expect((await there.json<{ runs: number }>('data', 'purge', '--older-than', '0s', ...at())).runs).toBe(0)
    await schema.sql(`UPDATE ${schema.name}_state.run_locks SET lease_until = 1`)
    expect(await runs(there)).toMatchObject([{ status: 'stopped' }])
    expect((await enrich(here)).code).toBe(0)
  })

  it("keeps the engine's replies of a run that was taken over, for the process that lost it", async () => {
    writeFileSync(join(here.home, 'in.csv'), csvOf(9, 10))
    const kept = async () => Number((await schema.sql('SELECT count(*) AS n FROM run_replies'))[0]?.n)
    const before = await kept()
    await enrich(here, '--max-credits', '4')
    expect(await kept()).toBe(before)
    await schema.sql(
      `SET search_path TO ${schema.name}_state; UPDATE runs SET status = 'running';
       INSERT INTO run_locks (name, token, holder, lease_until) SELECT known_by, 'x', 'nobody', 1 FROM runs`,
    )
    expect((await enrich(here)).code).toBe(0)
    expect(await kept()).toBe(before + 5)
  })

  it('deletes runs and stored answers from any machine with data purge', async () => {
    writeFileSync(join(here.home, 'in.csv'), csvOf(3, 30))
    await enrich(here)
    const answers = `SELECT count(*) AS n FROM ${schema.name}_state.answers`
    expect(Number((await schema.sql(answers))[0]?.n)).toBe(3)
    const purged = await there.json('data', 'purge', '--older-than', '0s', ...at())
    expect(purged).toMatchObject({ runs: 1, answers: 3 })
    expect(Number((await schema.sql(answers))[0]?.n)).toBe(0)
  })
})
