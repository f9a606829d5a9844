-- The row of a run is updated with every batch of its rows, in place where the page has room.
ALTER TABLE runs SET (fillfactor = 20);
ALTER TABLE budgets SET (fillfactor = 20);
ALTER TABLE lookups SET (fillfactor = 50);
ALTER TABLE spending SET (fillfactor = 50);

-- What was spent on a day, or by a run, is never less.
CREATE FUNCTION budgets_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'what was spent is never less'; END $$;
CREATE TRIGGER budgets_spent BEFORE UPDATE OF spent ON budgets FOR EACH ROW WHEN (NEW.spent < OLD.spent)
  EXECUTE FUNCTION budgets_kept();
CREATE TRIGGER budgets_kept BEFORE DELETE ON budgets FOR EACH ROW
  WHEN (OLD.spent > 0 AND OLD.scope >= 'day ' AND OLD.scope < 'day!') EXECUTE FUNCTION budgets_kept();
