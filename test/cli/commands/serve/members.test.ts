import { describe, expect, it } from 'vitest'
import { createWorker } from '../../../../src/engine/worker/worker.js'
import { answering, closeAfterTest, received } from '../../../client/listeners.js'
import { served } from '../../../client/serving.js'
import { portsOf } from '../../../engine/fake-sender.js'
import { ends, errorOf, machine, practiceMachine } from '../../../support/command.js'
import { ask, enrich, proxyOf, serves } from '../../call/serving.js'

interface Weekly {
  readonly limit: number
  readonly spent: number
  readonly left: number
}

interface Printed {
  readonly weekly: Weekly | null
  readonly source: { readonly text: string }
}

/** A server with credits, a proxy in front of it, and members of it with machines of their own. */
async function team(options = '') {
  const { bench, server } = closeAfterTest(await served())
  bench.clock.set(new Date().toISOString())
  const proxy = await proxyOf({ baseUrl: server.baseUrl, key: bench.key }, options)
  /** Adds a member, who has signed in on a machine of their own. */
  const join = async (email: string, limits = '') => {
    await ends(proxy.machine.run(`engine members add ${email} ${limits}`), 0)
    const key = await proxy.machine.newKey(email)
    const own = machine()
    closeAfterTest({ close: async () => own.remove() })
    own.write('key', key, 0o600)
    await ends(own.run(`login --base-url ${proxy.baseUrl} --api-key-file key`), 0)
    await ends(own.run(`config set base_url ${proxy.baseUrl}`), 0)
    return { ...own, key, at: { baseUrl: proxy.baseUrl, key } }
  }
  return { bench, proxy, join }
}

