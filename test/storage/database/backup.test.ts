import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { backup, publish, restore as restoreAll } from '../../../src/storage/database/backup.js'
import { databaseFile, removeDatabase, whileUnused } from '../../../src/storage/database/database-file.js'
import { openSqlite } from '../../../src/storage/driver/sqlite/driver.js'
import { perTest } from '../../support/each.js'
import { inWords } from '../../support/in-words.js'
import { newFolder } from '../../support/new-folder.js'

const table = 'things'
const folder = perTest(newFolder)
const at = (name: string) => folder.at(name)

/** A database of one table with so many rows; left open it is in WAL mode and in use. */
async function made(name: string, rows: number, stored = 1) {
  const driver = openSqlite(at(name))
  await driver.transaction(async (connection) => {
    await connection.exec(`CREATE TABLE things (id INTEGER PRIMARY KEY); PRAGMA user_version = ${stored}`)
    for (let row = 0; row < rows; row++) await connection.run('INSERT INTO things DEFAULT VALUES')
  })
  return driver
}

function rowsIn(name: string): number {
  const database = new Database(at(name), { readonly: true })
  try {
    return database.prepare('SELECT count(*) FROM things').pluck().get() as number
  } finally {
    database.close()
  }
}

const restore = async (file: string, location: string, kind: string, signal?: AbortSignal) =>
  (await restoreAll([{ file, location, table: kind }], signal))[0]

const beside = (name: string) =>
  readdirSync(folder.path)
    .filter((one) => one.startsWith(name))
    .toSorted()

const partialOf = (name: string) => at(`${name}.${process.pid}.partial`)

describe('backup', () => {
  it('copies what was committed while the database is in use, into one file that only its owner can read', async () => {
    const driver = await made('live.db', 50)
    const bytes = await backup(at('live.db'), at('copy.db'))
    await driver.transaction((connection) => connection.run('INSERT INTO things DEFAULT VALUES'))
    await driver.close()
    const { size, mode } = statSync(at('copy.db'))
    expect([size, mode & 0o777]).toEqual([bytes, 0o600])
    expect(readdirSync(folder.path).filter((name) => name.startsWith('copy.db'))).toEqual(['copy.db'])
    expect(rowsIn('copy.db')).toBe(50)
  })

  it('does not replace what has appeared under its name meanwhile', () => {
    for (const name of ['copy.db', 'partial']) writeFileSync(at(name), name)
    expect(() => inWords(() => publish(at('partial'), at('copy.db')))).toThrow('exists already')
    expect(readFileSync(at('copy.db'), 'utf8')).toBe('copy.db')
  })

  it.each<[string, () => unknown, string, string | RegExp]>([
    ['another file has its name', () => writeFileSync(at('copy.db'), 'theirs'), 'copy.db', 'exists already'],
    [
      'another command writes it',
      () => writeFileSync(partialOf('copy.db'), 'theirs'),
      'copy.db',
      '.partial exists already',
    ],
    ['its folder cannot be written to', () => {}, 'nowhere/copy.db', /nowhere.* cannot be written/],
    [
      'the file is not a database',
      () => writeFileSync(at('live.db'), 'x'.repeat(5_000)),
      'copy.db',
      'is not a database',
    ],
  ])('is refused where %s, and changes nothing', async (_, prepare, to, text) => {
    await (await made('live.db', 1)).close()
    await prepare()
    const before = readdirSync(folder.path)
    await expect(inWords(() => backup(at('live.db'), at(to)))).rejects.toThrow(text)
    expect(readdirSync(folder.path)).toEqual(before)
    for (const name of before.filter((name) => name.startsWith('copy.db')))
      expect(readFileSync(at(name), 'utf8')).toBe('theirs')
  })

  it('says which file it cannot read', async () => {
    const copying = inWords(() => backup(folder.path, at('copy.db')))
    await expect(copying).rejects.toThrow(`${folder.path} cannot be copied (SQLITE_`)
  })
})

