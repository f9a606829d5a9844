import { describe, expect, it } from 'vitest'
import { filled, servingMachine } from '../../cli/call/serving.js'
import { type CommandResult, machine } from '../../support/command.js'
import { perFile } from '../../support/each.js'

const names = ['--network-name', 'linkedin', '--premium-name', 'sales_navigator']
const server = perFile(() => servingMachine((there) => filled(there, 2, 3), ...names))
const here = perFile(() => machine())

type Run = (...words: string[]) => Promise<CommandResult>

const remote =
  (...target: string[]): Run =>
  (...words) =>
    here.run([...words, ...target, ...names], {
      env: { PROSPECT_BASE_URL: server.baseUrl, PROSPECT_API_KEY: server.key },
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
    const found = (json as { name: string }[]).map(({ name }) => name)
    expect([code, found.sort()]).toEqual([0, ['Robots 0', 'Robots 1', 'Robots 2']])
    const started = await run('accounts', 'search', '--keyword', 'robots', '--webhook-url', own, '--json')
    const { id } = started.json as { id: string }
    expect((await run('searches', 'get', id, '--all')).json).toMatchObject({ search: { id } })
    expect((await run('searches', 'delete', id)).json).toEqual({ message: 'Search deleted' })
    expect((await run('searches', 'get', id)).code).toBe(9)
  })

  it('accounts enrich --bulk and leads enrich --bulk print one row for each item', async () => {
    const bulk = (line: string) => run(...line.split(' '))
    const robots = '--accounts domain=robots-0.example --accounts name=Nobody'
    const { code, stdout } = await bulk(`accounts enrich --bulk ${robots} --fields name,domain --format csv`)
    const rows = ['name,domain', 'Robots 0,robots-0.example', ',']
    expect([code, stdout.trim().split(/\r?\n/)]).toEqual([0, rows])
    const [ann, nobody] = ['ann-1', 'x'].map(
      (one) => `--leads linkedin_url=https://www.network.example/in/${one}`,
    )
    const found = await bulk(`leads enrich --bulk ${ann} ${nobody} --json`)
    expect([found.code, found.json]).toMatchObject([0, { results: [{ full_name: 'Ann Number1' }, null] }])
    expect((await bulk('accounts enrich --bulk --accounts name=Nobody --accounts name=Nothing')).code).toBe(9)
  })

  it('contacts check-data-availability says what can be found', async () => {
    const ann = '{"network_url":"https://www.network.example/in/ann-1"}'
    const { code, json } = await run('contacts', 'check-data-availability', '--contacts', ann, '--json')
    const can = { email: expect.any(Boolean), phone: false, personal_email: false }
    expect([code, json]).toEqual([0, { results: [can] }])
  })
})

const own = 'https://prospect.invalid/own'
