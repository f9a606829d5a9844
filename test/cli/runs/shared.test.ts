import { cpSync } from 'node:fs'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type CommandResult, ends, type Machine, machine } from '../../support/command.js'
import { perFile, perTest } from '../../support/each.js'
import { emptySchema } from '../../support/postgres.js'
import { csvOf, knownFrom, type Listed } from './paying.js'

const day = 86_400_000
const jane = 'jane.zwolinska@acme.example'
const profile = 'https://www.network.example/in/jane-zwolinska-7'

const schema = perFile(emptySchema)
const engine = () => ({ env: { PROSPECT_DATABASE_URL: schema.url } })
beforeAll(async () => {
  const first = machine()
  const known = knownFrom(40).map((domain) => `,${domain}`)
  const companies = ['name,domain', 'Acme Robotics GmbH,acme-robotics.example', ...known, ''].join('\n')
  const people = `full_name,email,network_profile_url,title\nJane Zwolinska,${jane},${profile},Carver\n`
  for (const [line, stdin] of [
    ['init', ''],
    ['data import companies -', companies],
    ['data import people -', people],
    ['engine credits set 1000', ''],
  ] as const)
    await ends(first.run(line, { ...engine(), stdin }), 0)
  first.remove()
})

const here = perTest(machine)
const there = perTest(machine)
afterEach(async () => {
  await sql('TRUNCATE runs, lookups, budgets, spending, run_locks CASCADE')
})

const sql = (text: string) => schema.sql(`SET search_path TO ${schema.name}_state; ${text}`)
const countOf = async (from: string) => Number((await sql(`SELECT count(*) AS n FROM ${from}`))[0]?.n)
const charges = () => countOf(`${schema.name}.movements WHERE kind = 'charge'`)
const replies = () => countOf(`${schema.name}.run_replies`)

const at = () => `--database ${schema.url}`
const enrich = (one: Machine, more = '') =>
  one.run(`accounts enrich --csv in.csv -o out.csv --quiet ${at()} ${more}`)
const runs = (one: Machine = here) => one.json<Listed[]>(`runs list ${at()}`)
const lines = (one: Machine, name = 'out.csv') => one.read(name).trim().split('\n')

/** Starts a run on the first machine that its budget stops, and returns its id. */
async function stopped(rows = 12, from = 0): Promise<string> {
  here.write('in.csv', csvOf(rows, from))
  await ends(enrich(here, '--max-credits 4'), 12)
  return (await runs())[0]?.id ?? ''
}

/** Has a process of another machine hold the run, until a time. */
const held = (until: string) =>
  sql(`UPDATE runs SET status = 'running'; INSERT INTO run_locks (name, token, holder, lease_until)
    SELECT known_by, 'x', 'process 7, on elsewhere', ${until} FROM runs`)

/** Returns the command that the hint of a stopped run suggests. */
const named = ({ stderr }: CommandResult) =>
  /prospect (runs resume .*)$/m.exec(stderr)?.[1]?.trim().replaceAll("'", '')

