import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { catalogueSchema } from '../../src/catalogue/schema/schema.js'
import { engineSchema } from '../../src/engine/tables/schema.js'
import { newestVersion, storedNumber } from '../../src/storage/database/migrate.js'
import { stateSchema } from '../../src/storage/state/open.js'
import { madeUp } from '../support/made-up-schema.js'
import { backUp, copyDatabase, migrateIn, shapeOf } from '../support/migrations.js'
import { bundled } from '../support/programs.js'
import { found, grouped, secondsSince } from './findings.js'
import { some } from './share.js'

const schemas = { engine: engineSchema, state: stateSchema, catalogue: catalogueSchema, 'made-up': madeUp() }

const program = await bundled('programs/migrating.ts')
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'prospect-schemas-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true })
})

const place = (name: string) => join(folder, name)

/** An empty database, and one of version 1 as builds before the first release made it. */
async function beginnings(kind: keyof typeof schemas): Promise<string[]> {
  const [empty, unreleased] = [place(`${kind}-empty.db`), place(`${kind}-unreleased.db`)]
  new Database(empty).close()
  chmodSync(empty, 0o600)
  if (newestVersion(schemas[kind]) > 1) return [empty]
  copyDatabase(empty, unreleased)
  await migrateIn(program, unreleased, kind)
  const database = new Database(unreleased)
  database.pragma(`user_version = ${schemas[kind].unreleased}`)
  database.close()
  return [empty, unreleased]
}

it.each(Object.keys(schemas) as (keyof typeof schemas)[])(
  'P39: a process killed at any statement of the %s schema loses nothing',
  async (kind) => {
    const began = performance.now()
    const newest = storedNumber(newestVersion(schemas[kind]))
    let [kills, statementsInAll] = [0, 0]
    const olds = await beginnings(kind)
    for (const old of olds) {
      const whole = place('whole.db')
      copyDatabase(old, whole)
      const { statements, stored } = await migrateIn(program, whole, kind)
      expect(stored).toBe(newest)
      const [before, after] = [shapeOf(old), shapeOf(whole)]
      expect(after.problems).toEqual(['ok', []])
      statementsInAll += statements
      const every = Math.max(1, Math.round(statements / some(statements)))
      for (let deadly = 1; deadly <= statements; deadly += every) {
        const file = place('killed.db')
        copyDatabase(old, file)
        expect((await migrateIn(program, file, kind, deadly)).signal).toBe('SIGKILL')
        kills++
        // Nothing of the migration is there, and whoever comes next completes it.
        await backUp(file, place('kept.db'))
        expect(shapeOf(place('kept.db'))).toEqual(before)
        expect(await migrateIn(program, file, kind)).toMatchObject({ exitCode: 0, stored: newest })
        expect(shapeOf(file)).toEqual(after)
      }
      const crowded = place('crowded.db')
      copyDatabase(old, crowded)
      const eight = await Promise.all(Array.from({ length: 8 }, () => migrateIn(program, crowded, kind)))
      expect(eight.map((one) => [one.exitCode, one.stored, one.stderr])).toEqual(
        Array(8).fill([0, newest, '']),
      )
      expect(eight.filter((one) => one.statements > 0)).toHaveLength(1)
      expect(shapeOf(crowded)).toEqual(after)
    }
    found({
      promise: 'P39',
      tried: `the ${kind} schema from ${olds.length === 1 ? 'empty' : 'empty and from before version 1'}: ${kills} kills over ${grouped(statementsInAll)} statements, and 8 processes at once`,
      lost: '0 schemas that were half done; one of the 8 did it, and all worked',
      measured: secondsSince(began),
    })
  },
)
