import { join } from 'node:path'
import Database from 'better-sqlite3'
import { binary } from '../run.js'
import { writeCompanies } from './data.js'
import { askJson } from './measure.js'

const perJob = 100
const answers = 100_000

/** Fills a home, which has a workspace, with that much: companies by import, the rest as rows of its tables. */
export async function fillDashboard(folder, env, { companies, runs, deliveries }) {
  const file = join(folder, 'dashboard-companies.csv')
  await writeCompanies(file, companies, { isUsual: true })
  await askJson([binary, 'data', 'import', 'companies', file, '--json'], env)
  await askJson([binary, 'runs', 'list', '--json'], env)
  await askJson([binary, 'events', 'list', '--json'], env)
  const now = Date.now()
  fillEngine(new Database(join(env.PROSPECT_HOME, 'engine.db')), deliveries, now)
  fillState(new Database(join(env.PROSPECT_HOME, 'state.db')), runs, now)
}

function fillEngine(database, deliveries, now) {
  const { id: workspace } = database.prepare('SELECT id FROM workspaces').get()
  const { id: member } = database.prepare('SELECT id FROM members').get()
  const job =
    database.prepare(`INSERT INTO jobs (id, workspace_id, member_id, operation, kind, name, plan, webhook_url,
    streaming, expected, state, done, truncated, parts, part_bytes, enriched, held, spent, created_at, finished_at,
    lease_until, attempts) VALUES (?, ?, ?, 'accounts.search', 'account_import', ?, '{"does":"search","search":{"kind":"companies","filters":{}},"scale":false}',
    'http://127.0.0.1:9/in', 0, 100, 'finished', 100, 0, '[]', 0, 0, 0, 0, ?, ?, 0, 1)`)
  const delivery =
    database.prepare(`INSERT INTO deliveries (id, workspace_id, job_id, seq, event, url, first, last, state,
    attempts, status, created_at, finished_at, lease_until) VALUES (?, ?, ?, ?, 'account_import.completed',
    'http://127.0.0.1:9/in', 1, 1, ?, 1, ?, ?, ?, 0)`)
  const charge =
    database.prepare(`INSERT INTO movements (workspace_id, seq, kind, debit, credit, amount, credits, held, spent,
    member_id, operation, created_at) SELECT workspace_id, seq + 1, 'charge', 'credits', 'spent', 1, credits - 1, held,
    spent + 1, ?, ?, ? FROM movements WHERE workspace_id = ? ORDER BY seq DESC LIMIT 1`)
  const operations = ['accounts.enrich', 'contacts.enrich_sync', 'accounts.hiring']
  database.transaction(() => {
    for (let at = 0; at < deliveries; at++) {
      const [from, id] = [now - (deliveries - at) * 20_000, `job-${Math.floor(at / perJob)}`]
      if (at % perJob === 0) job.run(id, workspace, member, `Import ${at}`, from, from)
      const isFailed = at % 1_000 === 0
      delivery.run(
        `msg_${at}`,
        workspace,
        id,
        at % perJob,
        isFailed ? 'failed' : 'delivered',
        isFailed ? 500 : 204,
        from,
        from,
      )
      charge.run(member, operations[at % 3], from, workspace)
    }
  })()
  database.close()
}

function fillState(database, runs, now) {
  const run =
    database.prepare(`INSERT INTO runs (id, known_by, operation, target, profile, file, file_hash, request, output,
    status, total, done, started_at, ended_at) VALUES (?, ?, 'accounts.enrich', 'local', 'default', ?, ?, '{}', NULL,
    ?, ?, ?, ?, ?)`)
  const spent = database.prepare(
    `INSERT INTO budgets (scope, spent, held) VALUES ('run ' || CAST(? AS INTEGER), 1, 0)`,
  )
  const answer = database.prepare(
    `INSERT INTO lookups (run, row, state, cost, asked_at, answered_at) VALUES (?, ?, ?, 1, ?, ?)`,
  )
  const event =
    database.prepare(`INSERT INTO events (path, id, received_at, event, search, verified, headers, body)
    VALUES ('p', ?, ?, 'lead_search.record', 'search-1', 1, '{}', '{}')`)
  database.transaction(() => {
    for (let at = 0; at < runs; at++) {
      const id = `${String(at).padStart(8, '0')}-0000-4000-8000-000000000000`
      const status = at % 100 === 0 ? 'stopped' : 'finished'
      const rows = at === runs - 1 ? answers : 10
      const { lastInsertRowid } = run.run(
        id,
        `known-${at}`,
        `/data/file-${at}.csv`,
        `hash-${at}`,
        status,
        rows,
        rows,
        now - (runs - at) * 60_000,
        now,
      )
      spent.run(lastInsertRowid)
      event.run(`msg_${at}`, now - (runs - at) * 60_000)
    }
    const { number } = database.prepare('SELECT max(number) AS number FROM runs').get()
    for (let at = 0; at < answers; at++)
      answer.run(number, at, at % 5 === 0 ? 'not_found' : 'found', now, now)
  })()
  database.close()
}
