import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Listener, answering as listening, received } from '../../client/listeners.js'
import { answering, ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { until } from '../../support/until.js'
import { filled } from './serving.js'

const here = perTest(machine)
beforeEach(() => here.json('init'))

const url = 'https://www.network.example/search/results/people/?keywords=sales'

const sellers = (count: number) => filled(here, count, 0)

const rows = (file: string): Record<string, string>[] => here.rows(file)

const left = async (quota: string): Promise<number | undefined> =>
  (await here.json<{ credits: Record<string, number> }>('credits')).credits[quota]

it('exits 130 on Ctrl-C, and the job can be finished later', async () => {
  await sellers(450)
  const running = here.run(`leads extract ${url} --wait -o leads.csv`)
  while (here.signals.listenerCount('SIGINT') === 0) await new Promise((resolve) => setImmediate(resolve))
  here.signals.emit('SIGINT')
  const { code, stderr } = await running
  expect([code, here.exists('leads.csv')]).toEqual([130, false])
  expect(stderr).toContain('prospect engine jobs run')
  const [stopped] = await here.json<{ state: string; done: number }[]>('engine jobs list')
  expect(['queued', 'running']).toContain(stopped?.state)
  await here.json('engine jobs run')
  const [job] = await here.json<{ state: string; done: number; attempts: number }[]>('engine jobs list')
  expect(job).toMatchObject({ state: 'finished', done: 450 })
  expect(await left('daily_profile_scraping')).toBe(2_500 - 450)
})

it('waits for a job that another worker runs', async () => {
  await sellers(450)
  const working = here.run('worker')
  await until(() => here.signals.listenerCount('SIGTERM') > 0)
  const { code } = await here.run(`leads extract ${url} --wait -o leads.csv`)
  here.signals.emit('SIGTERM')
  expect([code, rows('leads.csv').length, (await working).code]).toEqual([0, 450, 0])
})

describe('a job that fails', () => {
  const extract = `leads extract ${url} --idempotency-key once`

  it('exits 10 with the error of a failed job, writes nothing, and the job can be retried', async () => {
    await sellers(2)
    await here.run(`${extract} --no-wait`)
    const database = new Database(here.path('engine.db'))
    database.exec('UPDATE jobs SET attempts = 1000')
    database.close()
    const { code, stderr, stdout } = await here.run(`${extract} --wait -o leads.csv`)
    expect([code, stdout, here.exists('leads.csv')]).toEqual([10, '', false])
    expect(stderr).toContain('The job failed: It stopped its process repeatedly')
    const [, id = ''] = /engine jobs retry (\S+)/.exec(stderr) ?? []
    const retried = await here.json<{ id: string; state: string }>(`engine jobs retry ${id}`)
    expect(retried.state).toBe('queued')
    await here.json('engine jobs run')
    expect(await here.json('searches', 'get', retried.id)).toMatchObject({ search: { leads_count: 2 } })
  })
})

describe('an import without --wait', () => {
  it('prints the reply, and still runs the import', async () => {
    await sellers(2)
    const { json, stderr, code } = await here.run(`leads extract ${url}`)
    expect([code, json]).toMatchObject([0, { status: 'processing' }])
    const { id } = json as { id: string }
    expect(stderr).toContain(`Found 2 people. See: prospect searches get ${id} --all`)
    expect(await here.json(`searches get ${id}`)).toMatchObject({
      search: { status: 'FINISHED', leads_count: 2 },
    })
  })

  it.each([
    ['on a terminal', [], { terminal: true, columns: 100 }],
    ['with -o', ['-o', 'leads.json'], {}],
  ])('prints the records %s, unless --no-wait or a webhook is given', async (_, output, given) => {
    await sellers(2)
    const run = async (...more: string[]) => {
      const { code, stdout, stderr } = await here.run(['leads', 'extract', url, ...output, ...more], given)
      const shown = output.length > 0 ? here.read('leads.json') : stdout
      return { code, found: shown.includes('Ann Number1'), isReply: /processing/.test(shown), stderr }
    }
    expect(await run()).toMatchObject({ code: 0, found: true, isReply: false })
    expect(await run('--no-wait')).toMatchObject({ code: 0, found: false, isReply: true })
    const hook = ['--webhook-url', 'http://127.0.0.1:9/hook', '--limit', '1']
    expect(await run(...hook)).toMatchObject({ code: 0, found: false, isReply: true })
  })

  it('shows the request with a placeholder webhook and queues no job with --dry-run', async () => {
    const body = await here.json('intents stack --stacks react --dry-run')
    expect(body).toMatchObject({ body: { webhook_url: 'https://prospect.invalid/own' } })
    expect(await here.json(`leads extract ${url} --dry-run`)).toMatchObject({
      body: { search_url: url },
      profiles_max: null,
    })
    const limited = `leads extract ${url} --limit 7 --dry-run`
    expect(await here.json(limited)).toMatchObject({ profiles_max: 7 })
    expect(await here.json('engine jobs list')).toEqual([])
  })
})

describe('confirmation of an import', () => {
  const question = 'Start?'

  it('asks before an import without --limit, and shows the quotas that are left', async () => {
    await sellers(2)
    await ends(
      here.run(`leads extract ${url} --wait`, {
        env: { NO_COLOR: '1' },
        typed: [[question, 'n\r']],
      }),
      16,
      /^Quotas left +2,500 profiles\/day, /m,
      /^At most +2,500 records, then the quota is used up$/m,
    )
    expect(await here.json('engine jobs list')).toEqual([])
  })

  it('shows the number of matches and their price before a priced import', async () => {
    await here.fill('companies', 'name,domain,technologies\nA,a.example,react\nB,b.example,react\n')
    const stack = 'intents stack --stacks react'
    await ends(
      here.run(stack, { env: { NO_COLOR: '1' }, typed: [[question, 'n\r']] }),
      16,
      /^Matches +2$/m,
      /^Credits +at most 6$/m,
      /^Balance +1,000 credits$/m,
    )
    expect(await here.json('engine jobs list')).toEqual([])
  })

  it('says how many people match before it asks, on this machine and at a server that can count', async () => {
    await here.fill(
      'companies',
      'name,domain,network_url\nA,a.example,https://www.network.example/company/a\n',
    )
    const people = [1, 2, 3].map((at) => `P${at},https://www.network.example/in/p${at},CEO,a.example\n`)
    await here.fill('people', `name,network_url,title,company_domain\n${people.join('')}`)
    const asking = { env: { NO_COLOR: '1' }, typed: [[question, 'n\r']] } as const
    const words = '--job-titles CEO'
    const shown = await ends(here.run(`leads search a.example ${words}`, asking), 16, /^Matches +3$/m)
    expect(shown.stderr).not.toMatch(/^Credits/m)
    const caller = answering((id) =>
      id === 'accounts.count_profiles' ? { body: { total: 4_711 } } : { body: { credits: {} } },
    )
    const env = { ...asking.env, PROSPECT_BASE_URL: 'https://api.example/api/v2' }
    await ends(
      here.run(`leads search --company-network-id 77 ${words}`, { ...asking, env, caller }),
      16,
      /^Matches +4,711$/m,
    )
    expect(
      caller.asked.map(({ id, input }) => (id === 'accounts.count_profiles' ? input : id)),
    ).toContainEqual({
      company_network_id: '77',
      title_to_include: ['CEO'],
    })
    expect(caller.asked.map(({ id }) => id)).not.toContain('leads.search')
  })

  it('asks a server for the preview where the exact count knows no domain, functions or levels', async () => {
    const caller = answering((id) =>
      id === 'leads.advanced_search_preview'
        ? { body: { total_count: 812, preview: [] } }
        : { body: { credits: {} } },
    )
    const env = { NO_COLOR: '1', PROSPECT_BASE_URL: 'https://api.example/api/v2' }
    const asking = { typed: [[question, 'n\r']], env, caller } as const
    await ends(here.run('leads search a.example --job-titles CEO', asking), 16, /^Matches +812$/m)
    const levels = 'leads search --company-network-id 77 --seniority-levels CXO --no-live'
    await ends(here.run(levels, asking), 16, /^Matches +812$/m)
    const asked = caller.asked.filter(({ id }) => id === 'leads.advanced_search_preview')
    expect(asked.map(({ input }) => input)).toEqual([
      { included_companies: ['a.example'], job_titles: ['CEO'] },
      { included_companies: ['77'], seniority_levels: ['310'], live: false },
    ])
  })

  it('does not ask with --limit or --yes', async () => {
    await sellers(2)
    for (const option of [['--limit', '1'], ['--yes']]) {
      const { code, stderr } = await here.run(['leads', 'extract', url, '--wait', ...option], { typed: [] })
      expect([code, stderr.includes(question)]).toEqual([0, false])
    }
  })
})

describe('webhooks of a command', () => {
  let bodies: unknown[]
  let answer: number
  const server: Listener = perTest(() => {
    bodies = []
    answer = 200
    return listening(async (request, response) => {
      bodies.push(JSON.parse((await received(request)).body))
      response.writeHead(answer).end()
    })
  })

  const hook = () => `http://127.0.0.1:${server.port}/secret-path`

  it('attempts the deliveries of its job before it exits', async () => {
    await sellers(2)
    const { stderr } = await ends(
      here.run(`leads extract ${url} --webhook-url ${hook()} --custom run=7`),
      0,
      'Delivered to 127.0.0.1',
    )
    expect(bodies).toMatchObject([{ event: 'lead_search.completed', total: 2, custom: { run: 7 } }])
    expect(stderr).not.toContain('secret-path')
  })

  it('keeps a failed delivery pending and says so', async () => {
    answer = 500
    await sellers(1)
    await ends(here.run(`leads extract ${url} --webhook-url ${hook()}`), 0, 'Not delivered to 127.0.0.1')
    const [delivery] = await here.json<{ id: string; state: string }[]>('engine deliveries list')
    expect(delivery).toMatchObject({ state: 'pending', attempts: 1, status: 500 })
  })
})
