import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { migrations as catalogue } from '../../src/catalogue/schema/sqlite.js'
import { migrations as engine } from '../../src/storage/engine/migrations.js'
import { stateMigrations as state } from '../../src/storage/state/open.js'
import { bundled } from '../support/processes.js'
import { found, grouped, secondsSince } from './findings.js'
import { some } from './share.js'

const schemas = { engine, state, catalogue }

let program: string
let folder: string

beforeAll(async () => {
  program = await bundled('programs/migrating.ts')
  folder = mkdtempSync(join(tmpdir(), 'prospect-schemas-'))
})

afterAll(() => {
  rmSync(program)
  rmSync(folder, { recursive: true })
})

const place = (name: string) => join(folder, name)

async function migrating(file: string, kind: string, step: number, deadly: number) {
  const words = [program, file, kind, String(step), String(deadly)]
  const { exitCode, signal, stdout, stderr } = await execa(process.execPath, words, { reject: false })
  const [statements = 0, version = 0] = stdout.split(' ').map(Number)
  return { exitCode, signal, statements, version, stderr }
}

/** What a database is: the text of its schema, and how many rows each table has. */
function shapeOf(file: string): unknown {
  const database = new Database(file)
  try {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(database.pragma('foreign_key_check')).toEqual([])
    const made = database.prepare('SELECT name, type, sql FROM sqlite_schema ORDER BY type, name').all() as {
      name: string
      type: string
      sql: string | null
    }[]
    const tables = made.filter(({ type }) => type === 'table')
    const rows = tables.map(({ name }) => [
      name,
      database.prepare(`SELECT count(*) FROM "${name}"`).pluck().get(),
    ])
    const said = made.map(({ name, type, sql }) => [type, name, sql?.replace(/\s+/g, ' ').trim() ?? ''])
    return { version: database.pragma('user_version', { simple: true }), said, rows }
  } finally {
    database.close()
  }
}

function copied(from: string, to: string): void {
  for (const rest of ['-wal', '-shm']) rmSync(`${to}${rest}`, { force: true })
  copyFileSync(from, to)
  chmodSync(to, 0o600)
}

it.each(Object.keys(schemas) as (keyof typeof schemas)[])(
  'P39: a process killed at any statement of a step of the %s schema',
  async (kind) => {
    const began = performance.now()
    const newest = schemas[kind].length
    let [kills, statementsInAll] = [0, 0]
    for (let step = 0; step < newest; step++) {
      const old = place(`${kind}-${step}.db`)
      if (step > 0) expect((await migrating(old, kind, step, 0)).version).toBe(step)
      else new Database(old).close()
      chmodSync(old, 0o600)
      const whole = place('whole.db')
      copied(old, whole)
      const { statements, version } = await migrating(whole, kind, 0, 0)
      expect(version).toBe(newest)
      const [before, after] = [shapeOf(old), shapeOf(whole)]
      statementsInAll += statements
      const every = Math.max(1, Math.round(statements / some(statements)))
      for (let deadly = 1; deadly <= statements; deadly += every) {
        const file = place('killed.db')
        copied(old, file)
        expect((await migrating(file, kind, 0, deadly)).signal).toBe('SIGKILL')
        kills++
        // Nothing of the step is there, and it is done by whoever comes next.
        const kept = place('kept.db')
        for (const rest of ['-wal', '-shm']) rmSync(`${kept}${rest}`, { force: true })
        const database = new Database(file)
        await database.backup(kept)
        database.close()
        expect(shapeOf(kept)).toEqual(before)
        expect(await migrating(file, kind, 0, 0)).toMatchObject({ exitCode: 0, version: newest })
        expect(shapeOf(file)).toEqual(after)
      }
      const crowded = place('crowded.db')
      copied(old, crowded)
      const eight = await Promise.all(Array.from({ length: 8 }, () => migrating(crowded, kind, 0, 0)))
      expect(eight.map((one) => [one.exitCode, one.version, one.stderr])).toEqual(
        Array(8).fill([0, newest, '']),
      )
      // Those that came second only note the version there is.
      expect(eight.filter((one) => one.statements > 1)).toHaveLength(1)
      expect(shapeOf(crowded)).toEqual(after)
    }
    found({
      promise: 'P39',
      tried: `the ${kind} schema from each of its ${newest} earlier states: ${kills} kills over ${grouped(statementsInAll)} statements, and 8 processes at once`,
      lost: '0 schemas that were half done; one of the 8 did it, and all worked',
      measured: secondsSince(began),
    })
  },
)
