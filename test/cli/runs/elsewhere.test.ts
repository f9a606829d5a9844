import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type CommandResult, command, type Machine, machine } from '../../support/command.js'
import { perFile, perTest } from '../../support/each.js'
import { emptySchema } from '../../support/postgres.js'
import { csvOf, type Listed } from './paying.js'

const jane = 'jane.zwolinska@acme.example'
const profile = 'https://www.network.example/in/jane-zwolinska-7'
const person = { full_name: 'Jane Zwolinska', email: jane, network_profile_url: profile, title: 'Carver' }

const schema = perFile(emptySchema)
beforeAll(async () => {
  const first = machine()
  const env = { PROSPECT_DATABASE_URL: schema.url }
  writeFileSync(join(first.home, 'catalogue.csv'), csvOf(40))
  writeFileSync(join(first.home, 'people.ndjson'), `${JSON.stringify(person)}\n`)
  for (const argv of [
    ['data', 'import', 'companies', 'catalogue.csv', '--json'],
    ['data', 'import', 'people', 'people.ndjson', '--json'],
    ['engine', 'credits', 'set', '1000', '--json'],
  ]) {
    const made = await first.run(argv, { env })
    if (made.code !== 0) throw new Error(made.stderr)
  }
  first.remove()
})

const here = perTest(machine)
const there = perTest(machine)
afterEach(async () => {
  await sql('TRUNCATE runs, answers, spending, run_locks CASCADE')
})

const sql = (text: string) => schema.sql(`SET search_path TO ${schema.name}_state; ${text}`)
const at = () => ['--database', schema.url]
const enrich = (one: Machine, ...more: string[]) =>
  one.run(['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--quiet', ...more])
const runs = async () => here.json<Listed[]>('runs', 'list', ...at())
const charges = async () =>
  Number((await schema.sql(`SELECT count(*) AS n FROM movements WHERE kind = 'charge'`))[0]?.n)
const replies = async () => Number((await schema.sql('SELECT count(*) AS n FROM run_replies'))[0]?.n)

/** Starts a run on the first machine that its budget stops, and returns its id. */
async function stopped(rows = 12, from = 0): Promise<string> {
  writeFileSync(join(here.home, 'in.csv'), csvOf(rows, from))
  expect((await enrich(here, ...at(), '--max-credits', '4')).code).toBe(12)
  return (await runs())[0]?.id ?? ''
}

/** Returns the words of the command that the hint of a stopped run suggests. */
function named({ stderr }: CommandResult): string[] {
  const [, words = ''] = /prospect (runs resume .*)$/m.exec(stderr) ?? []
  return words.trim().replaceAll("'", '').split(' ')
}

