import { readFileSync, statSync } from 'node:fs'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import templates from '../../../src/providers/templates.json' with { type: 'json' }
import { closeAfterTest, freePort } from '../../client/listeners.js'
import { ends, errorOf, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { launch, prospect } from '../../support/processes.js'
import { acmemail, fakeFile, fakeVendor } from '../../support/vendors.js'

const key = 'acme-secret-key-1234567890'
const here = perTest(machine)
beforeEach(async () => {
  await here.json('init')
  here.write('acme.yaml', acmemail())
  here.write('acme.key', `${key}\n`, 0o600)
})

const add = (options = '') => here.run(`providers add acme.yaml --key-file acme.key ${options}`)
const listed = () => here.json<{ name: string; state: string; orders: string[] }[]>('providers list')
const names = async () => (await listed()).map(({ name }) => name)

describe('providers', () => {
  it('adds one between the catalogue and the patterns, and keeps its key like an API key', async () => {
    const added = await add()
    expect(added.stdout + added.stderr).not.toContain(key)
    expect(await listed()).toMatchObject([
      { name: 'catalogue' },
      { name: 'acmemail', state: 'in use' },
      {},
      {},
    ])
    const path = here.path('credentials.json')
    expect(readFileSync(path, 'utf8')).toContain(key)
    expect(statSync(path).mode & 0o077).toBe(0)
    expect(readFileSync(here.path('engine.db')).includes(key)).toBe(false)
  })

  it('asks for the key without showing it', async () => {
    const { code, stdout, stderr } = await here.run('providers add acme.yaml', {
      typed: [['API key for acme.yaml', `${key}\r`]],
    })
    expect({ code, shown: (stdout + stderr).includes(key) }).toEqual({ code: 0, shown: false })
  })

  it('takes the key from stdin, and refuses to go on without one', async () => {
    expect((await here.run('providers add acme.yaml --key-stdin', { stdin: key })).code).toBe(0)
    expect((await here.run('providers add acme.yaml')).code).toBe(3)
  })

  it('disables, enables and removes one with its key and its place in the orders', async () => {
    await add()
    await here.json('providers order email acmemail --when "headcount > 500"')
    expect((await listed())[1]).toMatchObject({ orders: ['email 1 when headcount > 500'] })
    await here.json('providers disable acmemail')
    expect((await listed())[1]).toMatchObject({ state: 'disabled' })
    await here.json('providers enable acmemail')
    await here.json('providers remove acmemail')
    expect(await names()).toEqual(['catalogue', 'pattern', 'mx'])
    expect(here.read('credentials.json')).not.toContain(key)
    await add()
    expect((await listed())[1]).toMatchObject({ orders: [] })
  })

  it.each([
    ['remove acmemial', 9, 'Did you mean acmemail?'],
    ['order emial acmemail', 2, 'Did you mean email?'],
    ['order company acmemail', 2, 'Its file has: email, phone.'],
    ['order email acmemail --when headcont>5', 2, 'Did you mean headcount?'],
    ['add nothing.yaml --key-file acme.key', 2, ''],
    ['add link-local.yaml --key-file acme.key', 2, /^$/],
    ['add . --key-file acme.key', 2, /^$/],
  ])('refuses %s', async (line, code, hint) => {
    await add()
    here.write('link-local.yaml', acmemail('https://169.254.169.254').replace('acmemail', 'other'))
    const result = await here.run(`providers ${line} --json`)
    expect(errorOf(result)).toMatchObject({ exit_code: code, hint: expect.stringMatching(hint) })
  })

  it('names a file that cannot be read once', async () => {
    expect(errorOf(await here.run('providers add . --key-file acme.key --json'))).toMatchObject({
      error: expect.not.stringContaining(': /'),
    })
  })

  it.each([
    ['http://api.acmemail.example', true],
    ['https://127.0.0.1:9', true],
    ['https://10.0.0.1', false],
    ['https://user:pass@api.acmemail.example', false],
    ['https://api.acmemail.example/?key=1', false],
    ['http://127.0.0.1:9', true],
  ])('takes %s only where its network is allowed', async (base, isAllowable) => {
    here.write('acme.yaml', acmemail(base))
    expect((await add()).code).toBe(2)
    expect((await add('--allow-target 127.0.0.0/8')).code).toBe(isAllowable ? 0 : 2)
  })
})

describe('providers with a vendor', () => {
  it('are tested with one real request whose key is hidden, and say their balance and how often they found something', async () => {
    const vendor = closeAfterTest(await fakeVendor())
    here.write('acme.yaml', fakeFile(vendor.origin))
    await add('--allow-target 127.0.0.0/8')
    expect(errorOf(await here.run('providers test acmemail --json')).hint).toMatch(
      /^Give (?:--\S+ )*--\S+(?:, or (?:--\S+ )*--\S+)*\.$/,
    )
    const tested = await here.run(
      'providers test acmemail --first-name Ada --last-name King --domain acme.example --json',
    )
    expect(tested.json).toMatchObject({
      request: { method: 'GET', key: 'hidden' },
      answer: { status: 200 },
      outcome: 'found',
      read: { email: 'king@acme.example', email_status: 'valid' },
      cost: 1,
    })
    expect(tested.stdout + tested.stderr).not.toContain(key)
    expect(await here.json('providers balance')).toEqual([{ name: 'acmemail', credits: 90, note: null }])
    for (const name of ['King', 'Nobody', 'Lost'])
      await here.run(
        `contacts waterfall --sync --first-name Ada --last-name ${name} --domain acme.example --enrichment-type email`,
      )
    const [stats] = await here.json<object[]>('providers stats')
    expect(stats).toMatchObject({
      provider: 'acmemail',
      kind: 'email',
      asked: 4,
      found: 2,
      not_found: 1,
      unknown: 1,
      hit_rate: 66.7,
      cost: 2,
      at_risk: 1,
    })
    expect(await here.json('ledger --by provider,member')).toMatchObject([
      { provider: 'acmemail', member: 'me@localhost', calls: 4, credits: 0, cost: 2, at_risk: 1 },
    ])
    expect(await here.json('ledger --provider acmemail')).toMatchObject([
      { provider: 'acmemail', operation: 'email', run: null, calls: 4, cost: 2 },
    ])
    expect(await here.json('ledger --provider other')).toEqual([])
    expect(await here.json('ledger --by day')).toEqual([])
  })

  it('say what is at risk for one run: with a lost answer, killed before its first answer, and of a flow', async () => {
    const vendor = closeAfterTest(await fakeVendor())
    here.write('acme.yaml', fakeFile(vendor.origin))
    await add('--allow-target 127.0.0.0/8')
    const atRisk = async (run: string) => {
      const sums = await here.json<object[]>(`ledger --run ${run} --by provider`)
      return sums.filter((sum) => 'provider' in sum && sum.provider === 'acmemail')
    }
    const write = (file: string, ...people: string[]) =>
      here.write(
        file,
        `first_name,last_name,domain\n${people.map((one) => `Ada,${one},acme.example\n`).join('')}`,
      )
    const enrich = (file: string) =>
      `contacts waterfall --csv ${file} --enrichment-type email -o out-${file} --yes`
    const idOf = async (command: string) => (await here.json<{ id: string }[]>(command))[0]?.id ?? ''

    write('lost.csv', 'King', 'Lost', 'Nobody')
    await here.run(enrich('lost.csv'))
    const lost = await idOf('runs list')
    expect(await atRisk(lost)).toMatchObject([{ calls: 3, credits: 0, cost: 1, at_risk: 1 }])
    const vendors = 'Own credits of data vendors: acmemail 1 (1 more at risk). --by provider lists them.'
    expect((await here.run(`ledger --run ${lost}`)).stderr).toContain(vendors)

    write('slow.csv', 'Slow')
    const batch = launch(prospect, enrich('slow.csv').split(' '), here.home, { PROSPECT_HOME: here.home })
    await expect.poll(() => vendor.asked.size).toBe(4)
    batch.kill('SIGKILL')
    await batch
    expect(await atRisk(await idOf('runs list'))).toMatchObject([{ calls: 1, cost: 0, at_risk: 1 }])
    const killed = await here.run(`ledger --run ${await idOf('runs list')}`, { terminal: true })
    expect(`${killed.stdout}${killed.stderr}`.replace(/\s+/g, ' ')).toContain(
      'No credits were spent. Own credits of data vendors: acmemail 0 (1 more at risk).',
    )

    write('flow.csv', 'King2', 'Lost2')
    const step = 'contacts.enrich: { enrichment_type: [email] }'
    here.write('f.yaml', `name: f\ninput: { csv: flow.csv }\nsteps: [{ ${step} }]\noutput: { csv: o.csv }\n`)
    await here.run('flow run f.yaml --yes')
    expect(await atRisk(await idOf('flow list'))).toMatchObject([{ calls: 2, cost: 1, at_risk: 1 }])
    expect(await atRisk(lost)).toMatchObject([{ calls: 3, cost: 1, at_risk: 1 }])
    expect((await here.run('ledger --run nothing --by provider')).code).toBe(9)
  })

  it.each([
    ['ada', { outcome: 'found', read: { phone: '+33612341000' }, cost: 10, answer: { status: 200 } }],
    ['none', { outcome: 'not_found', read: null, cost: 0 }],
    ['gone', { outcome: 'unknown', read: null, cost: null, answer: { status: 404 } }],
  ])('are tested until the result, where they take time (%s)', async (handle, expected) => {
    const vendor = closeAfterTest(await fakeVendor())
    here.write('acme.yaml', fakeFile(vendor.origin))
    await add('--allow-target 127.0.0.0/8')
    const url = `https://www.linkedin.com/in/${handle}`
    const argv = `providers test acmemail --kind phone --network-url ${url} --json`
    expect((await here.run(argv)).json).toMatchObject({ accepted: true, ...expected })
    expect([...vendor.asked.values()]).toEqual([1])
  })

  it.each([
    ['Lost', 'closed the connection without an answer'],
    ['Half', 'answered with only a part of its body'],
    ['Garbage', 'answered with something that is not JSON'],
    ['Slow', 'did not answer within 1 s'],
  ])('are tested without a result where their answer is lost (%s)', async (name, reason) => {
    const vendor = closeAfterTest(await fakeVendor())
    here.write('acme.yaml', fakeFile(vendor.origin).replace('timeout: 60s', 'timeout: 1s'))
    await add('--allow-target 127.0.0.0/8')
    const line = `providers test acmemail --first-name Ada --last-name ${name} --domain acme.example --json`
    expect(errorOf(await here.run(line))).toMatchObject({
      exit_code: 10,
      code: 'unreachable',
      error: expect.stringContaining(reason),
      hint: expect.stringContaining('It may have charged'),
    })
  })

  it('are tested without a result where they cannot be reached', async () => {
    here.write('acme.yaml', fakeFile(`http://127.0.0.1:${await freePort()}`))
    await add('--allow-target 127.0.0.0/8')
    const line = 'providers test acmemail --first-name Ada --last-name King --domain acme.example --json'
    expect(errorOf(await here.run(line))).toMatchObject({
      exit_code: 10,
      error: expect.stringContaining('refused the connection'),
      hint: 'The request was not sent, so nothing was charged.',
    })
  })

  it('is not added where its key has not the parts that are sent', async () => {
    const oauth = '{ oauth: { token_url: "https://login.example/token", in: body } }'
    here.write('acme.yaml', acmemail().replace('{ header: X-API-KEY }', oauth))
    expect(errorOf(await add('--json'))).toMatchObject({
      exit_code: 3,
      error: 'The key of acmemail must be client_id:client_secret, which become a token.',
    })
  })

  it('checks a file without adding it, and says what it asks, costs and reads', async () => {
    expect(await here.json('providers check acme.yaml')).toMatchObject({
      name: 'acmemail',
      key: 'in the header X-API-KEY',
      rates: ['15/s', '500/min'],
      kinds: [
        {
          kind: 'email',
          needs: ['first_name + last_name + domain'],
          asks: 'GET /email-finder',
          reads: ['email', 'email_status'],
          cost: '1 when found, 0 when not found',
          most: 1,
        },
        {
          kind: 'phone',
          asks: 'POST /phones, then GET /phones/{id} every 5s for up to 10m',
          rows_per_request: 250,
        },
      ],
      notes: [expect.stringMatching(/^phone: no outcome is rate_limited, out_of_credits, invalid_key/)],
    })
    here.write(
      'open.yaml',
      acmemail()
        .replace(/ +- .*is: not_found.*\n/, '')
        .replace(/cost: { found: 1.*/, '')
        .replace('last_name, domain]]', 'last_name, domain], [full_name, domain]]'),
    )
    expect(await here.json('providers check open.yaml')).toMatchObject({
      notes: expect.arrayContaining([
        expect.stringMatching(/^email: its needs name full_name, which the request does not send/),
        expect.stringMatching(/^email: no outcome is not_found/),
        expect.stringMatching(/^email: it has no cost/),
      ]),
    })
    const { stdout } = await here.run('providers check acme.yaml', { terminal: true })
    expect(stdout).toContain('Costs   1 when found, 0 when not found')
    expect(await names()).toEqual(['catalogue', 'pattern', 'mx'])
    here.write('wrong.yaml', acmemail().replace('status == 403', 'status = 403'))
    expect(errorOf(await here.run('providers check wrong.yaml --json'))).toMatchObject({
      exit_code: 2,
      error: expect.stringContaining('wrong.yaml:13:11: kinds.email.outcomes[2].when'),
      hint: 'Write == to compare.',
    })
  })

  it('shows a provider as it was added, and a template with the pages that it was read from', async () => {
    await add()
    expect(await here.json('providers show acmemail')).toMatchObject({
      name: 'acmemail',
      balance: 'GET /account',
    })
    expect(await here.json('providers show apollo')).toMatchObject({
      kinds: [
        { kind: 'email', same_request_as: ['person'], cost: 'as the answer says, at most 1' },
        {
          kind: 'phone',
          asks: 'POST /people/match, then its answer comes by webhook, or else GET /webhook_result/{id} every 30s for up to 1h',
        },
        { kind: 'person', same_request_as: ['email'] },
      ],
      read_from: expect.stringContaining('https://docs.apollo.io/'),
      read_on: '2026-11-29',
      not_confirmed: expect.stringContaining('no mobile ones'),
    })
    const { stdout } = await here.run('providers show apollo', { terminal: true })
    expect(stdout).toContain('the request of person: asked and paid once')
    expect(errorOf(await here.run('providers show acmemial --json'))).toMatchObject({
      exit_code: 9,
      hint: 'Did you mean acmemail?',
    })
  })

  it('writes the file of a template, which is changed and added in its place', async () => {
    const { stdout } = await ends(here.run('providers show hunter --yaml'), 0)
    expect(stdout).toContain('base_url: https://api.hunter.io/v2')
    await ends(here.run('providers show hunter --yaml -o own.yaml'), 0)
    expect(here.read('own.yaml')).toBe(stdout)
    here.write('own.yaml', stdout.replace('https://api.hunter.io/v2', 'https://gateway.example/hunter'))
    await ends(here.run('providers add own.yaml --key-file acme.key'), 0)
    expect(await here.json('providers list')).toContainEqual(
      expect.objectContaining({ name: 'hunter', base_url: 'https://gateway.example/hunter' }),
    )
    const again = await ends(here.run('providers show hunter --yaml'), 0)
    expect(again.stdout).toContain('base_url: https://gateway.example/hunter')
    expect(again.stdout).toContain('found: 1')
  })

  it('shows templates before this machine is set up', async () => {
    const fresh = machine()
    onTestFinished(() => fresh.remove())
    const { code, stdout } = await fresh.run('providers show hunter')
    expect({ code, isShown: stdout.includes('api.hunter.io') }).toEqual({ code: 0, isShown: true })
  })

  it.each(Object.keys(templates))('has a template for %s that can be added', async (name) => {
    await ends(
      here.run(`providers add ${name} --key-file acme.key`),
      0,
      /^This template was not tried against the live service. Not confirmed: \w/,
    )
  })
})
