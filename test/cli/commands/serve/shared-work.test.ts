import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { closeAfterTest, freePort } from '../../../client/listeners.js'
import { ends, type Machine, machine } from '../../../support/command.js'
import { postgresPlace } from '../../../support/places.js'
import { launchServer, prospect } from '../../../support/processes.js'
import { until } from '../../../support/until.js'
import { receiveWebhooks } from '../../../support/webhook-receiver.js'
import { ask, deliverable, proxyOf, serves } from '../../call/serving.js'

type At = Parameters<typeof ask>[0]

interface Job {
  readonly enrichment_id: string
  readonly status: string
  readonly email?: string
  readonly credits_used?: number
  readonly custom?: unknown
}

interface Several {
  readonly enrichment_id: string
  readonly contacts: readonly Job[]
}

const ann = {
  firstname: 'Ann',
  lastname: 'Lee',
  domain: 'acme.example',
  enrichment_type: ['email'],
}

/** A server with two people, which does its work when it is told to. */
async function serverOfTwo() {
  const server = await serves(0, 0, '--no-worker')
  await server.machine.fill('companies', 'name,domain\nAcme,acme.example\n')
  const people =
    'first_name,last_name,email,company_domain\nAnn,Lee,ann@acme.example,acme.example\nBob,Lee,bob@acme.example,acme.example\n'
  await server.machine.fill('people', people)
  return server
}

/** Counts what a table of a machine has. */
function inState(here: Pick<Machine, 'path'>, from: string, what = 'state'): number {
  const database = new Database(here.path(`${what}.db`))
  try {
    return Number(database.prepare(`SELECT count(*) FROM ${from}`).pluck().get())
  } finally {
    database.close()
  }
}

/** Two members behind a proxy of such a server. */
async function team(options = '', ...before: readonly string[]) {
  const server = await serverOfTwo()
  const proxy = await proxyOf(server, options, async (one) => {
    for (const line of ['engine members add you@localhost', ...before]) await ends(one.run(line), 0)
  })
  const key = await proxy.machine.newKey('you@localhost')
  const balance = await server.machine.balance()
  return {
    proxy,
    me: proxy as At,
    you: { baseUrl: proxy.baseUrl, key } as At,
    work: () => ends(server.machine.run('engine jobs run'), 0),
    spent: async () => balance - (await server.machine.balance()),
  }
}

const submit = async (at: At, fields: object = {}, headers: Record<string, string> = {}) => {
  const { status, json } = await ask(at, '/contacts/single_enrich', { ...ann, ...fields }, headers)
  expect(status).toBe(201)
  return json<Job>()
}

const read = async (at: At, { enrichment_id: id }: Job) => {
  const { status, json } = await ask(at, `/contacts/${id}/single_enrich`)
  expect(status).toBe(200)
  return json<Job>()
}

/** A server whose first reply of an operation is late, and two members of a proxy that is a process of its own. */
async function killable(late: string) {
  const server = await serverOfTwo()
  const before = await server.machine.balance()
  await ends(server.machine.run(`engine faults add ${late} --delay 2s --count 1`), 0)
  const here = machine()
  onTestFinished(here.remove)
  const keys = [await here.newKey('me@localhost')]
  await ends(here.run('engine members add you@localhost'), 0)
  keys.push(await here.newKey('you@localhost'))
  const port = String(await freePort())
  const [me, you] = keys.map((key) => ({ baseUrl: `http://127.0.0.1:${port}/api/v2`, key })) as [At, At]
  const serve = () =>
    launchServer(prospect, ['serve', '--port', port, '--upstream', server.baseUrl], here.home, {
      PROSPECT_HOME: here.home,
      PROSPECT_API_KEY: server.key,
    })
  return { server, here, me, you, serve, before }
}

