import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ends, errorOf, machine } from '../../support/command.js'
import { type CutConnection, cutConnection } from '../../support/cut-connection.js'
import { perTest } from '../../support/each.js'
import { ownServer } from '../../support/postgres.js'
import { until } from '../../support/until.js'
import { enrich } from '../call/serving.js'

const here = perTest(machine)
let primary: Awaited<ReturnType<typeof ownServer>>
let standby: Awaited<ReturnType<typeof ownServer>>
let ways: Readonly<Record<'primary' | 'standby', CutConnection>>
let address: string

const given = () => ({ env: { PROSPECT_DATABASE_URL: address } })

const balance = async (at = primary) => {
  const rows = await at.sql('SELECT CAST(sum(amount) AS INT) AS sum FROM movements')
  return rows[0]?.sum
}

const readiness = async (baseUrl: string) => {
  const response = await fetch(new URL('/ready', baseUrl))
  return { ...((await response.json()) as { reason?: string }), status: response.status }
}

async function served() {
  await ends(here.run('init --yes', given()), 0)
  const key = await here.newKey('me@localhost', given())
  const { line: baseUrl, stop } = await here.start('serve --port 0', given())
  const working = here.run('worker', given())
  expect(await readiness(baseUrl)).toMatchObject({ status: 200 })
  expect((await enrich({ baseUrl, key }, 'acme.example')).status).toBe(404)
  await ends(here.run('engine credits add 7', given()), 0)
  const end = async () => expect([(await stop()).code, (await working).code]).toEqual([0, 0])
  return { baseUrl, key, end }
}

const isReady = (baseUrl: string) => async () => (await readiness(baseUrl)).status === 200

