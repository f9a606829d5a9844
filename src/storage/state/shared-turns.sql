
-- The workspace whose credits pay for a run, as far as it is known: only that workspace reuses the answers. Empty in runs of
-- versions before this one, whose answers serve every workspace of their target.
ALTER TABLE runs ADD COLUMN workspace {text} NOT NULL DEFAULT '';
-- When turns were taken. `calls` has the request of each row in place of its hash from here on: whoever uses the idempotency
-- key of a killed run or lookup has to send what that one sent. Single lookups have turns of their own, which no run is for.
ALTER TABLE turns ADD COLUMN workspace {text} NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN taken_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX turns_operation ON turns (operation, target);

-- Answers that were paid for and may be those to other requests.
ALTER TABLE spending ADD COLUMN doubted {integer} NOT NULL DEFAULT 0;
