-- Every file that a run wrote: outputs, rejects and exports. Runs of version 1 have their latest output only.
CREATE TABLE run_files (
  run {integer} NOT NULL,
  path {text} NOT NULL,
  PRIMARY KEY (run, path)
){clustered};
INSERT INTO run_files (run, path) SELECT number, output FROM runs WHERE output IS NOT NULL;
INSERT INTO run_files (run, path)
  SELECT number, substr(output, 1, length(output) - 4) || '.rejects.csv' FROM runs WHERE output LIKE '%.csv';
