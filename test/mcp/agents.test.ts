import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { operations } from '../../src/api/operations/table.js'
import { examples } from '../../src/reference/openapi.js'
import { type Machine, machine } from '../support/command.js'
import { tries } from '../support/effort.js'
import { connectAgent } from './agent.js'

const webhookless = ({ webhook_url: _, ...request }: Readonly<Record<string, unknown>>) => request
const toolOf = (id: string) => id.replace('.', '_')

describe('prospect mcp', () => {
  let here: Machine
  beforeEach(async () => {
    here = machine()
    await here.json('init', '--yes', '--sample')
  })
  afterEach(() => here.remove())

  const spent = async () =>
    (await here.json<{ credits: number }[]>('ledger', '--by', 'day')).reduce(
      (sum, { credits }) => sum + credits,
      0,
    )
  const write = (name: string, text: string) => writeFileSync(join(here.home, name), text)
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

  it.each(['auto', 'legacy'] as const)('answers every operation as its schema says (%s)', async (mode) => {
    await here.json('engine', 'members', 'set', 'me@localhost', '--consent-personal-email')
    const { client, call } = await connectAgent(here.home, ['--max-credits', '900'], { mode })
    expect(client.getNegotiatedProtocolVersion()).toBe(mode === 'auto' ? '2026-07-28' : '2025-11-25')
    // The client refuses what does not fit the schema of the tool.
    await client.listTools()
    const ids = new Map<string, unknown>()
    const refused: string[] = []
    const made = ['personas.create', 'lists.create', 'leads.extract', 'contacts.enrich']
    const rank = (id: string) => (made.includes(id) ? 0 : id.endsWith('.delete') ? 2 : 1)
    for (const { id } of operations().sort((one, other) => rank(one.id) - rank(other.id))) {
      const persona = ids.get('personas')
      const own = { persona_id: persona, uuid: persona, id: ids.get(id.split('.')[0] ?? '') }
      const { request } = examples[id]
      const named = Object.entries(own).filter(([name]) => name in request)
      await call<{ id?: string }>(toolOf(id), { ...webhookless(request), ...Object.fromEntries(named) }).then(
        (answer) => {
          const area = id === 'leads.extract' ? 'searches' : (id.split('.')[0] ?? '')
          if (made.includes(id)) ids.set(area, answer.id)
        },
        (error: Error) => refused.push(`${id}: ${error.message}`),
      )
    }
    expect(refused).toEqual([expect.stringContaining('intents.track_job_changes: ')])
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
    await expect(call('intents_stack', { stacks: ['react'], limit: 5 })).rejects.toThrow('Budget reached')
  })

  it('lowers the limit of an import to what the budget pays for, and returns what it did not need', async () => {
    const { call } = await connectAgent(here.home, ['--max-credits', '7'])
    expect(await call('intents_stack', { stacks: ['react'], limit: 50 })).toMatchObject({
      status: 'finished',
      total: 2,
    })
    expect(await spent()).toBe(6)
    // A lookup that finds nothing costs nothing.
    await expect(call('accounts_enrich', { domain: 'nobody.example' })).rejects.toThrow('No company found')
    await call('accounts_enrich', { domain: 'acme-robotics.example' })
    expect(await spent()).toBe(7)
  })

  it('spends nothing without a budget by any calls in any order', async () => {
    const { client } = await connectAgent(here.home)
    const { tools } = await client.listTools()
    write('list.csv', companies(3))
    const batch = { operation: 'accounts_enrich', file: 'list.csv', output: 'out.csv' }
    const values = fc.oneof(
      ...[fc.constantFrom('acme-robotics.example', 'list.csv', 'email', '-1', '--max-credits=9', '', '1e3')],
      ...[
        fc.integer({ min: -2, max: 500 }),
        fc.boolean(),
        fc.constant(null),
        fc.array(fc.constantFrom('email', 'phone')),
      ],
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
    const calls = fc.array(fc.oneof(...tools.map(callOf)), { minLength: 10, maxLength: 10 })
    await fc.assert(
      fc.asyncProperty(calls, async (some) => {
        await Promise.all(some.map((one) => client.callTool(one as Parameters<typeof client.callTool>[0])))
        expect(await spent()).toBe(0)
      }),
      { numRuns: tries(3, 500) },
    )
  })

  it('neither reads nor writes a file outside its folder, also by a link', async () => {
    const root = join(here.home, 'lists')
    mkdirSync(root)
    write('outside.csv', companies(2))
    writeFileSync(join(root, 'inside.csv'), companies(2))
    symlinkSync(join(here.home, 'outside.csv'), join(root, 'link.csv'))
    symlinkSync(here.home, join(root, 'up'))
    symlinkSync(join(here.home, 'new.csv'), join(root, 'dangling.csv'))
    symlinkSync(join(here.home, 'new.csv'), join(root, 'out.csv.partial'))
    const { refused, call } = await connectAgent(here.home, ['--root', root, '--max-credits', '9'])
    const outside = [
      ...[
        '../outside.csv',
        join(here.home, 'outside.csv'),
        'link.csv',
        'up/outside.csv',
        'up/lists/../outside.csv',
      ],
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
    expect(readFileSync(join(here.home, 'outside.csv'), 'utf8')).toBe(companies(2))
    expect(() => readFileSync(join(here.home, 'new.csv'))).toThrow('ENOENT')
    expect(await spent()).toBe(0)
    // Nor by a run of somebody else.
    const elsewhere = [
      'accounts',
      'enrich',
      '--csv',
      'outside.csv',
      '--yes',
      '--max-credits',
      '0',
      '-o',
      'theirs.csv',
    ]
    expect((await here.run(elsewhere)).code).toBe(12)
    const [{ id } = { id: '' }] = await here.json<{ id: string }[]>('runs', 'list')
    expect(await refused('resume_run', { run: id })).toMatchObject({ code: 'usage' })
    expect(await call('run_file', run)).toMatchObject({ status: 'finished', rows: 2 })
  })

  it('reports the progress of 2,000 rows, and resumes a stopped run in a shell', async () => {
    write('list.csv', companies(2_000))
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
    const [{ id } = { id: '' }] = await here.json<{ id: string }[]>('runs', 'list')
    expect(await call('stop_run', { run: id })).toMatchObject({ status: 'stopped' })
    const resumed = await here.run(['runs', 'resume', id, '--yes'])
    expect(resumed.code).toBe(0)
    expect(readFileSync(join(here.home, 'again.csv'), 'utf8').trim().split('\n')).toHaveLength(2_001)
  })
})
