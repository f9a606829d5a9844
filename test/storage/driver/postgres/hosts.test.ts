import { Client } from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { openPostgres } from '../../../../src/storage/driver/postgres/driver.js'
import { cutConnection } from '../../../support/cut-connection.js'
import { ownServer } from '../../../support/postgres.js'
import { until } from '../../../support/until.js'

/** A table whose inserts are checked at the end of their transaction, which takes as long as somebody has the lock. */
const slowToCommit = `
CREATE TABLE t (id BIGINT PRIMARY KEY);
CREATE FUNCTION wait() RETURNS TRIGGER LANGUAGE plpgsql AS
  'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wait();`

it('a commit under way is not cut off when its server is too slow for new connections and a standby stands in', async () => {
  const primary = await ownServer()
  onTestFinished(() => primary.stop())
  const standby = await primary.synchronousStandby()
  onTestFinished(() => standby.stop())
  const ways = [await cutConnection(primary.folder), await cutConnection(standby.folder)] as const
  const hosts = ways.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const driver = await openPostgres(`postgres://postgres@${hosts}/postgres`)
  onTestFinished(async () => {
    await driver.close()
    await Promise.all(ways.map((way) => way.close()))
  })
  await primary.sql(slowToCommit)
  const other = new Client({ connectionString: primary.url })
  await other.connect()
  await other.query('SELECT pg_advisory_lock(1)')
  const added = driver.transaction((connection) => connection.run('INSERT INTO t (id) VALUES (1)'))
  const isCommitting = async () =>
    (await primary.sql("SELECT 1 FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'advisory'"))
      .length === 1
  await until(isCommitting)
  ways[0].admitNobody()
  const standsIn = () =>
    driver.requireWritable().then(
      () => false,
      (error: { code?: string }) => error.code === 'database_read_only',
    )
  await until(standsIn)
  await other.end()
  expect(await added).toBe(1)
  expect(await primary.sql('SELECT id FROM t')).toEqual([{ id: '1' }])
})
