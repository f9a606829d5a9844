import { spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { fileLock, hold } from '../../src/runs/records.js'
import { ends, machine, stockedMachine } from '../support/command.js'
import { perTest } from '../support/each.js'
import { loadSample } from '../support/sample.js'

const here = perTest(machine)
beforeEach(async () => {
  await here.run('init --yes')
  await loadSample(here.home)
  writeFileSync(at('in.csv'), 'domain\nacme-robotics.example\n')
})

const at = (name: string): string => here.path(name)

/** Runs a command, and returns its exit code and the sentence about the file. */
async function refusal(line: string): Promise<string> {
  const { code, stderr } = await here.run(`${line} --format csv`)
  const told =
    /\S+ (?:\(by default \S+\) )?(?:names one of prospect's own data files|would overwrite the input file)|\S+ and \S+(?= (?:\(.*\) )?name the same file)/
  const sentence = code === 2 ? (told.exec(stderr)?.[0] ?? stderr) : stderr
  return `${code} ${sentence}`
}

const ownFile = (option: string): string => `2 ${option} names one of prospect's own data files`

const enrich = (more: string) => refusal(`accounts enrich --csv in.csv ${more}`)

const own =
  'config.json credentials.json engine.db engine.db-wal engine.db-shm catalogue.db state.db state.db-journal runs/one/stdin.csv locks/name-nightly'.split(
    ' ',
  )

describe('files that prospect keeps its own data in', () => {
  it('are refused as the output of every command that writes a file', async () => {
    mkdirSync(at('runs/one'), { recursive: true })
    mkdirSync(at('locks'), { recursive: true })
    const content = readFileSync(at('engine.db'))
    for (const name of own) {
      expect(await refusal(`credits -o ${name}`)).toBe(ownFile('-o'))
      expect(await enrich(`-o ${name}`)).toBe(ownFile('-o'))
      expect(await enrich(`--rejects ${name}`)).toBe(ownFile('--rejects'))
      expect(await enrich(`-o out.csv --summary-json ${name}`)).toBe(ownFile('--summary-json'))
      expect(await refusal(`engine backup ${name}`)).toBe(ownFile('FILE'))
      expect(await refusal(`engine backup copy.db --catalogue ${name}`)).toBe(ownFile('--catalogue'))
    }
    expect(await refusal('data export companies -o catalogue.db')).toBe(ownFile('-o'))
    expect(await refusal('openapi -o catalogue.db')).toBe(ownFile('-o'))
    expect(await refusal('lists create --csv in.csv --rejects state.db')).toBe(ownFile('--rejects'))
    expect(readFileSync(at('engine.db')).equals(content)).toBe(true)
    expect(await here.balance()).toBe(1_000)
    expect(existsSync(at('copy.db'))).toBe(false)
  })

  it('are refused under every other name that leads to them', async () => {
    mkdirSync(at('elsewhere'))
    symlinkSync(at('engine.db'), at('elsewhere/link.csv'))
    symlinkSync(at('engine.db'), at('elsewhere/out.csv.partial'))
    symlinkSync(here.home, at('elsewhere/home'))
    symlinkSync('../engine.db-journal', at('elsewhere/dangling.csv'))
    linkSync(at('credentials.json'), at('elsewhere/hard.csv'))
    mkdirSync(at('runs/one'), { recursive: true })
    writeFileSync(at('runs/one/stdin.csv'), 'domain\n')
    const descriptor = openSync(at('engine.db'), 'r')
    const names = [
      'elsewhere/link.csv',
      'elsewhere/home/engine.db',
      'elsewhere/home/elsewhere/../state.db-wal',
      'elsewhere/dangling.csv',
      'elsewhere/hard.csv',
      'runs/one/stdin.csv',
      'elsewhere/out.csv',
      './elsewhere/../engine.db',
      at('config.json'),
      ...(existsSync('/proc/self/fd') ? [`/proc/self/fd/${descriptor}`] : []),
      `/dev/fd/${descriptor}`,
    ]
    try {
      for (const name of names) {
        expect([name, await refusal(`credits -o ${name}`)]).toEqual([name, ownFile('-o')])
        expect([name, await enrich(`-o ${name}`)]).toEqual([name, ownFile('-o')])
      }
    } finally {
      closeSync(descriptor)
    }
  })

  it('include a database elsewhere, and an output whose temporary file it would be', async () => {
    mkdirSync(at('elsewhere'))
    const env = { PROSPECT_DATABASE_URL: at('elsewhere/books.partial') }
    await here.run('init --yes', { env })
    for (const name of ['elsewhere/books.partial', 'elsewhere/books', 'elsewhere/books.partial-wal']) {
      const { code, stderr } = await here.run(`credits -o ${name}`, { env })
      expect([name, code, stderr]).toEqual([name, 2, expect.stringContaining("prospect's own data")])
    }
    expect((await here.run('engine ledger verify', { env })).code).toBe(0)
  })

  it('are refused as the database of the engine', async () => {
    for (const name of ['config.json', 'credentials.json', 'catalogue.db', 'state.db']) {
      const env = { PROSPECT_DATABASE_URL: at(name) }
      const { code, stderr } = await here.run('engine status', { env })
      expect([name, code, stderr]).toEqual([name, 2, expect.stringContaining('holds other data')])
    }
    expect((await here.run('serve --database state.db')).code).toBe(2)
    expect(existsSync(at('config.json'))).toBe(false)
  })

  it('may have other files beside them, and copies', async () => {
    expect(await refusal('credits -o engine.db.csv')).toMatch(/^0 /)
    expect(await refusal('engine backup engine.db.bak')).toMatch(/^0 /)
    expect(await enrich('-o out.csv --summary-json /dev/null --rejects /dev/null')).toMatch(/^0 /)
  })
})

describe('the output of a batch', () => {
  it('is refused before the mapping, the quote and the question', async () => {
    const argv = 'accounts enrich --csv in.csv -o nowhere/out.csv'
    const { stderr } = await ends(here.run(argv, { typed: [['Start?', 'y\n']] }), 2, 'there is no folder')
    expect(stderr).not.toMatch(/<-|Lookups|Start\?/)
    expect(await here.json('runs list')).toEqual([])
  })

  it.skipIf(process.platform === 'win32')(
    'is refused before the quote in a folder that may not be written',
    async () => {
      // Nothing keeps root from writing but to give that up.
      const asAnybody = process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-dac_override'] : []
      const home = at('of-user')
      mkdirSync(home, { mode: 0o700 })
      mkdirSync(at('locked'), { mode: 0o555 })
      await stockedMachine(home)
      const before = readdirSync(home)
      const [program = '', ...argv] = [
        ...asAnybody,
        ...[process.execPath, resolve('bin/prospect.js')],
        ...'accounts enrich --csv in.csv -o locked/out.csv'.split(' '),
      ]
      const env = { PATH: process.env.PATH, PROSPECT_HOME: home }
      const ended = spawnSync(program, argv, { cwd: here.home, env, encoding: 'utf8' })
      expect([ended.status, ended.stdout, ended.stderr]).toEqual([
        2,
        '',
        expect.stringMatching(/^-o locked\/out\.csv: the folder \S+\/locked cannot be written\./),
      ])
      expect(readdirSync(home)).toEqual(before)
    },
  )
})

it.each([
  ['that is there', true],
  ['to come', false],
])('the file of another command is refused under another path, also one %s', async (_, isThere) => {
  mkdirSync(at('x'))
  symlinkSync(at('x'), at('y'))
  if (isThere) writeFileSync(at('x/a.csv'), '')
  const home = { state: at('state.db') } as Parameters<typeof fileLock>[0]['home']
  const ports = { home, clock: { now: Date.now }, onClose: onTestFinished } as unknown as Parameters<
    typeof hold
  >[0]
  hold(ports, fileLock({ home }, join(realpathSync(at('x')), 'a.csv')), { of: 'file', name: 'a.csv' })
  expect(await enrich('-o y/a.csv')).toMatch(/^15 .*y\/a\.csv is in use by another command/s)
})

it('the files of one command are different ones: an output replaces neither another output nor the input', async () => {
  mkdirSync(at('x'))
  symlinkSync(at('x'), at('y'))
  linkSync(at('in.csv'), at('same.csv'))
  expect(await enrich('-o x/a.csv --rejects y/a.csv')).toBe('2 -o and --rejects')
  expect(await enrich('-o a.csv --rejects a.csv.partial')).toBe('2 -o and --rejects')
  expect(await enrich('-o a.csv --summary-json ./a.csv')).toBe('2 -o and --summary-json')
  expect(await enrich('-o a.csv --summary-json a.rejects.csv')).toMatch('2 --summary-json and --rejects')
  expect(existsSync(at('a.csv.partial'))).toBe(false)
  expect(await enrich('-o in.csv')).toBe('2 -o would overwrite the input file')
  expect(await enrich('-o a.csv --rejects same.csv')).toBe('2 --rejects would overwrite the input file')
  expect(await enrich('--summary-json x/../in.csv')).toBe('2 --summary-json would overwrite the input file')
  expect(await refusal('data import companies in.csv -o in.csv')).toBe('2 -o would overwrite the input file')
  expect(await refusal('engine backup a.db --catalogue ./a.db')).toBe('2 FILE and --catalogue')
  expect(await here.balance()).toBe(1_000)
  expect(readFileSync(at('in.csv'), 'utf8')).toBe('domain\nacme-robotics.example\n')
})
