-- Rows that runs have under way, so that equal rows of other runs wait for their answers. `calls` is JSON: for each row the
-- hash of its identity, its ordinal and the hash of its request. `holder` is the name of a lock: without it, nobody works on
-- the rows, and the run is the one whose idempotency keys bring the replies that were paid for.
CREATE TABLE turns (
  number {identity},
  operation {text} NOT NULL,
  target {text} NOT NULL,
  run {text} NOT NULL,
  holder {text} NOT NULL,
  calls {text} NOT NULL
);
CREATE INDEX turns_run ON turns (run);
CREATE INDEX runs_running ON runs (operation, target) WHERE status = 'running';
