import { readdirSync, readFileSync } from 'node:fs'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { nextTurn } from '../../../../src/api/values/objects.js'
import { insertInto } from '../../../../src/storage/driver/connection.js'
import { PostgresSession } from '../../../../src/storage/driver/postgres/driver.js'
import {
  bindValues,
  createStatementCache,
  fromPostgresError,
  translate,
} from '../../../../src/storage/driver/postgres/errors.js'

it.each([
  ['SELECT ? WHERE a = ?', 'SELECT $1 WHERE a = $2'],
  [`SELECT '?', "?" -- ?\n, ?`, `SELECT '?', "?" -- ?\n, $1`],
  [
    'a IN (SELECT value FROM json_each(?)) AND b = ?',
    'a IN (SELECT jsonb_array_elements_text(CAST($1 AS JSONB)) AS value) AND b = $2',
  ],
  [
    '(SELECT atom AS company FROM json_each(?))',
    '(SELECT CAST(jsonb_array_elements_text(CAST($1 AS JSONB)) AS BIGINT) AS company)',
  ],
  [
    'SELECT value ->> 0 FROM json_each(?)',
    'SELECT value ->> 0 FROM jsonb_array_elements(CAST($1 AS JSONB)) AS json_each (value)',
  ],
  ['FROM a INDEXED BY b CROSS JOIN c ON d', 'FROM a  JOIN c ON d'],
])('translates %j for PostgreSQL', (sql, expected) => {
  expect(translate(sql).text).toBe(expected)
})

it('turns JSON lists into arrays so that the planner knows their length', () => {
  const { text } = createStatementCache(true)(
    'SELECT a IN (SELECT value FROM json_each(?)) AND b NOT IN (SELECT atom FROM json_each(?)), ?',
  )
  expect(text).toBe('SELECT a = ANY (texts_in($1)) AND b <> ALL (numbers_in($2)), $3')
})

it('replaces lone surrogates in lists with U+FFFD, and leaves other characters alone', () => {
  const { lists } = createStatementCache()('SELECT ? IN (SELECT value FROM json_each(?)), ?')
  expect(lists).toEqual([1])
  const texts = ['\ud83d', 'whole \u{1f600}', String.raw`C:\ud83d`, '"\n']
  const [one, list, other] = bindValues(['\\ud83d', JSON.stringify(texts), '["\\ud83d"]'], {
    lists,
    writes: false,
  })
  expect([one, other]).toEqual(['\\ud83d', '["\\ud83d"]'])
  expect(JSON.parse(String(list))).toEqual(['\ufffd', ...texts.slice(1)])
})

// PostgreSQL takes them without a name since version 16 only; the oldest that is taken is 14.
it('gives each subquery in FROM an alias, as PostgreSQL requires', () => {
  const ofSqlite = [
    'src/catalogue/places/place.ts',
    'src/catalogue/dialect/sqlite.ts',
    'src/storage/driver/sqlite/',
  ]
  const files = ['src/catalogue', 'src/storage', 'src/engine'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  )
  const nameless = files.flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    return [...text.matchAll(/\b(?:FROM|JOIN) \((?!\\)/g)].flatMap(({ index }) => {
      const rest = text.slice(endOf(text, text.indexOf('(', index)))
      const line = text.slice(index, index + 60).split('\n')[0] ?? ''
      const isNamed = /^\s+(?:AS )?(?!ON\b|WHERE\b|GROUP\b|ORDER\b|LIMIT\b)\w/.test(rest)
      return isNamed || ofSqlite.some((path) => file.startsWith(path)) ? [] : [`${file}: ${line}`]
    })
  })
  expect(nameless).toEqual([])
})

/** Behind the bracket that closes the one at a place. */
function endOf(text: string, at: number): number {
  let depth = 0
  for (let end = at; end < text.length; end++) {
    if (text[end] === '(') depth += 1
    if (text[end] === ')') depth -= 1
    if (depth === 0) return end + 1
  }
  return text.length
}

