import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSqlite } from '../../src/storage/sqlite.js'
import { answering, command, folder, keyed, removed } from './command.js'

let home = ''
beforeEach(async () => {
  home = await folder()
})
afterEach(() => removed(home))

const runs = () => join(home, 'runs')

async function leave(name: string): Promise<string> {
  await mkdir(join(runs(), name), { recursive: true, mode: 0o700 })
  return join(runs(), name)
}

const minutesAgo = (minutes: number) => Date.now() / 1_000 - 60 * minutes

const aged = (path: string) => utimes(path, minutesAgo(2), minutesAgo(2))

async function runBatch(): Promise<void> {
  await writeFile(join(home, 'in.csv'), 'domain\na.example\n')
  const caller = answering({ body: { name: 'A' }, credits: 1 })
  const argv = ['accounts', 'enrich', '--csv', 'in.csv', '--quiet']
  expect((await command(argv, { env: keyed(home), cwd: home, caller })).code).toBe(0)
}

const opened = async (path: string) => {
  const database = openSqlite(join(path, 'scratch.db'), { durable: false })
  await database.transaction(async (connection) => connection.exec('CREATE TABLE t (a)'))
  return database
}

describe('the folder of a run', () => {
  it('is removed by the next batch when its process is gone', async () => {
    const killed = await leave('killed')
    await (await opened(killed)).close()
    await writeFile(join(killed, 'stdin.csv'), 'domain\n')
    await aged(killed)
    await runBatch()
    expect(await readdir(runs())).toEqual([])
  })

  it('stays while its process lives', async () => {
    const alive = await leave('alive')
    const database = await opened(alive)
    await aged(alive)
    await runBatch()
    expect(await readdir(runs())).toEqual(['alive'])
    await database.close()
  })

  it('stays while it may be a run that only begins', async () => {
    // Its database exists and nobody has read it yet: nothing tells it from a dead one but its age.
    await (await opened(await leave('opening'))).close()
    await leave('new')
    await leave('old')
    await utimes(join(runs(), 'old'), 1, 1)
    await runBatch()
    expect(await readdir(runs())).toEqual(['new', 'opening'])
  })
})
