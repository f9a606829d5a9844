import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { outputKinds, stepKinds } from '../../../src/flows/format.js'
import type { CrmName } from '../../../src/runs/output/crm-names.js'
import { formats } from '../../../src/runs/output/formats.js'
import { answering, received } from '../../client/listeners.js'
import { type Machine, machine } from '../../support/command.js'
import { fakeHubspot, hubspotKey } from '../../support/crm/hubspot.js'
import { isLong } from '../../support/effort.js'
import { casesOf } from '../../support/fixtures.js'
import { emptySchema } from '../../support/postgres.js'
import { fakeFile, fakeVendor } from '../../support/vendors.js'

const network = 'https://www.network.example'

const spellings = casesOf<{ one: string; others: readonly string[] }>('identity/spellings')
/** Whom `one` of the table of spellings is, in the nth of the others, which are taken in turns. */
const spelt = (one: string, nth: number): string => {
  const { others } = spellings.find((found) => found.one === one) ?? { others: [] }
  return others[nth % others.length] ?? one
}
/** Those who are suppressed, in so many spellings. */
const suppressed = ['bücher.example', 'ada.byron@acme.example', `${network}/in/jane-doe`]
const variants = Math.max(
  ...suppressed.map((one) => spellings.find((found) => found.one === one)?.others.length ?? 0),
)

/** What is known only of the people and the company that are suppressed. What commands ask for has nothing of it. */
const canary = /qzxqzxqzx|ada\.byron/i
/** What is known of somebody who is not. */
const bystander = /plain/i

const line = (record: object) => `${JSON.stringify(record)}\n`
const files = {
  'companies.csv': `name,domain,network_url,industry
Labs,xn--bcher-kva.example,${network}/company/labs,Qzxqzxqzx Robots
Works,works.example,${network}/company/works,Plain Robots
`,
  'people.csv': `first_name,last_name,title,email,email_status,phone,company_domain,network_url
Zoe,Roe,Chief Qzxqzxqzx Officer,zoe-qzxqzxqzx@xn--bcher-kva.example,valid,+33612345678,xn--bcher-kva.example,${network}/in/zoe
Ann,Poe,Chief Qzxqzxqzx Officer,ada.byron@acme.example,valid,+33612345677,works.example,${network}/in/jane-doe
Bob,Doe,Chief Plain Officer,bob-plain@works.example,valid,+33612345679,works.example,${network}/in/bob
`,
  'jobs.ndjson':
    line({ job_title: 'Qzxqzxqzx Engineer', company_domain: 'xn--bcher-kva.example' }) +
    line({ job_title: 'Plain Engineer', company_domain: 'works.example' }),
  'posts.ndjson':
    line({ post_url: `${network}/posts/qzxqzxqzx`, author_profile_url: `${network}/in/jane-doe` }) +
    line({ post_url: `${network}/posts/plain`, author_profile_url: `${network}/in/bob` }),
  'in.csv': 'Website\nxn--bcher-kva.example\nworks.example\n',
  'profiles.csv': `Profile\n${network}/in/zoe\n${network}/in/jane-doe\n${network}/in/bob\n`,
  'seen.js': `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    require('node:fs').appendFileSync('programs', line + '\\n'); console.log('{"score":1}') })`,
}

interface World {
  readonly here: Machine
  readonly env: Record<string, string>
  /** An address that takes everything. */
  readonly url: string
  /** Another machine, whose server has the same people and suppresses nobody. */
  readonly server: { readonly url: string; readonly key: string }
  /** Returns what a command prints, and what arrived outside meanwhile. */
  run(argv: string, env?: Record<string, string>): Promise<string>
  read(name: string): string
}

/** A way out of the program: returns what was written or sent by it. */
type Exit = (world: World) => Promise<string>

const printed =
  (argv: string): Exit =>
  ({ run }) =>
    run(argv)

const written =
  (argv: string, ...names: string[]): Exit =>
  async ({ run, read }) =>
    [await run(argv), ...names.map(read)].join('\n')

const fromServer =
  (argv: string): Exit =>
  ({ run, server }) =>
    run(`${argv} --base-url ${server.url}${argv.includes('--direct') ? '' : ' --max-age 0'}`, {
      PROSPECT_API_KEY: server.key,
    })

async function startServer({ here, env, run }: Pick<World, 'here' | 'env' | 'run'>, options = '') {
  const { key } = JSON.parse(await run('engine keys create --member me@localhost --json')) as { key: string }
  const { line: url, stop } = await here.start(`serve --port 0 ${options}`.trim().split(' '), { env })
  return { url, key, stop }
}

