/**
 * Rows of runs that are spread over machines. A run is here while its command lives; its rows go out in chunks, each of
 * which belongs to one worker at a time. A run without a token is in nobody's hands: its chunks were cleared away. There is
 * no API key in it: of the one that is used, only its id.
 */
export const chunkTables = `
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
export const chunkTriggers = `
CREATE FUNCTION chunks_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_notify('prospect_work', TG_TABLE_SCHEMA || ' chunks'); RETURN NULL; END $$;
CREATE FUNCTION answers_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_notify('prospect_work', TG_TABLE_SCHEMA || ' answers'); RETURN NULL; END $$;
CREATE TRIGGER chunk_runs_told AFTER INSERT ON chunk_runs FOR EACH STATEMENT EXECUTE FUNCTION chunks_told();
CREATE TRIGGER chunks_told AFTER INSERT ON chunks FOR EACH STATEMENT EXECUTE FUNCTION chunks_told();
CREATE TRIGGER answers_told AFTER UPDATE OF replies ON chunks FOR EACH ROW EXECUTE FUNCTION answers_told();
`
