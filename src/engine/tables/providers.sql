-- Data vendors of a workspace, without their keys; `next_at` is when the next call may begin, in microseconds.
CREATE TABLE providers (
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  name {text} NOT NULL,
  definition {text} NOT NULL,
  allow {text} NOT NULL,
  enabled {integer} NOT NULL,
  created_at BIGINT NOT NULL,
  next_at BIGINT NOT NULL,
  paused_until BIGINT NOT NULL,
  paused_by {text},
  PRIMARY KEY (workspace_id, name)
);
CREATE TABLE provider_orders (
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  kind {text} NOT NULL,
  condition {text} NOT NULL,
  names {text} NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, kind, condition)
);
-- What a provider was asked about someone: recorded before the request is sent. Costs are millionths of its own credits.
CREATE TABLE provider_calls (
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  provider {text} NOT NULL,
  kind {text} NOT NULL,
  identity {text} NOT NULL,
  attempt {integer} NOT NULL,
  state {text} NOT NULL CHECK (state IN ('asked', 'submitted', 'found', 'not_found', 'unknown', 'failed')),
  subject {text} NOT NULL,
  vendor_id {text},
  place {integer} NOT NULL,
  of_rows {integer} NOT NULL,
  answer {text},
  error {text},
  -- The unguessable end of the address that its answer is sent to, and what arrived there until it is read.
  webhook {text},
  delivery {text},
  -- The kind whose request it was part of, and whose cost; null for a request of its own.
  sent_as {text},
  cost BIGINT NOT NULL,
  reserved BIGINT NOT NULL,
  member_id {text} NOT NULL,
  run {text} NOT NULL,
  asked_at BIGINT NOT NULL,
  answered_at BIGINT,
  lease_until BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, provider, kind, identity, attempt)
);
CREATE INDEX provider_calls_newest ON provider_calls (workspace_id, asked_at);
CREATE INDEX provider_calls_open ON provider_calls (workspace_id, provider, lease_until) WHERE state = 'asked';
CREATE INDEX provider_calls_webhook ON provider_calls (webhook) WHERE webhook IS NOT NULL;
-- Where vendors reach a program that receives their webhooks, while it runs.
CREATE TABLE provider_listeners (
  address {text} NOT NULL PRIMARY KEY,
  token {text} NOT NULL,
  lease_until BIGINT NOT NULL
);
-- What a run, or a day, may cost at a provider and has cost so far.
CREATE TABLE provider_budgets (
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  run {text} NOT NULL,
  provider {text} NOT NULL,
  spent BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, run, provider)
);