/** Asks the engine over HTTP, or a proxy of the other machine's server with these options. */
const overHttp =
  (proxy?: string): Exit =>
  async ({ server, ...world }) => {
    const [options, more] =
      proxy === undefined ? [] : [`--upstream ${server.url} ${proxy}`, { PROSPECT_API_KEY: server.key }]
    const { url, key, stop } = await startServer({ ...world, env: { ...world.env, ...more } }, options)
    const reply = await fetch(`${url}/leads/advanced_search/preview`, {
      method: 'POST',
      headers: { 'x-api-key': proxy === '--direct' ? server.key : key, 'content-type': 'application/json' },
      body: JSON.stringify({ included_companies: ['xn--bcher-kva.example', 'works.example'], live: false }),
    })
    const text = await reply.text()
    await stop()
    return text
  }

/** Runs a command with each of the newest deliveries: any of them may be the last one. */
function newestDeliveries(command: string): Exit {
  return async ({ run }) => {
    const ids = (await run('engine deliveries list --format ids')).trim().split('\n').slice(0, 4)
    const texts: string[] = []
    for (const id of ids) texts.push(await run(`${command} ${id}`))
    return texts.join('\n')
  }
}

/** Exits for what was found and stored before. */
const stored: Readonly<Record<string, Exit>> = {
  'contacts get': printed('contacts get --last --json'),
  'searches get': printed('searches get --last --json'),
  'engine deliveries show': newestDeliveries('engine deliveries show'),
  'engine deliveries retry': async (world) =>
    (await newestDeliveries('engine deliveries retry')(world)) + (await world.run('engine jobs run')),
  'runs export': printed('runs export --last'),
  'crm export': printed('crm export hubspot people --format csv'),
  'push show': printed('push show --last --json'),
  'events show': printed('events show --last --json'),
  'events replay': ({ run, url }) => run(`events replay --last --to ${url}`),
  'events forward': ({ run, url }) => run(`events forward --to ${url}`),
}

/** Writes people to a CRM in which nobody is yet; returns whom it has then. */
const pushed: Exit = async ({ here, env }) => {
  const crm = await fakeHubspot({ companies: 0, contacts: 0 })
  const target = `--base-url ${crm.origin} --allow-target 127.0.0.1`
  await here.run(['crm', 'disconnect', 'hubspot'], { env })
  await here.run(`crm connect hubspot ${target} --key-stdin`.split(' '), { env, stdin: hubspotKey })
  await here.run('push people.csv --to hubspot --yes --json'.split(' '), { env })
  await crm.close()
  return JSON.stringify([crm.contacts.live(), crm.companies.live()])
}

/** Exits for what is asked now. A name says which command or part it is, and how it is used. */
const asked: Readonly<Record<string, Exit>> = {
  ...Object.fromEntries(
    formats.map((format) => [`data export: ${format}`, printed(`data export companies --format ${format}`)]),
  ),
  'data export: people': printed('data export people --json'),
  'data export: jobs': printed('data export jobs --json'),
  'data export: posts': printed('data export posts --json'),
  push: pushed,
  match: printed('match in.csv --with catalogue --take industry'),
  api: printed(
    'api POST /leads/advanced_search/preview -f included_companies=["xn--bcher-kva.example","works.example"]',
  ),
  'flow run': written(
    'flow run flow.yaml',
    ...'flow.csv flow.json flow.ndjson flow.plain.csv programs'.split(' '),
  ),
  'flow resume': written('flow resume --last', 'flow.csv'),
  listen: async ({ here, env, url }) => {
    const { line: first, stop } = await here.start(['listen', '--port', '0', '--json', '--forward-to', url], {
      env,
    })
    const lead = (name: string, title: string) => ({ title, network_profile_url: `${network}/in/${name}` })
    const leads = [lead('jane-doe', 'qzxqzxqzx'), lead('bob', 'plain')]
    await fetch((JSON.parse(first) as { url: string }).url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: line({ event: 'lead_search.record', id: 's', at: Date.now(), leads }),
    })
    return (await stop()).stdout
  },
  serve: overHttp(),
  'serve: governed proxy': overHttp(''),
  'serve: direct proxy': overHttp('--direct'),
  'a server': fromServer(
    'leads search --company-domain works.example --job-titles * --limit 5 --wait --json',
  ),
  'a server, directly': fromServer(`leads enrich --network-url ${network}/in/jane-doe --json --direct`),
  'a server: a batch': async (world) =>
    (await fromServer('leads enrich --csv profiles.csv --yes -o remote.csv --fresh')(world)) +
    world.read('remote.csv'),
  'contacts waterfall: vendors': printed(
    'contacts waterfall --first-name Una --last-name Qzxqzxqzx --domain xn--bcher-kva.example --enrichment-type email --sync --json',
  ),
  'providers test': printed(
    'providers test acmemail --first-name Una --last-name Qzxqzxqzx --domain xn--bcher-kva.example',
  ),
  'accounts search': written('accounts search --keyword robots --limit 5 --wait -o found.csv', 'found.csv'),
  'leads advanced-search': printed(
    'leads advanced-search --included-companies xn--bcher-kva.example,works.example --limit 5 --wait --json',
  ),
  'contacts waterfall': async ({ run, url }) => {
    for (const name of ['bob', 'jane-doe'])
      await run(
        `contacts waterfall --network-url ${network}/in/${name} --enrichment-type email --webhook-url ${url} --no-wait`,
      )
    return run('engine jobs run')
  },
  'accounts enrich: a batch': written('accounts enrich --csv in.csv --yes -o out.csv', 'out.csv'),
  'leads search: a batch': written(
    'leads search --csv in.csv --job-titles * --limit 3 --yes -o people-out.csv',
    'people-out.csv',
  ),
  explain: async ({ run }) => {
    await run('leads enrich --csv profiles.csv --yes -o explained.csv --refresh')
    const rows = [1, 2, 3].map((row) => run(`explain explained.csv --row ${row} --json`))
    return (await Promise.all(rows)).join('\n')
  },
  'leads enrich: a batch': written('leads enrich --csv profiles.csv --yes -o leads.csv', 'leads.csv'),
  ...Object.fromEntries(
    ['catalogue', 'engine', 'inbox', 'jobs', 'ledger', 'overview', 'runs', 'try'].map((view) => [
      `dashboard: ${view}`,
      (world) => readPages(world, view),
    ]),
  ),
}

