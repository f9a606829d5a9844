import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { execa } from 'execa'
import { beforeEach, expect } from 'vitest'
import { createAdmin } from '../../src/engine/admin/admin.js'
import { openEngineDatabase } from '../../src/engine/tables/schema.js'
import { perTest } from '../support/each.js'
import { randomIds } from '../support/engine.js'
import { random } from '../support/killed-batch.js'
import { newFolder } from '../support/new-folder.js'
import { prospect, type Running, start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { count, openOwner, percentile } from './load.js'
import { grouped, listCounts, seedOf, soak, some } from './soak.js'

const everything = 100_000_000

const client = await bundled('programs/client.ts')
const storm = await bundled('programs/storm.ts')
const folder = perTest(newFolder)
let file: string
let key: string

beforeEach(async () => {
  file = folder.at('engine.db')
  const owner = await openOwner(file)
  key = owner.key
  await owner.admin.setCredits(everything)
  await owner.store.close()
})

/** Expects a database in order, and answers how many charges it holds. */
async function sound(of = file): Promise<number> {
  const database = new Database(of)
  try {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(database.pragma('foreign_key_check')).toEqual([])
  } finally {
    database.close()
  }
  const store = await openEngineDatabase(of)
  try {
    const admin = createAdmin({ store, clock: { now: Date.now }, ids: randomIds })
    expect((await admin.verify()).problems).toEqual([])
    return everything - (await admin.status()).credits.enrichment
  } finally {
    await store.close()
  }
}

const wordsOf = ({ lines }: Pick<Running, 'lines'>) => lines.map((line) => line.split(' '))

const acknowledgedBy = (running: Pick<Running, 'lines'>) =>
  wordsOf(running)
    .filter(([, status]) => status === '200')
    .map(([at]) => at)

const stopAll = async (processes: readonly Running[]) => {
  for (const code of await Promise.all(processes.map(({ stop }) => stop()))) expect(code).toBe(0)
}

soak('P38', 'a database whose log is cut anywhere, as by a power cut, loses nothing confirmed', async () => {
  const cuts = some(1_000, 20)
  const seed = seedOf()
  const pick = random(seed)
  // What is in the database itself stays as it is: the log is not moved before it is 16 MB long.
  new Database(file).pragma('wal_checkpoint(TRUNCATE)')
  const before = readFileSync(file)
  const running = start(storm, file, key, 'key', '4', '0')
  let log: Buffer = Buffer.alloc(0)
  while (log.length < 3_000_000) {
    await pause(20)
    log = readOf(`${file}-wal`)
  }
  running.child.kill('SIGKILL')
  await running.ended
  log = readOf(`${file}-wal`)
  expect(readFileSync(file).equals(before)).toBe(true)
  const acknowledged = wordsOf(running)
    .filter(([at, status]) => at !== '-' && status === '200')
    .map(([, , , size]) => Number(size))
  const offsets = Array.from({ length: cuts }, () => pick(log.length + 1)).sort((one, other) => one - other)
  let last = 0
  for (const offset of offsets) {
    const cut = folder.at('cut.db')
    for (const rest of ['', '-wal', '-shm']) rmSync(`${cut}${rest}`, { force: true })
    writeFileSync(cut, before, { mode: 0o600 })
    writeFileSync(`${cut}-wal`, log.subarray(0, offset), { mode: 0o600 })
    const charges = await sound(cut)
    expect(charges).toBeGreaterThanOrEqual(last)
    // When an answer left, the log was as long as it says at least.
    expect(charges).toBeGreaterThanOrEqual(acknowledged.filter((size) => size <= offset).length)
    last = charges
  }
  return {
    tried: `a log of ${grouped(log.length)} bytes cut at ${grouped(cuts)} places (seed ${seed})`,
    measured: `up to ${grouped(last)} charges`,
  }
})

function readOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}

const strace = ['-f', '-qq', '-o', '/dev/null']

const hasStrace = async () =>
  (await execa('strace', [...strace, process.execPath, '--version'], { reject: false })).exitCode === 0

