import type { Schema } from '../database/migrate.js'
import { jobTriggers, ledgerTriggers, postgresOf } from '../driver/postgres/translate-schema.js'
import { chunkTables, chunkTriggers } from './chunk-schema.js'
import { runReplies } from './row-replies.js'
import { work } from './work-schema.js'

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
