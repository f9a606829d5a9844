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
  PRIMARY KEY (target, seq)
){clustered};
CREATE INDEX forwards_of ON forwards (seq);
CREATE INDEX forwards_due ON forwards (target, next_at) WHERE state = 'waiting' AND next_at IS NOT NULL;
CREATE INDEX forwards_turn ON forwards (target, lane, seq) WHERE state = 'waiting';

-- Runs and their answers. The place of an answer is the number of its run and the ordinal of its row in one integer, so
-- that the answers of a run are stored together, in the order of its rows. The rows that were sent are a range of ordinals,
-- and their idempotency keys derive from the id of the run: a row takes no space until it is answered.
CREATE TABLE runs (
  number {identity},
  id {text} NOT NULL UNIQUE,
  known_by {text} NOT NULL,
  operation {text} NOT NULL,
  target {text} NOT NULL,
  profile {text} NOT NULL,
  file {text} NOT NULL,
  file_hash {text} NOT NULL,
  request {text} NOT NULL,
  output {text},
  status {text} NOT NULL CHECK (status IN ('running', 'stopped', 'finished')),
  total {integer} NOT NULL,
  done {integer} NOT NULL DEFAULT 0,
  credits {integer} NOT NULL DEFAULT 0,
  reserved {integer} NOT NULL DEFAULT 0,
  unknown {integer} NOT NULL DEFAULT 0,
  sent_from {integer} NOT NULL DEFAULT 0,
  sent_to {integer} NOT NULL DEFAULT 0,
  lowered_row {integer},
  lowered_limit {integer},
  indexed {integer} NOT NULL DEFAULT 0,
  forgotten {integer} NOT NULL DEFAULT 0,
  started_at BIGINT NOT NULL,
  ended_at BIGINT,
  fence {text} NOT NULL DEFAULT '',
  lost_at BIGINT,
  spread {integer} NOT NULL DEFAULT 0
);
CREATE INDEX runs_known ON runs (known_by);
CREATE INDEX runs_file ON runs (file);
CREATE INDEX runs_reserved ON runs (profile) WHERE reserved > 0;
CREATE TABLE answers (
  place {integer} PRIMARY KEY,
  hash BIGINT,
  identity {text},
  status {text} NOT NULL,
  error {text},
  body {text},
  credits {integer} NOT NULL,
  source {text} NOT NULL,
  origin BIGINT,
  answered_at BIGINT NOT NULL
);
CREATE TABLE places (
  hash BIGINT NOT NULL,
  place BIGINT NOT NULL,
  PRIMARY KEY (hash, place)
){clustered};
CREATE TABLE spending (
  day {text} NOT NULL,
  profile {text} NOT NULL,
  target {text} NOT NULL,
  operation {text} NOT NULL,
  run {integer} NOT NULL,
  credits {integer} NOT NULL,
  calls {integer} NOT NULL,
  PRIMARY KEY (day, profile, target, operation, run)
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

-- Requests that took several rows at once and whose rows are not all answered. `first` is the ordinal of the first row,
-- `ordinals` and `accepted` are JSON. `reserved` are the credits set aside for its rows without a recorded answer.
CREATE TABLE bulks (
  number {identity},
  run {integer} NOT NULL,
  first {integer} NOT NULL,
  ordinals {text} NOT NULL,
  reserved {integer} NOT NULL,
  accepted {text}
);
CREATE INDEX bulks_run ON bulks (run, first);

-- Work that others started through this machine as a proxy, and its records whose price is recorded already.
CREATE TABLE passed_work (
  target {text} NOT NULL,
  id {text} NOT NULL,
  operation {text} NOT NULL,
  started_at BIGINT NOT NULL,
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

-- Leases of runs. A run stores the fencing token of the lease that may write to it. Engines are stored by name, because an
-- engine keeps its id when it moves.
CREATE TABLE run_locks (
  name {text} PRIMARY KEY,
  token {text} NOT NULL,
  holder {text} NOT NULL,
  lease_until BIGINT NOT NULL
){clustered};
CREATE TABLE engines (
  name {text} PRIMARY KEY,
  id {text} NOT NULL
){clustered};
CREATE INDEX engines_id ON engines (id);
