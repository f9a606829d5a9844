import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { isPriced } from '../../src/api/operations/facts.js'
import { operation, operations } from '../../src/api/operations/table.js'
import { mostCredits } from '../../src/engine/credits/cost.js'
import { examples } from '../../src/reference/openapi.js'
import { askToStop } from '../../src/runs/records.js'
import { closeAfterTest } from '../client/listeners.js'
import { answering, ends, machine } from '../support/command.js'
import { perFile, perTest } from '../support/each.js'
import { tries } from '../support/effort.js'
import { loadSample } from '../support/sample.js'
import { addProvider, fakeFile, fakeVendor, vendorNames } from '../support/vendors.js'
import { type Answer, connectAgent } from './agent.js'

const webhookless = ({ webhook_url: _, ...request }: Readonly<Record<string, unknown>>) => request
const toolOf = (id: string) => id.replace('.', '_')

describe('prospect mcp', () => {
  const filled = perFile(machine)
  beforeAll(() => loadSample(filled.home))
  const here = perTest(() => {
    const copy = machine()
    cpSync(filled.home, copy.home, { recursive: true })
    return copy
  })

  const spent = async () =>
    (await here.json<{ credits: number }[]>('ledger --by day')).reduce((sum, { credits }) => sum + credits, 0)
  const write = (name: string, text: string) => here.write(name, text)
  const companies = (count: number) =>
    `name,domain\n${Array.from({ length: count }, (_, at) => `Company ${at},company-${at}.example`).join('\n')}\n`

  it('has a tool for every operation, and says which are free, which cost what, and which only read', async () => {
    const { client } = await connectAgent(here.home)
    const { tools } = await client.listTools()
    const byName = new Map(tools.map((tool) => [tool.name, tool]))
    expect([...byName.keys()]).toEqual(expect.arrayContaining(operations().map(({ id }) => toolOf(id))))
    expect(byName.get('accounts_enrich')).toMatchObject({
      description: expect.stringContaining('Price: 1 credit per company; nothing found costs nothing.'),
      annotations: { readOnlyHint: false },
    })
    expect(byName.get('searches_list')).toMatchObject({
      description: expect.stringContaining('Free.'),
      annotations: { readOnlyHint: true },
    })
    expect(byName.get('personas_delete')?.annotations).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true,
    })
  })

  it('refuses a value that cannot be what its field means, as the commands do, and asks for nothing', async () => {
    const { refused } = await connectAgent(here.home, ['--max-credits', '5'])
    expect(await refused('accounts_enrich', { domain: 'no domain' })).toMatchObject({
      error: 'domain must be a domain, such as example.com',
    })
    expect(await refused('leads_enrich', { network_url: 'https://linkedin.com/company/acme' })).toMatchObject(
      { error: 'network_url must be the profile of a person, not of a company' },
    )
    expect(await here.json('ledger')).toEqual([])
  })

  it('spends nothing without a budget, and says how to allow it', async () => {
    const { call, refused } = await connectAgent(here.home)
    const company = { domain: 'acme-robotics.example' }
    expect(await refused('accounts_enrich', company)).toMatchObject({
      code: 'budget',
      error: 'Budget reached: this can cost 1 credit, and this server may spend none.',
      hint: 'A person can allow it: prospect mcp --max-credits N, in the configuration of this server.',
    })
    write('list.csv', companies(2))
    const file = { operation: 'accounts_enrich', file: 'list.csv' }
    expect(await call('quote_file', file)).toMatchObject({ rows: 2, credits: { max: 2 } })
    expect(await refused('run_file', { ...file, output: 'out.csv' })).toMatchObject({ code: 'budget' })
    expect(await spent()).toBe(0)
  })

  it('never spends more than its budget, however many calls ask at once', async () => {
    const { call, client } = await connectAgent(here.home, ['--max-credits', '3'])
    const { preview } = await call<{ preview: { network_url: string }[] }>('accounts_search_preview', {
      keyword: 'software',
    })
    const urls = preview.slice(0, 8).map(({ network_url }) => network_url)
    const all = await Promise.all(
      urls.map((company_network_url) =>
        client.callTool({ name: 'accounts_enrich', arguments: { company_network_url } }),
      ),
    )
    expect(all.filter(({ isError }) => !isError)).toHaveLength(3)
    expect(await spent()).toBe(3)
    // An import is lowered to what is left, which is nothing.
    await expect(call('intents_stack', { stacks: ['react'], limit: 5 })).rejects.toThrow(
      'this can cost 15 credits, and this server has none of its 3 left',
    )
  })

  it('lowers the limit of an import to what the budget pays for, and returns what it did not need', async () => {
    const { call } = await connectAgent(here.home, ['--max-credits', '7'])
    expect(await call('intents_stack', { stacks: ['react'], limit: 50 })).toMatchObject({
      status: 'finished',
      total: 2,
    })
    expect(await spent()).toBe(6)
    // A lookup that finds nothing costs nothing.
    expect(await call('accounts_enrich', { domain: 'nobody.example' })).toMatchObject({ found: false })
    await call('accounts_enrich', { domain: 'acme-robotics.example' })
    expect(await spent()).toBe(7)
  })

  it('sets aside the price of what is asked for, and no more', async () => {
    const { call, refused } = await connectAgent(here.home, ['--max-credits', '3'])
    const contact = { network_url: 'https://www.network.example/in/lenya-hertel-0000' }
    expect(
      await refused('contacts_enrich', { ...contact, enrichment_type: ['email', 'phone'] }),
    ).toMatchObject({
      error: 'Budget reached: this can cost 33 credits, and this server may spend 3 more.',
    })
    // Spellings that the API takes for the same cost the same.
    await refused('contacts_enrich', { ...contact, enrichment_type: 'phone' })
    expect(await call('contacts_enrich', { ...contact, enrichment_type: ['email'] })).toMatchObject({
      status: 'finished',
    })
    expect(await spent()).toBe(3)
  })

  describe('by any calls in any order', () => {
    /** Calls of the tools that do not only read: right ones, with odd values, and with arguments that are none. */
    const callsOf = async (
      { client }: Pick<Awaited<ReturnType<typeof connectAgent>>, 'client'>,
      length: number,
    ) => {
      const tools = (await client.listTools()).tools.filter(({ annotations }) => !annotations?.readOnlyHint)
      const batch = { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv' }
      const values = fc.oneof(
        fc.constantFrom('acme-robotics.example', 'list.csv', 'email', '-1', '--max-credits=9', '', '1e3'),
        fc.integer({ min: -2, max: 500 }),
        fc.boolean(),
        fc.constant(null),
        fc.array(fc.constantFrom('email', 'phone')),
      )
      const callOf = ({ name, inputSchema }: (typeof tools)[number]) => {
        const fields = Object.keys(inputSchema.properties ?? {}).filter((field) => field !== 'wait')
        const id = operations().find((row) => toolOf(row.id) === name)?.id
        const valid = id ? webhookless(examples[id].request) : batch
        return fc.record({
          name: fc.constant(name),
          arguments: fc.oneof(
            fc.constant(valid),
            fc.dictionary(fc.constantFrom(...fields, 'max_credits', 'limit'), values),
            fc
              .dictionary(fc.constantFrom(...fields, 'max_credits'), values)
              .map((some) => ({ ...valid, ...some })),
          ),
        })
      }
      return fc.array(fc.oneof(...tools.map(callOf)), { minLength: length, maxLength: length })
    }

    it('spends nothing without a budget', async () => {
      const target = answering({ body: {} })
      const agent = await connectAgent(here.home, [], { caller: target })
      write('list.csv', companies(3))
      await fc.assert(
        fc.asyncProperty(await callsOf(agent, 10), async (some) => {
          await Promise.all(some.map(({ name, arguments: given }) => agent.ask(name, given)))
          expect(target.asked.filter(({ id }) => isPriced(operation(id)))).toEqual([])
        }),
        { numRuns: tries(5, 500) },
      )
      expect(await spent()).toBe(0)
    })

    it('never spends more than its budget, also where each call costs all that it may', async () => {
      write('list.csv', companies(3))
      const first = await connectAgent(here.home, [], { caller: answering({ body: {} }) })
      let charged = 0
      let all = 0
      const target = answering((id, input) => {
        const row = operation(id)
        const credits = isPriced(row) ? (mostCredits(row, input) ?? 0) : 0
        charged += credits
        all += credits
        return { body: { name: 'Known' }, credits }
      })
      await fc.assert(
        fc.asyncProperty(
          await callsOf(first, tries(10, 100)),
          fc.integer({ min: 0, max: 60 }),
          async (some, budget) => {
            charged = 0
            const argv = ['--max-credits', String(budget)]
            const agent = await connectAgent(here.home, argv, { caller: target })
            await Promise.all(some.map(({ name, arguments: given }) => agent.ask(name, given)))
            await agent.client.close()
            expect(charged).toBeLessThanOrEqual(budget)
          },
        ),
        { numRuns: tries(5, 50) },
      )
      expect(all).toBeGreaterThan(0)
    })
  })

  it('neither reads nor writes a file outside its folder, also by a link', async () => {
    const root = here.path('lists')
    mkdirSync(root)
    write('outside.csv', companies(2))
    writeFileSync(join(root, 'inside.csv'), companies(2))
    symlinkSync(here.path('outside.csv'), join(root, 'link.csv'))
    symlinkSync(here.home, join(root, 'up'))
    symlinkSync(here.path('new.csv'), join(root, 'dangling.csv'))
    symlinkSync(here.path('new.csv'), join(root, 'out.csv.partial'))
    const { refused, call } = await connectAgent(here.home, ['--root', root, '--max-credits', '9'])
    const outside = [
      '../outside.csv',
      here.path('outside.csv'),
      'link.csv',
      'up/outside.csv',
      'up/lists/../outside.csv',
    ]
    const run = { operation: 'accounts_enrich', file: 'inside.csv', output: 'free.csv', wait: 60 }
    for (const file of outside) {
      expect(await refused('quote_file', { operation: run.operation, file })).toMatchObject({
        error: `file names a file outside the folder of this server: ${file}.`,
      })
      await refused('run_file', { ...run, file })
      await refused('run_file', { ...run, skip_known: [file] })
      await refused('match_file', { file: 'inside.csv', with: [file], output: 'free.csv' })
    }
    for (const output of [...outside, 'dangling.csv', 'out.csv', 'up/new.csv'])
      await refused('run_file', { ...run, output })
    expect(here.read('outside.csv')).toBe(companies(2))
    expect(() => readFileSync(here.path('new.csv'))).toThrow('ENOENT')
    expect(await spent()).toBe(0)
    // Nor by a run of somebody else.
    const elsewhere = 'accounts enrich --csv outside.csv --yes --max-credits 0 -o theirs.csv'
    expect((await here.run(elsewhere)).code).toBe(12)
    const [{ id } = { id: '' }] = await here.json<{ id: string }[]>('runs list')
    expect(await refused('resume_run', { run: id })).toMatchObject({ code: 'usage' })
    expect(await call('run_file', run)).toMatchObject({ status: 'finished', rows: 2 })
  })

  it.skipIf(process.platform !== 'linux')(
    'neither reads nor writes outside its folder while one in it is swapped for a link',
    async () => {
      const [root, outside] = [here.path('lists'), here.path('elsewhere')]
      for (const folder of [root, join(root, 'sub'), outside]) mkdirSync(folder)
      const inside = 'domain\nacme-robotics.example\n'
      writeFileSync(join(root, 'sub', 'in.csv'), inside)
      writeFileSync(join(root, 'other.csv'), `${inside}other.example\n`)
      writeFileSync(join(outside, 'in.csv'), 'domain,Secret\nsecret.example,secret\n')
      const target = answering((_, { domain }) => ({
        body: { name: `Name of ${domain}`, domain },
        credits: 1,
      }))
      const argv = ['--root', root, '--max-credits', '500']
      const { ask } = await connectAgent(here.home, argv, { caller: target })
      const swap = `
        const { renameSync, rmSync, symlinkSync } = require('node:fs')
        process.chdir(process.argv[1])
        const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
        while (process.ppid !== 1) {
          renameSync('sub', 'aside')
          symlinkSync(process.argv[2], 'sub')
          wait(Math.random() * 10)
          rmSync('sub')
          renameSync('aside', 'sub')
          wait(Math.random() * 30)
        }`
      const swapping = spawn(process.execPath, ['-e', swap, root, outside], { stdio: 'ignore' })
      try {
        const answers: string[] = []
        for (let at = 0; at < tries(15, 200); at++) {
          const run = { operation: 'accounts_enrich', file: 'sub/in.csv', max_credits: 2, wait: 60 }
          const type = at % 5 === 0 ? 'xlsx' : 'csv'
          const calls = [
            ask('run_file', { ...run, output: `sub/out-${at}.${type}` }),
            ask('run_file', { ...run, file: 'other.csv', output: `sub/own-${at}.csv` }),
            ask('match_file', { file: 'sub/in.csv', with: ['other.csv'], output: `match-${at}.csv` }),
            ask('quote_file', { operation: 'accounts_enrich', file: 'sub/in.csv' }),
          ]
          for (const { content } of await Promise.all(calls)) answers.push(content[0]?.text ?? '')
        }
        expect(answers.join('\n')).not.toMatch(/secret/i)
        expect(answers.filter((text) => text.includes('"rows":1')).length).toBeGreaterThan(0)
      } finally {
        swapping.kill('SIGKILL')
        await once(swapping, 'exit')
      }
      expect(readdirSync(outside)).toEqual(['in.csv'])
      expect(target.asked.filter(({ input }) => JSON.stringify(input).includes('secret'))).toEqual([])
      const written = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
        name.endsWith('csv'),
      )
      for (const name of written)
        if (!name.startsWith('sub')) expect(readFileSync(join(root, name), 'utf8')).not.toContain('secret')
    },
  )

  it('reports the progress of 2,000 rows, and resumes a stopped run in a shell', async () => {
    write('list.csv', companies(2_000))
    // Otherwise a fast machine is done before it has much to report.
    await here.json('engine faults add all --delay 0.1s')
    const { call, client } = await connectAgent(here.home, ['--max-credits', '900'])
    const run = { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv' }
    const seen: number[] = []
    const onprogress = ({ progress, total }: { progress: number; total?: number }) => {
      expect(total).toBe(2_000)
      seen.push(progress)
    }
    const status = await call('run_file', { ...run, wait: 600 }, { onprogress })
    expect(status).toMatchObject({ status: 'finished', rows: 2_000, counts: { not_found: 2_000 } })
    expect(seen.length).toBeGreaterThan(2)
    expect(seen).toEqual(seen.toSorted((one, other) => one - other))
    const cancelling = new AbortController()
    const cancelled = client.callTool(
      { name: 'run_file', arguments: { ...run, output: 'again.csv', fresh: true, max_age: '0', wait: 600 } },
      { signal: cancelling.signal, onprogress: () => cancelling.abort() },
    )
    await expect(cancelled).rejects.toThrow()
    const [{ id } = { id: '' }] = await here.json<{ id: string }[]>('runs list')
    expect(await call('stop_run', { run: id })).toMatchObject({ status: 'stopped' })
    await ends(here.run(`runs resume ${id} --yes`), 0)
    expect(here.read('again.csv').trim().split('\n')).toHaveLength(2_001)
  })

  it('stops a run that another process asks for, and goes on serving', async () => {
    write('list.csv', companies(2_000))
    await here.json('engine faults add all --delay 0.5s')
    const { call } = await connectAgent(here.home, ['--max-credits', '900'])
    const run = { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv' }
    const { id } = await call<{ id: string }>('run_file', run)
    askToStop({ home: { state: here.path('state.db') } }, process.pid, { id, request: '{}' })
    expect(await call('run_status', { run: id, wait: 60 })).toMatchObject({ status: 'stopped' })
    expect(await call('credits_show')).toMatchObject({ credits: { enrichment: 1_000 } })
  })

  it('asks a provider of the user only within --max-cost', async () => {
    const vendor = closeAfterTest(await fakeVendor())
    const dns = closeAfterTest(await vendorNames())
    await addProvider(here, fakeFile(vendor.origin))
    const find = async (...argv: string[]) => {
      const given = { env: { PROSPECT_DNS: dns.address } }
      const { client } = await connectAgent(here.home, ['--max-credits', '90', ...argv], given)
      for (const last_name of ['King', 'Queen']) {
        const person = { first_name: 'Ada', last_name, domain: 'acme.example', enrichment_type: ['email'] }
        await client.callTool({ name: 'contacts_enrich_sync', arguments: person })
      }
      return vendor.charged()
    }
    expect(await find()).toBe(0)
    expect(await find('--max-cost', 'acmemail=1')).toBe(1)
  })

  it('says which tool asks a data vendor once more whose answer was lost, and asks with it', async () => {
    const [dns, vendor] = [closeAfterTest(await vendorNames()), closeAfterTest(await fakeVendor())]
    await addProvider(here, fakeFile(vendor.origin))
    write('list.csv', 'first_name,last_name,domain\nAda,Lost,acme.example\n')
    const given = { env: { PROSPECT_DNS: dns.address } }
    const { call } = await connectAgent(here.home, ['--max-credits', '9', '--max-cost', 'acmemail=2'], given)
    const asked = { operation: 'contacts_enrich', file: 'list.csv', values: { enrichment_type: ['email'] } }
    const { id } = await call('run_file', { ...asked, output: 'out.csv', wait: 60 })
    expect(await call('run_status', { run: id, row: 1 })).toMatchObject({
      status: 'unknown',
      why_empty:
        'acmemail may have charged, and the answer was lost: call resume_run with retry_unknown, or have a person resume it with --retry-unknown, to ask once more, which may be charged again.',
    })
    for (const times of [2, 2]) {
      await call('resume_run', { run: id, retry_unknown: true, wait: 60 })
      expect(vendor.asked.get('Lost')).toBe(times)
    }
  })

  it('says what is wrong with arguments, a tool or a resource, and goes on', async () => {
    const { client, call, refused, lines } = await connectAgent(here.home, [], { mode: 'legacy' })
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25')
    expect(await refused('run_file', { file: 'a.csv' })).toMatchObject({
      error: expect.stringContaining('operation: '),
      hint: 'See the input schema of the tool.',
    })
    expect(
      await refused('quote_file', { operation: 'accounts_enrich', file: 'a.csv', rowz: 3 }),
    ).toMatchObject({
      error: 'The arguments: Unrecognized key: "rowz".',
    })
    here.write('leads.csv', 'domain\nacme.example\n')
    const search = { operation: 'leads_search', file: 'leads.csv', values: { job_titels: ['CTO'], limit: 1 } }
    for (const tool of ['quote_file', 'run_file'])
      expect(
        await refused(tool, { ...search, ...(tool === 'run_file' ? { output: 'out.csv' } : {}) }),
      ).toMatchObject({ error: 'There is no field job_titels here.', hint: 'Did you mean job_titles?' })
    const boss = { ...search, values: { seniority_levels: ['220', '999'], limit: 1 } }
    expect(await refused('quote_file', boss)).toMatchObject({
      error: expect.stringContaining('values.seniority_levels has unknown ids: 999.'),
    })
    expect(await refused('contacts_get', { id: ' ' })).toMatchObject({ error: 'id is missing or not valid.' })
    expect(await refused('contacts_get', { id: '--help' })).toMatchObject({ error: 'Not found', status: 404 })
    expect(await refused('run_status', { run: 'abcd' })).toMatchObject({
      error: 'There is no run abcd.',
      code: 'not_found',
    })
    await expect(client.callTool({ name: 'prospect', arguments: {} })).rejects.toThrow(
      'There is no tool prospect',
    )
    await expect(client.readResource({ uri: 'prospect://documents/..' })).rejects.toThrow(
      'Resource not found',
    )
    expect(await call('ledger', { by: ['day', 'operation'] })).toMatchObject({ items: [] })
    expect(new Set(lines.map((line) => line.slice(0, 2)))).toEqual(new Set(['{"']))
  })

  it('follows runs and sums what they cost at the target that it was started with', async () => {
    write('two.csv', 'domain\nacme-robotics.example\nnobody-knows.example\n')
    const { client, call } = await connectAgent(here.home, [
      '--max-credits=5',
      '--profile=default',
      '--local',
    ])
    const given = { operation: 'accounts_enrich', file: 'two.csv', output: 'out.csv', wait: 60 }
    const { id } = await call('run_file', given)
    expect(await call('run_status', { run: id })).toMatchObject({ status: 'finished', profile: 'default' })
    expect(await call('run_status', { run: id, row: 1 })).toMatchObject({ status: 'found', credits: 1 })
    expect(await call('match_file', { file: 'two.csv', with: ['out.csv'], output: 'm.csv' })).toMatchObject({
      yes: 2,
    })
    expect(await call('ledger')).toMatchObject({ items: [{ run: id, credits: 1 }], total: { credits: 1 } })
    const { contents } = await client.readResource({ uri: 'prospect://runs' })
    expect(contents).toMatchObject([{ text: expect.stringContaining(String(id)) }])
  })

  it('has credits, runs and the documents as resources', async () => {
    const { client } = await connectAgent(here.home)
    const { resources } = await client.listResources()
    const read = async (uri: string) => {
      const [content] = (await client.readResource({ uri })).contents
      return content && 'text' in content ? content.text : ''
    }
    expect(JSON.parse(await read('prospect://credits'))).toMatchObject({ credits: { enrichment: 1_000 } })
    expect(JSON.parse(await read('prospect://runs'))).toEqual([])
    expect(resources.map(({ uri }) => uri)).toContain('prospect://documents/agents.md')
    expect(await read('prospect://documents/agents.md')).toMatch(/^# Agents/)
  })

  it.each([
    [
      'an array',
      'leads_advanced_search_preview',
      { job_titles: '["Chief Executive Officer"]' },
      { job_titles: ['Chief Executive Officer'] },
    ],
    [
      'one item for an array',
      'leads_advanced_search_preview',
      { job_titles: 'CEO' },
      { job_titles: ['CEO'] },
    ],
    ['a number', 'lists_list', { page: '2', per_page: ' 3 ' }, { page: 2, per_page: 3 }],
    ['a boolean', 'searches_list', { enriched: 'false' }, { enriched: false }],
    ['a boolean of Python', 'searches_list', { enriched: 'False' }, { enriched: false }],
    [
      'an array of objects',
      'lists_create',
      { name: 'A', companies: '[{"name":"Acme","country_code":"Austria"}]' },
      { name: 'A', companies: [{ name: 'Acme', country_code: 'AT' }] },
    ],
    ['a text that stays', 'accounts_enrich', { name: '42' }, { name: '42' }],
    [
      'names of ids',
      'leads_advanced_search_preview',
      { functions: '["Sales"]', seniority_levels: ['cxo'] },
      { functions: ['25'], seniority_levels: ['310'] },
    ],
  ])('reads arguments that are text of JSON: %s', async (_, tool, given, sent) => {
    const caller = answering({ body: { id: '00000000-0000-4000-8000-00000000000a' } })
    const { ask } = await connectAgent(here.home, ['--max-credits', '50'], { caller })
    await ask(tool, given)
    expect(caller.asked.at(0)?.input).toMatchObject(sent)
  })

  it.for(['auto', 'legacy'] as const)(
    'reads arguments that are one text of JSON, in the %s protocol',
    async (mode) => {
      write('list.csv', companies(3))
      const caller = answering({ body: { id: '00000000-0000-4000-8000-00000000000a' } })
      const { client } = await connectAgent(here.home, ['--max-credits', '50'], { mode, caller })
      const ask = async (name: string, given: unknown) =>
        (await client.callTool({ name, arguments: given as Record<string, unknown> })) as unknown as Answer
      await ask('lists_list', '{"page":"2","per_page":3}')
      await ask('accounts_enrich', ' {"domain":"acme-robotics.example"} ')
      for (const none of ['', '{}', null]) await ask('lists_list', none)
      expect(caller.asked.map(({ input }) => input)).toMatchObject([
        { page: 2, per_page: 3 },
        { domain: 'acme-robotics.example' },
        {},
        {},
        {},
      ])
      const quote =
        '{"operation":"accounts_hiring","file":"list.csv","map":{"company_domain":"domain"},"rows":"2"}'
      expect((await ask('quote_file', quote)).structuredContent).toMatchObject({ rows: 2 })
      const asked = caller.asked.length
      for (const wrong of ['domain acme-robotics.example', '[]', '{"domain"'])
        await expect(ask('accounts_enrich', wrong)).rejects.toThrow('Invalid tools/call request')
      expect(caller.asked).toHaveLength(asked)
    },
  )

  it('takes the names of lists, and says in the name of the field which one there is not', async () => {
    await here.json('lists create --name Targets --companies name=Acme')
    const { call, refused } = await connectAgent(here.home)
    expect(
      await call('leads_advanced_search_preview', { included_account_lists: ['targets'] }),
    ).toMatchObject({
      preview: expect.any(Array),
    })
    expect(await call('lists_get', { id: 'targets' })).toMatchObject({ name: 'Targets' })
    expect(
      await refused('leads_advanced_search_preview', { included_account_lists: ['Target'] }),
    ).toMatchObject({
      error: 'included_account_lists: no list is called "Target".',
      hint: expect.stringContaining('Did you mean "Targets"?'),
    })
  })

  it('reads arguments of files that are text of JSON', async () => {
    write('list.csv', companies(3))
    const { call } = await connectAgent(here.home, ['--max-credits', '9'])
    const file = { operation: 'accounts_hiring', file: 'list.csv', map: '{"company_domain":"domain"}' }
    const quote = await call('quote_file', { ...file, rows: '2', values: '{"limit":"3"}' })
    expect(quote).toMatchObject({ rows: 2, credits: { max: 6 } })
  })

  it('takes names in the values of a file, as the tools for single requests do', async () => {
    write('list.csv', 'domain\nacme-robotics.example\n')
    const { call } = await connectAgent(here.home, ['--max-credits', '9'])
    const values = {
      functions: ['Sales'],
      seniority_levels: ['CXO'],
      included_locations: ['Germany'],
      limit: 5,
    }
    const file = { operation: 'leads_search', file: 'list.csv', map: { company_domain: 'domain' } }
    const { credits: _, ...quote } = await call('quote_file', { ...file, values })
    expect(quote).toMatchObject({ rows: 1, invalid: 0 })
  })

  it('says where the values of a row came from and what they cost, by the id of its run', async () => {
    const { call, refused } = await connectAgent(here.home, ['--max-credits', '5'])
    write('two.csv', 'domain\nacme-robotics.example\nnobody-knows.example\n')
    const given = { operation: 'accounts_enrich', file: 'two.csv', output: 'two-out.csv', wait: 60 }
    const { id } = await call('run_file', given)
    expect(await call('run_status', { run: id, row: 1, column: 'domain' })).toMatchObject({
      status: 'found',
      credits: 1,
      values: { domain: 'acme-robotics.example' },
    })
    expect(await call('run_status', { run: id, row: 2 })).toMatchObject({
      status: 'not_found',
      credits: 0,
      why_empty: expect.any(String),
    })
    expect(await refused('run_status', { run: id, row: 3 })).toMatchObject({
      error: 'row 3: the run has 2 rows.',
    })
    expect(await refused('run_status', { run: id, column: 'name' })).toMatchObject({ code: 'usage' })
    const names = ['acme-robotics', 'atelier-lumiere', 'birchwood', 'blahav', 'brightwater']
    write('five.csv', `domain\n${names.map((name) => `${name}.example\n`).join('')}`)
    const sample = { ...given, file: 'five.csv', output: 'sample.csv', sample: 2 }
    const { id: sampled } = await call('run_file', sample)
    const [, , second] = here.read('sample.csv').split('\n')
    const shown = { values: { domain: second?.split(',')[0] } }
    expect(await call('run_status', { run: sampled, row: 2, column: 'domain' })).toMatchObject(shown)
  })

  it('lists a dozen tools that fit into 24,000 characters, the most needed first, and others on request', async () => {
    const toolsOf = async (...argv: string[]) => {
      const { client } = await connectAgent(here.home, argv, { usual: true })
      return (await client.listTools()).tools
    }
    const usual = await toolsOf()
    const names = usual.map(({ name }) => name)
    expect(names).toEqual([
      ...'accounts_search leads_advanced_search accounts_enrich contacts_enrich_sync quote_file run_file'.split(
        ' ',
      ),
      ...'run_status match_file suppress_check ledger credits_show flow_run'.split(' '),
    ])
    expect(JSON.stringify(usual).length).toBeLessThan(24_000)
    expect(usual.filter(({ description }) => description?.trim() !== description)).toEqual([])
    // A tool that is not listed is not named either.
    const others = (await toolsOf('--areas', 'all'))
      .map(({ name }) => name)
      .filter((name) => !names.includes(name))
    const named =
      usual
        .map(({ description }) => description)
        .join(' ')
        .match(/\w+_\w+/g) ?? []
    expect(named.filter((name) => others.includes(name))).toEqual([])
    const people = usual.find(({ name }) => name === 'leads_advanced_search')?.inputSchema.properties
    expect(people?.functions).toMatchObject({
      items: { type: 'string' },
      description: expect.stringMatching(/by id or name: .*Sales/),
    })
    expect(people?.seniority_levels).toMatchObject({ description: expect.stringContaining('CXO') })
    const namesOf = async (...argv: string[]) => (await toolsOf(...argv)).map(({ name }) => name)
    expect(await namesOf('--tools', 'leads_enrich,ledger')).toEqual([...names, 'leads_enrich'])
    expect(await namesOf('--areas', 'credits,files')).toEqual([
      ...names,
      ...'credits_consumption resume_run stop_run'.split(' '),
    ])
    expect((await namesOf('--areas', 'all')).length).toBeGreaterThan(50)
    for (const [flag, name, meant] of [
      ['--tools', 'account_enrich', 'accounts_enrich'],
      ['--areas', 'acounts', 'accounts'],
    ])
      expect(await here.run(`mcp ${flag} ${name}`)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(`Did you mean ${meant}?`),
      })
  })

  it('refuses a field that a tool does not have, and spends nothing', async () => {
    const { client, refused } = await connectAgent(here.home, ['--max-credits', '9'])
    expect(
      await refused('accounts_enrich', { domain: 'acme-robotics.example', file: 'a.csv' }),
    ).toMatchObject({
      code: 'usage',
      error: 'There is no field file here.',
    })
    expect(await refused('accounts_search', { included_industry: ['Retail'] })).toMatchObject({
      hint: 'Did you mean included_industries?',
    })
    expect(await spent()).toBe(0)
    const { tools } = await client.listTools()
    expect(tools.filter(({ inputSchema }) => inputSchema.additionalProperties !== false)).toEqual([])
  })

  it('says of rows of companies in which nobody is named where their people come from', async () => {
    write('list.csv', 'Company,Website\nAcme,acme-robotics.example\nNowhere,nowhere.example\n')
    const { call, refused } = await connectAgent(here.home, ['--max-credits', '20'], { usual: true })
    const found = {
      operation: 'leads_search',
      file: 'list.csv',
      values: { limit: 1, seniority_levels: ['Director'] },
      wait: 60,
    }
    await call('run_file', { ...found, output: 'people.csv' })
    await call('accounts_search', { included_industries: ['Automotive'], limit: 2, output: 'companies.csv' })
    const emails = { operation: 'contacts_enrich', values: { enrichment_type: ['email'] } }
    expect(await call('quote_file', { ...emails, file: 'people.csv' })).toMatchObject({
      lookups: 1,
      invalid_reasons: [
        {
          reason: expect.stringMatching(/^The search that wrote this row found no person for it, /),
          rows: 1,
        },
      ],
    })
    await call('run_file', { ...found, output: 'found.csv', only: ['found'] })
    expect(await call('quote_file', { ...emails, file: 'found.csv' })).toMatchObject({ rows: 1, invalid: 0 })
    const companies = await call<{ invalid_reasons: { reason: string }[] }>('quote_file', {
      ...emails,
      file: 'companies.csv',
    })
    for (const { reason } of companies.invalid_reasons)
      expect(reason).toMatch(/; the rows are companies, and leads search finds their people$/)
    expect(companies.invalid_reasons.length).toBeGreaterThan(0)
    expect(await refused('quote_file', { ...emails, file: 'list.csv' })).toMatchObject({
      error: expect.stringContaining('No column is recognised as network_url'),
      hint: 'Where the rows are companies, leads search finds their people first.',
    })
  })

  it('calls an address a guess that is one, and no other', async () => {
    write(
      'list.csv',
      'first_name,last_name,domain\nNina,Nobody,acme-robotics.example\nBastien,Cousin,cafe-meridien.example\n',
    )
    const { call, refused } = await connectAgent(here.home, ['--max-credits', '20'], { usual: true })
    const asked = { enrichment_type: ['email'], domain: 'acme-robotics.example' }
    const guessed = {
      email: 'nina.nobody@acme-robotics.example',
      email_status: 'risky',
      email_source: 'pattern',
    }
    expect(
      await call('contacts_enrich_sync', { ...asked, firstname: 'Nina', lastname: 'Nobody' }),
    ).toMatchObject(guessed)
    const file = { operation: 'contacts_enrich', file: 'list.csv', values: { enrichment_type: ['email'] } }
    const { id } = await call('run_file', { ...file, output: 'out.csv', wait: 60 })
    expect(await call('run_status', { run: id, row: 1 })).toMatchObject({ values: guessed })
    expect(await call('run_status', { run: id, row: 2 })).toMatchObject({ values: { email_status: 'valid' } })
    expect((await call<{ values: object }>('run_status', { run: id, row: 2 })).values).not.toHaveProperty(
      'email_source',
    )
    // Who asks for the address alone is told that, too.
    expect(
      (await call<{ values: object }>('run_status', { run: id, row: 1, column: 'email' })).values,
    ).toEqual(guessed)
    // No file has what replies say once more.
    expect(await refused('run_status', { run: id, row: 1, column: 'phones' })).toMatchObject({
      error: expect.stringContaining('contacts.enrich_sync has no such result'),
    })
    const { stdout } = await here.run('explain out.csv --row 1 --format table')
    expect(stdout).toContain('email_source: pattern (a guess: how the addresses of colleagues are written)\n')
  })

  it('names the nearest industries, takes a part of a name of one, and places of several words', async () => {
    const { client, call, refused } = await connectAgent(here.home, [], { usual: true })
    const { tools } = await client.listTools()
    for (const { name, inputSchema } of tools.filter((tool) => /search$/.test(tool.name)))
      expect([name, JSON.stringify(inputSchema)]).toEqual([
        name,
        expect.stringContaining('Industries, by id, name or a part that only one name has'),
      ])
    const search = (given: object) => call('leads_advanced_search', { limit: 1, ...given })
    expect(await refused('accounts_search', { included_industries: ['Softwar Developmnt'] })).toMatchObject({
      error:
        'included_industries: no industry is called "Softwar Developmnt". Nearest: "Software Development".',
      hint: '',
    })
    expect(await refused('accounts_search', { included_industries: ['Xq'] })).toMatchObject({
      error: expect.stringContaining('There are, among others: "'),
    })
    const several = await refused('accounts_search', { included_industries: ['Manufacturing'] })
    expect(several.error).toMatch(
      /no industry is called "Manufacturing"\. It is part of several, among them: ".+ manufacturing", ".+ manufacturing"\.$/,
    )
    const found = await search({ included_industries: ['Development'] })
    expect(await refused('run_status', { run: found.id, row: 1 })).toMatchObject({
      error: `${found.id} is a search, and rows are those of runs.`,
    })
    expect(await search({ included_industries: ['Development'] })).toMatchObject({
      records: [{ company: { industry: 'Software Development' } }],
    })
    expect(await search({ included_locations: ['United Kingdom'] })).toMatchObject({ status: 'finished' })
    // No tool that is listed finds places.
    expect(await refused('accounts_search', { included_locations: ['Xanadupolis'] })).toMatchObject({
      hint: 'For a person at a shell: Find its name or id with: prospect locations find NAME',
    })
    const all = await connectAgent(here.home)
    expect(await all.refused('accounts_search', { included_locations: ['Xanadupolis'] })).toMatchObject({
      hint: 'Find its name or id with: locations_find NAME',
    })
  })

  it('says what it may still spend, and in its own words how a run goes on that its budget ended', async () => {
    write('list.csv', 'domain\nacme-robotics.example\ncafe-meridien.example\ncedarpoint.example\n')
    const { call, refused } = await connectAgent(here.home, ['--max-credits', '5'], { usual: true })
    const file = { operation: 'accounts_enrich', file: 'list.csv' }
    const budget = { limit: 5, spent: 0, reserved: 0, left: 5 }
    expect(await call('credits_show')).toMatchObject({ credits: { enrichment: 1_000 }, budget })
    expect(await call('quote_file', file)).toMatchObject({ credits: { max: 3 }, server_budget: budget })
    expect(await call('quote_file', { ...file, max_credits: 2 })).toMatchObject({ rows_affordable: 2 })
    const run = { ...file, output: 'out.csv', wait: 60 }
    const ended = await call<{ problem: { hint: string } }>('run_file', { ...run, max_credits: 2 })
    expect(ended).toMatchObject({
      status: 'stopped',
      counts: {
        rows: 3,
        output: here.path('out.csv'),
        partial: null,
        without_result: [{ status: 'skipped', reason: 'Not looked up yet', rows: 1, first_rows: [3] }],
      },
    })
    expect(ended.problem.hint).toBe(
      `${here.path('out.csv')} has what there is so far; without_result names the rows that are not looked up yet. ` +
        'Call run_file again, without fresh, with a higher max_credits to go on.',
    )
    expect(here.read('out.csv').trim().split('\n')).toHaveLength(4)
    expect(await call('quote_file', file)).toMatchObject({
      credits: { max: 1 },
      spent_before: 2,
      next: 'Its run has spent 2, which max_credits counts, too: 3 suffices for all rows.',
    })
    // Nothing stays set aside for a call that was refused.
    await refused('run_file', { ...run, operation: 'leads_search', values: { included_industries: ['Xq'] } })
    await refused('run_file', { ...run, operation: 'contacts_enrich', values: { enrichment_type: ['fax'] } })
    expect(await call('credits_show')).toMatchObject({ budget: { spent: 2, reserved: 0, left: 3 } })
    expect(await call('run_file', { ...run, max_credits: 3 })).toMatchObject({
      status: 'finished',
      credits: 3,
    })
    expect(await call('quote_file', file)).toMatchObject({ credits: { max: 0 }, spent_before: 3 })
  })

  it('quotes how far what is left of its own budget goes, and which budget is less than a row can cost', async () => {
    await writeFound(6)
    const { call } = await connectAgent(here.home, ['--max-credits', '4'], { usual: true })
    const file = { operation: 'accounts_enrich', file: 'list.csv' }
    expect(await call('quote_file', file)).toMatchObject({
      credits: { max: 6 },
      rows_affordable: 4,
      next: 'At the highest price, what may be spent suffices for the first 4 of 6 rows.',
      problem: {
        code: 'budget',
        error: 'Budget reached: this can cost 6 credits, and this server may spend 4 more.',
        hint: 'A person can allow it: prospect mcp --max-credits N, in the configuration of this server.',
      },
    })
    expect(await call('quote_file', { ...file, max_credits: 4 })).not.toHaveProperty('problem')
    write('people.csv', 'network_url\nhttps://www.network.example/in/lenya-hertel-0000\n')
    const phones = {
      operation: 'contacts_enrich',
      file: 'people.csv',
      values: { enrichment_type: ['phone'] },
    }
    expect(await call('quote_file', { ...phones, max_credits: 24 })).toMatchObject({
      credits: { min: 0, expected: 0, max: 0 },
      rows_affordable: 0,
      least_needed: 30,
      next: 'What may be spent, 24, is less than one row can cost, 30: nothing is looked up.',
    })
  })

  /** Writes a file of companies that are all found. */
  async function writeFound(count: number) {
    const { preview } = await here.json<{ preview: { network_url: string }[] }>(
      'accounts search --preview --keyword software',
    )
    const urls = preview.slice(0, count).map(({ network_url }) => network_url)
    write('list.csv', `network_url\n${urls.join('\n')}\n`)
  }

  it('says that its own budget ended a run that was given none, and what is asked for beyond it', async () => {
    await writeFound(6)
    const { call, refused } = await connectAgent(here.home, ['--max-credits', '4'], { usual: true })
    const file = { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv', wait: 60 }
    const { id, problem } = await call<{ id: string; problem: object }>('run_file', file)
    expect(problem).toMatchObject({
      error: expect.stringMatching(/^Budget reached: 4 credits for this server/),
      hint: expect.stringContaining('A person can allow more: prospect mcp --max-credits N'),
    })
    const all = await connectAgent(here.home, ['--max-credits', '1'])
    expect(await all.call('resume_run', { run: id, max_credits: 60, wait: 60 })).toMatchObject({
      credits: 5,
      problem: {
        error: expect.stringMatching(/^Budget reached: 1 credit for this server/),
        hint: expect.stringContaining('A person can allow more: prospect mcp --max-credits N'),
      },
    })
    expect(await all.refused('resume_run', { run: id, max_credits: 60 })).toMatchObject({
      error: 'Budget reached: max_credits is 60, and this server has none of its 1 left.',
    })
    expect(await spent()).toBe(5)
    expect(await refused('run_file', { ...file, max_credits: 60 })).toMatchObject({
      error: 'Budget reached: max_credits is 60, and this server has none of its 4 left.',
    })
  })

  it('says what is held for a run that is under way, and to wait for its end', async () => {
    await writeFound(3)
    await here.json('engine faults add all --delay 1s')
    const file = { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv' }
    const { call, refused } = await connectAgent(here.home, ['--max-credits', '4'])
    const { id } = await call<{ id: string }>('run_file', file)
    expect(await refused('accounts_enrich', { domain: 'acme-robotics.example' })).toMatchObject({
      error:
        'Budget reached: this can cost 1 credit, and this server has none of its 4 left: 4 are held for what is under way.',
      hint: 'Wait until that has ended: what it has not spent is left then.',
    })
    expect(await call('run_status', { run: id, wait: 60 })).toMatchObject({ status: 'finished', credits: 3 })
    expect(await call('credits_show')).toMatchObject({ budget: { spent: 3, reserved: 0, left: 1 } })
  })

  it('goes on with a run that a budget ended, with what this server has left or a later one may spend', async () => {
    await writeFound(6)
    const file = { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv', wait: 60 }
    const { call, refused } = await connectAgent(here.home, ['--max-credits', '4'], { usual: true })
    expect(await call('run_file', { ...file, max_credits: 2 })).toMatchObject({
      status: 'stopped',
      credits: 2,
    })
    // Of the run in all: it has spent 2 of the 3.
    expect(await call('run_file', { ...file, max_credits: 3 })).toMatchObject({
      status: 'stopped',
      credits: 3,
    })
    const ended = await call<{ id: string; problem: { hint: string } }>('run_file', {
      ...file,
      max_credits: 50,
    })
    expect(ended).toMatchObject({
      status: 'stopped',
      credits: 4,
      problem: { error: expect.stringMatching(/^Budget reached: 4 credits for this server/) },
    })
    expect(ended.problem.hint).toMatch(
      /^\S+out\.csv has what there is so far; .* A person can allow more: prospect mcp --max-credits N, in the configuration of this server\.$/,
    )
    expect(here.read('out.csv').trim().split('\n')).toHaveLength(7)
    expect(await spent()).toBe(4)
    expect(await refused('run_file', file)).toMatchObject({ code: 'budget' })
    expect(await refused('run_file', { ...file, max_credits: 6 })).toMatchObject({ code: 'budget' })
    // What there is can be written with nothing left.
    const written = await call('run_file', { ...file, rows: 4 })
    expect(written).not.toHaveProperty('problem')
    expect(here.read('out.csv').trim().split('\n')).toHaveLength(5)
    expect(await call('credits_show')).toMatchObject({ budget: { spent: 4, reserved: 0, left: 0 } })
    const next = await connectAgent(here.home, ['--max-credits', '3'], { usual: true })
    expect(await next.call('run_status', { run: ended.id })).toMatchObject({
      status: 'stopped',
      next: expect.stringMatching(/^The first 4 rows of 6 are done, as asked\. run_file without rows, /),
    })
    expect(await next.call('run_file', file)).toMatchObject({ status: 'finished', credits: 6 })
    expect(await next.call('credits_show')).toMatchObject({ budget: { spent: 2, left: 1 } })
    expect(await spent()).toBe(6)
  })

  it('pays nothing for one that a file has paid for, nor a file for it, also with options as they are anyway', async () => {
    write('list.csv', 'domain\nacme-robotics.example\n')
    const { call } = await connectAgent(here.home, ['--max-credits', '60'])
    const file = { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv', wait: 60 }
    await call('run_file', file)
    const reused = { _source: 'reused', _credits: 0 }
    expect(await call('accounts_enrich', { domain: 'acme-robotics.example' })).toMatchObject(reused)
    expect(await call('accounts_enrich', { domain: 'acme-robotics.example', live: true })).toMatchObject(
      reused,
    )
    expect(await spent()).toBe(1)
    // A snapshot is another answer.
    expect(
      await call('accounts_enrich', { domain: 'acme-robotics.example', live: false }),
    ).not.toHaveProperty('_source')
    const url = 'https://www.network.example/in/lenya-hertel-0000'
    await call('contacts_enrich_sync', {
      network_url: url,
      enrichment_type: ['email', 'phone'],
      phone_type: 'all',
    })
    const before = await spent()
    write('people.csv', `network_url\n${url}\n`)
    const people = { ...file, operation: 'contacts_enrich', file: 'people.csv', output: 'people-out.csv' }
    expect(
      await call('run_file', { ...people, values: { enrichment_type: ['phone', 'email'] } }),
    ).toMatchObject({ status: 'finished', credits: 0 })
    expect(await spent()).toBe(before)
  })

  it('says of a text that it is no table, and names no options that its tools do not have', async () => {
    const { refused } = await connectAgent(here.home, [], { usual: true })
    write(
      'letter.txt',
      'Dear Ann,\n\nplease look up the firms that we met at the fair.\nThanks, and see you, on Monday.\n',
    )
    write('notes.txt', '# Fair\n\nAcme was there\n- call Acme\n- mail Cedar\n')
    const says =
      'The file reads like text, not like a table. It needs a row for each company, below a line with the names of the columns, among them at least one of company_network_url, domain, name.'
    for (const file of ['letter.txt', 'notes.txt'])
      expect(await refused('quote_file', { operation: 'accounts_enrich', file })).toMatchObject({
        error: says,
        hint: '',
      })
    write('one.csv', 'Acme Inc.\nBolt GmbH\n')
    expect(await refused('quote_file', { operation: 'accounts_enrich', file: 'one.csv' })).toMatchObject({
      error:
        'No column is recognised as company_network_url, domain, name. The file has: "Acme Inc.". If it names the columns, choose one, for example: map: {"name": "Acme Inc."}',
    })
  })

  it('says that the first rows are done where they are asked for again, and how a run goes on with the others', async () => {
    await writeFound(3)
    const { call } = await connectAgent(here.home, ['--max-credits', '9'])
    const quote = { operation: 'accounts_enrich', file: 'list.csv' }
    const first = { ...quote, rows: 1, output: 'out.csv', wait: 60 }
    const next =
      'The first row of 3 is done, as asked. run_file without rows, or with more of them, goes on with the others, and pays for none twice.'
    const { id } = await call<{ id: string }>('run_file', first)
    expect(await call('run_file', first)).toMatchObject({ id, status: 'stopped', credits: 1, next })
    expect(await call('quote_file', { ...quote, rows: 1 })).toMatchObject({
      lookups: 0,
      next: 'The first row is done already. Leave rows out, or give more, for those after.',
    })
    const later = await connectAgent(here.home, ['--max-credits', '9'])
    expect(await later.call('run_status', { run: id })).toMatchObject({ status: 'stopped', next })
    expect(await later.call('resume_run', { run: id, wait: 60 })).toMatchObject({ credits: 1, next })
    const resumed = await later.call('resume_run', { run: id, rows: 2, wait: 60 })
    expect(resumed).toMatchObject({ status: 'stopped', credits: 2, rows_asked: 2 })
    expect(resumed.next).toMatch(/^The first 2 rows of 3 are done/)
    expect(await call('run_file', { ...first, rows: undefined })).toMatchObject({
      status: 'finished',
      credits: 3,
    })
    const again = await call('run_file', first)
    expect(again).toMatchObject({ status: 'finished', credits: 3 })
    expect(again).not.toHaveProperty('next')
  })

  it('goes on with a flow that a budget ended, with what this server has left', async () => {
    await writeFound(5)
    write(
      'paid.yaml',
      'name: paid\ninput: { csv: list.csv }\nsteps: [accounts.enrich]\noutput: { csv: paid.csv }\n',
    )
    const { call } = await connectAgent(here.home, ['--max-credits', '4'], { usual: true })
    const flow = { file: 'paid.yaml', wait: 60 }
    expect(await call('flow_run', { ...flow, max_credits: 2 })).toMatchObject({
      status: 'stopped',
      credits: 2,
    })
    expect(await call('flow_run', flow)).toMatchObject({ status: 'stopped', credits: 4 })
    expect(await spent()).toBe(4)
    const next = await connectAgent(here.home, ['--max-credits', '2'], { usual: true })
    expect(await next.call('flow_run', flow)).toMatchObject({ status: 'finished', credits: 5 })
    expect(await next.call('credits_show')).toMatchObject({ budget: { spent: 1, left: 1 } })
    expect(await spent()).toBe(5)
  })

  it('keeps a file at the place of the output until a run is finished', async () => {
    await writeFound(3)
    write('out.csv', 'mine\n')
    const run = { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv', wait: 60 }
    const { call } = await connectAgent(here.home, ['--max-credits', '9'], { usual: true })
    const { problem } = await call<{ problem: { hint: string } }>('run_file', { ...run, max_credits: 1 })
    expect(here.read('out.csv')).toBe('mine\n')
    expect(problem.hint).toContain('The rows answered so far are in')
    expect(await call('run_file', run)).toMatchObject({ status: 'finished', credits: 3 })
    expect(here.read('out.csv').trim().split('\n')).toHaveLength(4)
  })

  it('writes the people of a search to a file, and looks up only those without an address', async () => {
    const { call, refused } = await connectAgent(here.home, ['--max-credits', '60'], { usual: true })
    const search = { functions: ['Sales'], company_headquarters: ['Germany'], limit: 12 }
    await refused('leads_advanced_search', { ...search, output: '../people.csv' })
    const found = await call<{ records: { lead: object }[]; total: number }>('leads_advanced_search', {
      ...search,
      output: 'people.csv',
    })
    expect(found).toMatchObject({ status: 'finished', total: 12, output: here.path('people.csv') })
    expect(found.records).toHaveLength(3)
    const rows = here.read('people.csv').trim().split('\n')
    expect(rows).toHaveLength(13)
    const known = await call<{ records: { lead: { most_probable_email: string | null } }[] }>(
      'leads_advanced_search',
      search,
    )
    const without = known.records.filter(({ lead }) => lead.most_probable_email === null).length
    expect(without).toBeGreaterThan(0)
    const file = {
      operation: 'contacts_enrich',
      file: 'people.csv',
      values: { enrichment_type: ['email'] },
      only_missing: 'email=lead.most_probable_email',
    }
    expect(await call('quote_file', file)).toMatchObject({ lookups: without, skipped: 12 - without })
    const { only_missing: _, ...all } = file
    expect(await call('quote_file', { ...all, skip_known: ['people.csv'] })).toMatchObject({
      lookups: 0,
      known: 12,
    })
    const quote = await call('quote_file', { ...file, max_credits: 2 })
    expect(quote.next).toBe('What may be spent, 2, is less than one row can cost, 3: nothing is looked up.')
    const run = await call<{ id: string; lookups: { total: number } }>('run_file', {
      ...file,
      output: 'out.csv',
      wait: 60,
    })
    expect(run).toMatchObject({
      status: 'finished',
      lookups: { total: without, valid_emails: expect.any(Number) },
    })
    const { counts } = await call<{ counts: { without_result: unknown[] } }>('run_status', { run: run.id })
    expect(counts.without_result).toContainEqual(
      expect.objectContaining({ reason: 'It has a value already', rows: 12 - without }),
    )
  })

  it('says which filters of a search leave nothing', async () => {
    const { call } = await connectAgent(here.home, [], { usual: true })
    const nothing = await call('accounts_search', {
      included_locations: ['Germany'],
      company_size: ['201-500'],
      keyword: 'acme AND atelier',
      limit: 5,
    })
    expect(nothing).toMatchObject({ total: 0, matches_without: { keyword: expect.any(Number) } })
    expect(Object.keys(nothing.matches_without as object)).toEqual(['keyword'])
    const never = { included_locations: ['Germany'], keyword: 'acme AND atelier', company_size: ['10001+'] }
    expect((await call('accounts_search', { ...never, limit: 5 })).next).toMatch(/^Nothing matches/)
    expect(await call('accounts_search', { keyword: 'nosuchword', limit: 5 })).toEqual({
      status: 'finished',
      id: expect.any(String),
      records: [],
      total: 0,
      pages: 0,
    })
  })

  it('sums what was spent, with the files of the runs', async () => {
    write('two.csv', 'domain\nacme-robotics.example\natelier-lumiere.example\n')
    const { call } = await connectAgent(here.home, ['--max-credits', '9'], { usual: true })
    await call('accounts_enrich', { domain: 'birchwood.example' })
    await call('run_file', { operation: 'accounts_enrich', file: 'two.csv', output: 'out.csv', wait: 60 })
    const spent = await call('ledger', { by: ['operation', 'run'], since: 'today' })
    expect(spent).toMatchObject({ total: { calls: 3, credits: 3 } })
    expect(spent.items).toContainEqual(
      expect.objectContaining({ credits: 2, file: here.path('two.csv'), output: here.path('out.csv') }),
    )
    expect(spent.items).toContainEqual(expect.objectContaining({ run: null, credits: 1 }))
    expect(await call('ledger', { since: '2020-01-01', until: '2020-01-01' })).toEqual({
      items: [],
      total: { calls: 0, credits: 0 },
    })
  })

  it('says why a row of a flow was not looked up, by the id of the flow', async () => {
    write('list.csv', 'name,domain,country\n,acme-robotics.example,\n,,DE\n')
    write(
      'flow.yaml',
      'name: few\ninput: { csv: list.csv }\nsteps:\n  - accounts.enrich\noutput: { csv: f.csv }\n',
    )
    const { call } = await connectAgent(here.home, ['--max-credits', '9'], { usual: true })
    const { id } = await call('flow_run', { file: 'flow.yaml', wait: 60 })
    expect(await call('run_status', { run: id, row: 1 })).toMatchObject({
      steps: [{ status: 'found', credits: 1, why_empty: null }],
    })
    expect(await call('run_status', { run: id, row: 2 })).toMatchObject({
      credits: 0,
      steps: [{ status: 'invalid', why_empty: expect.stringContaining('domain') }],
    })
  })

  it('says what each call has cost beside what its run has cost in all', async () => {
    await writeFound(3)
    const { call } = await connectAgent(here.home, ['--max-credits', '9'])
    const run = { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv', wait: 60 }
    const costs = { credits: 2, credits_now: 2 }
    const { id } = await call<{ id: string }>('run_file', { ...run, rows: 2 })
    expect(await call('run_status', { run: id })).toMatchObject(costs)
    expect(await call('resume_run', { run: id, rows: 3, wait: 60 })).toMatchObject({
      status: 'finished',
      credits: 3,
      credits_now: 1,
    })
    expect(await call('run_file', run)).toMatchObject({ id, credits: 3, credits_now: 0 })
    // Nobody has asked for it here.
    const later = await connectAgent(here.home)
    expect(await later.call('run_status', { run: id })).not.toHaveProperty('credits_now')
  })

  it('says in one field of every paid answer what the call has cost, also of one that is reused', async () => {
    const { call } = await connectAgent(here.home, ['--max-credits', '30'])
    const company = { domain: 'acme-robotics.example' }
    expect(await call('accounts_enrich', company)).toMatchObject({ _credits: 1 })
    expect(await call('accounts_enrich', company)).toMatchObject({ _credits: 0, _source: 'reused' })
    const person = {
      network_url: 'https://www.network.example/in/lenya-hertel-0000',
      enrichment_type: ['email'],
    }
    expect(await call('contacts_enrich_sync', person)).toMatchObject({ credits_used: 3, _credits: 3 })
    expect(await call('contacts_enrich_sync', person)).toMatchObject({ credits_used: 3, _credits: 0 })
    expect(await call('intents_stack', { stacks: ['react'], limit: 1 })).toMatchObject({ _credits: 3 })
    expect(await spent()).toBe(7)
    expect(await call('credits_show')).not.toHaveProperty('_credits')
  })

  it('answers a lookup that finds nothing as no failure, and with nothing for a shell', async () => {
    const { ask, call, refused } = await connectAgent(here.home, ['--max-credits', '30'])
    const hint =
      'Answers come from practice data on this machine (500 sample companies). All of it is invented.'
    expect(await call('accounts_enrich', { domain: 'nobody.example' })).toEqual({
      found: false,
      reason: 'No company found',
      hint,
      _credits: 0,
    })
    const nobody = { firstname: 'No', lastname: 'Body', domain: 'nobody.example', enrichment_type: ['email'] }
    expect(await call('contacts_enrich_sync', nobody)).toEqual({
      found: false,
      reason: 'Nothing was found.',
      hint,
      _credits: 0,
    })
    expect(await call('contacts_enrich', nobody)).toMatchObject({ status: 'finished', found: false })
    const { content } = await ask('accounts_search', { keyword: 'nosuchword', limit: 1 })
    const texts = content.slice(1).map(({ text }) => text)
    expect(texts).toEqual([hint, 'Found 0 companies.'])
    expect(await refused('accounts_enrich', {})).toMatchObject({ code: 'bad_request' })
  })

  it('writes a column of a file as the field of the tool takes it', async () => {
    write('list.csv', 'Name,Company,Domain\nRobots,Acme,acme-robotics.example\n')
    write('people.csv', 'network_url,lead.most_probable_email\nhttps://www.network.example/in/ann-b,\n')
    const { call, refused } = await connectAgent(here.home)
    type Mapped = { mapping: { notes: string[]; columns: { column: string }[] } }
    const quote = { operation: 'accounts_enrich', file: 'list.csv' }
    const { mapping } = await call<Mapped>('quote_file', quote)
    const [note = ''] = mapping.notes
    expect(note).toMatch(/ To change that: map: \{"name": "[^"]+"\}$/)
    const [, given = ''] = /map: (\{.*\})$/.exec(note) ?? []
    const changed = await call<Mapped>('quote_file', { ...quote, map: JSON.parse(given) })
    expect(changed.mapping.columns).toContainEqual(
      expect.objectContaining({ field: 'name', column: JSON.parse(given).name, by: 'pin' }),
    )
    expect(await call<Mapped>('quote_file', { ...quote, map: { domain: '' } })).toMatchObject({
      mapping: { notes: ['No column fills domain, as map: {"domain": ""} says.', note] },
    })
    const people = {
      operation: 'contacts_enrich',
      file: 'people.csv',
      values: { enrichment_type: ['email'] },
    }
    const { error } = await refused('quote_file', { ...people, only_missing: 'email' })
    expect(error).toMatch(/ for example: only_missing: "email=lead\.most_probable_email"$/)
    for (const only_missing of ['email=lead.most_probable_email', 'email="lead.most_probable_email"'])
      expect(await call('quote_file', { ...people, only_missing })).toMatchObject({ lookups: 1 })
  })

  it('says why a quote has no lookups, and that rows that are left out are counted by rows', async () => {
    write('list.csv', 'domain,headcount\na.example,5\nb.example,6\nc.example,\n')
    const { call } = await connectAgent(here.home, ['--max-credits', '9'])
    const quote = { operation: 'accounts_enrich', file: 'list.csv', only_missing: 'headcount' }
    expect(await call('quote_file', { ...quote, rows: 2 })).toMatchObject({
      lookups: 0,
      skipped: 2,
      next: 'No row of these 2 is looked up: 2 blank, or with a value already. rows counts the first rows of the file: leave it out, or give more, for those after.',
    })
    expect(await call('quote_file', quote)).not.toHaveProperty('next')
    expect(await call('quote_file', { ...quote, file: 'list.csv', skip_known: ['list.csv'] })).toMatchObject({
      next: 'No row of these 3 is looked up: 2 blank, or with a value already, 1 known.',
    })
  })

  it('quotes which column has the results already, with the value that leaves its rows out', async () => {
    const known = 'https://www.network.example/in/ann-b,ann@b.example\nhttps://www.network.example/in/cy-d,\n'
    write('people.csv', `lead.network_profile_url,lead.most_probable_email\n${known}`)
    const { call } = await connectAgent(here.home)
    const quote = { operation: 'contacts_enrich', file: 'people.csv', values: { enrichment_type: ['email'] } }
    const { mapping } = await call<{ mapping: { notes: string[] } }>('quote_file', quote)
    const [, given = ''] = /only_missing: (".*")$/.exec(mapping.notes[0] ?? '') ?? []
    expect(mapping.notes).toHaveLength(1)
    const only_missing = JSON.parse(given)
    expect(only_missing).toBe('email=lead.most_probable_email')
    expect(await call('quote_file', { ...quote, only_missing })).toMatchObject({
      lookups: 1,
      skipped: 1,
      mapping: { notes: [] },
    })
    // A row without a number may have an address.
    for (const enrichment_type of [['phone'], ['email', 'phone']])
      expect(await call('quote_file', { ...quote, values: { enrichment_type } })).toMatchObject({
        mapping: { notes: [] },
      })
  })

  it('names in a quote the cell of a domain that is none, also where its text is taken for a name', async () => {
    write('list.csv', 'Company,Website\n???,"not a website; call us"\nAcme,see contract\nBolt,\n')
    const { call } = await connectAgent(here.home, ['--max-credits', '9'])
    const file = { operation: 'accounts_enrich', file: 'list.csv' }
    const not_understood = [{ field: 'domain', values: 2, sample: 'not a website; call us' }]
    expect(await call('quote_file', file)).toMatchObject({ lookups: 3, invalid: 0, not_understood })
  })

  it('counts in calls what its description of the ledger says', async () => {
    write('list.csv', 'domain\nacme-robotics.example\nnobody.example\n')
    const { client, call } = await connectAgent(here.home, ['--max-credits', '9'], { usual: true })
    for (const domain of ['nobody-else.example', 'birchwood.example'])
      await call('accounts_enrich', { domain })
    await call('run_file', { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv', wait: 60 })
    const { items } = await call<{ items: unknown[] }>('ledger', { by: ['run'] })
    expect(items).toContainEqual(expect.objectContaining({ run: null, calls: 1, credits: 1 }))
    expect(items).toContainEqual(
      expect.objectContaining({ file: here.path('list.csv'), calls: 2, credits: 1 }),
    )
    const { tools } = await client.listTools()
    expect(tools.find(({ name }) => name === 'ledger')?.description).toContain(
      'calls counts the lookups that a run has asked for, also those that cost nothing, and single ones that cost credits.',
    )
  })

  it('says how job titles are matched, which abbreviations are not', async () => {
    const { client, call } = await connectAgent(here.home, [], { usual: true })
    const search = (title: string) => call('leads_advanced_search', { job_titles: [title], limit: 1 })
    expect(await search('Chief Technology Officer')).toMatchObject({ total: 1 })
    expect(await search('CTO')).toMatchObject({ total: 0 })
    const { tools } = await client.listTools()
    const people = tools.find(({ name }) => name === 'leads_advanced_search')?.inputSchema.properties
    expect(people?.job_titles).toMatchObject({
      description: expect.stringContaining('CTO does not find a Chief Technology Officer'),
    })
  })

  it('says of records that they are practice data', async () => {
    const { ask } = await connectAgent(here.home, ['--max-credits', '1'], { usual: true })
    const note = {
      type: 'text',
      text: expect.stringMatching(/^Answers come from practice data on this machine/),
    }
    for (const [tool, given] of [
      ['accounts_enrich', { domain: 'acme-robotics.example' }],
      ['leads_advanced_search', { included_locations: ['Germany'], limit: 1 }],
    ] as const)
      expect((await ask(tool, given)).content).toContainEqual(note)
    expect((await ask('credits_show', {})).content).toHaveLength(1)
  })

  it('gives every record of a search in pages, also to a later session', async () => {
    type Found = { id: string; total: number; next?: string; records: { name: string; id: string }[] }
    const { call } = await connectAgent(here.home, [], { usual: true })
    const first = await call<Found>('accounts_search', { excluded_industries: ['Automotive'], limit: 23 })
    expect(first).toMatchObject({ status: 'finished', total: 23, pages: 3 })
    expect(first.next).toBe(
      'Call run_status with this id and page: 2 for more of them. For all in a file, give the search an output.',
    )
    const later = await connectAgent(here.home, [], { usual: true })
    expect(await later.call('run_status', { run: first.id })).toEqual(first)
    const pageOf = (page: number) => later.call<Found>('run_status', { run: first.id, page })
    const [second, third] = [await pageOf(2), await pageOf(3)]
    expect(second.next).toMatch(/page: 3 /)
    expect(third.next).toBeUndefined()
    expect(third).toMatchObject({ status: 'finished', id: first.id, total: 23, pages: 3 })
    const ids = [first, second, third].flatMap(({ records }) => records.map(({ id }) => id))
    expect([first.records.length, new Set(ids).size]).toEqual([10, 23])
    expect(await pageOf(4)).toMatchObject({ records: [], next: 'There is no page 4: it has 3 pages.' })
    // With its records in a file, too.
    const people = { included_locations: ['Germany'], limit: 29, output: 'people.csv' }
    const { id } = await call<Found>('leads_advanced_search', people)
    const shown = await later.call('run_status', { run: id })
    expect(shown).toMatchObject({ total: 29, pages: 3 })
    expect(JSON.stringify(shown).length).toBeLessThan(40_000)
    expect(await later.refused('run_status', { run: 'abcdef' })).toMatchObject({ code: 'not_found' })
    expect(await later.refused('run_status', { run: 'out.csv' })).toMatchObject({
      error: 'run: give the id that run_file, flow_run or a search has answered.',
    })
  })

  it('takes the name of an operation as runs and the ledger have it, and names only fields that a tool has', async () => {
    write('list.csv', companies(2))
    const { call, refused } = await connectAgent(here.home, ['--max-credits', '9'], { usual: true })
    expect(await call('quote_file', { operation: 'accounts.enrich', file: 'list.csv' })).toMatchObject({
      rows: 2,
    })
    expect(
      await refused('quote_file', { operation: 'leads_advanced_search', file: 'list.csv' }),
    ).toMatchObject({
      error: expect.stringContaining('it is no lookup for the rows of a file. There are: accounts_enrich, '),
    })
    const { hint } = await refused('accounts_search', { folder: 'lists' })
    expect(hint).toContain('included_industries')
    expect(hint).not.toContain('webhook_url')
  })

  it('says what is wrong with a file in the fields of its tool', async () => {
    write('list.csv', companies(2))
    write('odd.csv', 'colour\nred\n')
    const { refused } = await connectAgent(here.home, ['--max-credits', '9'])
    const quote = { operation: 'accounts_enrich', file: 'list.csv' }
    for (const given of [
      { ...quote, file: 'odd.csv' },
      { ...quote, file: 'none.csv' },
      { ...quote, map: { domain: 'Webseite' } },
      { ...quote, map: { domian: 'domain' } },
      { ...quote, sheet: 'Two' },
      { ...quote, max_age: 'soon' },
      { ...quote, values: { contry: 'DE' } },
      { ...quote, map: { domain: '' }, rows: 2, sample: 2 },
      { ...quote, skip_known: ['list:None'] },
      { ...quote, operation: 'contacts_enrich_sync' },
    ]) {
      const { error, hint } = await refused('quote_file', given)
      expect(error).not.toBe('')
      expect(`${error} ${hint.replaceAll(/[^.]*prospect [^.]*/g, '')}`).not.toMatch(/(?:^|\s)--?[a-z]/)
    }
  })

  it('says that a run has failed of which no row could be looked up, and what a flow has cost', async () => {
    write('list.csv', 'name,domain,note\n,,a\n,,b\n')
    const { call, client } = await connectAgent(here.home, ['--max-credits', '9'])
    const run = { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv', wait: 60 }
    const shown = await call('run_file', run)
    expect(shown).toMatchObject({ status: 'failed', counts: { rows: 2, invalid: 2 } })
    const read = async (uri: string) => {
      const [content] = (await client.readResource({ uri })).contents
      return JSON.parse(content && 'text' in content ? content.text : '')
    }
    expect(await read('prospect://runs')).toMatchObject([{ status: 'failed', rows: 2, invalid: 2 }])
    expect(await read(`prospect://runs/${shown.id}`)).toMatchObject({ status: 'failed' })
    write('two.csv', 'domain\nacme-robotics.example\n')
    write(
      'flow.yaml',
      'name: two\ninput: { csv: two.csv }\nsteps: [accounts.enrich]\noutput: { csv: flow.csv }\n',
    )
    await call('flow_run', { file: 'flow.yaml', wait: 60 })
    const runs = (await read('prospect://runs')) as { operation: string; credits: number }[]
    expect(runs.find((one) => one.operation === 'flow')).toMatchObject({ credits: 1 })
  })

  it('answers work that takes longer with its id, and returns what it did not cost when it has ended', async () => {
    const caller = answering(
      { status: 202, body: { id: '00000000-0000-4000-8000-00000000000a', total_count: 3 } },
      { body: { search: { status: 'running' }, companies: [] } },
    )
    const { call } = await connectAgent(here.home, ['--max-credits', '9'], { caller })
    expect(await call('intents_stack', { stacks: ['react'], limit: 3 })).toEqual({
      status: 'working',
      id: '00000000-0000-4000-8000-00000000000a',
      next: 'Call run_status with this id later.',
    })
    await expect(call('intents_stack', { stacks: ['react'], limit: 1 })).rejects.toThrow('Budget reached')
    expect(await call('run_status', { run: '00000000-0000-4000-8000-00000000000a' })).toMatchObject({
      status: 'working',
    })
  })

  it('passes on an answer of a server that differs from the documented one', async () => {
    const caller = answering({ body: { technologies: 'none' } })
    const { client, call } = await connectAgent(here.home, [], { caller })
    await client.listTools()
    expect(await call('accounts_technologies', { query: 'react' })).toEqual({ technologies: 'none' })
  })

  it('passes on every digit of an integer that JavaScript would round', async () => {
    const caller = answering({ body: { id: 'a', network_list_id: 2n ** 64n - 1n } })
    const { client } = await connectAgent(here.home, [], { caller })
    const { content, structuredContent } = await client.callTool({
      name: 'lists_get',
      arguments: { id: 'a' },
    })
    expect(content).toEqual([{ type: 'text', text: '{"id":"a","network_list_id":18446744073709551615}' }])
    expect(structuredContent).toEqual({ id: 'a', network_list_id: 2 ** 64 })
  })

  it('quotes and runs a flow within the budget and the folder, and starts no program unasked', async () => {
    await writeFound(4)
    const flow = (name: string, output: string, step = 'accounts.enrich') => {
      const ends = `input: { csv: list.csv }\nsteps: [${step}]\noutput: { csv: ${output} }`
      write(`${name}.yaml`, `name: ${name}\n${ends}\n`)
    }
    flow('paid', 'paid.csv')
    flow('outside', '../outside.csv')
    flow('program', 'program.csv', '{ command: [touch, started], fields: [score] }')
    const { call, refused } = await connectAgent(here.home, ['--max-credits', '3'])
    expect(await call('flow_quote', { file: 'paid.yaml' })).toMatchObject({
      flow: 'paid',
      credits: { max: 4 },
      server_budget: { limit: 3, spent: 0, reserved: 0, left: 3 },
    })
    const { id, ...stopped } = await call('flow_run', { file: 'paid.yaml', max_credits: 2, wait: 60 })
    expect(stopped).toMatchObject({ status: 'stopped', credits: 2, problem: { exit_code: 12 } })
    expect(await call('run_status', { run: id })).toMatchObject({ flow: 'paid', credits: 2 })
    expect(await spent()).toBe(2)
    // What is left of the budget of this server pays for the third one; a person pays for the last.
    expect(await call('resume_run', { run: id, max_credits: 1, wait: 60 })).toMatchObject({
      status: 'stopped',
    })
    expect(await spent()).toBe(3)
    expect((await here.run('flow run paid.yaml --yes')).code).toBe(0)
    expect(await spent()).toBe(4)
    expect(await refused('flow_run', { file: 'outside.yaml' })).toMatchObject({ code: 'usage' })
    flow('mistaken', 'm.csv', '{ keep: headcout > 5 }')
    expect(await refused('flow_run', { file: 'mistaken.yaml' })).toMatchObject({
      error: expect.stringMatching(/mistaken\.yaml:3:17: step 1 \(keep\): keep: there is no field headcout/),
      hint: 'Nothing was sent.',
    })
    expect(await refused('flow_run', { file: 'program.yaml' })).toMatchObject({
      error: 'program starts programs, or sends rows to addresses or a CRM, which is not permitted here.',
      hint: expect.stringContaining('prospect mcp --allow-commands'),
    })
    expect(() => readFileSync(here.path('started'))).toThrow('ENOENT')
    const allowed = await connectAgent(here.home, ['--allow-commands'])
    await allowed.call('flow_run', { file: 'program.yaml', wait: 60 })
    expect(here.read('started')).toBe('')
  })

  it('serves over HTTP whoever has the token, and no page of a browser', async () => {
    const started = Promise.withResolvers<string>()
    const env = { PROSPECT_MCP_TOKEN: '0123456789abcdef0123' }
    const onErrorOutput = (text: string) => {
      const [, url] = /at (http\S+mcp)\./.exec(text) ?? []
      if (url) started.resolve(url)
    }
    const serving = here.run('mcp --http --port 0', { env, onErrorOutput })
    const url = await started.promise
    const authorization = `Bearer ${env.PROSPECT_MCP_TOKEN}`
    const status = async (more: Record<string, string>, path = url) => {
      const headers = { 'content-type': 'application/json', ...more }
      return (await fetch(path, { method: 'POST', body: '{}', headers })).status
    }
    expect(await status({})).toBe(401)
    expect(await status({ authorization: 'Bearer other' })).toBe(401)
    expect(await status({ authorization, origin: 'https://elsewhere.example' })).toBe(403)
    expect(await status({ authorization }, url.replace('/mcp', '/'))).toBe(404)
    for (const mode of ['auto', 'legacy'] as const) {
      const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
      const requestInit = { headers: { authorization } }
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
      const answer = await client.callTool({ name: 'credits_show', arguments: {} })
      expect(answer.structuredContent).toMatchObject({ credits: { enrichment: 1_000 } })
      await client.close()
    }
    here.signals.emit('SIGINT')
    expect((await serving).stdout).toBe('')
  })

  it('makes a token where none is given, and keeps it out of the log', async () => {
    const started = Promise.withResolvers<string>()
    const onErrorOutput = (text: string) => {
      const [, token] = /^Authorization: Bearer (\S{40,})$/m.exec(text) ?? []
      if (token) started.resolve(token)
    }
    const argv = ['mcp', '--http', '--port', '0', '--quiet', '--log', 'log.ndjson']
    const serving = here.run(argv, { columns: 40, onErrorOutput })
    const token = await started.promise
    here.signals.emit('SIGTERM')
    expect((await serving).code).toBe(0)
    expect(here.read('log.ndjson')).not.toContain(token)
  })
})
