import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { appendMovement, readBalances } from '../../../../src/engine/credits/ledger.js'
import { insertJob } from '../../../../src/engine/tables/jobs.js'
import { insertList, listCompanies } from '../../../../src/engine/tables/lists.js'
import { insertMember, insertWorkspace, listWorkspaces } from '../../../../src/engine/tables/members.js'
import { openEngineDatabase } from '../../../../src/engine/tables/schema.js'
import {
  addRow,
  type Connection,
  type Driver,
  findRow,
  insertInto,
  send,
} from '../../../../src/storage/driver/connection.js'
import { openPostgres } from '../../../../src/storage/driver/postgres/driver.js'
import { type CutConnection, cutConnection } from '../../../support/cut-connection.js'
import { freshDatabase, freshSchema, type TestDatabase } from '../../../support/postgres.js'
import { job, member, workspace } from '../../../support/stored-rows.js'

/** Each test has a schema with a table, and a driver whose connections can be cut. */
let schema: TestDatabase
let way: CutConnection
let driver: Driver
let pauses: number[]

beforeEach(async () => {
  schema = await freshSchema()
  way = await cutConnection(schema.folder)
  pauses = []
  driver = await openPostgres(throughWay(), {
    sleep: async (ms) => void pauses.push(ms),
    chance: () => 0.5,
  })
  await driver.transaction((connection) =>
    connection.exec('CREATE TABLE t (id BIGINT PRIMARY KEY, text TEXT)'),
  )
})

afterEach(async () => {
  await driver.close()
  await way.close()
  await schema.drop()
})

const throughWay = (defaults = '') => {
  const options = encodeURIComponent(`-c search_path=${schema.name} ${defaults}`)
  return `postgres://postgres@127.0.0.1:${way.port}/postgres?options=${options}`
}

const add = (id: number, scope?: string) =>
  driver.transaction((connection) => connection.run('INSERT INTO t (id) VALUES (?)', id), scope)

const ids = async () => (await schema.sql('SELECT id FROM t ORDER BY id')).map(({ id }) => Number(id))

describe('statement parameters', () => {
  it('are returned exactly as they were passed', async () => {
    const row = await driver.read((connection) =>
      connection.get<object>(
        `SELECT CAST(? AS BIGINT) AS whole, CAST(? AS TEXT) AS "text?", CAST(? AS TEXT) AS nothing,
          2 > 1 AS yes, 1 > 2 AS no, count(*) AS counted, sum(n) AS total, '?' AS quoted
         FROM (SELECT CAST(? AS BIGINT) AS n) AS one`,
        Number.MAX_SAFE_INTEGER,
        "a'b ☃ 😀",
        null,
        7,
      ),
    )
    expect(row).toEqual({
      whole: Number.MAX_SAFE_INTEGER,
      'text?': "a'b ☃ 😀",
      nothing: null,
      yes: 1,
      no: 0,
      counted: 1,
      total: 7,
      quoted: '?',
    })
  })

  it('beyond 2^53 are refused in results, never rounded', async () => {
    const tooLarge = driver.read((connection) => connection.get('SELECT 9007199254740993 AS n'))
    await expect(tooLarge).rejects.toThrow('9007199254740993')
    expect(await driver.read((connection) => connection.get('SELECT 1 AS n'))).toEqual({ n: 1 })
  })

  it('may contain a list of texts in one parameter', async () => {
    const sql = 'SELECT ? AS "one", ? NOT IN (SELECT value FROM json_each(?)) AS "out"'
    const out = (text: string) =>
      driver.read((connection) => connection.get(sql, 'x', text, JSON.stringify(['a', 'b'])))
    expect(await out('a')).toEqual({ one: 'x', out: 0 })
    expect(await out('c')).toEqual({ one: 'x', out: 1 })
  })

  it('are refused with a sentence when PostgreSQL cannot store the text', async () => {
    const work = driver.transaction((connection) => connection.run('INSERT INTO t VALUES (1, ?)', 'a\0b'))
    await expect(work).rejects.toMatchObject({ code: 'invalid', status: 422 })
  })
})

