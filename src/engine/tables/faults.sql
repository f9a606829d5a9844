-- Faults on demand: what goes wrong with which calls or deliveries of a workspace, and how often it has.
CREATE TABLE faults (
  workspace_id {text} NOT NULL REFERENCES workspaces (id),
  number {integer} NOT NULL CHECK (number > 0),
  place {text} NOT NULL,
  member_id {text} REFERENCES members (id),
  rules {text} NOT NULL,
  seed BIGINT NOT NULL,
  matched {integer} NOT NULL CHECK (matched >= 0),
  fired {integer} NOT NULL CHECK (fired >= 0),
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, number)
){clustered};
