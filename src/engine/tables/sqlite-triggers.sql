-- Triggers of the engine's tables: each movement follows the last one and is never changed or deleted; a job's state only
-- goes forward.
CREATE TRIGGER movements_follow BEFORE INSERT ON movements
WHEN NOT EXISTS (
  SELECT 1 FROM (
    SELECT seq, credits, held, spent FROM movements
    WHERE workspace_id = NEW.workspace_id
    UNION ALL SELECT 0, 0, 0, 0
    ORDER BY seq DESC LIMIT 1
  ) AS last
  WHERE NEW.seq = last.seq + 1
    AND NEW.credits = last.credits
      + CASE WHEN NEW.credit = 'credits' THEN NEW.amount WHEN NEW.debit = 'credits' THEN -NEW.amount ELSE 0 END
    AND NEW.held = last.held
      + CASE WHEN NEW.credit = 'held' THEN NEW.amount WHEN NEW.debit = 'held' THEN -NEW.amount ELSE 0 END
    AND NEW.spent = last.spent + CASE WHEN NEW.credit = 'spent' THEN NEW.amount ELSE 0 END
)
BEGIN SELECT RAISE(ABORT, 'a movement must follow the last one'); END;
CREATE TRIGGER movements_unchanged BEFORE UPDATE ON movements
BEGIN SELECT RAISE(ABORT, 'movements are never changed'); END;
CREATE TRIGGER movements_kept BEFORE DELETE ON movements
BEGIN SELECT RAISE(ABORT, 'movements are never deleted'); END;
CREATE TRIGGER jobs_forward BEFORE UPDATE OF state ON jobs
WHEN OLD.state <> NEW.state
  AND NOT (OLD.state = 'queued' AND NEW.state = 'running')
  AND NOT (OLD.state = 'running' AND NEW.state IN ('finished', 'failed'))
BEGIN SELECT RAISE(ABORT, 'a job does not go back'); END;