/** Returns a view of the dashboard with the pages of the same view that it links to. */
async function readPages({ here, env }: World, view: string): Promise<string> {
  const { line: url, stop } = await here.start(['dashboard', '--port', '0', '--no-open'], { env })
  const { origin, hash } = new URL(url)
  let headers: Record<string, string> = { 'content-type': 'application/json', origin }
  const post = async (path: string, fields = {}) =>
    fetch(`${origin}/dashboard/${path}`, { method: 'POST', headers, body: JSON.stringify(fields) })
  const session = await post('session', { link: hash.slice(1) })
  const { token } = (await session.json()) as { token: string }
  const cookie = session.headers.get('set-cookie')?.split(';')[0] ?? ''
  headers = { ...headers, cookie, 'x-dashboard-token': token }
  const pages = new Map([[view, '']])
  for (const path of pages.keys()) {
    const text = await (await post(`data/${path}`)).text()
    pages.set(path, text)
    const linked = [...text.matchAll(/href="\/dashboard\/([^"]+)"/g)].map(([, to = '']) => to)
    for (const to of linked) {
      const isNear = to.startsWith(view) && view !== 'try' && path.split('?').length === 1
      if ((isNear || to.includes('of=people')) && pages.size < 40) pages.set(to.replaceAll('&amp;', '&'), '')
    }
  }
  await stop()
  return [...pages.values()].join('\n')
}

/** Exits that show whom they are about only in what was asked, or nobody at all. */
const namesNobody = /^dashboard: (?:engine|ledger|overview|runs|try)$|: ids$/

/** Commands that print no people and companies, and why. */
const silent: Readonly<Record<string, string>> = {
  'settings of this machine':
    'init, login, logout, config *, profiles *, completion, commands, openapi, doctor, skills *',
  'counts, prices and names of fields':
    'limits, ledger, ledger check, engine status, engine ledger, engine ledger verify, data sources, data stats, industries find, flow new, flow check, flow quote, flow show, flow list, runs list, runs show, events list, engine jobs list, engine jobs show, engine deliveries list, providers list, providers check, providers show, providers stats, providers balance, engine faults *',
  'the workspace itself':
    'engine plan set, engine credits *, engine quotas set, engine members *, engine keys *, engine session set, engine clock *, engine webhooks secret, engine workspaces *, providers add, providers remove, providers enable, providers disable, providers order, engine jobs retry',
  'what a CRM has, or had': 'crm connect, crm list, crm pull, crm disconnect, push list, push undo',
  'whole copies, which keep what is suppressed':
    'engine backup, engine restore, engine move, engine reset, data sample',
  'what is suppressed': 'suppress *',
  'somebody who is named, to their owner': 'data forget',
  'what is deleted': 'data purge, runs forget',
  'nobody is stored': 'data import',
  'an invented event': 'events trigger',
  'the exits of other commands': 'runs resume, worker, engine jobs run, dashboard, mcp',
}

