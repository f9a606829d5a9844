/**
 * What is kept of runs. An answer's place is its run's number and its row's ordinal in one integer, so that the answers
 * of a run lie together in the order of its rows. Which rows were sent is a range of ordinals, and their idempotency
 * keys follow from the run's id: a row costs nothing until it is answered.
 */
export const runTables = `
CREATE TABLE runs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  known_by TEXT NOT NULL,
  operation TEXT NOT NULL,
  target TEXT NOT NULL,
  profile TEXT NOT NULL,
  file TEXT NOT NULL,
  file_hash TEXT NOT NULL,
  request TEXT NOT NULL,
  output TEXT,
  status TEXT NOT NULL CHECK (status IN ('running', 'stopped', 'finished')),
  total INTEGER NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  credits INTEGER NOT NULL DEFAULT 0,
  reserved INTEGER NOT NULL DEFAULT 0,
  unknown INTEGER NOT NULL DEFAULT 0,
  sent_from INTEGER NOT NULL DEFAULT 0,
  sent_to INTEGER NOT NULL DEFAULT 0,
  lowered_row INTEGER,
  lowered_limit INTEGER,
  indexed INTEGER NOT NULL DEFAULT 0,
  forgotten INTEGER NOT NULL DEFAULT 0,
  started_at BIGINT NOT NULL,
  ended_at BIGINT,
  fence TEXT NOT NULL DEFAULT '',
  lost_at BIGINT,
  spread INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_known ON runs (known_by);
CREATE INDEX runs_file ON runs (file);
CREATE INDEX runs_reserved ON runs (profile) WHERE reserved > 0;
CREATE TABLE answers (
  place INTEGER PRIMARY KEY,
  hash BIGINT,
  identity TEXT,
  status TEXT NOT NULL,
  error TEXT,
  body TEXT,
  credits INTEGER NOT NULL,
  source TEXT NOT NULL,
  origin BIGINT,
  answered_at BIGINT NOT NULL
);
CREATE TABLE places (
  hash BIGINT NOT NULL,
  place BIGINT NOT NULL,
  PRIMARY KEY (hash, place)
) WITHOUT ROWID;
CREATE TABLE spending (
  day TEXT NOT NULL,
  profile TEXT NOT NULL,
  target TEXT NOT NULL,
  operation TEXT NOT NULL,
  run INTEGER NOT NULL,
  credits INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  PRIMARY KEY (day, profile, target, operation, run)
) WITHOUT ROWID;
`

/**
 * The row of a run changes with every portion of its rows. A server writes it in place where there is room beside it and no
 * index knows what changes: its set of runs with something set aside is found by the profile alone.
 */
export const runsOnServer = `
DROP INDEX runs_reserved;
CREATE INDEX runs_reserved ON runs (profile);
ALTER TABLE runs SET (fillfactor = 20);
ALTER TABLE spending SET (fillfactor = 50);
`

/**
 * Requests that took several rows at once and whose rows are not all answered; `first` is the ordinal of the first row,
 * `ordinals` and `accepted` are JSON. `reserved` is what is set aside for those of its rows that have no answer on record.
 */
export const bulkTables = `
CREATE TABLE bulks (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL,
  first INTEGER NOT NULL,
  ordinals TEXT NOT NULL,
  reserved INTEGER NOT NULL,
  accepted TEXT
);
CREATE INDEX bulks_run ON bulks (run, first);
`
