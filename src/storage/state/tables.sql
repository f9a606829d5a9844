CREATE TABLE receiver_path (
  id {integer} PRIMARY KEY CHECK (id = 1),
  token {text} NOT NULL
);
CREATE TABLE events (
  seq {identity},
  path {text} NOT NULL,
  id {text} NOT NULL,
  received_at BIGINT NOT NULL,
  event {text} NOT NULL,
  search {text},
  verified {integer} NOT NULL,
  headers {text} NOT NULL,
  body {text} NOT NULL,
  UNIQUE (id, path)
);
CREATE INDEX events_received ON events (received_at);
CREATE INDEX events_search ON events (search, seq) WHERE search IS NOT NULL;
CREATE INDEX events_path ON events (path, seq);
CREATE TABLE gone_events (
  id {text} NOT NULL,
  path {text} NOT NULL,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (id, path)
){clustered};
CREATE INDEX gone_events_received ON gone_events (received_at);

-- Deliveries to forward. Of each lane only the first waiting one has a `next_at`: the others follow it.
CREATE TABLE forwards (
  target {text} NOT NULL,
  seq {integer} NOT NULL REFERENCES events (seq) ON DELETE CASCADE,
  lane {text} NOT NULL,
  state {text} NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts {integer} NOT NULL,
  next_at BIGINT,
  answer {text},
  changed_at BIGINT NOT NULL,
  token {text},
  lease_until BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (target, seq)
){clustered};
CREATE INDEX forwards_of ON forwards (seq);
CREATE INDEX forwards_due ON forwards (target, next_at) WHERE state = 'waiting' AND next_at IS NOT NULL;
CREATE INDEX forwards_turn ON forwards (target, lane, seq) WHERE state = 'waiting';

-- Runs. Single lookups have a run of their own for each process, which is in no list. A run is under way while its status is
-- `running` and the lock named `known_by` is held; on a server, `fence` is the token of the lease that may write to it.
CREATE TABLE runs (
  number {identity},
  id {text} NOT NULL UNIQUE,
  known_by {text} NOT NULL,
  operation {text} NOT NULL,
  target {text} NOT NULL,
  -- The workspace whose credits pay for the run, as far as it is known: only that workspace reuses the answers.
  workspace {text} NOT NULL DEFAULT '',
  profile {text} NOT NULL,
  file {text} NOT NULL,
  file_hash {text} NOT NULL,
  request {text} NOT NULL,
  output {text},
  status {text} NOT NULL CHECK (status IN ('running', 'stopped', 'finished')),
  total {integer} NOT NULL,
  done {integer} NOT NULL DEFAULT 0,
  requests {integer} NOT NULL DEFAULT 0,
  forgotten {integer} NOT NULL DEFAULT 0,
  -- Whether its lookups are in `equal_lookups`: 0 where it adds only those that may repeat in its file, 2 while the others are
  -- added and it adds each that it makes, and 1 when all are there.
  indexed {integer} NOT NULL DEFAULT 0,
  started_at BIGINT NOT NULL,
  ended_at BIGINT,
  fence {text} NOT NULL DEFAULT '',
  lost_at BIGINT
);
CREATE INDEX runs_known ON runs (known_by);
CREATE INDEX runs_file ON runs (file);
CREATE INDEX runs_running ON runs (operation, target) WHERE status = 'running';
CREATE INDEX runs_unindexed ON runs (operation, target) WHERE indexed <> 1;
-- Every file that a run wrote: outputs, rejects and exports. `whole` is 1 where it has a row for each row of the run.
CREATE TABLE run_files (
  run {integer} NOT NULL,
  path {text} NOT NULL,
  whole {integer} NOT NULL CHECK (whole IN (0, 1)),
  PRIMARY KEY (run, path)
){clustered};