/** Modules that open a connection or start a program, and what passes through them. */
const gates: Readonly<Record<string, string>> = {
  'client/connection.ts':
    'calls to servers: `keptFrom` in cli/target/create.ts and cli/commands/serve/proxy.ts',
  'client/resolver.ts': 'providers, webhooks, http steps: their callers below',
  'http/forwarder.ts': 'received events: cleaned by `openEvents`',
  'flows/command.ts': 'rows of a flow: `customLookup` in flows/chain.ts',
  'cli/options/help.ts': 'what was printed, to a pager',
  'cli/commands/serve/serve.ts': 'a browser, with a link',
  'cli/commands/dashboard/open.ts': 'nothing: a browser',
  'csv/workbook/convert.ts': 'a file of the user, within the program',
  'dashboard/browser/page.ts': 'within the page',
}

/** Who sends through the resolver of addresses, or the exchange that uses it. */
const senders: Readonly<Record<string, string>> = {
  'client/exchange.ts': 'contacts waterfall: vendors',
  'client/sender.ts': 'contacts waterfall',
  'crm/http.ts': 'push',
  'providers/http.ts': 'contacts waterfall: vendors',
  'providers/registry.ts': 'providers test',
  'providers/vendors.ts': 'contacts waterfall: vendors',
}

const src = join(import.meta.dirname, '../../../src')
const sources = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path))
const having = (pattern: RegExp) =>
  sources
    .filter((path) => pattern.test(readFileSync(join(src, path), 'utf8')))
    .map((path) => relative('.', path))
    .sort()

