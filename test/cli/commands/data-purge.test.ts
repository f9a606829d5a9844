import { describe, expect, it } from 'vitest'
import { openState } from '../../../src/storage/state/open.js'
import { machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'

const here = perTest(machine)

const dayMs = 86_400_000
const nothing = {
  jobs: 0,
  records: 0,
  contacts: 0,
  deliveries: 0,
  replies: 0,
  runs: 0,
  answers: 0,
  events: 0,
  pushes: 0,
  crm_records: 0,
}

const people = [
  'full_name,email,company_domain,title',
  'Ann Lee,ann@acme.example,acme.example,Carver',
  'Bo Ek,bo@acme.example,acme.example,Carver',
]
const filled = async () => {
  await here.fill('people', people.join('\n'))
}
const search = (...more: string[]) => ['leads', 'advanced-search', '--job-titles', 'Carver', ...more]

/** Opens the state database while `work` runs. */
async function withState(
  work: (state: Awaited<ReturnType<typeof openState>>) => Promise<unknown>,
): Promise<void> {
  const state = await openState(here.path('state.db'))
  await work(state).finally(() => state.close())
}
/** Moves the times of all runs and answers back. */
const age = (days: number, where = '1 = 1') =>
  withState((state) =>
    state.transaction(async (connection) => {
      await connection.run(
        `UPDATE runs SET started_at = started_at - ?, ended_at = ended_at - ? WHERE ${where}`,
        days * dayMs,
        days * dayMs,
      )
    }),
  )

describe('data purge', () => {
  it("deletes jobs that ended before the given age on the engine's clock, with their records", async () => {
    await filled()
    await here.json(...search('--wait', '--idempotency-key', 'a'))
    await here.json(
      'contacts waterfall --sync --first-name Ann --last-name Lee --domain acme.example ' +
        '--enrichment-type email',
    )
    await here.json('engine clock advance 91d')
    await here.json(...search('--wait'))
    expect(await here.json('data purge --older-than 92d')).toEqual({ ...nothing, replies: 2 })
    expect(await here.json('data purge --older-than 90d')).toEqual({
      ...nothing,
      jobs: 2,
      records: 3,
      contacts: 1,
    })
    expect(await here.json('searches list --no-enriched')).toMatchObject({
      searches: [{ leads_count: 2 }],
    })
    expect(await here.run('engine ledger verify')).toMatchObject({ code: 0 })
    expect(await here.json('data stats')).toMatchObject({ people: 2 })
  })

  it('keeps queued jobs, pending deliveries and lists', async () => {
    await filled()
    await here.json(...search('--no-wait', '--webhook-url', 'http://127.0.0.1:9/'))
    await here.run('lists create --name A --input -', {
      stdin: JSON.stringify({ companies: [{ name: 'Acme', domain: 'acme.example' }] }),
    })
    await here.json('engine clock advance 100d')
    expect(await here.json('data purge --older-than 90d')).toEqual(nothing)
    expect(await here.json('lists list')).toMatchObject({ lists: [{ name: 'A' }] })
    expect(await here.json('engine status')).toMatchObject({ jobs: { queued: 1 } })
  })

  it('deletes old runs with their answers, except answers that a newer run reused', async () => {
    await filled()
    const csv = (name: string, ...emails: string[]) => here.write(name, ['email', ...emails, ''].join('\n'))
    csv('one.csv', 'ann@acme.example', 'bo@acme.example')
    csv('two.csv', 'bo@acme.example')
    const run = (name: string, ...more: string[]) =>
      here.run(['contacts', 'reverse-lookup', '--csv', `${name}.csv`, '-o', `${name}.out.csv`, ...more])
    expect(await run('one')).toMatchObject({ code: 0 })
    await age(100)
    expect(await run('two', '--max-age', '200d')).toMatchObject({ code: 0 })
    expect(await here.json('data purge --older-than 90d')).toEqual({
      ...nothing,
      runs: 1,
      answers: 1,
    })
    expect(await run('two')).toMatchObject({ code: 0 })
    expect(here.read('two.out.csv')).toMatch(/bo@acme\.example,.*Bo Ek.*,found,,0,reused/)
    await age(100, 'forgotten = 0')
    expect(await here.json('data purge --older-than 90d')).toMatchObject({ answers: 2 })
    await withState((state) =>
      state.read(async (connection) => {
        expect(await connection.all('SELECT number FROM runs')).toEqual([])
        expect(await connection.all('SELECT * FROM lookups')).toEqual([])
      }),
    )
  })

  it('asks at a terminal, and says what was deleted', async () => {
    await filled()
    await here.json(...search('--wait', '--idempotency-key', 'a'))
    await here.json('engine clock advance 91d')
    const purge = 'data purge --older-than 90d --format table'
    const refused = await here.run(purge, { typed: [['permanently', 'n\r']] })
    expect([refused.code, refused.stdout]).toEqual([16, ''])
    const { code, stdout } = await here.run(purge, { typed: [['permanently', 'y\r']] })
    expect([code, stdout]).toEqual([0, 'Deleted 1 jobs, 2 records, 1 replies.\n'])
  })

  it('says that nothing is that old, and creates no database', async () => {
    const { code, stdout } = await here.run('data purge --older-than 90d --format table')
    expect([code, stdout]).toEqual([0, 'Nothing is that old.\n'])
    expect(here.exists('engine.db')).toBe(false)
  })
})
