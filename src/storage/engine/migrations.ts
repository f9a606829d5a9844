import type { Schema } from '../database/migrate.js'
import { jobTriggers, ledgerTriggers, postgresOf } from '../driver/postgres/translate-schema.js'
import { runReplies } from './row-replies.js'

const workspaces = `
CREATE TABLE clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  offset_ms BIGINT NOT NULL,
  frozen_at BIGINT
);
INSERT INTO clock (id, offset_ms) VALUES (1, 0);
CREATE TABLE workspaces (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  plan TEXT NOT NULL,
  daily_profiles INTEGER CHECK (daily_profiles >= 0),
  daily_companies INTEGER CHECK (daily_companies >= 0),
  monthly_companies INTEGER CHECK (monthly_companies >= 0),
  created_at BIGINT NOT NULL,
  next_allocation_at BIGINT NOT NULL,
  network_session INTEGER NOT NULL,
  premium_session INTEGER NOT NULL,
  used INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE members (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  email TEXT NOT NULL,
  name TEXT,
  weekly_limit INTEGER CHECK (weekly_limit >= 0),
  consent_personal_email INTEGER NOT NULL,
  created_at BIGINT NOT NULL,
  UNIQUE (workspace_id, email)
);
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  member_id TEXT NOT NULL REFERENCES members (id),
  hash TEXT NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  scopes TEXT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT
);
`

/**
 * The ledger. A movement takes credits from one account to another, so debit and credit are equal by its very
 * form; it carries the balances after it, and may only be added behind the last one.
 */
const ledger = `
CREATE TABLE movements (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  seq INTEGER NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL,
  debit TEXT NOT NULL,
  credit TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount > 0),
  credits INTEGER NOT NULL CHECK (credits >= 0),
  held INTEGER NOT NULL CHECK (held >= 0),
  spent INTEGER NOT NULL CHECK (spent >= 0),
  member_id TEXT,
  operation TEXT,
  reference TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, seq),
  CHECK (
    (kind IN ('top_up', 'allocation', 'adjustment') AND debit = 'issued' AND credit = 'credits')
    OR (kind = 'adjustment' AND debit = 'credits' AND credit = 'issued')
    OR (kind = 'charge' AND debit = 'credits' AND credit = 'spent')
    OR (kind = 'hold' AND debit = 'credits' AND credit = 'held')
    OR (kind = 'settle' AND debit = 'held' AND credit = 'spent')
    OR (kind = 'release' AND debit = 'held' AND credit = 'credits')
  )
) WITHOUT ROWID;
CREATE INDEX movements_spent ON movements (workspace_id, created_at, amount) WHERE credit = 'spent';
CREATE TRIGGER movements_follow BEFORE INSERT ON movements
WHEN NOT EXISTS (
  SELECT 1 FROM (
    SELECT seq, credits, held, spent FROM movements
    WHERE workspace_id = NEW.workspace_id
    UNION ALL SELECT 0, 0, 0, 0
    ORDER BY seq DESC LIMIT 1
  ) AS last
  WHERE NEW.seq = last.seq + 1
    AND NEW.credits = last.credits
      + CASE WHEN NEW.credit = 'credits' THEN NEW.amount WHEN NEW.debit = 'credits' THEN -NEW.amount ELSE 0 END
    AND NEW.held = last.held
      + CASE WHEN NEW.credit = 'held' THEN NEW.amount WHEN NEW.debit = 'held' THEN -NEW.amount ELSE 0 END
    AND NEW.spent = last.spent + CASE WHEN NEW.credit = 'spent' THEN NEW.amount ELSE 0 END
)
BEGIN SELECT RAISE(ABORT, 'a movement must follow the last one'); END;
CREATE TRIGGER movements_unchanged BEFORE UPDATE ON movements
BEGIN SELECT RAISE(ABORT, 'movements are never changed'); END;
CREATE TRIGGER movements_kept BEFORE DELETE ON movements
BEGIN SELECT RAISE(ABORT, 'movements are never deleted'); END;
CREATE VIEW entries AS
  SELECT workspace_id, seq, debit AS account, -amount AS amount, created_at FROM movements
  UNION ALL
  SELECT workspace_id, seq, credit AS account, amount, created_at FROM movements;
`

