import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { filled, type ServingMachine, servingMachine } from '../../cli/call/serving.js'
import { type CommandResult, command, folder, removed } from '../../support/command.js'

const names = ['--network-name', 'linkedin', '--premium-name', 'sales_navigator']
let server: ServingMachine
let home: string

beforeAll(async () => {
  server = await servingMachine((here) => filled(here, 2, 3), ...names)
  home = await folder()
})
afterAll(async () => {
  await server.close()
  await removed(home)
})

type Run = (...words: string[]) => Promise<CommandResult>

const remote =
  (...target: string[]): Run =>
  (...words) =>
    command([...words, ...target, ...names], {
      env: { PROSPECT_HOME: home, PROSPECT_BASE_URL: server.baseUrl, PROSPECT_API_KEY: server.key },
      cwd: home,
    })

const targets: readonly (readonly [name: string, run: Run])[] = [
  ['the local engine', (...words) => server.machine.run(words)],
  ['a governed server in the names of a real one', remote()],
  ['the same server with --direct', remote('--direct')],
]

describe.each(targets)('on %s', (_, run) => {
  it('lists rename ID --name NAME renames a list', async () => {
    const created = await run('lists', 'create', '--name', 'Old', '--kind', 'account', '--json')
    const { id } = created.json as { id: string }
    const { code, json } = await run('lists', 'rename', id, '--name', 'New', '--json')
    expect([code, json]).toMatchObject([0, { id, name: 'New' }])
    expect((await run('lists', 'rename', 'unknown', '--name', 'New')).code).toBe(9)
  })

  it('lists get ID shows the list and its companies, and --all has every page', async () => {
    const companies = ['domain=robots-0.example', 'name=Nobody'].flatMap((one) => ['--companies', one])
    const words = ['lists', 'create', '--name', 'Mine', ...companies]
    const created = await run(...words, '--wait', '--webhook-url', own, '--json')
    expect(Object.keys(created.json as object)).not.toContain('companies')
    const { id } = created.json as { id: string }
    const shown = (await run('lists', 'get', id, '--per-page', '1', '--format', 'table')).stdout
    expect(shown).toMatch(/Name +Mine[\s\S]*robots-0\.example[\s\S]*1 of 2 · page 1 · next: --page 2/)
    const all = await run('lists', 'get', id, '--all', '--per-page', '1', '--json')
    expect(all.json).toMatchObject({ id, companies: [{ ordinal: 1 }, { ordinal: 2, name: 'Nobody' }] })
  })

  it('accounts search --wait prints the companies without a webhook, and searches delete ID deletes the search', async () => {
    const { code, json } = await run('accounts', 'search', '--keyword', 'robots', '--wait', '--json')
    expect([code, (json as { name: string }[]).map(({ name }) => name).sort()]).toEqual([
      0,
      ['Robots 0', 'Robots 1', 'Robots 2'],
    ])
    const started = await run('accounts', 'search', '--keyword', 'robots', '--webhook-url', own, '--json')
    const { id } = started.json as { id: string }
    expect((await run('searches', 'get', id, '--all')).json).toMatchObject({ search: { id } })
    expect((await run('searches', 'delete', id)).json).toEqual({ message: 'Search deleted' })
    expect((await run('searches', 'get', id)).code).toBe(9)
  })

  it('accounts enrich --bulk and leads enrich --bulk print one row for each item', async () => {
    const robots = ['--accounts', 'domain=robots-0.example', '--accounts', 'name=Nobody']
    const { code, stdout } = await run(
      ...'accounts enrich --bulk'.split(' '),
      ...robots,
      ...'--fields name,domain --format csv'.split(' '),
    )
    expect([code, stdout.trim().split(/\r?\n/)]).toEqual([
      0,
      ['name,domain', 'Robots 0,robots-0.example', ','],
    ])
    const people = [
      '--leads',
      'linkedin_url=https://www.network.example/in/ann-1',
      '--leads',
      'linkedin_url=https://www.network.example/in/x',
    ]
    const found = await run('leads', 'enrich', '--bulk', ...people, '--json')
    expect([found.code, found.json]).toMatchObject([0, { results: [{ full_name: 'Ann Number1' }, null] }])
    const nobody = ['--accounts', 'name=Nobody', '--accounts', 'name=Nothing']
    expect((await run('accounts', 'enrich', '--bulk', ...nobody)).code).toBe(9)
  })

  it('contacts check-data-availability says what can be found', async () => {
    const ann = '{"network_url":"https://www.network.example/in/ann-1"}'
    const { code, json } = await run('contacts', 'check-data-availability', '--contacts', ann, '--json')
    expect([code, json]).toEqual([
      0,
      { results: [{ email: expect.any(Boolean), phone: false, personal_email: false }] },
    ])
  })

  it('intents track-job-changes is refused with the name of the field', async () => {
    const words = ['--lead-list-id', '7', '--webhook-url', 'https://hooks.example/in']
    const { code, stderr } = await run('intents', 'track-job-changes', ...words)
    expect([code, stderr]).toEqual([7, expect.stringContaining('lead_list_id: there are no lead lists yet')])
  })
})

const own = 'https://prospect.invalid/own'
