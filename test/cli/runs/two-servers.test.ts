import { afterEach, describe, expect, it } from 'vitest'
import { machine } from '../../support/command.js'
import { tries } from '../../support/effort.js'
import { emptySchema } from '../../support/postgres.js'
import { launchServer, prospect } from '../../support/processes.js'
import { until } from '../../support/until.js'

const rows = tries(600, 2_000)
const domains = Array.from({ length: rows }, (_, at) => `company-${at}.example`)

/** What chooses a database of its own. */
const databases = {
  SQLite: async () => ({ env: {}, drop: async () => {} }),
  PostgreSQL: async () => {
    const { url, drop } = await emptySchema()
    return { env: { PROSPECT_DATABASE_URL: url }, drop }
  },
}

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

describe.each(Object.entries(databases))('two servers over one database in %s', (_, open) => {
  it('answer a batch between them; when one is killed, no row is lost and none is paid twice', async () => {
    const { env, drop } = await open()
    const [home, here] = [machine(), machine()]
    ends.push(drop, home.remove, here.remove)
    const own = (line: string, stdin = '') => home.run(line, { env, stdin })
    const csv = ['domain,name', ...domains.map((domain) => `${domain},Name of ${domain}`)].join('\n')
    await own('data import companies -', csv)
    await own('engine plan set Scale')
    await own('engine credits set 100000')
    const key = await home.newKey(undefined, { env })
    const start = async () => {
      const argv = ['serve', '--port', '0']
      const { line, server } = await launchServer(prospect, argv, home.home, {
        PROSPECT_HOME: home.home,
        ...env,
      })
      ends.push(() => server.kill('SIGKILL'))
      return { line, server }
    }
    const [one, two] = [await start(), await start()]
    here.write('in.csv', `Website\n${domains.join('\n')}\n`)
    const spent = async () => 100_000 - (await home.balance({ env }))
    const addresses = { PROSPECT_BASE_URL: `${one.line},${two.line}`, PROSPECT_API_KEY: key }
    const running = here.run('accounts enrich --csv in.csv -o out.csv --yes', { env: addresses })
    await until(async () => (await spent()) >= 0.15 * rows)
    one.server.kill('SIGKILL')
    expect(await spent()).toBeLessThan(rows)
    const { code, stderr } = await running
    expect([code, stderr]).toEqual([0, expect.stringContaining(`${rows.toLocaleString('en')} found`)])
    const written = here.rows('out.csv')
    expect(
      written.map(({ Website, domain, _status, _credits }) => [Website, domain, _status, _credits]),
    ).toEqual(domains.map((domain) => [domain, domain, 'found', '1']))
    // What the servers charged, what this machine recorded, and what the ledger has are the same.
    const charges = (await own('engine ledger --json')).json as { kind: string; amount: number }[]
    const paid = charges.filter(({ kind }) => kind === 'charge')
    const recorded = (await here.json('ledger --by operation')) as object[]
    expect([await spent(), paid.length, paid.reduce((sum, { amount }) => sum + amount, 0)]).toEqual([
      rows,
      rows,
      rows,
    ])
    expect(recorded).toMatchObject([{ operation: 'accounts.enrich', credits: rows }])
    expect((await own('engine ledger verify --json')).json).toMatchObject({ ok: true })
  })
})
