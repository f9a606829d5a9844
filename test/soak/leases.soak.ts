import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { openAcceptedWork } from '../support/accepted-work.js'
import { perTest } from '../support/each.js'
import { random } from '../support/killed-batch.js'
import { acceptMixed, expectNothingLost, progressOf } from '../support/mixed-work.js'
import { ownServer } from '../support/postgres.js'
import { type Running, start } from '../support/processes.js'
import { bundled } from '../support/programs.js'
import { grouped, seedOf, soak, some } from './soak.js'

const leaseMs = 1_500
const rounds = some(100, 4)
const jobs = some(1_000, 20)

const program = await bundled('programs/worker.ts')
const server = perTest(ownServer)

/** Notes who took a job up and when, and who wrote what of it; one count puts both in the order of the job's lock. */
const notes = `
CREATE SEQUENCE soak_order;
CREATE TABLE soak_claims (n BIGINT, job TEXT, token TEXT, worker TEXT, at BIGINT, was TEXT, lease BIGINT);
CREATE TABLE soak_writes (n BIGINT, job TEXT, worker TEXT);
CREATE FUNCTION soak_claimed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO soak_claims VALUES (nextval('soak_order'), NEW.id, NEW.token, current_setting('application_name'),
    CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT), OLD.token, OLD.lease_until);
  RETURN NULL;
END $$;
CREATE FUNCTION soak_wrote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO soak_writes VALUES (nextval('soak_order'), to_jsonb(NEW) ->> TG_ARGV[0], current_setting('application_name'));
  RETURN NULL;
END $$;
CREATE TRIGGER soak_claimed AFTER UPDATE ON jobs FOR EACH ROW
  WHEN (NEW.token IS DISTINCT FROM OLD.token AND NEW.token IS NOT NULL) EXECUTE FUNCTION soak_claimed();
CREATE TRIGGER soak_went_on AFTER UPDATE ON jobs FOR EACH ROW
  WHEN (NEW.token IS NOT DISTINCT FROM OLD.token AND (NEW.done <> OLD.done OR NEW.state <> OLD.state))
  EXECUTE FUNCTION soak_wrote('id');
CREATE TRIGGER soak_wrote AFTER INSERT ON records FOR EACH ROW EXECUTE FUNCTION soak_wrote('job_id')`

/** What somebody wrote of a job that was not theirs at that moment. */
const staleSql = `
SELECT count(*) AS n FROM soak_writes w WHERE worker IS DISTINCT FROM (
  SELECT c.worker FROM soak_claims c WHERE c.job = w.job AND c.n < w.n ORDER BY c.n DESC LIMIT 1)`

/** Jobs that were taken up while somebody else's token was good. */
const overlapSql = 'SELECT count(*) AS n FROM soak_claims WHERE was IS NOT NULL AND lease > at'
const takenOverSql = 'SELECT count(*) AS n FROM soak_claims WHERE was IS NOT NULL'

const count = async (sql: string) => Number((await server.sql(sql))[0]?.n)

const named = (name: string) => `${server.url}&application_name=${name}`

/** Jobs that a worker has gone on with: one whose workers never get that far is given up as what ends them. */
const isAt = (name: string) =>
  count(`SELECT count(*) AS n FROM jobs WHERE state = 'running' AND attempts = 0
    AND token IN (SELECT token FROM soak_claims WHERE worker = '${name}')`)

/** Has one worker stand still for two leases over a job of its own, again and again. */
async function standStill(name: string, { child }: Running, times: number, pick: (below: number) => number) {
  for (let round = 0; round < times; round++) {
    await pause(pick(300))
    while ((await isAt(name)) === 0) await pause(10)
    child.kill('SIGSTOP')
    await pause(2 * leaseMs + pick(500))
    child.kill('SIGCONT')
  }
}

soak('P44', 'suspended workers lose nothing in two leases, and no job belongs to two workers', async () => {
  const work = await openAcceptedWork(server.url)
  const seed = seedOf()
  const pick = random(seed)
  await server.sql(notes)
  await acceptMixed(work, jobs)
  const crew = ['one', 'two', 'three'].map((name) =>
    start(program, named(name), String(leaseMs), '60', '1000000'),
  )
  let isOver = false
  const [first, second] = crew as [Running, Running]
  const standing = Promise.all([
    standStill('one', first, Math.ceil(rounds / 2), pick),
    standStill('two', second, Math.floor(rounds / 2), pick),
  ]).finally(() => {
    isOver = true
  })
  while (!isOver || (await progressOf(work)) < 1) {
    if (!isOver && (await progressOf(work)) === 1) await acceptMixed(work, 50)
    await pause(200)
  }
  await standing
  for (const { stop } of crew) expect(await stop()).toBe(0)
  expect([await count(staleSql), await count(overlapSql)]).toEqual([0, 0])
  const takenOver = await count(takenOverSql)
  const writes = await count('SELECT count(*) AS n FROM soak_writes')
  expect(takenOver).toBeGreaterThan(0)
  const { jobs: all, records } = await expectNothingLost(work)
  await work.close()
  return {
    tried: `${grouped(all)} jobs with ${grouped(records)} records on 3 nodes, ${rounds} times one stood still for two leases of ${leaseMs} ms (seed ${seed})`,
    measured: `${grouped(takenOver)} jobs taken over, ${grouped(writes)} writes`,
  }
})

for (const [promise, database] of [
  ['P13', 'SQLite'],
  ['P44', 'PostgreSQL'],
] as const)
  soak(promise, `a job on ${database} whose worker was killed continues within 45 s`, async () => {
    const work = await openAcceptedWork(database === 'SQLite' ? undefined : server.url)
    const id = await work.accept('accounts.search', {
      webhook_url: work.receiver.url,
      keyword: 'known',
      limit: 400,
    })
    const doneOf = async () => (await work.admin.job(id)).done
    const usualLease = '30000'
    const first = start(program, work.file, usualLease, '500', '1000000')
    while ((await doneOf()) === 0) await pause(20)
    const second = start(program, work.file, usualLease, '0', '1000000')
    while (second.lines.length === 0) await pause(20)
    first.child.kill('SIGKILL')
    const began = performance.now()
    await first.ended
    const done = await doneOf()
    while ((await doneOf()) === done) await pause(20)
    const seconds = (performance.now() - began) / 1_000
    await second.stop()
    await work.close()
    expect(seconds).toBeLessThanOrEqual(45)
    return { tried: 'one kill, with the usual lease', measured: `${seconds.toFixed(1)} s (at most 45)` }
  })