describe('transactions in one group commit', () => {
  it('roll back alone when they fail after a write', async () => {
    const failing = async (connection: Connection) => {
      await connection.run('INSERT INTO t (id) VALUES (100)')
      throw new Error('no')
    }
    const works = [add(1, 'w'), driver.transaction(failing, 'w'), add(2, 'w'), add(1, 'w'), add(3, 'w')]
    const all = await Promise.allSettled(works)
    expect(all.map(({ status }) => status)).toEqual(
      'fulfilled rejected fulfilled rejected fulfilled'.split(' '),
    )
    expect(await ids()).toEqual([1, 2, 3])
  })

  it('roll back alone when they did not await their writes', async () => {
    const post = (id: number) =>
      driver.transaction((connection) => send(connection, 'INSERT INTO t (id) VALUES (?)', id), 'w')
    const refused = () =>
      driver.transaction(() => {
        throw new Error('no')
      }, 'w')
    const all = await Promise.allSettled([post(1), post(2), post(1), refused(), post(3)])
    expect(all.map((one) => (one.status === 'rejected' ? (one.reason as Error).message : 'done'))).toEqual([
      'done',
      'done',
      'already_there',
      'no',
      'done',
    ])
    expect(await ids()).toEqual([1, 2, 3])
  })

  it('leave nothing of a write whose result had not come when they failed', async () => {
    const failing = driver.transaction((connection) => {
      Promise.resolve(connection.run('INSERT INTO t (id) VALUES (1)')).catch(() => {})
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await ids()).toEqual([])
  })

  it('run one at a time per scope on all machines, and concurrently with other scopes', async () => {
    const other = await openPostgres(schema.url)
    const order: string[] = []
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = driver.transaction(async (connection) => {
      await connection.run('INSERT INTO t (id) VALUES (1)')
      begun.resolve()
      await goOn.promise
      order.push('slow')
    }, 'a')
    await begun.promise
    const count = (name: string, scope?: string) =>
      other.transaction(async (connection) => {
        const found = await connection.get<{ n: number }>('SELECT count(*) AS n FROM t')
        order.push(name)
        return found?.n
      }, scope)
    const same = count('same', 'a')
    expect(await Promise.race([count('other', 'b'), same])).toBe(0)
    const whole = count('whole')
    goOn.resolve()
    await slow
    expect([await same, await whole]).toEqual([1, 1])
    expect(order.slice(0, 2)).toEqual(['other', 'slow'])
    await other.close()
  })
})

describe('short transactions of several scopes that arrive together', () => {
  const insert = (id: number, scope: string) =>
    driver.transaction((connection) => connection.run('INSERT INTO t (id) VALUES (?)', id), scope, 'short')
  const transactions = async () =>
    new Set((await schema.sql('SELECT xmin::text AS number FROM t')).map(({ number }) => number)).size

  it('share a commit, and none waits for a scope that another process is at work in', async () => {
    const other = await openPostgres(schema.url)
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = other.transaction(async (connection) => {
      await connection.run('INSERT INTO t (id) VALUES (1)')
      begun.resolve()
      await goOn.promise
    }, 'a')
    await begun.promise
    let isOver = false
    const held = driver.transaction(
      async (connection) => {
        await connection.run('INSERT INTO t (id) VALUES (2)')
        isOver = true
        return connection.get('SELECT count(*) AS n FROM t WHERE id = 1')
      },
      'a',
      'short',
    )
    await Promise.all([insert(3, 'b'), insert(4, 'c'), insert(5, 'd'), insert(6, 'c')])
    expect([await ids(), await transactions(), isOver]).toEqual([[3, 4, 5, 6], 1, false])
    goOn.resolve()
    await slow
    // It runs behind the other one, and sees what that one has committed.
    expect(await held).toEqual({ n: 1 })
    expect(await ids()).toEqual([1, 2, 3, 4, 5, 6])
    await other.close()
  })

  it('fail alone, whichever of them has written what', async () => {
    const failing = driver.transaction(
      async (connection) => {
        await connection.run('INSERT INTO t (id) VALUES (100)')
        throw new Error('no')
      },
      'b',
      'short',
    )
    const works = [insert(1, 'a'), failing, insert(2, 'c'), insert(2, 'd'), insert(3, 'a'), insert(4, 'b')]
    const all = await Promise.allSettled(works)
    expect(all.filter(({ status }) => status === 'rejected')).toHaveLength(2)
    expect(await ids()).toEqual([1, 2, 3, 4])
  })

  it('give their connection back when it is lost as they begin, however often', async () => {
    // More often than there are connections.
    for (let id = 1; id <= 8; id++) {
      way.cutAt('pg_try_advisory_xact_lock', id % 2 ? 'before' : 'after')
      await insert(id, `scope ${id}`)
    }
    expect(await ids()).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('keep the order of a scope, in which each sees what those before it did', async () => {
    const count = (id: number, scope: string) =>
      driver.transaction(
        async (connection) => {
          const found = await connection.get<{ n: number }>(
            'SELECT count(*) AS n FROM t WHERE text = ?',
            scope,
          )
          addRow(connection, insertInto('t', ['id', 'text']), id, scope)
          return found?.n
        },
        scope,
        'short',
      )
    const works = Array.from({ length: 30 }, (_, at) => count(at, `scope ${at % 3}`))
    expect(await Promise.all(works)).toEqual(Array.from({ length: 30 }, (_, at) => Math.floor(at / 3)))
    expect(await transactions()).toBe(1)
  })

  it('get the rows that they look up at the same time, each its own', async () => {
    const into = insertInto('t', ['id', 'text'])
    await driver.transaction((connection) => {
      for (let id = 0; id < 50; id++) addRow(connection, into, id, `"text" {${id}}, \\`)
    })
    const look = (id: number) =>
      driver.transaction(
        (connection) =>
          findRow<{ id: number }>(connection, 'SELECT id FROM t WHERE text = ?', `"text" {${id}}, \\`),
        `scope ${id}`,
        'short',
      )
    const found = await Promise.all(Array.from({ length: 60 }, (_, at) => look(59 - at)))
    expect(found.map((row) => row?.id)).toEqual(
      Array.from({ length: 60 }, (_, at) => (at < 10 ? undefined : 59 - at)),
    )
  })
})

describe('a list of companies', () => {
  it('is kept in its order, with characters that PostgreSQL cannot store in a text', async () => {
    const store = await openEngineDatabase(schema.url)
    const companies = Array.from({ length: 2_500 }, (_, at) => ({ name: `\0 é\ud800 " ${at}` }))
    const list = { name: 'Mine', network_list_id: 281_474_976_710_656, status: 'pending' } as const
    const dates = { created_at: 5, updated_at: 5 }
    await store.transaction(async (tx) => {
      await insertWorkspace(tx, workspace, true)
      await insertMember(tx, member)
      await insertJob(tx, job)
      await insertList(tx, { ...list, ...dates, id: 'j1', workspace_id: 'w1', companies })
    })
    const listed = await store.read((tx) => listCompanies(tx, 'j1', 0, 3_000))
    expect(listed).toEqual(
      companies.map((company, at) => expect.objectContaining({ ordinal: at + 1, company })),
    )
    await store.close()
  })
})

describe('batched reads', () => {
  it('return their results even where another read of the batch fails', async () => {
    for (const id of [1, 2, 3]) await add(id)
    const one = (id: number) =>
      driver.read(async (connection) => {
        const found = await connection.get<{ id: number }>('SELECT id FROM t WHERE id = ?', id)
        const more = await connection.get<{ n: number }>('SELECT count(*) AS n FROM t WHERE id > ?', id)
        return [found?.id, more?.n]
      })
    const wrong = () => driver.read((connection) => connection.get('SELECT 1 / (SELECT 0)'))
    const refused = () =>
      driver.read(() => {
        throw new Error('no')
      })
    const works = [...[1, 2, 3].map(one), wrong(), refused(), ...[1, 2, 3].map(one), wrong(), one(9)]
    const all = await Promise.allSettled(works)
    const said = all.map((each) =>
      each.status === 'fulfilled' ? each.value : (each.reason as Error).message,
    )
    const broken = 'PostgreSQL refused a statement (22012)'
    const seen = [
      [1, 2],
      [2, 1],
      [3, 0],
    ]
    expect(said).toEqual([...seen, broken, 'no', ...seen, broken, [undefined, 0]])
  })
})

describe('reads', () => {
  it('are not kept waiting by one that takes long', async () => {
    const client = new pg.Client({ host: schema.folder, port: 5432, user: 'postgres', database: 'postgres' })
    await client.connect()
    const lock = `SELECT pg_advisory_xact_lock(hashtext('${schema.name}'))`
    await client.query(`BEGIN; ${lock}`)
    const slow = driver.read((connection) => connection.get(lock))
    const began = performance.now()
    let written = 0
    while (performance.now() - began < 20) await add(++written)
    const counted = await driver.read((connection) => connection.get('SELECT count(*) AS n FROM t'))
    expect(counted).toEqual({ n: written })
    await client.query('COMMIT')
    await slow
    await client.end()
  })
})

describe('a lost connection', () => {
  it('before the commit runs the transaction again', async () => {
    way.cutAt('INSERT INTO t', 'before')
    expect(await add(1)).toBe(1)
    way.cutAt('COMMIT\0', 'before')
    // Nobody can know that the server never saw it.
    await expect(add(2)).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect(await add(3)).toBe(1)
    expect(await ids()).toEqual([1, 3])
  })

  it('during the commit reports an unknown outcome, and nothing is executed twice', async () => {
    way.cutAt('COMMIT\0', 'after')
    await expect(add(1)).rejects.toMatchObject({ code: 'outcome_unknown', status: 503 })
    expect(await add(2)).toBe(1)
    expect(await ids()).toEqual([1, 2])
  })

  it('after a write that was not awaited runs the transaction again, as long as nothing was committed', async () => {
    const post = (id: number) =>
      driver.transaction(async (connection) => {
        await send(connection, 'INSERT INTO t (id) VALUES (?)', id)
        await connection.get('SELECT id FROM t')
      })
    way.cutAt('INSERT INTO t', 'before')
    await post(1)
    way.cutAt('INSERT INTO t', 'after')
    await post(2)
    expect(await ids()).toEqual([1, 2])
  })

  it('during a read is not noticed by the caller', async () => {
    await add(1)
    way.cutAt('SELECT id FROM t', 'after')
    expect(await driver.read((connection) => connection.get('SELECT id FROM t'))).toEqual({ id: 1 })
  })

  it('is reported in a sentence after several retries, and forgotten when the server is back', async () => {
    way.cutAll()
    await expect(add(1)).rejects.toMatchObject({ code: 'database_unreachable', status: 503 })
    expect(pauses.length).toBeGreaterThan(3)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(3_000)
    way.mend()
    expect(await add(2)).toBe(1)
    expect(await ids()).toEqual([2])
  })

  it('is one that stays silent, and not one whose many statements take long together', async () => {
    const impatient = await openPostgres(throughWay(), { answerMs: 1_000 })
    await impatient.transaction(async (connection) => {
      for (let at = 0; at < 15; at++)
        await send(connection, 'INSERT INTO t (id) SELECT CAST(? AS BIGINT) FROM pg_sleep(0.1)', at)
    })
    expect(await ids()).toHaveLength(15)
    way.freezeAll()
    expect(await impatient.read((connection) => connection.get('SELECT 1 AS one'))).toEqual({ one: 1 })
    // To build an index may take long.
    await impatient.transaction((connection) => connection.exec('SELECT pg_sleep(1.2)'))
    await impatient.close()
  })

  it('that the server terminated runs the transaction again', async () => {
    // In a database of its own: other tests use the same server meanwhile.
    const database = await freshDatabase()
    const own = await openPostgres(database.url)
    const insert = (id: number) =>
      own.transaction((connection) => connection.run('INSERT INTO t (id) VALUES (?)', id))
    await own.transaction((connection) => connection.exec('CREATE TABLE t (id BIGINT PRIMARY KEY)'))
    await insert(1)
    const terminated = await database.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'prospect' AND datname = current_database()`)
    expect(terminated).not.toEqual([])
    expect(await insert(2)).toBe(1)
    expect(await database.sql('SELECT id FROM t ORDER BY id')).toEqual([{ id: '1' }, { id: '2' }])
    await own.close()
    await database.drop()
  })
})

describe('conflicting transactions', () => {
  it.each(['serialization_failure', 'deadlock_detected'])('run again after %s', async (condition) => {
    let runs = 0
    const work = driver.transaction(async (connection) => {
      runs += 1
      await connection.run('INSERT INTO t (id) VALUES (?)', runs)
      if (runs < 3) await connection.exec(`DO $$ BEGIN RAISE ${condition}; END $$`)
    })
    await work
    expect([runs, await ids()]).toEqual([3, [3]])
  })

  it('fail as busy after several attempts', async () => {
    const never = driver.transaction((connection) =>
      connection.exec('DO $$ BEGIN RAISE serialization_failure; END $$'),
    )
    await expect(never).rejects.toMatchObject({ code: 'busy', status: 503 })
  })
})

/** A database that a role of its own may create tables in, and the address of that role. */
async function ownedDatabase() {
  const database = await freshDatabase()
  const role = `r_${database.name}`
  await database.sql(`CREATE ROLE ${role} LOGIN; GRANT CREATE ON SCHEMA public TO ${role}`)
  const drop = async (...others: string[]) => {
    await database.drop()
    await schema.sql(`DROP ROLE ${[role, ...others].join(', ')}`)
  }
  return { database, role, url: database.url.replace('postgres@', `${role}@`), drop }
}

describe('a schema', () => {
  it('stays in use when another comes before it in the search path, and tables of others in it stay accessible', async () => {
    const { database, role, url, drop } = await ownedDatabase()
    await database.sql('CREATE TABLE theirs (id BIGINT); GRANT SELECT ON theirs TO PUBLIC')
    const one = await openEngineDatabase(url)
    await database.sql(`CREATE SCHEMA AUTHORIZATION ${role}`)
    const [other, plain] = [await openEngineDatabase(url), await openPostgres(url)]
    const name = (connection: Connection) => connection.get('SELECT current_schema() AS name')
    for (const work of [plain.read(name), plain.transaction(name)])
      expect(await work).toEqual({ name: 'public' })
    await one.transaction((tx) => insertWorkspace(tx, workspace, true))
    expect(await other.read((tx) => listWorkspaces(tx))).toHaveLength(1)
    const granted = `SELECT has_table_privilege('public', 'theirs', 'SELECT') AS theirs,
      has_table_privilege('public', 'entries', 'SELECT') AS ours`
    expect(await database.sql(granted)).toEqual([{ theirs: true, ours: false }])
    for (const each of [one, other, plain]) await each.close()
    await drop()
  })
})

describe('a PostgreSQL server', () => {
  it('does not apply unusual defaults to our write transactions', async () => {
    const strict = await openPostgres(throughWay('-c default_transaction_isolation=serializable'))
    const level = await strict.transaction(async (connection) => {
      await connection.run('INSERT INTO t (id) VALUES (1)')
      return await connection.get('SHOW transaction_isolation')
    })
    expect(level).toEqual({ transaction_isolation: 'read committed' })
    await strict.close()
  })

  it('waits for a lock as long as usual, whatever lock_timeout its role has', async () => {
    const hasty = await openPostgres(throughWay('-c lock_timeout=5ms'))
    const working = driver.transaction(async (connection) => {
      await connection.run('INSERT INTO t (id) VALUES (1)')
      // Longer than that of its role.
      await pause(100)
    })
    await hasty.transaction((connection) => connection.run('INSERT INTO t (id) VALUES (2)'))
    await working
    expect(await ids()).toEqual([1, 2])
    await hasty.close()
  })

  it('that is read-only by default refuses writes with a sentence that names it, and permits reads', async () => {
    const readOnly = await openPostgres(throughWay('-c default_transaction_read_only=on'))
    const writing = readOnly.transaction((connection) => connection.run('INSERT INTO t (id) VALUES (1)'))
    await expect(writing).rejects.toMatchObject({ code: 'database_read_only', status: 503 })
    await expect(readOnly.requireWritable?.()).rejects.toThrow(
      'The database is read-only: its setting default_transaction_read_only is on',
    )
    expect(await readOnly.read((connection) => connection.all('SELECT id FROM t'))).toEqual([])
    await expect(driver.requireWritable?.()).resolves.toBeUndefined()
    await readOnly.close()
  })

  it('that does not exist is reported at once', async () => {
    await expect(openEngineDatabase('postgres://nobody@127.0.0.1:1/nothing')).rejects.toMatchObject({
      code: 'database_unreachable',
      message: 'The database cannot be reached: nothing listens at its address',
    })
    await expect(openEngineDatabase('postgres://[')).rejects.toMatchObject({ code: 'database_unreachable' })
  })

  it('is refused when synchronous_commit is off', async () => {
    const database = await freshDatabase()
    await database.sql(`ALTER DATABASE ${database.name} SET synchronous_commit = off`)
    await expect(openEngineDatabase(database.url)).rejects.toThrow('synchronous_commit')
    await database.drop()
  })

  it('that is not UTF-8 is refused, with how to create one that is', async () => {
    const { url, name, sql, drop } = await freshDatabase()
    await sql(`CREATE DATABASE ${name}_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
    const opening = openEngineDatabase(url.replace(name, `${name}_latin`))
    await expect(opening).rejects.toThrow(
      'its encoding is LATIN1, not UTF8; create another database with: createdb',
    )
    await expect(opening).rejects.toMatchObject({ status: 503, code: 'storage_failed' })
    await sql(`DROP DATABASE ${name}_latin WITH (FORCE)`)
    await drop()
  })

  it('releases the locks of a suspended node after 15 seconds', async () => {
    const set = (name: string) => driver.read((connection) => connection.get(`SHOW ${name}`))
    expect(await set('idle_in_transaction_session_timeout')).toEqual({
      idle_in_transaction_session_timeout: '15s',
    })
    expect(await set('statement_timeout')).toEqual({ statement_timeout: '30s' })
  })
})

describe('the ledger on PostgreSQL', () => {
  it('P01: is append-only, and inaccessible to roles that do not own it', async () => {
    const { database, role, url, drop } = await ownedDatabase()
    const store = await openEngineDatabase(url)
    await store.transaction(async (tx) => {
      await insertWorkspace(tx, workspace, true)
      await insertMember(tx, member)
      const movement = { workspace_id: workspace.id, member_id: null, operation: null, reference: null }
      const grant = { kind: 'top_up', debit: 'issued', credit: 'credits', amount: 5 } as const
      await appendMovement(tx, {
        ...movement,
        ...grant,
        seq: 1,
        credits: 5,
        held: 0,
        spent: 0,
        created_at: 0,
      })
    })
    for (const change of [
      'UPDATE movements SET amount = 6',
      'UPDATE movements SET credits = 6, created_at = 1 WHERE seq = 1',
      'DELETE FROM movements',
      'TRUNCATE movements CASCADE',
      'INSERT INTO movements SELECT * FROM movements',
    ])
      await expect(database.sql(change)).rejects.toThrow()
    expect(await store.read((tx) => readBalances(tx, workspace.id))).toMatchObject({ credits: 5 })
    await database.sql(`CREATE ROLE ${role}_other`)
    await expect(database.sql(`SET ROLE ${role}_other; SELECT secret FROM signing_secrets`)).rejects.toThrow(
      'permission denied',
    )
    await store.close()
    await drop(`${role}_other`)
  })

  it('is refused and left as it is when a newer program wrote it', async () => {
    await (await openEngineDatabase(schema.url)).close()
    await schema.sql('UPDATE schema_version SET version = 1099')
    await expect(openEngineDatabase(schema.url)).rejects.toThrow('newer than this program')
    expect(await schema.sql('SELECT version FROM schema_version')).toEqual([{ version: '1099' }])
  })
})

describe('a job that another node accepted', () => {
  it('is announced when it is committed, also after the connection was cut', async () => {
    const [one, other] = [await openEngineDatabase(throughWay()), await openEngineDatabase(schema.url)]
    await other.transaction(async (tx) => {
      await insertWorkspace(tx, workspace, true)
      await insertMember(tx, member)
    })
    let heard = Promise.withResolvers<void>()
    const stop = one.onWork(() => heard.resolve())
    /** Resolves when work is announced after something was done. */
    const announcedAfter = async (work: () => unknown) => {
      heard = Promise.withResolvers()
      await work()
      await heard.promise
    }
    // Whoever begins to listen is called at once.
    await heard.promise
    await announcedAfter(() => other.transaction((tx) => insertJob(tx, job)))
    await announcedAfter(() => {
      way.cutAll()
      way.mend()
    })
    stop()
    await one.close()
    await other.close()
  })

  it('is announced with others at most ten times a second, and never last without being announced', async () => {
    const store = await openEngineDatabase(schema.url)
    await store.transaction(async (tx) => {
      await insertWorkspace(tx, workspace, true)
      await insertMember(tx, member)
    })
    const client = new pg.Client({ host: schema.folder, port: 5432, user: 'postgres', database: 'postgres' })
    await client.connect()
    const heard: number[] = []
    client.on('notification', ({ payload }) => payload === schema.name && heard.push(performance.now()))
    await client.query('LISTEN prospect_work')
    const began = performance.now()
    const accept = (id: string) => store.transaction((tx) => insertJob(tx, { ...job, id }), workspace.id)
    let accepted = 0
    for (; performance.now() - began < 1_000 || accepted < 100; accepted++) await accept(`job ${accepted}`)
    const ended = performance.now()
    await accept('the last one')
    await store.close()
    await expect.poll(() => heard.at(-1)).toBeGreaterThan(ended)
    expect(heard.length).toBeLessThanOrEqual((performance.now() - began) / 100 + 2)
    expect(accepted).toBeGreaterThan(heard.length)
    await client.end()
  })
})

describe('the tables of a schema', () => {
  it.each([
    ['have lost their schema version', 'DROP TABLE schema_version'],
    ['have lost the number of their schema version', 'DELETE FROM schema_version'],
    [
      'have a schema version that is no number',
      "ALTER TABLE schema_version ALTER version TYPE TEXT USING 'one'",
    ],
    ['have a schema version without a column', 'ALTER TABLE schema_version DROP version'],
    ['are restored in part', 'DROP TABLE workspaces CASCADE'],
    ['lack a column', 'ALTER TABLE workspaces DROP plan'],
  ])('are refused with what to do when they %s', async (_, damage) => {
    await (await openEngineDatabase(schema.url)).close()
    await schema.sql(damage)
    const using = openEngineDatabase(schema.url).then((store) =>
      store.transaction((tx) => insertWorkspace(tx, workspace, true)).finally(() => store.close()),
    )
    await expect(using).rejects.toMatchObject({
      code: 'storage_failed',
      message: expect.stringMatching(/^The database cannot be used: .*; restore a complete backup/),
    })
  })

  it.each([
    ['pg_catalog', 'a schema of PostgreSQL itself'],
    ['information_schema', 'a schema of PostgreSQL itself'],
    ['pg_temp', 'a schema of PostgreSQL itself'],
    ['""', 'no schema of its search_path exists'],
  ])('are not created where the search path is %s', async (path, reason) => {
    const url = schema.url.replace(encodeURIComponent(schema.name), encodeURIComponent(path))
    await expect(openEngineDatabase(url)).rejects.toMatchObject({
      code: 'storage_failed',
      message: expect.stringContaining(reason),
    })
  })
})

describe('the schema for additional tables', () => {
  const inSchema = (name: string) =>
    `postgres://postgres@127.0.0.1:${way.port}/postgres?options=${encodeURIComponent(`-c search_path=${name}`)}`
  const schemaSuffix = '_catalogue'

  it('is not created when the schema of the engine is missing', async () => {
    const name = `${schema.name}_missing`
    await expect(openPostgres(inSchema(name), { schemaSuffix })).rejects.toMatchObject({
      details: { reason: expect.stringContaining('no schema of its search_path exists') },
    })
    const made = await schema.sql(
      `SELECT nspname FROM pg_namespace WHERE nspname IN ('_catalogue', '${name}_catalogue')`,
    )
    expect(made).toEqual([])
  })

  it('is not created when its name would be truncated', async () => {
    const name = schema.name.padEnd(60, 'x')
    await schema.sql(`CREATE SCHEMA ${name}`)
    try {
      await expect(openPostgres(inSchema(name), { schemaSuffix })).rejects.toMatchObject({
        details: { reason: expect.stringContaining('more than 53 bytes') },
      })
    } finally {
      await schema.sql(`DROP SCHEMA ${name} CASCADE`)
    }
  })
})
