
-- Accounts of CRMs, one of each; the key is among the stored keys. `keys` are our own unique properties by kind, as JSON.
CREATE TABLE crm_accounts (
  crm {text} PRIMARY KEY,
  account {text} NOT NULL,
  name {text} NOT NULL,
  live {integer} NOT NULL,
  base_url {text} NOT NULL,
  allow {text} NOT NULL,
  keys {text} NOT NULL,
  connected_at BIGINT NOT NULL
){clustered};
-- How far a kind of records is read: `after` and `began_at` while a pull is under way, and then the time from which changes
-- are asked for. `whole` is 1 while the list is read, and 0 for changes.
CREATE TABLE crm_pulls (
  crm {text} NOT NULL,
  kind {text} NOT NULL,
  properties {text} NOT NULL,
  whole {integer} NOT NULL,
  after {text},
  began_at BIGINT,
  until BIGINT,
  PRIMARY KEY (crm, kind)
){clustered};
-- The mirror. `seen_at` is when the pull began that read it last. Of people who are suppressed it has the id alone, with hashes
-- of what identifies them, so that they are known again.
CREATE TABLE crm_records (
  crm {text} NOT NULL,
  kind {text} NOT NULL,
  id {text} NOT NULL,
  data {text} NOT NULL,
  hashed {text},
  seen_at BIGINT NOT NULL,
  CHECK (hashed IS NULL OR data = '{}'),
  PRIMARY KEY (crm, kind, id)
);
-- Pushes of files, and what each wrote. `request` has mode, mapping and fields as JSON.
CREATE TABLE crm_pushes (
  number {identity},
  id {text} NOT NULL UNIQUE,
  crm {text} NOT NULL,
  account {text} NOT NULL,
  file {text} NOT NULL,
  file_hash {text} NOT NULL,
  request {text} NOT NULL,
  state {text} NOT NULL CHECK (state IN ('running', 'stopped', 'finished', 'undone')),
  began_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE INDEX crm_pushes_file ON crm_pushes (crm, account, file_hash);
-- A write is here before it is sent, as `sent`, and what became of it is here after: of a created record its `record`. What was
-- refused was certainly not done. `fields` is what is written, and `before` what the record had in its place; both are JSON.
CREATE TABLE crm_writes (
  push {integer} NOT NULL,
  step {text} NOT NULL CHECK (step IN ('companies', 'people', 'association')),
  row BIGINT NOT NULL,
  action {text} NOT NULL CHECK (action IN ('create', 'update', 'associate')),
  state {text} NOT NULL CHECK (state IN ('sent', 'done', 'refused', 'undoing', 'undone', 'kept')),
  record {text},
  fields {text} NOT NULL,
  before {text} NOT NULL,
  error {text},
  sent_at BIGINT NOT NULL,
  done_at BIGINT,
  CHECK (action = 'create' OR record IS NOT NULL),
  CHECK (state IN ('sent', 'refused') OR record IS NOT NULL),
  PRIMARY KEY (push, step, row)
){clustered};
CREATE INDEX crm_writes_record ON crm_writes (record) WHERE record IS NOT NULL;
