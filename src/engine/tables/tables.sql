CREATE TABLE clock (
  id {integer} PRIMARY KEY CHECK (id = 1),
  offset_ms BIGINT NOT NULL,
  frozen_at BIGINT
);
INSERT INTO clock (id, offset_ms) VALUES (1, 0);
CREATE TABLE workspaces (
  id {text} PRIMARY KEY,
  name {text} NOT NULL UNIQUE,
  plan {text} NOT NULL,
  daily_profiles {integer} CHECK (daily_profiles >= 0),
  daily_companies {integer} CHECK (daily_companies >= 0),
  monthly_companies {integer} CHECK (monthly_companies >= 0),
  created_at BIGINT NOT NULL,
  next_allocation_at BIGINT NOT NULL,
  network_session {integer} NOT NULL,
  premium_session {integer} NOT NULL,
  used {integer} NOT NULL DEFAULT 0
);
CREATE TABLE members (
  id {text} PRIMARY KEY,
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  email {text} NOT NULL,
  name {text},
  weekly_limit {integer} CHECK (weekly_limit >= 0),
  consent_personal_email {integer} NOT NULL,
  created_at BIGINT NOT NULL,
  removed_at BIGINT,
  UNIQUE (workspace_id, email)
);
CREATE TABLE keys (
  id {text} PRIMARY KEY,
  member_id {text} NOT NULL REFERENCES members (id),
  hash {text} NOT NULL UNIQUE,
  hint {text} NOT NULL,
  scopes {text},
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  name {text},
  used_at BIGINT
);

-- The ledger. A movement takes credits from one account to another, so that debit and credit are always equal. It carries
-- the balances after it. Triggers refuse one that does not follow the last one (decision 2).
CREATE TABLE movements (
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  seq {integer} NOT NULL CHECK (seq > 0),
  kind {text} NOT NULL,
  debit {text} NOT NULL,
  credit {text} NOT NULL,
  amount {integer} NOT NULL CHECK (amount > 0),
  credits {integer} NOT NULL CHECK (credits >= 0),
  held {integer} NOT NULL CHECK (held >= 0),
  spent {integer} NOT NULL CHECK (spent >= 0),
  member_id {text},
  operation {text},
  reference {text},
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
){clustered};
CREATE INDEX movements_spent ON movements (workspace_id, created_at, amount) WHERE credit = 'spent';
CREATE VIEW entries AS
  SELECT workspace_id, seq, debit AS account, -amount AS amount, created_at FROM movements
  UNION ALL
  SELECT workspace_id, seq, credit AS account, amount, created_at FROM movements;

CREATE TABLE counters (
  owner {text} NOT NULL,
  name {text} NOT NULL,
  started_at BIGINT NOT NULL,
  count {integer} NOT NULL CHECK (count >= 0),
  PRIMARY KEY (owner, name)
){clustered};
CREATE TABLE replies (
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  key {text} NOT NULL,
  fingerprint {text} NOT NULL,
  status {integer},
  body {text},
  token {text} NOT NULL,
  lease_until BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, key)
);
CREATE INDEX replies_created ON replies (created_at);

CREATE TABLE personas (
  id {text} PRIMARY KEY,
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  name {text} NOT NULL,
  job_titles {text} NOT NULL,
  excluded_job_titles {text} NOT NULL,
  functions {text} NOT NULL,
  seniority_levels {text} NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX personas_newest ON personas (workspace_id, created_at, id);
CREATE TABLE cursor_secrets (
  workspace_id {text} PRIMARY KEY REFERENCES workspaces (id),
  secret {text} NOT NULL
);

-- Accepted work. Triggers refuse a job's state that goes back. Records, enrichments and deliveries refer to their job.
CREATE TABLE jobs (
  id {text} PRIMARY KEY,
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  member_id {text} NOT NULL REFERENCES members (id),
  operation {text} NOT NULL,
  kind {text} NOT NULL,
  name {text} NOT NULL,
  plan {text} NOT NULL,
  webhook_url {text},
  streaming {integer} NOT NULL,
  custom {text},
  most {integer},
  expected {integer} NOT NULL,
  state {text} NOT NULL CHECK (state IN ('queued', 'running', 'finished', 'failed')),
  done {integer} NOT NULL CHECK (done >= 0),
  place {text},
  truncated {integer} NOT NULL,
  parts {text} NOT NULL,
  part_bytes {integer} NOT NULL,
  enriched {integer} NOT NULL,
  held {integer} NOT NULL CHECK (held >= 0),
  spent {integer} NOT NULL CHECK (spent >= 0),
  error {text},
  created_at BIGINT NOT NULL,
  finished_at BIGINT,
  token {text},
  lease_until BIGINT NOT NULL,
  attempts {integer} NOT NULL
);
-- Finds the oldest job of each workspace in turn.
CREATE INDEX jobs_due ON jobs (workspace_id, created_at, id) WHERE state IN ('queued', 'running');
CREATE INDEX jobs_newest ON jobs (workspace_id, kind, created_at, id);
CREATE INDEX jobs_held ON jobs (member_id, held) WHERE held > 0;
CREATE TABLE records (
  job_id {text} NOT NULL REFERENCES jobs (id),
  ordinal {integer} NOT NULL CHECK (ordinal > 0),
  status {text} NOT NULL,
  record {text} NOT NULL,
  PRIMARY KEY (job_id, ordinal)
){clustered};
CREATE TABLE enrichments (
  id {text} PRIMARY KEY,
  job_id {text} NOT NULL REFERENCES jobs (id),
  ordinal {integer} NOT NULL,
  first_name {text},
  last_name {text},
  custom {text},
  UNIQUE (job_id, ordinal)
);
CREATE TABLE lists (
  id {text} PRIMARY KEY REFERENCES jobs (id),
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  name {text} NOT NULL,
  network_list_id BIGINT NOT NULL UNIQUE,
  status {text} NOT NULL CHECK (status IN ('pending', 'completed', 'failed')),
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX lists_newest ON lists (workspace_id, created_at, id);
CREATE TABLE list_companies (
  list_id {text} NOT NULL REFERENCES lists (id),
  ordinal {integer} NOT NULL,
  company {text} NOT NULL,
  account_id {text},
  PRIMARY KEY (list_id, ordinal)
){clustered};
CREATE TABLE deliveries (
  id {text} PRIMARY KEY,
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  job_id {text} NOT NULL REFERENCES jobs (id),
  seq {integer} NOT NULL,
  event {text} NOT NULL,
  url {text} NOT NULL,
  first {integer} NOT NULL,
  last {integer} NOT NULL,
  part {integer},
  parts {integer},
  state {text} NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts {integer} NOT NULL,
  due_at BIGINT,
  status {integer},
  error {text},
  created_at BIGINT NOT NULL,
  finished_at BIGINT,
  token {text},
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
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  secret {text} NOT NULL,
  until BIGINT,
  PRIMARY KEY (workspace_id, secret)
);

-- Replies to rows of runs. A run has a number here, so that the place of a row is one integer and needs no index.
CREATE TABLE reply_runs (
  number {identity},
  workspace_id {text} NOT NULL,
  run {text} NOT NULL,
  UNIQUE (workspace_id, run)
);
CREATE TABLE run_replies (
  place {integer} PRIMARY KEY,
  status {integer} NOT NULL,
  credits {integer} NOT NULL,
  body {text} NOT NULL
);