const requests = `
CREATE TABLE counters (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  count INTEGER NOT NULL CHECK (count >= 0),
  PRIMARY KEY (owner, name)
) WITHOUT ROWID;
CREATE TABLE replies (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  status INTEGER,
  body TEXT,
  token TEXT NOT NULL,
  lease_until BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, key)
);
CREATE INDEX replies_created ON replies (created_at);
`

const saved = `
CREATE TABLE personas (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  name TEXT NOT NULL,
  job_titles TEXT NOT NULL,
  excluded_job_titles TEXT NOT NULL,
  functions TEXT NOT NULL,
  seniority_levels TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX personas_newest ON personas (workspace_id, created_at, id);
CREATE TABLE cursor_secrets (
  workspace_id TEXT PRIMARY KEY REFERENCES workspaces (id),
  secret TEXT NOT NULL
);
`

/** Accepted work. A job's state only goes forward; records, enrichments and deliveries hang on the job they belong to. */
const work = `
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  member_id TEXT NOT NULL REFERENCES members (id),
  operation TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  webhook_url TEXT,
  streaming INTEGER NOT NULL,
  custom TEXT,
  most INTEGER,
  expected INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'finished', 'failed')),
  done INTEGER NOT NULL CHECK (done >= 0),
  place TEXT,
  truncated INTEGER NOT NULL,
  parts TEXT NOT NULL,
  part_bytes INTEGER NOT NULL,
  enriched INTEGER NOT NULL,
  held INTEGER NOT NULL CHECK (held >= 0),
  spent INTEGER NOT NULL CHECK (spent >= 0),
  error TEXT,
  created_at BIGINT NOT NULL,
  finished_at BIGINT,
  token TEXT,
  lease_until BIGINT NOT NULL,
  attempts INTEGER NOT NULL
);
CREATE INDEX jobs_due ON jobs (created_at, id) WHERE state IN ('queued', 'running');
CREATE INDEX jobs_newest ON jobs (workspace_id, kind, created_at, id);
CREATE INDEX jobs_held ON jobs (member_id, held) WHERE held > 0;
CREATE TRIGGER jobs_forward BEFORE UPDATE OF state ON jobs
WHEN OLD.state <> NEW.state
  AND NOT (OLD.state = 'queued' AND NEW.state = 'running')
  AND NOT (OLD.state = 'running' AND NEW.state IN ('finished', 'failed'))
BEGIN SELECT RAISE(ABORT, 'a job does not go back'); END;
CREATE TABLE records (
  job_id TEXT NOT NULL REFERENCES jobs (id),
  ordinal INTEGER NOT NULL CHECK (ordinal > 0),
  status TEXT NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (job_id, ordinal)
) WITHOUT ROWID;
CREATE TABLE enrichments (
  id TEXT PRIMARY KEY,
  job_id TEXT NOT NULL REFERENCES jobs (id),
  ordinal INTEGER NOT NULL,
  first_name TEXT,
  last_name TEXT,
  custom TEXT,
  UNIQUE (job_id, ordinal)
);
CREATE TABLE lists (
  id TEXT PRIMARY KEY REFERENCES jobs (id),
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  name TEXT NOT NULL,
  network_list_id BIGINT NOT NULL UNIQUE,
  status TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'failed')),
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX lists_newest ON lists (workspace_id, created_at, id);
CREATE TABLE list_companies (
  list_id TEXT NOT NULL REFERENCES lists (id),
  ordinal INTEGER NOT NULL,
  company TEXT NOT NULL,
  account_id TEXT,
  PRIMARY KEY (list_id, ordinal)
) WITHOUT ROWID;
CREATE TABLE deliveries (
  id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  job_id TEXT NOT NULL REFERENCES jobs (id),
  seq INTEGER NOT NULL,
  event TEXT NOT NULL,
  url TEXT NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  part INTEGER,
  parts INTEGER,
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts INTEGER NOT NULL,
  due_at BIGINT,
  status INTEGER,
  error TEXT,
  created_at BIGINT NOT NULL,
  finished_at BIGINT,
  token TEXT,
  lease_until BIGINT NOT NULL,
  UNIQUE (job_id, seq)
);
CREATE INDEX deliveries_again ON deliveries (due_at, lease_until, url) WHERE state = 'pending' AND attempts > 0;
CREATE INDEX deliveries_first ON deliveries (due_at, lease_until, url)
  WHERE state = 'pending' AND attempts = 0 AND due_at IS NOT NULL;
CREATE INDEX deliveries_open ON deliveries (job_id)
  WHERE state = 'pending' AND attempts = 0 AND due_at IS NOT NULL;
CREATE INDEX deliveries_waiting ON deliveries (job_id, seq)
  WHERE state = 'pending' AND attempts = 0 AND due_at IS NULL;
CREATE INDEX deliveries_newest ON deliveries (workspace_id, created_at);
CREATE TABLE signing_secrets (
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  secret TEXT NOT NULL,
  until BIGINT,
  PRIMARY KEY (workspace_id, secret)
);
`