describe('a commit that fails', () => {
  const trackOver = (client: PoolClient) =>
    new PostgresSession({
      connect: async () => client,
      prepare: createStatementCache(),
      begin: () => ({ sql: 'BEGIN' }),
      sleep: async () => {},
      chance: () => 0,
      announce: () => {},
    })

  /** A track whose COMMIT answers this. */
  async function committing(answer: () => unknown, sql = 'DELETE FROM t') {
    const query = async (text: unknown) => (text === 'COMMIT' ? answer() : { rows: [], rowCount: 1 })
    const client = { query, release: () => {} } as unknown as PoolClient
    const track = trackOver(client)
    await track.begin()
    await track.enter().connection.run(sql)
    return { track, ended: track.commit() }
  }
  const failing = (error: unknown) => () => {
    throw error
  }
  const named = (code: string) => Object.assign(new Error(code), { code })
  const said = (code: string) => Object.assign(named(code), { severity: 'ERROR' })

  it.each([
    ...['ECONNRESET', 'ECONNABORTED', 'ENETDOWN', 'EPROTO', 'EPIPE', 'ERR_SSL_BAD_RECORD_TYPE'].map(named),
    ...['58030', '53100', '57P01', '25P03', '40003', '08006', 'XX000'].map(said),
    new Error('Query read timeout'),
  ])('with $message after a write has an unknown outcome', async (error) => {
    await expect((await committing(failing(error))).ended).rejects.toMatchObject({ code: 'commit_unknown' })
    await expect((await committing(failing(error), 'SELECT 1')).ended).rejects.toBe(error)
  })

  it.each(['23505', '23503', '40001', '40P01', '22003', '25006', '55P03', '57014', 'P0001'].map(said))(
    'with $message was undone by the server',
    async (error) => {
      await expect((await committing(failing(error))).ended).rejects.toBe(error)
    },
  )

  it('was undone when a statement before it was refused with the end of the connection', async () => {
    const shutdown = said('57P01')
    const answer = async (text: string) => {
      if (text.startsWith('INSERT')) throw shutdown
      if (text !== 'COMMIT') return { rows: [], rowCount: 1 }
      await nextTurn()
      throw new Error('Connection terminated unexpectedly')
    }
    const query = (given: string | { text: string }) => answer(typeof given === 'string' ? given : given.text)
    const track = trackOver({ query, release: () => {} } as unknown as PoolClient)
    await track.begin()
    const { connection } = track.enter()
    await connection.run('DELETE FROM t')
    connection.add?.(insertInto('t', ['id']), 1)
    await expect(track.commit()).rejects.toBe(shutdown)
    expect(await track.retry(shutdown, 1)).toBe(true)
  })

  it('runs again when the commit was never sent', async () => {
    const unsent = new Error('Client has encountered a connection error and is not queryable')
    const { track, ended } = await committing(failing(unsent))
    await expect(ended).rejects.toBe(unsent)
    expect(await track.retry(unsent, 1)).toBe(true)
  })

  it('is undone when PostgreSQL replies ROLLBACK', async () => {
    const { ended } = await committing(() => ({ command: 'ROLLBACK' }))
    await expect(ended).rejects.toThrow('was undone')
  })
})

it.each([
  ['database_unreachable', 'it ends the connection (55000)', { code: '55000', severity: 'FATAL' }],
  ['storage_failed', 'its system refuses it (53400)', { code: '53400', severity: 'ERROR' }],
  ['storage_failed', 'it is damaged; restore a backup', { code: 'XX001', severity: 'ERROR' }],
  [
    'database_unreachable',
    'it does not answer in time',
    { message: 'timeout exceeded when trying to connect' },
  ],
])('an error of the server or its driver is the refusal %s that says why: %s', (code, reason, error) => {
  const failed = fromPostgresError(Object.assign(new Error('failed'), error))
  expect(failed).toMatchObject({ code, details: { reason } })
})

it('a missing file (ENOENT) means an unreachable database only when connecting to the socket', () => {
  const missing = (syscall: string) => Object.assign(new Error('missing'), { code: 'ENOENT', syscall })
  expect(fromPostgresError(missing('connect'))).toMatchObject({ code: 'database_unreachable' })
  expect(fromPostgresError(missing('open'))).toMatchObject({ code: 'ENOENT' })
})
