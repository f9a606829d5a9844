import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const installed = '/usr/lib/postgresql'

/** The path of pgbench; an error where it is not on this machine. */
export async function findPgbench() {
  const versions = existsSync(installed) ? readdirSync(installed).sort((one, other) => other - one) : []
  for (const path of ['pgbench', ...versions.map((version) => join(installed, version, 'bin', 'pgbench'))])
    if (await run(path, ['--version']).catch(() => undefined)) return path
  throw new Error('there is no pgbench to compare with; Debian has it in the package postgresql-contrib')
}

const lockOf = (scope) =>
  createHash('sha256')
    .update(JSON.stringify(['prospect', 'public', scope]))
    .digest()
    .readBigInt64BE()

/**
 * One charge of a workspace, as somebody writes it who makes one transaction of each: under the same locks, behind the last
 * movement, with as few waits as pgbench permits.
 */
const chargeScript = ({ workspace, member }) => `\\startpipeline
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT pg_advisory_xact_lock_shared(${lockOf('')});
SELECT pg_advisory_xact_lock(${lockOf(workspace)});
SELECT weekly_limit FROM members WHERE id = '${member}';
\\endpipeline
SELECT seq, credits, held, spent FROM movements WHERE workspace_id = '${workspace}' ORDER BY seq DESC LIMIT 1 \\gset
\\startpipeline
INSERT INTO movements (workspace_id, seq, kind, debit, credit, amount, credits, held, spent, member_id, operation, created_at)
 VALUES ('${workspace}', :seq + 1, 'charge', 'credits', 'spent', 1, :credits - 1, :held, :spent + 1, '${member}', 'accounts.single_enrich', 1800000000000);
COMMIT;
\\endpipeline
`

/** Charges per second of pgbench over so many connections, each of a workspace that is taken at random. */
export async function chargesPerSecond(path, { folder, port }, members, connections, seconds) {
  const files = members.flatMap((one, at) => {
    const file = join(folder, '..', `charge-${at}.sql`)
    writeFileSync(file, chargeScript(one).replaceAll('\n ', ' '))
    return ['-f', file]
  })
  const where = ['-h', folder, '-p', String(port), '-U', 'postgres', '-n', '-M', 'prepared']
  const how = ['-c', String(connections), '-j', '2', '-T', String(seconds)]
  const { stdout } = await run(path, [...where, ...how, ...files, 'postgres'])
  return Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1])
}