describe('the table of exits', () => {
  const exits = Object.keys({ ...stored, ...asked })

  it('has every command that prints people or companies', async () => {
    const here = machine()
    const all = await here.json<{ command: string; operation?: string }[]>('commands')
    here.remove()
    const said = Object.values(silent).flatMap((names) => names.split(', '))
    const isSaid = (command: string) =>
      said.some((name) => name === command || (name.endsWith('*') && command.startsWith(name.slice(0, -1))))
    const isExit = (command: string) => exits.some((name) => name.split(':')[0] === command)
    // Replies to operations are looked at in engine.test.ts and server.test.ts, all of them.
    const missing = all.filter(({ command, operation }) => !operation && !isSaid(command) && !isExit(command))
    expect(missing.map(({ command }) => command)).toEqual([])
  })

  it('has everything that opens a connection, starts a program or sends to an address', () => {
    expect(having(/import\('undici'\)|await fetch\(|'node:child_process'/)).toEqual(Object.keys(gates).sort())
    const sending = /from '.*(?:client\/|\.\/)resolver\.js'|\bcreateExchange\b/
    expect(having(sending)).toEqual(Object.keys(senders).sort())
    expect(Object.values(senders).filter((name) => !exits.includes(name))).toEqual([])
  })

  it('has every view of the dashboard', () => {
    const files = having(/: View\b/).filter((path) => path.startsWith('dashboard/views/'))
    const views = files.map((path) => `dashboard: ${basename(path, '.tsx')}`)
    expect(views.length).toBeGreaterThan(5)
    expect(views.filter((name) => !exits.includes(name))).toEqual([])
  })
})

/** The steps and outputs of a flow, each kind once. */
function flowFile(url: string): string {
  const steps = {
    keep: { keep: 'domain != null' },
    set: { set: { size: 'headcount > 500 ? 2 : 1' } },
    sort: { sort: 'headcount desc' },
    distinct: { distinct: 'name' },
    limit: { limit: 1_000 },
    command: { command: ['node', 'seen.js'], fields: ['score'] },
    http: { http: { post: url, result: { seen: 'seen' } } },
  } satisfies Record<keyof typeof stepKinds, object>
  const outputs = {
    csv: { csv: 'flow.csv' },
    xlsx: { xlsx: 'flow.xlsx' },
    json: { json: 'flow.json' },
    ndjson: { ndjson: 'flow.ndjson' },
    list: { list: 'Flow' },
    http: { http: { post: url } },
  } satisfies Record<Exclude<keyof typeof outputKinds, CrmName>, object>
  return JSON.stringify({
    name: 'walk',
    input: { csv: 'in.csv' },
    steps: ['accounts.enrich', ...Object.values(steps), { 'leads.search': { job_titles: ['*'], limit: 3 } }],
    output: [...Object.values(outputs), { csv: 'flow.plain.csv', columns: ['title', 'company.industry'] }],
  })
}

async function fill(here: Machine, env: Record<string, string>): Promise<void> {
  const run = async (argv: string) => {
    const { code, stderr } = await here.run(argv.split(' '), { env })
    if (code !== 0) throw new Error(`${argv}: ${stderr}`)
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(here.home, name), text)
  for (const name of ['companies.csv', 'people.csv', 'jobs.ndjson', 'posts.ndjson'])
    await run(`data import ${name.split('.')[0]} ${name}`)
  await run('engine credits add 1000')
}

/** One spelling, another one each day; with `--long` all of them, and every fourth over PostgreSQL. */
const walks: readonly (readonly [database: string, nth: number])[] = isLong
  ? Array.from({ length: variants }, (_, nth) => nth).flatMap((nth) =>
      nth % 4 === 0
        ? [
            ['SQLite', nth],
            ['PostgreSQL', nth],
          ]
        : [['SQLite', nth]],
    )
  : [['SQLite', Math.floor(Date.now() / 86_400_000) % variants]]

describe.each(walks.map(([database, nth]) => [database, suppressed.map((one) => spelt(one, nth))] as const))(
  'over %s, whoever is suppressed as %j',
  (database, whom) => {
    const arrived: string[] = []
    const closing: (() => unknown)[] = []
    const before = new Map<string, string>()
    const after = new Map<string, string>()

    beforeAll(async () => {
      const schema = database === 'SQLite' ? undefined : await emptySchema()
      const env: Record<string, string> = schema ? { PROSPECT_DATABASE_URL: schema.url } : {}
      const [here, there] = [machine(), machine()]
      const sink = await answering(async (request, response) => {
        arrived.push((await received(request)).body)
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"seen":1}')
      })
      const url = `${sink.origin}/in`
      const vendor = await fakeVendor()
      const run: World['run'] = async (argv, more) => {
        const [from, seen] = [arrived.length, vendor.seen.length]
        const { stdout, stderr, code } = await here.run(argv.split(' '), { env: { ...env, ...more } })
        if (![0, 2, 9, 11].includes(code) || (code === 2 && !stderr.includes('is suppressed')))
          throw new Error(`${argv}: exit ${code}: ${stderr}`)
        return [stdout, stderr, ...arrived.slice(from), ...vendor.seen.slice(seen)].join('\n')
      }
      await fill(here, env)
      await fill(there, {})
      writeFileSync(join(here.home, 'flow.yaml'), flowFile(url))
      writeFileSync(join(here.home, 'acme.yaml'), fakeFile(vendor.origin))
      writeFileSync(join(here.home, 'acme.key'), 'acme-secret-key-1234567890\n', { mode: 0o600 })
      const printedBy = async (argv: string) => (await there.run(argv.split(' '))).stdout
      const server = await startServer({ here: there, env: {}, run: printedBy })
      closing.push(server.stop, sink.close, vendor.close, () => schema?.drop(), here.remove, there.remove)
      await run('providers add acme.yaml --key-file acme.key --allow-target 127.0.0.1/32')
      const read = (name: string) => {
        const path = join(here.home, name)
        return existsSync(path) ? readFileSync(path, 'utf8') : ''
      }
      const world: World = { here, env, url, run, read, server: { url: server.url, key: server.key } }
      const walk = async (exits: Readonly<Record<string, Exit>>, into: Map<string, string>) => {
        for (const [name, exit] of Object.entries(exits)) {
          const from = arrived.length
          writeFileSync(join(here.home, 'programs'), '')
          const text = await exit(world).catch((error: Error) => `${error.stack}`)
          into.set(name, `${text}\n${arrived.slice(from).join('\n')}`)
        }
      }
      await walk(asked, before)
      await walk(stored, before)
      const suppress = async (options: readonly string[], more = {}) => {
        const argv = ['suppress', 'add', ...whom, ...options]
        const { code, stderr } = await here.run(argv, { env: { ...env, ...more } })
        if (code !== 0) throw new Error(`${argv.join(' ')}: exit ${code}: ${stderr}`)
      }
      await suppress([])
      await suppress(['--direct', '--base-url', server.url], { PROSPECT_API_KEY: server.key })
      // Each command opens its databases anew, as after a restart.
      await walk(stored, after)
      await walk(asked, after)
    })

    afterAll(async () => {
      for (const close of closing) await close()
    })

    it.each(Object.keys({ ...stored, ...asked }))('leaves by no exit: %s', (name) => {
      const [then, now] = [before.get(name) ?? '', after.get(name) ?? '']
      if (!namesNobody.test(name)) expect(then).toMatch(canary)
      expect(now).not.toMatch(canary)
      expect(now).not.toMatch(/^Error: /)
      if (bystander.test(then)) expect(now).toMatch(bystander)
    })
  },
)
