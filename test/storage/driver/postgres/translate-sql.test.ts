import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import {
  bindValues,
  createStatementCache,
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
