import { expect, it } from 'vitest'
import { type SampleRun, sampleRun } from '../reference/sample-run.js'
import { isLong } from '../support/effort.js'
import { freshSchema } from '../support/postgres.js'

/** Bodies as texts, without their ids and in one order. */
const masked = (bodies: readonly unknown[]) =>
  bodies
    .map((body) => JSON.stringify(body).replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id'))
    .sort()

it.runIf(isLong)(
  'P45: returns the same bytes for every operation and event over SQLite and PostgreSQL',
  async () => {
    const schema = await freshSchema()
    try {
      const [overSqlite, overPostgres] = [await sampleRun(), await sampleRun(schema.url)]
      expect(overPostgres.exchanges.length).toBeGreaterThan(40)
      for (const [at, exchange] of overSqlite.exchanges.entries())
        expect(JSON.stringify(overPostgres.exchanges[at])).toBe(JSON.stringify(exchange))
      const names = ({ events }: SampleRun) => events.map(([name]) => name)
      expect(names(overPostgres)).toEqual(names(overSqlite))
      expect(masked(overPostgres.delivered)).toEqual(masked(overSqlite.delivered))
    } finally {
      await schema.drop()
    }
  },
)
