-- Triggers of the engine's tables: each movement follows the last one and is never changed; a job's state only goes
-- forward. Counters change with every request, so their pages keep room for new versions.
CREATE FUNCTION movements_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  last_seq BIGINT := 0;
  last_credits BIGINT := 0;
  last_held BIGINT := 0;
  last_spent BIGINT := 0;
BEGIN
  SELECT seq, credits, held, spent INTO last_seq, last_credits, last_held, last_spent
  FROM movements WHERE workspace_id = NEW.workspace_id ORDER BY seq DESC LIMIT 1;
  IF (NEW.seq <> coalesce(last_seq, 0) + 1
    OR NEW.credits <> coalesce(last_credits, 0)
      + CASE WHEN NEW.credit = 'credits' THEN NEW.amount WHEN NEW.debit = 'credits' THEN -NEW.amount ELSE 0 END
    OR NEW.held <> coalesce(last_held, 0)
      + CASE WHEN NEW.credit = 'held' THEN NEW.amount WHEN NEW.debit = 'held' THEN -NEW.amount ELSE 0 END
    OR NEW.spent <> coalesce(last_spent, 0) + CASE WHEN NEW.credit = 'spent' THEN NEW.amount ELSE 0 END)
  THEN RAISE EXCEPTION 'a movement must follow the last one'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER movements_follow BEFORE INSERT ON movements
  FOR EACH ROW EXECUTE FUNCTION movements_follow();
CREATE FUNCTION movements_unchanged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'movements are never changed or deleted'; END $$;
CREATE TRIGGER movements_unchanged BEFORE UPDATE OR DELETE ON movements
  FOR EACH ROW EXECUTE FUNCTION movements_unchanged();
CREATE TRIGGER movements_kept BEFORE TRUNCATE ON movements
  FOR EACH STATEMENT EXECUTE FUNCTION movements_unchanged();
ALTER TABLE counters SET (fillfactor = 50);
CREATE FUNCTION jobs_forward() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'a job does not go back'; END $$;
CREATE TRIGGER jobs_forward BEFORE UPDATE OF state ON jobs FOR EACH ROW
  WHEN (OLD.state <> NEW.state
    AND NOT (OLD.state = 'queued' AND NEW.state = 'running')
    AND NOT (OLD.state = 'running' AND NEW.state IN ('finished', 'failed')))
  EXECUTE FUNCTION jobs_forward();