describe('restore', () => {
  it('replaces a database and its WAL with the backup', async () => {
    const driver = await made('live.db', 5)
    await backup(at('live.db'), at('copy.db'))
    await driver.transaction((connection) => connection.run('INSERT INTO things DEFAULT VALUES'))
    const log = readFileSync(at('live.db-wal'))
    await driver.close()
    writeFileSync(at('live.db-wal'), log)
    expect(await restore(at('copy.db'), at('live.db'), table)).toBe(1)
    expect(rowsIn('live.db')).toBe(5)
    expect(statSync(at('live.db')).mode & 0o777).toBe(0o600)
  })

  it('accepts a backup in WAL mode, and does not change it', async () => {
    await (await made('copy.db', 7)).close()
    const before = readFileSync(at('copy.db'))
    await restore(at('copy.db'), at('live.db'), table)
    expect(rowsIn('live.db')).toBe(7)
    expect(readFileSync(at('copy.db')).equals(before)).toBe(true)
  })

  it('refuses while another process has the database open, and changes nothing', async () => {
    const driver = await made('live.db', 5)
    await backup(at('live.db'), at('copy.db'))
    await driver.transaction((connection) => connection.run('INSERT INTO things DEFAULT VALUES'))
    await expect(inWords(() => restore(at('copy.db'), at('live.db'), table))).rejects.toThrow(
      'Another process has',
    )
    expect(await driver.read((connection) => connection.get('SELECT count(*) AS n FROM things'))).toEqual({
      n: 6,
    })
    await driver.close()
    expect(rowsIn('live.db')).toBe(6)
  })

  it('replaces a damaged database', async () => {
    await (await made('copy.db', 3)).close()
    writeFileSync(at('live.db'), 'damaged'.repeat(1_000))
    await restore(at('copy.db'), at('live.db'), table)
    expect(rowsIn('live.db')).toBe(3)
  })

  it.each([
    ['no file', async () => {}, 'There is no file'],
    ['no database', async () => writeFileSync(at('copy.db'), 'x'.repeat(5_000)), 'is not a database'],
    [
      'another kind',
      async () => new Database(at('copy.db')).exec('CREATE TABLE others (id)').close(),
      'is not a backup',
    ],
    ['a newer schema', async () => (await made('copy.db', 1, 2)).close(), 'newer'],
    ['a damaged one', async () => damaged(), 'is damaged'],
    ['a pipe', async () => void execFileSync('mkfifo', [at('copy.db')]), 'is not a database'],
    ['a folder', async () => mkdirSync(at('copy.db')), 'is not a database'],
  ])('refuses %s and changes nothing', async (_, make, text) => {
    await (await made('live.db', 2)).close()
    await make()
    await expect(inWords(() => restore(at('copy.db'), at('live.db'), table))).rejects.toThrow(text)
    expect(rowsIn('live.db')).toBe(2)
  })

  it('leaves nothing of its copy when a signal ends it, and the database as it was', async () => {
    await (await made('copy.db', 200_000)).close()
    await (await made('live.db', 2)).close()
    const ending = new AbortController()
    const restoring = inWords(() => restore(at('copy.db'), at('live.db'), table, ending.signal))
    ending.abort('SIGTERM')
    await expect(restoring).rejects.toThrow('Terminated while a backup was restored')
    expect(beside('live.db')).toEqual(['live.db'])
    expect(rowsIn('live.db')).toBe(2)
  })

  it('replaces none of several databases where a backup of one is refused, or one is in use', async () => {
    const open = await made('live.db', 2)
    await backup(at('live.db'), at('copy.db'))
    await (await made('other.db', 9)).close()
    writeFileSync(at('broken.db'), 'x'.repeat(5_000))
    const first = { file: at('copy.db'), location: at('other.db'), table }
    for (const [file, said] of [
      ['broken.db', 'is not a database'],
      ['copy.db', 'Another process has'],
      ['none.db', 'There is no file'],
    ] as const) {
      const both = [first, { file: at(file), location: at('live.db'), table }]
      await expect(inWords(() => restoreAll(both))).rejects.toThrow(said)
      expect(rowsIn('other.db')).toBe(9)
    }
    await open.close()
    expect(await restoreAll([first, { file: at('copy.db'), location: at('live.db'), table }])).toEqual([1, 1])
    expect([rowsIn('other.db'), rowsIn('live.db')]).toEqual([2, 2])
  })

  it('removes what a killed one has left, and nothing of one that is under way', async () => {
    await (await made('copy.db', 3)).close()
    const { pid: dead } = spawnSync(process.execPath, ['--version'])
    const left = [`live.db.${dead}.partial`, `live.db.${dead}.partial-journal`]
    const others = [`live.db.${process.ppid}.partial`, `live.db.copy.${dead}.partial`, 'live.db.partial']
    for (const name of [...left, ...others]) writeFileSync(at(name), 'left')
    await restore(at('copy.db'), at('live.db'), table)
    expect(rowsIn('live.db')).toBe(3)
    expect(beside('live.db')).toEqual(['live.db', ...others].toSorted())
  })

  it('that was killed leaves nothing once the database is opened again', async () => {
    await (await made('live.db', 3)).close()
    const { pid: dead } = spawnSync(process.execPath, ['--version'])
    const others = [`live.db.${process.ppid}.partial`, 'live.db.partial']
    for (const name of [`live.db.${dead}.partial`, `live.db.${dead}.partial-journal`, ...others])
      writeFileSync(at(name), 'left')
    await openSqlite(at('live.db')).close()
    expect(beside('live.db')).toEqual(['live.db', ...others].toSorted())
  })

  async function damaged(): Promise<void> {
    await (await made('copy.db', 20_000)).close()
    const bytes = readFileSync(at('copy.db'))
    bytes.fill(0xaa, 8_192, 40_960)
    writeFileSync(at('copy.db'), bytes)
  }
})

describe('an unused database', () => {
  it('is deleted together with its WAL files', async () => {
    await (await made('live.db', 1)).close()
    writeFileSync(at('live.db-wal'), 'old')
    expect(removeDatabase(at('live.db'))).toEqual([at('live.db'), at('live.db-wal')])
    expect(existsSync(at('live.db'))).toBe(false)
  })

  it('is not deleted while a process has it open', async () => {
    const driver = await made('live.db', 1)
    expect(() => inWords(() => whileUnused(at('live.db'), () => 'done'))).toThrow('Another process has')
    await driver.close()
    expect(whileUnused(at('live.db'), () => 'done')).toBe('done')
    expect(whileUnused(at('none.db'), () => 'done')).toBe('done')
  })

  it('is a file, not a folder', () => {
    expect(databaseFile('/some/engine.db')).toBe('/some/engine.db')
    expect(() => inWords(() => databaseFile('postgres://host/db'))).toThrow('is not a file')
    expect(() => inWords(() => databaseFile(':memory:'))).toThrow('is not a file')
  })
})
