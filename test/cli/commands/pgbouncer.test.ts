import { describe, expect, it, onTestFinished } from 'vitest'
import { ends, errorOf, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { hasPgBouncer, pgBouncer } from '../../support/pgbouncer.js'
import { freshDatabase } from '../../support/postgres.js'
import { receiveWebhooks } from '../../support/webhook-receiver.js'
import { ask } from '../call/serving.js'

const here = perTest(machine)
const database = perTest(freshDatabase)

const pooled = async (...settings: string[]) => {
  const pooler = await pgBouncer(database, ...settings)
  onTestFinished(pooler.close)
  return pooler.url
}

describe.runIf(hasPgBouncer)('PgBouncer in transaction mode', () => {
  it('serves commands, servers and workers, of which each transaction has its own settings', async () => {
    const url = await pooled()
    const env = { PROSPECT_DATABASE_URL: url, PROSPECT_DATABASE_DIRECT_URL: database.url }
    await here.setUp({ env })
    const people = 'first_name,last_name,email,company_domain\nAnn,Lee,ann@acme.example,acme.example\n'
    await ends(here.run('data import people -', { env, stdin: people }), 0)
    const { secret } = (await here.run('engine webhooks secret --json', { env })).json as { secret: string }
    const receiver = await receiveWebhooks(() => secret)
    onTestFinished(receiver.close)
    const key = await here.newKey('me@localhost', { env })
    const allow = '--allow-target 127.0.0.1'
    const { line: baseUrl, stop } = await here.start(`serve --port 0 --no-worker ${allow}`, { env })
    const working = here.run(`worker ${allow}`, { env })
    const at = { baseUrl, key }
    const before = await here.balance({ env })
    const enrich = (_: unknown, row: number) =>
      ask(at, '/contacts/single_enrich', {
        ...{ firstname: 'Ann', lastname: 'Lee', domain: 'acme.example', enrichment_type: ['email'] },
        ...{ webhook_url: receiver.url, custom: { row } },
      })
    const asked = await Promise.all(Array.from({ length: 40 }, enrich))
    expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 201))
    await expect.poll(() => new Set(receiver.arrivals.map(({ id }) => id)).size).toBe(40)
    expect(receiver.arrivals.every(({ verified }) => verified)).toBe(true)
    expect(await here.balance({ env })).toBe(before - 3 * 40)
    await ends(here.run('engine ledger verify', { env }), 0)
    await ends(here.run('data stats', { env }), 0)
    // The worker listens at the server itself; the pooler has no more than two.
    const own =
      "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    const [sessions] = await database.sql(
      `SELECT CAST(count(*) FILTER (WHERE query ~ 'LISTEN') AS INT) AS listening,
        CAST(count(*) FILTER (WHERE query !~ 'LISTEN') AS INT) AS others FROM pg_stat_activity ${own}`,
    )
    expect(sessions?.listening).toBe(1)
    expect(sessions?.others).toBeLessThanOrEqual(2)
    expect([(await stop()).code, (await working).code]).toEqual([0, 0])
  })

  it('gets no tables made in another schema than the one that is named', async () => {
    const url = await pooled('ignore_startup_parameters = options')
    const refused = await here.run('init --yes --json', {
      env: { PROSPECT_DATABASE_URL: `${url}?options=-c%20search_path%3Delsewhere` },
    })
    expect([refused.code, errorOf(refused)]).toMatchObject([10, { code: 'storage_failed' }])
    expect(refused.stderr).toContain('drops the search_path of its address')
    expect(await database.sql("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).toEqual([])
  })
})

it('refuses a direct address that is none', async () => {
  const env = { PROSPECT_DATABASE_URL: database.url, PROSPECT_DATABASE_DIRECT_URL: '10.0.0.1:5432' }
  await ends(
    here.run('init --yes', { env }),
    2,
    'PROSPECT_DATABASE_DIRECT_URL is not the address of a PostgreSQL',
  )
})

it('has doctor warn of a direct address where nothing listens', async () => {
  const env = {
    PROSPECT_DATABASE_URL: database.url,
    PROSPECT_DATABASE_DIRECT_URL: 'postgres://me@127.0.0.1:1/x',
  }
  await here.setUp({ env })
  const { stdout } = await here.run('doctor', { env })
  expect(stdout).toContain('PROSPECT_DATABASE_DIRECT_URL: 127.0.0.1:1: nothing listens at its address.')
})