describe('a run in a shared database', () => {
  it('charges a company once whose domain an earlier answer shows, also when another machine resumes it', async () => {
    const before = await charges()
    here.write('in.csv', 'Company,Website\nAcme Robotics GmbH,\n,company-1.example\n,acme-robotics.example\n')
    cpSync(here.path('in.csv'), there.path('in.csv'))
    await ends(enrich(here, '--concurrency 1 --max-credits 1'), 12)
    await ends(enrich(there), 0)
    expect((await charges()) - before).toBe(2)
    expect(await runs()).toMatchObject([{ status: 'finished', done: 3, credits: 2 }])
  })

  it('resumes on another machine with the same file and pays for the remaining rows only', async () => {
    const before = await charges()
    here.write('in.csv', csvOf(20))
    cpSync(here.path('in.csv'), there.path('in.csv'))
    await ends(enrich(here, '--max-credits 8'), 12)
    expect(await runs(there)).toMatchObject([{ status: 'stopped', rows: 20, done: 8, credits: 8 }])
    await there.json('init')
    expect(await there.json('runs list')).toEqual([])
    await ends(enrich(there), 0)
    expect([(await charges()) - before, lines(there).length]).toEqual([20, 21])
    const [{ id } = { id: '' }] = await runs()
    expect(await runs()).toMatchObject([{ status: 'finished', done: 20, credits: 20 }])
    expect(await here.json(`runs show ${id} ${at()}`)).toMatchObject({
      credits_reserved: 0,
      lookups: { valid_emails: null },
    })
    const by = await here.run('ledger --by run --shared --json', engine())
    expect(by.json).toEqual([{ run: id, calls: 20, credits: 20, suspect: 0 }])
    await here.json('init')
    expect(await here.json('ledger --by run')).toEqual([])
    await ends(there.run(`runs export ${id} ${at()} -o again.csv --quiet`), 0)
    expect(there.read('again.csv')).toBe(there.read('out.csv'))
    await ends(here.run(`runs forget ${id} ${at()}`), 0)
    expect(await runs(there)).toEqual([])
  })

  it('is not resumed or deleted while it is active on another machine', async () => {
    const id = await stopped(5, 20)
    await held('(extract(epoch FROM now()) * 1000)::bigint + 20000')
    await ends(enrich(here), 15, 'elsewhere')
    expect(await runs(there)).toMatchObject([{ status: 'running' }])
    await ends(there.run(`runs forget ${id} ${at()}`), 15)
    expect(await there.json(`data purge --older-than 0s ${at()}`)).toMatchObject({ runs: 0 })
    await sql('UPDATE run_locks SET lease_until = 1')
    expect(await runs(there)).toMatchObject([{ status: 'stopped' }])
    await ends(enrich(here), 0)
  })

  it('is deleted with its stored answers from any machine with data purge', async () => {
    here.write('in.csv', csvOf(3, 30))
    await enrich(here)
    expect(await countOf('lookups')).toBe(3)
    expect(await there.json(`data purge --older-than 0s ${at()}`)).toMatchObject({ runs: 1, answers: 3 })
    expect(await countOf('lookups')).toBe(0)
  })

  it('is forgotten about a person from any machine', async () => {
    here.write('people.csv', `Profile\n${profile}\n`)
    const batch = `leads enrich --csv people.csv --map network_url=Profile -o out.csv --quiet ${at()}`
    await ends(here.run(batch), 0, /^$/)
    const told = () => countOf(`lookups WHERE body LIKE '%Zwolinska%'`)
    const would = await there.json(`data forget ${jane} --dry-run ${at()}`)
    expect([would, await told()]).toMatchObject([{ state: { answers: 1 } }, 1])
    const done = await there.json(`data forget ${jane} --yes ${at()}`)
    expect([done, await told()]).toMatchObject([{ state: { answers: 1 } }, 0])
  })

  it('is recorded by the clock of the database on a machine whose clock is behind', async () => {
    const clock = { now: () => Date.now() - 3 * day }
    const times = async () =>
      (await sql('SELECT started_at, ended_at FROM runs')).flatMap((row) => Object.values(row).map(Number))
    here.write('in.csv', csvOf(9, 30))
    const begun = Date.now() - day
    const batch = `accounts enrich --csv in.csv -o out.csv --quiet ${at()}`
    await ends(here.run(`${batch} --max-credits 4`, { clock }), 12)
    for (const time of await times()) expect(time).toBeGreaterThan(begun)
    const [{ id } = { id: '' }] = await runs()
    await sql(`UPDATE runs SET status = 'running', ended_at = NULL`)
    await ends(here.run(`runs forget ${id} ${at()}`, { clock }), 0)
    for (const time of await times()) expect(time).toBeGreaterThan(begun)
  })
})

