import { expect, it } from 'vitest'
import { sampleRun } from '../reference/sample-run.js'
import { freshSchema } from '../support/postgres.js'

it('P45: every operation and event has the same bytes over SQLite and over PostgreSQL', async () => {
  const schema = await freshSchema()
  try {
    const [overSqlite, overPostgres] = [await sampleRun(), await sampleRun(schema.url)]
    expect(overPostgres.exchanges.length).toBeGreaterThan(40)
    for (const [at, exchange] of overSqlite.exchanges.entries())
      expect(JSON.stringify(overPostgres.exchanges[at])).toBe(JSON.stringify(exchange))
    expect(overPostgres.events.map(([name]) => name)).toEqual(overSqlite.events.map(([name]) => name))
    for (const [at, [, body]] of overSqlite.events.entries())
      expect(JSON.stringify(overPostgres.events[at]?.[1])).toBe(JSON.stringify(body))
  } finally {
    await schema.drop()
  }
}, 120_000)
