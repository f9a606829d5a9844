import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, truncateSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { openEngineDatabase } from '../../../../src/engine/tables/schema.js'
import { perTest } from '../../../support/each.js'
import { freshSchema } from '../../../support/postgres.js'
import { place } from './place.js'

const here = perTest(place)
beforeEach(async () => {
  await here.json('init')
  await here.json('engine', 'status')
})

/** Returns the hash of every file in the home. */
const contents = () =>
  Object.fromEntries(
    readdirSync(here.home).map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(here.path(name)))
        .digest('hex'),
    ]),
  )

const schemaOf = (file: string): unknown => {
  const database = new Database(here.path(file), { readonly: true })
  try {
    return database.pragma('user_version', { simple: true })
  } finally {
    database.close()
  }
}

describe('doctor: databases', () => {
  it('reports a sound database without changing any file', async () => {
    const before = contents()
    await here.says(/^ok \| .*engine\.db: \d+ KiB, schema version \d+, sound\. \| $/, 'engine database')
    expect(contents()).toEqual(before)
  })

  it('accepts a database that does not exist yet, without creating it', async () => {
    await here.says(/^ok .* does not exist yet/, 'state database')
    expect(readdirSync(here.home)).not.toContain('state.db')
  })

  it('checks a database in use without touching its log', async () => {
    const other = new Database(here.path('engine.db'))
    try {
      other.exec('CREATE TABLE more (x)')
      const before = contents()
      await here.says(/^ok /, 'engine database')
      expect(contents()['engine.db-wal']).toBe(before['engine.db-wal'])
    } finally {
      other.close()
    }
  })

  it('reports a database of a newer program, and skips the checks that would read it', async () => {
    here.sql('engine.db', 'PRAGMA user_version = 1099')
    expect(await here.lines('engine database')).toContainEqual(
      expect.stringMatching(
        /^problem .* cannot be used: it has schema version 99, newer than this program's \d+; upgrade prospect\./,
      ),
    )
    for (const name of ['workspace', 'clock', 'key', 'sessions', 'jobs'])
      expect([name, await here.look(name)]).toEqual([name, []])
  })

  it('warns about a database from before the first release, without upgrading it', async () => {
    here.sql('engine.db', 'PRAGMA user_version = 5')
    await here.says(
      /^warning .* has schema version 1; its next use upgrades that to \d+\. \| Nothing to do\./,
      'engine database',
    )
    expect(schemaOf('engine.db')).toBe(5)
  })

  it('reports a database of an early build', async () => {
    here.sql('catalogue.db', 'PRAGMA user_version = 1')
    await here.says(/^problem .* cannot be used: an early build made it/, 'catalogue database')
    expect(await here.look('catalogue')).toEqual([])
  })

  it('reports a file that is not a database', async () => {
    await writeFile(here.path('state.db'), 'once upon a time '.repeat(1_000), { mode: 0o600 })
    await here.says(
      /^problem .*state\.db cannot be read: the file is not a database\. \| Move it away/,
      'state database',
    )
  })

  it('reports a damaged page, and suggests restoring a backup', async () => {
    const file = await open(here.path('engine.db'), 'r+')
    await file.write(Buffer.alloc(8_192, 0xa5), 0, 8_192, 4_096 * 2)
    await file.close()
    await here.says(
      /^problem .*engine\.db .* \| Put a backup in its place: prospect engine restore FILE$/,
      'engine database',
    )
  })

  it('reports a truncated database', async () => {
    truncateSync(here.path('catalogue.db'), 4_096 * 3)
    expect(await here.look('catalogue database')).toMatchObject([{ status: 'problem' }])
  })

  it('reads a large database completely only with --thorough', async () => {
    truncateSync(here.path('engine.db'), 3_221_225_472)
    await here.says(
      /^ok .*engine\.db: 3\.0 GiB, schema version \d+; not checked in full\. \| To check it: prospect doctor --thorough/,
      'engine database',
    )
    await here.says('sound', 'engine database', { thorough: true })
  })

  it('reports an unreachable database server without the password', async () => {
    const env = { PROSPECT_DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1:1/x' }
    const [line] = await here.lines('engine database', { env })
    expect(line).toMatch(/^problem .*cannot be reached: nothing listens at its address\./)
    expect(line).not.toContain('hunter2')
  })

  it('checks a database on a server without changing it', async () => {
    const schema = await freshSchema()
    const env = { PROSPECT_DATABASE_URL: schema.url }
    await here.says(/^warning .*on a server, and has no tables yet/, 'engine database', { env })
    expect(await schema.sql('SELECT 1 FROM pg_tables WHERE schemaname = current_schema()')).toEqual([])
    await (await openEngineDatabase(schema.url)).close()
    await here.says(/^ok .*on a server, and has schema version \d+\./, 'engine database', { env })
    const readOnly = `${schema.url}${encodeURIComponent(' -c default_transaction_read_only=on')}`
    expect(await here.lines('engine database', { env: { PROSPECT_DATABASE_URL: readOnly } })).toEqual([
      expect.stringMatching(
        /^problem \| The database is read-only: its setting default_transaction_read_only is on\. \| Give the/,
      ),
    ])
    await schema.sql('UPDATE schema_version SET version = 1099')
    await here.says(/^problem .*newer than this program/, 'engine database', { env })
    await schema.drop()
  })
})

describe('doctor: catalogue', () => {
  it('warns about an empty catalogue, and suggests sample data', async () => {
    await here.says(
      /^warning \| The catalogue is empty.* \| Load practice data with prospect data sample/,
      'catalogue',
    )
  })

  it('accepts a catalogue with data', async () => {
    await here.run(['data', 'sample', '--companies', '3', '--people', '3'])
    await here.says(/^ok /, 'catalogue')
  })

  it('warns about an import that was killed', async () => {
    here.sql('catalogue.db', 'CREATE TABLE unbuilt_indexes (name, owner, column, sql)')
    expect(await here.lines('catalogue')).toContainEqual(
      expect.stringMatching(/^warning .*prospect data stats/),
    )
  })
})
