import { existsSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { served } from '../client/serving.js'
import { answering, ends, errorOf, machine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { freshSchema } from '../support/postgres.js'

const here = perTest(machine)

const yesterday = 'domain,name,_status\nacme.example,Acme,found\n'
const enrich = 'accounts enrich --csv in.csv -o out.csv'

/** Writes the files of a job: its input, and the output of its last run. */
const writeFiles = () => {
  here.write('in.csv', 'domain\nacme.example\n')
  here.write('out.csv', yesterday)
}

describe('a job that runs where nothing was set up', () => {
  it('exits 2 with another HOME: it creates nothing and leaves the output of yesterday', async () => {
    await here.fill('companies', 'name,domain\nAcme,acme.example\n')
    writeFiles()
    await ends(here.run(`${enrich} --quiet`), 0)
    const done = here.read('out.csv')
    const other = here.path('other')
    for (const env of [
      { PROSPECT_HOME: '', HOME: other, XDG_CONFIG_HOME: '', XDG_DATA_HOME: '', XDG_STATE_HOME: '' },
      { PROSPECT_HOME: other },
    ])
      await ends(
        here.run(enrich, { env }),
        2,
        'is not set up in',
        'HOME or PROSPECT_HOME is another one here',
      )
    expect([here.read('out.csv'), existsSync(other)]).toEqual([done, false])
    expect(readdirSync(here.home).filter((name) => name.endsWith('.partial'))).toEqual([])
  })

  it('exits 2 after an init whose key a server did not accept', async () => {
    writeFiles()
    const there = await served()
    try {
      const init = `init --base-url ${there.server.baseUrl} --api-key-stdin`
      await ends(here.run(init, { stdin: 'pk_wrong' }), 3)
    } finally {
      await there.close()
    }
    await ends(here.run(enrich), 2, 'prospect init')
    expect(here.read('out.csv')).toBe(yesterday)
    expect(here.exists('engine.db')).toBe(false)
  })

  it('asks a server that the environment or a profile names, whatever this machine has', async () => {
    const caller = answering({ body: { credits: { enrichment: 7 } } })
    await ends(here.run('credits', { caller }), 0)
    await here.json('profiles add far --base-url https://api.example.com/api/v2')
    const far = await here.run('accounts enrich --domain a.example --profile far --json')
    expect([far.code, errorOf(far).code]).toEqual([3, 'key'])
  })

  it.each(['worker', 'engine jobs run'])('has no queue that could be worked on: %s', async (line) => {
    await ends(here.run(line), 2, 'is not set up', 'prospect init')
    expect(readdirSync(here.home)).toEqual([])
  })

  it('prints a single request with --dry-run, and creates nothing', async () => {
    const { json } = await here.run('accounts enrich --domain acme.example --dry-run')
    expect(json).toMatchObject({ body: { domain: 'acme.example' }, source: { kind: 'empty' } })
    expect(readdirSync(here.home)).toEqual([])
  })

  it('answers in a shared database from the first import there', async () => {
    const schema = await freshSchema()
    const env = { PROSPECT_DATABASE_URL: schema.url }
    try {
      await ends(here.run('accounts enrich --domain acme.example', { env }), 2, 'not set up in this database')
      await ends(here.run('data import companies -', { env, stdin: 'domain\nacme.example\n' }), 0)
      await ends(here.run('accounts enrich --domain acme.example', { env }), 0)
    } finally {
      await schema.drop()
    }
  })
})

describe('a lookup at a terminal where nothing was set up', () => {
  const line = 'accounts enrich --domain acme-robotics.example --json'

  it('asks as init does, loads practice data and goes on', async () => {
    const typed = [
      ['Where do your searches', '\r'],
      ['Load invented companies', '\r'],
    ] as const
    const { code, json, stderr } = await here.run(line, { typed })
    expect([code, json]).toMatchObject([0, { name: 'Acme Robotics GmbH' }])
    expect(stderr).toContain('prospect is not set up yet.')
    expect(await here.balance()).toBe(999)
  })

  it('connects a vendor and goes on there, with nothing of its own on stdout', async () => {
    const there = await served()
    try {
      const typed = [
        ['Where do your searches', '\u001b[B\u001b[B\r'],
        ['Address of the server', `${there.server.baseUrl}\r`],
        ['API key for http', `${there.bench.key}\r`],
      ] as const
      const { code, json } = await here.run('accounts enrich --domain known.example --json', { typed })
      expect([code, json]).toMatchObject([0, { domain: 'known.example' }])
      expect(here.exists('engine.db')).toBe(false)
      expect((await here.json<{ domain: string }>('accounts enrich --domain known.example')).domain).toBe(
        'known.example',
      )
    } finally {
      await there.close()
    }
  })

  it('exits 2 with --yes, which answers no such question', async () => {
    await ends(here.run(`${line} --yes`, { typed: [] }), 2, 'prospect init')
    expect(readdirSync(here.home)).toEqual([])
  })
})

describe('an empty catalogue', () => {
  const lookups = [
    'accounts enrich --domain x.example',
    'accounts search --preview --keyword x',
    'accounts headcount --company-domain x.example',
    'accounts technologies',
    'leads search --company-domain x.example --job-titles CTO -o people.csv',
    'leads advanced-search --preview --job-titles CTO',
    'intents stack --stacks react --wait -o none.csv',
    'contacts check-data-availability --contacts network_url=https://www.network.example/in/ada',
    'messenger validate --phone-numbers +33612345678',
    'lists create --name L --companies name=Acme',
  ]

  it.each(lookups)('answers nothing, and says how to fill it: %s', async (line) => {
    await here.setUp()
    await ends(here.run(line), 2, 'the catalogue is empty', 'prospect data sample', 'prospect data import')
    expect(readdirSync(here.home).filter((name) => name.endsWith('.csv'))).toEqual([])
    await here.fill('companies', 'name,domain\nAcme,acme.example\n')
    expect((await here.run(line)).stderr).not.toContain('the catalogue is empty')
  })

  it('answers no file: the output of yesterday stays, also of a run that is resumed', async () => {
    await here.setUp()
    writeFiles()
    for (const more of ['', '--dry-run', '--yes', '--summary-json sum.json'])
      await ends(here.run(`${enrich} ${more}`), 2, 'the catalogue is empty')
    expect([here.read('out.csv'), await here.json('runs list'), await here.balance()]).toEqual([
      yesterday,
      [],
      1_000,
    ])
    expect(JSON.parse(here.read('sum.json'))).toMatchObject({ status: 'refused', exit_code: 2 })
    here.write('list.csv', 'name,domain\nAcme,acme.example\n,\n')
    await ends(here.run('lists create --name L --csv list.csv -o list.json'), 2, 'the catalogue is empty')
    expect([here.exists('list.json'), here.exists('list.rejects.csv')]).toEqual([false, false])
  })

  it('answers no flow', async () => {
    await here.setUp()
    here.write('in.csv', 'domain\nacme.example\n')
    here.write(
      'f.yaml',
      'name: f\ninput: { csv: in.csv }\nsteps: [accounts.enrich]\noutput: { csv: out.csv }\n',
    )
    await ends(here.run('flow run f.yaml'), 2, 'the catalogue is empty')
    expect(here.exists('out.csv')).toBe(false)
  })

  it('is no answer of a raw call, whose body is printed as it came', async () => {
    await here.setUp()
    const call = await ends(here.run('api POST /accounts/single_enrich -f domain=x.example'), 2, 'is empty')
    expect(call.json).toEqual({ error: 'No company found' })
    await ends(here.run('api POST /accounts/single_enrich'), 7)
    await ends(here.run('api GET /credits'), 0)
  })

  it('is named by init, with the two commands that fill it', async () => {
    await ends(here.run('init --yes'), 0, 'prospect data sample', 'prospect data import companies FILE')
    await here.fill('companies', 'domain\nacme.example\n')
    const again = await ends(here.run('init --yes'), 0)
    expect(again.stderr).not.toContain('data sample')
  })

  it('does not keep what needs no record from being answered', async () => {
    await here.setUp()
    for (const line of [
      'titles suggest CTO',
      'locations find Lyon',
      'personas list',
      'credits',
      'searches list',
    ])
      await ends(here.run(line), 0)
  })

  it('is not one where only posts were imported, from which their readers are found', async () => {
    const post = {
      post_url: 'https://www.network.example/posts/1',
      engagers: [{ network_profile_url: 'https://www.network.example/in/ada', engagement: 'comment' }],
    }
    await here.fill('posts', `${JSON.stringify(post)}\n`)
    const argv = ['intents', 'post-engagers', post.post_url, '-o', 'people.json', '--quiet']
    await ends(here.run(argv), 0)
    expect(here.read('people.json')).toContain('/in/ada')
  })
})

describe('looking at what is there', () => {
  it.each([
    ['dashboard --no-open --port 0'],
    ['data stats'],
    ['data export companies'],
    ['suppress list'],
    ['suppress check a@acme.example'],
    ['suppress remove a@acme.example'],
    ['providers list'],
    ['providers order email'],
  ])('%s exits 2 where nothing was set up, says what to run, and creates nothing', async (line) => {
    await ends(here.run(line), 2, 'is not set up in', 'Run prospect init')
    expect(readdirSync(here.home)).toEqual([])
  })

  it('needs no workspace of this machine beside a server', async () => {
    const env = { PROSPECT_BASE_URL: 'https://api.example.com/api/v2', PROSPECT_API_KEY: 'theirs' }
    expect((await here.run('suppress list', { env })).json).toEqual([])
    expect((await here.run('suppress check a@acme.example', { env })).json).toMatchObject({
      suppressed: false,
    })
    await ends(here.run('suppress remove a@acme.example', { env }), 2, 'is not suppressed on this machine')
    expect((await here.run('data stats', { env })).json).toMatchObject({ companies: 0 })
    expect(readdirSync(here.home)).toEqual([])
  })

  it('keeps what listen receives, without a workspace and without a secret', async () => {
    const listening = await here.start('listen --port 0 --json')
    const { url, ...opened } = JSON.parse(listening.line) as { url: string; secret: string | null }
    await fetch(url, { method: 'POST', body: '{"event":"lead_search.completed"}' })
    await listening.stop()
    expect(opened).toMatchObject({ secret: null, verifying: false })
    expect(await here.json('events list')).toMatchObject([
      { event: 'lead_search.completed', verified: false },
    ])
    expect(here.exists('engine.db')).toBe(false)
  })
})

it.each([
  ['suppress add a@acme.example', ''],
  ['suppress import list.csv', ''],
  ['providers add hunter --key-stdin', 'theirs'],
])('%s creates a workspace to store it in, which has no credits', async (line, stdin) => {
  here.write('list.csv', 'email\na@acme.example\n')
  await ends(here.run(line, { stdin }), 0, 'without credits of its own')
  expect(await here.json('engine status')).toMatchObject({ plan: 'own', credits: { enrichment: 0 } })
})

it('a provider that cannot be added leaves nothing behind', async () => {
  here.write('wrong.yaml', 'name: 1\n')
  await ends(here.run('providers add wrong.yaml --key-stdin', { stdin: 'theirs' }), 2)
  expect(here.exists('engine.db')).toBe(false)
})
