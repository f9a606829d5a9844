import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { answering, closeAfterTest, received } from '../client/listeners.js'
import { machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { stocked, writeList } from '../support/flows.js'
import { launch, prospect } from '../support/processes.js'
import { addProvider, fakeFile, fakeVendor, vendorNames } from '../support/vendors.js'

const here = perTest(machine)
beforeEach(async () => {
  await stocked(here.run, 40)
  writeList(here.home, 60)
})

const run = (...args: string[]) => here.run(['flow', 'run', 'flow.yaml', ...args])
const linesOf = (name: string) => here.read(name).trimEnd().split('\n')

/** Writes a flow over the list, or another input, whose output is `out.csv` with some columns, or what is said. */
const write = (steps: string, output: string, input = '{ csv: list.csv }', more = '') => {
  const to = /^[{[]/.test(output) ? output : `{ csv: out.csv, columns: [${output}] }`
  here.write('flow.yaml', `name: flow\ninput: ${input}\nsteps: ${steps}\noutput: ${to}\n${more}`)
}

/** Returns what each operation has cost. */
const spent = async () => {
  const sums = await here.json<{ operation: string; credits: number }[]>('ledger', '--by', 'operation')
  return Object.fromEntries(sums.map((one) => [one.operation, one.credits]))
}

const kept = `
  - accounts.enrich
  - keep: headcount >= 50 && country in ["DE", "FR"]
  - accounts.stack`

/** Writes a flow over companies. */
const companies = (more = '', steps = `${kept}\n  - accounts.hiring: { limit: 2 }`) =>
  write(steps, 'name, headcount, country, input.Record ID', undefined, more)
const budget = (credits: number) => `budget: { credits: ${credits} }`

const emails = '[{ contacts.enrich: { enrichment_type: [email] } }]'

/** A program that does something with each line of its input. */
const onLines = (work: string) =>
  `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      ${work}
    })`

describe('prospect flow run', () => {
  it('is listed with the runs of its steps, which say whose they are, so that no sum counts them twice', async () => {
    companies()
    await run()
    here.write('one.csv', 'domain\ncompany-0.example\n')
    await here.run('accounts enrich --csv one.csv -o done.csv')
    const listed =
      await here.json<{ id: string; operation: string; flow?: string; credits: number }[]>('runs list')
    const [flow] = listed.filter(({ operation }) => operation === 'flow')
    const steps = listed.filter((one) => one.flow !== undefined)
    expect(steps.map((one) => one.flow)).toEqual([flow?.id, flow?.id, flow?.id])
    const sum = (some: readonly { credits: number }[]) => some.reduce((all, { credits }) => all + credits, 0)
    expect(sum(steps)).toBe(flow?.credits)
    const ledger = await here.json<{ credits: number }[]>('ledger --by operation')
    expect(sum(listed.filter((one) => one.flow === undefined))).toBe(sum(ledger))
    const { stdout } = await here.run('runs list --format table')
    expect(stdout.split(flow?.id ?? '')).toHaveLength(5)
  })

  it('passes rows through its steps, and writes them again for nothing when it has finished', async () => {
    companies()
    const { code, stderr } = await run()
    const out = here.read('out.csv')
    expect(code).toBe(11)
    expect(stderr).toContain(
      '1 accounts.enrich: 61 in · 36 found · 5 duplicates · 55 go on · 1 invalid · 33 credits',
    )
    expect(stderr).toContain('Invalid: 1 row: ')
    expect(stderr).toContain(
      '2 keep: 55 in · 13 kept · 22 could not be compared\n3 accounts.stack: 13 in · 13 found · 39 credits\n',
    )
    expect(out.split('\n').slice(0, 3)).toEqual([
      'name,headcount,country,Record ID',
      'Company 1,61,FR,1',
      'Company 4,64,DE,4',
    ])
    const paid = await spent()
    expect(paid).toEqual({ 'accounts.enrich': 33, 'accounts.stack': 39, 'accounts.hiring': 0 })
    const again = await run()
    expect(again.code).toBe(11)
    expect(again.stderr).toContain('nothing was paid')
    expect(here.read('out.csv')).toBe(out)
    expect(await here.json('flow quote flow.yaml')).toMatchObject({
      finished: true,
      credits: { expected: 0, max: 0 },
      steps: [{ credits: { max: 0 } }, {}, { credits: { max: 0 } }, {}],
    })
    // What is written again needs no count of what the first step has answers for.
    const { stdout } = await here.run('flow quote flow.yaml --format table')
    expect(stdout).not.toContain('answered')
    // A terminal, on which nobody answers, is not asked about what costs nothing.
    const onTerminal = await here.run(['flow', 'run', 'flow.yaml'], { terminal: true })
    expect([onTerminal.code, onTerminal.stderr]).toEqual([11, expect.not.stringContaining('Start?')])
    expect(await spent()).toEqual(paid)
  })

  it('is quoted without what its first step has an answer for, duplicates and invalid rows', async () => {
    companies()
    const quote = () =>
      here.json<{ credits: { max: number }; steps: readonly Record<string, unknown>[] }>(
        'flow quote flow.yaml',
      )
    const before = await quote()
    expect(before.steps[0]).toMatchObject({ lookups: 55, answered: 0, credits: { max: 55 } })
    await here.run('accounts enrich --csv list.csv --rows 20 -o done.csv')
    const after = await quote()
    expect(after.steps[0]).toMatchObject({
      rows: { max: 61 },
      lookups: 38,
      answered: 17,
      credits: { max: 38 },
    })
    expect(before.credits.max - after.credits.max).toBe(17)
    const { stdout } = await here.run('flow quote flow.yaml --format table')
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      '17 lookups of accounts.enrich are answered already; later steps are priced as if nothing were stored',
    )
    // What was not found is asked again for nothing. A flow that stopped has all answers of its own run.
    await run('--max-credits', '10')
    const stopped = await quote()
    expect(Number(stopped.steps[0]?.answered)).toBeGreaterThan(20)
  })

  it('resumed by its id, keeps to the budget of the command that started it, until it gets another', async () => {
    companies()
    const stopped = await run('--max-credits', '10')
    expect([stopped.code, await spent()]).toEqual([12, { 'accounts.enrich': 10 }])
    expect(stopped.stderr).toMatch(/Resume: prospect flow resume \S+ --max-credits N$/m)
    for (const [more, paid] of [
      ['', 10],
      ['--max-credits 15', 15],
      ['', 15],
    ] as const) {
      expect((await here.run(`flow resume --last --yes ${more}`)).code).toBe(12)
      expect(await spent()).toEqual({ 'accounts.enrich': paid })
    }
  })

  it.each(['', '--local'])(
    'resumed by its id, goes on where it was started, and nowhere else (started with "%s")',
    async (chosen) => {
      companies()
      expect((await run('--max-credits', '10', ...(chosen ? [chosen] : []))).code).toBe(12)
      // Commands that choose no target are for a server from now on.
      await here.run('config set base_url http://127.0.0.1:9/api/v2')
      const env: Record<string, string> = chosen ? {} : { PROSPECT_API_KEY: 'an-invented-key' }
      const { code, stderr } = await here.run('flow resume --last --yes --max-credits 15', { env })
      expect(code).toBe(chosen ? 12 : 2)
      if (!chosen) expect(stderr).toContain('is for another target: local')
      const named = 'flow resume --last --yes --base-url http://127.0.0.1:9/api/v2'
      const elsewhere = await here.run(named, { env: { PROSPECT_API_KEY: 'an-invented-key' } })
      expect([elsewhere.code, elsewhere.stderr]).toEqual([
        2,
        expect.stringContaining('is for another target: local'),
      ])
      await here.run('config unset base_url')
      expect(await spent()).toEqual({ 'accounts.enrich': chosen ? 15 : 10 })
    },
  )

  it('stops in the step in which its budget ends, and goes on when that is raised', async () => {
    companies(budget(45))
    const { code, stderr } = await run()
    expect(code).toBe(12)
    expect(await spent()).toEqual({ 'accounts.enrich': 33, 'accounts.stack': 12 })
    expect(stderr).toContain('prospect flow resume')
    expect(stderr).toContain(
      'Budget reached: 45 credits for this flow. Raise --max-credits, or budget: credits: in its file, then run it again. Resume:',
    )
    expect(here.exists('out.csv')).toBe(false)
    companies(budget(1000))
    expect((await run()).code).toBe(11)
    const [paid, out] = [await spent(), here.read('out.csv')]
    here.remove()
    await stocked(here.run, 40)
    writeList(here.home, 60)
    companies()
    await run()
    expect(here.read('out.csv')).toBe(out)
    expect(await spent()).toEqual(paid)
  })

  it('prints the rows of a step for a look, and reuses what was paid for them', async () => {
    companies()
    const look = await run('--rows', '4', '--until', 'keep', '--format', 'ndjson')
    expect(JSON.parse(look.stdout)).toMatchObject({ name: 'Company 1', headcount: 61, 'Record ID': '1' })
    expect(here.exists('out.csv')).toBe(false)
    await run()
    expect(await spent()).toEqual({ 'accounts.enrich': 33, 'accounts.stack': 39, 'accounts.hiring': 0 })
  })

  it('is listed and shown as a flow, and resumed as one', async () => {
    companies(budget(45))
    await run()
    const [flow] = await here.json<{ id: string; status: string; credits: number }[]>('flow', 'list')
    expect(flow).toMatchObject({ flow: 'flow', status: 'stopped', credits: 45 })
    const { stdout } = await here.run(['flow', 'show', '--last', '--format', 'table'])
    expect(stdout).toContain('3 accounts.stack')
    expect(stdout).toMatch(/2 keep +13 /)
    const refused = await here.run(['runs', 'resume', flow?.id ?? ''])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('is a flow')
    companies()
    expect((await here.run(['flow', 'resume', '--last'])).code).toBe(11)
    expect(await here.json('flow', 'show', '--last')).toMatchObject({
      id: flow?.id,
      status: 'finished',
      written: 13,
    })
  })

  it('finds people at the companies that it keeps, their addresses, and writes them for a CRM', async () => {
    const steps = `
  - accounts.enrich
  - keep: headcount >= 50 && country == "FR"
  - leads.search: { job_titles: [Head of Sales], limit: 2 }
  - contacts.enrich: { enrichment_type: [email] }
  - keep: email_status == "valid"`
    const columns = 'full_name, title, email, company.name, company.headcount, input.Record ID'
    write(steps, `[{ csv: out.csv, columns: [${columns}] }, { csv: hubspot.csv, layout: hubspot }]`)
    const { code, stderr } = await run()
    expect(code).toBe(11)
    const paid = await spent()
    const out = here.read('out.csv')
    await run()
    expect(await spent()).toEqual(paid)
    expect(here.read('out.csv')).toBe(out)
    expect(out.split('\n').slice(0, 2)).toEqual([
      'full_name,title,email,company.name,company.headcount,Record ID',
      'First18 Last18,Head of Sales,p18@company-9.example,Company 9,69,9',
    ])
    expect(here.read('hubspot.csv')).toContain('\nFirst18,Last18,p18@company-9.example,')
    expect(stderr).toContain('5 keep: 7 in · 4 kept')
    // What has finished costs nothing: with another row it is a new run.
    here.write('list.csv', `${here.read('list.csv')}New,new.example\n`)
    const { stdout } = await here.run(['flow', 'quote', 'flow.yaml', '--format', 'table'])
    expect(stdout).toMatch(/1 accounts.enrich +62 +56 \(44–62\) +14 \(0–23\) +earlier runs/)
    expect(stdout).toMatch(/4 contacts.enrich +8 \(0–20\) .* 12 \(0–60\) +usual rates/)
  })

  it('has a program answer rows, once for each, however often the flow is run', async () => {
    const program = onLines(`const { headcount, input } = JSON.parse(line)
      console.log(JSON.stringify(headcount ? { score: headcount * 2, of: input['Record ID'] } : null))`)
    here.write('score.js', `require('node:fs').appendFileSync('starts', 'one ')\n${program}`)
    const scored = '{ command: [node, score.js], fields: [score, of] }'
    write(`[accounts.enrich, ${scored}, { keep: score > 180 }]`, 'name, score, of')
    expect((await run()).code).toBe(11)
    const rows = linesOf('out.csv')
    expect(rows.slice(0, 2)).toEqual(['name,score,of', 'Company 31,182,31'])
    await run()
    expect(linesOf('out.csv')).toEqual(rows)
    expect(here.read('starts')).toBe('one ')
    here.write('score.js', 'process.exit(3)')
    const { code, stderr } = await run('--fresh')
    expect(code).toBe(2)
    expect(stderr).toContain('node has ended (exit code 3).')
  })

  it('takes only what is new since its last run', async () => {
    companies('since: last_run', kept)
    await run()
    expect(linesOf('out.csv')).toHaveLength(14)
    const paid = await spent()
    await run()
    expect(here.read('out.csv')).toBe('name,headcount,country,Record ID\n')
    const added = 'New,company-38.example,new\nOld,company-37.example,old\n'
    here.write('list.csv', here.read('list.csv') + added)
    await run()
    expect(here.read('out.csv')).toBe('name,headcount,country,Record ID\n')
    expect(await spent()).toEqual({ ...paid, 'accounts.enrich': 34 })
  })

  it('asks an address about rows, keeps its answers like paid ones, and sends it the result', async () => {
    const asked: unknown[] = []
    const batches: { key: unknown; rows: object[] }[] = []
    const { origin: url } = closeAfterTest(
      await answering(async (request, response) => {
        const body = JSON.parse((await received(request)).body) as { rows?: object[]; size?: number }
        if (body.rows) batches.push({ key: request.headers['idempotency-key'], rows: body.rows })
        else asked.push([request.headers.authorization, body])
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ data: { score: 2 * (body.size ?? 0) } }))
      }),
    )
    const flow = (and: string) =>
      write(
        `
  - accounts.enrich
  - keep: headcount >= 90
  - http:
      post: ${url}
      headers: { authorization: SCORE_TOKEN }
      body: { company: "{name}", size: "{headcount}", text: "{name} in {country}" }
      result: { score: data.score }
      per_second: 1000
  - keep: score >= 0 && headcount < ${and}`,
        `[{ http: { post: ${url}, rows: 4 }, columns: [name, score] }, { csv: out.csv }, { list: Asked }]`,
      )
    flow('200')
    const missing = await run()
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('The variable SCORE_TOKEN')])
    const env = { SCORE_TOKEN: 'Bearer secret-token' }
    const { code, stderr } = await here.run(['flow', 'run', 'flow.yaml'], { env })
    expect([code, stderr]).toEqual([11, expect.not.stringContaining('secret-token')])
    expect(asked).toHaveLength(7)
    expect(asked[0]).toEqual([
      'Bearer secret-token',
      { company: 'Company 31', size: 91, text: 'Company 31 in GB' },
    ])
    expect(batches.map(({ rows }) => rows.length)).toEqual([4, 3])
    expect(new Set(batches.map(({ key }) => key)).size).toBe(2)
    expect(batches[0]?.rows[0]).toEqual({ name: 'Company 31', score: 182 })
    const list = await here.json<{ companies: { domain: string }[] }>('lists', 'get', 'Asked')
    expect(list.companies).toHaveLength(7)
    await here.run(['flow', 'run', 'flow.yaml'], { env })
    flow('95')
    await here.run(['flow', 'run', 'flow.yaml'], { env })
    expect(asked).toHaveLength(7)
    expect(batches).toHaveLength(3)
  })

  it('says why rows of a step failed', async () => {
    const { origin } = closeAfterTest(await answering((_, response) => response.writeHead(418).end('{}')))
    write(
      `[{ http: { post: "${origin}", result: { score: score }, per_second: 1000 } }]`,
      'name',
      '{ csv: list.csv }',
    )
    const { code, stderr } = await run('--rows', '2')
    expect([code, stderr]).toEqual([
      11,
      expect.stringContaining('2 failed\nFailed: 2 rows: The address answered 418'),
    ])
  })

  it('begins with a list of the workspace, and with what another flow has written', async () => {
    await here.run(['lists', 'create', '--name', 'Targets', '--csv', 'list.csv', '--wait'])
    const first = '{ xlsx: first.xlsx, columns: [name, domain] }'
    write('[accounts.enrich, { keep: headcount > 90 }]', first, '{ list: Targets }')
    expect((await run()).code).toBe(0)
    const paid = await spent()
    const output = '{ json: second.json, columns: [domain, headcount] }'
    const second = `name: second\ninput: { flow: flow.yaml }\nsteps: [accounts.enrich]\noutput: ${output}\n`
    here.write('second.yaml', second)
    expect((await here.run('flow run second.yaml')).code).toBe(0)
    const rows = JSON.parse(here.read('second.json')) as object[]
    expect([rows.length, rows[0]]).toEqual([7, { domain: 'company-31.example', headcount: 91 }])
    expect(await spent()).toEqual(paid)
  })

  it('leaves out the companies and people that a list has', async () => {
    here.write('crm.csv', 'Company,Website\nCompany 1,company-1.example\nCompany 4,company-4.example\n')
    companies('skip_known: crm.csv')
    const { stderr } = await run()
    expect(stderr).toContain('1 accounts.enrich: 59 in · 34 found')
    expect(here.read('out.csv').split('\n')[1]).toBe('Company 9,69,FR,9')
    expect(await spent()).toMatchObject({ 'accounts.enrich': 31 })
    // People whom a step finds are left out as well, also where nothing looks them up.
    here.write('people.csv', 'Name,Profile\nFirst18 Last18,https://www.linkedin.com/in/person-18\n')
    const found = '{ leads.search: { job_titles: [Head of Sales, Engineer], limit: 2 } }'
    const steps = `[{ keep: domain == "company-9.example" }, ${found}]`
    write(steps, 'full_name', undefined, 'skip_known: [people.csv, crm.csv]')
    expect((await run()).stderr).toContain('people.csv: 1 known row, by')
    expect(here.read('out.csv')).toBe('full_name\nFirst19 Last19\n')
  })

  it('begins with the search of a URL, and stops with the reason where that is refused', async () => {
    const flow = (url: string) =>
      write(
        '[{ keep: name != null || domain == null }]',
        'name, domain',
        `{ search_url: "https://www.linkedin.com/${url}", limit: 5 }`,
      )
    const headcount = '(type:COMPANY_HEADCOUNT,values:List((id:D,text:51-200,selectionType:INCLUDED)))'
    flow(`sales/search/company?query=(filters:List(${headcount}))`)
    const { code, stderr } = await run()
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 keep: 5 in')])
    expect(here.read('out.csv').split('\n')).toHaveLength(7)
    flow('company/acme')
    const refused = await run()
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('The search of the input was refused'),
    ])
    const people =
      '{ search_url: "https://www.linkedin.com/search/results/people/?keywords=Engineer", limit: 5 }'
    write(emails, '{ csv: out.csv, layout: salesforce }', people)
    expect((await run()).code).toBe(0)
    expect(here.read('out.csv').split('\n')).toHaveLength(7)
  })

  it('sends the rows of a waterfall in bulk requests, as a batch does', async () => {
    const people = [0, 2, 4].map((at) => `https://www.linkedin.com/in/person-${at}`)
    here.write('people.csv', `network_url\n${people.join('\n')}\n`)
    write(emails, 'email', '{ csv: people.csv }')
    expect((await run()).code).toBe(0)
    const jobs = await here.json<{ operation: string }[]>('engine', 'jobs', 'list')
    expect(jobs.map(({ operation }) => operation)).toEqual(['contacts.bulk_enrich'])
  })

  it('says where its answers come from, also in its quote', async () => {
    companies()
    const text = 'your catalogue on this machine (41 companies'
    const { source } = await here.json<{ source: { text: string } }>('flow', 'quote', 'flow.yaml')
    expect(source.text).toContain(text)
    expect((await run()).stderr).toContain(`Answers come from ${text}`)
  })

  it('stops in the search of its input where that fails, and goes on when it works again', async () => {
    const search = '{ accounts.search: { company_size: [51-200], limit: 5 } }'
    write('[{ keep: name != null }]', 'name', search)
    await here.json('engine faults add accounts.search --status 422 --code plan_limit_reached')
    const { code, stderr } = await run()
    expect(code).toBe(6)
    expect(stderr).toMatch(/Stopped in accounts\.search: [^.]+\. Plan limit reached\. [A-Z]/)
    await here.run(['engine', 'faults', 'clear'])
    expect((await run()).code).toBe(0)
    expect(here.read('out.csv').split('\n')).toHaveLength(7)
  })

  it('asks providers of the user in its waterfall, each about a person once, within their budget', async () => {
    const vendor = closeAfterTest(await fakeVendor())
    const dns = closeAfterTest(await vendorNames())
    await addProvider(here, fakeFile(vendor.origin))
    const people = ['King', 'Nobody', 'Queen'].map((name) => `Ada,${name},acme.example`)
    here.write('asked.csv', `First name,Last name,Website\n${people.join('\n')}\n`)
    const steps =
      '[{ contacts.enrich: { enrichment_type: [email] } }, { keep: email_source == "acmemail" || email == null }]'
    write(steps, 'last_name, email, email_source', '{ csv: asked.csv }')
    const found =
      'last_name,email,email_source\nKing,king@acme.example,acmemail\nNobody,,\nQueen,queen@acme.example,acmemail\n'
    const env = { PROSPECT_DNS: dns.address }
    const go = (...more: string[]) => here.run(['flow', 'run', 'flow.yaml', ...more], { env })
    expect((await go('--max-cost', 'acmemail=1')).code).toBe(0)
    expect(vendor.charged()).toBe(1)
    const quote = () => here.run('flow quote flow.yaml', { env })
    expect((await quote()).json).toMatchObject({ steps: [{ providers: [{ provider: 'acmemail' }] }, {}] })
    expect((await go('--fresh')).code).toBe(0)
    expect(here.read('out.csv')).toBe(found)
    const again = await quote()
    expect([again.json, again.stdout]).toEqual([
      expect.objectContaining({ finished: true }),
      expect.not.stringContaining('acmemail'),
    ])
    await go()
    expect([here.read('out.csv'), vendor.charged(), vendor.asked.get('King')]).toEqual([found, 2, 1])
  })

  it('sorts all rows anew when it was killed while a vendor was asked about those that its budget had left', async () => {
    let onRequest = () => {}
    const vendor = closeAfterTest(await fakeVendor(undefined, () => onRequest()))
    const dns = closeAfterTest(await vendorNames())
    // So few are under way at once that others are left when it is killed.
    await addProvider(here, fakeFile(vendor.origin).replace('concurrent: 20', 'concurrent: 4'))
    const rows = Array.from(
      { length: 24 },
      (_, at) => `Ada,Ka${String.fromCharCode(97 + at)},acme.example,${at}`,
    )
    here.write('asked.csv', `First name,Last name,Website,Size\n${rows.join('\n')}\n`)
    const steps =
      '[{ contacts.enrich: { enrichment_type: [email] } }, { keep: email_source == "acmemail" }, { sort: input.Size desc }, { limit: 2 }]'
    write(steps, 'last_name', '{ csv: asked.csv }')
    const env = { PROSPECT_DNS: dns.address }
    const go = (most: number) =>
      here.run(['flow', 'run', 'flow.yaml', '--max-cost', `acmemail=${most}`], { env })
    expect((await go(2)).code).toBe(0)
    expect(here.read('out.csv')).toBe('last_name\nKab\nKaa\n')
    const words = ['flow', 'run', 'flow.yaml', '--max-cost', 'acmemail=100']
    const killed = launch(prospect, words, here.home, { ...env, PROSPECT_HOME: here.home })
    onRequest = () => void killed.kill('SIGKILL')
    expect((await killed).signal).toBe('SIGKILL')
    onRequest = () => {}
    // What the killed one had under way is lost, once it cannot be answered any more.
    const engine = new Database(here.path('engine.db'))
    engine.exec("UPDATE provider_calls SET lease_until = 0 WHERE state = 'asked'")
    engine.close()
    expect((await go(100)).code).toBe(11)
    const [sorted, charged] = [here.read('out.csv'), vendor.charged()]
    expect(sorted).not.toBe('last_name\nKab\nKaa\n')
    await here.run(['flow', 'run', 'flow.yaml', '--fresh'], { env })
    expect([here.read('out.csv'), vendor.charged()]).toEqual([sorted, charged])
  })

  it('writes its first rows while later ones are still read', async () => {
    const program =
      onLines(`if (++rows === 3000) fs.writeFileSync('size', String(fs.statSync('out.csv.partial').size))
      console.log(JSON.stringify({ place: rows }))`)
    here.write('place.js', `const fs = require('node:fs')\nlet rows = 0\n${program}`)
    const rows = Array.from({ length: 4_000 }, (_, at) => `Company ${at},company-${at}.example`)
    here.write('many.csv', `Company,Website\n${rows.join('\n')}\n`)
    const place = '{ command: [node, place.js], fields: [place] }'
    write(`[${place}, { keep: place > 0 }]`, 'domain, place', '{ csv: many.csv }')
    expect((await run()).code).toBe(0)
    expect(Number(here.read('size'))).toBeGreaterThan(10_000)
    expect(here.read('out.csv').trimEnd().split('\n').at(-1)).toBe('company-3999.example,4000')
  })

  it('sends and writes nothing about suppressed companies, whatever its steps are', async () => {
    await here.run(['suppress', 'add', 'company-31.example'])
    const asked = "require('node:fs').appendFileSync('asked', line)\n      console.log('{}')"
    here.write('listen.js', onLines(asked))
    write('[{ keep: domain != null }, { command: [node, listen.js], fields: [score] }]', 'domain')
    expect((await run()).stderr).toContain('1 suppressed')
    expect(here.read('asked')).toContain('company-30.example')
    expect(here.read('asked')).not.toContain('company-31.example')
    expect(here.read('out.csv')).not.toContain('company-31.example')
    write('[{ keep: domain != null }]', '{ csv: out.csv }')
    await run()
    expect(here.read('out.csv')).toContain('company-30.example')
    expect(here.read('out.csv')).not.toContain('company-31.example')
  })

  it('sends nothing about suppressed people, or people at suppressed companies, to an address', async () => {
    await here.run(['suppress', 'add', 'company-31.example', 'gone@other.example'])
    const people = [
      'First name,Last name,Email,Company,Website',
      'At,Company,a@company-31.example,Company 31,company-31.example',
      'Is,Gone,gone@other.example,Other,other.example',
      'May,Stay,may@other.example,Other,other.example',
    ]
    here.write('people.csv', people.join('\n'))
    const sent: string[] = []
    const { origin: url } = closeAfterTest(
      await answering(async (request, response) => {
        sent.push((await received(request)).body)
        response.setHeader('content-type', 'application/json')
        response.end('{"line": "Hello"}')
      }),
    )
    const steps = `[{ http: { post: ${url}, result: { line: line }, per_second: 1000 } }]`
    write(steps, `{ http: { post: ${url} } }`, '{ csv: people.csv }')
    expect((await run()).code).toBe(0)
    expect(sent).toHaveLength(2)
    expect(sent.join('\n')).not.toMatch(/company-31|gone@/i)
    expect(sent.join('\n')).toContain('may@other.example')
  })
})
