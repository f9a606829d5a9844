import { describe, expect, it } from 'vitest'
import { ends } from '../../support/command.js'
import { perFile, perTest } from '../../support/each.js'
import { csvOf, type Listed, machines } from './paying.js'

const filled = perFile(() => machines(20, 1_000))

const here = perTest(() => filled.copy())

const place = { env: { PROSPECT_DATABASE_URL: 'other.db' } }
const enrich = 'accounts enrich --csv in.csv -o out.csv --quiet'

/** Starts a run that its budget stops, and then moves its engine to another database. */
async function moved() {
  here.write('in.csv', csvOf(20))
  expect((await here.enrich('--max-credits 8')).code).toBe(12)
  expect((await here.run('engine move --to other.db')).code).toBe(0)
}
const runsThere = async () => (await here.run('runs list --json', place)).json as Listed[]
const chargesThere = async () => {
  const ledger = (await here.run('engine ledger --json', place)).json as { operation: unknown }[]
  return ledger.filter(({ operation }) => operation !== null).length
}

describe('a run whose engine was moved', () => {
  it('resumes over the moved engine and pays for the remaining rows only', async () => {
    await moved()
    expect((await here.run(enrich, place)).code).toBe(0)
    expect(await runsThere()).toMatchObject([{ status: 'finished', done: 20, credits: 20 }])
    expect([await chargesThere(), here.rows('out.csv').length]).toEqual([20, 20])
    const check = await here.run('ledger check --json', place)
    expect([check.code, check.json]).toMatchObject([0, { ledger: 20, target_says: 20 }])
  })

  it('resumes by its id, and is found again when the engine moves back', async () => {
    await moved()
    const [{ id } = { id: '' }] = await runsThere()
    const part = `runs resume ${id} --max-credits 12`
    expect((await here.run(part, place)).code).toBe(12)
    expect((await here.run('engine move --to home', place)).code).toBe(0)
    expect((await here.enrich()).code).toBe(0)
    expect(await here.runs()).toMatchObject([{ id, target: 'local', status: 'finished', credits: 20 }])
    expect((await here.charges()).length).toBe(20)
  })

  it('reuses answers of the run in other runs over the moved engine', async () => {
    await moved()
    here.write('some.csv', csvOf(5))
    const some = 'accounts enrich --csv some.csv -o some-out.csv --quiet'
    expect((await here.run(`${some} --max-age 1d`, place)).code).toBe(0)
    expect(here.rows('some-out.csv').map(({ _source }) => _source)).toEqual(Array(5).fill('reused'))
  })

  it('reuses answers of single lookups over the moved engine', async () => {
    const lookUp = 'accounts enrich --domain company-1.example --max-age 1d --json'
    expect((await here.run(lookUp)).code).toBe(0)
    expect((await here.run('engine move --to other.db')).code).toBe(0)
    expect(await ends(here.run(lookUp, place), 0)).toMatchObject({ code: 0 })
    expect(await chargesThere()).toBe(1)
  })
})
