import { beforeEach, describe, expect, it } from 'vitest'
import { ends, errorOf, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { ownServer } from '../../support/postgres.js'
import { until } from '../../support/until.js'
import { enrich } from '../call/serving.js'

const here = perTest(machine)
const server = perTest(ownServer)
let notices: Record<'serve' | 'worker', string>

const hear = (command: 'serve' | 'worker') => (text: string) => {
  notices[command] = text
}
const serve = () => `serve --port 0 --database ${server.url}`
const waiting = 'Waiting until it can be written'

beforeEach(() => {
  notices = { serve: '', worker: '' }
})

describe('a hot standby', () => {
  it('is named by commands, and lets serve and worker wait until it is promoted', async () => {
    const given = { env: { PROSPECT_DATABASE_URL: server.url } }
    await ends(here.run('init --yes', given), 0)
    const key = await here.newKey('me@localhost', given)
    await server.demote()
    const refused = await here.run('engine credits add 5 --json', given)
    expect([refused.code, errorOf(refused)]).toMatchObject([10, { code: 'database_read_only' }])
    expect(refused.stderr).toContain('it is a standby')
    expect((await here.run('engine ledger verify', given)).code).toBe(0)
    const doctor = await here.run('doctor --json', given)
    expect([doctor.code, doctor.json]).toMatchObject([
      13,
      {
        checks: expect.arrayContaining([
          {
            name: 'engine database',
            status: 'problem',
            text: 'The database is read-only: it is a standby.',
            hint: expect.stringMatching(/^Give the address of the primary server in PROSPECT_DATABASE_URL/),
          },
        ]),
      },
    ])
    // Another machine has no key yet, and cannot create one.
    const other = machine()
    const { line: baseUrl, stop } = await other.start(serve(), { onErrorOutput: hear('serve') })
    const working = other.run(`worker --database ${server.url}`, { onErrorOutput: hear('worker') })
    const ready = async () => {
      const response = await fetch(new URL('/ready', baseUrl))
      return [response.status, await response.json()]
    }
    const lookUp = async () => (await enrich({ baseUrl, key }, 'acme.example')).status
    expect(await ready()).toEqual([
      503,
      { status: 'not_ready', reason: expect.stringContaining('it is a standby') },
    ])
    expect(await lookUp()).toBe(503)
    await until(() => Object.values(notices).every((text) => text.includes(waiting)))
    await server.sql('SELECT pg_promote()')
    expect(await ready()).toEqual([200, { status: 'ready' }])
    expect(await lookUp()).toBe(404)
    expect([(await stop()).code, (await working).code]).toEqual([0, 0])
    other.remove()
  })

  it('gets its tables from serve and worker once it is promoted', async () => {
    await server.demote()
    const serving = here.start(serve(), { onErrorOutput: hear('serve') })
    const working = here.run(`worker --database ${server.url}`, { onErrorOutput: hear('worker') })
    await until(() => Object.values(notices).every((text) => text.includes(waiting)))
    await server.sql('SELECT pg_promote()')
    const { line: baseUrl, stop } = await serving
    expect((await fetch(new URL('/ready', baseUrl))).status).toBe(200)
    expect([(await stop()).code, (await working).code]).toEqual([0, 0])
  })
})
