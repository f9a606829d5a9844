-- The member who started work, what the work counts at in a week (JSON), and its cost once that is known. Work whose result
-- passed before its acceptance was recorded has its cost only.
ALTER TABLE passed_work ADD COLUMN member {text} NOT NULL DEFAULT '';
ALTER TABLE passed_work ADD COLUMN hold {text};
ALTER TABLE passed_work ADD COLUMN cost {integer};

-- The email of the member who paid; empty where that is not known.
ALTER TABLE spending ADD COLUMN member {text} NOT NULL DEFAULT '';
