-- The row of a run is updated with every batch of its rows. PostgreSQL does so in place when the page has room and no index
-- has a changed column, so this index is without its condition.
DROP INDEX runs_reserved;
CREATE INDEX runs_reserved ON runs (profile);
ALTER TABLE runs SET (fillfactor = 20);
ALTER TABLE spending SET (fillfactor = 50);