describe('a run that is resumed by its id on another machine', () => {
  const resume = (id: string) => `runs resume ${id} ${at()} -o out.csv --quiet --max-credits 100`

  it('takes a copy of its file', async () => {
    const before = await charges()
    const id = await stopped()
    there.write('mine.csv', csvOf(12))
    here.remove()
    await ends(there.run(resume(id)), 2, here.path('in.csv'), '--csv FILE')
    await ends(there.run(`${resume(id)} --csv mine.csv`), 0)
    expect([(await charges()) - before, lines(there).length]).toEqual([12, 13])
    const exported = `runs export ${id.slice(0, 8)} ${at()} --csv mine.csv -o again.csv --quiet`
    await ends(there.run(exported), 0)
    expect(there.read('again.csv')).toBe(there.read('out.csv'))
    // The run now remembers the file of this machine.
    await ends(there.run(resume(id)), 0)
    expect((await charges()) - before).toBe(12)
  })

  it('takes the same content from a pipe', async () => {
    const id = await stopped()
    await ends(there.run(`${resume(id)} --csv -`, { stdin: csvOf(12) }), 0)
    expect(await runs()).toMatchObject([{ id, status: 'finished', credits: 12 }])
  })

  it('refuses a file with other content, and spends nothing', async () => {
    const id = await stopped()
    const before = await charges()
    there.write('mine.csv', csvOf(13))
    const said = `${there.path('mine.csv')} has other content`
    await ends(there.run(`${resume(id)} --csv mine.csv`), 2, said, here.path('in.csv'))
    here.write('in.csv', csvOf(13))
    await ends(
      enrich(here),
      2,
      'possibly on another machine',
      `prospect runs forget ${id} --database '${schema.url}'`,
      `prospect runs resume ${id} --database '${schema.url}' --csv FILE`,
    )
    expect(await charges()).toBe(before)
  })

  it('is told the command, with the database and the options of the run', async () => {
    here.write('in.csv', csvOf(9))
    const first = await enrich(here, '--max-credits 4 --retry-unknown')
    const [{ id } = { id: '' }] = await runs()
    const words = (credits: string) => `runs resume ${id} --retry-unknown --max-credits ${credits} ${at()}`
    expect(named(first)).toBe(words('N'))
    const second = await ends(here.run(`${words('6')} --quiet`), 12)
    expect(named(second)).toBe(words('N'))
    await ends(here.run(`${words('9')} --quiet`), 0)
  })

  it('is told --shared instead of the database address from the environment', async () => {
    here.write('in.csv', csvOf(9))
    const batch = `accounts enrich --csv in.csv -o out.csv --quiet ${at()} --max-credits 4 --fresh`
    const first = await here.run(batch, engine())
    const [{ id } = { id: '' }] = await runs()
    expect(named(first)).toBe(`runs resume ${id} --max-credits N --shared`)
    // The same command with --fresh would start another run.
    expect(first.stderr).not.toContain('the same command again')
    await ends(here.run(`runs resume ${id} --max-credits 100 --shared --quiet`, engine()), 0)
  })
})

describe('replies kept for a run that was taken over', () => {
  /** Finishes a run that was taken over from a lost process, whose replies are kept. */
  async function lost(from: number): Promise<string> {
    const before = await replies()
    const id = await stopped(9, from)
    expect(await replies()).toBe(before)
    await held('1')
    await ends(enrich(here, '--max-credits 100'), 0)
    expect((await replies()) - before).toBe(5)
    return id
  }
  const dayLater = () => sql(`UPDATE runs SET lost_at = lost_at - ${day}`)
  /** Starts another run on the same machine. */
  async function another(): Promise<void> {
    here.write('in.csv', csvOf(2, 38))
    await ends(enrich(here, '--fresh'), 0)
  }

  it.each([
    ['another command runs', 10, another],
    ['the same command starts a new run', 30, () => ends(enrich(here, '--fresh'), 0)],
  ])('are dropped a day after it was taken over, when %s', async (_, from, next) => {
    const before = await replies()
    await lost(from)
    await another()
    expect((await replies()) - before).toBe(5)
    await dayLater()
    here.write('in.csv', csvOf(9, from))
    await next()
    expect(await replies()).toBe(before)
  })

  it('are kept for a day when it is forgotten', async () => {
    const before = await replies()
    const id = await lost(20)
    await ends(here.run(`runs forget ${id} ${at()}`), 0)
    expect((await replies()) - before).toBe(5)
    await dayLater()
    await another()
    expect(await replies()).toBe(before)
  })
})
