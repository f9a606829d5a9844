/** Accepted work. A job's state only goes forward; records, enrichments and deliveries hang on the job they belong to. */
export const work = `
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
