-- What is under way or was left: a single lookup asks for it each time. On a server, nobody does, and an update of a lookup
-- would no longer be in place.
CREATE INDEX lookups_open ON lookups (run) WHERE state IN ('asked', 'accepted');

-- What was spent on a day, or by a run, is never less.
CREATE TRIGGER budgets_spent BEFORE UPDATE OF spent ON budgets WHEN NEW.spent < OLD.spent
BEGIN SELECT RAISE(ABORT, 'what was spent is never less'); END;
CREATE TRIGGER budgets_kept BEFORE DELETE ON budgets WHEN OLD.spent > 0 AND OLD.scope >= 'day ' AND OLD.scope < 'day!'
BEGIN SELECT RAISE(ABORT, 'what was spent on a day is kept'); END;
