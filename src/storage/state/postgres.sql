-- The row of a run is updated with every batch of its rows, in place where the page has room.
ALTER TABLE runs SET (fillfactor = 20);
ALTER TABLE budgets SET (fillfactor = 20);
ALTER TABLE lookups SET (fillfactor = 50);
ALTER TABLE spending SET (fillfactor = 50);
