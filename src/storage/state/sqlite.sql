-- What is under way or was left: a single lookup asks for it each time. On a server, nobody does, and an update of a lookup
-- would no longer be in place.
CREATE INDEX lookups_open ON lookups (run) WHERE state IN ('asked', 'accepted');