/**
 * Rows of runs that are spread over machines. A run is here while its command lives; its rows go out in chunks, each of
 * which belongs to one worker at a time. A run without a token is in nobody's hands: its chunks were cleared away. There is
 * no API key in it: of the one that is used, only its id.
 */
const chunkTables = `
CREATE TABLE chunk_runs (
  run TEXT PRIMARY KEY,
  key_id TEXT NOT NULL REFERENCES keys (id),
  source TEXT NOT NULL,
  token TEXT NOT NULL,
  lease_until BIGINT NOT NULL
);
CREATE TABLE chunks (
  id TEXT PRIMARY KEY,
  run TEXT NOT NULL REFERENCES chunk_runs (run),
  operation TEXT NOT NULL,
  calls TEXT NOT NULL,
  replies TEXT,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'answered')),
  created_at BIGINT NOT NULL,
  token TEXT,
  lease_until BIGINT NOT NULL,
  taken INTEGER NOT NULL
);
CREATE INDEX chunks_due ON chunks (created_at, id) WHERE state IN ('queued', 'running');
CREATE INDEX chunks_of ON chunks (run, state);
CREATE TABLE chunk_workers (
  id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  seen_until BIGINT NOT NULL
);
`

/** What there is to do is told to workers, and what was answered to whoever waits for it. */
const chunkTriggers = `
CREATE FUNCTION chunks_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_notify('prospect_work', TG_TABLE_SCHEMA || ' chunks'); RETURN NULL; END $$;
CREATE FUNCTION answers_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_notify('prospect_work', TG_TABLE_SCHEMA || ' answers'); RETURN NULL; END $$;
CREATE TRIGGER chunk_runs_told AFTER INSERT ON chunk_runs FOR EACH STATEMENT EXECUTE FUNCTION chunks_told();
CREATE TRIGGER chunks_told AFTER INSERT ON chunks FOR EACH STATEMENT EXECUTE FUNCTION chunks_told();
CREATE TRIGGER answers_told AFTER UPDATE OF replies ON chunks FOR EACH ROW EXECUTE FUNCTION answers_told();
`

const tables = workspaces + ledger + requests + saved + work + runReplies + chunkTables

/** The schema of the engine's state. */
export const engineSchema: Schema = {
  first: {
    sqlite: tables,
    postgres: postgresOf(tables) + ledgerTriggers + jobTriggers + chunkTriggers,
  },
  steps: [],
  unreleased: 5,
}