describe('a member behind a proxy', () => {
  it('sees their own name, their week and what is left of it', async () => {
    const { proxy, join } = await team()
    const ann = await join('ann@example.com', '--weekly-limit 3')
    const bob = await join('bob@example.com')
    await ends(ann.run('accounts enrich --domain known.example'), 0)
    expect(await ann.json('account')).toMatchObject({
      account: { email: 'ann@example.com', weekly_limit: { limit: 3, spent: 1, left: 2 } },
      workspace: { plan: 'growth' },
    })
    expect(await bob.json('account')).toMatchObject({
      account: { email: 'bob@example.com', weekly_limit: null },
    })
    const limits = await ann.json<Printed>('limits')
    expect(limits.weekly).toMatchObject({ limit: 3, spent: 1, left: 2 })
    expect(limits.source.text).toContain(' as ann@example.com')
    expect((await bob.json<Printed>('limits')).weekly).toBeNull()
    const { stdout, stderr } = await ends(ann.run('limits', { terminal: true }), 0)
    expect(stdout).toMatch(/This week +2 left of 3: 1 spent/)
    expect(stderr).not.toContain('weekly limit')
    // A key of one area says whose it is, too, and one in the environment.
    const narrow = (
      await proxy.machine.run('engine keys create --member bob@example.com --scope accounts --json')
    ).json as { key: string }
    expect((await ask({ baseUrl: proxy.baseUrl, key: narrow.key }, '/account')).json()).toMatchObject({
      account: { email: 'bob@example.com', weekly_limit: null },
    })
    const env = { PROSPECT_API_KEY: ann.key, PROSPECT_BASE_URL: ann.at.baseUrl }
    const elsewhere = await practiceMachine()
    elsewhere.write('in.csv', 'domain\na.example\n')
    for (const line of ['limits', 'accounts enrich --csv in.csv --dry-run --json'])
      expect((await elsewhere.run(line, { env })).json).toMatchObject({
        source: { member: 'ann@example.com' },
      })
    elsewhere.remove()
  })

  it('is refused outside the scopes of their key with a 403, and the server is asked and paid nothing', async () => {
    const { proxy, join } = await team()
    const ann = await join('ann@example.com')
    const made = await proxy.machine.run('engine keys create --member ann@example.com --scope lists --json')
    const narrow = { baseUrl: proxy.baseUrl, key: (made.json as { key: string }).key }
    const credits = async () => (await ask(ann.at, '/credits')).json()
    const before = await credits()
    const refused = await enrich(narrow, 'known.example')
    expect([refused.status, refused.json()]).toEqual([
      403,
      { error: 'This API key has no access to this endpoint' },
    ])
    expect(await credits()).toEqual(before)
    expect((await enrich(ann.at, 'known.example')).status).toBe(200)
    expect(await credits()).not.toEqual(before)
  })

  it('is listed with what they spent at the server, with a weekly limit or without, at once or by accepted work', async () => {
    const { bench, proxy, join } = await team()
    const ann = await join('ann@example.com', '--weekly-limit 50')
    const bob = await join('bob@example.com')
    await join('idle@example.com')
    const ids: string[] = []
    for (const [at, member] of [ann, bob].entries()) {
      const contact = `--network-url https://www.network.example/in/nobody-${at} --enrichment-type email`
      await ends(member.run('accounts enrich --domain known.example --refresh'), 0)
      const { enrichment_id: id } = await member.json<{ enrichment_id: string }>(
        `contacts waterfall ${contact} --no-wait`,
      )
      ids.push(id)
    }
    const listed = async () => {
      const members =
        await proxy.machine.json<{ email: string; spent_at_servers: number }[]>('engine members list')
      return Object.fromEntries(
        members.map(({ email, spent_at_servers: spent }) => [email.split('@')[0], spent]),
      )
    }
    // What is accepted counts at its most until its result has come.
    expect(await listed()).toEqual({ me: 0, ann: 4, bob: 4, idle: 0 })
    await createWorker(portsOf(bench)).drain()
    for (const [at, member] of [ann, bob].entries()) await member.run(`contacts get ${ids[at]}`)
    expect(await listed()).toEqual({ me: 0, ann: 1, bob: 1, idle: 0 })
  })

  it('is told by a quote what their week leaves, with exit 5 where that does not cover it', async () => {
    const { join } = await team()
    const ann = await join('ann@example.com', '--weekly-limit 3')
    const quoted = async (rows: number) => {
      ann.write('in.csv', `domain\n${Array.from({ length: rows }, (_, at) => `c${at}.example\n`).join('')}`)
      return ann.run('accounts enrich --csv in.csv --dry-run --json')
    }
    const covered = await quoted(3)
    expect([covered.code, covered.json]).toMatchObject([
      0,
      { weekly_allowance: 3, shortage: null, unknown: [], source: { member: 'ann@example.com' } },
    ])
    const short = await quoted(4)
    expect([short.code, short.json]).toMatchObject([5, { weekly_allowance: 3, shortage: 'weekly_limit' }])
    expect(errorOf(short)).toMatchObject({ code: 'workspace_limit_exceeded' })
    const shown = await ann.run('accounts enrich --csv in.csv --dry-run --format table')
    expect(shown.stdout).toContain('what is left of your week covers at least the first 3 of 4 rows')
  })

  it('is told by --dry-run of one lookup what their week leaves, with exit 5 where that does not cover it', async () => {
    const { join, proxy } = await team()
    const ann = await join('ann@example.com', '--weekly-limit 2')
    const bob = await join('bob@example.com')
    const enrich = 'accounts enrich --domain known.example --json'
    const contact = '--network-url https://www.network.example/in/known --enrichment-type email --json'
    const dry = async (member: typeof ann, line: string) => {
      const ended = await member.run(`${line} --dry-run`)
      return [
        ended.code,
        (ended.json as { weekly_allowance?: number }).weekly_allowance,
        ended.stderr,
      ] as const
    }
    expect(await dry(ann, enrich)).toEqual([0, 2, ''])
    expect(await dry(bob, enrich)).toEqual([0, undefined, ''])
    expect(await dry(ann, `contacts waterfall --sync ${contact}`)).toEqual([
      5,
      2,
      expect.stringContaining(
        'The 2 credits left of this week do not cover this request, which can cost 3 credits',
      ),
    ])
    await ends(ann.run(enrich), 0)
    await ends(proxy.machine.run('engine members set ann@example.com --weekly-limit 1'), 0)
    const other = await dry(ann, 'accounts enrich --domain other.example --json')
    expect(other).toEqual([5, 0, expect.stringContaining('"code":"workspace_limit_exceeded"')])
    // What was paid for costs nothing again.
    expect(await dry(ann, enrich)).toEqual([0, undefined, ''])
  })

  it('looks up personal addresses with their own consent, not that of the owner of the key', async () => {
    const { bench, proxy, join } = await team()
    const request = {
      network_profile_url: 'https://www.network.example/in/somebody',
      enrichment_type: ['personal_email'],
    }
    const [ann, bob] = [
      await join('ann@example.com', '--consent-personal-email'),
      await join('bob@example.com'),
    ]
    const asked = async ({ at }: { readonly at: typeof ann.at }, body: object = request) => {
      const { status, json } = await ask(at, '/contacts/single_enrich', body)
      return [status, json<{ error?: string }>().error]
    }
    const refused = [422, 'Personal email enrichment requires consent']
    // The server has recorded the consent of nobody, then of the owner of its key.
    expect(await asked(ann)).toEqual(refused)
    await bench.admin.changeMember('me@localhost', { consentPersonalEmail: true })
    expect((await asked(ann))[0]).toBeLessThan(300)
    expect(await asked(bob)).toEqual(refused)
    // What is wrong with the fields comes first, as at an engine.
    expect(await asked(bob, { enrichment_type: ['personal_email'] })).not.toEqual(refused)
    await ends(proxy.machine.run('engine members set bob@example.com --consent-personal-email'), 0)
    expect((await asked(bob))[0]).toBeLessThan(300)
  })
})