soak('P38', 'a disk that fails or is full at any flush or write loses nothing confirmed', async () => {
  if (!(await hasStrace())) return { notRun: 'strace is not usable here' }
  const times = some(50, 3)
  const calls = 100
  let [refused, acknowledged] = [0, 0]
  const endings = new Map<number | undefined, number>()
  for (const inject of ['fsync,fdatasync:error=EIO', 'pwrite64:error=ENOSPC'])
    for (let n = 1; n <= times; n++) {
      const prefix = `${inject}-${n}-`
      const words = [client, file, key, 'accounts.enrich', String(calls), '4', prefix]
      const fault = [
        '-P',
        `${file}-wal`,
        '-P',
        file,
        '-e',
        `inject=${inject}:when=${n}${n % 2 === 0 ? '+' : ''}`,
      ]
      const bad = await execa('strace', [...strace, ...fault, process.execPath, ...words], { reject: false })
      count(endings, bad.exitCode)
      const answers = bad.stdout.split('\n').map((line) => line.split(' '))
      const good = new Set(answers.filter(([, status]) => status === '200').map(([at]) => at))
      expect(answers.filter(([, status]) => status !== undefined && !/^(?:200|503)$/.test(status))).toEqual(
        [],
      )
      refused += answers.filter(([, status]) => status === '503').length
      acknowledged += good.size
      // As if the leases of claims that nobody could drop had run out.
      const later = await execa(process.execPath, [...words, String(60_000)])
      const again = later.stdout.split('\n').map((line) => line.split(' '))
      expect(again.filter(([, status]) => status !== '200')).toEqual([])
      expect(again.filter(([at, , how]) => how === 'executed' && good.has(at))).toEqual([])
    }
  expect(await sound()).toBe(2 * times * calls)
  return {
    tried: `EIO at the n-th flush, ENOSPC at the n-th write, n to ${times}, once or from then on: ${grouped(2 * times * calls)} paid calls`,
    measured: `${grouped(acknowledged)} acknowledged, ${refused} refused with 503; exit codes ${listCounts(endings)}`,
  }
})

soak('P41', 'eight processes that pay, read and checkpoint the log do not disturb each other', async () => {
  const seconds = some(60, 5)
  const processes = Array.from({ length: 8 }, (_, at) =>
    start(storm, file, key, `key-${at}-`, '4', at < 2 ? '250' : '0'),
  )
  await pause(1_000 * seconds)
  await stopAll(processes)
  const answers = processes.flatMap(wordsOf)
  expect(answers.filter(([, status]) => status !== '200')).toEqual([])
  const waits = answers.filter(([at]) => at !== '-').map(([, , ms]) => Number(ms))
  const p99 = percentile(waits, 0.99)
  expect(await sound()).toBe(waits.length)
  expect(p99).toBeLessThanOrEqual(2_000)
  return {
    tried: `${seconds} s, ${grouped(answers.length)} calls while two of them move the log 4 times a second`,
    measured: `99th percentile of ${grouped(waits.length)} paid calls ${Math.round(p99)} ms (at most 2,000)`,
  }
})

soak('P40', 'backups are consistent while four processes pay', async () => {
  const backups = some(20, 3)
  const processes = Array.from({ length: 4 }, (_, at) => start(storm, file, key, `key-${at}-`, '4', '0'))
  const env = (home: string) => ({ env: { PROSPECT_HOME: home }, reject: false }) as const
  let last = 0
  for (let at = 0; at < backups; at++) {
    await pause(some(3_000, 200))
    const acknowledged = processes.reduce(
      (sum, one) => sum + acknowledgedBy(one).filter((id) => id !== '-').length,
      0,
    )
    const copy = folder.at(`copy-${at}.db`)
    const made = await execa(process.execPath, [prospect, 'engine', 'backup', copy], env(folder.path))
    expect([made.exitCode, made.stderr]).toEqual([0, ''])
    expect(statSync(copy).mode & 0o777).toBe(0o600)
    // Over a database that others use it is refused.
    const refused = await execa(
      process.execPath,
      [prospect, 'engine', 'restore', copy, '--yes'],
      env(folder.path),
    )
    expect(refused.exitCode).not.toBe(0)
    const home = folder.at(`home-${at}`)
    mkdirSync(home, { mode: 0o700 })
    // What lies beside the place of a database is no log of it.
    copyFileSync(`${file}-wal`, join(home, 'engine.db-wal'))
    const restored = await execa(process.execPath, [prospect, 'engine', 'restore', copy, '--yes'], env(home))
    expect([restored.exitCode, restored.stderr.includes('rror')]).toEqual([0, false])
    const charges = await sound(join(home, 'engine.db'))
    expect(charges).toBeGreaterThanOrEqual(Math.max(last, acknowledged))
    last = charges
  }
  await stopAll(processes)
  expect(await sound()).toBeGreaterThanOrEqual(last)
  return {
    tried: `${backups} backups, each restored beside a stale log`,
    measured: `up to ${grouped(last)} charges`,
  }
})