describe('an address with several hosts', () => {
  beforeEach(async () => {
    primary = await ownServer()
    standby = await primary.synchronousStandby()
    ways = { primary: await cutConnection(primary.folder), standby: await cutConnection(standby.folder) }
    // The standby is the first, which libpq would take.
    const hosts = [ways.standby, ways.primary].map(({ port }) => `127.0.0.1:${port}`)
    address = `postgres://postgres@${hosts.join(',')}/postgres`
  })

  afterEach(async () => {
    await Promise.all(Object.values(ways).map((way) => way.close()))
    await Promise.all([standby.stop(), primary.stop()])
  })

  it('is checked by doctor, which warns while a standby may lack what was confirmed', async () => {
    await ends(here.run('init --yes', given()), 0)
    const found = async () => {
      const { checks } = (await here.run('doctor --json', given())).json as {
        checks: { name: string; status: string; text: string }[]
      }
      return checks
        .filter(({ name }) => name === 'engine database')
        .map(({ status, text }) => `${status} ${text}`)
    }
    const hosts = [
      "ok The engine's database is on a server, and has schema version 1.",
      `ok 127.0.0.1:${ways.standby.port} is a standby.`,
      `ok 127.0.0.1:${ways.primary.port} is the primary.`,
    ]
    const late =
      "warning The engine's database has 1 standby, but confirms what none of them has yet: a failover can lose the last payments."
    expect(await found()).toEqual(hosts)
    await primary.sql('ALTER SYSTEM RESET synchronous_standby_names')
    await primary.sql('SELECT pg_reload_conf()')
    await expect.poll(found).toEqual([...hosts, late])
    ways.standby.cutAll()
    expect(await found()).toContain(`warning 127.0.0.1:${ways.standby.port}: the connection was cut.`)
  })

  it('leads serve, worker and commands to the primary, and to the one that is promoted when it dies', async () => {
    const { baseUrl, key, end } = await served()
    const before = await balance()
    ways.primary.cutAll()
    await primary.stop()
    await until(async () => (await readiness(baseUrl)).reason?.includes('it is a standby') === true)
    const refused = await here.run('engine credits add 5 --json', given())
    expect([refused.code, errorOf(refused)]).toMatchObject([10, { code: 'database_read_only' }])
    await standby.sql('SELECT pg_promote()')
    await until(isReady(baseUrl))
    expect((await enrich({ baseUrl, key }, 'acme.example')).status).toBe(404)
    await ends(here.run('engine credits add 5', given()), 0)
    expect(await balance(standby)).toBe(Number(before) + 5)
    expect((await here.run('engine ledger verify', given())).code).toBe(0)
    await end()
  })

  it('stops a batch through a server while none takes writes; the same command ends it, and no row is paid for twice', async () => {
    const { baseUrl, key, end } = await served()
    const domains = Array.from({ length: 40 }, (_, at) => `company-${at}.example`)
    const csv = ['domain,name', ...domains.map((domain) => `${domain},Name of ${domain}`)].join('\n')
    await ends(here.run('data import companies -', { ...given(), stdin: csv }), 0)
    await ends(here.run('engine credits set 100', given()), 0)
    here.write('in.csv', `Website\n${domains.join('\n')}\n`)
    const server = { env: { PROSPECT_BASE_URL: baseUrl, PROSPECT_API_KEY: key } }
    const line = 'accounts enrich --csv in.csv -o out.csv --yes'
    await ends(here.run(`${line} --max-credits 5`, server), 12)
    ways.primary.cutAll()
    await primary.stop()
    await until(async () => (await readiness(baseUrl)).reason?.includes('it is a standby') === true)
    const stopped = await here.run(line, server)
    expect([stopped.code, stopped.stderr]).toEqual([10, expect.stringContaining('it is a standby')])
    await standby.sql('SELECT pg_promote()')
    await until(isReady(baseUrl))
    const { code, stderr } = await here.run(line, server)
    expect([code, stderr]).toEqual([0, expect.stringContaining('40 found')])
    const charged = "SELECT CAST(sum(amount) AS INT) AS sum FROM movements WHERE kind = 'charge'"
    expect(await standby.sql(charged)).toEqual([{ sum: domains.length }])
    await end()
  })

  it('leads away from a primary that stands still, and never back to it once another is promoted past it', async () => {
    const { baseUrl, key, end } = await served()
    const before = Number(await balance())
    ways.primary.standStill()
    const cutOff = enrich({ baseUrl, key }, 'globex.example')
    await standby.sql('SELECT pg_promote()')
    await until(isReady(baseUrl))
    expect((await enrich({ baseUrl, key }, 'acme.example')).status).toBe(404)
    expect([404, 503]).toContain((await cutOff).status)
    // It is back, and would take writes.
    ways.primary.mend()
    await ends(here.run('engine credits add 5', given()), 0)
    expect([await balance(primary), await balance(standby)]).toEqual([before, before + 5])
    ways.standby.cutAll()
    await until(async () => (await readiness(baseUrl)).status === 503)
    const refused = await enrich({ baseUrl, key }, 'acme.example')
    expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('promoted past')])
    ways.standby.mend()
    await until(isReady(baseUrl))
    await end()
  })
})

it('an address with several hosts is refused with what is wrong with it', async () => {
  const asked = async (url: string) => {
    const ended = await here.run('credits --json', { env: { PROSPECT_DATABASE_URL: url } })
    return [ended.code, errorOf(ended).error]
  }
  expect(await asked('postgres://me@a,b/x?target_session_attrs=writable')).toEqual([
    2,
    'PROSPECT_DATABASE_URL has target_session_attrs=writable, which is none of any, read-write, read-only, primary, standby, prefer-standby.',
  ])
  expect(await asked('postgres:///x?host=a,b&port=1,2,3')).toEqual([
    2,
    'PROSPECT_DATABASE_URL names 2 hosts but 3 ports: give one port for all, or one for each.',
  ])
  expect(await asked('postgres://me@a:5432,,b:5432/x')).toEqual([
    2,
    'PROSPECT_DATABASE_URL has an empty host between its commas.',
  ])
})
