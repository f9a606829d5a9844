import { describe, expect, it, onTestFinished } from 'vitest'
import { ends, machine } from '../../support/command.js'
import { perTest } from '../../support/each.js'
import { freshDatabase, freshSchema } from '../../support/postgres.js'
import { sampledDatabase } from '../../support/sample.js'

const schema = perTest(freshSchema)
const here = perTest(machine)
const there = perTest(machine)

const at = () => ['--database', schema.url]
const people =
  'full_name,email,company_domain\nJane Doe,jane.doe@acme.example,acme.example\nJo Roe,jo@acme.example,acme.example\n'

/** Returns how many columns have these letters in the statistics of the server. */
async function noted(letters: string): Promise<number> {
  const all = ['most_common_vals', 'histogram_bounds', 'most_common_elems'].map(
    (kind) => `CAST(${kind} AS TEXT)`,
  )
  const found = await schema.sql(`SELECT count(*) AS n FROM pg_stats
    WHERE schemaname = '${schema.name}_catalogue' AND concat_ws(' ', ${all.join(', ')}) ILIKE '%${letters}%'`)
  return Number(found[0]?.n)
}

describe('a catalogue on a shared database', () => {
  it('imports on one machine and reads on another, and refuses a password in the command', async () => {
    here.write('people.csv', people)
    const imported = await here.run(['data', 'import', 'people', 'people.csv', '--json', ...at()])
    expect(JSON.parse(imported.stdout)).toMatchObject({ added: 2, companies_added: 1 })
    expect(await there.json('data', 'stats', ...at())).toMatchObject({ people: 2, companies: 1 })
    await ends(there.run('data stats'), 2, 'is not set up')
    const exported = await there.run(['data', 'export', 'people', '--format', 'ndjson', ...at()])
    expect(exported.stdout.trim().split('\n')).toHaveLength(2)
    const env = { PROSPECT_DATABASE_URL: schema.url }
    const known = await there.run('accounts enrich --domain acme.example --json', { env })
    expect(JSON.parse(known.stdout)).toMatchObject({ domain: 'acme.example' })
    const secret = ['--database', 'postgres://prospect:secret@db.example/prospect']
    for (const part of [['stats'], ['export', 'people'], ['sample']])
      expect((await there.run(['data', ...part, ...secret])).code).toBe(2)
    expect((await there.run('data stats --database engine.db')).code).toBe(2)
  })

  it('forgets a person in the shared catalogue, and names the local file that still contains them', async () => {
    here.write('people.csv', people)
    for (const place of [[], at()])
      expect((await here.run(['data', 'import', 'people', 'people.csv', ...place])).code).toBe(0)
    await schema.sql(`ANALYZE ${schema.name}_catalogue.people`)
    expect(await noted('jane')).toBeGreaterThan(0)
    const told = await here.run(['data', 'forget', 'jane.doe@acme.example', '--yes', '--json', ...at()])
    const report = JSON.parse(told.stdout) as { catalogue: object; files: string[] }
    expect(report.catalogue).toMatchObject({ people: 1 })
    expect(report.files).toContain(here.path('catalogue.db'))
    expect(await here.json('data', 'stats', ...at())).toMatchObject({ people: 1 })
    const left = await schema.sql(
      `SELECT count(*) AS n FROM ${schema.name}_catalogue.people WHERE record LIKE '%Jane%'`,
    )
    expect(Number(left[0]?.n)).toBe(0)
    expect(await noted('jane')).toBe(0)
  })

  it('doctor says that the shared catalogue is empty, until something is imported', async () => {
    const doctor = async () => {
      const { stdout } = await here.run('doctor --json', { env: { PROSPECT_DATABASE_URL: schema.url } })
      return stdout
    }
    expect(await doctor()).toContain('is empty: lookups find nothing.')
    expect(await schema.sql(`SELECT 1 FROM pg_namespace WHERE nspname = '${schema.name}_catalogue'`)).toEqual(
      [],
    )
    here.write('people.csv', people)
    expect((await here.run(['data', 'import', 'people', 'people.csv', ...at()])).code).toBe(0)
    expect(await doctor()).toContain("in the engine's database is filled: ")
  })

  it('a role without the right to create it can work without the catalogue', async () => {
    const database = await freshDatabase()
    const role = `r_${database.name}`
    const url = database.url.replace('postgres://postgres@', `postgres://${role}@`)
    const run = (argv: string) => here.run(`${argv} --database ${url}`)
    try {
      await database.sql(`CREATE ROLE ${role} LOGIN; GRANT USAGE, CREATE ON SCHEMA public TO ${role}`)
      expect(await run('data purge --older-than 1d --yes')).toMatchObject({ code: 0 })
      expect(await run('data forget jo@acme.example --yes')).toMatchObject({ code: 0 })
      await ends(run('data stats'), 2, 'is not set up in this database')
      await ends(run('data sample'), 10, 'GRANT CREATE ON DATABASE')
      const made = await database.sql("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'public_%'")
      expect(made).toEqual([])
    } finally {
      await database.drop()
      await schema.sql(`DROP ROLE ${role}`)
    }
  })

  it('leaves nothing of a forgotten person in any table of the server, and counts that before', async () => {
    const database = await freshDatabase()
    const env = { PROSPECT_DATABASE_URL: database.url }
    const run = async (line: string, stdin?: string) => {
      const ended = await here.run(`${line} --json`, { env, ...(stdin === undefined ? {} : { stdin }) })
      expect(ended).toMatchObject({ code: 0 })
      return ended.json as Record<string, unknown>
    }
    const profile = 'https://www.network.example/in/jane-qzx'
    const jane = { full_name: 'Jane Qzx', email: 'jane@acme.example', network_profile_url: profile }
    const jo = { full_name: 'Jo Roe', email: 'jo@acme.example', summary: 'Ask jane@acme.example' }
    const staff = [{ ...jane, phones: ['+33639980077'] }, jo].map((one) =>
      JSON.stringify({ ...one, company_domain: 'acme.example', title: 'Head' }),
    )
    const job = {
      job_title: 'Carver',
      description: 'Call +33 6 39 98 00 77',
      hiring_team: [{ name: 'Jane Qzx' }],
    }
    await run('data import people - --from ndjson', staff.join('\n'))
    await run(
      'data import jobs - --from ndjson',
      JSON.stringify({ ...job, company_domain: 'acme.example', date_posted: '2026-01-01' }),
    )
    await run('leads advanced-search --job-titles Head --wait')
    await run('leads advanced-search --first-name Jane --last-name Qzx --name Jane --wait')
    await run('intents hiring --selected-titles Carver --wait')
    await run(
      'contacts waterfall --first-name Jane --last-name Qzx --domain acme.example --enrichment-type email --wait',
    )
    await run(`leads enrich --network-url ${profile} --idempotency-key for-jane@acme.example`)
    here.write('in.csv', `network_url\n${profile}\n`)
    await here.run('leads enrich --csv in.csv -o out.csv', { env })
    const traces = async () => {
      const tables =
        await database.sql(`SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name
        FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY name`)
      const found: unknown[] = []
      for (const { name } of tables)
        found.push(
          ...(await database.sql(`SELECT '${name}' AS name FROM ${name} AS one
            WHERE CAST(one AS TEXT) ~* 'qzx|jane@|639980077|98 00 77' LIMIT 1`)),
        )
      return found.map((one) => (one as { name: string }).name)
    }
    const kept = 'people companies jobs records replies lookups'
    expect((await traces()).length).toBeGreaterThan(kept.split(' ').length)
    const would = await run('data forget jane@acme.example --dry-run')
    const { catalogue, engine, state } = await run('data forget jane@acme.example --yes')
    expect(await traces()).toEqual([])
    expect(would).toMatchObject({ catalogue, engine, state })
    expect(engine).toMatchObject({ records: 3, contacts: 1, jobs: 2, replies: 1, mentions: 2 })
    await database.drop()
  })

  it('has no sample any more once one machine has removed it', async () => {
    expect(await there.json('data', 'sample', '--remove', ...at())).toMatchObject({ removed: { people: 0 } })
    const database = await sampledDatabase(here.home)
    onTestFinished(database.drop)
    const sampled = ['--database', database.url]
    here.write('people.csv', people)
    await here.run(['data', 'import', 'people', 'people.csv', ...sampled])
    const { removed } = await there.json<{ removed: object }>('data', 'sample', '--remove', ...sampled)
    expect(removed).toEqual({ companies: 500, people: 5_000, jobs: 911, posts: 40 })
    const left = { companies: 1, people: 2, jobs: 0, technologies: 0, posts: 0 }
    expect(await here.json('data', 'stats', ...sampled)).toEqual(left)
  })

  it('does not serve when the catalogue has a newer schema', async () => {
    here.write('people.csv', people)
    await here.run(['data', 'import', 'people', 'people.csv', ...at()])
    await schema.sql(`UPDATE ${schema.name}_catalogue.schema_version SET version = 1099`)
    const served = await here.run(['serve', '--port', '0', ...at()])
    expect([served.code === 0, served.stdout]).toEqual([false, ''])
    expect(served.stderr).toContain('upgrade prospect')
  })
})
