import { describe, expect, it } from 'vitest'
import { answering as receiving } from '../client/listeners.js'
import { ends, type Machine, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { rowsOf } from '../support/fixtures.js'
import { loadSample } from '../support/sample.js'

const here = perTest(machine)

/** Imports records as the first thing that is done on a machine. */
const load = (kind: string, stdin: string, at: Machine = here) =>
  ends(at.run(`data import ${kind} - --quiet`, { stdin }), 0)

const companies = (count: number) =>
  `name,domain,technologies,country\n${Array.from({ length: count }, (_, at) => `C ${at},c${at}.example,react,FR\n`).join('')}`
const spent = async () => (await here.json<object[]>('engine ledger')).length

describe('data of the own, as the first thing on a machine', () => {
  it('costs no credits: 1,200 finds are paid by nobody, where 1,000 credits to practise with would be used up', async () => {
    await load('companies', companies(1_200))
    here.write('in.csv', companies(1_200))
    const { stderr } = await ends(here.run('accounts enrich --csv in.csv -o out.csv'), 0)
    expect(stderr).toContain('1,200 found · 0 credits')
    expect(here.rows('out.csv').every((row) => row._status === 'found' && row._credits === '0')).toBe(true)
    expect([await spent(), await here.json('ledger')]).toEqual([0, [expect.objectContaining({ credits: 0 })]])
  })

  it('uses no quota: 2,600 people of a company come at once, more than a plan for practice allows a day', async () => {
    const rows = Array.from({ length: 2_600 }, (_, at) => `A${at},B,a.example,Buyer\n`)
    await load('people', `first_name,last_name,company_domain,title\n${rows.join('')}`)
    await ends(here.run('leads search --company-domain a.example --job-titles Buyer -o out.ndjson'), 0)
    expect(here.read('out.ndjson').trim().split('\n')).toHaveLength(2_600)
    expect(await here.json('credits')).toMatchObject({
      credits: { enrichment: 1_000_000_000, daily_profile_scraping: 1_000_000_000 },
      limits: { daily_profile_scraping: 1_000_000_000 },
    })
    await ends(here.run('credits --min-credits 500 --min-daily-profiles 50%'), 0)
    const table = await here.run('limits --format table')
    expect(table.stdout).toMatch(/Credits +no limit/)
    expect((await here.run('credits')).stderr).toContain(
      'Your own data costs no credits and uses up no quota;',
    )
  })

  it('says which departments no headcount is known of', async () => {
    await load('companies', 'name,domain,headcount\nA,a.example,7\n')
    const { code, stderr } = await here.run('accounts headcount a.example --departments Salez')
    expect(code).toBe(0)
    expect(stderr).toContain('No headcount is known of: Salez.')
  })

  it('is quoted at nothing, for one request, a file and a flow, and looked up within a budget of nothing', async () => {
    await load('companies', companies(30))
    here.write('in.csv', companies(30))
    expect(await here.json('accounts enrich --domain c1.example --dry-run')).toMatchObject({
      price: { min: 0, max: 0 },
    })
    expect(await here.json('accounts enrich --csv in.csv --dry-run')).toMatchObject({
      lookups: 30,
      credits: { min: 0, expected: 0, max: 0 },
      shortage: null,
    })
    here.write(
      'f.yaml',
      'name: f\ninput: { csv: in.csv }\nsteps: [accounts.enrich]\noutput: { csv: out.csv }\n',
    )
    expect(await here.json('flow quote f.yaml')).toMatchObject({ credits: { min: 0, expected: 0, max: 0 } })
    await ends(here.run('flow run f.yaml --max-credits 0'), 0)
    expect(here.rows('out.csv')).toHaveLength(30)
    await ends(here.run('accounts enrich --csv in.csv --max-credits 0 -o again.csv --fresh'), 0, '30 found')
    const asked = await here.run('accounts enrich --domain c1.example', { typed: [] })
    expect([asked.code, asked.stderr]).toEqual([0, expect.not.stringContaining('Continue?')])
  })

  it('costs nothing in what is priced by record, number or contact, also in work that ends later', async () => {
    await load('companies', companies(3))
    await load(
      'jobs',
      'company_domain,job_title,job_url,date_posted\nc1.example,Buyer,https://j.example/1,2026-11-01\nc1.example,Clerk,https://j.example/2,2026-11-02\n',
    )
    await load(
      'people',
      'first_name,last_name,company_domain,email,phone,network_profile_url\nAda,L,c1.example,ada@c1.example,+33612345678,https://www.network.example/in/ada\n',
    )
    expect(await here.json('accounts hiring c1.example')).toMatchObject({ total_jobs: 2, truncated: false })
    await ends(here.run('intents stack --stacks react -o stack.json'), 0, 'Found 3 companies')
    await ends(here.run('intents hiring --selected-titles Buyer -o hiring.json'), 0, 'Found 1 company')
    const contact = '--network-url https://www.network.example/in/ada --enrichment-type email,phone'
    for (const how of ['--sync', '--wait'])
      expect(await here.json(`contacts waterfall ${contact} ${how}`)).toMatchObject({
        email: 'ada@c1.example',
        phone: ['+33612345678'],
        credits_used: 0,
      })
    await ends(here.run('messenger validate --phone-numbers +33612345678'), 0)
    await ends(here.run('accounts stack c1.example'), 0)
    expect([await spent(), await here.json('engine ledger verify')]).toEqual([
      0,
      expect.objectContaining({ ok: true }),
    ])
  })

  it('costs nothing over HTTP', async () => {
    await load('companies', companies(2))
    const key = await here.newKey()
    const { line, stop } = await here.start('serve --port 0')
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const body = JSON.stringify({ domain: 'c1.example' })
    const found = await fetch(`${line}/accounts/single_enrich`, { method: 'POST', headers, body })
    const left = await fetch(`${line}/credits`, { headers })
    expect([found.status, await left.json()]).toMatchObject([200, { credits: { enrichment: 1_000_000_000 } }])
    await stop()
    expect(await spent()).toBe(0)
  })

  it('is paid as it was accepted where the plan changes before the work is done', async () => {
    await load('companies', companies(3))
    const hook = await receiving((_, response) => response.end())
    const url = `--webhook-url http://127.0.0.1:${hook.port}/x --no-wait`
    await here.json('engine plan set growth')
    await here.json('engine credits set 100')
    await ends(here.run(`intents stack --stacks react ${url} --yes`), 0)
    await here.json('engine plan set own')
    await ends(here.run(`intents stack --stacks react ${url} --limit 2`), 0)
    await here.json('engine plan set growth')
    await ends(here.run('engine jobs run'), 0)
    expect(await here.balance()).toBe(91)
    const done = (await here.json<{ done: number }[]>('engine jobs list')).map((job) => job.done)
    expect([done, await here.json('engine ledger verify')]).toMatchObject([[2, 3], { ok: true }])
  })
})

describe('init', () => {
  it('asks whether this is for practice, for own data or for a vendor', async () => {
    const typed = [['Where do your searches', '\u001b[B\r']] as const
    const { json, stderr } = await ends(here.run('init --json', { typed }), 0)
    expect(json).toMatchObject({ workspace: 'Local', plan: 'own', credits: 0 })
    expect(stderr).toContain('There is no data yet. Load yours: prospect data import companies FILE')
    expect(stderr).toMatch(/practice data.*my own data.*a vendor/s)
  })

  it('offers the sample to who practises', async () => {
    const typed = [
      ['Where do your searches', '\r'],
      ['Load invented companies', 'n\r'],
    ] as const
    expect((await ends(here.run('init --json', { typed }), 0)).json).toMatchObject({
      plan: 'growth',
      credits: 1_000,
    })
  })

  it('takes --own-data in a script, refuses it with --sample, and says how a workspace for practice is changed', async () => {
    await ends(here.run('init --own-data --sample'), 2, '--own-data and --sample')
    expect(await here.json('init --own-data')).toMatchObject({ plan: 'own', credits: 0 })
    await ends(here.run('init --yes'), 0, 'exists already')
    await here.json('engine plan set growth')
    await ends(here.run('init --own-data'), 0, 'prospect engine plan set own')
  })
})

describe('the title of an imported person', () => {
  it('gives seniority and function, in several languages, and nothing where it says nothing', async () => {
    const titles = rowsOf('titles/titles.tsv')
    const known = titles.map((_, at) => `A${at},B,p${at}@a.example,a.example`)
    const header = 'first_name,last_name,email,company_domain'
    await load(
      'people',
      `${header},title\n${titles.map(([title], at) => `${known[at]},${title}\n`).join('')}`,
    )
    here.write('in.csv', [header, ...known, ''].join('\n'))
    await ends(here.run('leads enrich --csv in.csv -o out.csv --fields title,seniority,function'), 0)
    const read = here.rows('out.csv').map((row) => [row.title, row.seniority, row.function])
    expect(read).toEqual(titles)
  })

  it('lets filters find who has it; what the file says itself counts more', async () => {
    await load(
      'people',
      [
        'first_name,last_name,company_domain,title,seniority',
        'Jana,Müller,m.example,Geschäftsführerin,',
        'Ida,Klein,m.example,Assistentin der Geschäftsführung,',
        'Uwe,Roth,m.example,Leiter Einkauf,',
        'Eva,Lang,m.example,Leiterin Recht,CXO',
      ].join('\n'),
    )
    const found = async (filter: string) => {
      await ends(here.run(`leads search --company-domain m.example ${filter} -o out.csv --quiet`), 0)
      return here.rows('out.csv').map((row) => row['lead.first_name'])
    }
    expect(await found('--seniority-levels CXO')).toEqual(['Jana', 'Eva'])
    expect(await found('--functions Purchasing')).toEqual(['Uwe'])
    await load('people', 'first_name,last_name,company_domain,title\nUwe,Roth,m.example,Geschäftsführer\n')
    expect(await found('--seniority-levels CXO')).toEqual(['Jana', 'Uwe', 'Eva'])
  })
})

describe('own data without the kind of records that is asked for', () => {
  const companies = 'name,domain\nAcme,m.example\n'
  const people = 'full_name,email\nJana Müller,jana@gmail.com\n'
  const asked = [
    ['people', companies, 'leads enrich --csv in.csv -o out.csv'],
    ['people', companies, 'leads enrich --csv in.csv --dry-run'],
    ['people', companies, 'contacts waterfall --csv in.csv --enrichment-type email -o out.csv'],
    ['people', companies, 'contacts reverse-lookup jana@m.example'],
    [
      'people',
      companies,
      'contacts waterfall --network-url linkedin.com/in/j --enrichment-type phone --sync',
    ],
    ['people', companies, 'leads search m.example --job-titles CTO -o out.csv'],
    ['people', companies, 'leads search --csv in.csv --limit 1 --job-titles CTO -o out.csv'],
    ['people', companies, 'leads advanced-search --preview --job-titles CTO'],
    ['people', companies, 'accounts count-profiles --company-network-id 7 --title-to-include CTO'],
    ['people', companies, 'flow run people.yaml'],
    ['jobs', companies, 'accounts hiring m.example'],
    ['jobs', companies, 'intents hiring --selected-titles CTO --wait -o out.csv'],
    ['companies', people, 'accounts enrich --csv in.csv -o out.csv'],
    ['companies', people, 'accounts enrich m.example'],
    ['companies', people, 'accounts search --preview --keyword acme'],
    ['companies', people, 'leads search m.example --job-titles CTO -o out.csv'],
    ['companies', people, 'intents stack --stacks react --wait -o out.csv'],
    ['companies', people, 'flow run companies.yaml'],
  ]

  it.each(asked)(
    'answers nothing, exits with 2 and names %s and how to load them (%#)',
    async (kind, stdin, line) => {
      await load(stdin === people ? 'people' : 'companies', stdin)
      here.write('in.csv', 'domain,first_name,last_name,company_name\nm.example,Jana,Müller,Acme\n')
      here.write('out.csv', 'of yesterday')
      for (const [name, step] of [
        ['people', 'leads.enrich'],
        ['companies', 'accounts.enrich'],
      ])
        here.write(
          `${name}.yaml`,
          `name: ${name}\ninput: { csv: in.csv }\nsteps: [${step}]\noutput: { csv: out.csv }\n`,
        )
      const ended = await ends(
        here.run(line),
        2,
        `There are no ${kind} on this machine to answer from.`,
        `prospect data import ${kind} FILE`,
      )
      expect([ended.stdout, here.read('out.csv'), await here.json('runs list')]).toEqual([
        '',
        'of yesterday',
        [],
      ])
    },
  )

  it('is no answer of a raw call, whose body is printed as it came', async () => {
    await load('companies', companies)
    const line = 'api POST /leads/single_enrich -f network_url=https://www.linkedin.com/in/ada'
    const call = await ends(here.run(line), 2, 'There are no people')
    expect(call.json).toEqual({ error: 'No person found' })
  })
})

describe('a search of own data that finds nothing', () => {
  it.each([
    [
      'leads search --company-domain m.example --seniority-levels CXO -o out.csv',
      'None of your people has a seniority, which --seniority-levels needs',
      'a column title or seniority',
    ],
    [
      'leads search --company-domain m.example --functions Sales',
      'None of your people has a function',
      'a column title or function',
    ],
    [
      'leads advanced-search --preview --included-locations Lyon',
      'None of your people has a place',
      'a column country, city or location',
    ],
    [
      'leads search --csv in.csv --limit 1 --job-titles CTO',
      'None of your people has a title, which --job-titles needs',
      'a column title',
    ],
    [
      'accounts search --preview --company-size 11-50',
      'None of your companies has a size',
      'a column headcount or employee_range',
    ],
    [
      'contacts waterfall --network-url https://www.network.example/in/ada --enrichment-type phone --sync',
      'None of your people has a phone number',
      'a column phone',
    ],
  ])('names the column that is missing: %s', async (line, says, column) => {
    await load('people', 'first_name,last_name,company_domain,email\nJana,Müller,m.example,jana@m.example\n')
    here.write('in.csv', 'domain\nm.example\n')
    const { stderr } = await here.run(line)
    expect(stderr).toContain(says)
    expect(stderr).toContain(column)
  })

  it('names none where the records have what is asked for', async () => {
    await load(
      'people',
      'first_name,last_name,company_domain,title\nJana,Müller,m.example,Geschäftsführerin\n',
    )
    const { stderr } = await here.run('leads advanced-search --preview --seniority-levels Director')
    expect(stderr).not.toContain('None of your')
  })
})

describe('own data beside the sample', () => {
  it('says in searches and counts how many matches are samples', async () => {
    await loadSample(here.home)
    const own = ['Ada', 'Eve'].map((name) => `${name},Own,own.example,Chief Technology Officer,FR\n`).join('')
    await load('people', `first_name,last_name,company_domain,title,country\n${own}`)
    const count = async (line: string) => {
      const { json, stderr } = await ends(here.run(`${line} --json`), 0)
      const { total_count, total } = json as { total_count?: number; total?: number }
      return [
        total_count ?? total,
        Number(
          /([\d,]+) match(?:es are samples| is a sample), invented/.exec(stderr)?.[1]?.replace(',', '') ?? 0,
        ),
      ]
    }
    const [all = 0, samples] = await count('leads advanced-search --preview --seniority-levels CXO')
    expect([all > 100, samples]).toEqual([true, all - 2])
    expect(
      await count(
        'leads advanced-search --preview --job-titles "Chief Technology Officer" --first-name Ada --last-name Own',
      ),
    ).toEqual([1, 0])
    const companies = (await here.json<{ companies: number }>('data stats')).companies
    expect(await count('accounts search --preview --excluded-locations Japan')).toEqual([
      expect.any(Number),
      expect.any(Number),
    ])
    const [found = 0, invented] = await count('accounts search --preview --keyword "own OR robotics"')
    expect([found > 0 && found < companies, invented]).toEqual([true, found])
    const [stack = 0, stackSamples] = await count('intents stack --preview --stacks react')
    expect(stackSamples).toBe(stack)
    const { stderr } = await ends(
      here.run('leads search --company-domain acme-robotics.example --job-titles "*" -o p.json'),
      0,
    )
    expect(stderr).toMatch(/\d+ matches are samples/)
    await ends(here.run('data sample --remove'), 0)
    expect(await count('leads advanced-search --preview --seniority-levels CXO')).toEqual([2, 0])
  })
})