/** A second address of the database server that counts connections. */
async function counted(url: string) {
  const socket = '.s.PGSQL.5432'
  const host = /(?<=[?&]host=)[^&]+/
  const real = join(decodeURIComponent(host.exec(url)?.[0] ?? ''), socket)
  const folder = mkdtempSync(join(tmpdir(), 'door-'))
  let count = 0
  const door = createServer((client) => {
    count++
    const server = connect(real)
    for (const one of [client, server]) one.on('error', () => {})
    client.pipe(server).pipe(client)
  })
  await new Promise<void>((resolve) => door.listen(join(folder, socket), resolve))
  return {
    url: url.replace(host, encodeURIComponent(folder)),
    count: () => count,
    close: async () => {
      await new Promise((resolve) => door.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

describe('a run that is resumed on another machine', () => {
  it('resumes a run on another machine from a copy of its file', async () => {
    const before = await charges()
    const id = await stopped()
    writeFileSync(join(there.home, 'mine.csv'), csvOf(12))
    const resume = ['runs', 'resume', id, ...at(), '-o', 'out.csv', '--quiet', '--max-credits', '100']
    const file = join(here.home, 'in.csv')
    here.remove()
    const missing = await there.run(resume)
    expect(missing.code).toBe(2)
    expect(missing.stderr).toContain(file)
    expect(missing.stderr).toContain('--csv FILE')
    expect((await there.run([...resume, '--csv', 'mine.csv'])).code).toBe(0)
    expect((await charges()) - before).toBe(12)
    expect(readFileSync(join(there.home, 'out.csv'), 'utf8').trim().split('\n')).toHaveLength(13)
    const exported = ['runs', 'export', id.slice(0, 8), ...at(), '--csv', 'mine.csv', '-o', 'again.csv']
    expect((await there.run([...exported, '--quiet'])).code).toBe(0)
    expect(readFileSync(join(there.home, 'again.csv'))).toEqual(readFileSync(join(there.home, 'out.csv')))
    // The run now remembers the file of this machine.
    expect((await there.run(resume)).code).toBe(0)
    expect((await charges()) - before).toBe(12)
  })

  it('resumes a run on another machine from a pipe with the same content', async () => {
    const id = await stopped()
    const resume = ['runs', 'resume', id, ...at(), '-o', 'out.csv', '--quiet', '--max-credits', '100']
    expect((await there.run([...resume, '--csv', '-'], { stdin: csvOf(12) })).code).toBe(0)
    expect(await runs()).toMatchObject([{ id, status: 'finished', credits: 12 }])
  })

  it('refuses to resume from a file with other content, and spends nothing', async () => {
    const id = await stopped()
    const before = await charges()
    writeFileSync(join(there.home, 'mine.csv'), csvOf(13))
    const refused = await there.run(['runs', 'resume', id, ...at(), '--csv', 'mine.csv', '-o', 'out.csv'])
    expect([refused.code, await charges()]).toEqual([2, before])
    expect(refused.stderr).toContain(`${join(there.home, 'mine.csv')} has other content`)
    expect(refused.stderr).toContain(join(here.home, 'in.csv'))
  })

  it('refuses a changed file at the same path, and suggests forget and resume --csv', async () => {
    const id = await stopped()
    writeFileSync(join(here.home, 'in.csv'), csvOf(13))
    const { code, stderr } = await enrich(here, ...at())
    expect(code).toBe(2)
    expect(stderr).toContain('possibly on another machine')
    expect(stderr).toContain(`prospect runs forget ${id} --database '${schema.url}'`)
    expect(stderr).toContain(`prospect runs resume ${id} --database '${schema.url}' --csv FILE`)
  })
})

describe('the hint of a stopped run', () => {
  it('suggests a resume command with the database and the options of the run', async () => {
    writeFileSync(join(here.home, 'in.csv'), csvOf(9))
    const first = await enrich(here, ...at(), '--max-credits', '4', '--retry-unknown')
    const [{ id } = { id: '' }] = await runs()
    const words = (credits: string) => [
      'runs',
      'resume',
      id,
      '--retry-unknown',
      '--max-credits',
      credits,
      '--database',
      schema.url,
    ]
    expect(named(first)).toEqual(words('N'))
    const second = await here.run([...words('6'), '--quiet'])
    expect([second.code, named(second)]).toEqual([12, words('N')])
    const third = await here.run([...words('9'), '--quiet'])
    expect(third.code).toBe(0)
  })

  it('suggests --shared instead of the database address from the environment', async () => {
    const env = { PROSPECT_DATABASE_URL: schema.url }
    writeFileSync(join(here.home, 'in.csv'), csvOf(9))
    const argv = ['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--quiet', ...at()]
    const first = await here.run([...argv, '--max-credits', '4', '--fresh'], { env })
    const [{ id } = { id: '' }] = await runs()
    expect(named(first)).toEqual(['runs', 'resume', id, '--max-credits', 'N', '--shared'])
    // The same command with --fresh would start another run.
    expect(first.stderr).not.toContain('the same command again')
    const resumed = ['runs', 'resume', id, '--max-credits', '100', '--shared', '--quiet']
    expect((await here.run(resumed, { env })).code).toBe(0)
  })
})

describe('a machine whose clock is behind', () => {
  const day = 86_400_000
  const late = (...argv: string[]) =>
    command(argv, {
      env: { PROSPECT_HOME: here.home },
      cwd: here.home,
      clock: { now: () => Date.now() - 3 * day },
    })
  const times = async () =>
    (await sql('SELECT started_at, ended_at FROM runs')).map((row) =>
      [row.started_at, row.ended_at].map(Number),
    )

  it('records runs by the clock of the database', async () => {
    writeFileSync(join(here.home, 'in.csv'), csvOf(9, 30))
    const begun = Date.now() - day
    const part = ['accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv', '--quiet', ...at()]
    expect((await late(...part, '--max-credits', '4')).code).toBe(12)
    for (const time of (await times()).flat()) expect(time).toBeGreaterThan(begun)
    const [{ id } = { id: '' }] = await runs()
    await sql(`UPDATE runs SET status = 'running', ended_at = NULL`)
    expect((await late('runs', 'forget', id, ...at())).code).toBe(0)
    for (const time of (await times()).flat()) expect(time).toBeGreaterThan(begun)
  })
})

describe('a shared database', () => {
  it('runs resume opens no more connections than the batch command', async () => {
    const id = await stopped()
    await enrich(here, ...at(), '--max-credits', '100')
    const door = await counted(schema.url)
    const through = async (...argv: string[]) => {
      const before = door.count()
      expect((await here.run([...argv, '--quiet', '--database', door.url])).code).toBe(0)
      return door.count() - before
    }
    const again = await through('accounts', 'enrich', '--csv', 'in.csv', '-o', 'out.csv')
    const resumed = await through('runs', 'resume', id, '-o', 'out.csv')
    await door.close()
    expect(again).toBeGreaterThan(0)
    expect(resumed).toBe(again)
  })

  it('data forget deletes stored answers from the shared database', async () => {
    writeFileSync(join(here.home, 'people.csv'), `Profile\n${profile}\n`)
    const batch = ['leads', 'enrich', '--csv', 'people.csv', '--map', 'network_url=Profile', '-o', 'out.csv']
    const looked = await here.run([...batch, '--quiet', ...at()])
    expect([looked.code, looked.stderr]).toEqual([0, ''])
    const held = async () =>
      Number((await sql(`SELECT count(*) AS n FROM answers WHERE body LIKE '%Zwolinska%'`))[0]?.n)
    expect(await held()).toBe(1)
    const would = await there.json('data', 'forget', jane, '--dry-run', ...at())
    expect([would, await held()]).toMatchObject([{ state: { answers: 1 } }, 1])
    const told = await there.json('data', 'forget', jane, '--yes', ...at())
    expect([told, await held()]).toMatchObject([{ state: { answers: 1 } }, 0])
  })
})

describe('replies kept for a run that was taken over', () => {
  const day = 86_400_000

  /** Finishes a run that was taken over from a lost process, whose replies are kept. */
  async function lost(from: number): Promise<string> {
    const id = await stopped(9, from)
    await sql(`UPDATE runs SET status = 'running';
      INSERT INTO run_locks (name, token, holder, lease_until) SELECT known_by, 'x', 'nobody', 1 FROM runs`)
    const before = await replies()
    expect((await enrich(here, ...at(), '--max-credits', '100')).code).toBe(0)
    expect((await replies()) - before).toBe(5)
    return id
  }
  /** Starts another run on the same machine. */
  async function another(): Promise<void> {
    writeFileSync(join(here.home, 'in.csv'), csvOf(2, 38))
    expect((await enrich(here, ...at(), '--fresh')).code).toBe(0)
  }

  it('drops the replies a day after the run was taken over, when another command runs', async () => {
    const before = await replies()
    await lost(10)
    await another()
    expect((await replies()) - before).toBe(5)
    await sql(`UPDATE runs SET lost_at = lost_at - ${day}`)
    await another()
    expect(await replies()).toBe(before)
  })

  it('drops the replies when the same command starts a new run', async () => {
    const before = await replies()
    await lost(30)
    await sql(`UPDATE runs SET lost_at = lost_at - ${day}`)
    expect((await enrich(here, ...at(), '--fresh')).code).toBe(0)
    expect(await replies()).toBe(before)
  })

  it('keeps the replies of a forgotten run until a day has passed', async () => {
    const before = await replies()
    const id = await lost(20)
    expect((await here.run(['runs', 'forget', id, ...at()])).code).toBe(0)
    expect((await replies()) - before).toBe(5)
    await sql(`UPDATE runs SET lost_at = lost_at - ${day}`)
    await another()
    expect(await replies()).toBe(before)
  })
})