-- Every lookup of every row: it is here before it is sent, and its answer is here before it is used. `state` is `asked`
-- before it is sent, `accepted` while the target works on it, and then how it ended; of an `unknown` one the credits stay
-- `held`. It is sent under `key`; without one, under the id of its run and its row. `input` is what it is sent with, until the
-- answer is known; one that is `asked` without it is certainly not sent. `hash` is that of `identity`, equal for equal
-- lookups; an answer without `identity` serves its own run only, and one without `hash` follows an equal row of its run.
-- Where a proxy shares a key, `payer` is the email of the member who paid: at the proxy, and of what comes from its store also
-- on the machines of others; '' where the proxy does not say who.
-- `source` is `team` for an answer that a proxy had, and `store` or `duplicate` for a row that takes the answer of another
-- one, which `from_run` and `from_row` name.
CREATE TABLE lookups (
  run {integer} NOT NULL,
  row BIGINT NOT NULL,
  state {text} NOT NULL CHECK (state IN ('asked', 'accepted', 'found', 'not_found', 'invalid', 'failed', 'unknown', 'skipped')),
  hash BIGINT,
  identity {text},
  key {text},
  input {text},
  work {text},
  held {integer} NOT NULL DEFAULT 0
    CHECK (held = 0 OR held > 0 AND state NOT IN ('found', 'not_found', 'invalid', 'failed')),
  cost {integer} NOT NULL DEFAULT 0 CHECK (cost >= 0),
  payer {text},
  source {text} NOT NULL DEFAULT 'live',
  from_run {integer},
  from_row BIGINT,
  error {text},
  body {text},
  asked_at BIGINT NOT NULL,
  answered_at BIGINT,
  PRIMARY KEY (run, row)
);
CREATE INDEX lookups_from ON lookups (from_run, from_row) WHERE from_run IS NOT NULL;

-- Lookups by their hash. At first a run adds only rows that may repeat in its file. Whoever looks for its other ones adds
-- them, in the order of their hashes, which is five times quicker; from then on the run adds each. What was deleted since
-- may still be here.
CREATE TABLE equal_lookups (
  hash BIGINT NOT NULL,
  run {integer} NOT NULL,
  row BIGINT NOT NULL,
  PRIMARY KEY (hash, run, row)
){clustered};

-- What was spent and is held, by scope: `run NUMBER`, `profiles NUMBER` for the quota of a run, `day PROFILE DAY` for what
-- was spent on a day, and `day PROFILE DAY ID` for what a single call holds. What runs hold counts for the day
-- by their scopes.
CREATE TABLE budgets (
  scope {text} PRIMARY KEY,
  spent {integer} NOT NULL CHECK (spent >= 0),
  held {integer} NOT NULL CHECK (held >= 0)
){clustered};

-- Spending by day, which outlives its lookups. Single calls have the run 0; `member` is the email of who paid. `suspect`
-- counts answers that were paid for and may be those to other requests.
CREATE TABLE spending (
  day {text} NOT NULL,
  profile {text} NOT NULL,
  target {text} NOT NULL,
  operation {text} NOT NULL,
  run {integer} NOT NULL,
  member {text} NOT NULL DEFAULT '',
  credits {integer} NOT NULL,
  calls {integer} NOT NULL,
  suspect {integer} NOT NULL DEFAULT 0,
  PRIMARY KEY (day, profile, target, operation, run, member)
){clustered};

-- What this machine knows of servers: whether they support idempotency keys, how many requests it has sent in their rate
-- windows, and the keys of calls whose outcome is unknown. API keys and requests are stored as digests only.
CREATE TABLE servers (
  origin {text} PRIMARY KEY,
  honours_keys {integer} NOT NULL
){clustered};
CREATE TABLE windows (
  owner {text} NOT NULL,
  name {text} NOT NULL,
  ends_at BIGINT NOT NULL,
  count {integer} NOT NULL,
  most {integer},
  confirmed {integer} NOT NULL,
  PRIMARY KEY (owner, name)
){clustered};
CREATE TABLE open_calls (
  fingerprint {text} PRIMARY KEY,
  operation {text} NOT NULL,
  idempotency_key {text} NOT NULL,
  sent_at BIGINT NOT NULL
){clustered};
CREATE INDEX open_calls_sent ON open_calls (sent_at);

-- Work that others started through this machine as a proxy, and its records whose price is recorded already.
CREATE TABLE passed_work (
  target {text} NOT NULL,
  id {text} NOT NULL,
  operation {text} NOT NULL,
  started_at BIGINT NOT NULL,
  -- The member who started it, what it counts at in a week (JSON), and its cost once that is known. Work whose result passed
  -- before its acceptance was recorded has its cost only.
  member {text} NOT NULL DEFAULT '',
  hold {text},
  cost {integer},
  PRIMARY KEY (target, id)
){clustered};
CREATE INDEX passed_work_started ON passed_work (started_at);
CREATE TABLE passed_records (
  target {text} NOT NULL,
  record {text} NOT NULL,
  counted_at BIGINT NOT NULL,
  PRIMARY KEY (target, record)
){clustered};
CREATE INDEX passed_records_counted ON passed_records (counted_at);

-- Leases of runs. A run stores the fencing token of the lease that may write to it.
CREATE TABLE run_locks (
  name {text} PRIMARY KEY,
  token {text} NOT NULL,
  holder {text} NOT NULL,
  lease_until BIGINT NOT NULL
){clustered};
