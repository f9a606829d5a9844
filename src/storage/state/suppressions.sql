-- People and companies that are not to be contacted, of a workspace or of this machine. They are found by keyed hashes; of
-- what was forgotten nothing else is left.
CREATE TABLE suppression_keys (
  owner {text} PRIMARY KEY,
  secret {text} NOT NULL
);
CREATE TABLE suppressions (
  owner {text} NOT NULL,
  hash {text} NOT NULL,
  kind {text} NOT NULL,
  value {text},
  reason {text},
  added_at BIGINT NOT NULL,
  PRIMARY KEY (owner, hash)
){clustered};
