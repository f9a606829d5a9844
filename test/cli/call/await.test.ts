import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { parse } from 'csv-parse/sync'
import { beforeEach, describe, expect, it } from 'vitest'
import { answering, type Listener, received } from '../../client/listeners.js'
import { machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { until } from '../../support/until.js'
import { filled } from './serving.js'

const here = perTest(machine)
beforeEach(() => here.json('init'))

const url = 'https://www.network.example/search/results/people/?keywords=sales'

const sellers = (count: number) => filled(here, count, 0)

const rows = (file: string): Record<string, string>[] =>
  parse(readFileSync(join(here.home, file)), { columns: true })

const left = async (quota: string): Promise<number | undefined> =>
  (await here.json<{ credits: Record<string, number> }>('credits')).credits[quota]

describe('--wait with the local engine', () => {
  it('writes the imported people and takes exactly those from the quota', async () => {
    await sellers(230)
    const { code, stdout } = await here.run([
      'leads',
      'extract',
      url,
      ...'--limit 150 --wait -o leads.csv'.split(' '),
    ])
    expect([code, stdout]).toEqual([0, ''])
    const found = rows('leads.csv')
    expect(new Set(found.map((row) => row['lead.network_profile_url'])).size).toBe(150)
    expect(found[0]).toMatchObject({
      'lead.first_name': 'Ann',
      'company.name': expect.stringMatching(/^Company/),
    })
    expect(await left('daily_profile_scraping')).toBe(2_500 - 150)
  })

  it('writes what the quota allowed, says why it is less, and exits 6', async () => {
    await sellers(230)
    await here.json('engine', 'quotas', 'set', '--daily-profiles', '120')
    const { code, stderr } = await here.run([
      'leads',
      'extract',
      url,
      ...'--limit 200 --wait -o leads.csv'.split(' '),
    ])
    expect(code).toBe(6)
    expect(stderr).toContain('Only 120 of 200 people were imported: the daily profile quota is used up.')
    expect([rows('leads.csv').length, await left('daily_profile_scraping')]).toEqual([120, 0])
  })

  it('prints companies as plain records without a webhook', async () => {
    await filled(here, 0, 3)
    const { code, json } = await here.run(
      'accounts search --keyword robots --wait --fields domain'.split(' '),
    )
    expect([code, (json as { domain: string }[]).map(({ domain }) => domain).sort()]).toEqual([
      0,
      ['robots-0.example', 'robots-1.example', 'robots-2.example'],
    ])
  })

  it('prints an empty list when nothing matches', async () => {
    const { code, json } = await here.run(['intents', 'stack', '--stacks', 'cobol', '--wait'])
    expect([code, json]).toEqual([0, []])
  })

  it('exits 6 and queues no job when the quota is used up from the start', async () => {
    await here.json('engine', 'quotas', 'set', '--daily-profiles', '0')
    const { code, json } = await here.run(['leads', 'extract', url, '--wait'])
    expect([code, json]).toMatchObject([6, { error: 422 }])
    expect(await here.json('engine', 'jobs', 'list')).toEqual([])
  })

  it.each([
    ['a folder that is missing', ['-o', 'nowhere/leads.csv']],
    ['a field that no record has', ['--fields', 'lead.shoe_size']],
  ])('queues no job when the output is %s', async (_, options) => {
    const { code } = await here.run(['leads', 'extract', url, '--wait', ...options])
    expect(code).toBe(2)
    expect(await here.json('engine', 'jobs', 'list')).toEqual([])
  })

  it('exits 14 when the time is up, and says how to finish the job later', async () => {
    await sellers(3)
    const { code, stderr, stdout } = await here.run([
      'leads',
      'extract',
      url,
      ...'--wait 0 -o leads.csv'.split(' '),
    ])
    expect([code, stdout, existsSync(join(here.home, 'leads.csv'))]).toEqual([14, '', false])
    const [, id = ''] =
      /prospect engine jobs run\. Get its results with: prospect searches get (\S+) --all/.exec(stderr) ?? []
    expect(await here.json('engine', 'jobs', 'run')).toEqual({ jobs: 1, deliveries: 0 })
    const { leads } = await here.json<{ leads: unknown[] }>('searches', 'get', id, '--all')
    expect(leads).toHaveLength(3)
  })

  it('exits 130 on Ctrl-C, and the job can be finished later', async () => {
    await sellers(450)
    const running = here.run(['leads', 'extract', url, '--wait', '-o', 'leads.csv'])
    while (here.signals.listenerCount('SIGINT') === 0) await new Promise((resolve) => setImmediate(resolve))
    here.signals.emit('SIGINT')
    const { code, stderr } = await running
    expect([code, existsSync(join(here.home, 'leads.csv'))]).toEqual([130, false])
    expect(stderr).toContain('prospect engine jobs run')
    const [stopped] = await here.json<{ state: string; done: number }[]>('engine', 'jobs', 'list')
    expect(['queued', 'running']).toContain(stopped?.state)
    await here.json('engine', 'jobs', 'run')
    const [job] = await here.json<{ state: string; done: number; attempts: number }[]>(
      'engine',
      'jobs',
      'list',
    )
    expect(job).toMatchObject({ state: 'finished', done: 450 })
    expect(await left('daily_profile_scraping')).toBe(2_500 - 450)
  })
})

describe('a job that another worker runs', () => {
  it('waits for a job that another worker runs', async () => {
    await sellers(450)
    const working = here.run(['worker'])
    await until(() => here.signals.listenerCount('SIGTERM') > 0)
    const { code } = await here.run(['leads', 'extract', url, '--wait', '-o', 'leads.csv'])
    here.signals.emit('SIGTERM')
    expect([code, rows('leads.csv').length, (await working).code]).toEqual([0, 450, 0])
  })
})

describe('a job that fails', () => {
  const extract = ['leads', 'extract', url, '--idempotency-key', 'once']

  it('exits 10 with the error of a failed job, writes nothing, and the job can be retried', async () => {
    await sellers(2)
    await here.run([...extract, '--no-wait'])
    const database = new Database(join(here.home, 'engine.db'))
    database.exec('UPDATE jobs SET attempts = 1000')
    database.close()
    const { code, stderr, stdout } = await here.run([...extract, '--wait', '-o', 'leads.csv'])
    expect([code, stdout, existsSync(join(here.home, 'leads.csv'))]).toEqual([10, '', false])
    expect(stderr).toContain('The job failed: It stopped its process repeatedly')
    const [, id = ''] = /engine jobs retry (\S+)/.exec(stderr) ?? []
    const retried = await here.json<{ id: string; state: string }>('engine', 'jobs', 'retry', id)
    expect(retried.state).toBe('queued')
    await here.json('engine', 'jobs', 'run')
    expect(await here.json('searches', 'get', retried.id)).toMatchObject({ search: { leads_count: 2 } })
  })
})

describe('an import without --wait', () => {
  it('prints the reply, and still runs the import', async () => {
    await sellers(2)
    const { json, stderr, code } = await here.run(['leads', 'extract', url])
    expect([code, json]).toMatchObject([0, { status: 'processing' }])
    const { id } = json as { id: string }
    expect(stderr).toContain(`Imported 2 people. See: prospect searches get ${id} --all`)
    expect(await here.json('searches', 'get', id)).toMatchObject({
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
      const shown = output.length > 0 ? readFileSync(join(here.home, 'leads.json'), 'utf8') : stdout
      return { code, found: shown.includes('Ann Number1'), isReply: /processing/.test(shown), stderr }
    }
    expect(await run()).toMatchObject({ code: 0, found: true, isReply: false })
    expect(await run('--no-wait')).toMatchObject({ code: 0, found: false, isReply: true })
    const hook = ['--webhook-url', 'http://127.0.0.1:9/hook', '--limit', '1']
    expect(await run(...hook)).toMatchObject({ code: 0, found: false, isReply: true })
  })

  it('prints the waterfall contact on a terminal', async () => {
    await here.run(['data', 'import', 'people', '-'], {
      stdin: 'full_name,email,company_domain\nAnn Sales,ann@acme.example,acme.example\n',
    })
    const names = ['--first-name', 'Ann', '--last-name', 'Sales', '--domain', 'acme.example']
    const waterfall = ['contacts', 'waterfall', ...names, '--enrichment-type', 'email']
    const { code, stdout } = await here.run(waterfall, { terminal: true, columns: 200 })
    expect([code, stdout]).toEqual([0, expect.stringContaining('ann@acme.example')])
  })

  it('leaves the job queued with --no-wait', async () => {
    await sellers(2)
    const { json } = await here.run(['leads', 'extract', url, '--no-wait'])
    const { id } = json as { id: string }
    expect(await here.json('searches', 'get', id)).toMatchObject({ search: { status: 'NOT_STARTED' } })
    expect(await here.json('engine', 'status')).toMatchObject({ jobs: { queued: 1, running: 0 } })
  })

  it('shows the request with a placeholder webhook and queues no job with --dry-run', async () => {
    const body = await here.json('intents', 'stack', '--stacks', 'react', '--dry-run')
    expect(body).toMatchObject({ body: { webhook_url: 'https://prospect.invalid/own' } })
    expect(await here.json('leads', 'extract', url, '--dry-run')).toMatchObject({
      body: { search_url: url },
      profiles_max: null,
    })
    const limited = ['leads', 'extract', url, '--limit', '7', '--dry-run']
    expect(await here.json(...limited)).toMatchObject({ profiles_max: 7 })
    expect(await here.json('engine', 'jobs', 'list')).toEqual([])
  })
})

describe('confirmation of an import', () => {
  const question = 'Start?'

  it('asks before an import without --limit, and shows the quotas that are left', async () => {
    await sellers(2)
    const { code, stderr } = await here.run(['leads', 'extract', url, '--wait'], {
      env: { NO_COLOR: '1' },
      typed: [[question, 'n\r']],
    })
    expect(code).toBe(16)
    expect(stderr).toMatch(/^Quotas left +2,500 profiles\/day, /m)
    expect(stderr).toMatch(/^At most +2,500 records, then the quota is used up$/m)
    expect(await here.json('engine', 'jobs', 'list')).toEqual([])
  })

  it('shows the number of matches and their price before a priced import', async () => {
    await here.run(['data', 'import', 'companies', '-'], {
      stdin: 'name,domain,technologies\nA,a.example,react\nB,b.example,react\n',
    })
    const stack = ['intents', 'stack', '--stacks', 'react']
    const { code, stderr } = await here.run(stack, { env: { NO_COLOR: '1' }, typed: [[question, 'n\r']] })
    expect(code).toBe(16)
    expect(stderr).toMatch(/^Matches +2$/m)
    expect(stderr).toMatch(/^Credits +at most 6$/m)
    expect(stderr).toMatch(/^Balance +1,000 credits$/m)
    expect(await here.json('engine', 'jobs', 'list')).toEqual([])
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
    return answering(async (request, response) => {
      bodies.push(JSON.parse((await received(request)).body))
      response.writeHead(answer).end()
    })
  })

  const hook = () => `http://127.0.0.1:${server.port}/secret-path`

  it('attempts the deliveries of its job before it exits', async () => {
    await sellers(2)
    const { code, stderr } = await here.run([
      'leads',
      'extract',
      url,
      '--webhook-url',
      hook(),
      '--custom',
      'run=7',
    ])
    expect([code, stderr]).toEqual([0, expect.stringContaining('Delivered to 127.0.0.1')])
    expect(bodies).toMatchObject([{ event: 'lead_search.completed', total: 2, custom: { run: 7 } }])
    expect(stderr).not.toContain('secret-path')
  })

  it('keeps a failed delivery pending and says so', async () => {
    answer = 500
    await sellers(1)
    const { code, stderr } = await here.run(['leads', 'extract', url, '--webhook-url', hook()])
    expect([code, stderr]).toEqual([0, expect.stringContaining('Not delivered to 127.0.0.1')])
    const [delivery] = await here.json<{ id: string; state: string }[]>('engine', 'deliveries', 'list')
    expect(delivery).toMatchObject({ state: 'pending', attempts: 1, status: 500 })
  })

  it('engine jobs run makes the deliveries of a job started with --no-wait', async () => {
    await sellers(1)
    await here.run(['leads', 'extract', url, '--webhook-url', hook(), '--no-wait'])
    expect(bodies).toEqual([])
    expect(await here.json('engine', 'jobs', 'run')).toEqual({ jobs: 1, deliveries: 1 })
    expect(bodies).toHaveLength(1)
  })
})

describe('searches list', () => {
  it('says on stderr how many searches it does not list', async () => {
    await sellers(1)
    await here.json('leads', 'extract', url)
    const some = await here.run(['searches', 'list'])
    expect([some.json, some.stderr]).toMatchObject([{ searches: [] }, expect.stringContaining('1 more')])
    expect(some.stderr).toContain('--no-enriched')
    const all = await here.run(['searches', 'list', '--no-enriched'])
    expect([all.json, all.stderr]).toMatchObject([{ searches: [{ leads_count: 1 }] }, ''])
  })
})