describe('work that members of a proxy start', () => {
  it('is paid for once, also by a member who asks while it goes on, or after it', async () => {
    const { me, you, work, spent, proxy } = await team()
    const mine = await submit(me, { custom: { row: 1 } })
    const yours = await submit(you, { custom: { row: 2 } })
    expect(yours).toMatchObject({
      first_name: 'Ann',
      last_name: 'Lee',
      status: 'pending',
      custom: { row: 2 },
    })
    expect(yours.enrichment_id).not.toBe(mine.enrichment_id)
    expect(await read(you, yours)).toMatchObject({ ...yours, status: 'pending' })
    await work()
    const found = { status: 'finished', email: 'ann@acme.example' }
    expect(await read(you, yours)).toMatchObject({ ...yours, ...found, credits_used: 0 })
    expect(await read(me, mine)).toMatchObject({ ...mine, ...found, credits_used: 3, custom: { row: 1 } })
    const later = await submit(you)
    expect(await read(you, later)).toMatchObject({ ...later, ...found, credits_used: 0 })
    expect(await read(you, later)).not.toHaveProperty('custom')
    expect(await spent()).toBe(3)
    expect(await proxy.machine.json('ledger --by member')).toMatchObject([
      { member: 'me@localhost', credits: 3 },
    ])
  })

  it('is started once by two who ask in the same moment', async () => {
    const { me, you, work, spent } = await team()
    const jobs = await Promise.all([submit(me), submit(you)])
    await work()
    for (const [at, job] of [me, you].map((at, place) => [at, jobs[place] as Job] as const))
      expect(await read(at, job)).toMatchObject({ ...job, status: 'finished', email: 'ann@acme.example' })
    expect(await spent()).toBe(3)
  })

  it('answers a lookup of the same contact that is answered at once, and the other way round', async () => {
    const { me, you, work, spent } = await team()
    const sync = (at: At, fields: object) => ask(at, '/contacts/sync_single_enrich', { ...ann, ...fields })
    await submit(me)
    const waiting = sync(you, {})
    await work()
    const found = await waiting
    expect(found.json()).toMatchObject({ status: 'finished', email: 'ann@acme.example' })
    expect(found.headers.get('cache-status')).toBe('prospect; hit; detail="me@localhost"')
    expect(await spent()).toBe(3)
    const other = { firstname: 'Bob' }
    await sync(me, other)
    const job = await submit(you, other)
    expect(await read(you, job)).toMatchObject({ ...job, status: 'finished', email: 'bob@acme.example' })
    expect(await spent()).toBe(6)
  })

  it('is started again where a request asks for it anew, or its webhook has to hear of it', async () => {
    const { me, you, work, spent } = await team()
    await submit(me)
    await submit(you, {}, { 'cache-control': 'no-cache' })
    await submit(you, { webhook_url: 'https://example.com/hook' })
    await work()
    expect(await spent()).toBe(9)
  })

  it('serves others, too, where it was asked for anew, or with the names in another spelling', async () => {
    const { me, you, work, spent } = await team()
    const { firstname: first_name, lastname: last_name, ...rest } = ann
    const post = (at: At, path: string, headers = {}) =>
      ask(at, `/contacts/${path}`, { first_name, last_name, ...rest }, headers)
    const anew = (await post(me, 'single_enrich', { 'cache-control': 'no-cache' })).json<Job>()
    await work()
    expect(await read(me, anew)).toMatchObject({
      status: 'finished',
      email: 'ann@acme.example',
      credits_used: 3,
    })
    const found = await post(you, 'sync_single_enrich')
    expect([found.json(), found.headers.get('cache-status')]).toMatchObject([
      { email: 'ann@acme.example' },
      'prospect; hit; detail="me@localhost"',
    ])
    const job = (await post(you, 'single_enrich')).json<Job>()
    expect(await read(you, job)).toMatchObject({
      first_name: 'Ann',
      email: 'ann@acme.example',
      credits_used: 0,
    })
    expect(await read(you, await submit(you))).toMatchObject({ status: 'finished', credits_used: 0 })
    expect(await spent()).toBe(3)
  })

  it('is paid for once in requests for several, contact by contact', async () => {
    const { me, you, work, spent, proxy } = await team()
    const { enrichment_type, ...contact } = ann
    const bob = { ...contact, firstname: 'Bob' }
    const bulk = async (at: At, contacts: readonly object[], headers = {}) => {
      const request = { contacts, enrichment_type }
      const { status, json, text } = await ask(at, '/contacts/bulk_enrich', request, headers)
      expect(status, text).toBe(202)
      return json<{ enrichment_id: string; status: string; contacts: { enrichment_id: string }[] }>()
    }
    const result = async (at: At, id: string) =>
      (await ask(at, `/contacts/${id}`)).json<{ status: string; finished: number; contacts: Job[] }>()
    const mine = await bulk(me, [contact])
    // One of them goes on, and two ask for the other in the same moment, one of them under a key.
    const key = { 'idempotency-key': 'several' }
    const [yours, again] = await Promise.all([
      bulk(you, [{ ...contact, custom: { row: 1 } }, bob], key),
      bulk(me, [bob, contact]),
    ])
    expect(yours).toMatchObject({ status: 'queued', contacts: [{ custom: { row: 1 } }, {}] })
    expect(await bulk(you, [{ ...contact, custom: { row: 1 } }, bob], key)).toEqual(yours)
    expect(await result(you, yours.enrichment_id)).toMatchObject({ status: 'pending', total: 2, finished: 0 })
    await work()
    const [anns, bobs] = ['ann', 'bob'].map((name) => ({ status: 'finished', email: `${name}@acme.example` }))
    expect(await result(me, mine.enrichment_id)).toMatchObject({ status: 'finished', contacts: [anns] })
    expect(await result(you, yours.enrichment_id)).toMatchObject({
      ...{ enrichment_id: yours.enrichment_id, status: 'finished', total: 2, finished: 2 },
      contacts: [{ ...anns, credits_used: 0, custom: { row: 1 } }, bobs],
    })
    expect(await result(me, again.enrichment_id)).toMatchObject({
      status: 'finished',
      contacts: [bobs, anns],
    })
    for (const [at, { enrichment_id: id }] of yours.contacts.entries())
      expect(await read(you, { enrichment_id: id } as Job)).toMatchObject([anns, bobs][at] ?? {})
    // The first request under a key of its own gets its reply again, before and after its end.
    const cid = { ...contact, firstname: 'Cid' }
    const whole = await bulk(me, [cid], { 'idempotency-key': 'whole' })
    expect(await bulk(me, [cid], { 'idempotency-key': 'whole' })).toEqual(whole)
    await work()
    await result(me, whole.enrichment_id)
    expect(await bulk(me, [cid], { 'idempotency-key': 'whole' })).toEqual(whole)
    const all = await bulk(me, [contact, bob])
    expect(await result(me, all.enrichment_id)).toMatchObject({ finished: 2, contacts: [anns, bobs] })
    const single = await submit(you, { firstname: 'Bob' })
    expect(await read(you, single)).toMatchObject({ ...bobs, credits_used: 0 })
    expect(await spent()).toBe(9)
    await bulk(you, [contact], { 'cache-control': 'no-cache' })
    await work()
    expect(await spent()).toBe(12)
    expect(await proxy.machine.json('ledger --by operation')).toMatchObject([
      { operation: 'contacts.bulk_enrich', credits: 9 },
    ])
  })

  it('hides whom the team suppresses in the job of a request for several, also one that is older', async () => {
    const { me, you, work, proxy, spent } = await team()
    const { enrichment_type, ...contact } = ann
    const bob = { ...contact, firstname: 'Bob' }
    const bulk = async (at: At, contacts: readonly object[]) =>
      (await ask(at, '/contacts/bulk_enrich', { contacts, enrichment_type })).json<Several>()
    await submit(me)
    await work()
    const older = await bulk(you, [contact, bob])
    await work()
    const found = await ask(you, `/contacts/${older.enrichment_id}`)
    expect(found.json()).toMatchObject({
      contacts: [{ email: 'ann@acme.example' }, { email: 'bob@acme.example' }],
    })
    await ends(proxy.machine.run('suppress add ann@acme.example'), 0)
    const whole = await bulk(me, [bob, contact])
    for (const [at, job, place] of [
      [you, older, 0],
      [me, older, 0],
      [me, whole, 1],
      [you, await bulk(you, [contact, { ...contact, firstname: 'Cid' }]), 0],
    ] as const) {
      const { text, json } = await ask(at, `/contacts/${job.enrichment_id}`)
      expect(text).not.toContain('ann@')
      const { contacts, total } = json<{ total: number; contacts: readonly Job[] }>()
      expect([total, contacts.length]).toEqual([2, 2])
      expect(contacts[place]).toMatchObject({
        enrichment_id: job.contacts[place]?.enrichment_id,
        status: 'finished',
        message: 'The answer is about somebody who is suppressed',
      })
      for (const { enrichment_id: id } of job.contacts)
        for (const path of [`/contacts/${id}`, `/contacts/${id}/single_enrich`])
          expect((await ask(at, path)).text).not.toContain('ann@')
    }
    // Somebody who is suppressed with the company keeps the place, too, and nothing of it is sent.
    await ends(proxy.machine.run('suppress add closed.example'), 0)
    const shut = { ...contact, domain: 'closed.example', custom: { row: 7 } }
    const before = await spent()
    const key = { 'idempotency-key': 'shut' }
    const mixed = () =>
      ask(
        you,
        '/contacts/bulk_enrich',
        { contacts: [shut, { ...contact, firstname: 'Dan' }], enrichment_type },
        key,
      )
    const job = (await mixed()).json<Several>()
    expect((await mixed()).json()).toEqual(job)
    await work()
    const { json: result } = await ask(you, `/contacts/${job.enrichment_id}`)
    expect(result()).toMatchObject({
      ...{ status: 'finished', total: 2, finished: 2 },
      contacts: [
        {
          enrichment_id: job.contacts[0]?.enrichment_id,
          status: 'finished',
          message: 'The answer is about somebody who is suppressed',
          custom: { row: 7 },
        },
        { enrichment_id: job.contacts[1]?.enrichment_id, status: 'finished' },
      ],
    })
    expect((await spent()) - before).toBe(3)
    const contacts = [contact, bob].map((one) => `--contacts '${JSON.stringify(one)}'`).join(' ')
    const { stdout } = await ends(
      proxy.machine.run(`contacts waterfall --bulk ${contacts} --enrichment-type email --wait --json`, {
        env: { PROSPECT_BASE_URL: you.baseUrl, PROSPECT_API_KEY: you.key as string },
      }),
      0,
    )
    expect(stdout).toContain('bob@acme.example')
    expect(stdout).not.toContain('ann@')
  })

  it('gives whoever is suppressed a place in a job for several that is asked for anew or heard by a webhook', async () => {
    const theirs = closeAfterTest(await receiveWebhooks(() => undefined))
    const { me, you, work, proxy, spent } = await team(`${await deliverable()} --allow-target 127.0.0.0/8`)
    await ends(proxy.machine.run('suppress add closed.example'), 0)
    const { enrichment_type, ...contact } = ann
    const shut = { ...contact, domain: 'closed.example', custom: { row: 1 } }
    const contacts = [shut, { ...contact, custom: { row: 2 } }, shut]
    const anew = { 'cache-control': 'no-cache' }
    const none = { status: 'finished', message: 'The answer is about somebody who is suppressed' }
    for (const [at, fields, headers] of [
      [me, {}, anew],
      [me, {}, { ...anew, 'idempotency-key': 'anew' }],
      [me, { webhook_url: theirs.url }, {}],
      [me, { webhook_url: theirs.url }, { 'idempotency-key': 'heard' }],
    ] as const) {
      const before = await spent()
      const bulk = () => ask(at, '/contacts/bulk_enrich', { contacts, enrichment_type, ...fields }, headers)
      const job = (await bulk()).json<Several>()
      if ('idempotency-key' in headers) expect((await bulk()).json()).toEqual(job)
      expect(job.contacts.map(({ custom }) => custom)).toEqual([{ row: 1 }, { row: 2 }, { row: 1 }])
      await work()
      const ids = job.contacts.map(({ enrichment_id: id }) => ({ enrichment_id: id }))
      for (const one of [me, you])
        expect((await ask(one, `/contacts/${job.enrichment_id}`)).json()).toMatchObject({
          ...{ status: 'finished', total: 3, finished: 3 },
          contacts: [
            { ...ids[0], ...none, custom: { row: 1 } },
            { ...ids[1], email: 'ann@acme.example', custom: { row: 2 } },
            { ...ids[2], ...none, custom: { row: 1 } },
          ],
        })
      expect((await spent()) - before).toBe(3)
    }
    const all = await ask(me, '/contacts/bulk_enrich', { contacts: [shut], enrichment_type }, anew)
    const { enrichment_id: id } = all.json<Several>()
    expect((await ask(me, `/contacts/${id}`)).json()).toMatchObject({ finished: 1, contacts: [none] })
    expect(await spent()).toBe(12)
  })

  it('gives them one at a proxy that takes no stored answer, too', async () => {
    const { me, work, spent } = await team('', 'config set max_age 0', 'suppress add closed.example')
    const { enrichment_type, ...contact } = ann
    const contacts = [{ ...contact, domain: 'closed.example' }, contact]
    const { json } = await ask(me, '/contacts/bulk_enrich', { contacts, enrichment_type })
    await work()
    expect((await ask(me, `/contacts/${json<Several>().enrichment_id}`)).json()).toMatchObject({
      finished: 2,
      contacts: [
        { message: 'The answer is about somebody who is suppressed' },
        { email: 'ann@acme.example' },
      ],
    })
    expect(await spent()).toBe(3)
  })

  it('refuses an idempotency key for another request, whatever of the first one was paid before', async () => {
    const { me, you, work, spent } = await team()
    const { enrichment_type, ...contact } = ann
    const [bob, cid] = [
      { ...contact, firstname: 'Bob' },
      { ...contact, firstname: 'Cid' },
    ]
    const bulk = (at: At, key: string, contacts: readonly object[], fields = {}) =>
      ask(at, '/contacts/bulk_enrich', { contacts, enrichment_type, ...fields }, { 'idempotency-key': key })
    for (const one of [{}, { firstname: 'Dan' }]) {
      const job = await submit(me, one)
      await work()
      await read(me, job)
    }
    const dan = { ...contact, firstname: 'Dan' }
    for (const [key, contacts] of [
      ['partly', [contact, bob]],
      ['stored', [contact, dan]],
    ] as const) {
      const first = await bulk(you, key, contacts)
      expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([202, null])
      for (const [others, fields] of [
        [[contact, cid], {}],
        [[dan, contact, cid], {}],
        [[dan, contact], {}],
        [contacts, { enrichment_type: ['phone'] }],
        [contacts, { webhook_url: 'https://hooks.example/x' }],
      ] as const) {
        const other = await bulk(you, key, others, fields)
        expect([other.status, other.json()]).toMatchObject([409, { code: 'idempotency_key_reused' }])
      }
      const again = await bulk(you, key, contacts)
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
      expect(again.json()).toEqual(first.json())
    }
    const key = { 'idempotency-key': 'one' }
    const job = await submit(you, {}, key)
    const another = await ask(you, '/contacts/single_enrich', { ...ann, firstname: 'Dan' }, key)
    expect(another.status).toBe(409)
    expect(await read(you, job)).toMatchObject({ email: 'ann@acme.example' })
    await work()
    expect(await spent()).toBe(9)
  })

  it('has the same reply for the same idempotency key, before and after its end', async () => {
    const { me, you, work, spent } = await team()
    const [mine, yours] = [{ 'idempotency-key': 'mine' }, { 'idempotency-key': 'yours' }]
    const first = await submit(me, {}, mine)
    const second = await submit(you, {}, yours)
    expect([await submit(me, {}, mine), await submit(you, {}, yours)]).toEqual([first, second])
    await work()
    await read(you, second)
    expect([await submit(me, {}, mine), await submit(you, {}, yours)]).toEqual([first, second])
    expect(await spent()).toBe(3)
  })

  it('is stored when a webhook has heard of it, and serves whoever asks next', async () => {
    const theirs = closeAfterTest(await receiveWebhooks(() => undefined))
    const { me, you, work, spent, proxy } = await team(`${await deliverable()} --allow-target 127.0.0.0/8`)
    await submit(me, { webhook_url: theirs.url })
    await work()
    await until(() => theirs.arrivals.length === 1)
    expect(inState(proxy.machine, "lookups WHERE state = 'accepted'")).toBe(0)
    const yours = await submit(you)
    expect(await read(you, yours)).toMatchObject({ ...yours, status: 'finished', email: 'ann@acme.example' })
    expect(await spent()).toBe(3)
  })

  it('is shared by members of two proxies over one PostgreSQL database', async () => {
    const server = await serverOfTwo()
    const { env } = await postgresPlace((close) => onTestFinished(close))
    const me = await proxyOf(
      server,
      '',
      async (one) => {
        await ends(one.run('engine members add you@localhost', { env }), 0)
      },
      env,
    )
    const other = await proxyOf(server, '', () => {}, env)
    const you = { baseUrl: other.baseUrl, key: await other.machine.newKey('you@localhost', { env }) }
    const before = await server.machine.balance()
    const mine = await submit(me)
    const yours = await submit(you)
    expect(yours.enrichment_id).not.toBe(mine.enrichment_id)
    await ends(server.machine.run('engine jobs run'), 0)
    for (const [at, job] of [
      [me, yours],
      [you, yours],
      [you, mine],
    ] as const)
      expect(await read(at, job)).toMatchObject({ ...job, status: 'finished', email: 'ann@acme.example' })
    const later = await submit(me)
    expect(await read(you, later)).toMatchObject({ ...later, status: 'finished', credits_used: 0 })
    expect(before - (await server.machine.balance())).toBe(3)
  })

  it('is in the ledger of each proxy over one PostgreSQL database when another one than the first saw its result', async () => {
    const server = await serverOfTwo()
    const { env } = await postgresPlace((close) => onTestFinished(close))
    const me = await proxyOf(
      server,
      '',
      (one) => ends(one.run('engine members set me@localhost --weekly-limit 9', { env }), 0),
      env,
    )
    const other = await proxyOf(server, '', () => {}, env)
    const mine = await submit(me)
    await ends(server.machine.run('engine jobs run'), 0)
    for (let times = 0; times < 2; times++)
      expect(await read({ baseUrl: other.baseUrl, key: me.key }, mine)).toMatchObject({ status: 'finished' })
    expect(await read(me, mine)).toMatchObject({ status: 'finished' })
    const spent = [{ operation: 'contacts.enrich', member: 'me@localhost', credits: 3 }]
    for (const { machine: here } of [me, other]) {
      expect((await here.run('ledger --json', { env })).json).toMatchObject(spent)
      expect((await here.run('engine members list --json', { env })).json).toMatchObject([
        { spent_at_servers: 3 },
      ])
    }
  })

  it('is started once by a proxy that is killed over a request for several of which one goes on', async () => {
    const { server, here, me, you, serve, before } = await killable('contacts.bulk_enrich')
    const { enrichment_type, ...contact } = ann
    const request = { contacts: [contact, { ...contact, firstname: 'Bob' }], enrichment_type }
    const headers = { 'idempotency-key': 'several' }
    const several = () => ask(you, '/contacts/bulk_enrich', request, headers)
    const first = await serve()
    const mine = await submit(me)
    const lost = several().catch(() => 'lost')
    await until(() => inState(server.machine, 'enrichments', 'engine') === 2)
    first.server.kill('SIGKILL')
    expect(await lost).toBe('lost')
    const proxy = await serve()
    onTestFinished(async () => void (await proxy.stop()))
    // The key is still that of the request which the killed one was asked.
    const others = { ...request, contacts: [contact, { ...contact, firstname: 'Cid' }] }
    expect((await ask(you, '/contacts/bulk_enrich', others, headers)).status).toBe(409)
    const { enrichment_id: id } = (await several()).json<Job>()
    await ends(server.machine.run('engine jobs run'), 0)
    const found = ['ann', 'bob'].map((name) => ({ status: 'finished', email: `${name}@acme.example` }))
    expect((await ask(you, `/contacts/${id}`)).json()).toMatchObject({ finished: 2, contacts: found })
    expect(await read(me, mine)).toMatchObject(found[0] ?? {})
    expect(inState(server.machine, 'enrichments', 'engine')).toBe(2)
    expect(before - (await server.machine.balance())).toBe(6)
    expect(await here.json('ledger --by member')).toMatchObject([{ credits: 3 }, { credits: 3 }])
  })

  it('is started once by a proxy that is killed before it has heard that it was accepted', async () => {
    const { server, here, me, you, serve, before } = await killable('contacts.enrich')
    const first = await serve()
    const asked = () => submit(me, { custom: { row: 1 } }, { 'idempotency-key': 'mine' })
    const lost = asked().catch(() => 'lost')
    await until(() => inState(server.machine, 'enrichments', 'engine') === 1)
    first.server.kill('SIGKILL')
    expect(await lost).toBe('lost')
    const proxy = await serve()
    onTestFinished(async () => void (await proxy.stop()))
    const yours = await submit(you, { custom: { row: 2 } })
    const mine = await asked()
    expect([yours.custom, mine.custom]).toEqual([{ row: 2 }, { row: 1 }])
    expect(inState(server.machine, 'enrichments', 'engine')).toBe(1)
    await ends(server.machine.run('engine jobs run'), 0)
    for (const [at, job] of [
      [me, mine],
      [you, yours],
    ] as const)
      expect(await read(at, job)).toMatchObject({ ...job, status: 'finished', email: 'ann@acme.example' })
    expect(before - (await server.machine.balance())).toBe(3)
    expect(await here.json('ledger --by member')).toMatchObject([{ credits: 3 }])
  })
})