describe('ledger check on a proxy', () => {
  it('compares with the server that its members spent at, and with the engine where that spent, too', async () => {
    const { bench, proxy, join } = await team()
    const ann = await join('ann@example.com')
    await ends(ann.run('accounts enrich --domain known.example'), 0)
    const env = { PROSPECT_API_KEY: bench.key }
    const check = (line = '') => proxy.machine.run(`ledger check --json ${line}`, { env })
    const there = { target: expect.stringMatching(/^http/) as string, ledger: 1, target_says: 1, ok: true }
    expect((await check()).json).toMatchObject(there)
    expect((await proxy.machine.run('ledger check --local --json')).json).toMatchObject({ target: 'local' })
    await ends(proxy.machine.fill('companies', 'name,domain\nSole Ltd,sole.example\n'), 0)
    await ends(proxy.machine.run('accounts enrich --domain sole.example'), 0)
    await ends(proxy.machine.run('ledger check'), 3, 'There is no API key for')
    proxy.machine.write('key', bench.key, 0o600)
    const server = String((await proxy.machine.json<{ target: string }[]>('ledger'))[0]?.target)
    await ends(proxy.machine.run(`login --base-url ${server} --api-key-file key`), 0)
    const both = [there, { target: 'local', ledger: 1, target_says: 1, ok: true }]
    expect(await proxy.machine.json('ledger check')).toEqual(
      expect.arrayContaining(both.map((one) => expect.objectContaining(one) as unknown)),
    )
  })
})

describe('what a proxy refuses at the end of a rate window', () => {
  it('holds calls for less than a second in place of refusing what the server takes', async () => {
    const seen: string[] = []
    const server = closeAfterTest(
      await answering(async (request, response) => {
        await received(request)
        seen.push(request.url ?? '')
        // The window of a minute ends within a second, and has requests left.
        const headers = { 'ratelimit-limit': '100', 'ratelimit-remaining': '50', 'ratelimit-reset': '1' }
        response.writeHead(200, { 'content-type': 'application/json', ...headers })
        response.end(JSON.stringify({ lists: [], pagination: { has_more: false } }))
      }),
    )
    const at = await proxyOf({ baseUrl: `${server.origin}/api/v2`, key: 'theirs' })
    const list = () => ask(at, '/lists').then(({ status }) => status)
    expect(await list()).toBe(200)
    expect(await Promise.all(Array.from({ length: 20 }, list))).toEqual(Array.from({ length: 20 }, () => 200))
    expect(seen.filter((url) => url.endsWith('/lists'))).toHaveLength(21)
  })

  it('lets all calls through that a window of a second admits one after another', async () => {
    const proxy = await proxyOf(await serves(1, 1))
    const hire = () =>
      ask(proxy, '/accounts/company_hiring', { company_domain: 'robots-0.example' }).then(
        ({ status }) => status,
      )
    const statuses = await Promise.all(Array.from({ length: 12 }, hire))
    expect(statuses.filter((status) => status === 429)).toEqual([])
  })

  it('passes on the 429 of a window that is full for longer, without reading the request or asking the server', async () => {
    const { bench, proxy } = await team()
    await bench.admin.setPlan('free')
    const list = () => ask({ baseUrl: proxy.baseUrl, key: proxy.key }, '/lists')
    expect((await list()).status).toBe(200)
    const { status, headers } = await list()
    expect([status, Number(headers.get('retry-after')) > 1]).toEqual([429, true])
    // What is wrong with a request is not even read.
    const create = (body: string) => {
      const headers = { 'x-api-key': proxy.key, 'content-type': 'application/json' }
      return fetch(`${proxy.baseUrl}/lists`, { method: 'POST', headers, body })
    }
    const one = { name: 'A', companies: [{ domain: 'known.example' }] }
    const created = [await create(JSON.stringify(one)), await create('{')]
    expect(created.map((reply) => reply.status)).toEqual([201, 429])
  })
})
