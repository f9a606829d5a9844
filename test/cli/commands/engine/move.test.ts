import { cpSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Fields } from '../../../../src/api/values/objects.js'
import { readSample } from '../../../../src/catalogue/sample/sample.js'
import { movedParts } from '../../../../src/cli/commands/engine/move.js'
import { identifyEngine } from '../../../../src/engine/tables/schema.js'
import { readVersion } from '../../../../src/storage/database/migrate.js'
import type { MovedPart } from '../../../../src/storage/database/move.js'
import { openDatabase, openShared } from '../../../../src/storage/database/open.js'
import { type Connection, type Driver, isPostgres } from '../../../../src/storage/driver/connection.js'
import { openSqlite } from '../../../../src/storage/driver/sqlite/driver.js'
import { sampleRun } from '../../../reference/sample-run.js'
import { ends, type Machine, machine } from '../../../support/command.js'
import { perFile, perTest } from '../../../support/each.js'
import { tries } from '../../../support/effort.js'
import { freshSchema } from '../../../support/postgres.js'
import { postgresShape } from '../../../support/postgres-shape.js'
import { launch } from '../../../support/processes.js'
import { bundled } from '../../../support/programs.js'

/** A home whose engine has done work of every kind, with some companies of the sample, and all that belongs to them. */
async function workedIn() {
  const one = machine()
  await sampleRun(one.path('engine.db'))
  const sample = readSample(Date.parse('2026-11-28'))
  const companies = sample.companies.slice(0, 25)
  const domains = new Set(companies.map(({ domain }) => domain))
  const ofThem = (records: readonly Fields[]) => records.filter((one) => domains.has(one.company_domain))
  const people = ofThem(sample.people).slice(0, 150)
  for (const [kind, records] of Object.entries({ ...sample, companies, people, jobs: ofThem(sample.jobs) }))
    await one.fill(kind, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  for (const line of [
    'accounts enrich --domain acme-robotics.example --idempotency-key once',
    'suppress add jane@nobody.example --reason asked',
    'engine faults add leads --delay 0.1s --nth 9',
    'engine clock advance 1d',
  ])
    await ends(one.run(line), 0)
  return one
}

const worked = perFile(workedIn)
const here = perTest(() => {
  const one = machine()
  cpSync(worked.home, one.home, { recursive: true })
  return one
})
const schema = perTest(freshSchema)

const at = (url = schema.url) => ({ env: { PROSPECT_DATABASE_URL: url } })

/** The rows of each table of an engine, or of a catalogue, in the order of their keys. */
async function rowsIn(part: 'engine' | 'catalogue', place: string): Promise<Record<string, string>> {
  const parts = await movedParts()
  const driver = await opened(part, place)
  try {
    return await driver.read((reads) => everything(reads, parts[part]))
  } finally {
    await driver.close()
  }
}

const opened = (part: 'engine' | 'catalogue', place: string): Promise<Driver> | Driver =>
  !isPostgres(place) ? openSqlite(place) : part === 'engine' ? openDatabase(place) : openShared(place)

async function everything(reads: Connection, { tables }: MovedPart) {
  const rows: Record<string, string> = {}
  for (const { name, columns, key } of tables)
    rows[name] = JSON.stringify(
      await reads.all(`SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${key.join(', ')}`),
    )
  return rows
}

const rowsAt = async (engine: string, catalogue: string) => ({
  engine: await rowsIn('engine', engine),
  catalogue: await rowsIn('catalogue', catalogue),
})
const inHome = ({ path }: Machine) => rowsAt(path('engine.db'), path('catalogue.db'))

describe('moving an engine', () => {
  it('P40: takes every row to a server and back, byte for byte, and leaves nothing unfinished', async () => {
    const before = await inHome(here)
    const filled = Object.values(before)
      .flatMap(Object.values)
      .filter((rows) => rows !== '[]')
    expect(filled.length).toBeGreaterThan(25)
    const there = await here.run(['engine', 'move', '--to', schema.url, '--json'])
    expect(there.json).toMatchObject({ from: here.path('engine.db'), to: schema.url })
    expect(await rowsAt(schema.url, schema.url)).toEqual(before)
    const back = await here.run('engine move --to home --json', at())
    expect(back.json).toEqual({
      ...(there.json as object),
      from: schema.url,
      to: here.path('engine.db'),
      next: 'unset PROSPECT_DATABASE_URL',
    })
    expect(await inHome(here)).toEqual(before)
    expect(readdirSync(here.home).filter((name) => /moving|journal/.test(name))).toEqual([])
    for (const name of ['engine.db', 'catalogue.db'])
      expect(statSync(here.path(name)).mode & 0o777).toBe(0o600)
  })

  it('has the engine go on at its new place: its keys, ledger, numbers, searches and indexes', async () => {
    const search = 'leads advanced-search --preview --keyword sales --no-live --json'
    const found = (await here.run(search)).json as { total_count: number }
    const balance = await here.balance()
    await ends(here.run(['engine', 'move', '--to', schema.url]), 0)
    expect((await here.run(search, at())).json).toEqual(found)
    expect(found.total_count).toBeGreaterThan(10)
    await ends(here.run('accounts enrich --domain acme-robotics.example --refresh', at()), 0)
    expect(await here.balance(at())).toBe(balance - 1)
    await ends(here.run('engine ledger verify', at()), 0)
    const companies = 'domain,technologies\nnew.example,quite-new\n'
    await ends(here.run('data import companies -', { stdin: companies, ...at() }), 0)
    const fresh = await freshSchema()
    try {
      for (const part of ['', '_catalogue']) {
        await ends(machine().run('data import companies -', { stdin: companies, ...at(fresh.url) }), 0)
        const shapes = [schema, fresh].map(({ sql, name }) => postgresShape(sql, `${name}${part}`))
        const [moved, made] = await Promise.all(shapes)
        expect(moved).toEqual(made)
      }
    } finally {
      await fresh.drop()
    }
  })

  it('leaves the old database in its place, which refuses every use and names the new one', async () => {
    const before = await inHome(here)
    await ends(here.run(['engine', 'move', '--to', schema.url]), 0)
    for (const line of [
      'credits',
      'init --yes',
      'accounts enrich --domain acme-robotics.example',
      'data stats',
      'data import companies in.csv',
      'data sample',
      'engine credits add 5',
      'serve --port 0',
      'worker',
    ]) {
      here.write('in.csv', 'domain\nacme.example\n')
      await ends(here.run(line), 10, `it has moved to ${schema.url}; set PROSPECT_DATABASE_URL to that`)
    }
    await ends(here.run('engine backup kept.db'), 0)
    await ends(here.run('engine restore kept.db --yes'), 2, 'is a backup of an engine that had moved')
    expect((await here.run('doctor --json')).stdout).toContain(`engine.db cannot be used: it has moved to`)
    expect(await inHome(here)).toEqual(before)
  })

  it('has a server that still runs over the old database spend nothing there', async () => {
    await ends(here.run(['engine', 'move', '--to', schema.url]), 0)
    const key = await here.newKey('ada@example.com', at())
    const server = await here.start('serve --port 0', at())
    const ask = (path: string, body?: object) =>
      fetch(`${server.line}${path}`, {
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
      })
    expect((await ask('/accounts/single_enrich', { domain: 'acme-robotics.example' })).status).toBe(200)
    await ends(here.run('engine move --to home', at()), 0)
    const ledger = () => schema.sql('SELECT count(*) AS movements FROM movements')
    const before = await ledger()
    const refused = await ask('/accounts/single_enrich', { domain: 'acme-robotics.example' })
    expect([refused.status, await refused.text()]).toEqual([
      503,
      expect.stringContaining(`it has moved to ${here.path('engine.db')} on `),
    ])
    expect(await ledger()).toEqual(before)
    expect((await server.stop()).code).toBe(0)
    await ends(here.run('engine ledger verify'), 0)
  })

  it('asks on a terminal, and prints what moved and what to do next', async () => {
    const line = ['engine', 'move', '--to', schema.url]
    await ends(here.run(line, { typed: [['Move the engine', 'n\r']] }), 16, 'Declined')
    expect(await here.balance()).toBeGreaterThan(0)
    const { code, stdout } = await here.run([...line, '--yes'], { terminal: true, columns: 200 })
    expect([code, stdout]).toEqual([0, expect.stringMatching(/catalogue +people +150/)])
    expect(stdout).toContain(`export PROSPECT_DATABASE_URL='${schema.url}'`)
  })

  it('is found complete when it is repeated, and moves nothing a second time', async () => {
    const line = ['engine', 'move', '--to', schema.url, '--json']
    await ends(here.run(line), 0)
    await ends(here.run('engine credits add 5', at()), 0)
    const balance = await here.balance(at())
    const again = await ends(here.run(line), 0, 'had been moved there before')
    expect(again.json).toMatchObject({ tables: [], rows: 0 })
    expect(await here.balance(at())).toBe(balance)
  })

  it('moves a file to another one, with the same catalogue, and a server to another one, with shared runs', async () => {
    await ends(here.run('engine move --to team.db'), 0)
    expect(await here.balance(at(here.path('team.db')))).toBeGreaterThan(0)
    here.write('in.csv', 'Website\nacme-robotics.example\n')
    await ends(here.run(['engine', 'move', '--to', schema.url], at(here.path('team.db'))), 0)
    await ends(here.run(`accounts enrich --csv in.csv -o out.csv --database ${schema.url}`), 0)
    const [runs, other] = [await here.run('runs list --shared --json', at()), await freshSchema()]
    try {
      await ends(here.run(['engine', 'move', '--to', other.url], at()), 0)
      expect((await here.run('runs list --shared --json', at(other.url))).json).toEqual(runs.json)
      await ends(here.run(`accounts enrich --csv in.csv -o out.csv --database ${other.url}`), 0)
      expect((await here.run('runs list --shared --json', at(other.url))).json).toMatchObject([{ done: 1 }])
      await ends(here.run('engine move --to home', at(other.url)), 0, '1 shared run stayed in postgres:')
    } finally {
      await other.drop()
    }
  })
})

/** Whether an engine at a place would answer. */
async function isLive(place: string): Promise<boolean> {
  if (!isPostgres(place) && !existsSync(place)) return false
  const driver = await opened('engine', place)
  const isUsed = (reads: Connection) => identifyEngine(reads).then((id) => id !== undefined)
  try {
    return await driver.read(async (reads) => (await readVersion(reads)) === 1 && (await isUsed(reads)))
  } finally {
    await driver.close()
  }
}

describe('a move that is killed', () => {
  /** Some of the first steps, and all behind the one that marks the engine as moved. */
  const deadlySteps = (printed: string): string[] => {
    const [steps = 0, last = 0] = printed.split(' ').map(Number)
    const first = tries(1, 40)
    return [
      ...Array.from({ length: first }, (_, at) => `${Math.ceil(((at + 0.9) * (steps - 20)) / first)}`),
      ...Array.from({ length: last }, (_, at) => `+${at + 1}`),
    ]
  }

  it.each(['file', 'server'] as const)(
    'from a %s leaves one engine at most, and is completed by the same command',
    async (from) => {
      const program = await bundled('programs/moving.ts')
      const expected = await inHome(here)
      /** The engine at new places. */
      const begin = async () => {
        const [home, database] = [machine(), await freshSchema()]
        cpSync(here.home, home.home, { recursive: true })
        if (from === 'server') await ends(home.run(['engine', 'move', '--to', database.url]), 0)
        const env = from === 'server' ? { PROSPECT_DATABASE_URL: database.url } : {}
        const [old, fresh] = [home.path('engine.db'), database.url]
        const [source, target] = from === 'file' ? [old, fresh] : [fresh, old]
        const to = from === 'file' ? database.url : 'home'
        const move = (step: string) =>
          launch(program, [step, to], home.home, { ...env, PROSPECT_HOME: home.home })
        const end = async () => {
          home.remove()
          await database.drop()
        }
        return { home, database, env, source, target, to, move, end }
      }
      const whole = await begin()
      const { stdout } = await whole.move('0')
      await whole.end()
      const left: number[] = []
      for (const step of deadlySteps(stdout)) {
        const { home, database, env, source, target, to, move, end } = await begin()
        const { signal } = await move(step)
        const live = [await isLive(source), await isLive(target)]
        left.push(live.filter(Boolean).length)
        expect([step, signal]).toEqual([step, 'SIGKILL'])
        await ends(home.run(['engine', 'move', '--to', to], { env }), 0)
        expect([step, await isLive(source), await isLive(target)]).toEqual([step, false, true])
        const arrived = from === 'file' ? rowsAt(database.url, database.url) : inHome(home)
        expect([step, await arrived]).toEqual([step, expected])
        expect(readdirSync(home.home).filter((name) => name.includes('.moving'))).toEqual([])
        await end()
      }
      // One engine, or none for a moment, but never two.
      expect(new Set(left)).toEqual(new Set([0, 1]))
    },
  )
})

describe('a move that is refused', () => {
  const refusals: readonly (readonly [why: string, line: () => string[], says: string | RegExp])[] = [
    ['goes nowhere', () => ['home'], 'The engine is in '],
    ['goes nowhere by another path', () => ['./engine.db'], 'The engine is in '],
    ['goes to memory', () => [':memory:'], 'in memory'],
    ['goes to a file of this program', () => ['catalogue.db'], 'names a file that holds other data'],
    ['goes to a folder', () => ['.'], 'is a folder'],
    ['goes to an address of something else', () => ['mysql://db.example/x'], 'not a PostgreSQL address'],
    ['goes to a file of somebody else', () => ['theirs.db'], 'is not a database'],
  ]
  it.each(refusals)('%s: exits 2, and nothing is changed', async (_, to, says) => {
    writeFileSync(here.path('theirs.db'), 'theirs '.repeat(500), { mode: 0o600 })
    const before = await inHome(here)
    await ends(here.run(['engine', 'move', '--to', ...to()]), 2, says)
    expect(await inHome(here)).toEqual(before)
    expect(await here.balance()).toBeGreaterThan(0)
  })

  it('never shows a password, and takes none on the command line', async () => {
    const secret = 'postgres://ann:hunter2@127.0.0.1:1/db'
    const given = await ends(here.run(['engine', 'move', '--to', secret]), 2, '--to must not hold a password')
    const used = await ends(here.run('engine move --to home', at(secret)), 10, 'nothing listens')
    expect(given.stderr + used.stderr).not.toContain('hunter2')
    await ends(
      here.run(['engine', 'move', '--to', 'postgres://ann@127.0.0.1:1/db']),
      10,
      'Nothing was moved to',
    )
  })

  it('has no workspace to move', async () => {
    const empty = machine()
    try {
      await ends(empty.run(['engine', 'move', '--to', schema.url]), 2, 'There is no engine')
      await ends(empty.run('engine move --to home', at()), 2, 'There is no engine')
    } finally {
      empty.remove()
    }
  })

  it('would replace another engine, or records that are not its own', async () => {
    const other = machine()
    try {
      await ends(other.run('init --yes'), 0)
      await ends(other.run('init --yes', at()), 0)
      const [file, theirs] = [other.path('engine.db'), await rowsIn('engine', other.path('engine.db'))]
      await ends(here.run(['engine', 'move', '--to', file]), 2, `${file} has an engine or records already`)
      await ends(here.run(['engine', 'move', '--to', schema.url]), 2, 'has an engine or records already')
      expect(await rowsIn('engine', file)).toEqual(theirs)
      await ends(other.run('engine reset --yes'), 0)
      await ends(other.run('data import companies -', { stdin: 'domain\nmine.example\n' }), 0)
      await ends(other.run('engine move --to home', at()), 2, 'has an engine or records already')
      await ends(other.run('engine reset --yes'), 0)
      await ends(other.run('engine move --to home', at()), 0)
      expect(await other.json('data stats')).toMatchObject({ companies: 1 })
    } finally {
      other.remove()
    }
    expect(await here.balance()).toBeGreaterThan(0)
  })
})
