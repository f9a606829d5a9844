import { expect, it } from 'vitest'
import { numbered, statements } from '../../src/storage/postgres-text.js'

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
])('writes %j for PostgreSQL', (sql, expected) => {
  expect(numbered(sql)).toBe(expected)
})

it('makes lists arrays where the planner is to know them', () => {
  const { text } = statements(true)(
    'SELECT a IN (SELECT value FROM json_each(?)) AND b NOT IN (SELECT atom FROM json_each(?)), ?',
  )
  expect(text).toBe('SELECT a = ANY (texts_in($1)) AND b <> ALL (numbers_in($2)), $3')
})
