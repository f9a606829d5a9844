/**
 * What is remembered of servers: whether they honour idempotency keys, how far their windows are filled from here, and
 * the keys of calls whose outcome is open. There is no API key in it: of one, and of what was asked, only digests.
 */
export const serverTables = `
CREATE TABLE servers (
  origin TEXT PRIMARY KEY,
  honours_keys INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE windows (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  ends_at BIGINT NOT NULL,
  count INTEGER NOT NULL,
  most INTEGER,
  confirmed INTEGER NOT NULL,
  PRIMARY KEY (owner, name)
) WITHOUT ROWID;
CREATE TABLE open_calls (
  fingerprint TEXT PRIMARY KEY,
  operation TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  sent_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX open_calls_sent ON open_calls (sent_at);
`
